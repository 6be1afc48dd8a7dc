"""What rows and components are called in sentences, tables and charts."""

from __future__ import annotations

from ..analysis import Analysis
from ..words import share


def called(a: Analysis, row: int) -> str:
    """The name of a row, with its group by the first labels: "row 138 (virginica)"."""
    group = group_of(a, row)
    return f"{a.row_name(row)} ({group})" if group else a.row_name(row)


def group_of(a: Analysis, row: int) -> str:
    """The group of a row by the first labels; empty if it has none."""
    if not a.groupings:
        return ""
    code = int(a.groupings[0].codes[row])
    return a.groupings[0].levels[code] if code >= 0 else ""


def component_title(a: Analysis, k: int) -> str:
    """The name of a component with its share of the variance, if that is known: "PC1 (72.9%)"."""
    name, shares = a.mapped.component_names_[k], a.variance_shares
    return name if shares is None else f"{name} ({share(shares[k])})"
