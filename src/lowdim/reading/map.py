"""`map_rows` and `write_rows`: a function of each block of rows, and the results stacked or written to a sink."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from .._core import threads
from .._core.arrays import Array, all_finite, concat_rows, copy_to_numpy, to_numpy
from .._core.devices import moved_to_device
from .._core.threads import Progress, reported, watcher
from ..errors import NonFiniteBlock
from ..sources.base import Source, unusable_block_error, with_rows
from ..sources.beside import ColumnsSource, aligned
from ..sources.on_device import source_on_device
from ..sources.opening import open_source
from .summarizing import count_blocks, parts_of, rows_to_map

# `map_rows`: a function of each block of rows, and the results stacked.


#: A function of b rows whose result is an array of length b, and one that returns the names of its columns.
Function = Callable[[Array], Array]
Names = Callable[[], Sequence[str]]


@dataclass(frozen=True)
class RowMap:
    """A function of the rows of a source, before it is applied: to all rows at once, or on the way to a file."""

    source: Source
    #: As for `map_rows`.
    function: Function
    #: Returns the names of the columns of the results.
    names: Names
    takes_nan: bool = False

    def result(self) -> Array:
        """The results for all rows, see `map_rows`."""
        return map_rows(self.source, self.function, takes_nan=self.takes_nan, names=self.names)

    def on_device(self) -> RowMap:
        """The same map of rows on the device to which they are copied; the same object if they are not copied."""
        rows = source_on_device(self.source)
        if rows is self.source:
            return self
        return replace(self, source=rows, function=moved_to_device(self.function, rows.empty(0)))


def map_rows(X: Any, function: Function, *, takes_nan: bool = False, names: Names | None = None) -> Array:
    """The stacked results of `function(block)` for all blocks of `X`: one pass, without a copy of all rows.

    `function` maps b rows to an array of length b, with one or two axes. If it has an attribute `keeps_sparse` that is
    true, sparse blocks have as many rows as their stored entries allow. NaN and infinity in the rows are detected in
    the results, so `function` must propagate them. If it has an attribute `replaces_rows` that is true, its results
    are the rows themselves with other entries. With `takes_nan`, `function` treats NaN as missing and must return
    finite results. For rows that an engine holds the result is a lazy collection of the engine, such as a Dask array,
    and no rows are read until it is computed; `names` returns the names of its columns.
    """
    source = open_source(X)
    if source.traits.to_device is not None:
        return _mapped_and_returned(RowMap(source, function, names or (lambda: ()), takes_nan).on_device())
    rows = rows_to_map(source, function)
    if source.traits.engine is not None:
        task = partial(_answers, function=function, rows=rows, takes_nan=takes_nan)
        replaces = getattr(function, "replaces_rows", False)
        return source.traits.engine.mapped(source, task, task(source.first_block, 0), names, replaces=replaces)
    n, (_, parts) = source.shape[0], parts_of(source, threaded_blas=False)
    if not source.traits.host and source.traits.rereadable:
        found = _mapped_on_device(source, function, rows)
        if found is not None:
            return found
    if len(parts) == 1:
        pieces = list(mapped_blocks(source, function, 0, rows, takes_nan))
        return pieces[0] if len(pieces) == 1 else concat_rows(pieces)
    one = function(next(parts[0].blocks(1)))
    out = np.empty((n, *one.shape[1:]), dtype=one.dtype)

    def run(part: Source, start: int, tick: Callable[[], None]) -> None:
        i = start
        for piece in mapped_blocks(part, function, start, rows, takes_nan):
            out[i : i + len(piece)] = piece
            i += len(piece)
            tick()

    todo = [partial(run, part, start) for part, start, _ in with_rows(parts, None)]
    for _ in threads.run_in_parallel(todo, n_threads=threads.available()):
        pass
    return out


def _mapped_on_device(source: Source, function: Function, rows: int) -> Array | None:
    """The results for rows on a device, or None if some of them are not finite. All results are looked at together: the
    device would have to wait for a look at each block."""
    with without_float_warnings():
        try:
            pieces = [function(block) for block in source.blocks(rows)]
        except NonFiniteBlock:
            return None
        found = pieces[0] if len(pieces) == 1 else concat_rows(pieces)
        return found if all_finite(found) else None


def _mapped_and_returned(there: RowMap) -> np.ndarray:
    """The results of a map on a device, in main memory: those of one block return while the next one is copied."""
    rows, n = rows_to_map(there.source, there.function), there.source.shape[0]
    blocks = mapped_blocks(there.source, there.function, 0, rows, there.takes_nan)
    if n is None:
        return np.concatenate([to_numpy(piece) for piece in blocks])
    out: np.ndarray | None = None
    i = 0
    for piece in blocks:
        if out is None:
            out = np.empty((n, *piece.shape[1:]), dtype=to_numpy(piece[:0, ...]).dtype)
        j = i + piece.shape[0]
        copy_to_numpy(piece, out[i:j])
        i = j
    return np.empty(0) if out is None else out


def _answers(part: Source, start: int, along: None = None, *, function: Function, rows: int, takes_nan: bool) -> Array:
    """A task: the results of `function` for one partition."""
    with threads.single_threaded_blas():
        return concat_rows(list(mapped_blocks(part, function, start, rows, takes_nan)))


def mapped_blocks(source: Source, function: Function, start: int, rows: int, takes_nan: bool) -> Iterator[Array]:
    """The results of `function` for the blocks of `source`, whose first row is row `start` of the table."""
    with without_float_warnings():
        for block in source.blocks(rows):
            yield mapped_block(source, function, block, start, takes_nan)
            start += block.shape[0]


def mapped_block(source: Source, function: Function, block: Array, start: int, takes_nan: bool) -> Array:
    """The result of `function` for a block of `source` whose first row is row `start` of the table."""
    try:
        answer = function(block)
        if all_finite(answer):
            return answer
    except NonFiniteBlock:
        pass
    raise unusable_block_error(source, block, range(start, start + block.shape[0]), takes_nan=takes_nan)


def without_float_warnings() -> np.errstate:
    """Context without NumPy's warnings of overflow: what is not finite is found in the results."""
    return np.errstate(over="ignore", invalid="ignore", under="ignore")


