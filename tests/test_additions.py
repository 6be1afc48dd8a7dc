"""The table "Where to add things" of docs/architecture.md, walked: each newcomer is one file in tests/additions and one
row in a table, and then does all that those who were there before can do.

A newcomer imports what its neighbours in src would import; no other file is touched.
"""

import inspect
import itertools
import re
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import estimator_checks_generator

import examples
import lowdim
from additions.toy_density import Logistic
from additions.toy_kernel import Cauchy, Scatter
from additions.toy_latent_solver import Descent
from additions.toy_model import CorrelationPCA
from additions.toy_reduction import RootReduction
from additions.toy_rules import RULE, Squares, farthest
from additions.toy_solver import SubspaceIteration
from additions.toy_source import ROW
from additions.toy_summary import Extremes
from examples import X, Y, make, tables
from inputs import INPUTS
from laws import summaries_drawn, test_summaries
from lowdim import (
    CCA,
    ICA,
    PCA,
    PPCA,
    FactorAnalysis,
    FeatureMapPCA,
    KernelCCA,
    KernelPCA,
    Moments,
    Whitening,
    bootstrap,
    choose_n_components,
    cross_validate,
    kernel_plan,
    models,
    open_source,
    permutation_test,
    selection,
    sources,
    summarize,
)
from lowdim.densities import DENSITIES, CustomDensity, as_density, parse_density
from lowdim.features import FEATURE_MAPS
from lowdim.kernels import KERNELS, Gaussian
from lowdim.selection import RULES
from lowdim.solvers import ICA_SOLVERS, LATENT_SOLVERS, REDUCTIONS, SOLVERS, Cost, Newton, Nystrom, Status
from lowdim.solvers.kernel.landmarks import LANDMARKS
from lowdim.summaries import SUMMARIES


def close(found, expected, tol=1e-9):
    """Equal to `tol` of the largest entry."""
    np.testing.assert_allclose(found, expected, rtol=0, atol=tol * np.abs(expected).max())


def test_the_table_is_the_one_that_is_walked():
    """A new row in the page needs a walk here."""
    page = (Path(__file__).parents[1] / "docs" / "architecture.md").read_text(encoding="utf-8")
    section = page.partition("## Where to add things")[2]
    rows = re.findall(r"^\| (.*?) \|", section, re.MULTILINE)
    assert rows[2:] == [
        "an estimator",
        "a kind of input",
        "a solver",
        "a summary of rows",
        "a rule for K",
        "a density of sources",
        "a kernel, or a feature map",
        "a method for two tables",
        # Rules of house-keeping: there is nothing to add for them.
        "a rule about sign, order, rank or divisor",
        "a fact about one array library",
        "a message",
        "a new module at the top",
    ]


# ---- A kind of input


TEXT, OTHER = "toy:90x5", "toy:90x3:4"


@pytest.fixture
def toy_source(monkeypatch):
    monkeypatch.setattr(sources, "SOURCES", [*sources.SOURCES, ROW])


def rows_of(text):
    """The rows that a text stands for, as an array."""
    return np.concatenate(list(ROW[1](text).blocks(10**6)))


def test_without_its_row_a_text_is_refused():
    with pytest.raises(TypeError, match="cannot read rows from str"):
        PCA(2).fit(TEXT)


@pytest.mark.parametrize("name", models.__all__)
def test_a_source_in_every_model(name, toy_source):
    texts = tables(name, TEXT, OTHER)
    arrays = [rows_of(text) for text in texts]
    model, expected = make(name).fit(*texts), make(name).fit(*arrays)
    for what, value in examples.MODELS[name].seen(expected).items():
        close(examples.MODELS[name].seen(model)[what], value, 1e-6 if name in ("ICA", "KernelPCA") else 1e-9)
    assert model.n_features_in_ == 5
    assert model.solver_ == lowdim.plan(make(name), *texts).solver.name
    close(np.abs(model.transform(TEXT)), np.abs(expected.transform(arrays[0])), 1e-6)


