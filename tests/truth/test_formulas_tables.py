"""Formulas of docs/formulas.md about two tables and about inner products of rows, by plain matrices and climbing."""

import math

import numpy as np
import pytest
from scipy import stats

from lowdim import CCA, PCR, PLSRegression
from lowdim.reading import summarize
from lowdim.summaries import Gram, StandardizedGrams
from lowdim.summaries.gram import centred_products
from models.canonical_tables import X, Y
from oracles_tables import up_to_signs

RNG = np.random.default_rng(11)
Z, T = X - X.mean(axis=0), Y - Y.mean(axis=0)


def inverse_root(S):
    values, vectors = np.linalg.eigh(S)
    return (vectors / np.sqrt(values)) @ vectors.T


# ---- Regression on components


@pytest.mark.parametrize("k", [1, 3, 5])
def test_coefficients_of_principal_component_regression(k):
    """beta = V_K (W_K' W_K)^{-1} W_K' y with W_K = X V_K."""
    V = np.linalg.svd(Z)[2][:k].T
    W = Z @ V
    beta = V @ np.linalg.inv(W.T @ W) @ W.T @ T
    np.testing.assert_allclose(PCR(k).fit(X, Y).coef_, beta.T, atol=1e-10)


def test_relevance_of_a_component():
    """a_i^2 lambda_i is the variance of y that component i explains, a_i its coefficient in the regression."""
    y = Y[:, 0]
    values, vectors = np.linalg.eigh(np.cov(X.T))
    explained = []
    for value, v in zip(values, vectors.T, strict=True):
        score = Z @ v
        a = np.polyfit(score, y, 1)[0]
        explained.append(a**2 * value)
        np.testing.assert_allclose(a**2 * value, np.var(a * score, ddof=1), rtol=1e-9)
    best = np.argsort(explained)[::-1][:2]
    found = PCR(2, select="relevance").fit(X, y).x_weights_
    np.testing.assert_allclose(up_to_signs(found, vectors[:, best]), vectors[:, best], atol=1e-9)


def test_weight_of_largest_covariance():
    """The first weight of PLS is the leading left singular vector of X'Y: no unit vector has a longer Y'X w."""
    w = PLSRegression(1, scale=False).fit(X, Y).x_weights_[:, 0]
    u = np.linalg.svd(Z.T @ T)[0][:, 0]
    assert abs(u @ w) == pytest.approx(1, abs=1e-12)
    length = np.linalg.norm(T.T @ Z @ w)
    for _ in range(50):
        other = RNG.standard_normal(5)
        assert np.linalg.norm(T.T @ Z @ other) <= length * np.linalg.norm(other)
    # With one response it is X'y itself, made a unit vector.
    one = PLSRegression(1, scale=False).fit(X, Y[:, 0]).x_weights_[:, 0]
    direction = Z.T @ T[:, 0]
    assert abs(one @ direction) == pytest.approx(np.linalg.norm(direction), rel=1e-12)


def test_least_squares_has_the_largest_correlation():
    """Under |X z| = 1 the best direction is that of least squares; under |z| = 1 it is X'y, the weight of PLS."""
    y = T[:, 0]
    least_squares, weight = np.linalg.lstsq(Z, y, rcond=None)[0], Z.T @ y

    def correlation(z):
        return y @ Z @ z / np.linalg.norm(Z @ z)

    def covariance(z):
        return y @ Z @ z / np.linalg.norm(z)

    for z in (*RNG.standard_normal((50, 5)), weight):
        assert correlation(z) < correlation(least_squares)
    for z in (*RNG.standard_normal((50, 5)), least_squares):
        assert covariance(z) < covariance(weight)
    found = PLSRegression(1, scale=False).fit(X, Y[:, 0]).x_weights_[:, 0]
    assert abs(covariance(found)) == pytest.approx(covariance(weight), rel=1e-12)
    assert abs(correlation(found)) < 0.999 * correlation(least_squares)


# ---- Canonical correlations


def test_svd_of_the_whitened_covariance():
    """S11^{-1/2} S12 S22^{-1/2} has the correlations as singular values; w = S11^{-1/2} u has w'S11 w = 1."""
    cca = CCA(scale=False).fit(X, Y)
    S = np.cov(X.T, Y.T)
    A, B = inverse_root(S[:5, :5]), inverse_root(S[5:, 5:])
    U, s, Vt = np.linalg.svd(A @ S[:5, 5:] @ B)
    np.testing.assert_allclose(cca.correlations_, s, rtol=1e-9)
    np.testing.assert_allclose(up_to_signs(cca.x_rotations_, (A @ U)[:, :4]), (A @ U)[:, :4], atol=1e-8)
    np.testing.assert_allclose(up_to_signs(cca.y_rotations_, B @ Vt.T), B @ Vt.T, atol=1e-8)
    np.testing.assert_allclose(cca.x_rotations_.T @ S[:5, :5] @ cca.x_rotations_, np.eye(4), atol=1e-9)


