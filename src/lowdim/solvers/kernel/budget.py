"""The choice of a solver of kernel PCA: a pure function of sizes and of the memory allowed."""

from __future__ import annotations

import math
import re
from numbers import Integral, Real
from typing import Any

from ..._memory import free_bytes, in_words
from ...errors import choice, over_budget, read_once
from ...kernels import as_kernel
from ..base import Plan
from .exact import DenseKernel, KrylovKernel
from .job import KernelJob, KernelSolver
from .maps import Explicit, FourierFeatures, MapSolver, Nystrom

#: Solvers by shorthand. "matrix-free" is "krylov" that keeps nothing of the matrix.
KERNEL_SOLVERS: dict[str, KernelSolver] = {
    "dense": DenseKernel(),
    "krylov": KrylovKernel(),
    "matrix-free": KrylovKernel(keep=False),
    "nystrom": Nystrom(),
    "fourier": FourierFeatures(),
    "features": Explicit(),
}
#: Up to so many rows LAPACK is quickest.
_DENSE_UP_TO = 500
_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}
_APPROXIMATE = "Nystrom(landmarks=m) approximates the kernel with less, for m small enough"


def kernel_plan(
    shape: tuple[int | None, int],
    k: Any = None,
    *,
    kernel: Any = "gaussian",
    solver: str | KernelSolver = "auto",
    memory: Any = None,
    itemsize: int = 8,
    whole: bool = True,
    rereadable: bool = True,
) -> Plan:
    """What kernel PCA will do for rows of this shape, and why; MemoryError where it does not fit.

    Parameters
    ----------
    shape : (n, p); n is None for a stream of unknown length
    k : int or float, optional
        Components wanted, or a fraction of variance to reach; None for all that have variance.
    kernel : str, Kernel or callable
        "precomputed" for a matrix that is given.
    solver : "auto", a solver's name, or a solver
    memory : int or str, optional
        Bytes that may be used beside the rows, or in words: "2 GiB". Default: half of what is free.
    itemsize : int
        Bytes of a number of the rows: 8, or 4 for float32.
    whole : bool
        All rows lie in memory, as one array.
    rereadable : bool
        Rows can be read more than once.

    Examples
    --------
    >>> from lowdim import kernel_plan
    >>> print(kernel_plan((5_000, 20), 10, memory="8 GiB"))
    krylov: 1 pass over the rows, about 0.1 GiB beside them; half of the kernel matrix fits and is computed once
    >>> print(kernel_plan((50_000, 20), 10, memory="1 GiB"))
    krylov: 10 passes over the rows, about 1.0 GiB beside them; 9% of half of the kernel matrix (9.5 GiB) fits, what
    does not is computed anew in each step
    """
    if not isinstance(shape, tuple) or len(shape) != 2:
        raise TypeError(f"shape must be a pair (n, p), got {type(shape).__name__}; for rows pass X.shape.")
    if isinstance(k, Real) and not isinstance(k, Integral) and 0.0 < float(k) < 1.0:
        k = None  # A share of the variance needs all eigenvalues.
    if k is not None and not (isinstance(k, Integral) and int(k) >= 1 and (shape[0] is None or int(k) <= shape[0])):
        raise ValueError(f"k={k!r} must be a whole number between 1 and n={shape[0]}, a fraction of variance, or None.")
    made = None if isinstance(kernel, str) and kernel == "precomputed" else as_kernel(kernel)
    whole = whole and shape[0] is not None
    wanted = None if k is None else int(k)
    return plan_job(KernelJob(*shape, wanted, made, memory_allowed(memory), itemsize, whole, rereadable), solver)


def plan_job(job: KernelJob, solver: str | KernelSolver = "auto") -> Plan:
    """The plan of a job."""
    if isinstance(solver, str) and solver == "auto":
        chosen, why = _chosen(job)
    else:
        chosen, why = _named(solver), "as asked"
    refusal = chosen.refusal(job) or _refused_rows(chosen, job)
    if refusal is not None:
        raise refusal
    needed = chosen.n_bytes(job)
    if needed > job.memory:
        raise _too_large(chosen, job, needed)
    if isinstance(chosen, KrylovKernel):
        return _krylov(chosen, job, needed, why)
    # A sample of the rows is read first where they can be read again.
    passes = 2 if isinstance(chosen, MapSolver) and job.rereadable else 1
    return Plan(chosen, passes, needed, why)


def memory_allowed(memory: Any) -> int:
    """`memory` in bytes."""
    if memory is None:
        return free_bytes() // 2 or 2**62
    number = memory
    if isinstance(memory, str):
        match = re.fullmatch(r"\s*(\d+\.?\d*|\.\d+)\s*([kmgt]i?)?b?\s*", memory.lower())
        number = float(match[1]) * _UNITS[match[2] or ""] if match else 0
    if isinstance(number, Real) and not isinstance(number, bool) and 1 <= float(number) < math.inf:
        return int(float(number))
    raise ValueError(f"memory={memory!r} must be a positive number of bytes, words such as '2 GiB', or None.")


