"""Rows that are strings, graphs or other objects, for kernels that are functions of two objects."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..errors import empty
from .array import converts_to_float
from .base import Source, Traits, cut
from .table import is_column


class ObjectSource(Source):
    """Rows of one or more objects each, for kernels that are functions of two rows."""

    def __init__(self, X: Any) -> None:
        if is_column(X):
            X = np.asarray(X.to_numpy() if hasattr(X, "to_numpy") else X, dtype=object)
        self._X = X if isinstance(X, np.ndarray) else _as_objects(X)
        n = len(self._X)
        if n == 0:
            raise empty(0, 1, (0,))
        self.shape = (n, 1 if self._X.ndim == 1 else self._X.shape[1])
        self.kind = "objects"
        self.dtype = np.float64
        self.traits = Traits(by_feature=False)

    def blocks(self, rows: int) -> Iterator[Any]:
        for i in range(0, len(self._X), rows):
            yield self._X[i : i + rows]

    def parts(self, k: int, least: int = 1) -> list[Source]:
        return [self.between(i, j) for i, j in cut(len(self._X), k)]

    def between(self, i: int, j: int) -> Source:
        return self._inherit(ObjectSource(self._X[i:j]))


def holds_objects(X: Any) -> bool:
    """True for sequences of strings or other objects that are not rows of numbers."""
    if isinstance(X, np.ndarray):
        return X.dtype.kind in "US" or (X.dtype.kind == "O" and not converts_to_float(X))
    if is_column(X):
        return holds_objects(np.asarray(X.to_numpy() if hasattr(X, "to_numpy") else X, dtype=object))
    if not isinstance(X, list | tuple) or not X or getattr(X[0], "ndim", 0) > 1:
        return False
    try:
        return np.asarray(X).dtype.kind in "USO"
    except ValueError:
        # Rows of different lengths.
        return True


def _as_objects(X: Any) -> np.ndarray:
    """A sequence as a 1-D object array; items that are sequences themselves are not unpacked."""
    out = np.empty(len(X), dtype=object)
    for i, item in enumerate(X):
        out[i] = item
    return out
