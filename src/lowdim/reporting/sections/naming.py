"""What rows are called in sentences and tables."""

from __future__ import annotations

from ..analysis import Analysis


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
