"""Rows that have to be in memory for a fit: they are gathered there, and the plan says so."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ..errors import NeedsRowsInMemory
from ..solvers import Plan
from ..sources import Source, as_if_gathered, gather

#: A plan assumes at least this many rows, and this many for each column, if they are gathered and not counted yet.
_ROWS, _ROWS_PER_COLUMN = 1000, 2


def gather_for(model: Any, source: Source, refusal: NeedsRowsInMemory) -> Source:
    """The rows in memory, if they fit, for a fit that was refused because they are not; otherwise the refusal."""
    _require_use(source, refusal)
    return gather(source, f"for {type(model).__name__}")


def plan_of_gathered(model: Any, source: Source, sample_weight: Any, refusal: NeedsRowsInMemory) -> Plan:
    """The plan of a fit that gathers the rows first. No row is read."""
    _require_use(source, refusal)
    guess = max(_ROWS, _ROWS_PER_COLUMN * source.shape[1]) if sample_weight is None else len(sample_weight)
    plan = model._plan_rows(model._rows(as_if_gathered(source, guess), sample_weight))
    unknown = "" if source.shape[0] is not None else f", and {guess} are assumed until they are counted"
    return replace(plan, why=f"{plan.why}; the rows are first gathered in memory{unknown}")


def with_note(plan: Plan) -> Plan:
    """The plan of a fit to rows that were gathered."""
    return replace(plan, why=f"{plan.why}; the rows were first gathered in memory")


def with_engine_note(plan: Plan, source: Source) -> Plan:
    """The plan, with advice for a fit that reads rows several times which an engine computes each time."""
    engine = source.traits.engine
    if engine is None or not engine.keeping or plan.passes <= 1:
        return plan
    note = f"each pass computes the rows again, unless {engine.name} keeps them: {engine.keeping}"
    return replace(plan, why=f"{plan.why}; {note}" if plan.why else note)


def _require_use(source: Source, refusal: NeedsRowsInMemory) -> None:
    """Raise the refusal if it does not help to gather the rows: they are in memory, or on other machines."""
    if source.traits.in_memory or source.traits.remote:
        raise refusal
