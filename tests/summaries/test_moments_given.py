"""Covariance, mean and number of rows that are given instead of rows."""

import re

import numpy as np
import pytest

from lowdim.reading import summarize
from lowdim.summaries import Moments

X = np.random.default_rng(0).standard_normal((40, 3)) + 5.0
C, MEAN = np.cov(X.T), X.mean(axis=0)


@pytest.mark.parametrize("n", [None, "a", 2.5, np.inf, np.nan, 0, -3, True, 10**400, np.array([40, 40])], ids=repr)
def test_numbers_of_rows_that_are_no_whole_numbers_are_refused(n):
    with pytest.raises(ValueError, match=re.escape(f"n_samples={n!r} must be a whole number of at least 1")):
        Moments.from_covariance(C, n)


@pytest.mark.parametrize("ddof", [0.5, "a", None, -1])
def test_ddof_is_a_whole_number(ddof):
    with pytest.raises(ValueError, match=re.escape(f"ddof={ddof!r} must be a whole number of at least 0")):
        Moments.from_covariance(C, 40, ddof=ddof)


@pytest.mark.parametrize("n", [40, 40.0, np.int32(40), np.float32(40)])
def test_the_summary_is_that_of_the_rows(n):
    given, of_rows = Moments.from_covariance(C, n, MEAN), summarize(X, Moments)
    assert (given.n_rows, given.weight) == (of_rows.n_rows, of_rows.weight)
    assert type(given.n_rows) is int
    np.testing.assert_allclose(given.scatter, of_rows.scatter, rtol=1e-12)
    np.testing.assert_allclose(given.mean, of_rows.mean, rtol=1e-12)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (C + 0j, "cov must hold real numbers, got dtype complex128"),
        ((C + 1j).tolist(), "cov must hold real numbers, got dtype complex128"),
        (C.astype(str), "cov must hold real numbers, got dtype <U"),
        ([["1", "0"], ["0", "1"]], "cov must hold real numbers, got dtype <U"),
        ([[1.0, 0.0], [0.0]], "rows differ in length"),
        (None, "cov must hold real numbers"),
    ],
)
def test_what_holds_no_real_numbers_is_refused(values, message):
    with pytest.raises(ValueError, match=message):
        Moments.from_covariance(values, 40)


@pytest.mark.parametrize("mean", [MEAN + 1j, ["a", "b", "c"]])
def test_a_mean_that_holds_no_real_numbers_is_refused(mean):
    with pytest.raises(ValueError, match="mean must hold real numbers"):
        Moments.from_covariance(C, 40, mean)


def test_a_constant_column_has_variance_zero():
    rows = np.column_stack([X, np.ones(40)])
    np.testing.assert_array_equal(Moments.from_covariance(np.cov(rows.T), 40).scatter[3], 0.0)
