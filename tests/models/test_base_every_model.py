"""What every model of `models.__all__` has: a plan before a row is read, a plan, a solver and a status afterwards."""

from functools import cache
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone

import lowdim
from examples import MODELS, OF_NUMBERS, WIDE, WIDE_Y, X, Y, make, tables
from inputs import INPUTS, Unreadable, to_numpy
from lowdim import ICA, models
from lowdim.solvers import AnySolver, Plan, QuasiNewtonICA, Status
from lowdim.sources import open_source
from tolerances import TOLERANCES, as_markdown, tolerance_of

# Heywood cases are a property of the rows, and these have some.
pytestmark = pytest.mark.filterwarnings("ignore::lowdim.errors.HeywoodWarning")

each_model = pytest.mark.parametrize("name", OF_NUMBERS)
#: Rows of whole numbers, which every kind of input holds exactly: more rows than columns, and fewer.
SHAPES = {"tall": (np.round(8 * X), np.round(8 * Y)), "wide": (np.round(8 * WIDE), np.round(8 * WIDE_Y))}


# ---- Before the fit


@each_model
def test_a_plan_reads_no_row_and_leaves_the_model_alone(name):
    model = make(name)
    planned = lowdim.plan(model, *(Unreadable(table) for table in tables(name)))
    assert isinstance(planned, Plan)
    assert not any(attribute.endswith("_") for attribute in vars(model))
    assert planned == model.plan(*tables(name)) or name == "KernelCCA"  # whose kernels need not be comparable
    assert str(planned) == str(lowdim.plan(model, *tables(name)))


@each_model
def test_a_shape_is_enough_for_a_plan(name):
    planned = lowdim.plan(make(name), *(table.shape for table in tables(name)))
    assert str(planned) == str(lowdim.plan(make(name), *tables(name)))


@each_model
def test_what_is_planned_is_what_runs(name):
    model = make(name)
    planned = lowdim.plan(model, *tables(name))
    model.fit(*tables(name))
    assert type(model.plan_.solver) is type(planned.solver)
    assert model.solver_ == model.plan_.solver.name == planned.solver.name
    assert model.plan_.n_bytes == planned.n_bytes
    # Iterations take at least the passes that were planned.
    assert model.plan_.passes >= planned.passes


@pytest.mark.parametrize(("name", "solver"), [(name, s) for name, row in MODELS.items() for s in row.solvers])
def test_a_solver_that_is_asked_for_is_planned_or_refused_as_in_the_fit(name, solver):
    for given in (lambda: tables(name), lambda: tuple(iter([t[:50], t[50:]]) for t in tables(name))):
        try:
            make(name, solver=solver).fit(*given())
        except (TypeError, ValueError) as refusal:
            opened = [open_source(table) for table in given()]
            with pytest.raises(type(refusal)) as error:
                lowdim.plan(make(name, solver=solver), *opened)
            assert str(error.value) == str(refusal)
        else:
            planned = lowdim.plan(make(name, solver=solver), *(open_source(table) for table in given()))
            assert planned.solver.name == ("krylov" if solver == "matrix-free" else solver)


@each_model
def test_fit_and_plan_refuse_the_same(name):
    wrong = (
        (make(name, n_components=10**6), tables(name)),
        (make(name, n_components=-1), tables(name)),
        (make(name), tuple(table[:0] for table in tables(name))),
        (make(name), tuple(table[0] for table in tables(name))),
        (make(name), tuple(table.astype(complex) for table in tables(name))),
        (make(name), tuple(table.astype(str) for table in tables(name))),
    )
    for model, given in wrong:
        messages = []
        for act in (clone(model).fit, clone(model).plan, lambda *a, model=model: lowdim.plan(model, *a)):
            # A million components of an auto-encoder are too many for the memory only.
            with pytest.raises((ValueError, MemoryError)) as error:
                act(*given)
            messages.append(str(error.value))
        assert len(set(messages)) == 1, messages


@pytest.mark.parametrize("wrong", [np.array([2, 3]), [2, 3], {}], ids=["array", "list", "dict"])
@each_model
def test_a_number_of_components_that_is_no_number_is_refused(name, wrong):
    for call in ("fit", "plan"):
        with pytest.raises(ValueError, match="n_components="):
            getattr(make(name, n_components=wrong), call)(*tables(name))


def test_what_cannot_be_planned():
    with pytest.raises(TypeError, match=r"got the class PCA; pass an instance: PCA\(\)"):
        lowdim.plan(models.PCA, X)
    with pytest.raises(TypeError, match="can be read only once, and a plan would use up its first block"):
        lowdim.plan(models.PCA(2), iter([X]))
    with pytest.raises(TypeError, match="needs rows, or their shape"):
        lowdim.plan(QuasiNewtonICA())


# ---- After the fit


