"""Rows of another source after a feature map."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from .._digest import digest
from .._xp import Array, all_finite, astype, device, is_sparse, namespace, wide_dtype
from ..errors import wrong_features
from .bad_entries import bad_entry_error
from .base import Source


class MappedSource(Source):
    """The rows of another source after a feature map: `function` maps a block of b rows to b rows of features.

    Features are computed each time the rows are read and are not kept, so they are never in memory all at once.
    Features of rows of weight zero need not be finite. The number of features is that of `example`, a block of rows; by
    default it is found from the first row of the source, or from no row at all if `function` has an attribute `width`.
    With `widen`, the features of a block of float32 rows are in float64 if they overflow in float32.
    """

    def __init__(
        self,
        source: Source,
        function: Callable[[Array], Array],
        weights: Array | None = None,
        start: int = 0,
        example: Array | None = None,
        widen: bool = False,
    ) -> None:
        self._source, self._function, self._weights, self._start = source, function, weights, start
        self._widen = widen
        features = self._mapped(self._example() if example is None else example)
        width, in_sparse = int(features.shape[1]), is_sparse(features)
        self.shape = (source.shape[0], width)
        self.dtype, self.kind, self.files = source.dtype, source.kind, source.files
        self.table = f"the features of {source.table}"
        n, itemsize = source.shape[0] or 0, source.traits.itemsize
        self.traits = replace(
            source.traits,
            views=False,
            by_feature=False,
            in_memory=False,
            costly=True,
            sparse=in_sparse,
            stored=1.0,
            n_bytes=n * self.shape[1] * itemsize if source.traits.n_bytes else 0,
        )

    def blocks(self, rows: int) -> Iterator[Array]:
        return (features for features, _ in self.blocks_keeping(rows, ()))

    def blocks_keeping(self, rows: int, names: Sequence[str]) -> Iterator[tuple[Array, Any]]:
        start = 0
        for block, kept in self._source.blocks_keeping(rows, names):
            features = self._mapped(block)
            with np.errstate(over="ignore", invalid="ignore"):
                if not all_finite(features):
                    features = self._repaired(block, features, start)
            start += block.shape[0]
            yield features, kept

    def placed(self, place_rows: Callable[[Source], Source], place: Callable[..., Any]) -> Source:
        """The features of the same rows somewhere else: `place_rows(source)` are the rows there, and
        `place(value, like)` the function and the weights."""
        rows = place_rows(self._source)
        like = rows.empty(0)
        weights = place(self._weights, like)
        mapped = MappedSource(rows, place(self._function, like), weights, self._start, widen=self._widen)
        mapped.table = self.table
        return mapped

    def parts(self, k: int, least: int = 1) -> list[Source]:
        parts = self._source.parts(k, least)
        if len(parts) == 1:
            return [MappedSource(parts[0], self._function, self._weights, self._start, widen=self._widen)]
        edges = pairwise(accumulate((int(part.shape[0] or 0) for part in parts), initial=0))
        return [self._part(part, i, j) for part, (i, j) in zip(parts, edges, strict=True)]

    def identity(self) -> dict[str, Any]:
        # The map may be any function: it is known by the features of the first row.
        first = next(self._source.first_block.blocks(1))[:1, :]
        return {"rows": self._source.identity(), "features": self.form() | {"first row": digest(self._mapped(first))}}

    def elsewhere(self, lazy: Callable[..., Any]) -> Any:
        return lazy(MappedSource)(
            self._source.elsewhere(lazy), self._function, self._weights, self._start, widen=self._widen
        )

    def empty(self, *shape: int) -> Array:
        return self._source.empty(*shape)

    def row_label(self, i: int, column: int = 0) -> str:
        return self._source.row_label(i)

    def _example(self) -> Array:
        """The first row, or an empty block if `function` has an attribute `width` and the rows are not sparse."""
        if hasattr(self._function, "width") and not self._source.traits.sparse:
            return self._source.empty(0, self._source.shape[1])
        return next(iter(self._source.first_block.blocks(1)))

    def _part(self, part: Source, i: int, j: int) -> Source:
        """The features of `part`, which holds rows i to j of the source."""
        weights = None if self._weights is None else self._weights[i:j]
        return MappedSource(part, self._function, weights, self._start + i, widen=self._widen)

    def _mapped(self, block: Array) -> Array:
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            features = self._function(block)
        if getattr(features, "ndim", 0) != 2 or features.shape[0] != block.shape[0]:
            raise wrong_features(tuple(getattr(features, "shape", ())), block.shape[0])
        return features

    def _repaired(self, block: Array, features: Array, start: int) -> Array:
        """Features of a block that are not all finite, with zeros for rows of weight zero. If the block itself has an
        entry that is not finite, an error names it. Non-finite features of finite rows are returned unchanged; the
        caller reports them."""
        if self._widen and self._source.traits.itemsize < 8:
            features = self._mapped(astype(block, wide_dtype(namespace(block), device(block))))
        weights = None if self._weights is None else self._weights[start : start + block.shape[0]]
        if weights is not None and not is_sparse(features):
            xp = namespace(features)
            features = xp.where((weights <= 0)[:, None], xp.zeros_like(features), features)
        if self._source.kind == "objects" or all_finite(features):
            return features
        first = self._start + start
        error = bad_entry_error(self._source, block, range(first, first + block.shape[0]), weights)
        if error is not None:
            raise error
        return features
