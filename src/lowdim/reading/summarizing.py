"""`summarize`: all rows of a source are added to a summary, in blocks and by several threads."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import suppress
from functools import partial
from itertools import cycle, islice
from os import PathLike
from typing import Any, TypeVar

from .. import _blas, _threads
from .._placing import placed_like, placed_on_host
from .._progress import Progress, watcher
from .._xp import Array
from ..errors import NonFiniteBlock
from ..sources import (
    Engine,
    Source,
    by_name,
    open_source,
    resident,
    unusable_block_error,
)
from ..summaries.base import Summary, union
from ..summaries.names import Names, agreed_names
from ..summaries.sent import Parcel, SummaryCodec
from .blocks import count_blocks, cut_into, edges, n_parts, rows_to_sum
from .checkpoint import Checkpoint, Keeper
from .lanes import Begin, Cut, Lane, Place
from .weights import check_all_weights, check_weights, weights_for, weights_of

S = TypeVar("S", bound=Summary)

#: A piece of the rows, which adds itself to the summary of a lane and calls a function after each block.
Piece = Callable[[Lane, Callable[[], None]], None]
Pieces = Generator[Piece, None, None]


def summarize(
    X: Any,
    summary: S | type[S],
    *,
    weights: Any = None,
    progress: Progress | None = None,
    checkpoint: Checkpoint | str | PathLike[str] | None = None,
) -> S:
    """Add all rows of `X` to `summary` and return it.

    Parameters
    ----------
    X : anything `open_source` reads, or a source
    summary : Summary, or a class of summaries
        Updated in place; a class is instantiated with the number of columns of `X`. It takes the names of the columns;
        a summary of columns with other names is refused.
    weights : array of shape (n,), or str, optional
        Frequency weights; rows of weight zero are left out. Or the name of a column of `X` that holds them, which is
        then not one of the columns that are summed up.
    progress : Progress, optional
    checkpoint : Checkpoint, str or path, optional
        A file that keeps place and sums, every 30 seconds unless a `Checkpoint` says otherwise. If the process is
        killed, the same call goes on where it was and ends with the same bits, also with another number of threads.
        The file is removed when all rows have been added. Other rows, other weights or another summary are refused.

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
    X, _, weights = by_name(X, weights=weights)
    source = open_source(X)
    if isinstance(summary, type):
        # Moments, Triangle and Columns need only the number of columns; other summaries have to be passed as objects.
        summary = summary(source.shape[1])  # type: ignore[call-arg] # classes take the width
    if not isinstance(summary, Summary):
        raise TypeError(f"summary must be a summary such as Moments, or its class, got {type(summary).__name__}.")
    if weights is not None:
        weights = check_weights(weights, source)
    return summarize_source(
        source, summary, weights, progress, None if checkpoint is None else Checkpoint.of(checkpoint)
    )


def summarize_source(
    source: Source,
    summary: S,
    weights: Array | None = None,
    progress: Progress | None = None,
    checkpoint: Checkpoint | None = None,
    *,
    keep: bool = False,
) -> S:
    """As `summarize`, with weights that have been checked. With `keep`, the file of the checkpoint holds the sums of
    all rows at the end, and the caller removes it."""
    progress = watcher(progress)
    names = agreed_names(summary.names, column_names(source), "the table to be added")
    if names is not summary.names:
        summary.names = names
    if source.traits.sent is not None:
        return _add_on_device(source, summary, weights, progress, checkpoint)
    keeper = None if checkpoint is None else Keeper(checkpoint, source, weights, summary)
    if source.traits.engine is not None:
        _add_remotely(source, source.traits.engine, summary, weights, progress)
    elif keeper is None or not keeper.finish(summary):
        _add_here(source, summary, weights, progress, keeper)
    if keeper is not None:
        keeper.end(summary, keep=keep)
    return summary


def _add_on_device(
    source: Source, summary: S, weights: Array | None, progress: Progress | None, checkpoint: Checkpoint | None
) -> S:
    """Add rows that are sent to a device: they are summed up there, and the sums come back."""
    rows = resident(source)
    there = placed_like(summary.fresh(), rows.empty(0))
    weights = None if weights is None else weights_for(rows, weights)
    found = placed_on_host(summarize_source(rows, there, weights, progress, checkpoint))
    summary.merge(found)
    return summary


