"""Arrays of NumPy and of every other array-API namespace, and SciPy's sparse matrices, which are never made dense."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import numpy as np
from scipy import sparse

from .._core.arrays import Array, astype, device, is_complex, namespace, working_dtype
from .._core.devices import in_main_memory, name_of_device
from ..errors import bad_ndim, beyond_float, complex_data, empty, not_numeric
from .base import Source, Traits

# Arrays of NumPy (including memory maps) and of every other array-API namespace.


class ArraySource(Source):
    """Rows of a 2-D array, read as slices without a copy; integers and booleans are converted block by block."""

    known_to_sklearn = True

    def __init__(self, X: Array) -> None:
        if X.ndim != 2:
            raise bad_ndim(X.ndim, tuple(X.shape))
        n, p = X.shape
        host = isinstance(X, np.ndarray)
        if host:
            is_plain = X.dtype.kind in "fiub" and not isinstance(X, np.ma.MaskedArray)
            X = np.asarray(X if is_plain else _numeric(X))
            self.dtype = np.float32 if X.dtype == np.float32 else np.float64
        elif is_complex(X):
            raise complex_data(X.dtype)
        else:
            self.dtype = working_dtype(X)
        if n == 0 or p == 0:
            raise empty(n, p, (n, p))
        self._X = X
        self.shape = (n, p)
        self.kind = _kind(type(X).__module__, X.dtype)
        if not host and not in_main_memory(X):
            self.kind = f"{self.kind} on {name_of_device(X)}"
        itemsize = 4 if self.dtype == (np if host else namespace(X)).float32 else 8
        self.traits = Traits(host=host, n_bytes=n * p * itemsize, itemsize=itemsize, views=X.dtype == self.dtype)

    def blocks(self, rows: int) -> Iterator[Array]:
        X, n = self._X, self._X.shape[0]
        if n <= rows:
            yield astype(X, self.dtype)
            return
        for i in range(0, n, rows):
            yield astype(X[i : min(i + rows, n), :], self.dtype)

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
    if isinstance(X, np.ma.MaskedArray):
        if np.ma.is_masked(X):
            raise ValueError(
                "X is a masked array with masked entries; fill or drop them first: X.filled(value), or "
                "X.filled(np.nan) for models that take NaN as missing."
            )
        X = X.data
    kind = X.dtype.kind
    if kind in "fiub":
        return X
    if kind == "c":
        raise complex_data(X.dtype)
    if kind != "O":
        reason = "text" if kind in "UST" else "no real numbers"
        raise ValueError(not_numeric(None, X.dtype, None, f"it holds {reason}; could not convert string to float"))
    refuse_complex_objects(X)
    try:
        return floats_of(X)
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


def floats_of(X: np.ndarray) -> np.ndarray:
    """An array of objects as float64. Text is an error even where NumPy would convert it: "1" and "2" may be the names
    of classes."""
    if any(issubclass(kind, str | bytes) for kind in set(map(type, X.flat))):
        text = next(entry for entry in X.flat if isinstance(entry, str | bytes))
        raise ValueError(f"it holds text, such as {text[:40]!r}; could not convert string to float")
    return X.astype(np.float64)


def converts_to_float(X: np.ndarray) -> bool:
    """Whether all objects in an array can be converted to float64."""
    try:
        floats_of(X)
    except (OverflowError, TypeError, ValueError):
        return False
    return True


# A source with a shape but no data, for plans that are made without data.


class ShapedSource(Source):
    """A placeholder for a table of n rows and p columns; n is None if it is unknown.

    A plan needs only the shape and the traits of a source. Reading the rows raises an error.
    """

    def __init__(self, shape: tuple[int | None, int], traits: Traits | None = None) -> None:
        n, p = shape
        if p < 1 or (n is not None and n < 1):
            raise ValueError(f"shape={shape} must hold a positive number of rows (or None) and of columns.")
        self.shape = (n, p)
        self.kind = "shape"
        self.dtype = np.float64
        self.traits = Traits(n_bytes=8 * (n or 0) * p, whole=n is not None) if traits is None else traits

    def blocks(self, rows: int) -> Iterator[Array]:
        raise TypeError(f"{self.table} is a shape, {self.shape}, and has no rows to read; pass the rows themselves.")


# Integers that float64 cannot hold are an error wherever they are read, and are never rounded.


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


# SciPy sparse matrices and arrays, which are never made dense as a whole.


#: The formats with arrays of indices.
_INDEXED = ("bsr", "coo", "csc", "csr")
#: Products of values up to this size stay in the range of float32.
_NARROW_MAX = 1e15


class SparseSource(Source):
    """Rows of a sparse matrix. CSR is read without a copy; other formats are converted to it once."""

    known_to_sklearn = True

    def __init__(self, X: Any) -> None:
        if X.dtype.kind == "c":
            raise complex_data(X.dtype)
        if X.ndim != 2:
            raise bad_ndim(X.ndim, X.shape, "X")
        n, p = X.shape
        if n == 0 or p == 0:
            raise empty(n, p, (n, p))
        if X.format in _INDEXED:
            # Before the conversion to CSR, which follows the indices.
            _check_indices(X)
        csr = sparse.csr_array(X)
        if X.format not in _INDEXED:
            _check_indices(csr)
        if not csr.has_canonical_format:
            csr = csr.copy() if X.format == "csr" else csr
            csr.sum_duplicates()
        self._X = csr
        self.shape = (n, p)
        self.kind = f"sparse {X.dtype}"
        self.dtype = np.float32 if csr.dtype == np.float32 else np.float64
        itemsize = int(np.dtype(self.dtype).itemsize)
        n_bytes = csr.data.nbytes + csr.indices.nbytes + csr.indptr.nbytes
        self.traits = Traits(sparse=True, stored=csr.nnz / (n * p), n_bytes=n_bytes, itemsize=itemsize)

    def blocks(self, rows: int) -> Iterator[Any]:
        for i in range(0, self._X.shape[0], rows):
            yield row_view(self._X, i, min(i + rows, self._X.shape[0])).astype(self.dtype, copy=False)

    def between(self, i: int, j: int) -> Source:
        return self._inherit(SparseSource(row_view(self._X, i, j)))

    def features(self) -> Source:
        return self._inherit(SparseSource(self._X.T), transposed=True)

    def narrowed(self) -> Source | None:
        X = self._X
        if X.dtype == np.float32 or X.nnz == 0 or not max(-float(X.data.min()), float(X.data.max())) < _NARROW_MAX:
            return None
        data = X.data.astype(np.float32)
        return self._inherit(SparseSource(_csr(data, X.indices, X.indptr, X.shape)))


def _check_indices(X: Any) -> None:
    """Raise an error if a matrix stores entries outside its shape: compiled loops would access memory outside of the
    arrays. Smallest and largest index cost a fraction of the pass that every product needs."""
    if X.format == "coo":
        pairs = [(X.row, "row", X.shape[0]), (X.col, "column", X.shape[1])]
    else:
        room = min(len(X.indices), len(X.data))
        if X.indptr[0] != 0 or X.indptr[-1] > room or np.any(X.indptr[1:] < X.indptr[:-1]):
            raise ValueError(
                f"X is a damaged sparse matrix: its pointers indptr do not ascend from 0 to at most {room}."
            )
        stored = X.indices[: X.indptr[-1]]
        if X.format == "bsr":
            pairs = [(stored, "block column", X.shape[1] // X.blocksize[1])]
        else:
            pairs = [(stored, "row", X.shape[0]) if X.format == "csc" else (stored, "column", X.shape[1])]
    for indices, what, n in pairs:
        if len(indices) and not 0 <= int(indices.min()) <= int(indices.max()) < n:
            raise ValueError(
                f"X is a damaged sparse matrix: it stores entries in {what}s {int(indices.min())} to "
                f"{int(indices.max())}, and has only the {what}s 0 to {n - 1}. Make it again from its entries."
            )


def row_view(X: Any, i: int, j: int) -> Any:
    """Rows i to j of a CSR array without a copy of their entries."""
    start, stop = int(X.indptr[i]), int(X.indptr[j])
    data, indices = (np.asarray(_Lent(a[start:stop])) for a in (X.data, X.indices))
    return _csr(data, indices, X.indptr[i : j + 1] - start, (j - i, X.shape[1]))


class _Lent:
    """The memory of a part of an array, without a reference to the whole array as its base. SciPy would otherwise copy
    a part that is less than half of its base whenever it makes a matrix of it, also for a transpose."""

    def __init__(self, part: np.ndarray) -> None:
        self._part = part
        self.size = part.size
        self.__array_interface__ = part.__array_interface__


def _csr(data: Any, indices: Any, indptr: Any, shape: tuple[int, int]) -> Any:
    """A CSR array of these parts without a copy; the indices must be sorted and without duplicates."""
    view = sparse.csr_array((data, indices, indptr), shape=shape, copy=False)
    view.has_canonical_format = True
    return view
