"""Worked numbers and formulas about projections, PCA and whitening, small enough to check by hand. Divisor 1/N."""

import math

import numpy as np
import pytest

from examples import FINDS_ALL
from lowdim import PCA, Whitening
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


def test_direction_has_unit_length(diagonal):
    np.testing.assert_allclose(diagonal.components_, [[1 / math.sqrt(2), 1 / math.sqrt(2)]], rtol=tolerance())
    np.testing.assert_array_equal(diagonal.mean_, [0, 0])


def test_projecting_2_4_on_1_1(diagonal):
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


@pytest.mark.parametrize("k", range(1, 6))
def test_distance_to_the_projection(table, k):
    """Centred: the sum of the discarded eigenvalues. Uncentred: each with (mu' w_d)^2 added."""
    full = PCA(ddof=0).fit(table)
    values, W = full.explained_variance_, full.components_
    mean_distance = PCA(k, ddof=0).fit(table).reconstruction_error(table).mean()
    rtol = tolerance(condition=values[0] / values[k])
    np.testing.assert_allclose(mean_distance, values[k:].sum(), rtol=rtol)
    uncentred = table - (table @ W[:k].T) @ W[:k]
    wanted = np.sum(values[k:] + (W[k:] @ full.mean_) ** 2)
    np.testing.assert_allclose(np.sum(uncentred**2, axis=1).mean(), wanted, rtol=tolerance(condition=10))


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
