"""The printed form of a fitted model: a table of its components, as text and as HTML."""

from __future__ import annotations

from html import escape
from typing import Any

import numpy as np

from .._xp import to_numpy

#: The largest number of components that are shown.
_SHOWN = 8


def importance_rows(model: Any) -> tuple[list[str], list[tuple[str, np.ndarray]]]:
    """Column heads and rows (name, numbers) of the table of the first components."""
    rows = [(name, to_numpy(numbers)[:_SHOWN].astype(float)) for name, numbers in model._importance()]
    heads = [f"{model.component_name}{i + 1}" for i in range(len(rows[0][1]))]
    return heads, rows


def headline(model: Any) -> str:
    """One line with the model, the numbers of rows and columns, and the solver."""
    kept = model.n_components_
    more = f"; the first {_SHOWN} of {kept} components" if kept > _SHOWN else ""
    what = f"{model.n_samples_} rows, {model._describe_columns()} ({model.solver_})"
    return f"{type(model).__name__} of {what}{more}"


def importance_text(model: Any) -> str:
    """The table of components as text."""
    heads, rows = importance_rows(model)
    cells = [[_number(v) for v in numbers] for _, numbers in rows]
    widths = [max(len(heads[j]), *(len(row[j]) for row in cells)) for j in range(len(heads))]
    name_width = max(len(name) for name, _ in rows) + 2
    lines = [headline(model), " " * name_width + _join_cells(heads, widths)]
    lines += [f"{name:<{name_width}}{_join_cells(row, widths)}" for (name, _), row in zip(rows, cells, strict=True)]
    return "\n".join([*lines, f"plan: {model.plan_}"])


def importance_html(model: Any) -> str:
    """The table of components as HTML, for notebooks."""
    heads, rows = importance_rows(model)
    head = "".join(f"<th>{escape(h)}</th>" for h in heads)
    body = "".join(
        f"<tr><th style='text-align:left'>{escape(name)}</th>"
        + "".join(f"<td>{_number(v)}</td>" for v in numbers)
        + "</tr>"
        for name, numbers in rows
    )
    caption = f"<caption style='text-align:left'>{escape(headline(model))}</caption>"
    plan = f"<p>plan: {escape(str(model.plan_))}</p>"
    return f"<table>{caption}<thead><tr><th></th>{head}</tr></thead><tbody>{body}</tbody></table>{plan}"


def _number(value: float) -> str:
    """A number with four decimals, or with three digits and an exponent if it is very small or large."""
    return f"{value:.4f}" if value == 0.0 or 1e-3 <= abs(value) < 1e6 else f"{value:.2e}"


def _join_cells(cells: list[str], widths: list[int]) -> str:
    return "  ".join(f"{cell:>{width}}" for cell, width in zip(cells, widths, strict=True))
