"""The labels of the rows of a table."""

from __future__ import annotations

from typing import Any

import narwhals as nw

from .table import is_column, is_table


def row_labels(X: Any) -> Any:
    """The index of a table or column of pandas, as it is; None if it only counts the rows, and for everything else."""
    if not is_table(X) and not is_column(X):
        return None
    index: Any = nw.maybe_get_index(nw.from_native(X, eager_only=True, allow_series=True))
    counts = type(index).__name__ == "RangeIndex" and index.start == 0 and index.step == 1 and index.name is None
    return None if counts else index