@each_model
def test_a_fitted_model_says_what_ran(name):
    model = make(name).fit(*tables(name))
    assert isinstance(model.plan_, Plan)
    assert isinstance(model.plan_.solver, AnySolver)
    assert isinstance(model.status_, Status)
    assert model.status_ in (Status.EXACT, Status.CONVERGED)
    assert model.solver_ == model.plan_.solver.name
    assert model.plan_.passes >= 1
    assert model.plan_.n_bytes > 0
    assert model.plan_.fits_memory
    assert str(model.plan_).startswith(f"{model.solver_}: ")
    assert "over the rows, about " in str(model.plan_)
    assert str(model.plan_).endswith(f"beside them; {model.plan_.why}")
    assert str(model.plan_) not in str(model)
    first = str(model).splitlines()[0]
    assert first.startswith(f"{name} of {len(X)} rows, ")
    assert first.endswith(f"({model.solver_})")
    assert f"({model.solver_})" in model._repr_html_()


@each_model
def test_an_unfitted_model_has_none_of_it(name):
    model = make(name)
    assert str(model) == repr(model)
    for attribute in ("plan_", "solver_", "status_", "n_components_"):
        assert not hasattr(model, attribute)


def options_of(name, shape):
    return {} if shape == "tall" else MODELS[name].wide_options


@cache
def expected_of(name, shape):
    """What an array gives."""
    return MODELS[name].compared(make(name, **options_of(name, shape)).fit(*tables(name, *SHAPES[shape])))


@each_model
@pytest.mark.parametrize("kind", list(INPUTS))
@pytest.mark.parametrize("shape", list(SHAPES))
def test_every_model_on_every_kind_of_input(name, kind, shape):
    """The answer of an array; what a fit refuses its plan has refused."""
    source, (x, y), options = INPUTS[kind], SHAPES[shape], options_of(name, shape)

    def given():
        made = tuple(source.make(table) for table in tables(name, x, y))
        # To GCCA a list is one of tables, not of blocks.
        return tuple(map(open_source, made)) if name == "GCCA" and isinstance(made[0], list | tuple) else made

    expected = expected_of(name, shape)
    from_elsewhere = source.stored or source.queried
    try:
        model = make(name, **options).fit(*given())
    except (TypeError, ValueError) as refusal:
        # Rows that are on a device, or on other machines.
        assert source.lazy or source.to_device or source.xp != "numpy"
        with pytest.raises(type(refusal)) as error:
            lowdim.plan(make(name, **options), *(open_source(table) for table in given()))
        assert str(error.value) == str(refusal)
        return
    for what, value in MODELS[name].compared(model).items():
        size = np.abs(expected[what]).max()
        # Of a stream kernel PCA takes landmarks, which here are all rows.
        near = 1e-4 if name in ("ICA", "KernelPCA") else 1e-7
        atol = (tolerance_of(name, source) if from_elsewhere else near) * size
        np.testing.assert_allclose(to_numpy(value), expected[what], rtol=0, atol=atol, err_msg=what)


def test_the_table_of_the_page_is_the_one_that_is_tested():
    assert set(TOLERANCES) == set(OF_NUMBERS)
    page = Path(__file__).parents[2] / "docs" / "files.md"
    assert as_markdown() in page.read_text()


# ---- Solvers with their options


@pytest.mark.parametrize("tol", [1e-3, 1e-9])
def test_a_solver_object_of_ica_keeps_its_tolerance(tol):
    model = ICA(2, solver=QuasiNewtonICA(tol=tol)).fit(X)
    assert model.plan_.solver == QuasiNewtonICA(tol=tol)
    assert model.status_ is Status.CONVERGED
    assert model.gradient_norm_ <= tol
    assert lowdim.plan(ICA(2, solver=QuasiNewtonICA(tol=tol)), X).solver == QuasiNewtonICA(tol=tol)
    np.testing.assert_array_equal(model.components_, ICA(2, tol=tol).fit(X).components_)


# ---- A fit that fails


def broken_stream(table):
    """Rows that can no longer be read from the middle on."""
    yield table[:50]
    raise OSError("the connection was lost")


FAILURES = {
    "infinity": lambda tables: (np.where(tables[0] == tables[0][-1, -1], np.inf, tables[0]), *tables[1:]),
    "text": lambda tables: (tables[0].astype(str), *tables[1:]),
    "one row": lambda tables: tuple(table[:1] for table in tables),
    "no variance": lambda tables: tuple(np.ones_like(table) for table in tables),
    "lost connection": lambda tables: tuple(broken_stream(table) for table in tables),
    "huge": lambda tables: (tables[0] * 1e200, *tables[1:]),
}


@pytest.mark.parametrize("failure", list(FAILURES))
@each_model
def test_a_failed_fit_leaves_every_model_as_it_was(name, failure):
    """Whether it is refused at the start, while rows are read or after the solve, and also if a warning is an error."""
    model = make(name).fit(*tables(name))
    before = dict(vars(model))
    bad = FAILURES[failure](tables(name))
    try:
        model.fit(*bad)
    except (ValueError, TypeError, OSError, lowdim.errors.LowdimWarning):
        assert vars(model).keys() == before.keys()
        assert all(vars(model)[key] is value for key, value in before.items())
    else:
        # The squares of a correlation do not overflow, and one row or none is enough for some.
        assert failure in ("huge", "one row", "no variance", "text")
