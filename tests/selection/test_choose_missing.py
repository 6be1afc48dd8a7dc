"""Rules for the number of components of rows with missing values: likelihoods, folds, and the covariance by EM."""

import math

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_wine

from inputs import with_missing
from lowdim import PPCA, FactorAnalysis, choose_n_components, cross_validate, factor_suitability
from lowdim.errors import NoVariance, UndeterminedCovariance
from lowdim.selection import RULES, Choice
from lowdim.selection.criteria import penalised_curve
from lowdim.solvers import EM
from lowdim.summaries import Moments
from oracles import gaussian_with_missing, observed_loglike

RNG = np.random.default_rng(0)
X = RNG.standard_normal((150, 2)) @ RNG.standard_normal((2, 6)) * 3 + RNG.standard_normal((150, 6)) + 10
INCOMPLETE = with_missing(X, 0.1)
WINE = load_wine().data[:, :7]
APPLIED = {name: rule.with_missing for name, rule in RULES.items()}
#: Simulations of rows with missing entries are not those of complete rows.
COVARIANCE = [name for name, how in APPLIED.items() if how == "covariance" and name != "parallel"]
QUICK = EM(tol=1e-4, n_init=0)


def test_which_rules_are_available():
    choices = choose_n_components(INCOMPLETE)
    assert list(choices) == list(RULES)
    for name, answer in choices.items():
        assert (answer.k is None) == (not APPLIED[name])
        if answer.k is None:
            assert answer.note.startswith("derived for complete rows only; use bic or cv, or draws of impute")
    assert {choices[name].k for name in ("bic", "cv", "map")} == {2}
    assert "150 rows, 6 columns" in str(choices)


@pytest.mark.parametrize("scale", [False, True])
def test_bic_and_aic_are_those_of_the_fits(scale):
    choices = choose_n_components(INCOMPLETE, ["bic", "aic"], scale=scale)
    for k in (1, 2, 3):
        model = PPCA(k, scale=scale).fit(INCOMPLETE)
        assert choices["bic"].curve[k] == pytest.approx(model.bic(INCOMPLETE), rel=1e-7)
        assert choices["aic"].curve[k] == pytest.approx(model.aic(INCOMPLETE), rel=1e-7)
    mean, variance = np.nanmean(INCOMPLETE, axis=0), np.nanvar(INCOMPLETE, axis=0)
    observed = np.sum(~np.isnan(INCOMPLETE), axis=0)
    v = variance if scale else np.full(6, np.sum(variance * observed) / observed.sum())
    none = -2 * observed_loglike(INCOMPLETE, mean, np.diag(v)).sum() + 7 * math.log(150)
    assert choices["bic"].curve[0] == pytest.approx(none, rel=1e-9)
    if not scale:
        # Three further components were no better than the best.
        assert choices["bic"].k == 2 and len(choices["bic"].curve) == 6


@pytest.mark.parametrize("scale", [False, True])
def test_rules_of_the_covariance(scale):
    incomplete = with_missing(WINE[:90], 0.05)
    found = choose_n_components(incomplete, COVARIANCE, scale=scale)
    C = Moments.from_covariance(gaussian_with_missing(incomplete)[1], 90, ddof=0)
    expected = choose_n_components(C, COVARIANCE, scale=scale)
    np.testing.assert_allclose(found.eigenvalues.values, expected.eigenvalues.values, rtol=1e-3)
    for name in COVARIANCE:
        assert found[name].k == expected[name].k
        np.testing.assert_allclose(found[name].curve, expected[name].curve, rtol=1e-3)


