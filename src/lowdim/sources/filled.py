"""Standardised rows in which missing entries are zero."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from .._xp import Array, astype, is_sparse, namespace
from .base import Source


class FilledSource(Source):
    """(x - mean) / scale for the rows x of another source; zero if x is NaN or, with `unstored`, not stored.

    This fills missing entries with the mean of their column. In standardised rows that is zero, so that sparse rows
    stay sparse.
    """

    def __init__(self, source: Source, mean: Array, scale: Array, *, unstored: bool = False) -> None:
        self._source, self._mean, self._scale, self._unstored = source, mean, scale, unstored
        self.shape, self.dtype, self.kind = source.shape, source.dtype, source.kind
        sparse_rows = unstored and source.traits.sparse
        self.traits = replace(source.traits, by_feature=False, in_memory=False, sparse=sparse_rows, views=False)
        self.names, self.transposed, self.table = source.names, source.transposed, source.table

    def blocks(self, rows: int) -> Iterator[Array]:
        for block in self._source.blocks(rows):
            yield self._stored(block) if self.traits.sparse else self._dense(block)

    def parts(self, k: int, least: int = 1) -> list[Source]:
        parts = self._source.parts(k, least)
        return [FilledSource(part, self._mean, self._scale, unstored=self._unstored) for part in parts]

    def elsewhere(self, lazy: Callable[..., Any]) -> Any:
        return lazy(FilledSource)(self._source.elsewhere(lazy), self._mean, self._scale, unstored=self._unstored)

    def empty(self, *shape: int) -> Array:
        return self._source.empty(*shape)

    def row_label(self, i: int, column: int = 0) -> str:
        return self._source.row_label(i, column)

    def _dense(self, block: Array) -> Array:
        block = block.toarray() if is_sparse(block) else block
        xp = namespace(block)
        z = astype((block - self._mean) / self._scale, self.dtype)
        return xp.where(xp.isnan(block), xp.zeros_like(z), z)

    def _stored(self, block: Any) -> Any:
        columns = block.indices
        z = ((block.data - self._mean[columns]) / self._scale[columns]).astype(self.dtype)
        z[np.isnan(z)] = 0.0
        return sparse.csr_array((z, columns, block.indptr), shape=block.shape, copy=False)
