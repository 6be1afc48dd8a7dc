"""Rows grouped by their pattern of missing entries: the E step of a Gaussian against conditional distributions."""

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from inputs import with_missing
from lowdim.reading import summarize
from lowdim.summaries import Completed, Latent, LatentGaussian, Moments, Observed, Patterns
from oracles import conditional, observed_loglike, tolerance

P = 5
RNG = np.random.default_rng(0)
ROWS = with_missing(RNG.standard_normal((40, 2)) @ RNG.standard_normal((2, P)) + RNG.standard_normal((40, P)), 0.3)
ROWS[:12] = np.nan_to_num(ROWS[:12])
# Several rows of one pattern, more of them than observed entries.
ROWS[12:22, 1:3] = np.nan
WEIGHTS = RNG.integers(1, 4, 40).astype(float)


def model(offset=0.0):
    loadings = np.random.default_rng(1).standard_normal((2, P))
    return LatentGaussian(
        np.arange(P) / 3 + offset, np.linspace(0.5, 2.0, P), loadings, np.array([0.3, 1.0, 0.5, 2.0, 0.8])
    )


def by_rows(X, weights, g):
    """Sums of E[z], E[z z^T] and log-densities, row by row, over rows with an observed entry."""
    W = g.loadings * g.scale
    C = W.T @ W + np.diag(g.noise * g.scale**2)
    total, second, weight = np.zeros(P), np.zeros((P, P)), 0.0
    for x, w in zip(X, weights, strict=True):
        m = np.isnan(x)
        if m.all():
            continue
        filled, spread = x.copy(), np.zeros((P, P))
        if m.any():
            filled[m], spread[np.ix_(m, m)] = conditional(x, g.mean, C)
        z = (filled - g.mean) / g.scale
        total, weight = total + w * z, weight + w
        second += w * (np.outer(z, z) + spread / g.scale / g.scale[:, None])
    return weight, total, second, float(weights @ observed_loglike(X, g.mean, C))


@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_expected_moments_are_those_of_conditional_distributions(offset):
    X = ROWS.copy()
    X[30] = np.nan
    found = summarize(X + offset, Patterns(P), weights=WEIGHTS).completed(model(offset))
    weight, total, second, loglike = by_rows(X, WEIGHTS, model())
    assert found.weight == weight
    tol = tolerance(condition=1.0 + offset)
    np.testing.assert_allclose(found.total, total, atol=tol * weight)
    np.testing.assert_allclose(found.second, second, atol=tol * np.abs(second).max())
    assert found.loglike == pytest.approx(loglike, rel=tol)


def test_they_are_those_of_a_pass_and_of_complete_rows():
    g = model()
    found, expected = summarize(ROWS, Patterns(P)).completed(g), summarize(ROWS, Completed(g))
    for name in ("weight", "total", "second", "loglike"):
        np.testing.assert_allclose(getattr(found, name), getattr(expected, name), rtol=tolerance() * 100)
    whole = np.nan_to_num(ROWS)
    found, expected = summarize(whole, Patterns(P)), summarize(whole, Completed(g))
    assert len(found.weights) == 0 and found.n_samples == 40
    np.testing.assert_allclose(found.completed(g).second, expected.second, rtol=tolerance() * 100)


def test_what_starts_need_follows_from_the_patterns():
    patterns = summarize(ROWS, Patterns(P), weights=WEIGHTS)
    found, expected = patterns.observed(2), summarize(ROWS, Observed(P, components=2), weights=WEIGHTS)
    for name in ("n_rows", "weight", "surplus", "count", "mean", "squares"):
        np.testing.assert_allclose(getattr(found, name), getattr(expected, name), rtol=tolerance() * 10)
    mean, scale = np.nanmean(ROWS, axis=0), np.nanstd(ROWS, axis=0)
    moments = summarize(np.nan_to_num((ROWS - mean) / scale), Moments(P), weights=WEIGHTS)
    np.testing.assert_allclose(patterns.filled(mean, scale).scatter, moments.scatter, atol=tolerance() * 100)


def test_what_was_computed_from_the_rows_so_far_is_forgotten():
    g, patterns = model(), Patterns(P)
    patterns.update(ROWS[:25])
    before = patterns.completed(g).loglike
    patterns.update(ROWS[25:])
    assert patterns.completed(g).loglike != before
    assert patterns.completed(g).loglike == pytest.approx(summarize(ROWS, Patterns(P)).completed(g).loglike)


def test_latent_sums_of_many_blocks_have_the_same_bits_in_any_number_of_threads():
    X, g = np.tile(ROWS, (3000, 1)), model()
    patterns = summarize(X, Patterns(P))
    assert len(patterns.weights) > 2 * Latent(g).block_rows(P, 8)
    found = {}
    for n_threads in (1, 2):
        with threadpool_limits(n_threads):
            found[n_threads] = patterns.latent(g, informed=True)
    expected = summarize(X, Latent(g, informed=True))
    for name in ("scores", "second", "cross", "squares", "covariances"):
        np.testing.assert_array_equal(getattr(found[1], name), getattr(found[2], name))
        np.testing.assert_allclose(getattr(found[2], name), getattr(expected, name), rtol=1e-9)
    assert found[1].loglike == found[2].loglike == pytest.approx(expected.loglike)