def column_names(source: Source) -> Names:
    """The names of the columns of all tables of a source, side by side; None if no table has names."""
    if source.transposed:
        return None
    members = source.members
    if len(members) == 1:
        return None if members[0].names is None else tuple(members[0].names)
    if all(member.names is None for member in members):
        return None
    names: list[str | None] = []
    for member in members:
        names += [None] * member.shape[1] if member.names is None else list(member.names)
    return tuple(names)


def _add_here(
    source: Source, summary: Summary, weights: Array | None, progress: Progress | None, keeper: Keeper | None
) -> None:
    """Add the rows of a source in this process. If a keeper has the sums of some of them, only the others are read."""
    found = None if keeper is None else keeper.found
    cut = _cut_of(source, summary, weights is not None) if found is None else found.cut
    parts = cut_into(source, cut.parts)
    in_threads = len(parts) > 1 or _comes_in_blocks(source, summary)
    if progress is not None:
        progress.begin(type(summary).__name__, count_blocks(parts, cut.rows), cut.rows)
    tick = _ticks(progress, keeper)
    if keeper is None and not in_threads:
        _add_part(source, weights, 0, cut.rows, 0, Lane(summary, Place(0), 1), tick or _nothing)
    else:
        _add_in_lanes(parts, summary, weights, cut, keeper, tick, in_threads)
    if progress is not None:
        progress.end()


def _add_in_lanes(
    parts: list[Source],
    summary: Summary,
    weights: Array | None,
    cut: Cut,
    keeper: Keeper | None,
    tick: Callable[[], None] | None,
    in_threads: bool,
) -> None:
    """Add parts, or the blocks of the only part, to several summaries in turn, and merge these."""
    if keeper is None:
        lanes, first = _new_lanes(summary, cut.summaries), 0
    else:
        lanes, first = keeper.lanes(summary, cut), keeper.first
    if len(parts) > 1:
        pieces = _parts_to_add(parts, weights, cut.rows, first)
    elif keeper is None:
        pieces = _blocks_to_add(parts[0], weights, _with_begins(parts[0].blocks(cut.rows)), 0)
    else:
        pieces = _blocks_to_add(parts[0], weights, keeper.blocks(), keeper.row)
    try:
        _add_in_turn(pieces, lanes, first, tick, in_threads)
    except BaseException:
        if keeper is not None:
            # What has been added is kept. If the file cannot be written, the first error says more.
            with suppress(OSError):
                keeper.write()
        raise
    finally:
        # The files that blocks are read from are closed at once, and not when the traceback of an error is gone.
        pieces.close()
    for lane in lanes[1:]:
        summary.merge(lane.summary)


