"""Worked numbers and formulas of docs/formulas.md about projections, PCA and whitening. Divisor 1/N.

The tests are named after the entries of the page; those of formulas that other tests show already are elsewhere.
"""

import math

import numpy as np
import pytest

from examples import FINDS_ALL
from lowdim import PCA, Whitening
from lowdim.solvers import Krylov
from oracles import gaussian_log_density, tolerance

POINTS = np.array([(1, 2), (3, 3), (3, 5), (5, 4), (5, 6), (6, 5), (8, 7), (9, 8)], dtype=float)


@pytest.fixture
def table():
    """40 rows of 6 mixed columns with a mean far from zero."""
    rng = np.random.default_rng(20)
    return rng.standard_normal((40, 6)) @ rng.standard_normal((6, 6)) + np.arange(6)


# ---- Orthogonal projection on the line through (1, 1)


@pytest.fixture
def diagonal():
    """PCA of (1, 1) and (-1, -1): its one component is (1, 1) / sqrt 2 and its mean the origin."""
    return PCA(1, ddof=0).fit([[1.0, 1.0], [-1.0, -1.0]])


def test_projecting_2_4_on_1_1(diagonal):
    np.testing.assert_allclose(diagonal.components_, [[1 / math.sqrt(2), 1 / math.sqrt(2)]], rtol=tolerance())
    np.testing.assert_array_equal(diagonal.mean_, [0, 0])
    x = np.array([[2.0, 4.0]])
    value = diagonal.transform(x)
    point = diagonal.inverse_transform(value)
    np.testing.assert_allclose(value, [[3 * math.sqrt(2)]], rtol=tolerance())
    np.testing.assert_allclose(point, [[3, 3]], rtol=tolerance())
    np.testing.assert_allclose(x - point, [[-1, 1]], rtol=tolerance(condition=4))
    np.testing.assert_allclose(diagonal.reconstruction_error(x), [2], rtol=tolerance(condition=4))


def test_mean_of_the_projections_is_the_projected_mean(diagonal):
    points = np.array([(2.0, 4.0), (1.0, 3.0), (1.0, -3.0)])
    projections = diagonal.transform(points)
    np.testing.assert_allclose(projections.mean(), 4 / 3 * math.sqrt(2), rtol=tolerance())
    # The mean is (4/3, 4/3).
    np.testing.assert_allclose(PCA(1).fit(points).mean_, [4 / 3, 4 / 3], rtol=tolerance())
    projected_mean = diagonal.transform([[4 / 3, 4 / 3]])
    np.testing.assert_allclose(projected_mean, [[projections.mean()]], rtol=tolerance())


def test_variance_of_the_projections_is_the_projected_covariance(table):
    pca = PCA(2, ddof=0).fit(table)
    w = pca.components_[0]
    projected_covariance = w @ np.cov(table.T, ddof=0) @ w
    np.testing.assert_allclose(pca.transform(table)[:, 0].var(), projected_covariance, rtol=tolerance())
    np.testing.assert_allclose(pca.transform(table).var(axis=0), pca.explained_variance_, rtol=tolerance())


# ---- The example with eight points


@pytest.mark.parametrize("solver", ["auto", *FINDS_ALL])
def test_eight_points(solver):
    pca = PCA(solver=solver, ddof=0).fit(POINTS)
    np.testing.assert_array_equal(pca.mean_, [5, 5])
    np.testing.assert_allclose(pca.get_covariance(), [[6.25, 4.25], [4.25, 3.5]], rtol=tolerance())
    root = math.sqrt(((6.25 - 3.5) / 2) ** 2 + 4.25**2)  # of the characteristic equation
    values = [4.875 + root, 4.875 - root]
    np.testing.assert_allclose(pca.explained_variance_, values, rtol=tolerance(condition=30))
    np.testing.assert_array_equal(np.round(pca.explained_variance_, 2), [9.34, 0.41])
    np.testing.assert_array_equal(np.round(pca.components_, 2), [[0.81, 0.59], [-0.59, 0.81]])
    np.testing.assert_array_equal(np.round(pca.transform([[5.0, 6.0]]), 2), [[0.59, 0.81]])


def test_spectral_decomposition_of_the_eight_points():
    pca = PCA(ddof=0).fit(POINTS)
    U, D = pca.components_.T, np.diag(pca.explained_variance_)
    np.testing.assert_allclose(U @ D @ U.T, [[6.25, 4.25], [4.25, 3.5]], rtol=tolerance())
    np.testing.assert_allclose(pca.explained_variance_.sum(), 6.25 + 3.5, rtol=tolerance())


