"""The leading eigenvalues of noise, against whole simulated tables."""

import numpy as np
import pytest

from lowdim import choose_n_components
from lowdim.selection import RULES, Eigenvalues
from lowdim.selection import parallel_analysis as noise_spectrum
from lowdim.selection.parallel_analysis import NoiseSpectrum
from recorder import passes_of

DRAWS = 150


def whole_tables(n, variances, scale, k, draws=DRAWS):
    """The leading eigenvalues of scatter (or correlation) matrices of simulated rows, by the definition."""
    rng = np.random.default_rng(1)
    found = []
    for _ in range(draws):
        X = rng.standard_normal((n, len(variances))) * np.sqrt(variances)
        Z = X - X.mean(axis=0)
        if scale:
            Z /= np.linalg.norm(Z, axis=0)
        found.append(np.linalg.svd(Z, compute_uv=False)[:k] ** 2)
    return np.array(found)


CASES = {
    "equal": (60, np.ones(300)),
    "two groups": (60, np.repeat([1.0, 4.0], [200, 50])),
    "one large column": (60, np.append(np.ones(200), 30.0)),
    "inverse rank": (60, 1.0 / np.arange(1, 301)),
    "uniform": (80, np.linspace(0.01, 1.0, 400)),
    "more rows": (200, np.linspace(0.5, 1.5, 60)),
    "square": (101, np.ones(100)),
}


@pytest.mark.parametrize("case", CASES)
def test_the_iteration_has_the_distribution_of_whole_tables(case):
    n, variances = CASES[case]
    found = NoiseSpectrum.of_columns(variances, n - 1.0).leading(DRAWS, 4, seed=0)
    expected = whole_tables(n, variances, False, 4)
    error = np.sqrt((found.var(axis=0) + expected.var(axis=0)) / DRAWS)
    assert np.all(np.abs(found.mean(axis=0) - expected.mean(axis=0)) < 4.0 * error)
    np.testing.assert_allclose(found.std(axis=0), expected.std(axis=0), rtol=0.35)


@pytest.mark.parametrize(("n", "p"), [(60, 400), (400, 60)])
def test_standardized_columns(n, p):
    found = NoiseSpectrum.of_standardized(p, n - 1.0).leading(DRAWS, 4, seed=0)
    expected = whole_tables(n, np.ones(p), True, 4)
    # The replacement by Gaussian columns is not exact, but far within the spread of the eigenvalues.
    assert np.all(np.abs(found.mean(axis=0) - expected.mean(axis=0)) < 0.5 * expected.std(axis=0))


@pytest.mark.parametrize("case", ["equal", "inverse rank", "uniform"])
def test_all_eigenvalues_have_the_same_leading_ones(case, monkeypatch):
    n, variances = CASES[case]
    noise = NoiseSpectrum.of_columns(variances, n - 1.0)
    some = noise.leading(DRAWS, 4, seed=0)
    monkeypatch.setattr(noise_spectrum, "_FEW", 0.0)
    everything = noise.leading(DRAWS, noise.rank, seed=0)
    assert everything.shape == (DRAWS, n - 1)
    error = np.sqrt((some.var(axis=0) + everything[:, :4].var(axis=0)) / DRAWS)
    assert np.all(np.abs(some.mean(axis=0) - everything[:, :4].mean(axis=0)) < 4.0 * error)
    # The expected sum of the eigenvalues is n - 1 times that of the variances.
    assert everything.sum(axis=1).mean() == pytest.approx((n - 1) * variances.sum(), rel=0.05)


def test_more_eigenvalues_do_not_change_the_first_ones():
    noise = NoiseSpectrum.of_columns(np.linspace(0.1, 1.0, 2000), 199.0)
    np.testing.assert_allclose(noise.leading(5, 3, seed=0), noise.leading(5, 12, seed=0)[:, :3], rtol=2e-3)


def test_the_quadrature_keeps_the_sums_of_powers():
    t = np.random.default_rng(0).uniform(0.1, 2.0, 1000)
    nodes, counts = noise_spectrum._quadrature(t, 4)
    assert len(nodes) == 4 and np.all(counts > 0.0)
    for power in range(1, 9):
        assert counts @ nodes**power == pytest.approx(np.sum(t**power), rel=1e-10)


