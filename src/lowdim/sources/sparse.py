"""SciPy sparse matrices and arrays, which are never made dense as a whole."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse

from ..errors import bad_ndim, complex_data, empty, indices_out_of_range
from .base import Source, Traits, cut

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

    def parts(self, k: int, least: int = 1) -> list[Source]:
        return [self.between(i, j) for i, j in cut(self._X.shape[0], k)]

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
            raise indices_out_of_range(int(indices.min()), int(indices.max()), n, what)


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