def test_wilks_and_bartlett():
    cca = CCA().fit(X, Y)
    found, r = cca.significance(), cca.correlations_
    n, p, q = 80, 5, 4
    for k in range(4):
        wilks = math.prod(1 - r[j] ** 2 for j in range(k, 4))
        chi2, dof = -(n - 1 - (p + q + 1) / 2) * math.log(wilks), (p - k) * (q - k)
        assert found.wilks[k] == pytest.approx(wilks, rel=1e-10)
        assert found.chi2[k] == pytest.approx(chi2, rel=1e-9) and found.chi2_dof[k] == dof
        assert found.chi2_p[k] == pytest.approx(stats.chi2.sf(chi2, dof), rel=1e-7)
        # Rao's F, with its own powers.
        a, b = p - k, q - k
        t = math.sqrt((a * a * b * b - 4) / (a * a + b * b - 5)) if a * a + b * b > 5 else 1.0
        m = n - 1 - (p + q + 1) / 2
        ends = a * b, m * t - a * b / 2 + 1
        F = (1 - wilks ** (1 / t)) / wilks ** (1 / t) * ends[1] / ends[0]
        np.testing.assert_allclose(found.f_dof[k], ends, rtol=1e-10)
        assert found.f[k] == pytest.approx(F, rel=1e-9)
        assert found.f_p[k] == pytest.approx(stats.f.sf(F, *ends), rel=1e-7)


# ---- Inner products of rows

WIDE = RNG.standard_normal((7, 20)) + 3.0
#: Weights of training rows: the first five, of which one was drawn twice and one not at all.
DRAWN = np.array([1.0, 2.0, 0.0, 1.0, 1.0, 0.0, 0.0])


def test_inner_products_about_the_training_mean():
    """K_ij - a_i - a_j + b for all rows, a_i = sum_t K_it w_t and b = sum_t w_t a_t, w the shares of training rows."""
    w = DRAWN / DRAWN.sum()
    mean = sum(share * row for share, row in zip(w, WIDE, strict=True))
    wanted = np.array([[(x - mean) @ (y - mean) for y in WIDE] for x in WIDE])
    for products in (summarize(WIDE.T, Gram(7)).centred(), WIDE @ WIDE.T):
        a = [sum(products[i, t] * w[t] for t in range(7)) for i in range(7)]
        b = sum(w[t] * a[t] for t in range(7))
        slow = [[products[i, j] - a[i] - a[j] + b for j in range(7)] for i in range(7)]
        np.testing.assert_allclose(slow, wanted, atol=1e-11)
        np.testing.assert_allclose(centred_products(products, DRAWN), wanted, atol=1e-11)


def test_inner_products_of_standardized_rows():
    """Columns divided by the training deviations change the products: each set of training rows has its own."""
    sets = np.stack([DRAWN, np.ones(7)])
    found = summarize(WIDE.T, StandardizedGrams(sets, ddof=1))
    for weights, product, log_scale in zip(sets, found.product, found.log_scale, strict=True):
        chosen = np.repeat(WIDE, weights.astype(int), axis=0)
        mean, deviation = chosen.mean(axis=0), chosen.std(axis=0, ddof=1)
        standardized = (WIDE - mean) / deviation
        np.testing.assert_allclose(
            centred_products(product, weights), standardized @ standardized.T, rtol=1e-9, atol=1e-9
        )
        assert log_scale == pytest.approx(np.log(deviation).sum(), rel=1e-9)


def test_coefficients_lifted_from_inner_products():
    """Coefficients of a wide table are X' times a matrix with a row for each row of X."""
    y = RNG.standard_normal(7)
    Z, t = WIDE - WIDE.mean(axis=0), y - y.mean()
    values, vectors = np.linalg.eigh(Z @ Z.T)
    values, vectors = values[::-1][:3], vectors[:, ::-1][:, :3]
    lifted = Z.T @ (vectors / values) @ vectors.T @ t
    found = PCR(3).fit(WIDE, y)
    np.testing.assert_allclose(found.coef_[0], lifted, atol=1e-10)
    np.testing.assert_allclose(found.predict(WIDE) - y.mean(), Z @ lifted, atol=1e-9)
