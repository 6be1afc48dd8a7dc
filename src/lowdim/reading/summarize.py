"""`summarize`: all rows of a source are added to a summary, in blocks and by several threads."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import suppress
from functools import partial
from itertools import accumulate, cycle, islice, pairwise
from os import PathLike
from typing import Any, TypeVar

import numpy as np

from .._core import threads
from .._core.arrays import Array, asarray_like, to_numpy
from .._core.devices import placed_like, placed_on_host
from .._core.threads import Progress, watcher
from ..errors import NonFiniteBlock, bad_weights, no_order, weights_without_column
from ..sources.base import Engine, Source, unusable_block_error
from ..sources.derived import CarriedColumn, in_order
from ..sources.on_device import resident
from ..sources.opening import by_name, open_source
from ..summaries.base import Names, Parcel, Summary, SummaryCodec, agreed_names, union
from .checkpoint import Begin, Checkpoint, Cut, Keeper, Lane, Place

# How rows are cut into blocks and parts, before they are read.


#: Tables of fewer bytes than this are read by a single thread.
_PARALLEL_BYTES = 8 << 20
#: Each of several threads gets up to this many parts of larger tables, but none that is smaller than _PART_BYTES.
_PARTS_PER_THREAD, _PART_BYTES = 8, 8 << 20
#: Size of the blocks of `map_rows`: they stay in the cache of a core between centring and product. If each column is in
#: one piece, blocks are larger, since short columns are read at half of the speed.
_MAP_BYTES, _MAP_COLUMNS_BYTES = 1 << 20, 2 << 20
#: Blocks that have to be computed, for example by a feature map, have at most this size or 2 p rows, whichever is more.
_MADE_BYTES = 16 << 20
#: Blocks on a device have at least this size: there is no cache to fit, and each block costs kernel launches.
_DEVICE_BYTES = 128 << 20
#: Blocks that are summed up in slices are larger, since the host waits for the device at the end of each: first the
#: size of parts of an array that is there, then of blocks that have to be made.
_SLICED_VIEWS_BYTES, _SLICED_BYTES = 4 << 30, 1 << 30


def rows_to_map(source: Source, function: Callable[[Array], Array] | None = None) -> int:
    """The number of rows of a block for `map_rows`; blocks are larger for functions that keep sparse blocks sparse, and
    on a device for those that say so."""
    stored = source.traits.stored if getattr(function, "keeps_sparse", False) else 1.0
    on_device = _DEVICE_BYTES if source.traits.host else getattr(function, "device_bytes", _DEVICE_BYTES)
    if not source.traits.views:
        on_device = min(on_device, _SLICED_BYTES)
    entries = max(1.0, source.shape[1] * stored)
    n_bytes = _MAP_COLUMNS_BYTES if source.traits.column_blocks else _MAP_BYTES
    return block_rows(source, max(64, int(n_bytes / (entries * source.traits.itemsize))), on_device)


def rows_to_sum(source: Source, summary: Summary, weighted: bool = False) -> int:
    """The number of rows of a block for `summarize`. Those that are weighted may have to be copied, without rows of
    weight zero."""
    p, traits = source.shape[1], source.traits
    sliced = _SLICED_VIEWS_BYTES if traits.views and not weighted else _SLICED_BYTES
    on_device = sliced if summary.slices_on_device and not traits.costly else _DEVICE_BYTES
    return block_rows(source, summary.block_rows(p, traits.itemsize, traits.stored), on_device)


def block_rows(source: Source, wanted: int, on_device: int = _DEVICE_BYTES) -> int:
    """The number of rows of a block. In main memory this is `wanted`, limited according to `_MADE_BYTES` if blocks have
    to be computed; on a device they have at least the size `on_device`."""
    p = source.shape[1]
    if source.traits.host:
        return min(wanted, max(2 * p, _MADE_BYTES // (p * source.traits.itemsize))) if source.traits.costly else wanted
    return max(wanted, on_device // (p * source.traits.itemsize))


def parts_of(source: Source, threaded_blas: bool) -> list[Source]:
    """The source cut into `n_parts` parts."""
    return cut_into(source, n_parts(source, threaded_blas))


def n_parts(source: Source, threaded_blas: bool) -> int:
    """How many parts a source should be cut into: several for each thread that should read it, so that no thread has to
    wait long for another one that is slower."""
    traits = source.traits
    n_bytes = max(traits.n_bytes, traits.part_bytes)
    if n_bytes < _PARALLEL_BYTES or not traits.host or (threaded_blas and not traits.sparse and not traits.costly):
        return 1
    n_threads = threads.available()
    at_most = max(1, n_bytes // (n_threads * _PART_BYTES))
    return 1 if n_threads == 1 else n_threads * min(at_most, _PARTS_PER_THREAD)


def cut_into(source: Source, k: int) -> list[Source]:
    """The source cut into at most `k` parts."""
    return [source] if k == 1 else source.parts(k)


def edges(parts: list[Source]) -> Iterator[tuple[int, int]]:
    """The first row of each part, and the first row after it."""
    return pairwise(accumulate((int(part.shape[0] or 0) for part in parts), initial=0))


def count_blocks(parts: list[Source], rows: int) -> int | None:
    """The number of blocks of `rows` rows in all parts, or None if it is unknown.

    It is unknown if rows come in blocks of any size, as those of a list of blocks and of the partitions of a Dask
    collection do, even if their number is known.
    """
    members = [member for part in parts for member in part.members]
    if any(m.shape[0] is None or not m.traits.whole or m.traits.remote for m in members):
        return None
    return sum(-(-int(part.shape[0] or 0) // rows) for part in parts)


# Weights of rows: checked as a whole, and cut as the rows are.


def check_weights(weights: Any, source: Source) -> Array:
    """Check frequency weights and return them as an array with the namespace, device and dtype of the rows, or as they
    are if they are a column that goes along with the rows."""
    if isinstance(weights, str):
        raise weights_without_column(weights)
    if isinstance(weights, CarriedColumn):
        return weights.checked(source)
    if not in_order(source):
        raise no_order("weights in an array")
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
            text = next((f", such as {str(entry)[:40]!r}" for entry in w.flat if isinstance(entry, str)), "")
            raise bad_weights("must hold numbers in the range of float64", f"dtype {w.dtype}{text}") from None
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


def weights_for(source: Source, weights: Any) -> Any:
    """Weights that have been checked, with the namespace, device and dtype of the rows of `source`."""
    if isinstance(weights, CarriedColumn):
        return weights
    return asarray_like(weights, source.empty(0), dtype=source.dtype)


def weights_of(block: Array, start: int, weights: Array | None) -> Array | None:
    """The weights of a block whose first row is row `start`."""
    if weights is None:
        return None
    stop = start + block.shape[0]
    if stop > weights.shape[0]:
        raise bad_weights("must have one entry per row", f"{weights.shape[0]} weights for {stop} rows or more")
    return weights[start:stop]


def check_all_weights(weights: Array | None, n: int) -> None:
    """Raise an error unless there are `n` weights; for a stream, the number of rows `n` is known only at its end."""
    if weights is not None and n != weights.shape[0]:
        raise bad_weights("must have one entry per row", f"{weights.shape[0]} weights for {n} rows")


# `summarize`: all rows of a source are added to a summary, in blocks and by several threads.


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
    n_threads = threads.available()
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
    for _ in threads.run_in_parallel(tasks, tick, n_threads=threads.available(), at_most=len(lanes)):
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
    with threads.single_threaded_blas():
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
