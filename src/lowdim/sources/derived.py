"""Sources that are made of another one: some of its rows, filled, mapped, or gathered in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from .._core.arrays import (
    Array,
    all_finite,
    astype,
    compute_lazy,
    concat_rows,
    count_true,
    dense,
    digest,
    is_sparse,
    namespace,
    to_numpy,
    wide_dtype,
)
from .._core.threads import free_bytes
from ..errors import no_order, wrong_features
from .array import ArraySource, ShapedSource, SparseSource
from .base import DerivedSource, Source, ViewSource, bad_entry_error, with_rows
from .beside import BesideSource, ColumnsSource
from .frame import is_spark
from .spark_column import CarriedColumn, weighted_sum

# Rows of another source after a feature map.


class MappedSource(DerivedSource):
    """The rows of another source after a feature map: `function` maps a block of b rows to b rows of features.

    Features are computed each time the rows are read and are not kept, so they are never in memory all at once.
    Features of rows of weight zero need not be finite. The number of features is that of `example`, a block of rows; by
    default it is found from the first row of the source, or from no row at all if `function` has an attribute `width`.
    With `widen`, the features of a block of float32 rows are in float64 if they overflow in float32.
    """

    def __init__(
        self,
        parent: Source,
        function: Callable[[Array], Array],
        weights: Array | None = None,
        start: int = 0,
        example: Array | None = None,
        widen: bool = False,
    ) -> None:
        traits = {"views": False, "by_feature": False, "in_memory": False, "costly": True, "stored": 1.0}
        super().__init__(parent, function, weights, start, None, widen, **traits)
        self._function, self._weights, self._start, self._widen = function, weights, start, widen
        if example is None:
            # The first row, or an empty block if that is enough to know the number of features.
            needs_row = parent.traits.sparse or not hasattr(function, "width")
            example = next(iter(parent.first_block.blocks(1))) if needs_row else parent.empty(0, parent.shape[1])
        features = self._mapped(example)
        n, width = parent.shape[0], int(features.shape[1])
        self.shape, self.names, self.table = (n, width), None, f"the features of {parent.table}"
        n_bytes = (n or 0) * width * parent.traits.itemsize if parent.traits.n_bytes else 0
        self.traits = replace(self.traits, sparse=is_sparse(features), n_bytes=n_bytes)

    def blocks(self, rows: int) -> Iterator[Array]:
        return (features for features, _ in self.blocks_keeping(rows, ()))

    def blocks_keeping(self, rows: int, names: Sequence[str]) -> Iterator[tuple[Array, Any]]:
        start = 0
        for block, kept in self.parent.blocks_keeping(rows, names):
            features = self._mapped(block)
            with np.errstate(over="ignore", invalid="ignore"):
                if not all_finite(features):
                    features = self._repaired(block, features, start)
            start += block.shape[0]
            yield features, kept

    def moved(self, move_rows: Callable[[Source], Source], move: Callable[..., Any]) -> Source:
        """The features of the same rows on a device: `move_rows(source)` are the rows there, and
        `move(value, like)` the function and the weights."""
        rows = move_rows(self.parent)
        like = rows.empty(0)
        weights = move(self._weights, like)
        mapped = MappedSource(rows, move(self._function, like), weights, self._start, widen=self._widen)
        mapped.table = self.table
        return mapped

    def parts(self, k: int, least: int = 1) -> list[Source]:
        parts = self.parent.parts(k, least)
        if len(parts) == 1:
            return [self.of_other(parts[0])]
        return [
            MappedSource(part, self._function, weights, self._start + i, widen=self._widen)
            for part, i, weights in with_rows(parts, self._weights)
        ]

    def identity(self) -> dict[str, Any]:
        # The map may be any function: it is known by the features of the first row.
        first = next(self.parent.first_block.blocks(1))[:1, :]
        return {"rows": self.parent.identity(), "features": self.form() | {"first row": digest(self._mapped(first))}}

    def row_label(self, i: int, column: int = 0) -> str:
        return self.parent.row_label(i)

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
        if self._widen and self.parent.traits.itemsize < 8:
            features = self._mapped(astype(block, wide_dtype(block)))
        weights = None if self._weights is None else self._weights[start : start + block.shape[0]]
        if weights is not None and not is_sparse(features):
            xp = namespace(features)
            features = xp.where((weights <= 0)[:, None], xp.zeros_like(features), features)
        if self.parent.kind == "objects" or all_finite(features):
            return features
        first = self._start + start
        error = bad_entry_error(self.parent, block, range(first, first + block.shape[0]), weights)
        if error is not None:
            raise error
        return features


# A table whose inner products of rows are known already.


class KnownSource(ViewSource):
    """Another source, together with the inner products of its rows, which need not be computed again.

    The products are kept for those who read the rows; the source itself does not look at them.
    """

    def __init__(self, parent: Source, products: Any) -> None:
        super().__init__(parent, known_products=True)
        self.products = products

    def of_other(self, parent: Source) -> Source:
        return parent

    def elsewhere(self, place: Callable[[Any], Any]) -> Any:
        return self.parent.elsewhere(place)

    def narrowed(self) -> Source | None:
        return self.parent.narrowed()

    def place(self, column: int) -> Any:
        return self.parent.place(column)


# Sums over the rows, of weights and of results.


def sum_of(along: Array | CarriedColumn) -> float:
    """The sum of weights."""
    return along.total if isinstance(along, CarriedColumn) else float(namespace(along).sum(along))


def count_positive(along: Array | CarriedColumn) -> int:
    """The number of positive weights."""
    return along.n_positive if isinstance(along, CarriedColumn) else count_true(along > 0)


def in_order(source: Source) -> bool:
    """Whether the rows of a source have an order, so that they can be numbered."""
    return source.traits.engine is None or source.traits.engine.ordered


# Results with one number for each row, as an array or as the last column of a data frame of Spark: their sums.


def mean_of_results(results: Any, weights: Any = None) -> float:
    """The mean of numbers, one for each row: of an array, or of the last column of a data frame of Spark. With weights,
    rows of weight zero are left out."""
    if is_spark(results):
        total, weight = weighted_sum(results, weights)
        return total / weight
    if weights is None:
        return float(namespace(results).mean(results))
    each = to_numpy(compute_lazy(results)).astype(np.float64)
    return float(np.average(each[weights > 0], weights=weights[weights > 0]))


def sum_of_results(results: Any) -> tuple[float, int]:
    """The sum of such numbers, and how many there are."""
    if is_spark(results):
        total, n = weighted_sum(results)
        return total, int(n)
    return float(namespace(results).sum(results)), results.shape[0]


# All rows of a source in memory at once, for what cannot be computed block by block.


#: Rows of unknown number are gathered in blocks of this size.
_BLOCK_BYTES = 8 << 20


def gather(source: Source, purpose: str) -> Source:
    """The rows of a source as a source in memory; `source` itself if its rows are there already.

    One pass, also over tables that are columns of the same stream. The memory is that of all rows, and twice as much
    while they are gathered if their number is not known beforehand. An error says how much is missing, before anything
    is read if the number is known, otherwise as soon as the rows read so far and a copy of them do not fit, and names
    the `purpose` for which the rows are needed.
    """
    return _held(source, partial(_gathered, purpose=purpose))


def _gathered(source: Source, purpose: str) -> Source:
    """The rows of one source in memory; see `gather`."""
    if source.shape[0] is not None:
        _require_memory(source, source.shape[0], purpose)
        rows = _all_rows(source, source.shape[0])
    else:
        blocks: list[Array] = []
        n = 0
        for block in source.blocks(max(1, _BLOCK_BYTES // (source.shape[1] * source.traits.itemsize))):
            blocks.append(block)
            n += block.shape[0]
            # For each block there must be room for it and for all blocks joined.
            _require_memory(source, n, purpose)
        rows = concat_rows(blocks)
    held: Source = SparseSource(rows) if is_sparse(rows) else ArraySource(rows)
    held.transposed, held.origin = source.transposed, source
    held.traits = replace(held.traits, to_device=source.traits.to_device)
    return held


def _held(source: Source, hold: Callable[[Source], Source]) -> Source:
    """The source if its rows are in memory; otherwise what `hold` makes of each source that it reads."""
    if source.traits.in_memory:
        return source
    if isinstance(source, BesideSource):
        return source.changed(partial(_held, hold=hold))
    if isinstance(source, ColumnsSource):
        return source.of_other(_held(source.parent, hold))
    held = hold(source)
    held.names, held.table, held.vector = source.names, source.table, source.vector
    return held


def entries_of(source: Source) -> np.ndarray:
    """All rows of a source as one array, in their order. One pass."""
    if not in_order(source):
        raise no_order(f"the entries of {source.table}")
    return np.concatenate([to_numpy(dense(block)) for block in source.blocks(1 << 16)])


def with_known_length(source: Source, purpose: str) -> Source:
    """The source, or its rows in memory if their number is not known or they can be read only once."""
    once = source.shape[0] is None or not source.traits.rereadable
    return gather(source, purpose) if once and not source.traits.remote else source


def as_if_gathered(source: Source, n: int) -> Source:
    """A source without rows that has the traits of `gather(source)`, for a plan that reads nothing; it has n rows if
    their number is not known."""

    def without_rows(source: Source) -> Source:
        traits, shape = source.traits, (source.shape[0] or n, source.shape[1])
        n_bytes = int(shape[0] * shape[1] * traits.stored * traits.itemsize)
        there: Any = {"rereadable": True, "by_feature": True, "whole": True, "in_memory": True}
        shaped = ShapedSource(shape, replace(traits, n_bytes=n_bytes, part_bytes=0, reading_bytes=0, **there))
        shaped.kind = source.kind
        return shaped

    return _held(source, without_rows)


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
        raise MemoryError(
            f"all rows of {source.table}, of shape {(n, source.shape[1])}, are needed in memory {purpose}: that is "
            f"{needed / 2**30:.1f} GiB, and {free / 2**30:.1f} GiB are free. Pass fewer rows or columns, or choose a "
            "solver that reads block by block."
        )


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
