"""Eigenpairs of the covariance of rows: the problem behind PCA, whitening and feature maps, and a part of PPCA and ICA.

`solve(rows, request, asked)` is the entry point. Each solver is listed in the table `SOLVERS`.
"""

from dataclasses import replace
from typing import Any, Literal

from ...linalg import quiet_blas
from ...sources.base import Traits
from ..problem import Job, Plan, Problem, Request, RowsLike, Spectrum, Status
from .covariance import Covariance, Solver, Triangle, tail_is_lost, with_tail_error
from .gram import Gram
from .krylov import Krylov

#: Solvers by shorthand.
SOLVERS: dict[str, type[Solver]] = {cls.name: cls for cls in (Covariance, Triangle, Gram, Krylov)}
#: The names of these, for type checkers.
SolverName = Literal["auto", "covariance", "triangle", "gram", "krylov"]

#: The solver for each of scikit-learn's svd_solver strings.
SKLEARN_SOLVERS = {
    "auto": "auto",
    "full": "triangle",
    "covariance_eigh": "covariance",
    "arpack": "krylov",
    "randomized": "krylov",
}


class _Spectra(Problem[Spectrum]):
    def plan_stream(self, plan: Plan, job: Job, rows: RowsLike, request: Request) -> Plan:
        if not loses_digits(rows, request):
            return plan
        why = "the stream can be read only once, and the covariance of its first block loses the small eigenvalues"
        return Triangle().plan(job, why)

    def solve_summary(self, summary: Any, request: Request, asked: Any = "auto") -> tuple[Spectrum, Plan]:
        """The result from a summary of the rows, without a pass over them.

        The rows cannot tell whether eigenvalues at or below the rank cut are zero: these count as zero.
        """
        found, plan = super().solve_summary(summary, request, asked)
        found = found.accepted(found.rank_cut)
        lost = plan.solver.squares and tail_is_lost(found, request)
        return with_tail_error(found, zero=True) if lost else found, plan


def _advice(name: str) -> str:
    here = SKLEARN_SOLVERS.get(name)
    return f"What scikit-learn calls {name!r} is solver={here!r}." if here else ""


_PROBLEM = _Spectra(SOLVERS, Solver, advice=_advice)
plan, plan_job = _PROBLEM.plan, _PROBLEM.plan_job
solve, solve_summary, solver_for = _PROBLEM.solve, _PROBLEM.solve_summary, _PROBLEM.solver_for


def plan_shape(
    shape: tuple[int | None, int],
    k: int | None = None,
    *,
    solver: SolverName | Solver = "auto",
    traits: Traits | None = None,
) -> Plan:
    """The plan for rows of this shape."""
    if not isinstance(shape, tuple) or len(shape) != 2:
        raise TypeError(f"shape must be a pair (n, p), got {type(shape).__name__}; for rows pass X.shape.")
    if shape[1] < 1 or (shape[0] is not None and shape[0] < 1):
        raise ValueError(f"shape={shape} must hold a positive number of rows (or None) and of columns.")
    if k is not None and not 1 <= k <= shape[1]:
        raise ValueError(f"k={k} must be between 1 and p={shape[1]}, or None for all.")
    return plan_job(Job(*shape, k, traits or Traits()), solver)


def streaming_solver(asked: str | Solver = "auto") -> Solver:
    """The solver for rows that arrive in blocks: it solves repeatedly from one growing summary."""
    solver: Solver = plan_job(Job(None, 1, None, Traits(rereadable=False, by_feature=False)), asked).solver
    return solver


def solver_of(asked: Any) -> Solver | None:
    """The solver of this name, or the solver object itself.

    None for "auto", and for anything that is not a solver, for which `solve` raises the error.
    """
    if isinstance(asked, str):
        return SOLVERS[asked]() if asked in SOLVERS else None
    return asked if isinstance(asked, Solver) else None


def loses_digits(rows: RowsLike, request: Request, least_rows: int = 2) -> bool:
    """Whether a stream that can be read only once needs a solver that is more accurate than the covariance.

    A more accurate solver cannot follow later, so the covariance of the first block is examined: it must resolve the
    requested eigenvalues. A first block of fewer than `least_rows` rows is not examined.
    """
    first = None if rows.traits.rereadable else rows.first_block()
    if first is None:
        return False
    n, p = first.shape[0] or 1, first.shape[1]
    k = min(p if request.k is None else request.k, n - 1)
    if k < 1 or n < least_rows:
        return False
    with quiet_blas(p):
        pilot = Covariance(wide=True).solve(first, replace(request, k=k))
    return pilot.status is not Status.EXACT or tail_is_lost(pilot, replace(request, k=k))
