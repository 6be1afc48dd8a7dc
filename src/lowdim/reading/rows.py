"""What solvers get of the data: `Rows` for summaries, and windows of rows for training."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np
from scipy import sparse

from .._core.arrays import (
    Array,
    Beside,
    all_finite,
    asarray_like,
    astype,
    compute_lazy,
    concat_rows,
    dense,
    is_sparse,
    namespace,
    to_numpy,
)
from .._core.threads import Progress, check_stop, watcher
from ..errors import MissingValues, needs_all_rows, no_checkpoint_with_missing
from ..sources.base import DerivedSource, Source, bad_entry_error, with_rows
from ..sources.beside import BesideSource
from ..sources.derived import MappedSource, gather
from ..sources.opening import open_source
from ..sources.spark_column import CarriedColumn
from ..summaries.base import Summary
from ..summaries.moments import ScatterSummary
from .checkpoint import Checkpoint
from .map import map_rows, without_float_warnings
from .summarizing import check_all_weights, rows_to_map, summarize, summarize_source, weights_of

# Windows of rows for training: as many rows as are shuffled together, read one window after another.


#: A window of rows that can be read from anywhere consists of this many pieces from different places.
_PIECES = 16


@dataclass(frozen=True)
class Window:
    """Rows in memory, dense or sparse, and their weights."""

    X: Array
    weights: Array | None


def windows(
    source: Source,
    weights: Any,
    size: int,
    random: np.random.Generator | None = None,
    progress: Progress | None = None,
) -> Iterator[Window]:
    """The rows of a source in windows of about `size` rows; one pass, and the memory of a window.

    Rows come in their order. With `random`, a window of rows that can be read from anywhere consists of pieces from
    random places of the table. NaN is a missing value; infinity is refused.
    """
    progress = watcher(progress)
    held: list[tuple[Array, Array | None]] = []
    count = 0
    for block, counts in _blocks(source, weights, size, random):
        check_stop()
        if progress is not None:
            if not held:
                # Each window is reported as a pass of its own, since other passes may come between two of them.
                progress.begin("Window", None, size)
            progress.step()
        held.append((block, counts))
        count += int(block.shape[0])
        if count >= size:
            yield _window(held, progress)
            held, count = [], 0
    if held:
        yield _window(held, progress)


def _window(held: list[tuple[Array, Array | None]], progress: Progress | None) -> Window:
    """The window of some blocks and their weights."""
    if progress is not None:
        progress.end()
    blocks, weights = zip(*held, strict=True)
    return Window(concat_rows(list(blocks)), None if weights[0] is None else concat_rows(list(weights)))


def _blocks(
    source: Source, weights: Any, size: int, random: np.random.Generator | None
) -> Iterator[tuple[Array, Array | None]]:
    """Blocks of rows that hold no infinity, with their weights."""
    if isinstance(weights, CarriedColumn):
        # The weights are the last column of rows that come in any order.
        for block in BesideSource(weights.beside(source)).blocks(min(size, rows_to_map(source))):
            joined = block.joined() if isinstance(block, Beside) else dense(block)
            _require_finite(source, joined[:, :-1], 0)
            yield joined[:, :-1], joined[:, -1]
        return
    for part, start in _parts(source, size, random):
        n = start
        for block in part.blocks(min(size, rows_to_map(source))):
            block = block.joined() if isinstance(block, Beside) else block
            _require_finite(source, block, n)
            yield block, None if weights is None else weights_of(block, n, weights)
            n += int(block.shape[0])
        if part is source and weights is not None:
            check_all_weights(weights, n)


def _parts(source: Source, size: int, random: np.random.Generator | None) -> list[tuple[Source, int]]:
    """The source itself or, in random order, its pieces; each with the number of its first row."""
    n = source.shape[0]
    if random is None or n is None or n <= size or not source.can_be_cut or source.traits.remote:
        return [(source, 0)]
    step = max(1, size // _PIECES)
    pieces = list(pairwise([*range(0, n, step), n]))
    return [(source.between(*pieces[i]), pieces[i][0]) for i in random.permutation(len(pieces))]


def _require_finite(source: Source, block: Array, start: int) -> None:
    """Raise an error that names the first infinity of a block."""
    with without_float_warnings():
        if not all_finite(block):
            error = bad_entry_error(source, block, range(start, start + block.shape[0]), takes_nan=True)
            if error is not None:
                raise error


# A table read by columns without some of its rows.


class CountedSource(DerivedSource):
    """The rows `keep` of another source, which are those of positive weight. Only its features can be read."""

    def __init__(self, parent: Source, keep: np.ndarray) -> None:
        super().__init__(parent, keep, whole=False, n_bytes=0, views=False)
        self.shape = (len(keep), parent.shape[1])

    def blocks(self, rows: int) -> Iterator[Array]:
        raise TypeError("this source can be read feature by feature only; read the rows with their weights instead.")

    def features(self) -> Source:
        return _Shortened(self.parent.features(), *self._arguments)


class _Shortened(DerivedSource):
    """Features without the entries of some samples."""

    def __init__(self, parent: Source, keep: np.ndarray) -> None:
        super().__init__(parent, keep)
        self._keep = keep
        self.shape = (parent.shape[0], len(keep))

    def blocks(self, rows: int) -> Iterator[Any]:
        for block in self.parent.blocks(rows):
            if is_sparse(block) or isinstance(block, np.ndarray):
                yield block[:, self._keep]
            else:
                yield namespace(block).take(block, asarray_like(self._keep, block), axis=1)

    def row(self, i: int) -> int:
        return int(self._keep[i])


# A table whose columns are multiplied by numbers.


class ScaledSource(DerivedSource):
    """Rows of another source, with each column multiplied by a number."""

    def __init__(self, parent: Source, factor: Array) -> None:
        super().__init__(parent, factor, views=False)
        self._factor = factor

    def blocks(self, rows: int) -> Iterator[Any]:
        # In the transpose, each row belongs to one of the numbers.
        start = 0
        for block in self.parent.blocks(rows):
            stop = start + int(block.shape[0])
            factor = self._factor[start:stop, None] if self.transposed else self._factor[None, :]
            if is_sparse(block):
                yield block.multiply(to_numpy(factor)).tocsr().astype(block.dtype, copy=False)
            else:
                yield block * astype(asarray_like(factor, block), block.dtype)
            start = stop

    def features(self) -> Source:
        return self.of_other(self.parent.features())

    def parts(self, k: int, least: int = 1) -> list[Source]:
        parts = self.parent.parts(k, least)
        if not self.transposed or len(parts) == 1:
            return [self.of_other(part) for part in parts]
        return [ScaledSource(part, some) for part, _, some in with_rows(parts, self._factor)]


# Standardised rows in which missing entries are zero.


class FilledSource(DerivedSource):
    """(x - mean) / scale for the rows x of another source; zero if x is NaN or, with `unstored`, not stored.

    This fills missing entries with the mean of their column. In standardised rows that is zero, so that sparse rows
    stay sparse.
    """

    def __init__(self, parent: Source, mean: Array, scale: Array, unstored: bool = False) -> None:
        sparse_rows = unstored and parent.traits.sparse
        traits = {"by_feature": False, "in_memory": False, "sparse": sparse_rows, "views": False}
        super().__init__(parent, mean, scale, unstored, **traits)
        self._mean, self._scale = mean, scale

    def blocks(self, rows: int) -> Iterator[Array]:
        for block in self.parent.blocks(rows):
            if self.traits.sparse:
                columns = block.indices
                z = ((block.data - self._mean[columns]) / self._scale[columns]).astype(self.dtype)
                z[np.isnan(z)] = 0.0
                yield sparse.csr_array((z, columns, block.indptr), shape=block.shape, copy=False)
            else:
                block = dense(block)
                xp = namespace(block)
                z = astype((block - self._mean) / self._scale, self.dtype)
                yield xp.where(xp.isnan(block), xp.zeros_like(z), z)


# `Rows`: the view of the data that solvers get.


S = TypeVar("S", bound=Summary)

#: A summary of up to this many columns (half a megabyte) is small.
_SMALL_SUMMARY = 256


class CheckpointedPass:
    """The first pass over the rows of a fit has a checkpoint; later passes have none.

    The file holds the sums of all rows until it is removed: a fit that is interrupted after this pass need not read the
    rows for it again.
    """

    def __init__(self, checkpoint: Checkpoint) -> None:
        self._checkpoint: Checkpoint | None = checkpoint
        self._missing: MissingValues | None = None

    def run(self, source: Source, summary: S, weights: Array | None, progress: Progress | None) -> S:
        """Summarize the rows, with the checkpoint if no pass had it before."""
        if self._missing is not None:
            raise no_checkpoint_with_missing(self._missing) from self._missing
        checkpoint, self._checkpoint = self._checkpoint, None
        try:
            return summarize_source(source, summary, weights, progress, checkpoint, keep=True)
        except MissingValues as error:
            # Solvers that take missing values read the rows again. That takes many passes, without a checkpoint.
            self._missing = None if checkpoint is None else error
            raise


class Rows:
    """`summarize` and `map_rows` bound to one source and its weights: the view of the data that solvers get."""

    def __init__(
        self,
        source: Source,
        weights: Array | None = None,
        progress: Progress | None = None,
        first_pass: CheckpointedPass | None = None,
    ) -> None:
        self.shape = source.shape
        self.traits = source.traits
        self.dtype = source.dtype
        self.weights = weights
        self.source = source
        self.names = source.names
        self.progress = progress
        self.first_pass = first_pass
        #: The last summary of mean and scatter, if it is small: a model may keep it, to go on with further rows.
        self.small_summary: ScatterSummary | None = None
        self._kept: dict[type[Summary], Any] = {}

    def summarize(self, summary: S) -> S:
        """One pass over the rows."""
        run = summarize_source if self.first_pass is None else self.first_pass.run
        found = run(self.source, summary, self.weights, self.progress)
        if isinstance(found, ScatterSummary) and found.n_features <= _SMALL_SUMMARY:
            self.small_summary = found
        return found

    def summarize_once(self, summary: S) -> tuple[S, int]:
        """The same, and the number of passes, none if a summary of this class with the same parameters was asked for
        before: it is kept, for several fits to the same rows."""
        known = self._kept.get(type(summary))
        if known is not None and all(getattr(known, name) == getattr(summary, name) for name in summary.parameters):
            return known, 0
        self._kept[type(summary)] = found = self.summarize(summary)
        return found, 1

    def map(self, function: Callable[[Array], Array]) -> Array:
        """One pass over the rows; the result has one row for each."""
        return map_rows(self.source, function)

    def windows(self, size: int, random: np.random.Generator | None = None) -> Iterator[Window]:
        """One pass over the rows, in windows of about `size` rows; see `windows`."""
        return windows(self.source, self.weights, size, random, self.progress)

    def first_block(self) -> Rows | None:
        """The first rows of a stream, without consuming them; None if the source has no separate first block."""
        first = self.source.first_block
        return None if first is self.source else Rows(first)

    def shows_missing(self) -> bool:
        """Whether there is a NaN in the first rows, as far as that can be found out cheaply.

        One block of the usual size is checked, without rows of weight zero; of sparse rows, the stored entries.
        Streams are not consumed, and rows on other machines or rows that have to be computed are not read: the result
        is then False, as it is if the first NaN comes later.
        """
        return any(_shows_missing(table, self.weights) for table in self.source.members)

    def of(self, X: Any, weights: Array | None = None, progress: Progress | None = None) -> Rows:
        """The `Rows` of another array, which is in memory."""
        return Rows(open_source(X), weights, progress)

    def summarize_features(self, summary: S) -> S:
        """One pass over the columns, or none if the inner products of the rows are known and all that is needed."""
        found = None if self.source.products is None else summary.from_products(self.source.products)
        return summarize(self.source.features(), summary, progress=self.progress) if found is None else found

    def map_features(self, function: Callable[[Array], Array]) -> Array:
        """One pass over the columns; the result, one row for each column, is in memory wherever the rows are held."""
        return compute_lazy(map_rows(self.source.features(), function))

    def narrowed(self) -> Rows | None:
        """The same rows in float32 if that costs little memory and no value is out of range; otherwise None."""
        source = self.source.narrowed()
        return None if source is None else Rows(source, self.weights, self.progress)

    def filled(self, mean: Array, scale: Array, unstored: bool) -> Rows:
        """The standardised rows (x - mean) / scale, with zero for missing entries."""
        return Rows(FilledSource(self.source, mean, scale, unstored=unstored), self.weights, self.progress)

    def scaled(self, factor: Array) -> Rows:
        """The rows with each column multiplied by a number."""
        return Rows(ScaledSource(self.source, factor), self.weights, self.progress)

    def counted(self) -> Rows:
        """The rows of positive weight; the result can be read by columns only, unless no row has weight zero."""
        if self.weights is None:
            return self
        keep = np.flatnonzero(to_numpy(self.weights) > 0)
        if len(keep) == self.weights.shape[0]:
            return self
        weights = namespace(self.weights).take(self.weights, asarray_like(keep, self.weights), axis=0)
        counted: Source = CountedSource(self.source, keep)
        if self.source.products is not None:
            counted.products = self.source.products.of_samples(keep)
        return Rows(counted, weights, self.progress)

    def mapped(self, function: Callable[[Array], Array], example: Array | None = None, *, widen: bool = False) -> Rows:
        """The rows after a feature map, which is applied block by block each time they are read.

        `example` is a block to find the number of features from; by default the first row is. With `widen`, features
        that overflow in float32 are computed in float64.
        """
        source = MappedSource(self.source, function, self.weights, example=example, widen=widen)
        return Rows(source, self.weights, self.progress, self.first_pass)

    def whole(self, model: str) -> tuple[Array, Array | None]:
        """All rows of positive weight as one array, whose entries are checked to be finite, and their weights."""
        source, weights = self.source, self.weights
        if source.shape[0] is None or not source.traits.whole:
            raise needs_all_rows(model, source.table)
        if isinstance(weights, CarriedColumn):
            # They are the last column of rows that come in any order.
            both = gather(BesideSource(weights.beside(source)), f"for {model}")
            block = next(both.blocks(source.shape[0]))
            joined = block.joined() if isinstance(block, Beside) else dense(block)
            A, weights = joined[:, :-1], joined[:, -1]
        else:
            held = source if source.traits.in_memory else gather(source, f"for {model}")
            A = next(held.blocks(source.shape[0]))
        rows = np.arange(A.shape[0])
        if weights is not None:
            rows = np.flatnonzero(to_numpy(weights) > 0)
            if len(rows) < A.shape[0]:
                index = asarray_like(rows, weights)
                A, weights = (
                    (A[rows] if is_sparse(A) or source.kind == "objects" else namespace(A).take(A, index, axis=0)),
                    namespace(weights).take(weights, index, axis=0),
                )
        if source.kind == "objects":
            return A, weights
        with np.errstate(over="ignore", invalid="ignore"):
            error = None if all_finite(A) else bad_entry_error(source, A, rows)
        if error is not None:
            raise error
        return A, weights

    def empty(self, *shape: int) -> Array:
        """An uninitialised array with the namespace, device and dtype of the rows."""
        return self.source.empty(*shape)


def _shows_missing(source: Source, weights: Array | None) -> bool:
    """`Rows.shows_missing` for one table."""
    first, traits = source.first_block, source.traits
    at_hand = first is not source or traits.whole
    if not at_hand or traits.remote or traits.costly or source.kind == "objects":
        return False
    block = next(first.blocks(rows_to_map(first)))
    with np.errstate(over="ignore", invalid="ignore"):
        if all_finite(block):
            return False
    keep: Any = slice(None) if weights is None else np.flatnonzero(to_numpy(weights[: block.shape[0]]) > 0)
    if is_sparse(block):
        return bool(np.any(np.isnan(block[keep].data)))
    with_missing = to_numpy(namespace(block).any(namespace(block).isnan(block), axis=1))
    return bool(np.any(with_missing[keep]))