def test_folds_are_scored_by_the_observed_entries_of_held_out_rows():
    labels = np.arange(150) % 3
    found = choose_n_components(INCOMPLETE, "cv", cv=labels)["cv"]
    for k in (0, 1, 2):
        total = 0.0
        for fold in range(3):
            train, test = INCOMPLETE[labels != fold], INCOMPLETE[labels == fold]
            if k == 0:
                observed = np.sum(~np.isnan(train), axis=0)
                v = np.sum(np.nanvar(train, axis=0) * observed) / observed.sum()
                total += observed_loglike(test, np.nanmean(train, axis=0), v * np.eye(6)).sum()
            else:
                total += PPCA(k).fit(train).score_samples(test).sum()
        assert found.curve[k] == pytest.approx(total / 150, abs=1e-4)
    assert found.cross_validation.estimator == "PPCA" and found.k == 2


def test_weights_are_repetitions():
    weights = np.arange(150) % 3
    repeated = np.repeat(INCOMPLETE, weights, axis=0)
    weighted = choose_n_components(INCOMPLETE, ["bic", "kaiser"], sample_weight=weights)
    plain = choose_n_components(repeated, ["bic", "kaiser"])
    np.testing.assert_allclose(weighted["bic"].curve[:3], plain["bic"].curve[:3], rtol=1e-5)
    np.testing.assert_allclose(weighted.eigenvalues.values, plain.eigenvalues.values, rtol=1e-3)
    assert weighted.eigenvalues.n == weights.sum()


def test_missing_entries_after_the_first_rows_and_in_blocks():
    late = np.vstack([np.repeat(X, 300, axis=0), INCOMPLETE])
    assert choose_n_components(late, ["kaiser", "minka"])["minka"].note.startswith("derived for complete rows only")
    blocks = [INCOMPLETE[:70], INCOMPLETE[70:]]
    assert choose_n_components(blocks, ["bic", "kaiser"])["bic"].k == 2
    assert choose_n_components((block for block in blocks), "bic")["bic"].k == 2
    assert PPCA("bic").fit(block for block in blocks).n_components_ == 2
    late_blocks = [X[:70], INCOMPLETE]
    for read in (lambda rows: choose_n_components(rows, "bic"), PPCA("bic").fit):
        with pytest.raises(ValueError, match="NaN"):
            read(block for block in late_blocks)


def test_a_covariance_that_is_not_determined():
    few = with_missing(X[:40], 0.5)
    found = choose_n_components(few, ["kaiser", "bic"])
    assert found["kaiser"].k is None and "which the observed entries do not determine" in found["kaiser"].note
    assert found["bic"].k is not None and len(found.eigenvalues.values) == 6
    with pytest.raises(UndeterminedCovariance):
        PPCA("kaiser").fit(few)


def test_too_few_rows_for_folds():
    few = choose_n_components(INCOMPLETE[:9], ["cv", "bic"])
    assert few["cv"].k is None and few["cv"].note == "needs at least 2 columns and 10 rows"


# ---- n_components as the name of a rule


@pytest.mark.parametrize("rule", ["bic", "aic", "kaiser", "map", "cv"])
def test_models_take_what_the_rule_says(rule):
    model = PPCA(rule).fit(INCOMPLETE)
    expected = choose_n_components(INCOMPLETE, rule, ddof=0)[rule]
    assert model.n_components_ == expected.k
    assert isinstance(model.choice_, Choice) and model.choice_.rule == rule
    np.testing.assert_allclose(model.choice_.curve[:3], expected.curve[:3], rtol=1e-5)
    same = PPCA(expected.k).fit(INCOMPLETE)
    assert model.loglike_[-1] == pytest.approx(same.loglike_[-1], rel=1e-7)
    # The rows are grouped by pattern once, for the rule and for the fit.
    assert model.n_passes_ == same.n_passes_ == 1 or rule == "cv"


@pytest.mark.parametrize("rule", ["bic", "aic", "kaiser", "map", "cv"])
def test_factors(rule):
    L = np.kron(np.eye(2), np.array([[0.9, 0.8, 0.7, 0.8]]))
    rows = with_missing(RNG.standard_normal((300, 2)) @ L + 0.5 * RNG.standard_normal((300, 8)), 0.05)
    fa = FactorAnalysis(rule, solver=QUICK).fit(rows)
    assert fa.n_components_ == 2
    if rule in ("bic", "aic"):
        curve = [getattr(FactorAnalysis(k).fit(rows), rule)(rows) for k in (1, 2)]
        np.testing.assert_allclose(fa.choice_.curve[1:3], curve, rtol=1e-5)
        none = observed_loglike(rows, np.nanmean(rows, axis=0), np.diag(np.nanvar(rows, axis=0))).sum()
        assert fa.choice_.curve[0] == pytest.approx(16 * (2 if rule == "aic" else math.log(300)) - 2 * none, rel=1e-9)