# `write_rows`: a function of each block of rows, and the results written to a sink.
#
# Rows are read, results computed and blocks written at the same time, with a few blocks between them at most.


#: The results for a block have at most this size, or 64 rows.
_RESULT_BYTES = 4 << 20
#: One task reads and computes up to this many blocks.
_BLOCKS_PER_TASK = 8
#: At most this many blocks wait to be written.
_WAITING = 2

#: The results of one or more maps for a block, and the columns that are kept with them (a pyarrow table, or None).
Piece = tuple[list[np.ndarray], Any]


def write_rows(maps: Sequence[RowMap], to: Any, *, keep: Sequence[str] = (), progress: Progress | None = None) -> int:
    """Write the results of `maps` for all their rows, side by side and in order; returns the number of rows.

    Parameters
    ----------
    maps : sequence of RowMap
        Functions of the rows of one table, or of several tables with the same number of rows.
    to : object with a method `write(results, kept)`
        See `lowdim.sinks`.
    keep : sequence of str
        Columns of the first table that are carried along.
    progress : Progress, optional

    Notes
    -----
    One pass, by as many threads as BLAS would use and one that writes. Beside the rows as their source holds them, a
    few blocks of 1 or 2 MiB and their results are in memory. The partitions of a Dask collection are computed where
    they are, a few at a time. Tables that are columns of the same files or the same stream are read once.
    """
    progress = watcher(progress)
    maps = [each.on_device() for each in maps]
    jobs = [_Job(some, keep if i == 0 else ()) for i, some in enumerate(_read_together(maps))]
    n = 0
    with without_float_warnings(), ExitStack() as stack:
        n_blocks = jobs[0].n_blocks if len(jobs) == 1 else None
        stack.enter_context(reported(progress, "rows", n_blocks, jobs[0].rows))
        # Closing ends the threads that compute, and lifts the limit on BLAS.
        each = [stack.enter_context(closing(job.pieces())) for job in jobs]
        writer = stack.enter_context(ThreadPoolExecutor(1))
        waiting: deque[Any] = deque()
        for pieces in aligned(each, _length, _cut, [job.table for job in jobs]):
            n += _length(pieces[0])
            if len(waiting) == _WAITING:
                waiting.popleft().result()
            results = [result for some, _ in pieces for result in some]
            # Only pieces of the first job have columns that are kept.
            waiting.append(writer.submit(to.write, results, pieces[0][1]))
            if progress is not None:
                progress.step()
        for last in waiting:
            last.result()
    return n


def _read_together(maps: Sequence[RowMap]) -> list[Sequence[RowMap]]:
    """The maps in groups, each of which needs to read one source only."""
    sources = [each.source for each in maps]
    parents = [s.parent if isinstance(s, ColumnsSource) and not s.traits.remote else None for s in sources]
    together = parents[0] is not None and all(parent is parents[0] for parent in parents)
    return [maps] if together and len(maps) > 1 else [[each] for each in maps]


