"""Every member of a table has a row in examples.py or inputs.py, so that the grids that need one leave nobody out."""

import numpy as np
import pytest

import examples
import inputs
from lowdim import KernelPCA, models
from lowdim.densities import DENSITIES
from lowdim.features import FEATURE_MAPS
from lowdim.kernels import KERNELS
from lowdim.solvers import ICA_SOLVERS, KERNEL_SOLVERS, LATENT_SOLVERS, PREIMAGES, REDUCTIONS, ROTATIONS, SOLVERS
from lowdim.solvers.kernel.maps import LANDMARKS
from lowdim.sources.frame import is_spark
from lowdim.sources.opening import SOURCES

ROWS = {
    "models": (examples.MODELS, examples.OF_NUMBERS),
    "kernel solvers": (examples.KERNEL_SOLVER_EXAMPLES, KERNEL_SOLVERS),
    "kernels": (examples.KERNEL_EXAMPLES, KERNELS),
    "densities": (examples.DENSITY_EXAMPLES, DENSITIES),
}
MADE = np.round(8 * examples.X)


@pytest.mark.parametrize("table", list(ROWS))
def test_every_member_has_an_example(table):
    rows, members = ROWS[table]
    assert not set(members) - set(rows), f"{sorted(set(members) - set(rows))}: add a row to tests/examples.py"
    assert not set(rows) - set(members), "a row of nobody"


@pytest.mark.parametrize("number", range(len(SOURCES)))
def test_every_kind_of_source_has_an_input(number):
    """The first row of SOURCES that fits an input opens it. Data frames of Spark, which need a session, have tests of
    their own in tests/sources/spark."""
    if SOURCES[number].fits is is_spark:
        return
    found = []
    for name, kind in inputs.INPUTS.items():
        try:
            given = kind.make(MADE)
        except pytest.skip.Exception:
            continue
        if next(i for i, kind in enumerate(SOURCES) if kind.fits(given)) == number:
            found.append(name)
    assert found, f"no input is opened by row {number} of SOURCES: add one to INPUTS in tests/inputs.py"


def test_every_solver_is_one_of_some_model():
    """In `examples.MODELS` the solvers are those of the tables; here none of the tables is left out."""
    named = {name for row in examples.MODELS.values() for name in row.solvers}
    for table in (SOLVERS, LATENT_SOLVERS, KERNEL_SOLVERS, ICA_SOLVERS, REDUCTIONS):
        assert set(table) <= named


# ---- Every solver of every model finds the same

#: Solvers that stop when they are near, and how near.
NEAR = {"em": 1e-4, "fixed-point": 0.01, "nystrom": 1e-6, "krylov": 1e-8}


def pairs():
    for name, row in examples.MODELS.items():
        for solver in row.solvers:
            options = {}
            if name == "KernelPCA":
                options["kernel"] = examples.kernel(examples.KERNEL_SOLVER_EXAMPLES[solver].kernel)
            yield pytest.param(name, solver, options, id=f"{name}-{solver}")


@pytest.mark.parametrize(("name", "solver", "options"), list(pairs()))
@pytest.mark.filterwarnings("ignore::lowdim.errors.HeywoodWarning")
def test_every_solver_of_every_model(name, solver, options):
    model, usual = examples.fitted(name, solver=solver, **options), examples.fitted(name, **options)
    assert model.solver_ == model.plan_.solver.name
    # "matrix-free" is "krylov" that keeps nothing.
    assert model.solver_ == ("krylov" if solver == "matrix-free" else solver)
    found, expected = examples.MODELS[name].compared(model), examples.MODELS[name].compared(usual)
    exact = name != "KernelPCA" or examples.KERNEL_SOLVER_EXAMPLES[solver].exact
    for what, value in expected.items():
        size = np.abs(value).max()
        atol = (NEAR.get(solver, 1e-9) if exact or solver == "nystrom" else 0.15) * size
        np.testing.assert_allclose(found[what], value, rtol=0, atol=atol, err_msg=what)


