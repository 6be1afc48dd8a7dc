"""The choice of a solver, which is the same for all problems.

A problem has a table of solvers. "auto" takes the solver of least work among those that can do the job, fit into memory
and are sensible for it; a solver requested by name or as an object is always used. In both cases a job that cannot be
done is refused here, before any row is read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from ..errors import choice
from .base import AnySolver, Cost, Plan


def is_auto(asked: Any) -> bool:
    """Whether the solver is to be chosen automatically."""
    return isinstance(asked, str) and asked == "auto"


def make_plan(
    job: Any,
    asked: Any,
    table: Mapping[str, Any],
    kind: Any,
    *,
    what: str = "a solver object",
    advice: Callable[[str], str] = lambda name: "",
) -> Plan:
    """The plan for `job`: with the cheapest solver of `table` for "auto", otherwise with the solver `asked` for.

    `kind` is the base class of the solvers of the problem, and `what` describes them in an error message. `advice`
    returns what the error message adds for a name that is not in the table.
    """
    if is_auto(asked):
        return cheapest_plan(job, table)
    solver = find_solver(asked, table, kind, what=what, advice=advice)
    return checked_plan(solver, job, "as requested")


def checked_plan(solver: Any, job: Any, why: str = "") -> Plan:
    """The plan of this solver; raises its refusal, or a MemoryError if the job does not fit into memory."""
    refusal = solver.refusal(job)
    if refusal is not None:
        raise refusal
    plan: Plan = solver.plan(job, why)
    if not job.fits(plan.n_bytes):
        raise solver.too_large(job, plan.n_bytes)
    return plan


def find_solver(
    asked: Any,
    table: Mapping[str, Any],
    kind: Any,
    *,
    what: str = "a solver object",
    advice: Callable[[str], str] = lambda name: "",
) -> Any:
    """The solver of this name, or the solver object itself; raises an error for anything else."""
    if isinstance(asked, str):
        if asked not in table:
            raise choice("solver", asked, ["auto", *table], advice(asked))
        return make_solver(table[asked])
    if not isinstance(asked, kind):
        instead = f"; make one: {asked.__name__}()" if isinstance(asked, type) else ""
        raise TypeError(f"solver must be a name or {what}, got {type(asked).__name__}{instead}.")
    return asked


def cheapest_plan(job: Any, table: Mapping[str, Any]) -> Plan:
    """The plan of `cheapest_solver`."""
    plan: Plan = cheapest_solver(job, table).plan(job)
    return plan


def cheapest_solver(job: Any, table: Mapping[str, Any]) -> Any:
    """The solver of least work among those of `table` that can do the job, fit into memory, and are sensible.

    If none can do the job, the refusal of the first sensible one is raised; if none fits into memory, the error of the
    smallest one.
    """
    refusals: dict[AnySolver, Exception | None] = {s: s.refusal(job) for s in map(make_solver, table.values())}
    costs: dict[AnySolver, Cost] = {s: s.cost(job) for s, refusal in refusals.items() if refusal is None}
    if not costs:
        raise refusals[max(refusals, key=lambda s: s.is_sensible(job))]  # type: ignore[misc] # none of them is None
    fitting = {s: c for s, c in costs.items() if job.fits(c.n_bytes)}
    sensible = {s: c for s, c in (fitting or costs).items() if s.is_sensible(job)} or fitting or costs
    if not fitting:
        least = min(sensible, key=lambda s: sensible[s].n_bytes)
        raise least.too_large(job, sensible[least].n_bytes)
    return min(sensible, key=lambda s: sensible[s].work)


def cached_choice(job: Any, table: Mapping[str, Any]) -> tuple[Any, Plan]:
    """The cheapest solver and its plan, which are cached, because choosing would take much of the time of small fits.

    The job and the entries of the table must be hashable.
    """
    return _choice(job, job.memory, tuple(table.items()))


@lru_cache(maxsize=512)
def _choice(job: Any, memory: int, table: tuple[tuple[str, Any], ...]) -> tuple[Any, Plan]:
    """See `cached_choice`. The memory of the machine is part of the key, because the choice depends on it."""
    solver = cheapest_solver(job, dict(table))
    return solver, solver.plan(job)


def make_solver(entry: Any) -> Any:
    """The solver object for an entry of a table of solvers; a class is instantiated with its default options."""
    return entry() if isinstance(entry, type) else entry