# ---- Formulas


def test_largest_variance_is_smallest_movement(table):
    """Variance kept and squared movement add up to tr S for every subspace, and PCA's keeps most."""
    S, Z = np.cov(table.T, ddof=0), table - table.mean(axis=0)
    pca = PCA(2, ddof=0).fit(table)
    rng = np.random.default_rng(0)
    bases = [pca.components_.T, *(np.linalg.qr(rng.standard_normal((6, 2)))[0] for _ in range(20))]
    kept = [np.trace(W.T @ S @ W) for W in bases]
    moved = [np.mean([np.sum((z - W @ (W.T @ z)) ** 2) for z in Z]) for W in bases]
    np.testing.assert_allclose(np.add(kept, moved), np.trace(S), rtol=tolerance())
    assert np.argmax(kept) == np.argmin(moved) == 0
    np.testing.assert_allclose(kept[0], pca.explained_variance_.sum(), rtol=tolerance())


def test_extremes_of_the_variance(table):
    """The largest w' S w of unit vectors is lambda_1, the smallest lambda_D, and the largest with w' w_1 = 0 lambda_2.

    Here they are found by climbing.
    """
    S = np.cov(table.T, ddof=0)
    pca = PCA(ddof=0).fit(table)
    first, last = pca.components_[0], pca.components_[-1]

    def climb(A):
        w = np.ones(6) / math.sqrt(6)
        for _ in range(5000):
            w = A @ w
            w /= np.linalg.norm(w)
        return w

    top = climb(S)
    bottom = climb(np.trace(S) * np.eye(6) - S)
    orthogonal = np.eye(6) - np.outer(top, top)
    second = climb(orthogonal @ S @ orthogonal)
    for w, k in ((top, 0), (second, 1), (bottom, 5)):
        np.testing.assert_allclose(w @ S @ w, pca.explained_variance_[k], rtol=1e-8)
        assert abs(w @ pca.components_[k]) == pytest.approx(1, abs=1e-8)
    assert abs(second @ top) < 1e-12 and first @ S @ first > last @ S @ last


@pytest.mark.parametrize("k", range(1, 6))
def test_distance_to_the_projection(table, k):
    values = PCA(ddof=0).fit(table).explained_variance_
    mean_distance = PCA(k, ddof=0).fit(table).reconstruction_error(table).mean()
    np.testing.assert_allclose(mean_distance, values[k:].sum(), rtol=tolerance(condition=values[0] / values[k]))


@pytest.mark.parametrize("k", range(1, 6))
def test_movement_of_an_uncentred_projection(table, k):
    full = PCA(ddof=0).fit(table)
    values, W = full.explained_variance_, full.components_
    moved = [np.sum((x - W[:k].T @ (W[:k] @ x)) ** 2) for x in table]
    wanted = np.sum(values[k:] + (W[k:] @ full.mean_) ** 2)
    np.testing.assert_allclose(np.mean(moved), wanted, rtol=tolerance(condition=10))


def test_proportion_of_variance():
    pca = PCA(ddof=0).fit(POINTS)
    values = np.linalg.eigvalsh([[6.25, 4.25], [4.25, 3.5]])[::-1]
    np.testing.assert_allclose(pca.explained_variance_ratio_, values / 9.75, rtol=tolerance(condition=30))
    np.testing.assert_array_equal(np.round(np.cumsum(pca.explained_variance_ratio_), 3), [0.958, 1.0])
    for share, k in ((0.9, 1), (0.957, 1), (0.959, 2)):
        assert PCA(share).fit(POINTS).n_components_ == k


@pytest.mark.parametrize("ddof", [0, 1])
def test_singular_values_and_loadings(table, ddof):
    pca = PCA(3, ddof=ddof).fit(table)
    _, s, Vt = np.linalg.svd(table - table.mean(axis=0))
    np.testing.assert_allclose(pca.singular_values_, s[:3], rtol=tolerance(condition=10))
    np.testing.assert_allclose(s[:3] ** 2 / (40 - ddof), pca.explained_variance_, rtol=tolerance(condition=10))
    loadings = np.abs(Vt[:3].T * s[:3] / math.sqrt(40 - ddof))
    np.testing.assert_allclose(np.abs(pca.loadings_), loadings, atol=tolerance(condition=100) * s[0])
    rebuilt = PCA(ddof=ddof).fit(table).loadings_
    np.testing.assert_allclose(rebuilt @ rebuilt.T, np.cov(table.T, ddof=ddof), atol=tolerance() * s[0])


