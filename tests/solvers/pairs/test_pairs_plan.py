"""Which reduction of tables runs: a table of cases, the rule in full, what is refused, and what fitted models say."""

import numpy as np
import pytest

from examples import MODELS, REDUCED, make
from inputs import blocks
from lowdim import CCA, GCCA, PCR, KernelCCA, PLSCanonical, PLSRegression
from lowdim.reading import summarize
from lowdim.solvers import REDUCTIONS, CovarianceReduction, GramReduction, Job, Status, TriangleReduction
from lowdim.sources import open_source
from lowdim.summaries import Moments

RNG = np.random.default_rng(0)
X, Y = RNG.standard_normal((30, 5)), RNG.standard_normal((30, 3))
each_model = pytest.mark.parametrize("kind", REDUCED)

#: Rows, widths of the tables, whether columns of each can be read, and what runs.
CHOICES = {
    "tall": (1000, (20, 3), (True, True), "covariance"),
    "as many rows as the widest table has columns": (50, (50, 50), (True, True), "covariance"),
    "one row less, columns readable, products of columns cheaper": (49, (50, 1), (True, True), "covariance"),
    "one row less, columns not readable": (49, (50, 1), (False, True), "triangle"),
    "unknown number of rows": (None, (50, 3), (False, False), "covariance"),
    "unknown number of rows of wide tables": (None, (5000, 3), (False, False), "covariance"),
    "few rows": (20, (500, 2), (True, True), "gram"),
    "few rows of two wide tables": (60, (4000, 3000), (True, True), "gram"),
    "few rows of three tables": (60, (400, 300, 5), (True, True, True), "gram"),
    "few rows, a stream beside an array": (20, (500, 2), (True, False), "triangle"),
    "few rows, a list of blocks": (20, (500, 2), (False, False), "triangle"),
    "nearly as many rows as columns": (400, (500, 2), (True, True), "covariance"),
    "one row": (1, (2, 1), (True, True), "gram"),
}


def of_one(kind, **options):
    """The model with one component, also of fewer rows than columns."""
    return make(kind, **MODELS[kind].wide_options, n_components=1, **options)


def planned(n, widths, columns, solver="auto"):
    """The plan for tables of zeros, which take no memory."""
    zeros = [np.broadcast_to(0.0, (n or 3, p)) for p in widths]
    given = [iter([A]) if n is None else A if by_column else [A] for A, by_column in zip(zeros, columns, strict=True)]
    return PLSRegression(1, solver=solver).plan(*given) if len(given) == 2 else GCCA(1, solver=solver).plan(given)


@pytest.mark.parametrize("what", list(CHOICES))
def test_auto_chooses_as_the_table_says(what):
    *of, expected = CHOICES[what]
    assert planned(*of).solver.name == expected


def rule(n, widths, columns, memory):
    """The rule, written once more: the name of what runs, or None where it is too large."""
    p = sum(widths)
    n_bytes = {
        "covariance": 40 * p * p,
        "triangle": 40 * p * (p if n is None else min(n, p)),
        "gram": 40 * len(widths) * (n or 0) ** 2,
    }
    fits = {name: not memory or needed <= memory for name, needed in n_bytes.items()}
    if n is None or n >= max(widths):
        name = "covariance"
    elif not all(columns) or not fits["gram"]:
        name = "triangle"
    else:
        fewer = n * n * p + 4 * len(widths) * n**3 < n * p * p + p**3
        name = "gram" if fewer or not fits["covariance"] else "covariance"
    return name if fits[name] else None


@pytest.mark.parametrize("n_bytes", [0, 2**12, 2**14, 2**16, 2**18, 2**40])
def test_the_choice_is_the_rule(memory, n_bytes):
    memory(n_bytes)
    compared = 0
    for widths in [(1, 1), (7, 2), (30, 1), (30, 30), (200, 3), (60, 50, 40), (500, 400)]:
        for n in [None, 1, 2, 5, 20, 29, 30, 45, 60, 90, 150, 199, 200, 400, 499, 500, 1000]:
            for columns in [(True,) * len(widths), (False,) * len(widths), (True,) + (False,) * (len(widths) - 1)]:
                of = (n, widths, (False,) * len(widths) if n is None else columns)
                expected = rule(*of, n_bytes)
                if expected is not None:
                    assert planned(*of).solver.name == expected, of
                    compared += 1
                elif n is not None and n < max(widths):
                    with pytest.raises(MemoryError, match=f"solver='triangle' on tables of {sum(widths)} columns"):
                        planned(*of)
    assert compared > 30


