"""`lowdim.plan`: what it takes, and what it refuses before a row is read."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from lowdim import CCA, GCCA, ICA, PCA, PCR, PPCA, FactorAnalysis, PLSRegression, cross_validate, plan
from lowdim.solvers import CovarianceReduction, Features, Krylov, Nystrom

random = np.random.default_rng(0)
X = random.standard_normal((60, 5))
Y = X[:, :2] @ random.standard_normal((2, 2)) + random.standard_normal((60, 2))


def stream(table):
    return lambda: iter([table[:30], table[30:]])


def test_lists_of_tables_may_be_shapes_but_not_iterators():
    assert plan(GCCA(2), [(100, 3), (100, 4)]).solver.name == "covariance"
    blocks = iter([X[:30], X[30:]])
    with pytest.raises(TypeError, match="can be read only once"):
        plan(GCCA(2), [blocks, iter([Y])])
    assert next(blocks) is not None, "nothing was taken from it"


REFUSED = {
    "no rule": (PPCA("nonsense"), (X,), "is not one of"),
    "not a rule for factors": (FactorAnalysis("minka"), (X,), "is not one of"),
    "folds of two rows": (PPCA("cv"), (X[:2],), "at least 3 are needed"),
    "a rule and missing entries": (PPCA("minka", missing="unstored"), (sparse.csr_array(X),), "needs complete rows"),
    "a start of another size": (ICA(2, w_init=np.eye(3)), (X,), r"w_init must have shape \(2, 2\)"),
}


@pytest.mark.parametrize("case", list(REFUSED))
def test_a_plan_refuses_what_the_fit_refuses(case):
    model, tables, message = REFUSED[case]
    for act in (lambda *a: plan(model, *a), model.fit):
        with pytest.raises(ValueError, match=message):
            act(*tables)


@pytest.mark.parametrize("model", [PCA("cv"), PLSRegression("cv"), ICA("cv")], ids=str)
def test_rows_of_unknown_number_are_gathered_for_folds(model):
    sources = random.laplace(size=(400, 3)) ** 3
    rows = sources @ random.standard_normal((3, 6)) + 0.1 * random.standard_normal((400, 6))
    tables = (rows, sources[:, :2]) if isinstance(model, PLSRegression) else (rows,)
    streams = [stream(table) for table in tables]
    assert "first gathered in memory, and 1000 are assumed" in plan(model, *streams).why
    expected, found = clone(model).fit(*tables), clone(model).fit(*streams)
    assert found.n_components_ == expected.n_components_
    attribute = "coef_" if isinstance(model, PLSRegression) else "components_"
    np.testing.assert_array_equal(getattr(found, attribute), getattr(expected, attribute))


@pytest.mark.parametrize(
    "model", [FactorAnalysis(2), PPCA(2, solver="em"), PCA(2, solver="covariance"), PCA()], ids=str
)
def test_what_does_not_fit_into_memory_is_refused(model):
    with pytest.raises(MemoryError, match="would need"):
        plan(model, (1000, 10**7))


def test_options_that_would_have_no_effect_are_refused():
    for options in ({"n_components": 5}, {"solver": "gram"}):
        with pytest.raises(TypeError, match="a model has its own parameters"):
            plan(PCA(2), X, **options)
    for k in (-3, 0, 2.5, True):
        with pytest.raises(ValueError, match="must be a whole number of at least 1"):
            plan(Krylov(), (100, 10), n_components=k)
    for shape in ((-5, 3), (5, 0)):
        with pytest.raises(ValueError, match="a positive number of rows"):
            plan(shape, 1)
        with pytest.raises(ValueError, match="a positive number of rows"):
            plan(PCA(1), shape)
    with pytest.raises(ValueError, match="rule for choosing landmarks"):
        Nystrom(landmarks=X, choose="k-means++")


def test_plans_of_missing_entries_and_of_rules_say_what_runs():
    found = plan(PPCA(2, missing="unstored"), sparse.csr_array(X))
    assert found.solver.name == "em" and "one pass per step" in found.why
    model = FactorAnalysis("kaiser").fit(X)
    assert model.plan_.passes == model.n_passes_ == 1
    assert plan(Features(), (100, 5)).solver == Features()


def test_partial_fit_keeps_the_options_of_a_reduction():
    wide = CCA(1, solver=CovarianceReduction(wide=True))
    narrow = [table.astype(np.float32) for table in (X, Y)]
    assert wide.partial_fit(*narrow).plan_.solver == CovarianceReduction(wide=True)
    assert wide.summary_.wide


def test_a_plan_of_cross_validation_needs_a_model_and_checks_the_weights():
    with pytest.raises(TypeError, match="cv needs a model"):
        plan((60, 5_000), n_components=5, cv=5)
    with pytest.raises(ValueError, match="sample_weight must have one entry per row"):
        PCA().plan(X, sample_weight=np.ones(3), cv=3)
    weights = np.arange(len(X)) % 2
    assert PCA().plan(X, sample_weight=weights, cv=3) == cross_validate(PCA(), X, cv=3, sample_weight=weights).plan


@pytest.mark.parametrize("model", [PLSRegression("cv"), PCR("cv"), CCA("cv", regularization=0.1)], ids=str)
@pytest.mark.parametrize("widths", [(20, 3), (50, 70), (70, 3), (70, 80)])
def test_the_plan_of_cross_validation_is_what_the_fit_does(model, widths):
    """Whether there are fewer rows than columns in both tables, in one or in none."""
    made = np.random.default_rng(1)
    tables = [made.standard_normal((60, width)) for width in widths]
    assert model.plan(*tables).solver.name == model.fit(*tables).plan_.solver.name
