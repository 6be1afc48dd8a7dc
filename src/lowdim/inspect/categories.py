"""Categories of rows: which values occur in a column of labels, and which of them each row has."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np


class Categories(NamedTuple):
    """The categories of rows."""

    #: The values that occur, sorted if that is possible, otherwise in the order in which they occur.
    levels: list[Any]
    #: For each row, the position of its value in `levels`; -1 if it is missing.
    codes: np.ndarray


def categories(values: np.ndarray) -> Categories:
    """The categories of a vector of labels. None, NaN, and NA of pandas are missing."""
    missing = missing_labels(values)
    levels, found = _distinct(values[~missing])
    codes = np.full(len(values), -1)
    codes[~missing] = found
    return Categories(levels, codes)


def missing_labels(values: np.ndarray) -> np.ndarray:
    """Which entries are None, NaN, or NA of pandas."""
    if values.dtype.kind == "O":
        return np.array([_is_missing(value) for value in values.tolist()], dtype=bool)
    return np.isnan(values) if values.dtype.kind == "f" else np.zeros(len(values), dtype=bool)


def _is_missing(value: Any) -> bool:
    if value is None:
        return True
    try:
        return bool(value != value)
    except TypeError:
        # NA of pandas is neither equal to itself nor unequal.
        return True
    except ValueError:
        return False


def _distinct(values: np.ndarray) -> tuple[list[Any], np.ndarray]:
    """The values that occur, sorted if that is possible, and for each entry which of them it is."""
    if values.dtype.kind != "O":
        found, codes = np.unique(values, return_inverse=True)
        return found.tolist(), codes
    entries = values.tolist()
    names = list(dict.fromkeys(entries))
    with suppress(TypeError):
        names = sorted(names)
    place = {name: i for i, name in enumerate(names)}
    return names, np.array([place[entry] for entry in entries], dtype=int)
