"""Components of features that are given implicitly by a kernel: the problem behind kernel PCA.

`solve(rows, request, asked)` is the entry point. The module `exact` has the solvers that use the kernel
matrix, and `maps` those that use a feature map followed by PCA. All are listed in the table `KERNEL_SOLVERS`.
"""

from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Literal

import numpy as np

from ..._core.arrays import astype
from ..._core.devices import free_device_bytes
from ...errors import SlowWarning, no_positive_eigenvalue, warn_user, with_present_names
from ...features import affine
from ...kernels import Kernel, KernelLike, as_kernel
from ...linalg import signs
from ...sources.base import Traits
from ...summaries.sample import Sample
from ..problem import Plan, Problem, RowsLike, cheapest_solver, is_auto, leading_count
from .exact import DenseKernel, ExactKernel, KrylovKernel
from .maps import Features, FourierFeatures, Nystrom
from .matrix import Components, KernelJob, KernelSolver, SampledRows, array_like, memory_allowed

#: Solvers by shorthand. "matrix-free" is "krylov" without keeping any part of the matrix.
KERNEL_SOLVERS: dict[str, KernelSolver] = {
    "dense": DenseKernel(),
    "krylov": KrylovKernel(),
    "matrix-free": KrylovKernel(keep=False),
    "nystrom": Nystrom(),
    "fourier": FourierFeatures(),
    "features": Features(),
}
#: The names of these, for type checkers.
KernelSolverName = Literal["auto", "dense", "krylov", "matrix-free", "nystrom", "fourier", "features"]
#: Names of solvers in other libraries, and the corresponding names here.
_OTHER_NAMES = {"arpack": "krylov", "randomized": "krylov", "eigh": "dense"}


def _advice(name: str) -> str:
    return f"It is {_OTHER_NAMES[name]!r} here." if name in _OTHER_NAMES else ""


#: Number of rows from which the width of a kernel is estimated.
_MEDIAN = 500


@dataclass(frozen=True)
class KernelRequest:
    """The request to a solver of kernel PCA."""

    #: None if the rows are a precomputed kernel matrix.
    kernel: Kernel | None
    #: Number of leading components; None for all with a positive eigenvalue.
    k: int | None = None
    #: If given, only the fewest components that reach this share of the variance are kept.
    share: float | None = None
    #: Bytes that may be used in addition to the rows, or a string such as "2 GiB"; None for half of the free memory.
    memory: int | str | None = None
    #: Seed of landmarks, frequencies and starts, and the seed of the sample of rows.
    seed: int = 0
    sample_seed: int = 0
    #: Number of rows to keep as examples.
    n_examples: int = 0
    #: Whether rows are objects that only the kernel can interpret, not numbers.
    objects: bool = False