@pytest.mark.parametrize("name", list(KERNELS))
@pytest.mark.filterwarnings("ignore::lowdim.errors.IndefiniteWarning")
def test_every_kernel_by_every_solver_that_can(name):
    kernel = examples.kernel(name)
    able = examples.able(kernel)
    assert set(examples.PAIRS) <= set(able)
    dense = KernelPCA(2, kernel=kernel, solver="dense").fit(examples.X)
    for solver in able:
        model = KernelPCA(2, kernel=kernel, solver=solver, random_state=0).fit(examples.X)
        # With all rows as landmarks the negative part of an indefinite kernel is left out before it is centred.
        exact = examples.KERNEL_SOLVER_EXAMPLES[solver].exact or (solver == "nystrom" and kernel.semidefinite)
        np.testing.assert_allclose(model.eigenvalues_, dense.eigenvalues_, rtol=1e-6 if exact else 0.2)
    for solver in set(KERNEL_SOLVERS) - set(able):
        with pytest.raises((TypeError, ValueError), match=f"solver='{solver}'|no random Fourier features"):
            KernelPCA(2, kernel=kernel, solver=solver).fit(examples.X)


@pytest.mark.parametrize("solver", list(ICA_SOLVERS))
@pytest.mark.parametrize("name", list(DENSITIES))
def test_every_density_by_every_solver(name, solver):
    rows = np.random.default_rng(0).laplace(size=(3000, 3)) @ np.random.default_rng(1).standard_normal((3, 3))
    by_name = models.ICA(density=name, solver=solver).fit(rows)
    by_object = models.ICA(density=DENSITIES[name](), solver=solver).fit(rows)
    np.testing.assert_array_equal(by_name.components_, by_object.components_)
    model = models.ICA(density=examples.density(name), solver=solver).fit(rows)
    # All of them know heavy tails, so that they find the same sources to the error of so many rows.
    similar = np.abs(np.corrcoef(model.transform(rows).T, by_name.transform(rows).T)[:3, 3:])
    assert similar.max(axis=1).min() > 0.99


@pytest.mark.parametrize("choose", list(LANDMARKS))
@pytest.mark.parametrize("preimage", list(PREIMAGES))
def test_every_rule_for_landmarks_and_every_way_back(choose, preimage):
    from lowdim.solvers import Nystrom

    model = KernelPCA(4, kernel="gaussian", solver=Nystrom(60, choose=choose), preimage=preimage).fit(examples.X)
    back = model.inverse_transform(model.transform(examples.X))
    assert back.shape == examples.X.shape
    error = ((back - examples.X) ** 2).sum() / ((examples.X - examples.X.mean(axis=0)) ** 2).sum()
    assert error < 0.35


@pytest.mark.parametrize("name", list(ROTATIONS))
@pytest.mark.filterwarnings("ignore::lowdim.errors.HeywoodWarning")
def test_every_rotation_by_name_and_by_object(name):
    one, other = (examples.fitted("FactorAnalysis", rotation=r) for r in (name, ROTATIONS[name]))
    np.testing.assert_array_equal(one.loadings_, other.loadings_)
    plain = examples.fitted("FactorAnalysis")
    np.testing.assert_allclose(one.get_covariance(), plain.get_covariance(), rtol=1e-8)


@pytest.mark.parametrize("name", list(FEATURE_MAPS))
def test_every_feature_map_by_name_and_by_object(name):
    one, other = (models.FeatureMapPCA(2, feature_map=m).fit(examples.X) for m in (name, FEATURE_MAPS[name]()))
    np.testing.assert_array_equal(one.components_, other.components_)
    np.testing.assert_allclose(
        one.explained_variance_, models.PCA(2).fit(FEATURE_MAPS[name]()(examples.X)).explained_variance_, rtol=1e-9
    )
