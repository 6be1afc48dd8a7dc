"""Which columns of an array are read: its columns have numbers, not names."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np

from ...errors import array_columns_out_of_range, names_of_array_columns


def numbered_columns(columns: Any, exclude: Any, p: int, place: str) -> np.ndarray | None:
    """The numbers of the columns to read, in order; None for all of them.

    `columns` and `exclude` are integers from 0 (negative ones count from the end), lists of them, ranges or slices. All
    columns are numbers, so "numeric" stands for all of them.
    """
    every = columns is None or (isinstance(columns, str) and columns == "numeric")
    if every and exclude is None:
        return None
    chosen = np.arange(p) if every else _numbers(columns, p, place)
    if exclude is not None:
        chosen = chosen[~np.isin(chosen, _numbers(exclude, p, place))]
    if len(chosen) == 0:
        raise array_columns_out_of_range(columns, p)
    return chosen


def _numbers(choice: Any, p: int, place: str) -> np.ndarray:
    """A choice of columns as numbers from 0 to p - 1."""
    if isinstance(choice, slice):
        return np.arange(p)[choice]
    each = [choice] if isinstance(choice, numbers.Integral | str) else list(choice)
    if not all(isinstance(j, numbers.Integral) and not isinstance(j, bool | np.bool_) for j in each):
        raise names_of_array_columns(place, choice)
    chosen = np.asarray(each, dtype=np.int64)
    if np.any(chosen < -p) or np.any(chosen >= p) or len(np.unique(chosen % p)) < len(chosen):
        raise array_columns_out_of_range(choice, p)
    return chosen % p