def structured(n=120, p=500, k=3):
    rng = np.random.default_rng(0)
    return rng.standard_normal((n, k)) @ rng.standard_normal((k, p)) + 2.0 * rng.standard_normal((n, p))


@pytest.mark.parametrize("scale", [False, True])
@pytest.mark.parametrize("quantile", [0.95, "mean"])
def test_parallel_analysis_of_large_tables_agrees_with_that_of_small_ones(scale, quantile, monkeypatch):
    X = structured()
    options = {"rules": "parallel", "scale": scale, "quantile": quantile, "n_resamples": 60}
    whole = choose_n_components(X, **options)["parallel"]
    monkeypatch.setattr(noise_spectrum, "_WHOLE_UP_TO", 0.0)
    quick = choose_n_components(X, **options)["parallel"]
    assert quick.k == whole.k == 3
    # The curve ends soon after the first threshold that is not exceeded.
    assert quick.k < len(quick.curve) < len(whole.curve)
    np.testing.assert_allclose(quick.curve, whole.curve[: len(quick.curve)], rtol=0.03)
    assert "eigenvalue" in quick.table() and str(quick)
    again = choose_n_components(X, **options)["parallel"]
    np.testing.assert_array_equal(quick.curve, again.curve)


def test_many_components_are_counted_to_the_end(monkeypatch):
    monkeypatch.setattr(noise_spectrum, "_WHOLE_UP_TO", 0.0)
    values = np.concatenate([np.full(30, 1e3), np.full(29, 1e-3)])
    e = Eigenvalues(values, 60.0, 200, 1, values.sum(), np.ones(200), None, False, np.ones(200, dtype=bool))
    k, curve = RULES["parallel"].function(e, n_resamples=20)
    assert k == 30 and len(curve) > 30


# ---- Eigenvalues of inner products


@pytest.mark.parametrize("scale", [False, True])
def test_rules_of_a_wide_table_take_the_eigenvalues_of_the_covariance(scale):
    X = structured(30, 1500)
    X[:, 4] = 3.0
    weights = np.where(np.arange(30) == 5, 0.0, 1.0 + np.arange(30) % 2)
    e = choose_n_components(X, "kaiser", scale=scale, sample_weight=weights).eigenvalues
    R = np.repeat(X, weights.astype(int), axis=0)
    Z = R - R.mean(axis=0)
    if scale:
        Z = Z / np.where(Z.std(axis=0) > 0, Z.std(axis=0, ddof=1), 1.0)
    exact = np.linalg.svd(Z, compute_uv=False) ** 2 / (len(R) - 1)
    distinct = np.count_nonzero(weights) - 1
    np.testing.assert_allclose(e.values[:distinct], exact[:distinct], rtol=1e-10)
    assert np.all(e.values[distinct:] < 1e-12 * e.values[0])
    assert e.n_varying == 1499 and e.variances[4] == 0.0
    assert e.total == pytest.approx(exact.sum(), rel=1e-12)


def test_repeated_rows_are_not_read_again_for_eigenvalues_that_count_as_zero():
    X = structured(40, 1200)
    made, once = (passes_of(choose_n_components, rows, "kaiser") for rows in (np.vstack([X, X[:10]]), X))
    assert made == once == ["Columns", "Gram"]
    assert choose_n_components(np.vstack([X, X[:10]]), "kaiser").eigenvalues.rank == 39


def test_small_eigenvalues_that_count_are_still_found():
    X = structured(40, 1200)
    X[20] = X[21] + 1e-5 * np.random.default_rng(0).standard_normal(1200)
    assert passes_of(choose_n_components, X, "kaiser") == ["Columns", "Gram", "GramRoot"]
    e = choose_n_components(X, "kaiser").eigenvalues
    exact = np.linalg.svd(X - X.mean(axis=0), compute_uv=False)[:39] ** 2 / 39
    np.testing.assert_allclose(e.values, exact, rtol=1e-5)
