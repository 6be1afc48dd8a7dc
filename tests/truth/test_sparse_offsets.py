"""Sparse rows with a filled column far from zero: centring after the product would lose its digits."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from lowdim import PCA, Whitening
from lowdim.solvers import Krylov
from oracles import long_spectrum, tolerance


@pytest.fixture
def rows() -> sparse.csr_array:
    rng = np.random.default_rng(0)
    scattered = sparse.random(700, 30, density=0.02, format="csr", random_state=0)
    far = 1e8 + 3 * rng.standard_normal((700, 2))
    return sparse.csr_array(sparse.hstack([scattered, far, np.full((700, 1), 0.1)]))


@pytest.mark.parametrize("solver", ["auto", "covariance", "triangle", "gram", "krylov"])
def test_variances_are_right(rows, solver):
    pca = PCA(3, solver=solver).fit(rows)
    exact = long_spectrum(rows.toarray())
    np.testing.assert_allclose(pca.explained_variance_, exact.values[:3], rtol=tolerance(condition=100))


@pytest.mark.parametrize("model", [PCA(3), PCA(3, whiten=True), PCA(3, standardize=True), Whitening(n_components=3)])
def test_scores_are_those_of_dense_rows(rows, model):
    model.fit(rows)
    dense = rows.toarray()
    # A float64 at 1e8 is itself good to 1e-8 only; both see the same numbers, so the scores agree far better.
    np.testing.assert_allclose(model.transform(rows), model.transform(dense), atol=1e-11)


def test_a_filled_column_does_not_stop_krylov(rows):
    pca = PCA(2, solver=Krylov(tol=1e-10)).fit(rows)
    assert pca.residual_ < 1e-10