def test_where_the_covariance_is_too_large_something_smaller_runs(memory):
    memory(40 * 100 * 70)
    assert planned(60, (50, 50), (False, False)).solver.name == "triangle"
    with pytest.raises(MemoryError, match=r"solver='covariance' on tables of 100 columns would need .* PCA first"):
        planned(80, (50, 50), (False, False))


@pytest.mark.parametrize("name", list(REDUCTIONS))
def test_a_reduction_that_was_asked_for_is_refused_where_memory_is_too_small(memory, name):
    of = (30, (50, 50), (True, True), name)
    needed = planned(*of).n_bytes
    memory(needed)
    assert planned(*of).why == "as requested"
    memory(needed - 1)
    with pytest.raises(MemoryError, match=f"solver='{name}' on tables of 100 columns"):
        planned(*of)


def test_blocks_that_do_not_fit_are_refused(memory):
    memory(100)
    with pytest.raises(MemoryError, match="solver='covariance' on tables of 8 columns"):
        PLSRegression(1).partial_fit(X, Y)


def test_what_is_finer():
    usual, narrow, once = (Job(30, 8, 1, open_source(rows).traits) for rows in (X, X.astype("f4"), iter([X])))
    wide = CovarianceReduction(wide=True)
    assert CovarianceReduction().finer(narrow) == wide
    assert wide.finer(narrow) == TriangleReduction()
    assert CovarianceReduction().finer(usual) == GramReduction().finer(usual) == TriangleReduction()
    assert TriangleReduction().finer(usual) is None
    assert GramReduction().refusal(once) is not None


def test_a_plan_reads_no_rows_and_leaves_the_model_alone():
    bad = np.full((30, 5), np.nan)
    model = PLSRegression(2)
    assert str(model.plan(bad, Y)).startswith("covariance: 1 pass over the rows, about ")
    assert model.plan(iter([X]), iter([Y])).why == "the stream can be read only once"
    assert not hasattr(model, "plan_") and not hasattr(model, "n_features_in_")
    with pytest.raises(ValueError, match="n_components=9 must be a whole number between 1 and 5"):
        PLSRegression(9).plan(X, Y)
    for streams in (([X], [Y]), (iter([X]), iter([Y]))):
        assert "the rows are first gathered in memory" in PLSRegression(1, solver="gram").plan(*streams).why


# ---- What fitted models say


@each_model
@pytest.mark.parametrize("solver", ["auto", *REDUCTIONS, CovarianceReduction(wide=True), TriangleReduction()])
@pytest.mark.parametrize("shape", ["tall", "wide"])
def test_what_is_planned_is_what_runs(kind, solver, shape):
    x = X if shape == "tall" else RNG.standard_normal((30, 80))
    planned = of_one(kind, solver=solver).plan(x, Y)
    model = of_one(kind, solver=solver).fit(x, Y)
    assert model.plan_ == planned
    assert (model.solver_, model.n_passes_) == (planned.solver.name, planned.passes)
    assert model.status_ is Status.EXACT


@each_model
def test_plans_of_streams_summaries_and_blocks(kind):
    model = of_one(kind).fit(lambda: iter(blocks(X)), lambda: iter(blocks(Y)))
    assert (model.plan_.solver.name, model.plan_.passes) == ("covariance", 1)
    seen = summarize(np.hstack([X, Y]), Moments(8, widths=(5, 3)))
    from_summary = of_one(kind).fit_summary(seen)
    assert (from_summary.plan_.passes, from_summary.plan_.why) == (0, "from a summary")
    assert of_one(kind).partial_fit(X, Y).plan_ == from_summary.plan_


