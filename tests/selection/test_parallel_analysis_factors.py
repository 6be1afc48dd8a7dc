"""Parallel analysis for factors: against regressions, against simulated rows, and where it is not available."""

import numpy as np
import pytest
from sklearn.datasets import load_wine

from lowdim import PCA, FactorAnalysis, choose_n_components, permutation_test
from lowdim.selection import FACTOR_RULES, Eigenvalues
from lowdim.selection import parallel_analysis as factor_parallel
from lowdim.summaries import Moments
from selection.tables_drawn import eigenvalues

RNG = np.random.default_rng(2)
LOADINGS = np.zeros((12, 3))
LOADINGS[np.arange(12), np.arange(12) % 3] = np.linspace(0.5, 0.8, 12)
NOISE = np.sqrt(1 - np.sum(LOADINGS**2, axis=1))
X = RNG.standard_normal((400, 3)) @ LOADINGS.T + RNG.standard_normal((400, 12)) * NOISE


def slow_reduced(X):
    """Eigenvalues of the correlations with R^2 of each regression on the diagonal."""
    R, Z = np.corrcoef(X, rowvar=False), X - X.mean(axis=0)
    for j in range(X.shape[1]):
        others = np.delete(Z, j, axis=1)
        left = Z[:, j] - others @ np.linalg.lstsq(others, Z[:, j], rcond=None)[0]
        R[j, j] = 1 - left @ left / (Z[:, j] @ Z[:, j])
    return np.sort(np.linalg.eigvalsh(R))[::-1]


@pytest.mark.parametrize("scale", [False, True])
def test_eigenvalues_of_the_reduced_correlations(scale):
    units = np.geomspace(1e-3, 1e3, 12)
    for table in (X * units, np.insert(X, 3, 4.0, axis=1)):
        choice = choose_n_components(table, "parallel-factors", scale=scale)["parallel-factors"]
        np.testing.assert_allclose(choice.eigenvalues, slow_reduced(X), atol=1e-9)


def test_thresholds_are_those_of_simulated_rows():
    e = eigenvalues(X[:60, :6], True)
    _, thresholds = FACTOR_RULES["parallel-factors"].function(e, n_resamples=2000, quantile="mean")
    drawn = np.array([slow_reduced(RNG.standard_normal((60, 6))) for _ in range(2000)])
    error = drawn.std(axis=0) / np.sqrt(2000)
    assert np.all(np.abs(thresholds - drawn.mean(axis=0)) < 5 * error)
    _, upper = FACTOR_RULES["parallel-factors"].function(e, n_resamples=2000)
    np.testing.assert_allclose(upper[:3], np.quantile(drawn, 0.95, axis=0)[:3], rtol=0.05)


def test_it_counts_the_factors():
    assert choose_n_components(X, "parallel-factors")["parallel-factors"].k == 3
    fa = FactorAnalysis("parallel-factors").fit(X)
    assert fa.n_components_ == 3
    np.testing.assert_allclose(fa.choice_.eigenvalues, slow_reduced(X), atol=1e-9)
    assert fa.choice_.table()["eigenvalue"][:3] == pytest.approx(slow_reduced(X)[:3])
    assert choose_n_components(RNG.standard_normal((400, 12)), "parallel-factors")["parallel-factors"].k == 0


def test_it_is_no_rule_for_components():
    assert "parallel-factors" not in choose_n_components(X)
    with pytest.raises(ValueError, match="n_components='parallel-factors' is not one of 'proportion'"):
        PCA("parallel-factors").fit(X)
    assert list(FACTOR_RULES) == ["parallel-factors"]


def test_large_tables_take_the_leading_eigenvalues(monkeypatch):
    R = np.eye(80) + 0.1 * (1 - np.eye(80))
    e = Eigenvalues.from_summary(Moments.from_covariance(R, 500))
    _, whole = FACTOR_RULES["parallel-factors"].function(e, n_resamples=100, quantile="mean")
    monkeypatch.setattr(factor_parallel, "_FACTORS_WHOLE_UP_TO", 0.0)
    k, leading = FACTOR_RULES["parallel-factors"].function(e, n_resamples=100, quantile="mean")
    assert k == 1 and len(leading) < 80
    np.testing.assert_allclose(leading, whole[: len(leading)], rtol=0.01)


@pytest.mark.parametrize(
    ("table", "why"),
    [
        (X[:10], "more rows than columns"),
        (np.column_stack([X, X[:, 0] + X[:, 1]]), "no column that depends on others"),
        (X[:, :1], "at least 2 columns"),
        (RNG.standard_normal((5, 1100)), "need the p x p matrix"),
    ],
)
def test_where_it_is_not_available(table, why):
    choice = choose_n_components(table, "parallel-factors")["parallel-factors"]
    assert choice.k is None and why in choice.note
    if table.shape[1] < 1000:
        with pytest.raises(ValueError, match="n_components='parallel-factors': squared multiple correlations"):
            FactorAnalysis("parallel-factors").fit(table)


def test_options_are_checked():
    for options in ({"n_resamples": 0}, {"quantile": 1.5}):
        with pytest.raises(ValueError, match=f"{next(iter(options))}="):
            choose_n_components(X, "parallel-factors", **options)


# ---- Permuted columns


def test_permuted_columns():
    found = permutation_test(FactorAnalysis(), X, n_resamples=99, random_state=0)
    assert found.n_components == 3
    np.testing.assert_allclose(found.statistic, slow_reduced(X), atol=1e-9)
    # Gaussian columns: shuffles and simulations agree.
    _, thresholds = FACTOR_RULES["parallel-factors"].function(eigenvalues(X, True), n_resamples=500, quantile="mean")
    np.testing.assert_allclose(found.null.mean(axis=0)[:4], thresholds[:4], rtol=0.1)
    wine = load_wine().data
    same = permutation_test(FactorAnalysis(), np.insert(wine, 0, 1.0, axis=1), n_resamples=39, random_state=0)
    np.testing.assert_allclose(same.statistic, slow_reduced(wine), atol=1e-9)


def test_permuted_columns_need_more_rows():
    with pytest.raises(ValueError, match=r"12 columns that vary need .* more rows \(got 10\)"):
        permutation_test(FactorAnalysis(), X[:10], n_resamples=19)
