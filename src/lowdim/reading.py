"""The only loop over rows: blocks, threads, progress, and the place of a bad entry.

`summarize` feeds the blocks of a source to a summary; `map_rows` applies a function to each block and keeps the
rows of the answers. Nothing above this file knows where rows live.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import accumulate, islice, pairwise
from typing import Any, TypeVar

import numpy as np

from . import _threads
from ._threads import Progress
from ._xp import Array, Beside, asarray_like, concat_rows, is_sparse, namespace, settled, to_numpy
from .errors import NonFiniteBlock, bad_weights, not_finite, too_large
from .sources import CountedSource, FilledSource, MappedSource, Source, open_source, stacked, tasks, tree
from .summaries.base import Summary, union

S = TypeVar("S", bound=Summary)

#: Rows smaller than this are not worth a second thread.
_PARALLEL_BYTES = 8 << 20
#: Blocks of `map_rows` are small enough to stay in a core's own cache between centring and product.
_MAP_BYTES = 1 << 20
#: Blocks that have to be made, by a feature map for example, are of this size, or of two rows a column.
_MADE_BYTES = 16 << 20
#: On a device there is no cache to fit, and each block costs a launch: blocks are large.
_DEVICE_BYTES = 128 << 20


def summarize(X: Any, summary: S | type[S], *, weights: Any = None, progress: Progress | None = None) -> S:
    """Take all rows of `X` into `summary` and return it.

    Parameters
    ----------
    X : anything `open_source` reads, or a source
    summary : Summary, or a class of summaries
        Filled in place; a class is made with the number of columns of `X`.
    weights : array of shape (n,), optional
        Frequency weights; rows of weight zero are left out.
    progress : Progress, optional

    Notes
    -----
    One pass. Where the product of a block is too small to keep a threaded BLAS busy, each thread takes a contiguous
    part of the rows into a summary of its own with a single-threaded BLAS, and these are merged in order: the
    answer depends on the number of threads by rounding only, and not at all on which one was quicker. Of a Dask
    collection each partition is summed up by a task, where it lies, and a tree of tasks merges the summaries.

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
        # Moments, Triangle and Columns are made with a number of columns; others have to be given ready-made.
        summary = summary(source.shape[1])  # type: ignore[call-arg]
    if not isinstance(summary, Summary):
        raise TypeError(f"summary must be a summary such as Moments, or its class, got {type(summary).__name__}.")
    if weights is not None:
        weights = check_weights(weights, source)
    traits = source.traits
    rows = _block_rows(source, summary.block_rows(source.shape[1], traits.itemsize, traits.stored))
    parts = _parts(source, summary.threaded_blas)
    if progress is not None:
        progress.begin(type(summary).__name__, len(parts) if traits.remote else _count_blocks(parts, rows))
    step = None if progress is None else progress.step
    if traits.remote:
        _fill_elsewhere(parts, summary, weights, rows, step)
    elif len(parts) == 1 and source.traits.n_bytes == 0 and source.traits.host and not summary.threaded_blas:
        _fill_in_turn(source, summary, weights, rows, step)
    elif len(parts) == 1:
        _fill(source, summary, weights, 0, rows, step)
    else:
        fill = partial(_filled, like=summary, all_weights=weights, rows=rows)
        for filled in _in_threads(parts, fill, progress):
            summary.merge(filled)
    if progress is not None:
        progress.end()
    return summary