def _cut_of(source: Source, summary: Summary, weighted: bool) -> Cut:
    """How the rows of a source are cut, with the number of threads that there are now.

    There are more summaries than threads. A thread takes the next piece as soon as it is free, unless the summary of
    that piece is still in use. So slow threads get fewer pieces than others.
    """
    rows = rows_to_sum(source, summary, weighted)
    wanted = n_parts(source, summary.threaded_blas)
    parts = len(cut_into(source, wanted))
    if parts == 1 and not _comes_in_blocks(source, summary):
        return Cut(rows, 1, 1)
    n_threads = _blas.available()
    in_turn = n_threads + max(1, n_threads // 2) if n_threads > 1 else 1
    return Cut(rows, 1, in_turn) if parts == 1 else Cut(rows, wanted, min(in_turn, parts))


def _comes_in_blocks(source: Source, summary: Summary) -> bool:
    """Whether the blocks themselves are handed out to threads: the rows cannot be cut into parts beforehand, and the
    product of one block does not keep BLAS busy."""
    return source.traits.n_bytes == 0 and source.traits.host and not summary.threaded_blas


def _new_lanes(summary: Summary, n: int) -> list[Lane]:
    """One lane for `summary`, and others for empty summaries."""
    return [Lane(each, Place(i), n) for i, each in enumerate([summary, *(summary.fresh() for _ in range(n - 1))])]


def _ticks(progress: Progress | None, keeper: Keeper | None) -> Callable[[], None] | None:
    """What is done after each block."""
    if keeper is None:
        return None if progress is None else progress.step

    def tick() -> None:
        if progress is not None:
            progress.step()
        keeper.tick()

    return tick


def _add_in_turn(
    pieces: Pieces, lanes: list[Lane], first: int, tick: Callable[[], None] | None, in_threads: bool
) -> None:
    """Add the pieces from number `first` on, piece i to the summary of lane i modulo the number of lanes. In several
    threads, a lane takes one piece at a time, in order, so that the sums are the same each time."""
    turns = islice(cycle(lanes), first % len(lanes), None)
    if not in_threads:
        for piece, lane in zip(pieces, turns, strict=False):
            piece(lane, tick or _nothing)
        return
    tasks = (partial(piece, lane) for piece, lane in zip(pieces, turns, strict=False))
    # Results come in the order of the pieces, so the error that is raised is that of the first bad one.
    for _ in _threads.run_in_parallel(tasks, tick, n_threads=_blas.available(), at_most=len(lanes)):
        pass


def _nothing() -> None:
    pass


def _parts_to_add(parts: list[Source], weights: Array | None, rows: int, first: int) -> Pieces:
    """Pieces for each part from number `first` on, with its weights."""
    for number, (part, (i, j)) in enumerate(zip(parts, edges(parts), strict=True)):
        if number >= first:
            yield partial(_add_part, part, None if weights is None else weights[i:j], i, rows, number)


def _add_part(
    part: Source,
    weights: Array | None,
    start: int,
    rows: int,
    number: int,
    lane: Lane,
    tick: Callable[[], None],
) -> None:
    """Add the rows of a part, whose first row is row `start` of the table, as far as they have not been added."""
    if number < lane.place.piece:
        return
    done = lane.place.rows
    for block in _blocks_after(part, done, rows):
        _take(lane.summary, block, start + done, weights_of(block, done, weights), source=part)
        done += int(block.shape[0])
        lane.move(number, done)
        tick()
    check_all_weights(weights, done)
    lane.end(number)


def _blocks_after(part: Source, done: int, rows: int) -> Iterator[Array]:
    """The blocks after the first `done` rows, at which a block ends."""
    if done and part.can_skip:
        if done < int(part.shape[0] or 0):
            yield from part.after(done).blocks(rows)
        return
    for block in part.blocks(rows):
        if done <= 0:
            yield block
        done -= int(block.shape[0])


def _with_begins(blocks: Iterator[Array]) -> Iterator[tuple[Begin, Array]]:
    """Blocks with their numbers and first rows."""
    row = 0
    for number, block in enumerate(blocks):
        yield Begin(number, row), block
        row += int(block.shape[0])


def _blocks_to_add(source: Source, weights: Array | None, blocks: Iterator[tuple[Begin, Array]], n: int) -> Pieces:
    """Pieces for the blocks of a source after its first `n` rows, with their weights."""
    for begin, block in blocks:
        n = begin.row + int(block.shape[0])
        yield partial(_add_block, source, block, weights_of(block, begin.row, weights), begin)
    check_all_weights(weights, n)


def _add_block(
    source: Source, block: Array, weights: Array | None, begin: Begin, lane: Lane, tick: Callable[[], None]
) -> None:
    """Add one block, if it has not been added."""
    if begin.block >= lane.place.piece:
        _take(lane.summary, block, begin.row, weights, source=source)
        lane.end(begin.block)
        tick()


def _add_remotely(
    source: Source, engine: Engine, summary: Summary, weights: Array | None, progress: Progress | None
) -> None:
    """Add rows that the workers of an engine hold; only summaries are sent to this machine."""
    rows = rows_to_sum(source, summary)
    # A task may run twice, so it must not change the summaries that it merges: `union` makes a new one.
    total = engine.merged(
        source,
        partial(_summary_of_partition, like=Parcel(summary.fresh()), rows=rows),
        union,
        along=weights,
        least=max(1, rows // 8),
        codec=SummaryCodec(),
        told=None if progress is None else partial(progress.begin, type(summary).__name__),
        tick=None if progress is None else progress.step,
    )
    summary.merge(total)
    if progress is not None:
        progress.end()


def _summary_of_partition(part: Source, start: int, weights: Array | None, *, like: Parcel, rows: int) -> Summary:
    """A task: the summary of one partition and its weights."""
    summary = like.summary.fresh()
    with _blas.single_threaded_blas():
        _add_part(part, weights, start, rows, 0, Lane(summary, Place(0), 1), _nothing)
    return summary


def _take(summary: Summary, block: Array, start: int, counts: Array | None, *, source: Source) -> None:
    """Add one block and its weights to a summary; if its sums are not finite, raise an error that names the entry."""
    try:
        summary.update(block, counts)
    except NonFiniteBlock:
        numbers = range(start, start + block.shape[0])
        options: Any = {"takes_nan": summary.takes_nan, "powers": summary.powers}
        raise unusable_block_error(source, block, numbers, counts, **options) from None