def test_the_plan_after_a_second_reading():
    x = np.column_stack([X[:, 0], X[:, 0] + 1e-7 * X[:, 1]])
    model = CCA(1).fit(x, Y)
    assert (model.solver_, model.n_passes_, model.plan_.passes) == ("triangle", 2, 2)
    assert model.plan_.why == "covariance ended unresolved, so a more accurate solver ran"
    narrow = CCA(1, regularization=1e-12, scale=False).fit(x.astype("f4"), Y.astype("f4"))
    assert narrow.plan_.passes == narrow.n_passes_ > 1


@pytest.mark.parametrize("kind", [PLSRegression, PCR, CCA])
def test_plans_of_cross_validated_models(kind):
    model = kind("cv")
    planned = model.plan(X, Y)
    model.fit(X, Y)
    assert model.plan_.solver == planned.solver
    assert model.plan_.passes == model.n_passes_ == model.choice_.cross_validation.n_passes
    assert kind("cv", solver="triangle").plan(X, Y).solver == TriangleReduction()


def test_few_classes_of_our_own():
    # Those that stand in for classes of a newer scikit-learn, and the mixins of Model, have nothing to do with tables.
    left_out = {"CallbackSupportMixin", "Estimator", "Named", "ConvertibleStep", "Printed"}
    for model, most in ((PLSRegression, 7), (PLSCanonical, 7), (CCA, 6), (KernelCCA, 3)):
        classes = [cls for cls in model.__mro__ if cls.__name__ not in left_out]
        ours = [cls.__name__ for cls in classes if cls.__module__.startswith("lowdim.")]
        assert len(ours) <= most, ours


# ---- KernelCCA


def test_kernel_cca_has_a_plan():
    planned = KernelCCA(2).plan(X, Y)
    model = KernelCCA(2).fit(X, Y)
    assert (planned.solver.name, planned.passes, planned.n_bytes) == ("gram", 1, 8 * 30 * (13 * 30 + 6 * 2))
    assert (model.plan_.n_bytes, model.plan_.why) == (planned.n_bytes, planned.why)
    assert "kernels of 30 rows" in str(model.plan_)
    assert (model.solver_, model.status_) == ("gram", Status.EXACT)
    assert not hasattr(model, "inverse_transform")
    assert not hasattr(KernelCCA(), "solver_")


def test_kernel_matrices_that_do_not_fit_are_refused_before_they_are_made(memory):
    def kernel(a, b):
        raise AssertionError("a kernel was computed")

    memory(10_000)
    for act in (KernelCCA(1, kernel=kernel).plan, KernelCCA(1, kernel=kernel).fit):
        with pytest.raises(MemoryError, match=r"KernelCCA of 30 rows would need .* Fit to fewer rows"):
            act(X, Y)


@pytest.mark.parametrize("k", [2, None])
@pytest.mark.parametrize("kernel", ["rbf", "linear", "laplacian"])
@pytest.mark.filterwarnings("ignore::lowdim.errors.RankWarning")
def test_the_bytes_of_kernel_cca_are_about_those_that_it_takes(kernel, k):
    import tracemalloc

    x, y = RNG.standard_normal((300, 5)), RNG.standard_normal((300, 3))
    model = KernelCCA(k, kernel=kernel)
    tracemalloc.start()
    try:
        model.fit(x, y)
        taken = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert 0.2 * taken < model.plan_.n_bytes < 4 * taken
    assert taken < 1.2 * model.plan_.n_bytes


def test_kernel_cca_reads_weights_and_names_as_before():
    w = np.r_[0.0, np.full(29, 2.0)]
    with pytest.raises(ValueError, match="n_components=30 must be a whole number between 1 and 29"):
        KernelCCA(30).fit(X, Y, sample_weight=w)
    assert KernelCCA(28, kernel="rbf", gamma=1.0).fit(X, Y, sample_weight=w).n_samples_ == 29
    assert KernelCCA(1).plan(X, [Y[:10], Y[10:]]).why.endswith("the rows are first gathered in memory")
