"""Second moments about zero, from summaries about the mean."""

import numpy as np
import pytest
from scipy import sparse

from lowdim.reading import summarize
from lowdim.summaries import Columns, Gram, GramRoot, Moments, Triangle

RNG = np.random.default_rng(2)
X = RNG.standard_normal((40, 5)) * [1.0, 2.0, 0.5, 3.0, 1.0] + [0.0, 5.0, -2.0, 100.0, 1.0]
WEIGHTS = RNG.uniform(0.5, 3.0, 40)


@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["", "weights"])
def test_of_rows(weights):
    w = np.ones(40) if weights is None else weights
    expected = (X * w[:, None]).T @ X
    moments, triangle, columns = (summarize(X, cls, weights=weights) for cls in (Moments, Triangle, Columns))
    before = moments.scatter.copy()
    np.testing.assert_allclose(moments.about_zero().scatter, expected, rtol=1e-12)
    np.testing.assert_allclose(triangle.about_zero().scatter, expected, rtol=1e-12)
    np.testing.assert_allclose(columns.about_zero().squares, np.diagonal(expected), rtol=1e-12)
    for summary in (moments, triangle, columns):
        about = summary.about_zero()
        np.testing.assert_array_equal(about.mean, np.zeros(5))
        assert (about.weight, about.n_rows) == (summary.weight, summary.n_rows)
        np.testing.assert_allclose(summary.mean, np.average(X, axis=0, weights=w))
    np.testing.assert_array_equal(moments.scatter, before)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["", "weights"])
@pytest.mark.parametrize("ddof", [None, 0, 1])
@pytest.mark.parametrize("cls", [Gram, GramRoot])
def test_inner_products_of_rows(cls, ddof, weights, kind):
    random = np.random.default_rng(0)
    rows = np.where(random.random((40, 90)) < 0.15, random.standard_normal((40, 90)), 0.0) + (np.arange(90) < 5)
    rows[:, 7] = 0.0
    w = np.ones(40) if weights is None else weights
    gram = cls(40, sample_weight=weights, ddof=ddof, center=False)
    before = rows.copy()
    gram.update(kind(rows.T))
    scale = 1.0 if ddof is None else np.sqrt((w[:, None] * rows**2).sum(axis=0) / (w.sum() - ddof))
    # A column of zeros is not divided.
    Z = rows / np.where(scale == 0.0, 1.0, scale) * np.sqrt(w)[:, None]
    np.testing.assert_allclose(gram.centred(), Z @ Z.T, rtol=1e-10, atol=1e-9)
    np.testing.assert_array_equal(rows, before)