class _Job:
    """Maps that are read together, and how their rows are cut: into parts that threads or workers read, or else into
    the blocks of a source that can be read only from its beginning to its end."""

    def __init__(self, maps: Sequence[RowMap], keep: Sequence[str]) -> None:
        first = maps[0].source
        self.source = source = first.parent if len(maps) > 1 and isinstance(first, ColumnsSource) else first
        self.table = first.table
        width = max(1, sum(len(each.names()) for each in maps))
        rows = min(rows_to_map(source), max(64, _RESULT_BYTES // (width * source.traits.itemsize)))
        #: The number of rows of a block.
        self.rows = rows
        # Tables that are read together are columns of the source.
        columns: list[Any] = [each.source if each.source is not source else None for each in maps]
        steps = tuple((each.function, each.takes_nan, some) for each, some in zip(maps, columns, strict=True))
        self._reader = _Reader(steps, rows, tuple(keep))
        if source.traits.remote:
            self._parts = []
        elif source.traits.host and source.shape[0] is not None and not source.traits.part_bytes:
            self._parts = source.parts(-(-source.shape[0] // (rows * _BLOCKS_PER_TASK)))
        else:
            self._parts = [source]
        #: The number of blocks, or None if it is unknown.
        self.n_blocks = None if source.traits.remote else count_blocks(self._parts, rows)

    def pieces(self) -> Generator[Piece, None, None]:
        """The results for all blocks, in order."""
        if not self.source.traits.host:
            for block in self._reader.blocks(self.source, 0):
                yield from self._reader.piece(self.source, *block)
            return
        n_threads = threads.available()
        # Both are closed at once after an error, so that no file stays open.
        with closing(self._tasks()) as todo:
            # One task more than there are threads, so that none of them has to wait for the caller.
            done: Any = threads.run_in_parallel(todo, n_threads=n_threads, at_most=n_threads + 1)
            with closing(done):
                for pieces in done:
                    yield from pieces

    def _tasks(self) -> Generator[Callable[..., list[Piece]], None, None]:
        """Functions that return the results for one or more blocks."""
        reader, parts = self._reader, self._parts
        engine = self.source.traits.engine
        if engine is not None:
            return (partial(_computed, compute) for compute in engine.in_turn(self.source, reader.pieces))
        if len(parts) > 1:
            return (partial(reader.pieces, *each) for each in with_rows(parts, None))
        return (partial(reader.piece, self.source, *block) for block in reader.blocks(self.source, 0))


@dataclass(frozen=True)
class _Reader:
    """Reads blocks and makes results of them, here or on another machine."""

    #: For each map its function, whether that takes NaN, and the table of some columns of a block that is mapped, or
    #: None if it is the whole block.
    steps: tuple[tuple[Callable[[Any], Any], bool, ColumnsSource | None], ...]
    #: The number of rows of a block.
    rows: int
    #: The names of the columns that are carried along.
    keep: tuple[str, ...]

    def blocks(self, part: Source, start: int) -> Iterator[tuple[Any, Any, int]]:
        """The blocks of a part whose first row is row `start` of the table, what is kept of them, and the number of
        their first rows."""
        for block, kept in part.blocks_keeping(self.rows, self.keep):
            yield block, kept, start
            start += block.shape[0]

    def piece(
        self, part: Source, block: Any, kept: Any, start: int, tick: Callable[[], None] = lambda: None
    ) -> list[Piece]:
        """A list with the results for one block."""
        tick()
        results = []
        for function, takes_nan, columns in self.steps:
            table, some = (part, block) if columns is None else (columns, columns.of(block))
            results.append(to_numpy(mapped_block(table, function, some, start, takes_nan)))
        return [(results, kept)]

    def pieces(
        self, part: Source, start: int, along: None = None, tick: Callable[[], None] = lambda: None
    ) -> list[Piece]:
        """A task: the results for all blocks of a part, by one thread."""
        with threads.single_threaded_blas(), without_float_warnings():
            return [piece for block in self.blocks(part, start) for piece in self.piece(part, *block, tick=tick)]


def _computed(compute: Callable[[], list[Piece]], tick: Callable[[], None]) -> list[Piece]:
    """The results of one part, which a worker computes."""
    tick()
    return compute()


def _length(piece: Piece) -> int:
    """The number of rows of a piece."""
    return int(piece[0][0].shape[0])


def _cut(piece: Piece, i: int, j: int) -> Piece:
    """Rows i to j of a piece."""
    results, kept = piece
    return [result[i:j] for result in results], None if kept is None else kept.slice(i, j - i)
