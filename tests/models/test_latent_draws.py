"""Draws of missing entries: their distribution against the conditional Gaussian, and what varies between draws."""

import numpy as np
import pytest
from scipy import sparse

from inputs import with_missing
from lowdim import PPCA, FactorAnalysis
from lowdim.models.imputation import draw_parameters
from lowdim.selection import pool
from lowdim.solvers import EM
from lowdim.summaries.latent import unpack
from oracles import conditional

RNG = np.random.default_rng(0)
X = RNG.standard_normal((80, 2)) @ RNG.standard_normal((2, 5)) * 2 + RNG.standard_normal((80, 5)) + [0, 3, 0, -9, 100]
INCOMPLETE = with_missing(X, 0.3)
MODELS = {
    "PPCA": PPCA(2),
    "standardized": PPCA(2, scale=True),
    "factors": FactorAnalysis(2, rotation="oblimin"),
}
QUICK = EM(tol=1e-3, n_init=0)


@pytest.mark.filterwarnings("ignore::lowdim.errors.HeywoodWarning")
@pytest.mark.parametrize("name", list(MODELS))
def test_draws_have_the_conditional_mean_and_covariance(name):
    model = MODELS[name].fit(INCOMPLETE)
    i = int(np.flatnonzero(np.isnan(INCOMPLETE).sum(axis=1) == 3)[0])
    m = np.isnan(INCOMPLETE[i])
    C = model.get_covariance()
    mean, _ = conditional(INCOMPLETE[i], model.mean_, C)
    B = C[np.ix_(m, m)] - C[np.ix_(m, ~m)] @ np.linalg.solve(C[np.ix_(~m, ~m)], C[np.ix_(~m, m)])
    draws = model.impute(np.tile(INCOMPLETE[i], (100, 1)), n_draws=200, random_state=1)[:, :, m].reshape(20_000, -1)
    sd = np.sqrt(np.diag(B))
    np.testing.assert_allclose((draws.mean(axis=0) - mean) / sd, 0.0, atol=5 / np.sqrt(20_000))
    np.testing.assert_allclose(np.cov(draws, rowvar=False) / np.outer(sd, sd), B / np.outer(sd, sd), atol=0.05)


def test_observed_entries_stay_and_draws_differ():
    model = PPCA(2).fit(INCOMPLETE)
    draws = model.impute(INCOMPLETE, n_draws=3)
    m = np.isnan(INCOMPLETE)
    assert draws.shape == (3, 80, 5)
    for draw in draws:
        np.testing.assert_array_equal(draw[~m], INCOMPLETE[~m])
    assert np.all(draws[0][m] != draws[1][m])
    np.testing.assert_array_equal(PPCA(2).fit(X).impute(X, n_draws=2), np.stack([X, X]))


def test_the_seed_decides():
    model = PPCA(2).fit(INCOMPLETE)
    same, again = (model.impute(INCOMPLETE, n_draws=2, random_state=5) for _ in range(2))
    np.testing.assert_array_equal(same, again)
    np.testing.assert_array_equal(model.impute(INCOMPLETE, n_draws=4, random_state=5)[:2], same)
    assert np.any(model.impute(INCOMPLETE, n_draws=2, random_state=6) != same)
    np.testing.assert_array_equal(
        model.impute(INCOMPLETE, n_draws=2), model.impute(INCOMPLETE, n_draws=2, random_state=0)
    )
    generators = [model.impute(INCOMPLETE, n_draws=1, random_state=np.random.default_rng(s)) for s in (1, 1, 2)]
    np.testing.assert_array_equal(generators[0], generators[1])
    assert np.any(generators[0] != generators[2])


def test_kinds_of_rows():
    model = PPCA(2, solver=EM(tol=1e-8)).fit(INCOMPLETE)
    expected = model.impute(INCOMPLETE, n_draws=2)
    np.testing.assert_allclose(model.impute([INCOMPLETE[:30], INCOMPLETE[30:]], n_draws=2), expected, rtol=1e-12)
    np.testing.assert_allclose(
        model.impute((b for b in (INCOMPLETE[:30], INCOMPLETE[30:])), n_draws=2), expected, rtol=1e-12
    )
    refits = [
        model.impute(rows, n_draws=1, refit=True)
        for rows in (INCOMPLETE, (b for b in (INCOMPLETE[:30], INCOMPLETE[30:])))
    ]
    np.testing.assert_allclose(refits[0], refits[1], rtol=1e-6)
    stored = sparse.csr_array(np.nan_to_num(INCOMPLETE))
    draws = PPCA(2, missing="unstored", solver=EM(tol=1e-8)).fit(stored).impute(stored, n_draws=2)
    np.testing.assert_allclose(draws, expected, rtol=1e-4)
    assert model.impute(INCOMPLETE.astype(np.float32), n_draws=1).dtype == np.float32


