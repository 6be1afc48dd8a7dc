"""Tables as HTML, for notebooks. All text is escaped."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from .text import cells_of, clean, left_out

if TYPE_CHECKING:
    from .table import Table

#: The largest number of rows and columns that are shown.
_ROWS, _COLUMNS = 40, 20
_LEFT = "style='text-align:left'"


def html_of(table: Table) -> str:
    """The table as HTML: the first rows and columns, and how many more there are."""
    shown = table.head(_ROWS)
    names = table.columns[:_COLUMNS]
    columns = [cells_of(shown[name]) for name in names]
    head = "".join(f"<th>{_escaped(name)}</th>" for name in names)
    body = "".join(
        f"<tr><th {_LEFT}>{_escaped(str(label))}</th>"
        + "".join(f"<td{'' if right else ' ' + _LEFT}>{_escaped(cells[i])}</td>" for cells, right in columns)
        + "</tr>"
        for i, label in enumerate(shown.rows)
    )
    caption = f"<caption {_LEFT}>{_escaped(table.title)}</caption>" if table.title else ""
    notes = [*left_out(len(table) - len(shown), len(table.columns) - len(names)), *table.notes]
    below = "".join(f"<p>{_escaped(note)}</p>" for note in notes)
    corner = f"<th {_LEFT}>{_escaped(table.row_name)}</th>"
    return f"<table>{caption}<thead><tr>{corner}{head}</tr></thead><tbody>{body}</tbody></table>{below}"


def _escaped(text: str) -> str:
    return escape(clean(text))