def test_a_source_in_selection(toy_source):
    rows, other = rows_of(TEXT), rows_of(OTHER)
    close(cross_validate(PCA(), TEXT).mean, cross_validate(PCA(), rows).mean)
    close(
        cross_validate(lowdim.PLSRegression(), TEXT, OTHER).mean,
        cross_validate(lowdim.PLSRegression(), rows, other).mean,
    )
    ours, theirs = choose_n_components(TEXT), choose_n_components(rows)
    assert {name: choice.k for name, choice in ours.items()} == {name: choice.k for name, choice in theirs.items()}
    draws, expected = (bootstrap(PCA(2), given, n_boot=5, random_state=0) for given in (TEXT, rows))
    close(draws.replicates["explained_variance"], expected.replicates["explained_variance"])
    tested, expected = (permutation_test(PCA(2), given, n_permutations=19, random_state=0) for given in (TEXT, rows))
    close(tested.p_values, expected.p_values)
    assert PCA("cv").fit(TEXT).n_components_ == PCA("cv").fit(rows).n_components_
    close(PCA(2).partial_fit(TEXT).partial_fit("toy:40x5").mean_, PCA(2).fit([rows, rows_of("toy:40x5")]).mean_)


def test_a_source_in_a_stream_and_with_weights(toy_source):
    rows, weights = rows_of(TEXT), np.arange(90) % 4
    stream = lambda: iter([open_source("toy:40x5"), open_source("toy:50x5:2")])  # noqa: E731
    close(PCA(2).fit(TEXT, sample_weight=weights).mean_, PCA(2).fit(rows, sample_weight=weights).mean_)
    both = np.concatenate([rows_of("toy:40x5"), rows_of("toy:50x5:2")])
    close(PCA(2).fit(stream).components_, PCA(2).fit(both).components_)


