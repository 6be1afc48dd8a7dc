"""Rules of random matrices, simulations and partial correlations, against slow and independent computations."""

import math

import numpy as np
import pytest
from scipy import integrate
from sklearn.datasets import load_wine

from lowdim.selection import Eigenvalues
from lowdim.selection.criteria import hard_threshold, median_of_law
from lowdim.selection.parallel_analysis import simulate_eigenvalues
from lowdim.summaries import Moments

#: All rules of eigenvalues.
from selection.tables_drawn import TALL, UNITS, WIDE, ask, eigenvalues, with_signal

# ---- Random matrices


def slow_median(beta):
    """The median of the law from its density, by adaptive quadrature and bisection."""
    low, high = (1 - math.sqrt(beta)) ** 2, (1 + math.sqrt(beta)) ** 2
    a, b = low, high

    def below(x):
        # The roots at both ends are taken out by x = middle + radius sin(u).
        middle, radius = (low + high) / 2, (high - low) / 2
        upper = math.asin(max(-1.0, min(1.0, (x - middle) / radius)))

        def density(u):
            y = middle + radius * math.sin(u)
            return radius**2 * math.cos(u) ** 2 / (2 * math.pi * beta * y) if y > 0 else 0.0

        return integrate.quad(density, -math.pi / 2, upper, epsabs=1e-13, epsrel=1e-13, limit=200)[0]

    for _ in range(60):
        x = (a + b) / 2
        a, b = (x, b) if below(x) < 0.5 else (a, x)
    return (a + b) / 2


@pytest.mark.parametrize("beta", [0.001, 0.05, 0.2, 0.5, 0.8, 0.95, 0.999, 1.0])
def test_median_of_the_law(beta):
    assert median_of_law(beta) == pytest.approx(slow_median(beta), abs=1e-10)


def test_median_of_the_law_of_very_tall_tables():
    # The law shrinks to a semicircle about 1, whose median is 1 up to a multiple of beta.
    for beta in (1e-6, 1e-9, 1e-12):
        assert abs(median_of_law(beta) - 1) < 2 * beta


def test_median_of_the_law_is_that_of_simulated_noise():
    rng = np.random.default_rng(0)
    for m, n in ((200, 200), (100, 400)):
        medians = [np.median(np.linalg.svd(rng.standard_normal((m, n)))[1] ** 2 / n) for _ in range(20)]
        assert np.mean(medians) == pytest.approx(median_of_law(m / n), abs=0.02)


def omega(beta):
    """The hard threshold in units of the median singular value."""
    return hard_threshold(beta) / math.sqrt(median_of_law(beta))


def test_hard_thresholds():
    assert hard_threshold(1.0) == pytest.approx(4 / math.sqrt(3), rel=1e-15)
    assert omega(1.0) == pytest.approx(2.858, abs=5e-4)
    # Their polynomial for omega, said to be right to about 0.02.
    for beta in np.arange(0.05, 1.01, 0.05):
        assert abs(omega(beta) - (0.56 * beta**3 - 0.95 * beta**2 + 1.82 * beta + 1.43)) < 0.02


def test_hard_threshold_is_where_keeping_and_dropping_cost_the_same():
    # A component of singular value x, times sqrt(n sigma2), is seen at y(x) and overlaps with what is seen; at the
    # threshold the squared error of keeping it equals x^2, that of dropping it.
    for beta in (0.1, 0.5, 1.0):
        y = hard_threshold(beta)
        x = math.sqrt((y * y - beta - 1 + math.sqrt((y * y - beta - 1) ** 2 - 4 * beta)) / 2)
        overlap = (x**4 - beta) / (x * x * y)
        assert y * y - 2 * y * overlap + x * x == pytest.approx(x * x, rel=1e-12)


@pytest.mark.parametrize("X", [TALL, WIDE], ids=["tall", "wide"])
@pytest.mark.parametrize("sigma2", [None, 1.0, 0.5])
@pytest.mark.parametrize("ddof", [0, 1])
def test_thresholds_in_terms_of_singular_values(X, sigma2, ddof):
    n, p = X.shape
    s = np.linalg.svd(X - X.mean(axis=0), compute_uv=False)[: min(n - 1, p)]
    N, beta = max(n - 1, p), min(n - 1, p) / max(n - 1, p)
    unit = np.median(s) / math.sqrt(slow_median(beta)) if sigma2 is None else math.sqrt(N * sigma2)
    for rule, factor in (("gavish-donoho", hard_threshold(beta)), ("marchenko-pastur", 1 + math.sqrt(beta))):
        k, curve = ask(rule, eigenvalues(X, ddof=ddof), noise_variance=sigma2)
        assert k == np.sum(s > factor * unit)
        np.testing.assert_allclose(np.sqrt(curve * (n - ddof)), factor * unit, rtol=1e-8)


