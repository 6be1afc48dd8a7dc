"""The only loop over rows: blocks, threads, progress, and errors that name a bad entry.

`summarize` feeds the blocks of a source to a summary; `map_rows` applies a function to each block and stacks the
results. No layer above this module knows where rows are stored.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import accumulate, cycle, pairwise
from typing import Any, TypeVar

import numpy as np

from . import _blas, _threads
from ._threads import Progress
from ._xp import Array, all_finite, asarray_like, compute_lazy, concat_rows, is_sparse, namespace, to_numpy
from .errors import NonFiniteBlock, bad_weights
from .sources import (
    CountedSource,
    FilledSource,
    MappedSource,
    Source,
    bad_entry_error,
    open_source,
    stacked,
    tasks,
    tree,
    unusable_block_error,
)
from .summaries.base import Summary, union
from .summaries.scatter import ScatterSummary

S = TypeVar("S", bound=Summary)

#: Tables of fewer bytes than this are read by a single thread.
_PARALLEL_BYTES = 8 << 20
#: Each of several threads gets up to this many parts of larger tables, but none that is smaller than _PART_BYTES.
_PARTS_PER_THREAD, _PART_BYTES = 8, 8 << 20
#: Size of the blocks of `map_rows`: they stay in the cache of a core between centring and product.
_MAP_BYTES = 1 << 20
#: Blocks that have to be computed, for example by a feature map, have at most this size or 2 p rows, whichever is more.
_MADE_BYTES = 16 << 20
#: Blocks on a device have at least this size: there is no cache to fit, and each block costs kernel launches.
_DEVICE_BYTES = 128 << 20
#: A summary of up to this many columns (half a megabyte) is small.
_SMALL_SUMMARY = 256


def summarize(X: Any, summary: S | type[S], *, weights: Any = None, progress: Progress | None = None) -> S:
    """Add all rows of `X` to `summary` and return it.

    Parameters
    ----------
    X : anything `open_source` reads, or a source
    summary : Summary, or a class of summaries
        Updated in place; a class is instantiated with the number of columns of `X`.
    weights : array of shape (n,), optional
        Frequency weights; rows of weight zero are left out.
    progress : Progress, optional

    Notes
    -----
    One pass. If the product of a block is too small to keep a threaded BLAS busy, threads with a single-threaded BLAS
    take contiguous parts of the rows as they become free. Part i is added to summary i modulo the number of summaries,
    and these are merged in order. The result depends on the number of threads only through rounding, and not on which
    thread is faster. Each partition of a Dask collection is summarized by a task on the machine that holds it, and a
    tree of tasks merges the summaries.

    Examples
    --------
    >>> import numpy as np
    >>> from lowdim import Moments, summarize
    >>> moments = summarize(np.array([[1.0, 2.0], [3.0, 6.0]]), Moments)
    >>> moments.mean
    array([2., 4.])
    """
    source = open_source(X)
    if isinstance(summary, type):
        # Moments, Triangle and Columns need only the number of columns; other summaries have to be passed as objects.
        summary = summary(source.shape[1])  # type: ignore[call-arg] # classes take the width
    if not isinstance(summary, Summary):
        raise TypeError(f"summary must be a summary such as Moments, or its class, got {type(summary).__name__}.")
    if weights is not None:
        weights = check_weights(weights, source)
    traits = source.traits
    rows = _block_rows(source, summary.block_rows(source.shape[1], traits.itemsize, traits.stored))
    parts = _parts(source, summary.threaded_blas, least=max(1, rows // 8))
    if progress is not None:
        progress.begin(type(summary).__name__, len(parts) if traits.remote else _count_blocks(parts, rows))
    step = None if progress is None else progress.step
    if traits.remote:
        _fill_remotely(parts, summary, weights, rows, step)
    elif len(parts) == 1 and source.traits.n_bytes == 0 and source.traits.host and not summary.threaded_blas:
        _add_in_turn(_blocks_to_add(source, weights, rows), summary, step)
    elif len(parts) == 1:
        _fill(source, summary, weights, 0, rows, step)
    else:
        _add_in_turn(_parts_to_add(parts, weights, rows), summary, step, len(parts))
    if progress is not None:
        progress.end()
    return summary


def map_rows(X: Any, function: Callable[[Array], Array], *, takes_nan: bool = False) -> Array:
    """The stacked results of `function(block)` for all blocks of `X`: one pass, without a copy of all rows.

    `function` maps b rows to an array of length b, with one or two axes. If it has an attribute `keeps_sparse` that is
    true, sparse blocks have as many rows as their stored entries allow. NaN and infinity in the rows are detected in
    the results, so `function` must propagate them. With `takes_nan`, `function` treats NaN as missing and must return
    finite results. For a Dask collection the result is a Dask array, and no rows are read until it is computed.
    """
    source = open_source(X)
    rows = _rows_to_map(source, getattr(function, "keeps_sparse", False))
    n = source.shape[0]
    parts = _parts(source, threaded_blas=False)
    if source.traits.remote:
        return _map_remotely(source, parts, partial(_answers, function=function, rows=rows, takes_nan=takes_nan))
    if len(parts) == 1:
        pieces = list(_mapped(source, function, 0, rows, lambda: None, takes_nan))
        return pieces[0] if len(pieces) == 1 else concat_rows(pieces)
    one = function(next(parts[0].blocks(1)))
    out = np.empty((n, *one.shape[1:]), dtype=one.dtype)

    def run(part: Source, start: int, tick: Callable[[], None]) -> None:
        i = start
        for piece in _mapped(part, function, start, rows, tick, takes_nan):
            out[i : i + len(piece)] = piece
            i += len(piece)

    todo = [partial(run, part, start) for part, (start, _) in zip(parts, _edges(parts), strict=True)]
    for _ in _threads.run_in_parallel(todo, n_threads=_blas.available()):
        pass
    return out


class Rows:
    """`summarize` and `map_rows` bound to one source and its weights: the view of the data that solvers get."""

    def __init__(self, source: Source, weights: Array | None = None, progress: Progress | None = None) -> None:
        self.shape = source.shape
        self.traits = source.traits
        self.dtype = source.dtype
        self.weights = weights
        self.source = source
        self.names = source.names
        self.progress = progress
        #: The last summary of mean and scatter, if it is small: a model may keep it, to go on with further rows.
        self.small_summary: ScatterSummary | None = None

    def summarize(self, summary: S) -> S:
        """One pass over the rows."""
        found = summarize(self.source, summary, weights=self.weights, progress=self.progress)
        if isinstance(found, ScatterSummary) and found.n_features <= _SMALL_SUMMARY:
            self.small_summary = found
        return found

    def map(self, function: Callable[[Array], Array]) -> Array:
        """One pass over the rows; the result has one row for each."""
        return map_rows(self.source, function)

    def first_block(self) -> Rows | None:
        """The first rows of a stream, without consuming them; None if the source has no separate first block."""
        first = self.source.first_block
        return None if first is self.source else Rows(first)

    def shows_holes(self) -> bool:
        """Whether there is a NaN in the first rows, as far as that can be found out cheaply.

        One block of the usual size is checked, without rows of weight zero; of sparse rows, the stored entries.
        Streams are not consumed, and rows on other machines or rows that have to be computed are not read: the result
        is then False, as it is if the first NaN comes later.
        """
        return any(_shows_holes(table, self.weights) for table in self.source.members)

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
        return Rows(source, self.weights, self.progress)

    def whole(self, model: str) -> tuple[Array, Array | None]:
        """All rows of positive weight as one array, whose entries are checked to be finite, and their weights."""
        source = self.source
        if source.shape[0] is None or not source.traits.whole:
            raise TypeError(f"{model} needs all rows of {source.table} at once: pass an array, a table or a matrix.")
        A = next(source.blocks(source.shape[0]))
        weights, rows = self.weights, np.arange(A.shape[0])
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


def check_weights(weights: Any, source: Source) -> Array:
    """Check frequency weights and return them as an array with the namespace, device and dtype of the rows."""
    w = to_numpy(weights)
    if w.dtype.kind == "c":
        raise bad_weights("must hold real numbers", f"dtype {w.dtype}")
    if w.dtype.kind in "Mm":
        # NumPy would convert them to the number of days or seconds.
        raise bad_weights("must hold numbers, not dates or durations", f"dtype {w.dtype}")
    if w.dtype.kind not in "fiub":
        try:
            w = w.astype(np.float64)
        except (OverflowError, TypeError, ValueError):
            raise bad_weights("must hold numbers in the range of float64", f"dtype {w.dtype}") from None
    n = source.shape[0]
    if w.ndim != 1 or (n is not None and len(w) != n):
        rows = "" if n is None else f" for {n} rows"
        raise bad_weights("must have one entry per row", f"shape {w.shape}{rows}")
    if not np.all(np.isfinite(w)):
        raise bad_weights("must be finite", f"{w[~np.isfinite(w)][0]} in row {int(np.argmax(~np.isfinite(w)))}")
    if np.any(w < 0):
        raise bad_weights("must not be negative", f"{w.min():g} in row {int(np.argmin(w))}")
    if not np.any(w > 0):
        raise bad_weights("must not be all zero", f"{len(w)} zeros")
    with np.errstate(over="ignore", under="ignore"):
        narrow = w.astype(np.float32 if source.traits.itemsize < 8 else np.float64)
        total = narrow.sum()
    if not np.all(np.isfinite(narrow)) or np.any((narrow == 0) & (w > 0)):
        raise bad_weights("must fit the float32 of the rows", f"values from {w[w > 0].min():g} to {w.max():g}")
    if not np.isfinite(total):
        raise bad_weights(f"must have a sum that fits into {narrow.dtype}", f"values up to {w.max():g}")
    return asarray_like(w, source.empty(0), dtype=source.dtype)


def _shows_holes(source: Source, weights: Array | None) -> bool:
    """`Rows.shows_holes` for one table."""
    first, traits = source.first_block, source.traits
    at_hand = first is not source or traits.whole
    if not at_hand or traits.remote or traits.costly or source.kind == "objects":
        return False
    block = next(first.blocks(_rows_to_map(first)))
    with np.errstate(over="ignore", invalid="ignore"):
        if all_finite(block):
            return False
    if weights is None:
        keep = np.arange(block.shape[0])
    else:
        keep = np.flatnonzero(to_numpy(weights[: block.shape[0]]) > 0)
    if is_sparse(block):
        return bool(np.any(np.isnan(block[keep].data)))
    with_holes = to_numpy(namespace(block).any(namespace(block).isnan(block), axis=1))
    return bool(np.any(with_holes[keep]))


def _rows_to_map(source: Source, keeps_sparse: bool = False) -> int:
    """The number of rows of a block for `map_rows`; blocks are larger for functions that keep sparse blocks sparse."""
    entries = max(1.0, source.shape[1] * (source.traits.stored if keeps_sparse else 1.0))
    return _block_rows(source, max(64, int(_MAP_BYTES / (entries * source.traits.itemsize))))


def _block_rows(source: Source, wanted: int) -> int:
    """The number of rows of a block. In main memory this is `wanted`, limited according to `_MADE_BYTES` if blocks have
    to be computed; on a device it is larger, according to `_DEVICE_BYTES`."""
    p = source.shape[1]
    if source.traits.host:
        return min(wanted, max(2 * p, _MADE_BYTES // (p * source.traits.itemsize))) if source.traits.costly else wanted
    return max(wanted, _DEVICE_BYTES // (p * source.traits.itemsize))


def _parts(source: Source, threaded_blas: bool, least: int = 1) -> list[Source]:
    """The source cut into parts, several for each thread that should read it, so that no thread has to wait long for
    another one that is slower; for rows on other machines, its partitions, or several that together have at least
    `least` rows."""
    traits = source.traits
    if traits.remote:
        return source.parts(1, least)
    if (
        traits.n_bytes < _PARALLEL_BYTES
        or not traits.host
        or (threaded_blas and not traits.sparse and not traits.costly)
    ):
        return [source]
    n_threads = _blas.available()
    at_most = max(1, traits.n_bytes // (n_threads * _PART_BYTES))
    return source.parts(1 if n_threads == 1 else n_threads * min(at_most, _PARTS_PER_THREAD))


def _add_in_turn(
    pieces: Iterator[Callable[..., None]],
    summary: Summary,
    tick: Callable[[], None] | None,
    n_pieces: int | None = None,
) -> None:
    """Call `piece(summary, tick)` for all pieces of a source, in several threads.

    There are more summaries than threads, and piece i is added to summary i modulo their number; they are merged in the
    end. A thread takes the next piece as soon as it is free, unless the summary of that piece is still in use. So slow
    threads get fewer pieces than others, but the result is the same each time.
    """
    n_threads = _blas.available()
    n_summaries = n_threads + max(1, n_threads // 2) if n_threads > 1 else 1
    summaries = [summary, *(summary.fresh() for _ in range(min(n_summaries, n_pieces or n_summaries) - 1))]
    tasks = (partial(piece, each) for piece, each in zip(pieces, cycle(summaries), strict=False))
    # Results come in the order of the pieces, so the error that is raised is that of the first bad one.
    for _ in _threads.run_in_parallel(tasks, tick, n_threads=n_threads, at_most=len(summaries)):
        pass
    for other in summaries[1:]:
        summary.merge(other)


def _parts_to_add(parts: list[Source], weights: Array | None, rows: int) -> Iterator[Callable[..., None]]:
    """Functions that add the rows of each part, and their weights, to a summary."""
    for part, (i, j) in zip(parts, _edges(parts), strict=True):
        yield partial(_add_part, part, None if weights is None else weights[i:j], i, rows)


def _add_part(
    part: Source, weights: Array | None, start: int, rows: int, summary: Summary, tick: Callable[[], None]
) -> None:
    _fill(part, summary, weights, start, rows, tick)


def _blocks_to_add(source: Source, weights: Array | None, rows: int) -> Iterator[Callable[..., None]]:
    """Functions that add each block of a stream, which cannot be cut into parts beforehand, to a summary."""
    start = 0
    for block in source.blocks(rows):
        yield partial(_add_block, source, block, _weights_of(block, start, weights), start)
        start += block.shape[0]
    _check_all_weights(weights, start)


def _add_block(
    source: Source, block: Array, weights: Array | None, start: int, summary: Summary, tick: Callable[[], None]
) -> None:
    _take(summary, block, start, weights, source=source)
    tick()


def _edges(parts: list[Source]) -> Iterator[tuple[int, int]]:
    """The first row of each part, and the first row after it."""
    return pairwise(accumulate((int(part.shape[0] or 0) for part in parts), initial=0))


def _fill_remotely(
    parts: list[Source], summary: Summary, weights: Array | None, rows: int, tick: Callable[[], None] | None
) -> None:
    """As `_fill`, for rows that the workers of a scheduler hold; only summaries are sent to this machine."""
    like = summary.fresh()
    arguments = [(None if weights is None else weights[i:j],) for i, j in _edges(parts)]
    # A task may run twice, so it must not change the summaries that it merges: `union` makes a new one.
    summary.merge(tree(parts, partial(_summary_of_partition, like=like, rows=rows), union, arguments))
    for _ in parts:
        if tick is not None:
            tick()


def _summary_of_partition(part: Source, start: int, weights: Array | None, *, like: S, rows: int) -> S:
    """A task: the summary of one partition and its weights."""
    summary = like.fresh()
    with _blas.single_threaded_blas():
        _fill(part, summary, weights, start, rows, None)
    return summary


def _answers(part: Source, start: int, *, function: Callable[[Array], Array], rows: int, takes_nan: bool) -> Array:
    """A task: the results of `function` for one partition."""
    with _blas.single_threaded_blas():
        return concat_rows(list(_mapped(part, function, start, rows, lambda: None, takes_nan)))


def _map_remotely(source: Source, parts: list[Source], task: Callable[..., Array]) -> Any:
    """A lazy Dask array of the results for all partitions."""
    like = task(source.first_block, 0)
    return stacked(tasks(parts, task), [int(part.shape[0] or 0) for part in parts], like)


def _fill(
    source: Source, summary: Summary, weights: Array | None, start: int, rows: int, tick: Callable[[], None] | None
) -> None:
    """Feed the blocks of `source`, whose first row is row `start` of the table, to `summary`."""
    n_read = 0
    for block in source.blocks(rows):
        _take(summary, block, start + n_read, _weights_of(block, n_read, weights), source=source)
        n_read += block.shape[0]
        if tick is not None:
            tick()
    _check_all_weights(weights, n_read)


def _take(summary: Summary, block: Array, start: int, counts: Array | None, *, source: Source) -> None:
    """Add one block and its weights to a summary; if its sums are not finite, raise an error that names the entry."""
    try:
        summary.update(block, counts)
    except NonFiniteBlock:
        numbers = range(start, start + block.shape[0])
        options: Any = {"takes_nan": summary.takes_nan, "powers": summary.powers}
        raise unusable_block_error(source, block, numbers, counts, **options) from None


def _weights_of(block: Array, start: int, weights: Array | None) -> Array | None:
    """The weights of a block whose first row is row `start`."""
    if weights is None:
        return None
    stop = start + block.shape[0]
    if stop > weights.shape[0]:
        raise bad_weights("must have one entry per row", f"{weights.shape[0]} weights for {stop} rows or more")
    return weights[start:stop]


def _check_all_weights(weights: Array | None, n: int) -> None:
    """Raise an error unless there are `n` weights; for a stream, the number of rows `n` is known only at its end."""
    if weights is not None and n != weights.shape[0]:
        raise bad_weights("must have one entry per row", f"{weights.shape[0]} weights for {n} rows")


def _mapped(
    source: Source,
    function: Callable[[Array], Array],
    start: int,
    rows: int,
    tick: Callable[[], None],
    takes_nan: bool,
) -> Iterator[Array]:
    """The results of `function` for the blocks of `source`, whose first row is row `start` of the table."""
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        for block in source.blocks(rows):
            numbers = range(start, start + block.shape[0])
            try:
                answer = function(block)
            except NonFiniteBlock:
                raise unusable_block_error(source, block, numbers, takes_nan=takes_nan) from None
            if not all_finite(answer):
                raise unusable_block_error(source, block, numbers, takes_nan=takes_nan)
            start = numbers.stop
            tick()
            yield answer


def _count_blocks(parts: list[Source], rows: int) -> int | None:
    """The number of blocks of `rows` rows in all parts, or None if it is unknown.

    It is unknown if rows come in blocks of any size, as those of a list of blocks and of the partitions of a Dask
    collection do, even if their number is known.
    """
    members = [member for part in parts for member in part.members]
    if any(m.shape[0] is None or not m.traits.whole or m.traits.remote for m in members):
        return None
    return sum(-(-int(part.shape[0] or 0) // rows) for part in parts)