def test_entries_that_are_not_stored():
    stored = sparse.csr_array(np.nan_to_num(INCOMPLETE[:60]))
    for rule in ("bic", "kaiser", "cv"):
        found = PPCA(rule, missing="unstored", solver=QUICK).fit(stored)
        expected = PPCA(rule, solver=QUICK).fit(INCOMPLETE[:60])
        np.testing.assert_allclose(found.choice_.curve, expected.choice_.curve, rtol=1e-3)


def test_what_models_refuse():
    allowed = "'bic', 'aic', 'parallel', 'map', 'cv'. Or pass a number"
    with pytest.raises(ValueError, match=f"'minka' needs complete rows.*{allowed}"):
        PPCA("minka").fit(INCOMPLETE)
    stored = sparse.csr_array(np.nan_to_num(INCOMPLETE[:60]))
    with pytest.raises(ValueError, match="'parallel': it simulates rows with the same missing entries"):
        PPCA("parallel", missing="unstored", solver=QUICK).fit(stored)
    with pytest.raises(ValueError, match="with prior='vb', components that are not needed are dropped anyway"):
        PPCA("bic", prior="vb").fit(INCOMPLETE)


@pytest.mark.filterwarnings("ignore::lowdim.errors.LowdimWarning")
def test_rules_ignore_constant_columns():
    constant = np.insert(INCOMPLETE, 2, np.where(np.arange(150) % 9, -3.9, np.nan), axis=1)
    for scale in (False, True):
        found = choose_n_components(constant, scale=scale)
        expected = choose_n_components(INCOMPLETE, scale=scale)
        for name in RULES:
            assert found[name].k == expected[name].k
            np.testing.assert_allclose(found[name].curve, expected[name].curve, rtol=1e-7, err_msg=name)
        assert found.eigenvalues.p == 7 and found.eigenvalues.n_varying == 6
    for rule in ("bic", "cv", "kaiser", "parallel"):
        for model in (PPCA(rule), PPCA(rule, scale=True), FactorAnalysis(rule)):
            expected = clone(model).fit(INCOMPLETE)
            assert model.fit(constant).n_components_ == expected.n_components_
            np.testing.assert_allclose(model.choice_.curve, expected.choice_.curve, rtol=1e-7)
    same = np.where(np.isnan(INCOMPLETE), np.nan, 1.0)
    for model in (PPCA("bic"), FactorAnalysis("bic")):
        with pytest.raises(NoVariance, match="all rows of X are the same"):
            model.fit(same)


