"""A table read by columns without some of its rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from .._xp import Array, asarray_like, is_sparse, namespace
from .base import Source


class CountedSource(Source):
    """The rows `keep` of another source, which are those of positive weight. Only its features can be read."""

    def __init__(self, source: Source, keep: np.ndarray) -> None:
        self._source, self._keep = source, keep
        self.shape, self.dtype, self.kind = (len(keep), source.shape[1]), source.dtype, source.kind
        self.names, self.table, self.transposed = source.names, source.table, source.transposed
        self.traits = replace(source.traits, whole=False, n_bytes=0, views=False)

    def blocks(self, rows: int) -> Iterator[Array]:
        raise TypeError("this source can be read feature by feature only; read the rows with their weights instead.")

    def features(self) -> Source:
        return _Shortened(self._source.features(), self._keep)

    def empty(self, *shape: int) -> Array:
        return self._source.empty(*shape)


class _Shortened(Source):
    """Features without the entries of some samples."""

    def __init__(self, features: Source, keep: np.ndarray) -> None:
        self._features, self._keep = features, keep
        self.shape, self.dtype, self.kind = (features.shape[0], len(keep)), features.dtype, features.kind
        self.names, self.table, self.transposed = features.names, features.table, features.transposed
        self.traits = features.traits

    def blocks(self, rows: int) -> Iterator[Any]:
        for block in self._features.blocks(rows):
            if is_sparse(block) or isinstance(block, np.ndarray):
                yield block[:, self._keep]
            else:
                yield namespace(block).take(block, asarray_like(self._keep, block), axis=1)

    def parts(self, k: int, least: int = 1) -> list[Source]:
        return [_Shortened(part, self._keep) for part in self._features.parts(k, least)]

    def elsewhere(self, lazy: Callable[..., Any]) -> Any:
        return lazy(_Shortened)(self._features.elsewhere(lazy), self._keep)

    def row(self, i: int) -> int:
        return int(self._keep[i])

    def row_label(self, i: int, column: int = 0) -> str:
        return self._features.row_label(i, column)

    def empty(self, *shape: int) -> Array:
        return self._features.empty(*shape)
