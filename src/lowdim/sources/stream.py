"""Iterables of blocks: generators, lists of blocks, and functions that return a fresh iterator."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import narwhals as nw
import numpy as np

from .._core.arrays import Array, concat_rows, device, is_array, is_sparse
from ..errors import exhausted_stream, other_length, other_names
from .base import Source
from .frame import is_table

# Joining small blocks of a stream before they are opened, since opening costs more than summing up a few rows.


def form_of(block: Any) -> Any:
    """What blocks must have in common to be joined: type, dtype and columns. None if they cannot be joined."""
    if type(block) is np.ndarray:
        return (block.dtype, block.shape[1:]) if block.dtype.kind in "fiub" and block.ndim in (1, 2) else None
    if is_sparse(block):
        return (type(block), block.dtype, block.shape[1:]) if block.format == "csr" and block.ndim == 2 else None
    if isinstance(block, np.ndarray):
        # Masked arrays and other classes that derive from arrays are opened one by one.
        return None
    if is_array(block):
        return type(block), block.dtype, device(block), tuple(block.shape[1:])
    if is_table(block) and not isinstance(block, nw.DataFrame):
        return type(block), tuple(nw.from_native(block, eager_only=True).schema.items())
    return None


def joined(blocks: list[Any]) -> Any:
    """Blocks of the same form as one block."""
    if len(blocks) > 1 and is_table(blocks[0]):
        return nw.concat([nw.from_native(block, eager_only=True) for block in blocks]).to_native()
    return concat_rows(blocks)


# Blocks of an iterator that writes each block into the same memory.


#: The number of first blocks that are watched.
_WATCHED = 4


def without_reuse(blocks: Iterable[Any]) -> Iterator[Any]:
    """The same blocks, which later blocks do not overwrite.

    Several blocks are held at a time, to join small ones and to sum up large ones in threads. An iterator that fills
    one array again and again would overwrite those that are held. The first few blocks are copied and compared: if two
    of them have memory in common, all further ones are copied as well. An iterator that takes turns between more than
    three arrays is not noticed.
    """
    watched: list[np.ndarray] = []
    reuses, watching = False, True
    for block in blocks:
        if not isinstance(block, np.ndarray) or not (reuses or watching):
            yield block
            continue
        if watching:
            reuses = any(np.may_share_memory(block, earlier) for earlier in watched)
            watched.append(block)
            watching = not reuses and len(watched) < _WATCHED
            if not watching:
                watched.clear()
        yield block.copy(order="K")


class StreamSource(Source):
    """Rows of an iterable of blocks, which may have any number of rows.

    Parameters
    ----------
    blocks : iterable, or callable that returns one
        2-D blocks of the same width and dtype. An iterator can be read once, any other iterable or a callable as often
        as needed.
    open_block : callable
        Opens one block as a source (arrays, sparse matrices and tables can be blocks).
    fresh : bool
        Whether each block is known to have memory of its own. Otherwise the first few are copied, to find out.

    Notes
    -----
    Large blocks are cut to the requested size. Small blocks are joined, which copies them, until they have at least an
    eighth of that size; at most one such joined block is held at a time. Blocks of the same form are joined before they
    are opened, so that single rows can be given as blocks. An iterator may fill the same array again and again.
    """

    def __init__(self, blocks: Any, open_block: Callable[[Any], Source], *, fresh: bool = False) -> None:
        self._blocks, self._fresh = blocks, fresh
        self._open = open_block
        self._once = not callable(blocks) and iter(blocks) is blocks
        self._begin()
        first = self._next_source()
        if first is None:
            raise exhausted_stream("while a minimum of 1 is required")
        self._first: Source | None = first
        self._prototype = first
        #: The number of rows that the first complete pass gave; None before its end.
        self._n_read: int | None = None
        self.shape = (_count_rows(blocks), first.shape[1])
        self.kind = first.kind
        self.dtype = first.dtype
        self.names = first.names
        self.vector = first.vector
        self.traits = replace(
            first.traits,
            rereadable=not self._once,
            by_feature=False,
            whole=False,
            in_memory=False,
            n_bytes=0,
            views=False,
        )

    def blocks(self, rows: int) -> Iterator[Array]:
        gathered: list[Array] = []
        count = n = 0
        for source in self._sources(rows):
            for block in source.blocks(rows):
                gathered.append(block)
                count += block.shape[0]
                n += block.shape[0]
                if 8 * count >= rows:
                    yield concat_rows(gathered)
                    gathered, count = [], 0
        if gathered:
            yield concat_rows(gathered)
        if self._n_read not in (None, n):
            raise other_length(n, self._n_read)
        self._n_read = n

    def blocks_keeping(self, rows: int, names: Sequence[str]) -> Iterator[tuple[Array, Any]]:
        if not names:
            return super().blocks_keeping(rows, names)
        return (pair for source in self._sources(rows) for pair in source.blocks_keeping(rows, names))

    @property
    def first_block(self) -> Source:
        return self._prototype

    def empty(self, *shape: int) -> Array:
        return self._prototype.empty(*shape)

    def _sources(self, rows: int) -> Iterator[Source]:
        """The sources of all blocks, from the first block on; small blocks of the same form have one source."""
        source, self._first = self._first, None
        if source is None and not self._once:
            self._begin()
            source = self._next_source()
        if source is None:
            raise exhausted_stream("on the second reading")
        while source is not None:
            # Joined blocks have the same columns and dtype, so the first of them is the first bad one.
            block = f"block {self._index} of the stream"
            before = "the blocks before it" if self._index else "when the stream was read before, it"
            if source.shape[1] != self.shape[1]:
                raise ValueError(
                    f"{block} has {source.shape[1]} columns, {before} had {self.shape[1]}. All blocks must have the "
                    "same columns in the same order."
                )
            if source.names != self._prototype.names:
                raise other_names(self._index, source.names, self._prototype.names)
            if source.kind != self.kind or source.dtype != self.dtype:
                raise ValueError(
                    f"{block} is {source.kind}, {before} {'were' if self._index else 'was'} {self.kind}: all blocks "
                    "must have one dtype, kind and device. Convert them, for example with block.astype('float64'), "
                    "block.toarray() or block.to('cpu')."
                )
            yield source
            source = self._next_source(rows)

    def _begin(self) -> None:
        blocks = self._blocks() if callable(self._blocks) else self._blocks
        if not hasattr(blocks, "__iter__") and not hasattr(blocks, "__getitem__"):
            raise TypeError(
                f"the function that was given as rows returned {type(blocks).__name__}; it must return an iterator "
                "over blocks, a fresh one each time it is called."
            )
        fresh = self._fresh or isinstance(blocks, list | tuple)
        #: Pairs of the number of a block and the block.
        self._iterator: Iterator[tuple[int, Any]] = enumerate(iter(blocks) if fresh else without_reuse(blocks))
        #: A pair that was taken from the iterator and not used yet.
        self._held: tuple[int, Any] | None = None
        #: The number of the first block of the last source.
        self._index = 0

    def _next_source(self, rows: int = 1) -> Source | None:
        """The source of the next blocks that have rows, or None at the end. They are at least an eighth of `rows` rows,
        unless a block of another form follows."""
        group = self._next_blocks(rows)
        if not group:
            return None
        self._index = group[0][0]
        if len(group) > 1:
            try:
                return self._open(joined([block for _, block in group]))
            except (TypeError, ValueError):
                # The blocks are opened one by one, to find the one that is to blame.
                for number, block in group:
                    self._opened(number, block)
                raise
        return self._opened(*group[0])

    def _next_blocks(self, rows: int) -> list[tuple[int, Any]]:
        """The next blocks that have rows, with their numbers: one, or several small ones of the same form."""
        group: list[tuple[int, Any]] = []
        form, count = None, 0
        while (item := next(self._iterator, None) if self._held is None else self._held) is not None:
            self._held = None
            shape = getattr(item[1], "shape", None) or None
            if shape is not None and shape[0] == 0:
                continue
            this = None if shape is None or 8 * shape[0] >= rows else form_of(item[1])
            if group and (this is None or this != form):
                self._held = item
                break
            group.append(item)
            form, count = this, count + (0 if shape is None else shape[0])
            if form is None or 8 * count >= rows:
                break
        return group

    def _opened(self, number: int, block: Any) -> Source:
        """The source of one block."""
        try:
            return self._open(block)
        except (TypeError, ValueError) as error:
            raise type(error)(f"block {number} of the stream: {error}") from error


def _count_rows(blocks: Any) -> int | None:
    """The number of rows of a list of blocks; None if it is not known, also because a block turns out to have none."""
    if not isinstance(blocks, list | tuple):
        return None
    try:
        return sum(block.shape[0] if hasattr(block, "shape") else len(block) for block in blocks)
    except (TypeError, IndexError):
        # The block that has no rows is named when it is opened.
        return None
