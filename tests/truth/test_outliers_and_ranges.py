"""Rows that tempt a shift or a dtype into losing digits: outlying first rows, ties in a crowd, ends of float32."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from examples import SPECTRAL
from lowdim import PCA, Whitening
from lowdim.errors import ResolutionWarning
from lowdim.reading import summarize
from lowdim.solvers import SOLVERS as TABLE
from lowdim.solvers import Krylov, Status
from lowdim.summaries import Moments
from oracles import long_spectrum, tolerance

SOLVERS = ["auto", *SPECTRAL]


@pytest.mark.filterwarnings("ignore::lowdim.errors.ResolutionWarning")
@pytest.mark.parametrize("distance", [1e2, 1e4, 1e7])
@pytest.mark.parametrize("solver", ["auto", *(name for name, cls in TABLE.items() if not cls.reads_columns)])
def test_an_outlying_first_row(solver, distance):
    """The first row is the shift of the first block."""
    X = np.random.default_rng(0).standard_normal((20_000, 4))
    X[0] += distance * np.array([1, -1, 0.5, 0.2])
    exact = long_spectrum(X).values
    pca = PCA(2, solver=solver).fit(X)
    # The covariance route is right to eps lambda_1; auto and triangle do better where they have to.
    error = np.abs(pca.explained_variance_ - exact[:2])
    assert np.all(error <= tolerance() * exact[0])


def test_an_outlying_first_row_in_float32():
    X = np.random.default_rng(0).standard_normal((20_000, 4)).astype(np.float32)
    X[0] += np.float32(1e4) * np.array([1, -1, 0.5, 0.2], dtype=np.float32)
    exact = long_spectrum(X.astype(np.float64)).values
    np.testing.assert_allclose(PCA().fit(X).explained_variance_, exact, rtol=1e-5)


@pytest.mark.parametrize("solver", SOLVERS)
def test_an_outlying_first_row_of_no_weight_to_speak_of(solver):
    rng = np.random.default_rng(0)
    X, w = rng.standard_normal((300, 4)), np.ones(300)
    X[0], w[0] = 1e6, 1e-14
    pca = PCA(2, solver=solver).fit(X, sample_weight=w)
    exact = long_spectrum(X[1:]).values[:2]
    np.testing.assert_allclose(pca.explained_variance_, exact, rtol=0.05)


def test_an_outlying_first_sample_of_few_rows():
    X = np.random.default_rng(0).standard_normal((60, 300))
    X[0] += 1e4
    exact = long_spectrum(X).values
    np.testing.assert_allclose(PCA(5).fit(X).explained_variance_, exact[:5], rtol=1e-9)


@pytest.mark.parametrize("edge", [0.9, 0.97])
def test_ties_beside_a_crowd_of_close_eigenvalues(edge):
    """Sparse rows with thirty equal leading eigenvalues, two close ones, and a continuum right below."""
    rng = np.random.default_rng(0)
    p = 2000
    values = np.r_[np.ones(30), 0.99, 0.98, np.sort(rng.random(p - 32))[::-1] * edge]
    d = sparse.diags_array(np.sqrt(values))
    X = sparse.csr_array(sparse.vstack([d, -d]))
    pca = PCA(10).fit(X)
    assert pca.solver_ == "krylov"
    np.testing.assert_allclose(pca.explained_variance_ * (2 * p - 1) / 2, 1.0, rtol=1e-8)


def test_float32_keeps_its_density():
    X = (np.random.default_rng(0).standard_normal((5000, 100)) * np.arange(1, 101) ** -1.5).astype(np.float32)
    for k in (None, 50):
        assert PCA(k).fit(X).score(X) == pytest.approx(PCA(k).fit(X.astype(np.float64)).score(X), rel=1e-4)


@pytest.mark.parametrize("shape", [(300, 5), (20, 50)])
@pytest.mark.parametrize("scale", [1e22, 1e-25])
def test_float32_variances_beyond_float32(shape, scale):
    """Entries fit into float32, their squares do not: then variances come in float64."""
    X = (np.random.default_rng(0).standard_normal(shape) * scale).astype(np.float32)
    exact = long_spectrum(X.astype(np.float64)).values[:3]
    pca = PCA(3).fit(X)
    np.testing.assert_allclose(pca.explained_variance_, exact, rtol=1e-5)
    scores = PCA(3, whiten=True).fit_transform(X)
    assert scores.dtype == np.float32
    np.testing.assert_allclose(scores.std(axis=0, ddof=1), 1.0, rtol=1e-3)


@pytest.mark.parametrize("solver", SOLVERS)
def test_float32_columns_of_any_scale_can_be_standardized(solver):
    X = np.random.default_rng(0).standard_normal((300, 4))
    X[:, 1] = (X[:, 0] + 0.1 * X[:, 1]) * 1e-24
    X = X.astype(np.float32)
    exact = np.linalg.eigvalsh(np.corrcoef(X.astype(np.float64).T))[::-1]
    pca = PCA(2, scale=True, solver=solver).fit(X)
    np.testing.assert_allclose(pca.explained_variance_, exact[:2], rtol=1e-5)


def test_a_summary_of_float32_products_is_not_taken_for_exact():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20_000, 20)) * np.logspace(0, -2.4, 20)
    X = (X @ np.linalg.qr(rng.standard_normal((20, 20)))[0]).astype(np.float32)
    with pytest.warns(ResolutionWarning):
        pca = PCA().fit_summary(summarize(X, Moments))
    assert pca.status_ is Status.UNRESOLVED
    assert PCA().fit_summary(summarize(X, Moments(20, wide=True))).status_ is Status.EXACT


def test_sparse_float32_with_filled_columns():
    rng = np.random.default_rng(0)
    X = sparse.random(3000, 100, density=0.01, format="csr", random_state=0)
    X = sparse.csr_array(sparse.hstack([X, 50 + rng.standard_normal((3000, 3))])).astype(np.float32)
    exact = long_spectrum(X.toarray().astype(np.float64)).values[:3]
    np.testing.assert_allclose(PCA(3, solver="covariance").fit(X).explained_variance_, exact, rtol=1e-6)


def test_ledoit_wolf_says_when_fourth_powers_vanish():
    X = np.random.default_rng(0).standard_normal((100, 5)) * 1e-100
    with pytest.raises(ValueError, match="fourth powers underflow"):
        Whitening(regularization="ledoit-wolf").fit(X)


def test_the_residual_counts_what_a_probe_leaves_behind():
    X = sparse.random(4000, 1500, density=0.02, format="csr", random_state=0)
    pca = PCA(20, solver=Krylov(block=8)).fit(X)
    S = np.cov(X.toarray().T)
    W, values = pca.components_, pca.explained_variance_
    true = np.linalg.norm(W @ S - values[:, None] * W, axis=1).max() / values[0]
    assert true <= 1.5 * pca.residual_ + tolerance(condition=100)