def map_rows(X: Any, function: Callable[[Array], Array], *, takes_nan: bool = False) -> Array:
    """`function(block)` for all blocks of `X`, one below the other: one pass, no copy of the rows as a whole.

    `function` turns b rows into b answers (one axis or two) and must let NaN through: that is how it is found. Or
    NaN is welcome (`takes_nan`), and answers are finite all the same. Of a Dask collection the answer is a Dask array,
    and nothing is read before that is computed.
    """
    source = open_source(X)
    rows = _block_rows(source, max(64, _MAP_BYTES // (source.shape[1] * source.traits.itemsize)))
    n = source.shape[0]
    parts = _parts(source, threaded_blas=False)
    if source.traits.remote:
        return _map_elsewhere(source, parts, partial(_answers, function=function, rows=rows, takes_nan=takes_nan))
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

    for _ in _in_threads(parts, run, None):
        pass
    return out


class Rows:
    """`summarize` and `map_rows` bound to one source: all that a solver is handed of the data."""

    def __init__(self, source: Source, weights: Array | None = None, progress: Progress | None = None) -> None:
        self.shape = source.shape
        self.traits = source.traits
        self.dtype = source.dtype
        self.weights = weights
        self.source = self._source = source
        self.progress = progress

    def summarize(self, summary: S) -> S:
        """One pass over the rows."""
        return summarize(self._source, summary, weights=self.weights, progress=self.progress)

    def map(self, function: Callable[[Array], Array]) -> Array:
        """One pass over the rows, a row of the answer for each."""
        return map_rows(self._source, function)

    def first_block(self) -> Rows | None:
        """The first rows of a stream, which nothing is taken from; None where they cannot be had."""
        first = self._source.first_block
        return None if first is self._source else Rows(first)

    def of(self, X: Any, weights: Array | None = None, progress: Progress | None = None) -> Rows:
        """Rows of another array that lies in memory."""
        return Rows(open_source(X), weights, progress)

    def summarize_features(self, summary: S) -> S:
        """One pass over the columns."""
        return summarize(self._source.features(), summary, progress=self.progress)

    def map_features(self, function: Callable[[Array], Array]) -> Array:
        """One pass over the columns, a row of the answer for each."""
        return map_rows(self._source.features(), function)

    def narrowed(self) -> Rows | None:
        """The same rows in float32, where that is cheap to keep; None where not."""
        source = self._source.narrowed()
        return None if source is None else Rows(source, self.weights, self.progress)

    def filled(self, mean: Array, scale: Array, unstored: bool) -> Rows:
        """(x - mean) / scale, zero where x was not observed."""
        return Rows(FilledSource(self._source, mean, scale, unstored=unstored), self.weights, self.progress)

    def counted(self) -> Rows:
        """The rows that count: without those of weight zero, as far as columns are read."""
        if self.weights is None:
            return self
        keep = np.flatnonzero(to_numpy(self.weights) > 0)
        if len(keep) == self.weights.shape[0]:
            return self
        weights = self.weights[asarray_like(keep, self.weights)]
        return Rows(CountedSource(self._source, keep), weights, self.progress)

    def mapped(self, function: Callable[[Array], Array]) -> Rows:
        """The rows after a feature map: made block by block whenever they are read."""
        return Rows(MappedSource(self._source, function, self.weights), self.weights, self.progress)

    def whole(self, model: str) -> tuple[Array, Array | None]:
        """All rows that count, as one array of finite entries, and their weights."""
        source = self._source
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
                    weights[index],
                )
        if source.kind == "objects":
            return A, weights
        values = A.data if is_sparse(A) else A
        xp = namespace(values)
        # A sum first: it needs no array of answers. It may leave the range of numbers where entries do not.
        if bool(xp.isfinite(xp.sum(values))) or bool(xp.all(xp.isfinite(values))):
            return A, weights
        dense = to_numpy(A.toarray() if is_sparse(A) else A)
        i, j = (int(v) for v in np.argwhere(~np.isfinite(dense))[0])
        table, column, names = source.place(j)
        raise not_finite(int(rows[i]), column, float(dense[i, j]), names, table)

    def empty(self, *shape: int) -> Array:
        """An uninitialised array of the kind of the rows."""
        return self._source.empty(*shape)


def check_weights(weights: Any, source: Source) -> Array:
    """Frequency weights as an array of the kind and dtype of the rows."""
    w = to_numpy(settled(weights))
    if w.dtype.kind == "c":
        raise bad_weights("must hold real numbers", f"dtype {w.dtype}")
    if w.dtype.kind not in "fiub":
        try:
            w = w.astype(np.float64)
        except (TypeError, ValueError):
            raise bad_weights("must hold numbers", f"dtype {w.dtype}") from None
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
    if source.traits.itemsize < 8:
        with np.errstate(over="ignore", under="ignore"):
            narrow = w.astype(np.float32)
        if not np.all(np.isfinite(narrow)) or np.any((narrow == 0) & (w > 0)):
            raise bad_weights("must fit the float32 of the rows", f"values from {w[w > 0].min():g} to {w.max():g}")
    return asarray_like(w, source.empty(0), dtype=source.dtype)


def _block_rows(source: Source, wanted: int) -> int:
    """Rows of a block: as wanted for the cache of a processor, but no more than need be where a block has to be made;
    many on a device."""
    p = source.shape[1]
    if source.traits.host:
        return min(wanted, max(2 * p, _MADE_BYTES // (p * source.traits.itemsize))) if source.traits.costly else wanted
    return max(wanted, _DEVICE_BYTES // (p * source.traits.itemsize))


def _parts(source: Source, threaded_blas: bool) -> list[Source]:
    """The source, cut into as many parts as threads should read it side by side."""
    traits = source.traits
    if traits.remote:
        return source.parts(1)
    if (
        traits.n_bytes < _PARALLEL_BYTES
        or not traits.host
        or (threaded_blas and not traits.sparse and not traits.costly)
    ):
        return [source]
    return source.parts(_threads.available())


def _in_threads(parts: list[Source], run: Callable[..., Any], progress: Progress | None) -> Iterator[Any]:
    """`run(part, first_row, tick)` for all parts at once; answers and errors in the order of the rows."""
    starts = np.cumsum([0] + [part.shape[0] or 0 for part in parts])
    tasks = [partial(run, part, int(start)) for part, start in zip(parts, starts, strict=False)]
    return _threads.side_by_side(tasks, None if progress is None else progress.step)


def _filled(
    part: Source, start: int, tick: Callable[[], None] | None, *, like: S, all_weights: Array | None, rows: int
) -> S:
    """A summary like another of the rows of `part`, whose first row is row `start` of the table."""
    summary = like.fresh()
    weights = None if all_weights is None else all_weights[start : start + int(part.shape[0] or 0)]
    _fill(part, summary, weights, start, rows, tick)
    return summary


def _fill_elsewhere(
    parts: list[Source], summary: Summary, weights: Array | None, rows: int, tick: Callable[[], None] | None
) -> None:
    """As `_fill` for rows that lie with the workers of a scheduler: the summaries come, and the rows stay."""
    like = summary.fresh()
    edges = list(pairwise(accumulate((int(part.shape[0] or 0) for part in parts), initial=0)))
    own = [(None if weights is None else weights[i:j],) for i, j in edges]
    # A task may run twice, so it leaves the summaries that it merges as they were.
    summary.merge(tree(parts, partial(_filled_there, like=like, rows=rows), union, own))
    for _ in parts:
        if tick is not None:
            tick()


def _filled_there(part: Source, start: int, weights: Array | None, *, like: S, rows: int) -> S:
    """A task: the summary of one partition and its weights."""
    summary = like.fresh()
    with _threads.single_threaded_blas():
        _fill(part, summary, weights, start, rows, None)
    return summary


def _answers(part: Source, start: int, *, function: Callable[[Array], Array], rows: int, takes_nan: bool) -> Array:
    """A task: the answers for one partition."""
    with _threads.single_threaded_blas():
        return concat_rows(list(_mapped(part, function, start, rows, lambda: None, takes_nan)))


def _map_elsewhere(source: Source, parts: list[Source], task: Callable[..., Array]) -> Any:
    """A Dask array of the answers for all partitions, not computed yet."""
    like = task(source.first_block, 0)
    return stacked(tasks(parts, task), [int(part.shape[0] or 0) for part in parts], like)


def _fill(
    source: Source, summary: Summary, weights: Array | None, start: int, rows: int, tick: Callable[[], None] | None
) -> None:
    """Feed the blocks of `source`, whose first row is row `start` of the table, to `summary`."""
    seen = 0
    for block in source.blocks(rows):
        _take(summary, block, start + seen, _weights_of(block, seen, weights), source=source)
        seen += block.shape[0]
        if tick is not None:
            tick()
    _check_all_weights(weights, seen)


def _fill_in_turn(
    source: Source, summary: Summary, weights: Array | None, rows: int, tick: Callable[[], None] | None
) -> None:
    """As `_fill` for a stream, which cannot be cut beforehand: as many blocks as there are threads are taken at a time,
    and block i goes to summary i modulo their number, so that it does not matter which thread was quicker."""
    summaries = [summary, *(summary.fresh() for _ in range(_threads.available() - 1))]
    start, blocks = 0, source.blocks(rows)
    with _threads.single_threaded_blas(), ThreadPoolExecutor(len(summaries)) as pool:
        while batch := list(islice(blocks, len(summaries))):
            starts = [start]
            for block in batch:
                starts.append(starts[-1] + block.shape[0])
            counts = [_weights_of(block, i, weights) for block, i in zip(batch, starts, strict=False)]
            # All answers are asked for, so that the first bad block is the one that is named.
            list(pool.map(partial(_take, source=source), summaries, batch, starts, counts))
            start = starts[-1]
            for _ in batch:
                if tick is not None:
                    tick()
    _check_all_weights(weights, start)
    for other in summaries[1:]:
        summary.merge(other)


def _take(summary: Summary, block: Array, start: int, counts: Array | None, *, source: Source) -> None:
    """One block and its weights into one summary."""
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        try:
            summary.update(block, counts)
        except NonFiniteBlock:
            raise _explain(block, start, source, summary.takes_nan, counts) from None


def _weights_of(block: Array, start: int, weights: Array | None) -> Array | None:
    """The weights of a block that begins with row `start`."""
    if weights is None:
        return None
    stop = start + block.shape[0]
    if stop > weights.shape[0]:
        raise bad_weights("must have one entry per row", f"{weights.shape[0]} weights for {stop} rows or more")
    return weights[start:stop]


def _check_all_weights(weights: Array | None, n: int) -> None:
    """The length of a stream is known only now."""
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
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        for block in source.blocks(rows):
            try:
                answer = function(block)
            except NonFiniteBlock:
                raise _explain(block, start, source, takes_nan) from None
            xp = namespace(answer)
            if not bool(xp.isfinite(xp.sum(answer))) and not bool(xp.all(xp.isfinite(answer))):
                raise _explain(block, start, source, takes_nan)
            start += block.shape[0]
            tick()
            yield answer


def _explain(
    block: Array, start: int, source: Source, nan_is_fine: bool = False, weights: Array | None = None
) -> ValueError:
    """The error for a block whose sums are not finite: its first bad entry in a row that counts, or its largest."""
    if isinstance(block, Beside):
        block = block.joined()
    data = to_numpy(block.toarray() if is_sparse(block) else block)
    if weights is not None:
        data = np.where(to_numpy(weights)[:, None] > 0, data, 0.0)
    bad = np.isinf(data) if nan_is_fine else ~np.isfinite(data)
    build: Callable[..., ValueError] = not_finite
    if bad.any():
        i, j = (int(v) for v in np.argwhere(bad)[0])
    else:
        i, j = (int(v) for v in np.unravel_index(int(np.nanargmax(np.abs(data))), data.shape))
        build = too_large
    value = float(data[i, j])
    row, column = (source.row(j), start + i) if source.transposed else (start + i, j)
    table, column, names = source.place(column)
    return build(row, column, value, names, table)


def _count_blocks(parts: list[Source], rows: int) -> int | None:
    counts = [part.shape[0] for part in parts]
    if any(c is None for c in counts):
        return None
    return sum(-(-int(c or 0) // rows) for c in counts)
