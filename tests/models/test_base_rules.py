"""`n_components` as the name of a rule."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn import decomposition
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_wine
from sklearn.model_selection import KFold

from inputs import with_missing
from lowdim import (
    CCA,
    PCA,
    PCR,
    PPCA,
    FactorAnalysis,
    PLSRegression,
    Whitening,
    choose_n_components,
    cross_validate,
)
from lowdim.errors import NoComponentWarning
from lowdim.reading import summarize
from lowdim.selection import ALIASES, RULES
from lowdim.solvers import Newton
from lowdim.summaries import Moments, Triangle

WINE = load_wine().data
DIABETES, PROGRESS = load_diabetes(return_X_y=True)
random = np.random.default_rng(0)
#: The folds of n_components="cv": rows are often sorted, as these are.
SHUFFLED = KFold(5, shuffle=True, random_state=0)
SCALED = (WINE - WINE.mean(axis=0)) / WINE.std(axis=0)
WIDE = random.standard_normal((40, 3)) @ random.standard_normal((3, 90)) * 3 + random.standard_normal((40, 90))
FLAT = np.column_stack([SCALED, np.full(len(SCALED), 7.0)])
TABLES = {"tall": SCALED, "wide": WIDE, "constant column": FLAT}


@pytest.mark.filterwarnings("ignore::lowdim.errors.NoComponentWarning")
@pytest.mark.parametrize("scale", [False, True])
@pytest.mark.parametrize("table", list(TABLES))
@pytest.mark.parametrize("rule", [*RULES, *ALIASES])
def test_models_keep_what_the_rule_says(rule, table, scale):
    X = TABLES[table]
    for model, ddof in ((PCA(rule, scale=scale), 1), (PPCA(rule, scale=scale), 0)):
        choice = choose_n_components(X, rule, scale=scale, ddof=ddof)[rule]
        model.fit(X)
        assert model.n_components_ == max(choice.k, 1)
        assert model.choice_.rule == choice.rule
        if choice.rule != "cv":
            assert model.choice_.k == choice.k
            np.testing.assert_allclose(model.choice_.curve, choice.curve, rtol=1e-7, atol=1e-9)
        assert str(model.choice_).startswith(f"{choice.rule}: K = {model.choice_.k}")


@pytest.mark.filterwarnings("ignore::lowdim.errors.NoComponentWarning")
def test_em_after_cross_validation_of_badly_conditioned_rows():
    """Folds of such rows are kept as triangles, from which EM starts too."""
    rows = np.random.default_rng(1).standard_normal((60, 4)) * [1.0, 1e-3, 1e-6, 1e-9]
    model = PPCA("cv", solver="em").fit(rows)
    assert model.choice_.cross_validation.n_passes > 1
    expected = PPCA(model.n_components_, solver="em").fit(rows)
    np.testing.assert_allclose(model.loadings_, expected.loadings_, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("rule", ["minka", "bic", "parallel", "map"])
def test_a_summary_will_do(rule):
    expected = PCA(rule).fit(SCALED).n_components_
    for kind in (Moments, Triangle):
        summary = summarize(SCALED, kind)
        assert PCA(rule).fit_summary(summary).n_components_ == expected
        assert PPCA(rule).fit_summary(summary).n_components_ == expected
    assert PCA(rule).partial_fit(SCALED[:100]).partial_fit(SCALED[100:]).n_components_ == expected


def test_scikit_learns_name_for_minkas_rule():
    assert PCA("mle").fit(WINE).n_components_ == decomposition.PCA("mle").fit(WINE).n_components_


#: Random starts are tested with factor analysis itself; here they would cost most of the time and prove nothing.
FACTORS = FactorAnalysis("cv", solver=Newton(n_init=0))


@pytest.mark.parametrize("model", [PCA("cv"), PPCA("cv"), FACTORS, PCA("cv", solver="triangle")], ids=str)
@pytest.mark.filterwarnings("ignore::lowdim.errors.HeywoodWarning")
def test_cross_validation_chooses_in_the_same_reading(model):
    # Factors of all columns would take ten times as long.
    X = SCALED[:, :7] if isinstance(model, FactorAnalysis) else SCALED
    model.fit(X)
    result = model.choice_.cross_validation
    assert result.n_passes == 1
    # PCA is scored as PPCA is: by the likelihood of variances with divisor n. No component at all is tried too.
    scored = FactorAnalysis(solver=model.solver) if isinstance(model, FactorAnalysis) else PPCA()
    expected = cross_validate(scored, X, cv=SHUFFLED, n_components=model.choice_.candidates)
    assert model.n_components_ == model.choice_.k == expected.best
    assert model.choice_.candidates[0] == 0
    np.testing.assert_allclose(result.per_split, expected.per_split)
    np.testing.assert_array_equal(model.choice_.candidates, expected.n_components)
    fixed = clone(model).set_params(n_components=model.n_components_).fit(X)
    np.testing.assert_allclose(model.loadings_, fixed.loadings_, atol=1e-5)


@pytest.mark.parametrize("model", [PLSRegression("cv"), PCR("cv")], ids=str)
def test_regressions_are_cross_validated(model):
    model.fit(DIABETES, PROGRESS)
    expected = cross_validate(type(model)(), DIABETES, PROGRESS, cv=SHUFFLED)
    assert model.n_components_ == expected.best
    assert model.n_passes_ == 1
    np.testing.assert_allclose(model.coef_, type(model)(expected.best).fit(DIABETES, PROGRESS).coef_, rtol=1e-9)
    assert model.predict(DIABETES).shape == PROGRESS.shape


def test_canonical_correlations_are_cross_validated():
    model = CCA("cv").fit(WINE[:, :6], WINE[:, 6:])
    assert model.n_components_ == cross_validate(CCA(), WINE[:, :6], WINE[:, 6:], cv=SHUFFLED).best


def test_weights_are_repetitions():
    weights = random.integers(0, 3, len(SCALED)).astype(float)
    repeated = np.repeat(SCALED, weights.astype(int), axis=0)
    for rule in ("minka", "bic", "parallel", "gavish-donoho"):
        assert PCA(rule).fit(SCALED, sample_weight=weights).n_components_ == PCA(rule).fit(repeated).n_components_


@pytest.mark.parametrize("rule", FactorAnalysis._rules)
def test_numbers_of_factors(rule):
    """Three factors of nine columns, three columns each."""
    L = np.kron(np.eye(3), np.array([[0.9, 0.8, 0.7]]))
    drawn = np.random.default_rng(0)
    X = drawn.standard_normal((800, 3)) @ L + 0.5 * drawn.standard_normal((800, 9))
    model = FactorAnalysis(rule).fit(X)
    assert model.n_components_ == 3
    assert FactorAnalysis(rule, scale=True).fit(X * np.arange(1, 10)).n_components_ == 3
    if rule != "cv":
        assert FactorAnalysis(rule).fit_summary(summarize(X, Moments)).n_components_ == 3


@pytest.mark.filterwarnings("ignore::lowdim.errors.HeywoodWarning")
def test_bic_of_factors_is_that_of_the_fits():
    model = FactorAnalysis("bic").fit(SCALED)
    curve = [FactorAnalysis(k).fit(SCALED).bic(SCALED) for k in range(1, 5)]
    np.testing.assert_allclose(model.choice_.curve[1:5], curve, rtol=1e-6)


@pytest.mark.filterwarnings("ignore::lowdim.errors.HeywoodWarning")
@pytest.mark.parametrize("model", [PCA("parallel"), PCA("cv"), PPCA("cv"), PPCA("bic"), FACTORS], ids=str)
def test_noise_keeps_one_component_and_says_so(model):
    noise = np.random.default_rng(8).standard_normal((300, 8))
    with pytest.warns(NoComponentWarning, match="finds no component"):
        model.fit(noise)
    assert model.n_components_ == 1
    assert model.choice_.k == 0


def test_columns_of_very_different_scales_are_all_columns():
    X = with_scales(np.linspace(-4, 4, 8))
    for rule in ("gavish-donoho", "marchenko-pastur", "minka"):
        assert PCA(rule).fit(X).n_components_ == max(choose_n_components(X, rule)[rule].k, 1)


def with_scales(powers):
    return np.random.default_rng(1).standard_normal((200, len(powers))) * 10.0**powers


def test_the_divisor_is_no_matter_of_rules():
    X = random.standard_normal((10, 4))
    one, other = (choose_n_components(X, ["parallel"], ddof=ddof) for ddof in (0, 1))
    ratios = [c["parallel"].curve / c.eigenvalues.values for c in (one, other)]
    np.testing.assert_allclose(ratios[0], ratios[1], rtol=1e-12)


@pytest.mark.parametrize(
    "model", [PCA("cv"), PPCA("cv"), FactorAnalysis("cv"), PLSRegression("cv"), PCR("cv"), CCA("cv")], ids=str
)
@pytest.mark.filterwarnings("ignore::lowdim.errors.HeywoodWarning")
def test_a_curve_of_held_out_scores_says_what_it_is(model):
    """Its heading names the direction in which the chosen entry is the best, and nothing is said of other models."""
    model.fit(SCALED[:, :5], SCALED[:, 5:9])
    choice = model.choice_
    (heading,) = set(choice.table()) - {"choice"}
    best = {"to maximise": np.argmax, "to minimise": np.argmin}[heading]
    assert choice.candidates[best(choice.curve)] == choice.k
    assert str(choice).startswith(f"cv: K = {choice.k}, by the {choice.cross_validation.what} of rows left out\n")
    assert choice.cross_validation.what in ("log-likelihood", "mean squared error", "sum of correlations")
    assert "Gaussian" not in str(choice)


def test_a_matrix_that_does_not_fit_is_not_made(memory):
    # A tenth of the memory may be taken for it.
    memory(10 * 8 * WIDE.shape[1] ** 2)
    with pytest.raises(ValueError, match="n_components='map': partial correlations need the p x p matrix"):
        PCA("map").fit(WIDE)


def test_what_was_chosen_is_forgotten_with_the_next_fit():
    for model in (PCA("kaiser"), PPCA("kaiser"), FactorAnalysis("kaiser")):
        model.fit(SCALED)
        model.set_params(n_components=2).fit(SCALED)
        assert not hasattr(model, "choice_")
    model = PLSRegression("cv").fit(DIABETES, PROGRESS)
    assert not hasattr(model.set_params(n_components=2).fit(DIABETES, PROGRESS), "choice_")


def test_sparse_rows_and_streams():
    S = sparse.csr_array(np.where(np.abs(SCALED) > 0.5, SCALED, 0.0))
    assert PCA("minka").fit(S).n_components_ == PCA("minka").fit(S.toarray()).n_components_
    assert PCA("cv").fit([SCALED[:90], SCALED[90:]]).n_components_ == PCA("cv").fit(SCALED).n_components_


def test_refusals():
    for model in (PCA("best"), PPCA("best")):
        with pytest.raises(ValueError, match=r"n_components='best' is not one of .*'minka'.* Or a number"):
            model.fit(SCALED)
    with pytest.raises(ValueError, match="'kaiser', 'bic', 'aic', 'parallel', 'parallel-factors', 'map', 'cv'"):
        FactorAnalysis("minka").fit(SCALED)
    with pytest.raises(ValueError, match="n_components='minka' is not one of 'cv'"):
        PLSRegression("minka").fit(DIABETES, PROGRESS)
    with pytest.raises(ValueError, match="n_components='kaiser'"):
        Whitening(n_components="kaiser").fit(SCALED)
    incomplete = with_missing(SCALED, 0.05)
    for model in (PPCA("minka"), PPCA("gavish-donoho"), PPCA("minka", missing="unstored")):
        X = sparse.csr_array(SCALED) if model.missing == "unstored" else incomplete
        with pytest.raises(ValueError, match="needs complete rows"):
            model.fit(X)
    for refused in (
        lambda: PCA("cv").fit_summary(summarize(SCALED, Moments)),
        lambda: PPCA("cv").fit_summary(summarize(SCALED, Moments)),
        lambda: FactorAnalysis("cv").fit_summary(summarize(SCALED, Moments)),
    ):
        with pytest.raises(ValueError, match="leaves rows out, and a summary does not hold them"):
            refused()
    for model in (PCA("cv"), PLSRegression("cv")):
        with pytest.raises(AttributeError, match="partial_fit") as refusal:
            model.partial_fit(DIABETES, PROGRESS)
        assert "partial_fit does not keep them" in str(refusal.value.__cause__)
    gathered = PCA("cv").fit(b for b in (SCALED[:90], SCALED[90:]))
    np.testing.assert_array_equal(gathered.choice_.curve, PCA("cv").fit(SCALED).choice_.curve)
