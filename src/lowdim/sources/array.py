"""Arrays of NumPy (including memory maps) and of every other array-API namespace."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import numpy as np

from .._devices import in_main_memory, name_of_device
from .._xp import Array, astype, device, is_complex, namespace, working_dtype
from ..errors import bad_ndim, beyond_float, complex_data, empty, not_numeric
from .base import Source, Traits, cut


class ArraySource(Source):
    """Rows of a 2-D array, read as slices without a copy; integers and booleans are converted block by block."""

    known_to_sklearn = True

    def __init__(self, X: Array) -> None:
        if X.ndim != 2:
            raise bad_ndim(X.ndim, tuple(X.shape))
        n, p = X.shape
        if isinstance(X, np.ndarray):
            X = _numeric(X)
        if is_complex(X):
            raise complex_data(X.dtype)
        if n == 0 or p == 0:
            raise empty(n, p, (n, p))
        self._X = X
        self.shape = (n, p)
        self.kind = _kind(type(X).__module__, X.dtype)
        if not isinstance(X, np.ndarray) and not in_main_memory(X):
            self.kind = f"{self.kind} on {name_of_device(X)}"
        self.dtype = working_dtype(X)
        itemsize = 4 if self.dtype == namespace(X).float32 else 8
        host, views = isinstance(X, np.ndarray), X.dtype == self.dtype
        self.traits = Traits(host=host, n_bytes=n * p * itemsize, itemsize=itemsize, views=views)

    def blocks(self, rows: int) -> Iterator[Array]:
        X, n = self._X, self._X.shape[0]
        if n <= rows:
            yield astype(X, self.dtype)
            return
        for i in range(0, n, rows):
            yield astype(X[i : min(i + rows, n), :], self.dtype)

    def parts(self, k: int, least: int = 1) -> list[Source]:
        return [self.between(i, j) for i, j in cut(self._X.shape[0], k)]

    def between(self, i: int, j: int) -> Source:
        return self._inherit(ArraySource(self._X[i:j, :]))

    def features(self) -> Source:
        return self._inherit(ArraySource(self._X.T), transposed=True)

    def empty(self, *shape: int) -> Array:
        if isinstance(self._X, np.ndarray):
            return np.empty(shape, dtype=self.dtype)
        return namespace(self._X).empty(shape, dtype=self.dtype, device=device(self._X))


@lru_cache(maxsize=32)
def _kind(module: str, dtype: Any) -> str:
    """The name of the library and of the dtype. It is cached, since NumPy takes long to name a dtype."""
    return f"{module.partition('.')[0]} {dtype}"


def _numeric(X: np.ndarray) -> np.ndarray:
    """`X` as an array of numbers: objects that are numbers become float64; for anything else an error is raised."""
    kind = X.dtype.kind
    if isinstance(X, np.ma.MaskedArray):
        if np.ma.is_masked(X):
            raise ValueError(
                "X is a masked array with masked entries; fill or drop them first: X.filled(value), or "
                "X.filled(np.nan) for models that take NaN as missing."
            )
        X = X.data
    if kind in "fiub":
        return np.asarray(X)
    if kind == "c":
        return X
    if kind == "O":
        return _numbers_in_objects(X)
    reason = "text" if kind in "US" else "no real numbers"
    raise ValueError(not_numeric(None, X.dtype, None, f"it holds {reason}; could not convert string to float"))


def _numbers_in_objects(X: np.ndarray) -> np.ndarray:
    """An object array as float64; if that fails, the error names the column."""
    refuse_complex_objects(X)
    try:
        return X.astype(np.float64)
    except (OverflowError, TypeError, ValueError) as error:
        column = next((j for j in range(X.shape[1]) if not converts_to_float(X[:, j])), None)
        if isinstance(error, OverflowError):
            raise beyond_float(column, X.dtype, None) from error
        raise type(error)(not_numeric(column, X.dtype, None, str(error))) from error


def refuse_complex_objects(X: np.ndarray) -> None:
    """Raise an error if an object array holds a complex number."""
    for value in X.flat:
        if isinstance(value, complex | np.complexfloating):
            raise complex_data(X.dtype)


def converts_to_float(X: np.ndarray) -> bool:
    """Whether all objects in an array can be converted to float64."""
    try:
        X.astype(np.float64)
    except (OverflowError, TypeError, ValueError):
        return False
    return True
