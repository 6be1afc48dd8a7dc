"""The observed entries of a block. Missing are entries that are NaN or, on request, that a sparse block does not store.

Tables have m numbers for each row or column of the block, and the shapes (m, b) for b rows and (m, p) for p columns, so
that products with the mask m_id of observed entries access memory contiguously.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from .._xp import Array, all_finite, astype, dense, device, is_sparse, namespace, wide_dtype
from ..errors import NonFiniteBlock

#: Of a dense block, only the observed entries are processed if they are less than this share of all entries. Otherwise
#: products with the mask are faster, although most of the numbers that they multiply are zero.
_FEW = 0.04


def observed_entries(block: Array, unstored: bool) -> DenseEntries | StoredEntries:
    """The entries of `block` that were observed, in float64."""
    if unstored and is_sparse(block):
        return StoredEntries(block)
    block = dense(block)
    if isinstance(block, np.ndarray):
        known = ~np.isnan(block)
        if np.count_nonzero(known) < _FEW * known.size:
            return StoredEntries(_only_known(block, known))
    return DenseEntries(block)


def _only_known(block: np.ndarray, known: np.ndarray) -> sparse.csr_array:
    """The known entries of a block as a sparse array, zeros among them included."""
    places = np.flatnonzero(known)
    ends = np.append(0, np.cumsum(np.count_nonzero(known, axis=1)))
    return sparse.csr_array((block.ravel()[places], places % block.shape[1], ends), shape=block.shape)


class DenseEntries:
    """A dense block in which NaN marks missing entries."""

    def __init__(self, block: Array) -> None:
        xp = namespace(block)
        x = astype(block, wide_dtype(xp, device(block)))
        self._holes = xp.isnan(x)
        self._x = xp.where(self._holes, xp.zeros_like(x), x)
        if not all_finite(self._x):
            raise NonFiniteBlock
        self.mask = astype(~self._holes, x.dtype)
        self.z = self._x

    def weights_like(self) -> Array:
        """An array with one float64 for each row, of which only length, dtype and device matter."""
        return self.z[:, 0]

    def known(self) -> Array:
        """Which entries were observed, (b, p)."""
        return ~self._holes

    def values(self) -> Array:
        """The entries themselves, zero where not observed, (b, p)."""
        return self._x

    def centre(self, mean: Array, scale: Array) -> None:
        """z = (x - mean) / scale where observed, zero elsewhere."""
        self.z = (self._x - mean) / scale * self.mask

    def across(self, table: Array) -> Array:
        """sum_d table_d m_id for each row i: (m, p) -> (m, b)."""
        return table @ self.mask.T

    def across_values(self, table: Array) -> Array:
        """sum_d table_d z_id for each row i: (m, p) -> (m, b)."""
        return table @ self.z.T

    def down(self, table: Array) -> Array:
        """sum_i table_i m_id for each column d: (m, b) -> (m, p)."""
        return table @ self.mask

    def down_values(self, table: Array) -> Array:
        """sum_i table_i z_id for each column d: (m, b) -> (m, p)."""
        return table @ self.z

    def squares(self, weights: Array) -> Array:
        """sum_i weight_i z_id^2 for each column d."""
        return weights @ (self.z * self.z)

    def misfit(self, loadings: Array, scores: Array, noise: Array) -> Array:
        """sum_d m_id (z_id - w_d^T u_i)^2 / noise_d for each row i."""
        rest = (self.z - scores.T @ loadings) * self.mask
        return (rest * rest) @ (1.0 / noise)


class StoredEntries:
    """A sparse block whose unstored entries are missing, as are stored NaN."""

    def __init__(self, block: Any) -> None:
        x = block.data.astype(np.float64)
        if np.any(np.isinf(x)):
            raise NonFiniteBlock
        known = ~np.isnan(x)
        if not np.all(known):
            rows = np.repeat(np.arange(block.shape[0]), np.diff(block.indptr))[known]
            block = sparse.csr_array((x[known], (rows, block.indices[known])), shape=block.shape)
            x = block.data
        self._block = block
        self._x = x
        #: The column of each entry, as an index that NumPy need not convert, and the number of entries of each row.
        self._columns, self._lengths = block.indices.astype(np.intp), np.diff(block.indptr)
        self.mask = self._like(np.ones_like(x))
        self._z = self._like(x)

    def weights_like(self) -> Array:
        return np.empty(self._block.shape[0])

    def known(self) -> Array:
        return self.mask.toarray() > 0

    def values(self) -> Array:
        return self._like(self._x).toarray()

    def centre(self, mean: Array, scale: Array) -> None:
        z = self._x - self._of_entries(mean)
        z /= self._of_entries(scale)
        self._z = self._like(z)

    def across(self, table: Array) -> Array:
        return np.ascontiguousarray((self.mask @ np.ascontiguousarray(table.T)).T)

    def across_values(self, table: Array) -> Array:
        return np.ascontiguousarray((self._z @ np.ascontiguousarray(table.T)).T)

    def down(self, table: Array) -> Array:
        return np.ascontiguousarray((self.mask.T @ np.ascontiguousarray(table.T)).T)

    def down_values(self, table: Array) -> Array:
        return np.ascontiguousarray((self._z.T @ np.ascontiguousarray(table.T)).T)

    def squares(self, weights: Array) -> Array:
        return self._like(self._z.data**2).T @ weights

    def misfit(self, loadings: Array, scores: Array, noise: Array) -> Array:
        rest = self._z.data.copy()
        for w, u in zip(loadings, scores, strict=True):
            explained = self._of_entries(w)
            explained *= np.repeat(u, self._lengths)
            rest -= explained
        rest *= rest
        rest /= self._of_entries(noise)
        return self._like(rest) @ np.ones(self._block.shape[1])

    def _of_entries(self, by_column: np.ndarray) -> np.ndarray:
        """The number of its column for each entry."""
        # The columns of a sparse array are in range, so their check is left out.
        return by_column.take(self._columns, mode="clip")

    def _like(self, data: np.ndarray) -> Any:
        return sparse.csr_array((data, self._block.indices, self._block.indptr), shape=self._block.shape, copy=False)
