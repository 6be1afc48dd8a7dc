"""Sparse rows with a filled column far from zero: centring after the product would lose its digits."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from examples import SPECTRAL
from lowdim import PCA, Whitening
from lowdim.reading import summarize
from lowdim.solvers import Krylov
from lowdim.summaries import Columns
from oracles import long_spectrum, tolerance


@pytest.fixture
def rows() -> sparse.csr_array:
    rng = np.random.default_rng(0)
    scattered = sparse.random(700, 30, density=0.02, format="csr", random_state=0)
    far = 1e8 + 3 * rng.standard_normal((700, 2))
    return sparse.csr_array(sparse.hstack([scattered, far, np.full((700, 1), 0.1)]))


@pytest.mark.parametrize("solver", ["auto", *SPECTRAL])
def test_variances_are_right(rows, solver):
    pca = PCA(3, solver=solver).fit(rows)
    exact = long_spectrum(rows.toarray())
    np.testing.assert_allclose(pca.explained_variance_, exact.values[:3], rtol=tolerance(condition=100))


@pytest.mark.parametrize("model", [PCA(3), PCA(3, whiten=True), PCA(3, scale=True), Whitening(n_components=3)])
def test_scores_are_those_of_dense_rows(rows, model):
    model.fit(rows)
    dense = rows.toarray()
    # A float64 at 1e8 is itself good to 1e-8 only; both see the same numbers, so the scores agree far better.
    np.testing.assert_allclose(model.transform(rows), model.transform(dense), atol=1e-11)


def test_a_filled_column_does_not_stop_krylov(rows):
    pca = PCA(2, solver=Krylov(tol=1e-10)).fit(rows)
    assert pca.residual_ < 1e-10


@pytest.mark.parametrize("filling", [0.02, 0.5, 0.7, 0.98, 1.0])
@pytest.mark.parametrize("offset", [0.0, 1e3, 1e8])
@pytest.mark.parametrize("weighted", [False, True])
def test_spread_of_columns_however_full(filling, offset, weighted):
    """Columns stored here and there, mostly, and everywhere, side by side: the sums of squares are those of the dense
    rows in extended precision."""
    rng = np.random.default_rng(5)
    X = offset + rng.standard_normal((400, 6))
    X[:, :3] *= rng.random((400, 3)) < filling
    X[:, 3] *= rng.random(400) < 0.1
    X[:, 4] = 0.0
    weights = rng.integers(1, 4, 400).astype(float) if weighted else None
    got = summarize(sparse.csr_array(X), Columns(6), weights=weights)
    w = np.ones(400) if weights is None else weights
    long = X.astype(np.longdouble)
    mean = (w[:, None] * long).sum(axis=0) / w.sum()
    expected = (w[:, None] * (long - mean) ** 2).sum(axis=0)
    np.testing.assert_allclose(got.squares, expected.astype(float), rtol=1e-12 if offset < 1e8 else 1e-10)
    np.testing.assert_allclose(got.mean, mean.astype(float), rtol=1e-14, atol=1e-14)
