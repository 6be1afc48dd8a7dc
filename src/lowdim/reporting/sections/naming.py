"""What rows and components are called in sentences, tables and charts."""

from __future__ import annotations

from collections.abc import Iterable

from ..analysis import Analysis
from ..words import brief, share

#: Longer names are shortened in the menus and lists of charts.
LONGEST = 80


def called(a: Analysis, row: int) -> str:
    """The name of a row, with its group by the first labels: "row 138 (virginica)"."""
    group, name = group_of(a, row), brief(a.row_name(row))
    return f"{name} ({group})" if group else name


def group_of(a: Analysis, row: int) -> str:
    """The group of a row by the first labels; empty if it has none."""
    if not a.groupings:
        return ""
    code = int(a.groupings[0].codes[row])
    return brief(a.groupings[0].levels[code]) if code >= 0 else ""


def columns_called(a: Analysis, columns: Iterable[int]) -> list[str]:
    """The names of columns in sentences."""
    return [brief(a.names[j]) for j in columns]


def component_title(a: Analysis, k: int) -> str:
    """The name of a component with its share of the variance, if that is known: "PC1 (72.9%)"."""
    name, shares = a.mapped.component_names_[k], a.variance_shares
    return name if shares is None else f"{name} ({share(shares[k])})"
