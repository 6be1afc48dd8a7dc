"""Solve, look at how it ended, and solve again with something finer: one loop for all who do that."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from .base import Plan
from .results import Status

W = TypeVar("W")
R = TypeVar("R")

#: How a solve ends that a finer solver may do better.
_UNSETTLED = (Status.UNRESOLVED, Status.NOT_CONVERGED)


def refine(first: W, solve: Callable[[W], R], finer: Callable[[W, R], W | None]) -> tuple[R, W]:
    """`solve(way)` for the first way and for finer ones, as long as `finer(way, result)` names one; the last result,
    and the way that led to it."""
    way, result = first, solve(first)
    while (following := finer(way, result)) is not None:
        way, result = following, solve(following)
    return result, way


def escalate(plan: Plan, solve: Callable[[Any], R], job: Any, *, allowed: bool = True) -> tuple[R, Plan, int]:
    """`solve(plan.solver)`, and again by the next finer solver while the result is unresolved or has not converged.

    A result has a `status` and a number of `passes`. A finer solver runs only if `allowed`, if rows can be read again,
    and if it can do the `job` in the memory there is. Returns the last result, the plan that led to it, and the passes
    of all results.
    """
    passes = 0

    def counted(way: Plan) -> Any:
        nonlocal passes
        result: Any = solve(way.solver)
        passes += result.passes
        return result

    def finer(way: Plan, result: Any) -> Plan | None:
        if not allowed or result.status not in _UNSETTLED or not job.traits.rereadable:
            return None
        return finer_plan(way, result.status, job)

    result, way = refine(plan, counted, finer)
    return result, way, passes


def finer_plan(plan: Plan, status: Status, job: Any) -> Plan | None:
    """The plan of the solver that is the next finer one, where there is one that can do the job."""
    solver = plan.solver.finer(job)
    if solver is None or solver.refusal(job) is not None:
        return None
    finer: Plan = solver.plan(job, f"{plan.solver.name} ended {status.name.lower()}, so it was solved again")
    return finer if job.fits(finer.n_bytes) else None
