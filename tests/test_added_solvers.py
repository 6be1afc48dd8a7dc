"""A solver, a kernel, a feature map or a density that is added to its table works wherever the table is used.

See test_additions.py, which walks the other rows of the table "Where to add things" of docs/architecture.md.
"""

import numpy as np
import pytest
from sklearn.base import clone

import examples
import lowdim
from additions.toy_density import Logistic
from additions.toy_kernel import Cauchy, Scatter
from additions.toy_latent_solver import Descent
from additions.toy_reduction import RootReduction
from additions.toy_rules import Squares, farthest
from additions.toy_solver import SubspaceIteration
from examples import X, Y, close, make
from inputs import INPUTS
from lowdim import (
    CCA,
    ICA,
    PCA,
    PPCA,
    FactorAnalysis,
    FeatureMapPCA,
    KernelCCA,
    KernelPCA,
    Whitening,
    cross_validate,
)
from lowdim.densities import DENSITIES, CustomDensity, as_density
from lowdim.features import FEATURE_MAPS
from lowdim.kernels import KERNELS, Gaussian
from lowdim.reading import summarize
from lowdim.solvers import ICA_SOLVERS, LATENT_SOLVERS, REDUCTIONS, SOLVERS, Cost, Newton, Nystrom, Status, kernel_plan
from lowdim.solvers.kernel.maps import LANDMARKS
from lowdim.summaries import Moments, ScoreMoments

# ---- A solver of spectra


@pytest.fixture
def toy_solver(monkeypatch):
    monkeypatch.setitem(SOLVERS, SubspaceIteration.name, SubspaceIteration)


@pytest.mark.parametrize(
    "model",
    [PCA(2), PCA(), PCA(0.9), PCA("kaiser"), PCA(2, scale=True, whiten=True), Whitening("zca"), PPCA(2),
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


@pytest.mark.parametrize("kind", [name for name, kind in INPUTS.items() if kind.xp == "numpy" and not kind.to_device])
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
    assert lowdim.plan(SubspaceIteration(), X, n_components=2).why == "as requested"
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


@pytest.mark.parametrize("name", examples.REDUCED)
def test_a_reduction_in_every_model_of_tables(name, monkeypatch):
    monkeypatch.setitem(REDUCTIONS, RootReduction.name, RootReduction)
    compared, usual = examples.MODELS[name].compared, examples.fitted(name)
    for solver in ("root", RootReduction()):
        ours = make(name, solver=solver)
        assert lowdim.plan(ours, X, Y).solver == RootReduction()
        ours.fit(X, Y)
        assert ours.solver_ == "root"
        for what, value in compared(usual).items():
            close(compared(ours)[what], value)
    streamed = make(name, solver="root")
    for rows in (slice(0, 30), slice(30, 90)):
        streamed.partial_fit(X[rows], Y[rows])
    for what, value in compared(usual).items():
        close(compared(streamed)[what], value)
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
    # Rows with missing entries are for EM, as always; and one noise for all columns it cannot fit.
    incomplete = rows.copy()
    incomplete[3, 2] = np.nan
    assert FactorAnalysis(2, solver="descent").fit(incomplete).solver_ == "em"
    for solver in ("descent", Descent()):
        with pytest.raises(ValueError, match="is not one of 'auto', 'em', 'covariance'"):
            PPCA(2, solver=solver).fit(rows)
    with pytest.raises(ValueError, match="is not one of 'auto', 'newton', 'em', 'newton-cg', 'descent'"):
        FactorAnalysis(2, solver="svd").fit(rows)


# ---- A density of sources


@pytest.mark.parametrize("solver", list(ICA_SOLVERS))
@pytest.mark.parametrize("extended", [True, False])
def test_a_density_in_ica(solver, extended, monkeypatch, tmp_path):
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
    assert as_density("logistic") == density
    # A file names it.
    lowdim.save(ScoreMoments(np.eye(1), np.zeros(1), density), tmp_path / "scores.summary")
    assert lowdim.load(tmp_path / "scores.summary").density == density
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
    both = KernelPCA(2, kernel=Cauchy(8.0) + 2.0 * Gaussian(1 / 128)).fit(X)
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
    exact = KernelPCA(2, kernel=Gaussian(1 / 128)).fit(X)
    ours = KernelPCA(2, kernel=Gaussian(1 / 128), solver=Nystrom(90, choose="farthest")).fit(X)
    close(ours.eigenvalues_, exact.eigenvalues_, 1e-7)
    few = KernelPCA(2, kernel=Gaussian(1 / 128), solver=Nystrom(30, choose="farthest")).fit(X)
    assert len(np.unique(few.X_fit_, axis=0)) == 30
    assert np.all(few.eigenvalues_ <= exact.eigenvalues_ * (1 + 1e-9))
    close(few.eigenvalues_, exact.eigenvalues_, 0.05)
    low, high = few.error_interval_
    assert low <= few.error_ <= high
    assert lowdim.plan(KernelPCA(2, kernel="gaussian", solver=Nystrom(30, choose="farthest")), X).n_bytes > 0
