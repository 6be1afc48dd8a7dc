"""Which solver of kernel PCA runs: the choice, case by case, and what a plan says of it."""

from dataclasses import replace

import numpy as np
import pytest

from inputs import Unreadable
from lowdim import KernelPCA
from lowdim.errors import SlowWarning
from lowdim.kernels import Gaussian, Linear, Polynomial, Sigmoid
from lowdim.solvers import KERNEL_SOLVERS, DenseKernel, Features, FourierFeatures, KrylovKernel, Nystrom, kernel_plan
from lowdim.solvers.kernel import plan_job
from lowdim.solvers.kernel.matrix import KernelJob
from lowdim.sources.base import Traits

FEATURES = "the features of this kernel can be written out, and there are few"
BLOCKS = "rows come in blocks, so not all pairs can be formed, and landmarks are used instead"
EVERY, FEW, MANY = "all components are wanted", "LAPACK is quickest for so few rows", "many components are wanted"
ONCE = "half of the kernel matrix fits and is computed once"
SOME = "18% of half of the kernel matrix (4.7 GiB) fits, what does not is computed anew in each step"
NONE = "half of the kernel matrix (9.5 GiB) does not fit: it is computed anew in each step"
GIVEN = "the kernel matrix is precomputed"
STREAM = {"whole": False}
#: Shape, components, what else is said, and: solver, passes (the sample of the rows is one), bytes, why.
CHOICES = [
    # Features that are few, of many rows.
    ((1001, 3), 2, {"kernel": "linear"}, "features", 2, 144_720, FEATURES),
    ((1000, 3), 2, {"kernel": "linear"}, "krylov", 2, 24_268_672, ONCE),
    ((10**6, 5), 10, {"kernel": Polynomial(2, gamma=1.0)}, "features", 2, 100_691_520, FEATURES),
    ((10**6, 5), None, {"kernel": "cosine"}, "features", 2, 100_664_896, FEATURES),
    ((4000, 1000), 3, {"kernel": "linear"}, "krylov", 2, 224_850_688, ONCE),
    ((4001, 1000), 3, {"kernel": "linear"}, "features", 2, 164_663_296, FEATURES),
    ((50_000, 1001), 3, {"kernel": "linear", "memory": "40 GiB"}, "krylov", 2, 11_848_861_568, ONCE),
    ((50, 3), 2, {"kernel": "linear", **STREAM}, "features", 2, 7_776, FEATURES),
    ((None, 3), 2, {"kernel": "linear", **STREAM, "rereadable": False}, "features", 1, 14_400_576, FEATURES),
    # Rows in blocks.
    ((None, 5), 10, {}, "nystrom", 2, 201_303_296, BLOCKS),
    ((50, 5), 10, STREAM, "nystrom", 2, 344_000, BLOCKS),
    ((50, 5), None, STREAM, "nystrom", 2, 344_000, BLOCKS),
    ((50, 5), 10, {**STREAM, "kernel": Gaussian(0.5) + Linear()}, "nystrom", 2, 344_000, BLOCKS),
    # Pairs of rows.
    ((3000, 5), None, {}, "dense", 2, 432_480_000, EVERY),
    ((300, 5), 0.9, {}, "dense", 2, 4_368_000, EVERY),
    ((500, 5), 3, {}, "dense", 2, 6_140_000, FEW),
    ((501, 5), 3, {}, "krylov", 2, 14_709_360, ONCE),
    ((500, 5), 3, {"memory": "6140000"}, "dense", 2, 6_140_000, FEW),
    ((3000, 10), 250, {"memory": "200 MB"}, "krylov", 2, 190_081_408, ONCE),
    ((600, 10), 50, {}, "dense", 2, 10_032_000, MANY),
    ((3000, 10), 250, {}, "dense", 2, 246_960_000, MANY),
    ((3000, 10), 10, {}, "krylov", 2, 69_121_408, ONCE),
    # All eigenvalues of an indefinite kernel are needed, which takes LAPACK twice as long.
    ((1000, 10), 40, {"kernel": Gaussian(0.5)}, "dense", 2, 25_920_000, MANY),
    ((1000, 10), 40, {"kernel": Sigmoid(gamma=1.0)}, "krylov", 2, 30_108_672, ONCE),
    ((3000, 3000), 10, {"kernel": "precomputed"}, "krylov", 10, 24_121_216, GIVEN),
    ((300, 300), 10, {"kernel": "precomputed"}, "dense", 1, 4_440_000, FEW),
    ((3000, 3000), None, {"kernel": "precomputed"}, "dense", 1, 432_000_000, EVERY),
    # What there is no room for.
    ((50_000, 5), 10, {"memory": "1 GiB", "itemsize": 4}, "krylov", 11, 2**30, SOME),
    ((50_000, 5), 10, {"memory": "160 MiB"}, "krylov", 11, 147_177_216, NONE),
]