def test_noise_variance_must_be_positive():
    for bad in (0.0, -1.0, float("nan"), float("inf")):
        for rule in ("gavish-donoho", "marchenko-pastur"):
            with pytest.raises(ValueError, match="noise_variance"):
                ask(rule, eigenvalues(TALL), noise_variance=bad)


# ---- Simulations


@pytest.mark.parametrize("scale", [False, True])
@pytest.mark.parametrize(("n", "p"), [(30, 6), (12, 11), (9, 15)])
def test_simulated_eigenvalues_are_those_of_simulated_rows(n, p, scale):
    deviations = np.linspace(0.5, 2, p)
    draws, m = 600, min(n - 1, p)
    rng = np.random.default_rng(1)
    quick = np.array([simulate_eigenvalues(rng, n, deviations, scale)[:m] for _ in range(draws)])
    slow = []
    for _ in range(draws):
        Z = rng.standard_normal((n, p)) * deviations
        C = np.corrcoef(Z.T) if scale else np.cov(Z.T) * (n - 1)
        slow.append(np.linalg.eigvalsh(C)[::-1][:m])
    slow = np.array(slow)
    error = np.sqrt(quick.var(axis=0) + slow.var(axis=0)) / math.sqrt(draws)
    assert np.all(np.abs(quick.mean(axis=0) - slow.mean(axis=0)) < 4 * error)
    np.testing.assert_allclose(np.log(quick.std(axis=0)), np.log(slow.std(axis=0)), atol=0.2)


def test_parallel_finds_components_and_noise():
    assert ask("parallel", eigenvalues(with_signal(300, 10, 3), True), n_resamples=100)[0] == 3
    noise = np.random.default_rng(2).standard_normal((300, 10)) * np.linspace(1, 5, 10)
    for scale in (False, True):
        assert ask("parallel", eigenvalues(noise, scale), n_resamples=100)[0] == 0


def test_parallel_thresholds():
    e = eigenvalues(TALL, True)
    mean, high = (ask("parallel", e, n_resamples=200, quantile=q)[1] for q in ("mean", 0.95))
    # Eigenvalues of correlations add up to p in every draw.
    assert mean.sum() == pytest.approx(9) and np.all(high > mean)
    np.testing.assert_array_equal(high, ask("parallel", e, n_resamples=200)[1])
    assert np.any(ask("parallel", e, n_resamples=200, seed=1)[1] != high)


def test_parallel_stops_at_the_first_that_is_not_above():
    covariance = np.diag([9.0, 1, 1, 1])
    e = Eigenvalues.from_summary(Moments.from_covariance(covariance, 1000))
    k, thresholds = ask("parallel", e, n_resamples=100)
    # The first is no more than its own column gives by chance; what comes after it does not matter.
    assert k == 0 and e.values[0] < thresholds[0]


@pytest.mark.parametrize(
    "bad", [{"n_resamples": 0}, {"n_resamples": 1.5}, {"n_resamples": True}, {"quantile": 1.0}, {"quantile": "x"}]
)
def test_parallel_refuses(bad):
    with pytest.raises(ValueError, match=next(iter(bad))):
        ask("parallel", eigenvalues(TALL), **bad)


# ---- Partial correlations


@pytest.mark.parametrize("X", [TALL, TALL * UNITS, load_wine().data, WIDE], ids=["tall", "units", "wine", "wide"])
def test_velicers_map(X):
    Z = (X - X.mean(axis=0)) / X.std(axis=0, ddof=1)
    n, p = Z.shape
    U, s, Vt = np.linalg.svd(Z, full_matrices=False)
    slow = []
    for k in range(min(n - 1, p)):
        # What is left of each column after a regression on the scores, and how that is correlated.
        left = Z - (U[:, :k] * s[:k]) @ Vt[:k]
        R = np.corrcoef(left.T)
        slow.append((R[~np.eye(p, dtype=bool)] ** 2).mean())
    k, curve = ask("map", eigenvalues(X))
    np.testing.assert_allclose(curve, slow, rtol=1e-6)
    assert k == int(np.argmin(slow)) == ask("map", eigenvalues(X, True))[0]


def test_map_ends_where_nothing_is_left_of_a_column():
    X = np.column_stack([TALL[:, :4], TALL[:, 0] * 2 + 1, np.zeros(120)])
    k, curve = ask("map", eigenvalues(X))
    assert len(curve) <= 4 and np.all(np.isfinite(curve)) and 0 <= k < len(curve)
