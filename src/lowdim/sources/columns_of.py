"""Some columns of another source, which is read once for all tables that are made of its columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from .._xp import Array, astype
from .base import Source


class ColumnsSource(Source):
    """Some columns of another source, the parent, as a table of their own.

    A `BesideSource` of several of them reads the parent once. Blocks have the dtype of the parent unless another one is
    given: columns of float32 stay float32 beside others of float64.

    Parameters
    ----------
    parent : Source
        Its blocks are dense.
    columns : sequence of int
        Numbers of columns of the parent. Neighbouring ones, in their order, are taken without a copy.
    dtype : optional
    """

    def __init__(self, parent: Source, columns: Sequence[int], dtype: Any = None) -> None:
        self.parent, self._columns = parent, list(columns)
        first, p = self._columns[0], len(self._columns)
        self._range = slice(first, first + p) if self._columns == list(range(first, first + p)) else None
        self.shape, self.kind = (parent.shape[0], p), parent.kind
        self.names = None if parent.names is None else [parent.names[j] for j in self._columns]
        self.table, self.transposed, self.files = parent.table, parent.transposed, parent.files
        self.dtype = parent.dtype if dtype is None else dtype
        traits = parent.traits
        self.traits = replace(
            traits,
            by_feature=traits.by_feature and self._range is not None,
            views=False,
            n_bytes=traits.n_bytes * p // parent.shape[1],
            part_bytes=traits.part_bytes * p // parent.shape[1],
            itemsize=traits.itemsize if dtype is None else int(np.dtype(dtype).itemsize),
        )

    def of(self, block: Array) -> Array:
        """These columns of a block of the parent."""
        return astype(block[:, self._columns if self._range is None else self._range], self.dtype)

    def blocks(self, rows: int) -> Iterator[Array]:
        return (self.of(block) for block in self.parent.blocks(rows))

    def blocks_keeping(self, rows: int, names: Sequence[str]) -> Iterator[tuple[Array, Any]]:
        return ((self.of(block), kept) for block, kept in self.parent.blocks_keeping(rows, names))

    def parts(self, k: int, least: int = 1) -> list[Source]:
        return [self.of_other(part) for part in self.parent.parts(k, least)]

    @property
    def can_be_cut(self) -> bool:
        return self.parent.can_be_cut

    def between(self, i: int, j: int) -> Source:
        return self.of_other(self.parent.between(i, j))

    @property
    def can_skip(self) -> bool:
        return self.parent.can_skip

    def after(self, i: int) -> Source:
        return self.of_other(self.parent.after(i))

    def identity(self) -> dict[str, Any]:
        return {"columns": self._columns, "of": self.parent.identity()}

    def elsewhere(self, lazy: Callable[..., Any]) -> Any:
        return lazy(_columns_of)(self.parent.elsewhere(lazy), self._columns, self.dtype, self.table)

    @property
    def first_block(self) -> Source:
        first = self.parent.first_block
        return self if first is self.parent else self.of_other(first)

    def features(self) -> Source:
        if self._range is None:
            return super().features()
        return self._inherit(self.parent.features().between(self._range.start, self._range.stop), transposed=True)

    def empty(self, *shape: int) -> Array:
        return astype(self.parent.empty(*shape), self.dtype)

    def row(self, i: int) -> int:
        return self.parent.row(i)

    def row_label(self, i: int, column: int = 0) -> str:
        return self.parent.row_label(i, self._columns[column])

    def of_other(self, parent: Source) -> Source:
        """The same columns of another parent, such as a piece of this one."""
        other = self._inherit(ColumnsSource(parent, self._columns, self.dtype))
        other.vector = self.vector
        return other


def _columns_of(parent: Source, columns: Sequence[int], dtype: Any, table: str) -> Source:
    """A task: the columns of a partition."""
    some = ColumnsSource(parent, columns, dtype)
    some.table = table
    return some
