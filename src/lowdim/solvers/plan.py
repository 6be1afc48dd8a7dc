"""Which solver will run, and why: one way to choose for all problems.

A problem has a table of solvers. "auto" takes the one of least work among those that can do the job, fit into memory
and are sensible for it; a name or an object is taken as it is. Either way a job that cannot be done is refused here,
before a row is read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ..errors import choice
from .base import AnySolver, Cost, Plan


def is_auto(asked: Any) -> bool:
    """Whether the choice is left to the plan."""
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
    """The plan for `job`: by the cheapest solver of `table`, or by the one that is `asked` for.

    `kind` is the class of all solvers of the problem, `what` they are called, and `advice` what to say about a name
    that is not in the table.
    """
    if is_auto(asked):
        return cheapest(job, table)
    solver = named(asked, table, kind, what=what, advice=advice)
    refusal = solver.refusal(job)
    if refusal is not None:
        raise refusal
    return solver.plan(job, "as asked")


def named(
    asked: Any,
    table: Mapping[str, Any],
    kind: Any,
    *,
    what: str = "a solver object",
    advice: Callable[[str], str] = lambda name: "",
) -> Any:
    """The solver that a name or an object stands for."""
    if isinstance(asked, str):
        if asked not in table:
            raise choice("solver", asked, ["auto", *table], advice(asked))
        return made(table[asked])
    if not isinstance(asked, kind):
        instead = f"; make one: {asked.__name__}()" if isinstance(asked, type) else ""
        raise TypeError(f"solver must be a name or {what}, got {type(asked).__name__}{instead}.")
    return asked


def cheapest(job: Any, table: Mapping[str, Any]) -> Plan:
    """The plan of least work among those that can be done, fit into memory, and are sensible."""
    costs: dict[AnySolver, Cost] = {s: s.cost(job) for s in map(made, table.values()) if s.refusal(job) is None}
    fitting = {s: c for s, c in costs.items() if job.fits(c.n_bytes)}
    sensible = {s: c for s, c in (fitting or costs).items() if s.is_sensible(job)} or fitting or costs
    if not fitting:
        least = min(sensible, key=lambda s: sensible[s].n_bytes)
        raise least.too_large(job, sensible[least].n_bytes)
    return min(sensible, key=lambda s: sensible[s].work).plan(job)


def made(entry: Any) -> Any:
    """An entry of a table of solvers as an object: a class is made with its default options."""
    return entry() if isinstance(entry, type) else entry
