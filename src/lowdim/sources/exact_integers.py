"""Integers that float64 cannot hold are an error wherever they are read, and are never rounded."""

from __future__ import annotations

import numpy as np

#: All integers up to this size are exact in float64.
EXACT = 2.0**53


class InexactInteger(Exception):
    """Raised for an integer that float64 cannot hold, with its position among the entries."""

    def __init__(self, index: int, value: int) -> None:
        super().__init__(index, value)
        self.index, self.value = index, value


def may_be_inexact(dtype: np.dtype) -> bool:
    """Whether float64 may not hold all integers of a dtype."""
    return dtype.kind in "iu" and dtype.itemsize == 8


def require_exact(floats: np.ndarray, integers: np.ndarray) -> None:
    """Raise an InexactInteger if one of the integers, a vector, differs from the float that it became."""
    if len(floats) == 0 or not (np.fmax.reduce(floats) >= EXACT or np.fmin.reduce(floats) <= -EXACT):
        return
    for index in np.flatnonzero(np.abs(floats) >= EXACT):
        if int(floats[index]) != int(integers[index]):
            raise InexactInteger(int(index), int(integers[index]))