def _named(solver: Any) -> KernelSolver:
    if isinstance(solver, KernelSolver):
        return solver
    if isinstance(solver, str):
        if solver in KERNEL_SOLVERS:
            return KERNEL_SOLVERS[solver]
        theirs = {"arpack": "krylov", "randomized": "krylov", "eigh": "dense"}.get(solver)
        raise choice("solver", solver, ["auto", *KERNEL_SOLVERS], f"It is {theirs!r} here." if theirs else "")
    made = f"; make one: {solver.__name__}()" if isinstance(solver, type) else ""
    raise TypeError(f"solver must be a name or a solver of kernel PCA, got {type(solver).__name__}{made}.")


def _chosen(job: KernelJob) -> tuple[KernelSolver, str]:
    """The quickest exact solver that fits; an approximation only where rows cannot all be there at once."""
    if Explicit().is_sensible(job):
        return Explicit(), "the features of this kernel can be written out, and there are few"
    if not job.whole:
        return Nystrom(), "rows come in blocks, and pairs of them cannot all be met: landmarks stand in for them"
    if job.k is None:
        return DenseKernel(), "all components are wanted"
    if DenseKernel().n_bytes(job) <= job.memory and (job.n <= _DENSE_UP_TO or _is_dense_quicker(job)):
        few_rows = job.n <= _DENSE_UP_TO
        return DenseKernel(), "LAPACK is quickest for so few rows" if few_rows else "many components are wanted"
    return KrylovKernel(), ""


def _is_dense_quicker(job: KernelJob) -> bool:
    """By a rough count, measured on two cores: LAPACK takes n^3 units of time (twice as many for all eigenpairs), ten
    products with b vectors 25 n^2 b, and the small eigenproblems between them 7000 b^3."""
    b = KrylovKernel().block_size(job.k or 1)
    every = 1 if job.kernel is not None and job.kernel.semidefinite else 2
    return every * job.n**3 < 25 * job.n**2 * b + 7000 * b**3


def _refused_rows(chosen: KernelSolver, job: KernelJob) -> Exception | None:
    """Rows that the solver cannot read."""
    if not isinstance(chosen, MapSolver) and not job.whole:
        return TypeError(
            f"solver={chosen.name!r} needs all rows at once: pass an array, a table or a sparse matrix, or use "
            "solver='nystrom'."
        )
    if isinstance(chosen, MapSolver) and job.objects:
        return TypeError(f"solver={chosen.name!r} is for rows of numbers; use solver='krylov' or 'dense'.")
    missing = []
    if job.kernel is not None and not job.kernel.is_complete:
        missing.append("the width of the kernel")
    if isinstance(chosen, Nystrom) and not chosen.given:
        missing.append("landmarks as rows, Nystrom(landmarks=rows)")
    if missing and not job.rereadable:
        return read_once(chosen.name, f"give what a first reading would find: {' and '.join(missing)}")
    return None


def _too_large(chosen: KernelSolver, job: KernelJob, needed: int) -> MemoryError:
    what = f"solver={chosen.name!r} on {job.n} rows"
    if isinstance(chosen, DenseKernel):
        few = "" if job.k is not None else "pass n_components as a small whole number, so that few are looked for, or "
        advice = f"{few}allow more memory; {_APPROXIMATE}."
    elif isinstance(chosen, KrylovKernel):
        advice = f"ask for fewer components, or allow more memory; {_APPROXIMATE}."
    elif isinstance(chosen, Explicit):
        advice = "lower the degree, or use another solver, which needs no features."
    else:
        advice = "ask for fewer landmarks or features, or allow more memory."
    return over_budget(what, needed, job.memory, advice[0].upper() + advice[1:])


def _krylov(chosen: KrylovKernel, job: KernelJob, needed: int, why: str) -> Plan:
    """As much of the matrix as fits is kept."""
    steps = 10
    if job.kernel is None:
        return Plan(chosen, steps, needed, "the matrix is there")
    room = job.memory - needed if chosen.keep else 0
    half = job.triangle_bytes
    if room >= half:
        return Plan(chosen, 1, needed + half, why or "half of the kernel matrix fits and is computed once")
    if not chosen.keep or room < half // 100:
        fits = f"half of the kernel matrix ({in_words(half)}) does not fit: it is computed anew in each step"
        return Plan(chosen, steps, needed, why or fits)
    share = f"{room / half:.0%} of half of the kernel matrix ({in_words(half)}) fits, what does not is "
    return Plan(chosen, steps, job.memory, why or share + "computed anew in each step")
