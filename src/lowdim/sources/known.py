"""A table whose inner products of rows are known already."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from .._xp import Array
from .base import Source


class KnownSource(Source):
    """Another source, together with the inner products of its rows, which need not be computed again.

    The products are kept for those who read the rows; the source itself does not look at them.
    """

    def __init__(self, source: Source, products: Any) -> None:
        self._source, self.products = source, products
        self.shape, self.dtype, self.kind = source.shape, source.dtype, source.kind
        self.names, self.table, self.vector = source.names, source.table, source.vector
        self.transposed = source.transposed
        self.traits = replace(source.traits, known_products=True)

    def blocks(self, rows: int) -> Iterator[Array]:
        return self._source.blocks(rows)

    def parts(self, k: int, least: int = 1) -> list[Source]:
        return self._source.parts(k, least)

    def between(self, i: int, j: int) -> Source:
        return self._source.between(i, j)

    @property
    def can_skip(self) -> bool:
        return self._source.can_skip

    def after(self, i: int) -> Source:
        return self._source.after(i)

    def identity(self) -> dict[str, Any]:
        return self._source.identity()

    def elsewhere(self, lazy: Callable[..., Any]) -> Any:
        return self._source.elsewhere(lazy)

    @property
    def first_block(self) -> Source:
        first = self._source.first_block
        return self if first is self._source else first

    def features(self) -> Source:
        return self._source.features()

    def narrowed(self) -> Source | None:
        return self._source.narrowed()

    def empty(self, *shape: int) -> Array:
        return self._source.empty(*shape)

    def row(self, i: int) -> int:
        return self._source.row(i)

    def row_label(self, i: int, column: int = 0) -> str:
        return self._source.row_label(i, column)

    def place(self, column: int) -> Any:
        return self._source.place(column)
