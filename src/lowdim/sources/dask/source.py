"""The source of the rows of Dask arrays and data frames."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from ..._xp import Array, concat_rows, is_sparse, namespace
from ...errors import bad_ndim, empty, in_partition, other_partition
from ..base import Source
from ..engines import adjacent
from ..stream import StreamSource
from .engine import DASK


class DaskSource(Source):
    """Rows of a Dask array or data frame; each partition is read by a task.

    Parameters
    ----------
    X : Dask array or data frame
        An array whose columns are divided among several chunks is rechunked first.
    open_block : callable
        Opens one partition as a source, on the machine that holds it.

    Notes
    -----
    Opening a collection reads no rows, unless Dask does not know their number (data frames, filtered arrays). Then the
    lengths of the partitions are computed; for a data frame, from one of its columns. As usual in Dask, each pass
    computes the collection again; `X.persist()` keeps it in the memory of the workers.
    """

    def __init__(self, X: Any, open_block: Callable[[Any], Source]) -> None:
        self._open = open_block
        self._X = X = _whole_rows(X)
        framed = not hasattr(X, "chunks")
        self._sample = sample = open_block(X._meta_nonempty if framed else _one_row(X))
        lengths = _lengths(X, framed)
        if not framed and np.isnan(X.shape[0]):
            # With known lengths, the array can also be read by columns.
            self._X = X = X.copy()
            X._chunks = (tuple(lengths), X.chunks[1])
        self._delayed = list(np.ravel(X.to_delayed()))
        self._edges = list(accumulate(lengths, initial=0))
        n, p = self._edges[-1], sample.shape[1]
        if n == 0:
            raise empty(n, p, (n, p))
        self.shape = (n, p)
        self.kind, self.dtype, self.names = sample.kind, sample.dtype, sample.names
        self.traits = replace(sample.traits, by_feature=not framed, in_memory=False, n_bytes=0, engine=DASK)

    def blocks(self, rows: int) -> Iterator[Array]:
        read = (block for part in self.parts(1) for block in _computed(part).blocks(rows))
        if rows < int(self.shape[0] or 0):
            yield from read
        else:
            yield concat_rows(list(read))

    def blocks_keeping(self, rows: int, names: Sequence[str]) -> Iterator[tuple[Array, Any]]:
        if not names:
            return super().blocks_keeping(rows, names)
        return (pair for part in self.parts(1) for pair in part.blocks_keeping(rows, names))

    def parts(self, k: int, least: int = 1) -> list[Source]:
        """One source for each partition that has rows, whatever `k` is, or for several with fewer than `least` rows."""
        lengths = [j - i for i, j in pairwise(self._edges)]
        groups = adjacent(lengths, least)
        return [self._part([self._piece(i, 0, lengths[i]) for i in group]) for group in groups]

    def between(self, i: int, j: int) -> Source:
        edges = enumerate(pairwise(self._edges))
        pieces = [self._piece(number, max(i - s, 0), min(j, e) - s) for number, (s, e) in edges]
        return self._part([piece for piece in pieces if piece.start < piece.stop])

    def features(self) -> Source:
        if not self.traits.by_feature:
            return super().features()
        return self._inherit(DaskSource(self._X.T, self._open), transposed=True)

    @property
    def first_block(self) -> Source:
        """A source of one or two made-up rows, stored as the partitions are."""
        return self._sample

    @property
    def open_block(self) -> Callable[[Any], Source]:
        """Opens one partition."""
        return self._open

    def empty(self, *shape: int) -> Array:
        return self._sample.empty(*shape)

    def _piece(self, number: int, start: int, stop: int) -> _Piece:
        first, end = self._edges[number : number + 2]
        return _Piece(self._delayed[number], start, stop, end - first, first)

    def _part(self, pieces: list[_Piece]) -> Source:
        n = sum(piece.stop - piece.start for piece in pieces)
        return self._inherit(_PartSource(self, pieces, (n, self.shape[1])))


class _Piece(NamedTuple):
    """Rows `start` to `stop` of a partition."""

    block: Any
    start: int
    stop: int
    #: The number of rows of the partition, and the number of its first row in the table.
    length: int
    first: int


class _PartSource(Source):
    """Pieces of one or more partitions, read by a task."""

    def __init__(self, whole: DaskSource, pieces: list[_Piece], shape: tuple[int, int]) -> None:
        self._whole, self._pieces = whole, pieces
        self.shape, self.dtype, self.kind = shape, whole.dtype, whole.kind
        self.traits = whole.traits

    def blocks(self, rows: int) -> Iterator[Array]:
        return _computed(self).blocks(rows)

    def blocks_keeping(self, rows: int, names: Sequence[str]) -> Iterator[tuple[Array, Any]]:
        return _computed(self).blocks_keeping(rows, names)

    def elsewhere(self, lazy: Callable[..., Any]) -> Any:
        # Dask finds lazy partitions inside lists of arguments, and computes them first.
        blocks, where = [piece.block for piece in self._pieces], [piece[1:] for piece in self._pieces]
        names, open_block = self.names, self._whole.open_block
        return lazy(_opened)(blocks, where, self.shape[1], open_block, names, self.table, self.transposed)

    def empty(self, *shape: int) -> Array:
        return self._whole.empty(*shape)

    @property
    def first_block(self) -> Source:
        return self._whole.first_block


def is_dask(X: Any) -> bool:
    """True for Dask arrays and data frames, including those of libraries that build on Dask."""
    return hasattr(X, "__dask_graph__") and hasattr(X, "to_delayed") and hasattr(X, "_meta")


def _computed(part: Source) -> Source:
    """The part as a source whose rows are in the memory of this machine."""
    from dask import delayed

    return part.elsewhere(delayed).compute()


def _opened(
    blocks: list[Any],
    where: list[tuple[int, int, int, int]],
    width: int,
    open_block: Callable[[Any], Source],
    names: Any,
    table: str,
    transposed: bool,
) -> Source:
    """One source of pieces of several partitions; `where` are the other fields of each `_Piece`."""
    sources = []
    for block, (start, stop, length, first) in zip(blocks, where, strict=True):
        try:
            opened = open_block(block)
            if opened.shape != (length, width):
                raise other_partition(opened.shape, (length, width))
        except (TypeError, ValueError) as error:
            raise in_partition(error, first, first + length, "columns" if transposed else "rows") from error
        sources.append(opened.between(start, stop))
    source = sources[0] if len(sources) == 1 else StreamSource(sources, lambda source: source)
    source.names, source.table, source.transposed = names, table, transposed
    return source


def _whole_rows(X: Any) -> Any:
    """A Dask array rechunked so that each chunk has all columns; data frames are returned unchanged."""
    if not hasattr(X, "chunks"):
        if getattr(X, "ndim", 1) != 2:
            raise ValueError(
                "Expected 2D array, got 1D array instead: a Dask series has one column; pass X.to_frame()."
            )
        return X
    if X.ndim != 2:
        raise bad_ndim(X.ndim, X.shape)
    if np.isnan(X.shape[1]):
        raise ValueError("the number of columns of X is not known to Dask; call X.compute_chunk_sizes() first.")
    return X if len(X.chunks[1]) <= 1 else X.rechunk({1: -1})


def _one_row(X: Any) -> Any:
    """A row of zeros, stored as the chunks of X are."""
    p, meta = X.shape[1], X._meta
    if is_sparse(meta):
        return sparse.csr_array((1, p), dtype=X.dtype)
    if isinstance(meta, np.ndarray):
        return np.zeros((1, p), dtype=X.dtype)
    return namespace(meta).zeros((1, p), dtype=meta.dtype)


def _lengths(X: Any, framed: bool) -> list[int]:
    """The number of rows of each partition."""
    import dask

    if not framed and not np.isnan(X.shape[0]):
        return [int(n) for n in X.chunks[0]]
    column = X[[X.columns[0]]] if framed else X
    count = dask.delayed(_n_rows, pure=False)
    return list(dask.compute(*[count(block) for block in np.ravel(column.to_delayed())]))


def _n_rows(block: Any) -> int:
    return int(block.shape[0])
