"""Formulas of docs/formulas.md about kernels and ICA, by explicit features and quadrature."""

import math

import numpy as np
import pytest
from scipy import integrate

from lowdim import PCA, KernelPCA
from lowdim.densities import Sech
from lowdim.kernels import Quadratic
from oracles import tolerance

RNG = np.random.default_rng(4)
X = RNG.standard_normal((12, 2)) + np.array([1.0, -0.5])
NEW = RNG.standard_normal((5, 2))


def features(rows):
    """The map of the kernel (x . y)^2, one row at a time."""
    return np.array([(a * a, math.sqrt(2) * a * b, b * b) for a, b in rows])


def test_eigenvalues_of_a_kernel_matrix():
    """gamma = N lambda for the centred matrix, lambda of the features with divisor N; not so for K as it is."""
    F = features(X)
    variances = np.sort(np.linalg.eigvalsh(np.cov(F.T, ddof=0)))[::-1]
    model = KernelPCA(3, kernel=Quadratic()).fit(X)
    np.testing.assert_allclose(model.eigenvalues_, 12 * variances, rtol=tolerance(condition=1000))
    np.testing.assert_allclose(model.explained_variance_, 12 / 11 * variances, rtol=tolerance(condition=1000))
    raw = np.sort(np.linalg.eigvalsh(F @ F.T))[::-1][:3]
    assert np.abs(raw / (12 * variances) - 1).max() > 0.1


def test_coefficients_of_a_kernel_component():
    """alpha = P / sqrt(gamma) makes sum_i alpha_i (phi(x_i) - mean) a unit vector, gamma being eigenvalues of K~.

    With eigenvalues g = gamma / N of K~ / N the same coefficients are P / sqrt(N g).
    """
    F = features(X)
    Z = F - F.mean(axis=0)
    model = KernelPCA(3, kernel=Quadratic()).fit(X)
    P, gamma = model.eigenvectors_, model.eigenvalues_
    alpha = P / np.sqrt(gamma)
    np.testing.assert_allclose(alpha, P / np.sqrt(12 * (gamma / 12)), rtol=tolerance())
    directions = Z.T @ alpha
    np.testing.assert_allclose(directions.T @ directions, np.eye(3), atol=1e-10)
    np.testing.assert_allclose(np.abs(directions), np.abs(PCA(3).fit(F).components_.T), atol=1e-9)
    np.testing.assert_allclose(model.transform(NEW), (features(NEW) - F.mean(axis=0)) @ directions, atol=1e-9)


def test_centring_the_kernels_of_a_new_row():
    """k_i minus its mean, minus the means of the columns of K, plus the mean of K, without features."""
    model = KernelPCA(2, kernel=Quadratic()).fit(X)
    K = np.array([[(x @ y) ** 2 for y in X] for x in X])
    alpha = model.eigenvectors_ / np.sqrt(model.eigenvalues_)
    scores = []
    for x in NEW:
        k = [(x @ y) ** 2 for y in X]
        centred = [k[i] - sum(k) / 12 - K[:, i].sum() / 12 + K.sum() / 144 for i in range(12)]
        scores.append(centred @ alpha)
    np.testing.assert_allclose(model.transform(NEW), scores, rtol=1e-9, atol=1e-10)


def test_sech_density():
    """1 / (pi cosh u) = 2 / (pi (e^u + e^-u)) integrates to 1, has variance pi^2 / 4, and its score is tanh u."""
    density = Sech()

    def p(u):
        return 2 / (math.pi * (math.exp(u) + math.exp(-u)))

    u = np.linspace(-4.0, 4.0, 9)
    np.testing.assert_allclose(np.exp(-density.energy(u)), [p(x) for x in u], rtol=tolerance())
    np.testing.assert_allclose([1 / (math.pi * math.cosh(x)) for x in u], [p(x) for x in u], rtol=tolerance())
    np.testing.assert_allclose(density.score(u), np.tanh(u), rtol=tolerance())
    h = 1e-5
    np.testing.assert_allclose(
        density.score(u), [-(math.log(p(x + h)) - math.log(p(x - h))) / (2 * h) for x in u], atol=1e-9
    )
    assert integrate.quad(p, -30, 30)[0] == pytest.approx(1, abs=1e-10)
    assert integrate.quad(lambda x: x * x * p(x), -40, 40)[0] == pytest.approx(math.pi**2 / 4, abs=1e-9)
