"""EM from rows grouped by their pattern of missing entries: one pass, the same optima, and no decrease."""

import numpy as np
import pytest

from inputs import with_missing
from lowdim import PPCA, FactorAnalysis
from lowdim.reading.rows import Rows
from lowdim.solvers import EM, latent
from lowdim.solvers.latent import em
from lowdim.sources.opening import open_source
from oracles import gaussian_with_missing, observed_loglike

RNG = np.random.default_rng(3)
X = RNG.standard_normal((300, 2)) @ RNG.standard_normal((2, 6)) * 2 + RNG.standard_normal((300, 6)) + 50
MODELS = {
    "PPCA": PPCA(2, solver=EM(tol=1e-7)),
    "standardized": PPCA(3, scale=True, solver=EM(tol=1e-7)),
    "all but one": PPCA(5, solver=EM(tol=1e-6)),
    "all": PPCA(6, solver=EM(tol=1e-6)),
    "factors": FactorAnalysis(2, solver=EM(tol=1e-7)),
}


@pytest.mark.parametrize("share", [0.02, 0.2])
@pytest.mark.parametrize("name", MODELS)
def test_the_optimum_is_that_of_steps_with_a_pass(monkeypatch, name, share):
    rows = with_missing(X, share)
    weights = 1.0 + np.arange(300) % 3
    found = MODELS[name].fit(rows, sample_weight=weights)
    assert found.n_passes_ == 1
    assert np.all(np.diff(found.loglike_) >= -1e-9 * abs(found.loglike_[-1]))
    mean, C = found.mean_, found.get_covariance()
    each = weights @ observed_loglike(rows, mean, C)
    assert found.loglike_[-1] == pytest.approx(each, rel=1e-9)
    monkeypatch.setattr(em, "_PATTERN_BYTES", 0)
    by_passes = type(found)(**found.get_params()).fit(rows, sample_weight=weights)
    assert by_passes.n_passes_ > 3
    assert found.loglike_[-1] == pytest.approx(by_passes.loglike_[-1], abs=1e-4)
    np.testing.assert_allclose(C, by_passes.get_covariance(), atol=2e-3)


def test_plain_steps_never_decrease_the_likelihood():
    for model in (PPCA(2), FactorAnalysis(2)):
        model.set_params(solver=EM(accelerate=False, n_init=0, tol=1e-8)).fit(with_missing(X[:80], 0.3))
        assert np.all(np.diff(model.loglike_) > -1e-9)


def test_rows_without_an_observed_entry_say_nothing():
    """So that the general case has the special one, complete rows, as its limit."""
    empty = np.vstack([X, np.full((7, 6), np.nan)])
    for model in (PPCA(2), PPCA(5, scale=True)):
        whole = type(model)(**model.get_params()).fit(X)
        model.fit(empty)
        np.testing.assert_allclose(model.get_covariance(), whole.get_covariance(), rtol=1e-6)
        np.testing.assert_allclose(model.mean_, whole.mean_, rtol=1e-9)
        assert model.loglike_[-1] == pytest.approx(whole.loglike_[-1], rel=1e-9)


def test_the_saturated_model_is_that_of_em_row_by_row():
    rows = with_missing(X[:120], 0.15)
    mean, C, loglike = gaussian_with_missing(rows)
    found = latent.saturated(Rows(open_source(rows)))
    assert found.passes == 1
    assert found.loglike == pytest.approx(loglike, abs=1e-6)
    np.testing.assert_allclose(found.mean, mean, rtol=1e-6)
    np.testing.assert_allclose(found.covariance, C, atol=1e-4)


def test_one_step_bounds_the_likelihoods_of_all_numbers_of_components():
    rows = with_missing(X, 0.1)
    for k in (1, 3):
        fit = PPCA(k).fit(rows)
        reached = em.reached_by_components(Rows(open_source(rows)), fit._gaussian)
        assert len(reached) == 6
        assert reached[k] == pytest.approx(fit.loglike_[-1], abs=1e-3)
        for other in range(1, 6):
            best = PPCA(other).fit(rows).loglike_[-1]
            assert reached[other] <= best + 1e-3
