"""The labels of the rows of pandas tables, which must not contradict the order of the rows."""

from __future__ import annotations

from typing import Any

import narwhals as nw

from ..errors import rows_in_another_order


def check_row_labels(first: Any, name: str = "X", **others: Any) -> None:
    """Raise an error if another table or series of pandas has the row labels of the first one in another order.

    Rows belong together by their positions. They surely do not if both have the same labels, each once, in another
    order. Other differences say nothing: tables that were made in different ways often have different labels. A default
    index 0, 1, 2, ... counts as no labels, since it is also that of rows that were computed from labelled ones.
    """
    given = {other: value for other, value in others.items() if value is not None}
    labels = _labels_of(first) if given else None
    if labels is None:
        return
    for other, value in given.items():
        theirs = _labels_of(value)
        if theirs is None or theirs is labels or len(theirs) != len(labels) or theirs.equals(labels):
            continue
        if labels.is_unique and theirs.is_unique and bool((labels.get_indexer(theirs) >= 0).all()):
            place = next(i for i, (a, b) in enumerate(zip(labels, theirs, strict=True)) if a != b)
            raise rows_in_another_order(name, other, place, labels[place], theirs[place])


def _labels_of(value: Any) -> Any:
    """The index of a pandas data frame or series; None if it has none, or the default one."""
    if isinstance(value, nw.DataFrame | nw.Series):
        value = value.to_native()
    if not nw.dependencies.is_pandas_dataframe(value) and not nw.dependencies.is_pandas_series(value):
        return None
    index = value.index
    steps = (getattr(index, "start", None), getattr(index, "step", None))
    return None if steps == (0, 1) else index
