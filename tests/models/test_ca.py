"""Correspondence analysis: identities, every kind of table of counts, and two columns of categories."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse, stats

import lowdim
from lowdim import CA
from lowdim.inspect.geometry import geometry

RNG = np.random.default_rng(2)
COUNTS = RNG.poisson(RNG.gamma(2.0, 6.0, (40, 6))).astype(float)
FRAME = pd.DataFrame(COUNTS, columns=list("abcdef"))


def close(found, expected, tol=1e-10):
    np.testing.assert_allclose(found, expected, rtol=0, atol=tol * max(np.abs(expected).max(), 1e-300))


def test_it_is_the_singular_value_decomposition_of_standardised_residuals():
    P = COUNTS / COUNTS.sum()
    r, c = P.sum(axis=1), P.sum(axis=0)
    U, d, Vt = np.linalg.svd((P - np.outer(r, c)) / np.sqrt(np.outer(r, c)), full_matrices=False)
    model = CA().fit(COUNTS)
    assert model.n_components_ == 5
    close(model.singular_values_, d[:5])
    close(np.abs(model.transform(COUNTS)), np.abs(U[:, :5] * d[:5] / np.sqrt(r)[:, None]), 1e-9)
    close(np.abs(geometry(model).coordinates), np.abs(Vt[:5].T * d[:5] / np.sqrt(c)[:, None]), 1e-9)


def test_the_test_of_independence_is_that_of_scipy():
    model, found = CA(2).fit(COUNTS), stats.chi2_contingency(COUNTS, correction=False)
    assert model.chi_square_ == pytest.approx(found.statistic)
    assert model.dof_ == found.dof
    assert model.p_value_ == pytest.approx(found.pvalue)


def test_all_dimensions_give_the_profiles_back():
    model = CA().fit(FRAME)
    profiles = COUNTS / COUNTS.sum(axis=1, keepdims=True)
    close(model.inverse_transform(model.transform(FRAME)), profiles)


def test_the_same_profile_twice_is_one_row_of_both_counts():
    """Distributional equivalence: nothing changes if rows with equal profiles are put together."""
    double = np.vstack([COUNTS, 2 * COUNTS[:1]])
    together = COUNTS.copy()
    together[0] *= 3
    one, other = CA().fit(double), CA().fit(together)
    close(one.explained_variance_, other.explained_variance_)
    close(one.transform(COUNTS), other.transform(COUNTS), 1e-9)


@pytest.mark.parametrize(
    "made",
    [
        lambda folder: FRAME,
        lambda folder: pl.from_pandas(FRAME),
        lambda folder: sparse.csr_array(COUNTS),
        lambda folder: COUNTS.astype(np.int32),
        lambda folder: COUNTS.astype(np.float32),
        lambda folder: [FRAME.iloc[:7], FRAME.iloc[7:]],
        lambda folder: FRAME.to_csv(folder / "x.csv", index=False) or str(folder / "x.csv"),
        lambda folder: FRAME.to_parquet(folder / "x.parquet") or str(folder / "x.parquet"),
    ],
    ids=["pandas", "polars", "sparse", "integers", "float32", "blocks", "csv", "parquet"],
)
def test_every_kind_of_table(made, tmp_path):
    given, expected = made(tmp_path), CA(3).fit(COUNTS)
    model = CA(3).fit(given)
    close(model.explained_variance_, expected.explained_variance_)
    close(model.transform(given), expected.transform(COUNTS), 1e-6)


def test_weights_and_further_rows():
    weights = RNG.integers(0, 3, len(COUNTS)).astype(float)
    weighted, multiplied = CA(2).fit(COUNTS, sample_weight=weights), CA(2).fit(COUNTS * weights[:, None])
    close(weighted.explained_variance_, multiplied.explained_variance_)
    parts = CA(2).partial_fit(FRAME.iloc[:15]).partial_fit(FRAME.iloc[15:])
    whole = CA(2).fit(FRAME)
    close(parts.transform(FRAME), whole.transform(FRAME), 1e-8)
    close(CA(2).fit_summary(whole.summary_).explained_variance_, whole.explained_variance_)


def test_rows_without_counts_change_nothing_and_are_at_the_mean():
    empty = np.vstack([COUNTS, np.zeros((2, 6))])
    one, other = CA(2).fit(COUNTS), CA(2).fit(empty)
    close(one.explained_variance_, other.explained_variance_)
    np.testing.assert_array_equal(other.transform(empty)[-2:], 0.0)


def test_two_columns_of_categories_are_counted():
    rows = pd.DataFrame({"eye": ["blue", "brown", "blue", "green", "brown", None], "hair": list("xxyyxy")})
    model = CA().fit(rows)
    table = pd.crosstab(rows["eye"], rows["hair"])
    np.testing.assert_array_equal(model.counts_, table.to_numpy())
    assert model.row_names_ == list(table.index) and model.column_names_ == list(table.columns)
    close(model.explained_variance_, CA().fit(table).explained_variance_)
    twice = CA().fit(rows, sample_weight=np.full(6, 2.0))
    np.testing.assert_array_equal(twice.counts_, 2 * table.to_numpy())
    assert twice.chi_square_ == pytest.approx(2 * model.chi_square_)


def test_supplementary_columns_by_name_and_by_number(tmp_path):
    named, numbered = CA(2, supplementary=["b"]).fit(FRAME), CA(2, supplementary=[1]).fit(COUNTS)
    without = CA(2).fit(FRAME.drop(columns="b"))
    close(named.explained_variance_, without.explained_variance_)
    close(named.transform(FRAME), without.transform(FRAME.drop(columns="b")))
    close(geometry(named).coordinates, geometry(numbered).coordinates)
    lowdim.save(named, tmp_path / "model")
    close(geometry(lowdim.load(tmp_path / "model")).coordinates, geometry(named).coordinates)


@pytest.mark.parametrize(
    ("table", "options", "message"),
    [
        (-COUNTS, {}, "Negative values in data"),
        (np.zeros((4, 3)), {}, "no counts: all entries are zero"),
        (np.column_stack([COUNTS, np.zeros(40)]), {}, "column 'x7' has no counts"),
        (COUNTS[:1], {}, "n_samples=1"),
        (COUNTS[:, :1], {}, "n_features=1"),
        (COUNTS, {"supplementary": ["g"]}, "no column 'g'"),
        (COUNTS, {"n_components": 9}, "n_components=9"),
        (COUNTS, {"n_components": "parallel"}, "rows are no sample"),
        (np.where(COUNTS > 30, np.nan, COUNTS), {}, "NaN"),
    ],
)
def test_what_is_refused(table, options, message):
    model = CA(**options)
    with pytest.raises(ValueError, match=message):
        model.fit(table)
    assert not hasattr(model, "components_")


def test_too_many_columns_are_refused_at_once():
    with pytest.raises(ValueError, match=r"5000 columns, and at most 4000 are taken.* pass the transpose"):
        CA(2).fit(np.ones((3, 5000)))