class KernelProblem(Problem[Components]):
    """Components of kernel PCA; the jobs are too various to keep choices."""

    method = "_solve_sampled"

    def job(self, rows: RowsLike, request: KernelRequest) -> KernelJob:
        free = None if rows.traits.host else free_device_bytes(rows.empty(0))
        allowed = memory_allowed(request.memory) if request.memory is not None or free is None else max(1, free // 2)
        return KernelJob(*rows.shape, request.k, rows.traits, request.kernel, allowed, request.objects)

    def plan_job(self, job: KernelJob, asked: str | KernelSolver = "auto") -> Plan:
        if not is_auto(asked):
            return super().plan_job(job, asked)
        # If an exact solver cannot do the job, no approximation is used in its place: only sensible solvers are
        # considered.
        sensible = {name: solver for name, solver in self.solvers.items() if solver.is_sensible(job)}
        plan: Plan = cheapest_solver(job, sensible).plan(job)
        return plan

    def planned(self, rows: RowsLike, request: SampledRows, asked: str | KernelSolver) -> tuple[KernelJob, Plan]:
        return request.job, request.plan

    def solve(
        self, rows: RowsLike, request: KernelRequest, asked: str | KernelSolver = "auto"
    ) -> tuple[Components, Plan]:
        """Components by the solver `asked` for; with "auto", LAPACK follows if an iteration does not converge.

        First a sample of the rows is drawn if `job.draws_sample`. Passes are counted with it.
        """
        job = self.job(rows, request)
        plan = self.plan_job(job, asked)
        hours = plan.solver.hours(job) if is_auto(asked) and isinstance(plan.solver, ExactKernel) else 0.0
        if hours > 1.0:
            warn_user(
                f"exact components of a kernel of {job.rows} rows will take about {hours:.0f} hours; solver='nystrom' "
                "approximates them in minutes. Pass solver='krylov' if you want to wait.",
                SlowWarning,
            )
        # Overflow is detected by checking the results.
        with np.errstate(over="ignore", invalid="ignore", under="ignore", divide="ignore"):
            sample = None
            if job.draws_sample:
                size = max(_MEDIAN, request.n_examples, plan.solver.sample_size)
                sample = rows.summarize(Sample(rows.shape[1], size, seed=request.sample_seed))
            if job.kernel is not None and not job.kernel.is_complete:
                assert sample is not None, "refusal() rejects streams that can be read once if the width is unknown"
                # Widths are estimated by the median rule, on the device of the rows. A larger sample begins with the
                # rows of a smaller one, so the width does not depend on the solver.
                some = sample.rows[:_MEDIAN]
                some = some if isinstance(rows.empty(0), np.ndarray) else array_like(some, rows.empty(0))
                job = replace(job, kernel=job.kernel.fitted(some, sample.weights[:_MEDIAN]))
            found, plan = super().solve(rows, SampledRows(job, plan, sample, request.seed), asked)
            if found.values.shape[0] == 0:
                raise no_positive_eigenvalue("the centred kernel matrix")
            k = None if request.share is None else leading_count(found.values, found.total, request.share)
            found = _leading(found, k, rows, sample)
        examples = array_like(None if sample is None else sample.rows[: request.n_examples], rows.empty(0))
        passes = found.passes + (sample is not None)
        return replace(found, kernel=job.kernel, examples=examples, passes=passes), replace(plan, passes=passes)


def _leading(found: Components, k: int | None, rows: RowsLike, sample: Sample | None) -> Components:
    """The first k components, times the signs that make the largest score of each positive.

    Scores of all rows are used if they are available, otherwise those of the sample.
    """
    projection, vectors = found.projection[:, :k], found.eigenvectors
    if vectors is not None:
        vectors = vectors[:, :k]
        turn = signs(vectors.T)
    elif sample is None:
        turn = signs(projection.T)
    else:
        some = rows.of(array_like(sample.rows, rows.empty(0)))
        turn = signs(some.mapped(found.phi, widen=True).map(affine(projection, found.offset, 1.0)).T)
    turn = astype(turn, projection.dtype)
    return replace(
        found,
        values=found.values[:k],
        projection=projection * turn,
        expansion=found.expansion and (found.expansion[0][:k, :] * turn[:, None], found.expansion[1]),
        eigenvectors=None if vectors is None else vectors * turn,
    )


_PROBLEM = KernelProblem(KERNEL_SOLVERS, KernelSolver, "a solver of kernel PCA", _advice)
plan, plan_job, solve = _PROBLEM.plan, _PROBLEM.plan_job, _PROBLEM.solve


@with_present_names
def kernel_plan(
    shape: tuple[int | None, int],
    n_components: int | float | None = None,
    *,
    kernel: KernelLike | Literal["precomputed"] = "gaussian",
    solver: KernelSolverName | KernelSolver = "auto",
    memory: int | str | None = None,
    itemsize: int = 8,
    whole: bool = True,
    rereadable: bool = True,
) -> Plan:
    """The plan of kernel PCA for rows of this shape; raises MemoryError if it does not fit into memory.

    Parameters
    ----------
    shape : pair of int, or of None and int
        The numbers of rows and columns; None for a stream of unknown length.
    n_components : int or float, default=None
        Number of components, or a fraction of variance to reach; None for all with positive variance.
    kernel : str, Kernel or callable, default="gaussian"
        "precomputed" for a precomputed kernel matrix.
    solver : "auto", a solver's name, or a solver, default="auto"
        The solver that is asked for; "auto" chooses one.
    memory : int or str, default=None
        Bytes that may be used in addition to the rows, or a string such as "2 GiB". Default: half of the free memory.
    itemsize : int, default=8
        Bytes per number: 8, or 4 for float32.
    whole : bool, default=True
        Whether all rows are in memory as one array.
    rereadable : bool, default=True
        Whether rows can be read more than once.

    Examples
    --------
    >>> from lowdim.solvers import kernel_plan
    >>> print(kernel_plan((5_000, 20), 10, memory="8 GiB"))
    krylov: 2 passes over the rows, about 0.1 GiB beside them; half of the kernel matrix fits and is computed once
    >>> print(kernel_plan((50_000, 20), 10, memory="1 GiB"))
    krylov: 11 passes over the rows, about 1.0 GiB beside them; 9% of half of the kernel matrix (9.5 GiB) fits, what
    does not is computed anew in each step
    """
    if not isinstance(shape, tuple) or len(shape) != 2:
        raise TypeError(f"shape must be a pair (n, p), got {type(shape).__name__}; for rows pass X.shape.")
    k = n_components
    if isinstance(k, Real) and not isinstance(k, Integral) and 0.0 < float(k) < 1.0:
        k = None  # To reach a share of the variance, all eigenvalues are needed.
    if k is not None and not (isinstance(k, Integral) and int(k) >= 1 and (shape[0] is None or int(k) <= shape[0])):
        raise ValueError(
            f"n_components={k!r} must be a whole number between 1 and n={shape[0]}, a fraction of variance, or None."
        )
    known = None if isinstance(kernel, str) and kernel == "precomputed" else as_kernel(kernel)
    traits = Traits(itemsize=itemsize, whole=whole and shape[0] is not None, rereadable=rereadable)
    job = KernelJob(*shape, None if k is None else int(k), traits, kernel=known, allowed=memory_allowed(memory))
    return plan_job(job, solver)