# ---- Parameters that vary


def test_with_a_prior_parameters_are_drawn_from_their_posterior():
    model = PPCA(2, prior="vb").fit(INCOMPLETE)
    g, k = model._gaussian, model._gaussian.k
    drawn = [draw_parameters(g, np.random.default_rng(i)) for i in range(2000)]
    spread = unpack(g.spread, k + 1)[:, :, 0]
    first = np.array([[*at.loadings[:, 0], (at.mean[0] - g.mean[0]) / g.scale[0]] for at in drawn])
    sd = np.sqrt(np.diag(spread))
    np.testing.assert_allclose((first.mean(axis=0) - [*g.loadings[:, 0], 0.0]) / sd, 0.0, atol=0.1)
    np.testing.assert_allclose(np.cov(first, rowvar=False) / np.outer(sd, sd), spread / np.outer(sd, sd), atol=0.1)
    draws, (mean, sd) = model.impute(INCOMPLETE, n_draws=200), model.impute(INCOMPLETE, return_std=True)
    m = np.isnan(INCOMPLETE)
    assert np.mean(((draws.mean(axis=0) - mean) / np.where(m, sd, 1.0))[m] ** 2) < 0.03
    assert np.mean(draws.std(axis=0)[m] / sd[m]) == pytest.approx(1.0, abs=0.05)
    with pytest.raises(ValueError, match="with prior='vb', parameters are drawn without it"):
        model.impute(INCOMPLETE, n_draws=2, refit=True)


def test_a_refit_makes_draws_vary_as_much_as_they_should():
    """The mean of a column that is missing in half of the rows: its variance between tables is what T estimates."""
    found, totals = [], {True: [], False: []}
    for seed in range(30):
        rng = np.random.default_rng(seed)
        rows = rng.standard_normal((40, 1)) + 0.7 * rng.standard_normal((40, 3))
        rows[rng.random(40) < 0.5, 0] = np.nan
        model = PPCA(1, solver=QUICK).fit(rows)
        for refit in (True, False):
            draws = model.impute(rows, n_draws=6, refit=refit, random_state=seed)[:, :, 0]
            pooled = pool(draws.mean(axis=1), draws.var(axis=1, ddof=1) / 40)
            totals[refit].append(float(pooled.total))
        found.append(float(pooled.estimate))
    proper, fixed = (np.mean(totals[refit]) for refit in (True, False))
    assert fixed < proper
    # The variance of 30 means is known to about 26%.
    assert proper == pytest.approx(np.var(found), rel=0.5)


def test_a_refit_keeps_the_model_as_it_was():
    model = FactorAnalysis("bic", solver=QUICK, rotation="varimax").fit(X)
    loadings = model.loadings_.copy()
    draws = model.impute(INCOMPLETE, n_draws=2, refit=True)
    assert draws.shape == (2, 80, 5) and model.n_components == "bic"
    np.testing.assert_array_equal(model.loadings_, loadings)


def test_what_is_refused():
    model = PPCA(1, solver=QUICK).fit(INCOMPLETE)
    for bad in (0, -1, 1.5, True):
        with pytest.raises(ValueError, match=r"n_draws=.* must be a whole number of at least 1"):
            model.impute(INCOMPLETE, n_draws=bad)
    with pytest.raises(ValueError, match="return_std=True is for expectations"):
        model.impute(INCOMPLETE, n_draws=2, return_std=True)
    with pytest.raises(ValueError, match="refit is for draws"):
        model.impute(INCOMPLETE, refit=True)
    with pytest.raises(ValueError, match="random_state is for draws"):
        model.impute(INCOMPLETE, random_state=0)
    with pytest.raises(ValueError, match="X has 10 rows, but the model was fitted to 80"):
        model.impute(INCOMPLETE[:10], n_draws=2, refit=True)
    weighted = PPCA(1, solver=QUICK).fit(INCOMPLETE, sample_weight=np.arange(80.0))
    with pytest.raises(ValueError, match=r"the 79 rows of the fit had weights \(of 3160 in all\)"):
        weighted.impute(INCOMPLETE, n_draws=2, refit=True)
    alone = np.column_stack([INCOMPLETE, np.where(np.arange(80) == 3, 1.0, np.nan)])
    with pytest.raises(ValueError, match="less than two observed entries"):
        PPCA(1, solver=QUICK).fit(alone).impute(alone, n_draws=2, refit=True)