def test_a_column_that_is_constant_in_a_fold():
    rows = INCOMPLETE.copy()
    rows[:, 1] = np.where(np.arange(150) < 30, rows[:, 1], 5.0)
    for scale in (False, True):
        found = choose_n_components(rows, "cv", cv=np.arange(150) // 30, scale=scale)["cv"]
        assert np.all(np.isfinite(found.curve))


@pytest.mark.parametrize("rule", ["bic", "aic"])
def test_a_rise_of_the_curve_is_not_its_end(rule):
    """Two small eigenvalues at the end make nearly all components better than the first two."""
    Q, _ = np.linalg.qr(
        np.random.default_rng(1).standard_normal((600, 19)) * [0.0, *np.ones(18)] + [1.0, *np.zeros(18)]
    )
    rows = Q[:, 1:] * np.sqrt([9.0, 6.0, *np.linspace(1.02, 0.98, 14), 0.1, 0.1])
    expected = choose_n_components(rows, rule)[rule]
    rises = expected.curve[3:6] > expected.curve[2]
    assert rises.all() and expected.k == 16
    rows[::50, 5] = np.nan
    found = choose_n_components(rows, rule)[rule]
    assert found.k == expected.k == PPCA(rule).fit(rows).n_components_
    np.testing.assert_allclose(found.curve, expected.curve[: len(found.curve)], rtol=5e-3)


def test_parallel_analysis_of_rows_with_the_same_missing_entries():
    """With few missing entries the thresholds are those of complete rows; with many, those of likelihood estimates."""
    few = INCOMPLETE.copy()
    few[5:] = X[5:]
    for scale in (False, True):
        options = {"scale": scale, "n_resamples": 500, "quantile": "mean"}
        rules = ["parallel", "parallel-factors"]
        found, expected = (choose_n_components(rows, rules, **options) for rows in (few, X))
        for rule in rules:
            assert found[rule].k == expected[rule].k
            np.testing.assert_allclose(found[rule].curve, expected[rule].curve, atol=0.02 * expected[rule].curve[0])
    random = np.random.default_rng(0)
    missing = random.random((300, 6)) < 0.25
    estimates = []
    for _ in range(60):
        noise = np.where(missing, np.nan, random.standard_normal((300, 6)))
        estimates.append(choose_n_components(noise, "kaiser", scale=True).eigenvalues.values)
    curve = choose_n_components(noise, "parallel", scale=True, n_resamples=300, quantile="mean")["parallel"].curve
    spread = np.std(estimates, axis=0) / np.sqrt(60)
    assert np.all(np.abs(np.mean(estimates, axis=0) - curve) < 5 * spread)
    # Missing entries make the eigenvalues of noise spread more.
    assert (
        curve[0]
        > choose_n_components(np.nan_to_num(noise), "parallel", scale=True, quantile="mean")["parallel"].curve[0]
    )


@pytest.mark.parametrize("scale", [False, True])
def test_fewer_rows_than_columns(scale):
    """There is no covariance of maximum likelihood, and rules without one have answers."""
    rows = np.random.default_rng(0).standard_normal((30, 40))
    rows[0, 0] = np.nan
    found = choose_n_components(rows, ["bic", "aic", "map", "kaiser"], scale=scale)
    assert found["bic"].k is not None and found["aic"].k is not None
    assert found["map"].k is None and "do not determine" in found["map"].note
    with pytest.raises(ValueError, match="30 rows do not determine the covariance of 40 columns"):
        factor_suitability(rows)


def test_curve_asks_once_for_what_lies_ahead_until_it_gets_there():
    # A rise of seven components, after which the likelihood gains much; then nothing more.
    loglikes = np.array([0.0, 50.0, *np.full(7, 50.0), *np.full(9, 500.0)])
    asked = []

    def ahead(k):
        asked.append(k)
        return loglikes

    curve = penalised_curve("aic", 100.0, lambda k: float(loglikes[k]), lambda k: k, 17, None, ahead)
    np.testing.assert_array_equal(curve, 2.0 * np.arange(13) - 2.0 * loglikes[:13])
    assert np.argmin(curve) == 9
    # After the rise began, and three components after the minimum.
    assert asked == [4, 12]


@pytest.mark.parametrize("cls", [PPCA, FactorAnalysis])
def test_held_out_rows_with_missing_entries_and_a_constant_column(cls):
    """The density of a column that never varies is no reason for many components."""
    random = np.random.default_rng(0)
    rows = random.standard_normal((300, 2)) @ random.standard_normal((2, 8)) * 2 + random.standard_normal((300, 8))
    rows[random.random(rows.shape) < 0.05] = np.nan
    with_constant = np.column_stack([rows, np.full(300, 3.0)])
    expected = cross_validate(cls(), rows)
    found = cross_validate(cls(), with_constant, n_components=expected.n_components)
    np.testing.assert_allclose(found.mean, expected.mean, rtol=1e-6)
    assert found.best == cross_validate(cls(), with_constant).best == 2