@pytest.mark.parametrize(("shape", "k", "options", "solver", "passes", "n_bytes", "why"), CHOICES)
def test_choices(shape, k, options, solver, passes, n_bytes, why):
    the_plan = kernel_plan(shape, k, **{"memory": "8 GiB", **options})
    assert (the_plan.solver.name, the_plan.passes) == (solver, passes)
    assert the_plan.n_bytes == n_bytes
    assert the_plan.why == why


@pytest.mark.parametrize(
    ("shape", "k", "options", "error", "message"),
    [
        # What "auto" would take is refused, and nothing else stands in for it.
        ((200_000, 5), None, {}, MemoryError, "solver='dense' on 200000 rows"),
        ((200_000, 5), 10, {"memory": "100 MB"}, MemoryError, "solver='krylov' on 200000 rows"),
        ((600, 5), 3, {"memory": "10 MB"}, MemoryError, "solver='krylov' on 600 rows"),
        ((50, 5), 3, {"memory": "1000"}, MemoryError, "solver='krylov' on 50 rows"),
        ((10**6, 1000), 3, {"kernel": "linear", "memory": "100 MB"}, MemoryError, "'features'.*Lower the degree"),
        ((None, 5), 3, {"memory": "1 MB"}, MemoryError, "'nystrom' on 100000 rows.*Use fewer landmarks"),
        ((None, 5), 3, {"rereadable": False}, ValueError, "the width of the kernel and landmarks as rows"),
        (
            (None, 5),
            3,
            {"kernel": "poly", "rereadable": False},
            ValueError,
            "'features' reads.*the width of the kernel",
        ),
        ((None, 5), 3, {"kernel": "precomputed"}, ValueError, "solver='nystrom' computes kernels of rows"),
        # So is what is asked for.
        ((3000, 5), None, {"solver": "krylov"}, ValueError, "finds leading components only"),
        ((None, 5), 3, {"solver": "dense"}, ValueError, "needs all rows of the stream at once"),
        ((3000, 5), 3, {"solver": "features"}, ValueError, "can be written out"),
        ((3000, 5), 3, {"solver": "dense", "memory": "1 MB"}, MemoryError, r"\. Allow more memory; Nystrom"),
        ((3000, 5), 3, {"solver": Nystrom(2000), "memory": "1 MB"}, MemoryError, "fewer landmarks"),
    ],
)
def test_refusals(shape, k, options, error, message):
    with pytest.raises(error, match=message):
        kernel_plan(shape, k, **{"memory": "8 GiB", **options})


def test_one_solver_is_sensible_for_each_job():
    for n in (None, 10, 500, 501, 5000):
        for kernel in (None, Linear(), Gaussian(0.5), Sigmoid(gamma=1.0)):
            for whole in (True, False):
                for k in (None, 3, 200):
                    for allowed in (10**4, 10**7, 10**10):
                        job = KernelJob(n, 4, k, Traits(whole=whole), kernel=kernel, allowed=allowed)
                        assert sum(solver.is_sensible(job) for solver in KERNEL_SOLVERS.values()) == 1


