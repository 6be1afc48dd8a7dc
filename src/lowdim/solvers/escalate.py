"""Solve a problem, check the result, and solve it again with a more accurate method if necessary."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from .base import Plan, R
from .results import Status

M = TypeVar("M")

#: Results of this status may be improved by a more accurate solver.
_IMPROVABLE = (Status.UNRESOLVED, Status.NOT_CONVERGED)


def refine(first: M, solve: Callable[[M], R], finer: Callable[[M, R], M | None]) -> tuple[R, M]:
    """Solve by the first method, and then by more accurate ones as long as `finer(method, result)` returns one.

    Returns the last result and the method that produced it.
    """
    method, result = first, solve(first)
    while (following := finer(method, result)) is not None:
        method, result = following, solve(following)
    return result, method


def escalate(plan: Plan, solve: Callable[[Any], R], job: Any, *, allowed: bool = True) -> tuple[R, Plan, int]:
    """Call `solve(plan.solver)`, and the next more accurate solver while the result is unresolved or not converged.

    A result has a `status` and a number of `passes`. A more accurate solver runs only if this is `allowed`, if the rows
    can be read again, and if it can do the `job` in the available memory. Returns the last result, its plan, and the
    total number of passes.
    """
    passes = 0

    def solve_and_count(current: Plan) -> Any:
        nonlocal passes
        result: Any = solve(current.solver)
        passes += result.passes
        return result

    def finer(current: Plan, result: Any) -> Plan | None:
        if not allowed or result.status not in _IMPROVABLE or not job.traits.rereadable:
            return None
        return finer_plan(current, result.status, job)

    result, last = refine(plan, solve_and_count, finer)
    return result, last, passes


def finer_plan(plan: Plan, status: Status, job: Any) -> Plan | None:
    """The plan for the next more accurate solver, or None if there is none that can do the job."""
    solver = plan.solver.finer(job)
    if solver is None or solver.refusal(job) is not None:
        return None
    finer: Plan = solver.plan(job, f"{plan.solver.name} ended {status.name.lower()}, so a more accurate solver ran")
    return finer if job.fits(finer.n_bytes) else None
