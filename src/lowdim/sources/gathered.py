"""All rows of a source in memory at once, for what cannot be computed block by block."""

from __future__ import annotations

import numpy as np

from .._memory import free_bytes
from .._xp import Array, concat_rows, is_sparse
from ..errors import rows_exceed_memory
from .array import ArraySource
from .base import Source
from .sparse import SparseSource

#: A table fits easily into memory if it takes at most this share of what is free.
_EASILY = 0.25


def gather(source: Source, purpose: str) -> Source:
    """The rows of a source of known length as a source in memory; `source` itself if its rows are there already.

    One pass. The memory is that of all rows; an error says how much is missing, before anything is read, and names the
    `purpose` for which the rows are needed.
    """
    if source.traits.in_memory:
        return source
    n, p = int(source.shape[0] or 0), source.shape[1]
    needed, free = int(n * p * source.traits.stored * source.traits.itemsize), free_bytes()
    if free and needed > free:
        raise rows_exceed_memory(source.table, (n, p), needed, free, purpose)
    rows = _all_rows(source, n)
    held: Source = SparseSource(rows) if is_sparse(rows) else ArraySource(rows)
    held.names, held.table, held.vector, held.transposed = source.names, source.table, source.vector, source.transposed
    held.origin = source
    return held


def fits_easily(n: int, p: int, itemsize: int) -> bool:
    """Whether a table of n rows and p columns takes only a small part of the free memory."""
    return n * p * itemsize <= _EASILY * free_bytes()


class StoredSource(Source):
    """Base class of sources of known length whose rows are in files.

    To be read by columns (trait `by_feature`), the table is gathered in memory once. Fewer rows than columns take less
    memory than the covariance matrix of the columns, which is the alternative.
    """

    _held: Source | None = None

    def features(self) -> Source:
        if not self.traits.by_feature:
            return super().features()
        # A piece of a source may have been made by copying it.
        if self._held is None or self._held.shape != self.shape:
            self._held = gather(self, "to read it by columns")
        return self._held.features()


def _all_rows(source: Source, n: int) -> Array:
    """All n rows as one array, which is filled block by block if the blocks are NumPy arrays."""
    blocks = source.blocks(n)
    first = next(blocks)
    if not isinstance(first, np.ndarray) or len(first) == n:
        return concat_rows([first, *blocks])
    out = np.empty((n, source.shape[1]), dtype=source.dtype)
    out[: len(first)] = first
    i = len(first)
    for block in blocks:
        out[i : i + len(block)] = block
        i += len(block)
    return out
