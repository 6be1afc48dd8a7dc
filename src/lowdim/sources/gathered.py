"""All rows of a source in memory at once, for what cannot be computed block by block."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from .._memory import free_bytes
from .._xp import Array, concat_rows, is_sparse, to_numpy
from ..errors import no_order, rows_exceed_memory
from .array import ArraySource
from .base import Source
from .beside import BesideSource
from .carried import in_order
from .columns_of import ColumnsSource
from .shaped import ShapedSource
from .sparse import SparseSource

#: A table fits easily into memory if it takes at most this share of what is free.
_EASILY = 0.25
#: Rows of unknown number are gathered in blocks of this size.
_BLOCK_BYTES = 8 << 20


def gather(source: Source, purpose: str) -> Source:
    """The rows of a source as a source in memory; `source` itself if its rows are there already.

    One pass, also over tables that are columns of the same stream. The memory is that of all rows, and twice as much
    while they are gathered if their number is not known beforehand. An error says how much is missing, before anything
    is read if the number is known, otherwise as soon as the rows read so far and a copy of them do not fit, and names
    the `purpose` for which the rows are needed.
    """
    if source.traits.in_memory:
        return source
    if isinstance(source, BesideSource):
        return source.changed(partial(gather, purpose=purpose))
    if isinstance(source, ColumnsSource):
        return source.of_other(gather(source.parent, purpose))
    if source.shape[0] is None:
        rows = _growing_rows(source, purpose)
    else:
        _require_memory(source, source.shape[0], purpose)
        rows = _all_rows(source, source.shape[0])
    held: Source = SparseSource(rows) if is_sparse(rows) else ArraySource(rows)
    held.names, held.table, held.vector, held.transposed = source.names, source.table, source.vector, source.transposed
    held.origin = source
    held.traits = replace(held.traits, sent=source.traits.sent)
    return held


def entries_of(source: Source) -> np.ndarray:
    """All rows of a source as one array, in their order. One pass."""
    if not in_order(source):
        raise no_order(f"the entries of {source.table}")
    return np.concatenate([to_numpy(block) for block in source.blocks(1 << 16)])


def with_known_length(source: Source, purpose: str) -> Source:
    """The source, or its rows in memory if their number is not known or they can be read only once."""
    once = source.shape[0] is None or not source.traits.rereadable
    return gather(source, purpose) if once and not source.traits.remote else source


def as_if_gathered(source: Source, n: int) -> Source:
    """A source without rows that has the traits of `gather(source)`, for a plan that reads nothing; it has n rows if
    their number is not known."""
    if source.traits.in_memory:
        return source
    if isinstance(source, BesideSource):
        return source.changed(partial(as_if_gathered, n=n))
    if isinstance(source, ColumnsSource):
        return source.of_other(as_if_gathered(source.parent, n))
    n, p, traits = source.shape[0] or n, source.shape[1], source.traits
    n_bytes = int(n * p * traits.stored * traits.itemsize)
    held = ShapedSource(
        (n, p),
        replace(traits, rereadable=True, by_feature=True, whole=True, in_memory=True, n_bytes=n_bytes, part_bytes=0),
    )
    held.names, held.table, held.vector, held.kind = source.names, source.table, source.vector, source.kind
    return held


def fits_easily(n: int, p: int, itemsize: int) -> bool:
    """Whether a table of n rows and p columns takes only a small part of the free memory."""
    return n * p * itemsize <= _EASILY * free_bytes()


class StoredSource(Source):
    """Base class of sources whose rows are in files, or are the result of a query.

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


def _require_memory(source: Source, n: int, purpose: str) -> None:
    """Raise an error if n rows of the source do not fit into the free memory."""
    needed = int(n * source.shape[1] * source.traits.stored * source.traits.itemsize)
    free = free_bytes()
    if free and needed > free:
        raise rows_exceed_memory(source.table, (n, source.shape[1]), needed, free, purpose)


def _growing_rows(source: Source, purpose: str) -> Array:
    """All rows of a source of unknown length; for each block there must be room for it and for all blocks joined."""
    blocks: list[Array] = []
    n = 0
    for block in source.blocks(max(1, _BLOCK_BYTES // (source.shape[1] * source.traits.itemsize))):
        blocks.append(block)
        n += block.shape[0]
        _require_memory(source, n, purpose)
    return concat_rows(blocks)


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
