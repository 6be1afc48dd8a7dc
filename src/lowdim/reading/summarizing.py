"""`summarize`: all rows of a source are added to a summary, in blocks and by several threads."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import cycle
from typing import Any, TypeVar

from .. import _blas, _threads
from .._threads import Progress
from .._xp import Array
from ..errors import NonFiniteBlock
from ..sources import (
    Source,
    open_source,
    tree,
    unusable_block_error,
)
from ..summaries.base import Summary, union
from ..summaries.names import Names, agreed_names
from .blocks import block_rows, count_blocks, edges, parts_of
from .weights import check_all_weights, check_weights, weights_of

S = TypeVar("S", bound=Summary)


def summarize(X: Any, summary: S | type[S], *, weights: Any = None, progress: Progress | None = None) -> S:
    """Add all rows of `X` to `summary` and return it.

    Parameters
    ----------
    X : anything `open_source` reads, or a source
    summary : Summary, or a class of summaries
        Updated in place; a class is instantiated with the number of columns of `X`. It takes the names of the columns;
        a summary of columns with other names is refused.
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
    summary.names = agreed_names(summary.names, column_names(source), "the table to be added")
    traits = source.traits
    rows = block_rows(source, summary.block_rows(source.shape[1], traits.itemsize, traits.stored))
    parts = parts_of(source, summary.threaded_blas, least=max(1, rows // 8))
    if progress is not None:
        progress.begin(type(summary).__name__, len(parts) if traits.remote else count_blocks(parts, rows))
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


def column_names(source: Source) -> Names:
    """The names of the columns of all tables of a source, side by side; None if no table has names."""
    if source.transposed or all(member.names is None for member in source.members):
        return None
    names: list[str | None] = []
    for member in source.members:
        names += [None] * member.shape[1] if member.names is None else list(member.names)
    return tuple(names)


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
    for part, (i, j) in zip(parts, edges(parts), strict=True):
        yield partial(_add_part, part, None if weights is None else weights[i:j], i, rows)


def _add_part(
    part: Source, weights: Array | None, start: int, rows: int, summary: Summary, tick: Callable[[], None]
) -> None:
    _fill(part, summary, weights, start, rows, tick)


def _blocks_to_add(source: Source, weights: Array | None, rows: int) -> Iterator[Callable[..., None]]:
    """Functions that add each block of a stream, which cannot be cut into parts beforehand, to a summary."""
    start = 0
    for block in source.blocks(rows):
        yield partial(_add_block, source, block, weights_of(block, start, weights), start)
        start += block.shape[0]
    check_all_weights(weights, start)


def _add_block(
    source: Source, block: Array, weights: Array | None, start: int, summary: Summary, tick: Callable[[], None]
) -> None:
    _take(summary, block, start, weights, source=source)
    tick()


def _fill_remotely(
    parts: list[Source], summary: Summary, weights: Array | None, rows: int, tick: Callable[[], None] | None
) -> None:
    """As `_fill`, for rows that the workers of a scheduler hold; only summaries are sent to this machine."""
    like = summary.fresh()
    arguments = [(None if weights is None else weights[i:j],) for i, j in edges(parts)]
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


def _fill(
    source: Source, summary: Summary, weights: Array | None, start: int, rows: int, tick: Callable[[], None] | None
) -> None:
    """Feed the blocks of `source`, whose first row is row `start` of the table, to `summary`."""
    n_read = 0
    for block in source.blocks(rows):
        _take(summary, block, start + n_read, weights_of(block, n_read, weights), source=source)
        n_read += block.shape[0]
        if tick is not None:
            tick()
    check_all_weights(weights, n_read)


def _take(summary: Summary, block: Array, start: int, counts: Array | None, *, source: Source) -> None:
    """Add one block and its weights to a summary; if its sums are not finite, raise an error that names the entry."""
    try:
        summary.update(block, counts)
    except NonFiniteBlock:
        numbers = range(start, start + block.shape[0])
        options: Any = {"takes_nan": summary.takes_nan, "powers": summary.powers}
        raise unusable_block_error(source, block, numbers, counts, **options) from None
