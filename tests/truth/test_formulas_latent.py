"""Formulas of docs/formulas.md about latent Gaussian models, by conditioning, loops over rows, and plain descent."""

import itertools
import math

import numpy as np
import pytest

from lowdim import PCA, PPCA, FactorAnalysis
from models.ppca_rows import X, covariance, rows
from oracles import gaussian_log_density, tolerance


def test_posterior_of_the_latent_variables():
    """M^{-1} W'(x - mu) and sigma2 M^{-1} are mean and covariance of u given x, by conditioning of (u, x)."""
    ppca = PPCA(2).fit(X)
    W, sigma2 = ppca.loadings_, ppca.noise_variance_
    M = W.T @ W + sigma2 * np.eye(2)
    mean, cov = ppca.posterior(X)
    C = covariance(ppca)
    for i, x in enumerate(X):
        np.testing.assert_allclose(mean[i], np.linalg.solve(M, W.T @ (x - ppca.mean_)), rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(mean[i], W.T @ np.linalg.solve(C, x - ppca.mean_), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(cov[0], sigma2 * np.linalg.inv(M), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(cov[0], np.eye(2) - W.T @ np.linalg.solve(C, W), rtol=1e-8, atol=1e-12)


def test_posterior_mean_without_noise():
    """M^{-1} W'(x - mu) tends to (W'W)^{-1} W'(x - mu) as sigma2 tends to 0; as sigma2 grows, it tends to 0."""
    ppca = PPCA(2).fit(X)
    W, z = ppca.loadings_, X[0] - ppca.mean_
    limit = np.linalg.solve(W.T @ W, W.T @ z)

    def posterior_mean(sigma2):
        return np.linalg.solve(W.T @ W + sigma2 * np.eye(2), W.T @ z)

    distances = [np.linalg.norm(posterior_mean(s) - limit) for s in (1.0, 1e-2, 1e-4, 1e-6)]
    assert all(after < before / 50 for before, after in itertools.pairwise(distances))
    assert np.linalg.norm(posterior_mean(1e9)) < 1e-6
    quiet = rows(noise=1e-6)
    model = PPCA(2).fit(quiet)
    W = model.loadings_
    wanted = np.linalg.solve(W.T @ W, W.T @ (quiet - model.mean_).T).T
    np.testing.assert_allclose(model.transform(quiet), wanted, rtol=1e-9, atol=1e-9)


def test_one_step_of_em():
    """The steps of the textbook: the likelihood never falls, and they end at the closed form, rotated."""
    rng = np.random.default_rng(3)
    (n, p), k = X.shape, 2
    mu, W, sigma2 = X.mean(axis=0), rng.standard_normal((p, k)), 1.0
    Z = X - mu
    path = []
    for _ in range(800):
        path.append(gaussian_log_density(X, mu, W @ W.T + sigma2 * np.eye(p)).sum())
        inverse = np.linalg.inv(W.T @ W + sigma2 * np.eye(k))
        U = Z @ W @ inverse  # rows are E[u]
        squares = n * sigma2 * inverse + U.T @ U  # the sum of E[u u']
        W = Z.T @ U @ np.linalg.inv(squares)
        sigma2 = (np.sum(Z * Z) - 2 * np.sum(Z * (U @ W.T)) + np.trace(squares @ W.T @ W)) / (n * p)
    assert np.all(np.diff(path) >= -1e-10 * abs(path[0]))
    closed = PPCA(k).fit(X)
    np.testing.assert_allclose(path[-1], closed.loglike_[0], rtol=1e-10)
    np.testing.assert_allclose(sigma2, closed.noise_variance_, rtol=1e-6)
    np.testing.assert_allclose(W @ W.T, closed.loadings_ @ closed.loadings_.T, atol=1e-5)
    # One more step leaves the closed form, with any rotation of it, where it is.
    turn = np.linalg.qr(rng.standard_normal((k, k)))[0]
    W, sigma2 = closed.loadings_ @ turn, closed.noise_variance_
    S, inverse = np.cov(X.T, ddof=0), np.linalg.inv(W.T @ W + sigma2 * np.eye(k))
    after = S @ W @ np.linalg.inv(sigma2 * np.eye(k) + inverse @ W.T @ S @ W)
    np.testing.assert_allclose(after, W, atol=1e-9)
    np.testing.assert_allclose(np.trace(S - S @ W @ inverse @ after.T) / p, sigma2, rtol=1e-9)


def test_inverse_of_the_covariance():
    """(I - W M^{-1} W') / sigma2 always; a rank-one term for each column only if columns are orthogonal."""
    ppca = PPCA(2).fit(X)
    sigma2, turn = ppca.noise_variance_, np.array([[0.8, -0.6], [0.6, 0.8]])
    for W, orthogonal in ((ppca.loadings_, True), (ppca.loadings_ @ turn, False)):
        inverse = np.linalg.inv(W @ W.T + sigma2 * np.eye(6))
        M = W.T @ W + sigma2 * np.eye(2)
        np.testing.assert_allclose((np.eye(6) - W @ np.linalg.solve(M, W.T)) / sigma2, inverse, atol=1e-12)
        terms = sum(np.outer(w, w) / (sigma2 + w @ w) for w in W.T)
        error = np.abs((np.eye(6) - terms) / sigma2 - inverse).max()
        assert bool(error < 1e-12) is orthogonal
        np.testing.assert_allclose(ppca.get_precision(), inverse, atol=1e-10)


def test_communalities_and_uniquenesses():
    """Of standardised columns they add up to 1, and communalities are row sums of squared loadings; those of correlated
    factors have phi between."""
    fa = FactorAnalysis(2, scale=True).fit(X)
    for j in range(6):
        assert fa.communalities_[j] == pytest.approx(sum(entry**2 for entry in fa.loadings_[j]), rel=1e-10)
        assert fa.communalities_[j] + fa.uniquenesses_[j] == pytest.approx(1.0, rel=1e-6)
    np.testing.assert_array_equal(fa.uniquenesses_, fa.noise_variance_)
    oblique = FactorAnalysis(2, scale=True, rotation="oblimin").fit(X)
    L, phi = oblique.loadings_, oblique.phi_
    for j in range(6):
        assert oblique.communalities_[j] == pytest.approx(
            sum(L[j, a] * phi[a, b] * L[j, b] for a in range(2) for b in range(2)), rel=1e-10
        )
    shares = [sum(phi[k, a] * L[d, a] * L[d, k] for a in range(2) for d in range(6)) for k in range(2)]
    np.testing.assert_allclose(oblique.explained_variance_, shares, rtol=1e-10)
    assert sum(shares) == pytest.approx(np.sum(fa.communalities_), rel=1e-8)


# ---- Auto-encoders


def test_linear_auto_encoder():
    """Encoder A and decoder B that minimise E |z - B A z|^2, found by alternating least squares from anywhere.

    B spans the leading principal directions, and the error is the sum of the discarded eigenvalues.
    """
    Z, k = X - X.mean(axis=0), 2
    pca = PCA(k, ddof=0).fit(X)
    rng = np.random.default_rng(1)
    for _ in range(2):
        B = rng.standard_normal((6, k))
        for _ in range(300):
            A = np.linalg.solve(B.T @ B, B.T)
            U = Z @ A.T
            B = np.linalg.solve(U.T @ U, U.T @ Z).T
        Q = np.linalg.qr(B)[0]
        np.testing.assert_allclose(Q @ Q.T, pca.components_.T @ pca.components_, atol=1e-8)
        np.testing.assert_allclose(np.mean(np.sum((Z - U @ B.T) ** 2, axis=1)), 4 * pca.noise_variance_, rtol=1e-10)
        # The axes are not found: those of the two decoders differ from the components.
        assert np.abs(np.abs(Q.T @ pca.components_.T) - np.eye(k)).max() > 1e-3


def evidence_bound(table, W, sigma2, mu, encoder, deviations):
    """The mean over rows of E_q ln p(x | z) - KL(q || p), q(z | x) = N(encoder (x - mu), diag(deviations^2))."""
    p, k = W.shape
    Z, v = table - mu, deviations**2
    means = Z @ encoder.T
    squares = np.sum((Z - means @ W.T) ** 2, axis=1) + np.sum(v * np.sum(W**2, axis=0))
    fit = -p / 2 * math.log(2 * math.pi * sigma2) - squares / (2 * sigma2)
    divergence = 0.5 * (np.sum(v) + np.sum(means**2, axis=1) - k - np.sum(np.log(v)))
    return np.mean(fit - divergence)


def test_evidence_bound_of_a_linear_decoder():
    """At PPCA's maximum with orthogonal columns the posterior is diagonal, and the bound is the log-likelihood.

    Turned columns have a smaller bound, and alternating maximisation ends at the orthogonal ones.
    """
    # With little noise, the alternation below would take many thousands of steps.
    noisy = rows(noise=2.0)
    ppca = PPCA(2).fit(noisy)
    W, sigma2, mu = ppca.loadings_, ppca.noise_variance_, ppca.mean_
    inverse = np.linalg.inv(W.T @ W + sigma2 * np.eye(2))
    best = evidence_bound(noisy, W, sigma2, mu, inverse @ W.T, np.sqrt(sigma2 * np.diag(inverse)))
    assert best == pytest.approx(ppca.score(noisy), rel=1e-10)
    turned = W @ np.array([[0.8, -0.6], [0.6, 0.8]])
    inverse = np.linalg.inv(turned.T @ turned + sigma2 * np.eye(2))
    assert (
        evidence_bound(noisy, turned, sigma2, mu, inverse @ turned.T, np.sqrt(sigma2 * np.diag(inverse))) < best - 1e-3
    )

    # From anywhere, the best encoder and the best decoder in turn.
    Z, (n, p) = noisy - mu, noisy.shape
    W, sigma2 = np.random.default_rng(2).standard_normal((p, 2)), 1.0
    for _ in range(4000):
        encoder = np.linalg.solve(W.T @ W + sigma2 * np.eye(2), W.T)
        v = sigma2 / (np.sum(W**2, axis=0) + sigma2)
        U = Z @ encoder.T
        squares = U.T @ U + n * np.diag(v)
        W = Z.T @ U @ np.linalg.inv(squares)
        sigma2 = (np.sum(Z * Z) - 2 * np.sum(Z * (U @ W.T)) + np.trace(squares @ W.T @ W)) / (n * p)
    assert evidence_bound(noisy, W, sigma2, mu, encoder, np.sqrt(v)) == pytest.approx(best, rel=1e-8)


def test_density_of_the_latent_model():
    """ln N(x; mu, C) by |C| = sigma2^(D-K) |M| and the K x K inverse of M."""
    ppca = PPCA(2).fit(X)
    W, sigma2 = ppca.loadings_, ppca.noise_variance_
    M = W.T @ W + sigma2 * np.eye(2)
    log_det = 4 * math.log(sigma2) + np.linalg.slogdet(M)[1]
    for x, found in zip(X, ppca.score_samples(X), strict=True):
        z = x - ppca.mean_
        distance = (z @ z - z @ W @ np.linalg.solve(M, W.T @ z)) / sigma2
        assert found == pytest.approx(
            -0.5 * (6 * math.log(2 * math.pi) + log_det + distance), rel=tolerance(condition=1e3)
        )