def test_a_bad_entry_of_a_source_is_named(toy_source, monkeypatch):
    make_rows = ROW[1].blocks

    def with_nan(self, rows):
        for block in make_rows(self, rows):
            block[block.shape[0] // 2, 3] = np.nan
            yield block

    monkeypatch.setattr(ROW[1], "blocks", with_nan)
    with pytest.raises(ValueError, match="Input X contains NaN: column 3, first in row 45"):
        PCA(2).fit(TEXT)


# ---- A solver of spectra


@pytest.fixture
def toy_solver(monkeypatch):
    monkeypatch.setitem(SOLVERS, SubspaceIteration.name, SubspaceIteration)


@pytest.mark.parametrize(
    "model",
    [PCA(2), PCA(), PCA(0.9), PCA("kaiser"), PCA(2, standardize=True, whiten=True), Whitening("zca"), PPCA(2),
     PPCA("bic"), FeatureMapPCA(3)],
    ids=str,
)  # fmt: skip
def test_a_solver_by_name_and_by_object(model, toy_solver):
    usual = clone(model).fit(X)
    for solver in ("subspace-iteration", SubspaceIteration(tol=1e-11)):
        ours = clone(model).set_params(solver=solver)
        assert lowdim.plan(ours, X).solver.name == "subspace-iteration"
        ours.fit(X)
        assert (ours.solver_, ours.status_) == ("subspace-iteration", Status.CONVERGED)
        close(ours.components_, usual.components_, 1e-8)
        close(ours.transform(X), usual.transform(X), 1e-8)


@pytest.mark.parametrize("kind", [name for name, kind in INPUTS.items() if kind.xp == "numpy"])
def test_a_solver_on_every_kind_of_input(kind, toy_solver):
    rows = np.round(8 * X)
    ours = PCA(2, solver="subspace-iteration").fit(INPUTS[kind].make(rows))
    close(ours.components_, PCA(2).fit(rows).components_, 1e-8)


def test_a_solver_that_keeps_a_summary_streams(toy_solver):
    ours, usual = PCA(2, solver="subspace-iteration"), PCA(2)
    for block in (X[:20], X[20:21], X[21:]):
        ours.partial_fit(block)
        usual.partial_fit(block)
    assert (ours.solver_, usual.solver_) == ("subspace-iteration", "covariance")
    close(ours.components_, usual.components_, 1e-8)
    assert isinstance(ours.summary_, Moments)
    from_summary = PCA(2, solver="subspace-iteration").fit_summary(summarize(X, Moments))
    close(from_summary.components_, usual.components_, 1e-8)
    scores = [cross_validate(PCA(solver=s), X).mean for s in ("auto", "subspace-iteration")]
    close(scores[1], scores[0], 1e-8)


def test_auto_takes_a_solver_that_is_cheapest(monkeypatch, toy_solver):
    assert PCA(2).fit(X).solver_ == "covariance", "it costs more"
    free = {"cost": lambda self, job: Cost(0.0, 1, 8, "it is free")}
    monkeypatch.setitem(SOLVERS, "subspace-iteration", type("Free", (SubspaceIteration,), free))
    assert lowdim.plan(PCA(2), X).solver.name == "subspace-iteration"
    assert PCA(2).fit(X).plan_.why == "it is free"
    assert lowdim.plan(SubspaceIteration(), X, k=2).why == "as requested"
    assert lowdim.plan((90, 5), 2).solver.name == "subspace-iteration"
    for model in (PPCA(2), ICA(2), FeatureMapPCA(2), Whitening(n_components=2)):
        model.fit(X)
        assert "subspace-iteration" in str(model.plan_)


def test_a_solver_that_has_not_converged_warns(toy_solver):
    from lowdim.errors import ConvergenceWarning

    with pytest.warns(ConvergenceWarning, match="solver='subspace-iteration' stopped"):
        PCA(2, solver=SubspaceIteration(tol=1e-30, max_steps=2)).fit(X)


def test_a_name_that_is_not_in_the_table_is_refused_with_the_newcomer_in_the_list(toy_solver):
    for model in (PCA(solver="svd"), PPCA(solver="svd")):
        with pytest.raises(ValueError, match=r"is not one of .*'krylov'.* 'subspace-iteration'"):
            model.fit(X)


# ---- A solver of another problem: a reduction, a latent solver


TWO_TABLES = [name for name, row in examples.MODELS.items() if row.solvers == tuple(REDUCTIONS)]


@pytest.mark.parametrize("name", TWO_TABLES)
def test_a_reduction_in_every_model_of_tables(name, monkeypatch):
    monkeypatch.setitem(REDUCTIONS, RootReduction.name, RootReduction)
    seen, usual = examples.MODELS[name].seen, examples.fitted(name)
    for solver in ("root", RootReduction()):
        ours = make(name, solver=solver)
        assert lowdim.plan(ours, X, Y).solver == RootReduction()
        ours.fit(X, Y)
        assert ours.solver_ == "root"
        for what, value in seen(usual).items():
            close(seen(ours)[what], value)
    streamed = make(name, solver="root")
    for rows in (slice(0, 30), slice(30, 90)):
        streamed.partial_fit(X[rows], Y[rows])
    for what, value in seen(usual).items():
        close(seen(streamed)[what], value)
    with pytest.raises(ValueError, match=r"solver='svd' is not one of 'auto', .*'root'"):
        make(name, solver="svd").fit(X, Y)


def test_a_reduction_without_a_summary_does_not_stream(monkeypatch):
    forgetful = type("Forgetful", (RootReduction,), {"name": "forgetful", "starts_from": None})
    monkeypatch.setitem(REDUCTIONS, "forgetful", forgetful)
    with pytest.raises(AttributeError, match="partial_fit") as error:
        CCA(1, solver="forgetful").partial_fit(X, Y)
    assert "solver='forgetful' keeps no summary" in str(error.value.__cause__)


def test_a_solver_of_factor_analysis(monkeypatch):
    monkeypatch.setitem(LATENT_SOLVERS, Descent.name, Descent)
    # Two factors of five columns are just identified by four hundred rows.
    rows = np.random.default_rng(0).standard_normal((400, 2)) @ np.random.default_rng(1).standard_normal((2, 7))
    rows += np.random.default_rng(2).standard_normal((400, 7))
    usual = FactorAnalysis(2, solver=Newton(n_init=0)).fit(rows)
    for solver in ("descent", Descent()):
        ours = FactorAnalysis(2, solver=solver, rotation="varimax")
        assert lowdim.plan(ours, rows).solver == Descent()
        ours.fit(rows)
        assert (ours.solver_, ours.plan_.passes, ours.status_) == ("descent", 1, Status.CONVERGED)
        close(ours.get_covariance(), usual.get_covariance(), 1e-4)
        assert ours.loglike_[-1] == pytest.approx(usual.loglike_[-1], abs=1e-5)
        assert ours.test().p_value == pytest.approx(usual.test().p_value, abs=1e-4)
    # Rows with holes are for EM, as always; and one noise for all columns it cannot fit.
    holes = rows.copy()
    holes[3, 2] = np.nan
    assert FactorAnalysis(2, solver="descent").fit(holes).solver_ == "em"
    for solver in ("descent", Descent()):
        with pytest.raises(ValueError, match="is not one of 'auto', 'em', 'covariance'"):
            PPCA(2, solver=solver).fit(rows)
    with pytest.raises(ValueError, match="is not one of 'auto', 'newton', 'em', 'descent'"):
        FactorAnalysis(2, solver="svd").fit(rows)


# ---- Something to remember of rows


@pytest.fixture
def toy_summary(monkeypatch):
    case = summaries_drawn.Case(
        lambda cls, width, offset: cls(width),
        lambda s: {"n_rows": s.n_rows, "range": None if s.low is None else s.high - s.low},
    )
    monkeypatch.setitem(SUMMARIES, "Extremes", Extremes)
    monkeypatch.setitem(summaries_drawn.CASES, "Extremes", ("Extremes", case))


def laws():
    """The laws of tests/laws with all that they are parametrized by but the summary."""
    for name, law in vars(test_summaries).items():
        marks = [mark for mark in getattr(law, "pytestmark", []) if mark.name == "parametrize"]
        # Of a newcomer there are no early files.
        if name.startswith("test_") and any(mark.args[0] == "label" for mark in marks) and "early" not in name:
            others = [mark for mark in marks if mark.args[0] != "label"]
            for values in itertools.product(*(mark.args[1] for mark in others)):
                options = dict(zip((mark.args[0] for mark in others), values, strict=True))
                yield pytest.param(law, options, id=" ".join([name, *map(str, values)]))


@pytest.mark.parametrize(("law", "options"), list(laws()))
def test_a_summary_keeps_the_laws(law, options, toy_summary, request):
    fixtures = [name for name in inspect.signature(law).parameters if name.startswith("tmp_path")]
    law(label="Extremes", **options, **{name: request.getfixturevalue(name) for name in fixtures})


@pytest.mark.parametrize("kind", [name for name, kind in INPUTS.items() if kind.xp == "numpy"])
def test_a_summary_of_every_kind_of_input(kind, toy_summary):
    rows = np.round(8 * X)
    for given in (Extremes, Extremes(5)):
        seen = summarize(INPUTS[kind].make(rows), given)
        np.testing.assert_array_equal(seen.low, rows.min(axis=0))
        np.testing.assert_array_equal(seen.high, rows.max(axis=0))
    counted = summarize(INPUTS[kind].make(rows), Extremes, weights=np.arange(90) % 2)
    np.testing.assert_array_equal(counted.high, rows[1::2].max(axis=0))


def test_a_summary_names_bad_entries_and_is_saved(toy_summary, tmp_path):
    bad = X.copy()
    bad[7, 2] = np.inf
    with pytest.raises(ValueError, match="column 2, first in row 7"):
        summarize(bad, Extremes)
    summarize(X, Extremes).save(tmp_path / "extremes.npz")
    np.testing.assert_array_equal(Extremes.load(tmp_path / "extremes.npz").high, X.max(axis=0))
    with pytest.raises(TypeError, match="a Moments or a Triangle"):
        PCA(2).fit_summary(summarize(X, Extremes))


# ---- A rule for K


@pytest.fixture
def toy_rule(monkeypatch):
    monkeypatch.setitem(RULES, RULE.name, RULE)


def test_a_rule_in_models_and_in_the_table_of_choices(toy_rule):
    """It says what Kaiser's rule says."""
    assert choose_n_components(X, "above-average")["above-average"].k == choose_n_components(X, "kaiser")["kaiser"].k
    everything = choose_n_components(X)
    assert list(everything) == list(RULES)
    assert "above-average" in str(everything)
    assert "noise eigenvalues are all equal" in str(everything)
    assert "above-average: K = " in str(everything["above-average"])
    for model in (PCA, PPCA, ICA):
        ours, usual = model("above-average").fit(X), model("kaiser").fit(X)
        assert ours.n_components_ == usual.n_components_ == 2
    assert PCA("above-average").fit(X).choice_.rule == "above-average"
    assert PCA("above-average").partial_fit(X).n_components_ == 2
    with pytest.raises(ValueError, match=r"n_components='nonsense' is not one of .*'above-average'"):
        PCA("nonsense").fit(X)
    assert set(selection.RULES) == set(everything)


# ---- A density of sources


@pytest.mark.parametrize("solver", list(ICA_SOLVERS))
@pytest.mark.parametrize("extended", [True, False])
def test_a_density_in_ica(solver, extended, monkeypatch):
    monkeypatch.setitem(DENSITIES, Logistic.name, Logistic)
    density = Logistic()
    functions = CustomDensity(density.energy, density.score, density.slope)
    rows = np.random.default_rng(0).laplace(size=(2000, 3)) @ np.random.default_rng(1).standard_normal((3, 3))
    by_name, by_object, by_functions = (
        ICA(density=d, solver=solver, extended=extended).fit(rows) for d in ("logistic", density, functions)
    )
    np.testing.assert_array_equal(by_name.components_, by_object.components_)
    close(by_name.components_, by_functions.components_, 1e-4)
    assert by_name.score(rows) == pytest.approx(by_functions.score(rows), abs=1e-6)
    assert as_density("logistic") == density == parse_density(str(density))
    assert density.flipped is not None


def test_a_density_is_in_the_list_of_names(monkeypatch):
    monkeypatch.setitem(DENSITIES, Logistic.name, Logistic)
    with pytest.raises(ValueError, match=r"density='nonsense' is not one of .*'logistic'"):
        ICA(density="nonsense").fit(X)


# ---- A kernel, a feature map, a rule for landmarks


@pytest.fixture
def toy_kernel(monkeypatch):
    monkeypatch.setitem(KERNELS, Cauchy.name, Cauchy)


def cauchy(x, y):
    """The same as a function of two rows."""
    return 1.0 / (1.0 + ((x - y) ** 2).sum() / 64.0)


def test_a_kernel_in_kernel_pca_by_every_solver_that_can(toy_kernel):
    able = examples.able("cauchy")
    assert able == [name for name in examples.KERNEL_SOLVER_EXAMPLES if name != "features"]
    usual = KernelPCA(2, kernel=cauchy).fit(X)
    for solver in able:
        ours = KernelPCA(2, kernel=Cauchy(8.0), solver=solver, random_state=0).fit(X)
        exact = examples.KERNEL_SOLVER_EXAMPLES[solver].exact or solver == "nystrom"
        close(ours.eigenvalues_, usual.eigenvalues_, 1e-7 if exact else 0.1)
        if exact:
            close(ours.transform(X), usual.transform(X), 1e-6)
    with pytest.raises(ValueError, match="solver='features' needs a kernel whose features can be written out"):
        KernelPCA(2, kernel="cauchy", solver="features").fit(X)
    by_name = KernelPCA(2, kernel="cauchy").fit(X)
    assert by_name.kernel_ == Cauchy(float(np.ptp(X, axis=0).max()))
    assert "Cauchy(length=" in str(by_name)
    back = by_name.inverse_transform(by_name.transform(X))
    assert back.shape == X.shape
    with pytest.raises(ValueError, match="kernel='cauchy' has no gamma"):
        KernelPCA(2, kernel="cauchy", gamma=1.0).fit(X)
    with pytest.raises(ValueError, match=r"kernel='nonsense' is not one of .*'cauchy'"):
        KernelPCA(2, kernel="nonsense").fit(X)


def test_a_kernel_with_explicit_features(monkeypatch):
    """ "auto" uses them if there are many rows, and they are the same components as by the kernel matrix."""
    monkeypatch.setitem(KERNELS, "scatter", Scatter)
    assert kernel_plan((2000, 5), 3, kernel="scatter").solver.name == "features"
    assert kernel_plan((90, 5), 3, kernel="scatter").solver.name == "dense"
    by_matrix, by_features = (KernelPCA(3, kernel="scatter", solver=s).fit(X) for s in ("dense", "features"))
    close(by_features.eigenvalues_, by_matrix.eigenvalues_)
    close(by_features.transform(X), by_matrix.transform(X))


def test_a_kernel_in_plans_sums_and_streams(toy_kernel):
    assert kernel_plan((600, 5), 3, kernel="cauchy").solver.name == "krylov"
    assert kernel_plan((600, 5), 3, kernel="cauchy", whole=False).solver.name == "nystrom"
    assert kernel_plan((600, 5), 3, kernel="cauchy", solver="fourier").solver.name == "fourier"
    assert lowdim.plan(KernelPCA(2, kernel="cauchy"), X).solver.name == "dense"
    both = KernelPCA(2, kernel=Cauchy(8.0) + 2.0 * Gaussian(8.0)).fit(X)
    by_function = KernelPCA(2, kernel=lambda x, y: cauchy(x, y) + 2 * np.exp(-((x - y) ** 2).sum() / 128)).fit(X)
    close(both.eigenvalues_, by_function.eigenvalues_)
    in_blocks = KernelPCA(2, kernel=Cauchy(8.0)).fit([X[:40], X[40:]])
    assert in_blocks.solver_ == "nystrom"
    close(in_blocks.eigenvalues_, KernelPCA(2, kernel=Cauchy(8.0)).fit(X).eigenvalues_, 1e-7)


def test_a_kernel_in_kernel_cca(toy_kernel):
    ours = KernelCCA(2, kernel=(Cauchy(8.0), "linear")).fit(X, Y)
    usual = KernelCCA(2, kernel=(cauchy, "linear")).fit(X, Y)
    close(ours.correlations_, usual.correlations_, 1e-8)
    assert KernelCCA(2, kernel="cauchy").fit(X, Y).x_kernel_ == Cauchy(float(np.ptp(X, axis=0).max()))
    assert lowdim.plan(KernelCCA(2, kernel="cauchy"), X, Y).solver.name == "gram"


def test_a_feature_map(monkeypatch):
    monkeypatch.setitem(FEATURE_MAPS, "squares", Squares)
    usual = PCA(3).fit(np.hstack([X, X * X]))
    for feature_map in ("squares", Squares(), lambda block: np.hstack([block, block * block])):
        ours = FeatureMapPCA(3, feature_map=feature_map).fit(X)
        close(ours.components_, usual.components_)
        close(FeatureMapPCA(3, feature_map=feature_map).fit([X[:40], X[40:]]).components_, usual.components_)
    assert lowdim.plan(FeatureMapPCA(3, feature_map="squares"), X.shape).solver.name == "covariance"
    with pytest.raises(ValueError, match="feature_map='nonsense' is not one of 'polynomial', 'squares'"):
        FeatureMapPCA(3, feature_map="nonsense").fit(X)


def test_a_rule_for_landmarks(monkeypatch):
    with pytest.raises(ValueError, match="choose='farthest' is not one of"):
        Nystrom(20, choose="farthest")
    monkeypatch.setitem(LANDMARKS, "farthest", farthest)
    exact = KernelPCA(2, kernel=Gaussian(8.0)).fit(X)
    ours = KernelPCA(2, kernel=Gaussian(8.0), solver=Nystrom(90, choose="farthest")).fit(X)
    close(ours.eigenvalues_, exact.eigenvalues_, 1e-7)
    few = KernelPCA(2, kernel=Gaussian(8.0), solver=Nystrom(30, choose="farthest")).fit(X)
    assert len(np.unique(few.X_fit_, axis=0)) == 30
    assert np.all(few.eigenvalues_ <= exact.eigenvalues_ * (1 + 1e-9))
    close(few.eigenvalues_, exact.eigenvalues_, 0.05)
    low, high = few.error_interval_
    assert low <= few.error_ <= high
    assert lowdim.plan(KernelPCA(2, kernel="gaussian", solver=Nystrom(30, choose="farthest")), X).n_bytes > 0


# ---- An estimator


@pytest.fixture
def toy_model(monkeypatch):
    monkeypatch.setattr(models, "CorrelationPCA", CorrelationPCA, raising=False)
    monkeypatch.setattr(models, "__all__", [*models.__all__, "CorrelationPCA"])


@pytest.mark.parametrize(
    "check",
    [pytest.param(check, id=getattr(check.func, "__name__", str(check.func)))
     for _, check in estimator_checks_generator(CorrelationPCA(), legacy=True, mark="skip")],
)  # fmt: skip
def test_an_estimator_passes_the_checks_of_scikit_learn(check):
    check(CorrelationPCA())


@pytest.mark.parametrize("kind", list(INPUTS))
def test_an_estimator_on_every_kind_of_input(kind, toy_model):
    rows, source = np.round(8 * X), INPUTS[kind]
    usual = PCA(2, standardize=True, whiten=True).fit(rows)
    model = models.CorrelationPCA(2).fit(source.make(rows))
    assert source.result_dtype("float64") == model.components_.dtype
    close(np.asarray(model.components_), usual.components_)
    scores = model.transform(source.make(rows))
    close(np.asarray(scores), usual.transform(rows))
    close(np.asarray(model.inverse_transform(scores)), usual.inverse_transform(usual.transform(rows)))


def test_an_estimator_has_a_plan_and_prints_itself(toy_model):
    model = models.CorrelationPCA(2)
    planned = lowdim.plan(model, X)
    assert model.fit(X).plan_ == planned
    assert str(model).splitlines()[0] == "CorrelationPCA of 90 rows, 5 columns (covariance)"
    assert "PC2" in str(model)
    assert list(model.get_feature_names_out()) == ["correlationpca0", "correlationpca1"]
    for solver in SOLVERS:
        close(models.CorrelationPCA(2, solver=solver).fit(X).components_, model.components_, 1e-8)
    weights = np.arange(90) % 3
    repeated = models.CorrelationPCA(2).fit(np.repeat(X, weights, axis=0))
    close(models.CorrelationPCA(2).fit(X, sample_weight=weights).components_, repeated.components_)
    bad = X.copy()
    bad[3, 1] = np.nan
    before = model.components_.copy()
    with pytest.raises(ValueError, match="column 1, first in row 3"):
        model.fit(bad)
    np.testing.assert_array_equal(model.components_, before)
    with pytest.raises(TypeError, match="cannot be cross-validated here"):
        cross_validate(model, X)