def test_names_are_those_of_the_classes():
    classes = [DenseKernel, KrylovKernel, Nystrom, FourierFeatures, Features]
    assert [cls.name for cls in classes] == ["dense", "krylov", "nystrom", "fourier", "features"]
    assert all(KERNEL_SOLVERS[cls.name] == cls() for cls in classes)
    assert KERNEL_SOLVERS["matrix-free"] == KrylovKernel(keep=False)


def test_lapack_is_finer_than_an_iteration():
    job = KernelJob(5000, 4, 3, kernel=Gaussian(0.5), allowed=10**10)
    assert KrylovKernel().finer(job) == DenseKernel()
    assert all(solver.finer(job) is None for solver in (DenseKernel(), Nystrom(), FourierFeatures(), Features()))


def test_a_job_without_a_limit_keeps_all_of_the_matrix():
    job = KernelJob(5000, 4, 3, kernel=Gaussian(0.5))
    assert plan_job(job).why == ONCE
    assert KrylovKernel().kept_bytes(job) == job.triangle_bytes


def test_models_plan_before_a_row_is_read():
    rows = Unreadable(np.broadcast_to(np.float32(0.0), (50_000, 20)))
    for solver in ("auto", "nystrom"):
        planned = KernelPCA(10, kernel=Gaussian(), memory="1 GiB", solver=solver).plan(rows)
        assert planned == kernel_plan((50_000, 20), 10, memory="1 GiB", itemsize=4, solver=solver)


def test_models_plan_what_they_fit():
    X = np.random.default_rng(0).standard_normal((600, 3))
    for model in (
        KernelPCA(2, kernel="rbf", memory="1 GiB"),
        KernelPCA(2, kernel="rbf", solver="nystrom", memory="1 GiB"),
        KernelPCA(kernel="poly", memory="1 GiB"),
        KernelPCA(0.5, kernel="rbf", solver="fourier", memory="1 GiB"),
    ):
        planned = model.plan(X)
        assert not hasattr(model, "n_features_in_")
        fitted = model.fit(X).plan_
        # All components of Fourier features are not resolved by the covariance, so the rows are read again, to see
        # whether the unresolved ones have any variance, and by a second solver, as they do.
        assert fitted.passes == planned.passes + 2 * (model.solver == "fourier")
        assert replace(fitted, passes=planned.passes) == planned


def test_a_plan_reads_no_row():
    """Entries that are no numbers would be found."""
    X = np.full((600, 600), np.nan)
    assert KernelPCA(2, kernel="rbf").plan(X[:, :3]).solver.name == "krylov"
    assert KernelPCA(2, kernel="precomputed").plan(X).solver.name == "krylov"
    with pytest.raises(ValueError, match="too few"):
        KernelPCA(1, kernel="rbf").plan(X[:1])


def test_an_exact_solve_of_hours_is_announced(monkeypatch):
    """The warning comes before the work begins; what was asked for by name needs none."""
    X = np.random.default_rng(0).standard_normal((600, 3))
    assert KrylovKernel().hours(KernelJob(10**6, 1, 1)) > 5.0
    assert KrylovKernel().hours(KernelJob(50_000, 20, 10)) < 0.1

    class Slow(KrylovKernel):
        def hours(self, job):
            return 6.0

    monkeypatch.setitem(KERNEL_SOLVERS, "krylov", Slow())
    with pytest.warns(SlowWarning, match="600 rows will take about 6 hours; solver='nystrom'"):
        KernelPCA(2, kernel="rbf").fit(X)
    KernelPCA(2, kernel="rbf", solver="krylov").fit(X)
    KernelPCA(2, kernel="rbf", solver="nystrom").fit(X)
