"""The labels of the rows of a table."""

from __future__ import annotations

from typing import Any

import narwhals as nw

from ..errors import rows_in_another_order
from .sent_rows import OnDevice
from .table import is_column, is_table


def row_labels(X: Any) -> Any:
    """The index of a table or column of pandas, as it is; None if it only counts the rows, and for everything else."""
    X = X.rows if isinstance(X, OnDevice) else X
    if not is_table(X) and not is_column(X):
        return None
    index: Any = nw.maybe_get_index(nw.from_native(X, eager_only=True, allow_series=True))
    counts = type(index).__name__ == "RangeIndex" and index.start == 0 and index.step == 1 and index.name is None
    return None if counts else index


def check_row_labels(first: Any, name: str = "X", **others: Any) -> None:
    """Raise an error if another table or series of pandas has the row labels of the first one in another order.

    Rows belong together by their positions. They surely do not if both have the same labels, each once, in another
    order. Other differences say nothing: tables that were made in different ways often have different labels. A default
    index 0, 1, 2, ... counts as no labels, since it is also that of rows that were computed from labelled ones.
    """
    given = {other: value for other, value in others.items() if value is not None}
    labels = row_labels(first) if given else None
    if labels is None:
        return
    for other, value in given.items():
        theirs = row_labels(value)
        if theirs is None or theirs is labels or len(theirs) != len(labels) or theirs.equals(labels):
            continue
        if not labels.is_unique or not theirs.is_unique:
            continue
        places = labels.get_indexer(theirs)
        if bool((places >= 0).all()):
            # Positions are compared, since a label may be NaN or NA, which does not equal itself.
            place = next((i for i, found in enumerate(places.tolist()) if found != i), None)
            if place is not None:
                raise rows_in_another_order(name, other, place, labels[place], theirs[place])
