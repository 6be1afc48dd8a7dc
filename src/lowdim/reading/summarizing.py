"""`summarize`: all rows of a source are added to a summary, in blocks and by several threads."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import suppress
from functools import partial
from itertools import cycle, islice
from os import PathLike
from typing import Any, TypeVar

import numpy as np

from .._core import threads
from .._core.arrays import Array, asarray_like, to_numpy
from .._core.devices import moved_to_device, moved_to_host
from .._core.threads import Progress, watcher
from .._core.types import VectorLike
from ..errors import NonFiniteBlock, bad_weights, no_order
from ..sources.array import floats_of
from ..sources.base import Engine, Source, Tick, unusable_block_error, with_rows
from ..sources.derived import in_order
from ..sources.on_device import source_on_device
from ..sources.opening import TableLike, by_name, open_source
from ..sources.spark_column import CarriedColumn
from ..summaries.base import Names, Parcel, Summary, SummaryCodec, agreed_names, union
from .checkpoint import Checkpoint, Cut, Keeper, Place

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
        made = max(2 * p, int(_MADE_BYTES / max(p * source.traits.itemsize * source.traits.stored, 1.0)))
        return min(wanted, made) if source.traits.costly else wanted
    return max(wanted, on_device // (p * source.traits.itemsize))


def parts_of(source: Source, threaded_blas: bool) -> tuple[int, list[Source]]:
    """How many parts a source should be cut into, and these parts, which may be fewer: several for each thread that
    should read it, so that no thread has to wait long for another one that is slower."""
    traits = source.traits
    n_bytes = max(traits.n_bytes, traits.part_bytes)
    if n_bytes < _PARALLEL_BYTES or not traits.host or (threaded_blas and not traits.sparse and not traits.costly):
        return 1, [source]
    n_threads = traits.n_readers
    if n_threads == 1:
        return 1, [source]
    k = n_threads * min(max(1, n_bytes // (n_threads * _PART_BYTES)), _PARTS_PER_THREAD)
    parts = source.parts(k)
    return (k, parts) if len(parts) > 1 else (1, [source])


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
        raise ValueError(
            f"sample_weight={weights!r} is the name of a column, and X is not one table whose columns have names. Pass "
            "the weights, one for each row, or pass a data frame or a file with names as X."
        )
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
            w = floats_of(np.asarray(w, dtype=object))
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


def weights_of(block: Array, start: int, weights: Array) -> Array:
    """The weights of a block whose first row is row `start`."""
    stop = start + block.shape[0]
    if stop > weights.shape[0]:
        raise bad_weights("must have one entry per row", f"{weights.shape[0]} weights for {stop} rows or more")
    return weights[start:stop]


def check_all_weights(weights: Array, n: int) -> None:
    """Raise an error unless there are `n` weights; for a stream, the number of rows `n` is known only at its end."""
    if n != weights.shape[0]:
        raise bad_weights("must have one entry per row", f"{weights.shape[0]} weights for {n} rows")


S = TypeVar("S", bound=Summary)


class Shard:
    """One of the summaries of a pass, to which every `step`-th piece is added, in order.

    If it is `watched`, `place` says how far the shard is, and `kept` is always a pair of a place and a summary of
    exactly the rows up to it. Such a pair is made after each block and never changed, so that any thread may take it
    at any time. Otherwise `place` is where the shard began.
    """

    def __init__(self, summary: Summary, place: Place, step: int, watched: bool) -> None:
        self.summary, self.place, self.step, self._watched = summary, place, step, watched
        if watched:
            self.kept = (place, summary.snapshot())

    def move(self, piece: int, rows: int = 0) -> None:
        """Note that the pieces before `piece`, and its rows up to row `rows`, have been added."""
        if self._watched:
            self.place = Place(piece, rows)
            self.kept = (self.place, self.summary.snapshot())


#: A piece of the rows, which adds itself to the summary of a shard and calls a function after each block.
Piece = Callable[[Shard, Tick], None]
Pieces = Generator[Piece, None, None]


def summarize(
    X: TableLike,
    summary: S | type[S],
    *,
    weights: VectorLike | None = None,
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
    weights : array of shape (n,), or str, default=None
        Frequency weights; rows of weight zero are left out. Or the name of a column of `X` that holds them, which is
        then not one of the columns that are summed up.
    progress : Progress, default=None
    checkpoint : Checkpoint, str or path, default=None
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
    >>> from lowdim.reading import summarize
    >>> from lowdim.summaries import Moments
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
    names = column_names(source)
    if names is not None:
        summary.names = agreed_names(summary.names, names, "the table to be added")
    if source.traits.to_device is not None:
        # The rows are summed up on the device to which they are copied, and the sums come back.
        rows = source_on_device(source)
        there = moved_to_device(summary.fresh(), rows.empty(0))
        weights = None if weights is None else weights_for(rows, weights)
        summary.merge(moved_to_host(summarize_source(rows, there, weights, progress, checkpoint)))
        return summary
    keeper = None if checkpoint is None else Keeper(checkpoint, source, weights, summary, progress)
    if source.traits.engine is not None:
        _add_remotely(source, source.traits.engine, summary, weights, progress)
        return summary
    if keeper is None or not keeper.finish(summary):
        # The blocks themselves are handed out to threads if the rows cannot be cut into parts beforehand, and the
        # product of one block does not keep BLAS busy.
        by_blocks = source.traits.n_bytes == 0 and source.traits.host and not summary.threaded_blas
        if keeper is not None and keeper.found is not None:
            cut = keeper.found.cut
            parts = [source] if cut.parts == 1 else source.parts(cut.parts)
        else:
            wanted, parts = parts_of(source, summary.threaded_blas)
            # There are more summaries than threads, to which parts, or the blocks of the only part, are added in turn.
            # A thread takes the next piece as soon as it is free, unless the summary of that piece is still in use. So
            # slow threads get fewer pieces than others.
            n = threads.available() if len(parts) > 1 or by_blocks else 1
            n_shards = n + max(1, n // 2) if n > 1 else 1
            n_shards = min(n_shards, len(parts)) if len(parts) > 1 else n_shards
            cut = Cut(rows_to_sum(source, summary, weights is not None), wanted, n_shards)
        watching = progress if keeper is None else keeper
        tick = None if watching is None else watching.step
        with threads.reported(progress, type(summary).__name__, count_blocks(parts, cut.rows), cut.rows):
            if keeper is None and len(parts) == 1 and not by_blocks:
                _add_part(source, weights, 0, cut.rows, 0, summary, tick)
            else:
                _add_in_shards(parts, summary, weights, cut, keeper, tick, len(parts) > 1 or by_blocks)
    if keeper is not None:
        keeper.end(summary, keep=keep)
    return summary


def column_names(source: Source) -> Names:
    """The names of the columns of all tables of a source, side by side; None if no table has names."""
    if source.transposed:
        return None
    if not source.joins_tables:
        return None if source.names is None else tuple(source.names)
    members = source.members
    if all(member.names is None for member in members):
        return None
    each = ([None] * member.shape[1] if member.names is None else member.names for member in members)
    return tuple(name for names in each for name in names)


def _add_in_shards(
    parts: list[Source],
    summary: Summary,
    weights: Array | None,
    cut: Cut,
    keeper: Keeper | None,
    tick: Tick,
    in_threads: bool,
) -> None:
    """Add parts, or the blocks of the only part, to several summaries in turn, and merge these: piece i to the summary
    of shard i modulo the number of shards. In several threads, a shard takes one piece at a time, in order, so that the
    sums are the same each time."""
    summaries = [summary, *(summary.fresh() for _ in range(cut.summaries - 1))]
    places = [Place(i) for i in range(cut.summaries)] if keeper is None else keeper.places(summaries, cut)
    watched = keeper is not None
    shards = [Shard(each, place, cut.summaries, watched) for each, place in zip(summaries, places, strict=True)]
    if keeper is not None:
        keeper.watch(shards)
    first = min(place.piece for place in places)
    if len(parts) > 1:
        pieces = _parts_to_add(parts, weights, cut.rows, first)
    elif keeper is None:
        pieces = _blocks_to_add(parts[0], weights, parts[0].blocks(cut.rows), 0, 0)
    else:
        pieces = _blocks_to_add(parts[0], weights, keeper.blocks(), keeper.begin.block, keeper.begin.row)
    turns = islice(cycle(shards), first % len(shards), None)
    tasks = (partial(piece, shard) for piece, shard in zip(pieces, turns, strict=False))
    try:
        if in_threads:
            # Results come in the order of the pieces, so the error that is raised is that of the first bad one.
            for _ in threads.run_in_parallel(tasks, tick, n_threads=threads.available(), at_most=len(shards)):
                pass
        else:
            for task in tasks:
                task(tick)
    except BaseException:
        if keeper is not None:
            # What has been added is kept. If the file cannot be written, the first error says more.
            with suppress(OSError):
                keeper.write()
        raise
    finally:
        # The files that blocks are read from are closed at once, and not when the traceback of an error is gone.
        pieces.close()
    for shard in shards[1:]:
        summary.merge(shard.summary)


def _parts_to_add(parts: list[Source], weights: Array | None, rows: int, first: int) -> Pieces:
    """Pieces for each part from number `first` on, with its weights."""
    for number, (part, row, some) in enumerate(with_rows(parts, weights)):
        if number >= first:
            yield partial(_add_part, part, some, row, rows, number)


def _add_part(
    part: Source, weights: Array | None, start: int, rows: int, number: int, to: Summary | Shard, tick: Tick
) -> None:
    """Add the rows of a part, whose first row is row `start` of the table, as far as they have not been added."""
    shard, summary, before = (to, to.summary, to.place.rows) if isinstance(to, Shard) else (None, to, 0)
    if shard is not None and number < shard.place.piece:
        return
    done = before
    if before and part.can_skip:
        blocks = part.after(before).blocks(rows) if before < int(part.shape[0] or 0) else iter(())
    else:
        done, blocks = 0, part.blocks(rows)
    for block in blocks:
        n = int(block.shape[0])
        if done >= before:
            counts = None if weights is None else weights_of(block, done, weights)
            try:
                summary.update(block, counts)
            except NonFiniteBlock:
                raise _unusable(part, summary, block, start + done, counts) from None
            if shard is not None:
                shard.move(number, done + n)
            if tick is not None:
                tick()
        done += n
    if weights is not None:
        check_all_weights(weights, done)
    if shard is not None:
        shard.move(number + shard.step)


def _blocks_to_add(source: Source, weights: Array | None, blocks: Iterator[Array], number: int, row: int) -> Pieces:
    """Pieces for the blocks of a source from block `number` on, which begins with row `row`, with their weights."""
    for i, block in enumerate(blocks, number):
        counts = None if weights is None else weights_of(block, row, weights)
        yield partial(_add_block, source, block, counts, i, row)
        row += int(block.shape[0])
    if weights is not None:
        check_all_weights(weights, row)


def _add_block(
    source: Source, block: Array, weights: Array | None, number: int, row: int, shard: Shard, tick: Tick
) -> None:
    """Add one block, if it has not been added."""
    if number >= shard.place.piece:
        try:
            shard.summary.update(block, weights)
        except NonFiniteBlock:
            raise _unusable(source, shard.summary, block, row, weights) from None
        shard.move(number + shard.step)
        if tick is not None:
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
        on_start=None if progress is None else partial(progress.begin, type(summary).__name__),
        tick=None if progress is None else progress.step,
    )
    summary.merge(total)
    if progress is not None:
        progress.end()


def _summary_of_partition(part: Source, start: int, weights: Array | None, *, like: Parcel, rows: int) -> Summary:
    """A task: the summary of one partition and its weights."""
    summary = like.summary.fresh()
    with threads.single_threaded_blas():
        _add_part(part, weights, start, rows, 0, summary, None)
    return summary


def _unusable(source: Source, summary: Summary, block: Array, start: int, counts: Array | None) -> Exception:
    """The error that names the entry because of which the sums of a block are not finite."""
    numbers = range(start, start + block.shape[0])
    options: Any = {"takes_nan": summary.takes_nan, "powers": summary.powers}
    return unusable_block_error(source, block, numbers, counts, **options)
