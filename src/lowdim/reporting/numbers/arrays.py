"""Arrays of any library as NumPy arrays: of float64 for computing, of float32 for the page where that is enough."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._xp import to_numpy


def floats(array: Any) -> np.ndarray:
    """An array of any library as a NumPy array of float64."""
    return np.asarray(to_numpy(array), dtype=np.float64)


#: Values are stored in half the space if the error is at most this fraction of the range that a chart shows.
_ERROR = 1e-5


def compact(values: np.ndarray) -> np.ndarray:
    """The values as float32, unless a column would lose digits that a chart shows: values beyond the range of float32,
    and those that differ little from each other beside their size."""
    with np.errstate(over="ignore"):
        narrow = values.astype(np.float32)
    known = np.isfinite(values)
    if not np.isfinite(narrow[known]).all():
        return values
    error = np.abs(np.where(known, narrow, 0.0) - np.where(known, values, 0.0)).max(axis=0, initial=0.0)
    low = np.where(known, values, np.inf).min(axis=0, initial=np.inf)
    high = np.where(known, values, -np.inf).max(axis=0, initial=-np.inf)
    shown = np.where(low < high, high - low, np.abs(high))
    return narrow if np.all((error == 0) | (error <= _ERROR * shown)) else values