@pytest.mark.parametrize("n", [40, 4])
def test_noise_variance(table, n):
    """The mean of all D - K discarded eigenvalues: with 4 rows, three of the six are zero and count."""
    X = table[:n]
    values = np.sort(np.linalg.eigvalsh(np.cov(X.T)))[::-1]
    np.testing.assert_allclose(PCA(2).fit(X).noise_variance_, sum(values[2:]) / 4, rtol=tolerance(condition=1000))


def test_residual_of_an_eigenpair(table):
    """After few steps of the iteration the residual is not small, and is what it says."""
    pca = PCA(2, solver=Krylov(block=2, steps=1)).fit(table)
    S = np.cov(table.T)
    pairs = zip(pca.explained_variance_, pca.components_, strict=True)
    slow = max(np.linalg.norm(S @ w - value * w) for value, w in pairs) / pca.explained_variance_[0]
    assert slow > 1e-6
    np.testing.assert_allclose(pca.residual_, slow, rtol=1e-6)


def test_eigenvalue_equation_and_its_dual(table):
    """S w = lambda w, and V w is an eigenvector of V V' / N with the same eigenvalue."""
    pca = PCA(ddof=0).fit(table)
    V = table - table.mean(axis=0)
    dual = V @ V.T / len(V)
    allowed = tolerance() * pca.explained_variance_[0]
    for value, w in zip(pca.explained_variance_, pca.components_, strict=True):
        assert np.linalg.norm(V.T @ (V @ w) / len(V) - value * w) <= allowed
        assert np.linalg.norm(dual @ (V @ w) - value * (V @ w)) <= allowed * np.linalg.norm(V, 2)


def test_fewer_rows_than_columns(table):
    """The eigenvectors of Q = V V' / N give those of S as u proportional to V' v."""
    X = table[:4]
    V = X - X.mean(axis=0)
    values, vectors = np.linalg.eigh(V @ V.T / len(V))
    pca = PCA(3, solver="gram", ddof=0).fit(X)
    np.testing.assert_allclose(pca.explained_variance_, values[:0:-1], rtol=tolerance(condition=100))
    u = V.T @ vectors[:, :0:-1]
    cosines = np.abs(np.sum(pca.components_.T * u, axis=0)) / np.linalg.norm(u, axis=0)
    np.testing.assert_allclose(cosines, 1, rtol=tolerance(condition=100))


def test_whitened_rows_have_mean_zero_and_unit_covariance(table):
    Z = Whitening(ddof=0).fit(table).transform(table)
    condition = np.linalg.cond(np.cov(table.T))
    np.testing.assert_allclose(Z.mean(axis=0), 0, atol=tolerance(condition=condition))
    np.testing.assert_allclose(Z.T @ Z / len(Z), np.eye(6), atol=tolerance(condition=condition))


@pytest.mark.parametrize("k", [1, 3, 5])
def test_likelihood_of_the_latent_model(table, k):
    """|C|, tr(C^-1 S) and the log-likelihood at the maximum, and C^-1 for orthogonal columns."""
    pca = PCA(k, ddof=0).fit(table)
    N, D = table.shape
    values = PCA(ddof=0).fit(table).explained_variance_
    sigma2 = values[k:].sum() / (D - k)
    rtol = tolerance(condition=values[0] / values[-1])
    np.testing.assert_allclose(pca.noise_variance_, sigma2, rtol=rtol)
    C = pca.get_covariance()
    np.testing.assert_allclose(np.linalg.det(C), sigma2 ** (D - k) * np.prod(values[:k]), rtol=rtol)
    np.testing.assert_allclose(np.trace(np.linalg.solve(C, np.cov(table.T, ddof=0))), D, rtol=rtol)
    log_det = (D - k) * math.log(sigma2) + np.log(values[:k]).sum()
    log_likelihood = -N / 2 * (D * math.log(2 * math.pi) + log_det + D)
    np.testing.assert_allclose(N * pca.score(table), log_likelihood, rtol=rtol)
    np.testing.assert_allclose(pca.score_samples(table), gaussian_log_density(table, pca.mean_, C), rtol=rtol)
    W = pca.components_.T * np.sqrt(pca.explained_variance_ - sigma2)  # w_j' w_j = lambda_j - sigma2
    inverse = (np.eye(D) - (W / (sigma2 + np.sum(W**2, axis=0))) @ W.T) / sigma2
    np.testing.assert_allclose(pca.get_precision(), inverse, atol=rtol * np.abs(inverse).max())
