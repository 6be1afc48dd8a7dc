"""Tables as the template shows them: cells as text, with their exact values where these are longer."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...tabular import Table
from ...tabular.text import cells_of, left_out
from ..words import visible

#: The largest numbers of columns and of cells of a table in the page.
_COLUMNS, _CELLS = 300, 40_000
#: Text longer than this is cut by the style sheet, and whole in a tooltip.
_LONG = 24


@dataclass(frozen=True)
class Cell:
    """An entry: what is shown, the whole value for copies where it is longer, and a tooltip for long text."""

    text: str
    exact: str | None = None
    tip: str = ""


@dataclass(frozen=True)
class ShownTable:
    """A table as lines of cells. `corner` is None where rows have no labels."""

    title: str
    corner: Cell | None
    heads: Sequence[Cell]
    #: Whether each column is aligned on the right.
    right: Sequence[bool]
    #: The label (or None) and the cells of each row.
    lines: Sequence[tuple[Cell | None, Sequence[Cell]]]
    notes: Sequence[str]


def shown_table(table: Table) -> ShownTable:
    """The first rows and columns of a table, as many as a page can hold, and how many more there are."""
    names = table.columns[:_COLUMNS]
    part = table.head(max(1, _CELLS // max(1, len(names))))
    texts = [cells_of(part[name]) for name in names]
    columns = [
        [_cell(text, entry) for text, entry in zip(cells, part[name], strict=True)]
        for name, (cells, _) in zip(names, texts, strict=True)
    ]
    labels = [_text_cell(str(label)) for label in part.rows] if table.has_labels else [None] * len(part)
    return ShownTable(
        table.title,
        _text_cell(table.row_name) if table.has_labels else None,
        [_text_cell(name) for name in names],
        [right for _, right in texts],
        [(label, [column[i] for column in columns]) for i, label in enumerate(labels)],
        [*left_out(len(table) - len(part), len(table.columns) - len(names)), *table.notes],
    )


def _cell(text: str, entry: Any) -> Cell:
    if entry is None:
        return Cell(text, "" if text else None)
    if isinstance(entry, bool | np.bool_):
        return Cell(text)
    if isinstance(entry, int | float | np.number):
        exact = f"{entry:.10g}" if isinstance(entry, float | np.floating) else str(entry)
        missing = not math.isfinite(entry)
        return Cell("\u2013" if missing and math.isnan(entry) else text, "" if missing else _unless(exact, text))
    return _text_cell(str(entry))


def _text_cell(text: str) -> Cell:
    whole = visible(text)
    return Cell(whole, tip=whole if len(whole) > _LONG else "")


def _unless(exact: str, text: str) -> str | None:
    return None if exact == text else exact
