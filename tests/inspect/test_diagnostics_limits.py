"""Limits of T2 and Q: published quantiles, and how often the rows of the fit and new rows exceed them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from sklearn.datasets import load_iris

from lowdim import PCA, PCR, PLSRegression
from lowdim.inspect import diagnose, hotelling_t2, q_limit, q_residuals, t2_limit

X = load_iris().data


def draw(random, n, p, k, kind):
    """Gaussian rows: k strong components and equal noise, noise alone, or deviations 1, 1/2, 1/3, ..."""
    deviations = {
        "strong": np.where(np.arange(p) < k, 5.0, 1.0),
        "noise": np.ones(p),
        "decay": 1 / np.arange(1.0, p + 1),
    }[kind]
    return random.standard_normal((n, p)) * deviations


def exceeded(model, n, p, k, kind, *, alphas, rows=False, fits=40):
    """The shares of the rows of the fit and of new rows above the Q limits, over many fits."""
    shares = []
    for seed in range(fits):
        random = np.random.default_rng([seed, n, p])
        seen, new = draw(random, n, p, k, kind), draw(random, 200, p, k, kind)
        fit = model.fit(seen, seen[:, :3].sum(axis=1) + random.standard_normal(n))
        given = seen if rows else None
        old = [np.mean(q_residuals(fit, seen) > q_limit(fit, a, given)) for a in alphas]
        later = [np.mean(q_residuals(fit, new) > q_limit(fit, a, given, new_rows=True)) for a in alphas]
        shares.append([old, later])
    return np.mean(shares, axis=0)


def test_t2_limits_are_the_published_quantiles():
    n, k = 150, 2
    model = PCA(k).fit(X)
    f = k * (n**2 - 1) / (n * (n - k)) * stats.f.ppf(0.99, k, n - k)
    beta = (n - 1) ** 2 / n * stats.beta.ppf(0.99, k / 2, (n - k - 1) / 2)
    assert t2_limit(model, 0.01, new_rows=True) == pytest.approx(f, rel=1e-10)
    assert t2_limit(model, 0.01) == pytest.approx(beta, rel=1e-10)


@pytest.mark.parametrize("model", [PCA(2), PCR(2), PLSRegression(2)], ids=str)
def test_the_same_question_has_the_same_answer(model):
    model.fit(X, X[:, 0] ** 2)
    for options in ({}, {"new_rows": False}, {"new_rows": True}):
        found = diagnose(model, X, alpha=0.1, **options)
        assert found.t2_limit == t2_limit(model, 0.1, **options)
        assert found.q_limit == q_limit(model, 0.1, **options)
    assert t2_limit(model, new_rows=True) > t2_limit(model)
    assert q_limit(model, new_rows=True) > q_limit(model)


@pytest.mark.parametrize("alpha", [0.05, 0.01])
def test_q_limits(alpha):
    rng = np.random.default_rng(0)
    spread = 1 / np.arange(1, 21)
    model = PCA(4).fit(rng.standard_normal((2000, 20)) * spread)
    new = rng.standard_normal((50_000, 20)) * spread
    result = diagnose(model, new, alpha=alpha, new_rows=True)
    # Five standard errors of a share, and a twentieth of alpha for the estimated covariance.
    error = 5 * np.sqrt(alpha / len(new))
    assert (result.t2 > result.t2_limit).mean() == pytest.approx(alpha, abs=error + 0.05 * alpha)
    assert (result.q > result.q_limit).mean() == pytest.approx(alpha, abs=error + 0.1 * alpha)


@pytest.mark.parametrize("kind", ["strong", "decay", "noise"])
@pytest.mark.parametrize(("n", "p", "k"), [(50, 10, 2), (100, 20, 4), (30, 60, 3)])
def test_few_rows_exceed_the_q_limits_about_as_often_as_they_say(n, p, k, kind):
    """If new rows had the limit of the rows of the fit, a large share of them would be above it at 5%."""
    old, new = exceeded(PCA(k), n, p, k, kind, alphas=(0.05, 0.1))
    assert 0.025 <= old[0] <= 0.07
    assert 0.06 <= old[1] <= 0.12
    assert 0.035 <= new[0] <= 0.09
    assert 0.08 <= new[1] <= 0.14


@pytest.mark.parametrize("model", [PCR(4, scale=False), PLSRegression(4, scale=False)], ids=str)
def test_q_limits_of_regressions_hold_as_well(model):
    old, new = exceeded(model, 100, 20, 4, "strong", alphas=(0.05,), fits=25)
    assert 0.03 <= old[0] <= 0.07
    assert 0.03 <= new[0] <= 0.07


def test_q_limits_from_rows_hold_as_well():
    old, new = exceeded(PCA(4, solver="krylov"), 100, 20, 4, "strong", alphas=(0.05,), rows=True, fits=25)
    assert 0.03 <= old[0] <= 0.07
    assert 0.03 <= new[0] <= 0.07


def test_q_limit_from_eigenvalues_and_from_rows_agree():
    model = PCA(2).fit(X)
    for new in (False, True):
        assert q_limit(model, X=X, new_rows=new) == pytest.approx(q_limit(model, new_rows=new), rel=0.05)


def test_q_limits_do_not_depend_on_the_divisor_of_variances():
    for new in (False, True):
        one, other = (q_limit(PCA(2, ddof=ddof).fit(X), new_rows=new) for ddof in (0, 1))
        assert one == pytest.approx(other, rel=1e-9)


def test_q_limit_without_all_eigenvalues_asks_for_rows():
    rows = np.random.default_rng(0).standard_normal((60, 8))
    model = PCA(2, solver="krylov").fit(rows)
    with pytest.raises(ValueError, match=r"pass the rows of the fit: q_limit\(model, X=X\)"):
        q_limit(model)
    assert diagnose(model, rows).q_limit == q_limit(model, X=rows)
    with pytest.raises(ValueError, match=r"q_limit\(model, X=X_fit, new_rows=True\)"):
        diagnose(model, rows, new_rows=True)


def test_no_row_is_far_from_a_subspace_that_holds_all():
    model = PCA().fit(X)
    for new in (False, True):
        assert q_limit(model, new_rows=new) < 1e-12
    assert not np.any(q_residuals(model, X) > q_limit(model))


def test_t2_limits():
    rows = X[:20]
    for weight in (0.2, 0.22, 0.3, 1.0, 1.7):
        model = PCA(2).fit(rows, sample_weight=np.full(20, weight))
        n = 20 * weight
        beta = (n - 1) ** 2 / n * stats.beta(1, (n - 3) / 2).ppf(0.95)
        f = 2 * (n * n - 1) / (n * (n - 2)) * stats.f(2, n - 2).ppf(0.95)
        assert t2_limit(model) == pytest.approx(beta, rel=1e-10)
        assert t2_limit(model, new_rows=True) == pytest.approx(f, rel=1e-10)


@pytest.mark.parametrize("alpha", [0.0, 1.0, -1.0, "a", None, np.array([0.1, 0.2]), np.nan], ids=str)
def test_alpha_lies_between_zero_and_one(alpha):
    for limit in (t2_limit, q_limit):
        with pytest.raises(ValueError, match="between 0 and 1"):
            limit(PCA(2).fit(X), alpha)


@pytest.mark.parametrize("center", [True, False])
def test_weights_without_end(center):
    """Limits for weights whose squares overflow are those for as many rows as one likes."""
    rows = np.random.default_rng(0).standard_normal((60, 6)) * np.arange(1, 7)

    def limits(weight):
        pca = PCA(2, center=center).fit(rows, sample_weight=np.full(60, weight))
        both = [(t2_limit(pca, new_rows=new), q_limit(pca, new_rows=new)) for new in (False, True)]
        found = diagnose(pca, rows, sample_weight=np.full(60, weight))
        return [*both[0], *both[1], len(found.outliers)]

    np.testing.assert_allclose(limits(1e200), limits(1e12), rtol=1e-9)
    np.testing.assert_allclose(limits(1e290), limits(1e12), rtol=1e-9)


def test_too_few_rows_for_a_limit():
    model = PCA(2).fit(np.random.default_rng(0).standard_normal((3, 4)))
    with pytest.raises(ValueError, match="more than K"):
        t2_limit(model)
    shares = PCA(2, ddof=0).fit(X, sample_weight=np.full(150, 1 / 150))
    for limit in (t2_limit, q_limit):
        with pytest.raises(ValueError, match=r"more than K \+ 1 = 3 rows, the model was fitted on 1"):
            limit(shares)
    assert np.all(np.isfinite(hotelling_t2(shares, X)))
