"""Iterables of blocks: generators, lists of blocks, and functions that return a fresh iterator."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from .._xp import Array, concat_rows
from ..errors import exhausted_stream, mixed_blocks, not_iterable, other_length, other_names, ragged_blocks
from .base import Source


class StreamSource(Source):
    """Rows of an iterable of blocks, which may have any number of rows.

    Parameters
    ----------
    blocks : iterable, or callable that returns one
        2-D blocks of the same width and dtype. An iterator can be read once, any other iterable or a callable as often
        as needed.
    open_block : callable
        Opens one block as a source (arrays, sparse matrices and tables can be blocks).

    Notes
    -----
    Large blocks are cut to the requested size. Small blocks are joined, which copies them, until they have at least an
    eighth of that size; at most one such joined block is held at a time.
    """

    def __init__(self, blocks: Any, open_block: Callable[[Any], Source]) -> None:
        self._blocks = blocks
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
        known = isinstance(blocks, list | tuple)
        n = sum(len(b) if not hasattr(b, "shape") else b.shape[0] for b in blocks) if known else None
        self.shape = (n, first.shape[1])
        self.kind = first.kind
        self.dtype = first.dtype
        self.names = first.names
        self.vector = first.vector
        self.traits = replace(first.traits, rereadable=not self._once, by_feature=False, whole=False, n_bytes=0)

    def blocks(self, rows: int) -> Iterator[Array]:
        gathered: list[Array] = []
        count = n = 0
        for source in self._sources():
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

    @property
    def first_block(self) -> Source:
        return self._prototype

    def empty(self, *shape: int) -> Array:
        return self._prototype.empty(*shape)

    def _sources(self) -> Iterator[Source]:
        """The source of each block, from the first block on."""
        if self._first is not None:
            first: Source | None = self._first
            self._first = None
        elif self._once:
            raise exhausted_stream("on the second reading")
        else:
            self._begin()
            first = self._next_source()
        if first is None:
            raise exhausted_stream("on the second reading")
        source: Source | None = first
        while source is not None:
            index = self._count - 1
            if source.shape[1] != self.shape[1]:
                raise ragged_blocks(index, source.shape[1], self.shape[1])
            if source.names != self.names:
                raise other_names(index, source.names, self.names)
            if source.kind != self.kind or source.dtype != self.dtype:
                raise mixed_blocks(index, source.kind, self.kind)
            yield source
            source = self._next_source()

    def _begin(self) -> None:
        blocks = self._blocks() if callable(self._blocks) else self._blocks
        if not hasattr(blocks, "__iter__") and not hasattr(blocks, "__getitem__"):
            raise not_iterable(blocks)
        self._iterator: Iterator[Any] = iter(blocks)
        self._count = 0

    def _next_source(self) -> Source | None:
        """The source of the next block that has rows, or None at the end; `_count` is the number of blocks taken."""
        for block in self._iterator:
            self._count += 1
            if getattr(block, "shape", (1,))[0] == 0:
                continue
            try:
                return self._open(block)
            except (TypeError, ValueError) as error:
                raise type(error)(f"block {self._count - 1} of the stream: {error}") from error
        return None
