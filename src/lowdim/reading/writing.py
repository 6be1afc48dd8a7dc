"""`write_rows`: a function of each block of rows, and the results written to a sink.

Rows are read, results computed and blocks written at the same time, with a few blocks between them at most.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import numpy as np

from .. import _blas, _threads
from .._threads import Progress
from .._xp import to_numpy
from ..errors import inconsistent_lengths
from ..sources import Source, tasks
from .blocks import count_blocks, edges, rows_to_map
from .mapping import RowMap, mapped_block, without_float_warnings

#: The results for a block have at most this size, or 64 rows.
_RESULT_BYTES = 4 << 20
#: One task reads and computes up to this many blocks.
_BLOCKS_PER_TASK = 8
#: At most this many blocks wait to be written.
_WAITING = 2

#: The results for a block, and the columns that are kept with them (a pyarrow table, or None).
Piece = tuple[np.ndarray, Any]


class Writes(Protocol):
    """What results are written to; see `lowdim.sinks`."""

    def write(self, results: Sequence[np.ndarray], kept: Any = None) -> None: ...


def write_rows(
    maps: Sequence[RowMap], to: Writes, *, keep: Sequence[str] = (), progress: Progress | None = None
) -> int:
    """Write the results of `maps` for all their rows, side by side and in order; returns the number of rows.

    Parameters
    ----------
    maps : sequence of RowMap
        Functions of the rows of one table, or of several tables with the same number of rows.
    to : object with a method `write`
    keep : sequence of str
        Columns of the first table that are carried along.
    progress : Progress, optional

    Notes
    -----
    One pass, by as many threads as BLAS would use and one that writes. Beside the rows as their source holds them, a
    few blocks of about 1 MiB and their results are in memory. The partitions of a Dask collection are computed where
    they are, a few at a time.
    """
    jobs = [_Job(each, keep if i == 0 else ()) for i, each in enumerate(maps)]
    if progress is not None:
        progress.begin("rows", jobs[0].n_blocks if len(jobs) == 1 else None)
    n = 0
    with without_float_warnings(), ExitStack() as stack:
        # Closing ends the threads that compute, and lifts the limit on BLAS.
        each = [stack.enter_context(closing(job.pieces())) for job in jobs]
        writer = stack.enter_context(ThreadPoolExecutor(1))
        waiting: deque[Any] = deque()
        for results, kept in _side_by_side(each, [job.source.table for job in jobs]):
            n += results[0].shape[0]
            if len(waiting) == _WAITING:
                waiting.popleft().result()
            waiting.append(writer.submit(to.write, results, kept))
            if progress is not None:
                progress.step()
        for last in waiting:
            last.result()
    if progress is not None:
        progress.end()
    return n


class _Job:
    """One map, and how its rows are cut: into parts that threads or workers read, or else into the blocks of a source
    that can be read only from its beginning to its end."""

    def __init__(self, each: RowMap, keep: Sequence[str]) -> None:
        self.source = source = each.source
        width = max(1, len(each.names()))
        rows = min(rows_to_map(source), max(64, _RESULT_BYTES // (width * source.traits.itemsize)))
        self._reader = _Reader(each.function, each.takes_nan, rows, tuple(keep))
        if source.traits.remote:
            self._parts = source.parts(1)
        elif source.traits.host and source.shape[0] is not None:
            self._parts = source.parts(-(-source.shape[0] // (rows * _BLOCKS_PER_TASK)))
        else:
            self._parts = [source]
        #: The number of blocks, or None if it is unknown.
        self.n_blocks = None if source.traits.remote else count_blocks(self._parts, rows)

    def pieces(self) -> Generator[Piece, None, None]:
        """The results for all blocks, in order."""
        if not self.source.traits.host:
            yield from self._reader.pieces(self.source, 0)
            return
        n_threads = _blas.available()
        # One task more than there are threads, so that none of them has to wait for the caller.
        done: Any = _threads.run_in_parallel(self._tasks(), n_threads=n_threads, at_most=n_threads + 1)
        with closing(done):
            for pieces in done:
                yield from pieces

    def _tasks(self) -> Iterator[Callable[..., list[Piece]]]:
        """Functions that return the results for one or more blocks."""
        reader, parts = self._reader, self._parts
        if self.source.traits.remote:
            return (partial(_computed, lazy) for lazy in tasks(parts, reader.all_pieces))
        if len(parts) > 1:
            return (partial(reader.all_pieces, part, i) for part, (i, _) in zip(parts, edges(parts), strict=True))
        return (partial(reader.piece, self.source, *block) for block in reader.blocks(self.source, 0))


@dataclass(frozen=True)
class _Reader:
    """Reads blocks and makes results of them, here or on another machine."""

    function: Callable[[Any], Any]
    takes_nan: bool
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

    def pieces(self, part: Source, start: int) -> Iterator[Piece]:
        """The results for the blocks of a part."""
        for block in self.blocks(part, start):
            yield from self.piece(part, *block)

    def piece(
        self, part: Source, block: Any, kept: Any, start: int, tick: Callable[[], None] = lambda: None
    ) -> list[Piece]:
        """A list with the result for one block."""
        tick()
        return [(to_numpy(mapped_block(part, self.function, block, start, self.takes_nan)), kept)]

    def all_pieces(self, part: Source, start: int, tick: Callable[[], None] = lambda: None) -> list[Piece]:
        """The results for all blocks of a part, by one thread."""
        with _blas.single_threaded_blas(), without_float_warnings():
            return [piece for block in self.blocks(part, start) for piece in self.piece(part, *block, tick=tick)]


def _computed(lazy: Any, tick: Callable[[], None]) -> list[Piece]:
    """The value of a lazy object of Dask."""
    tick()
    return lazy.compute()


def _side_by_side(each: Sequence[Iterator[Piece]], tables: Sequence[str]) -> Iterator[tuple[list[np.ndarray], Any]]:
    """Pieces of several tables, cut so that those that lie side by side have the same rows; the first table may have
    kept columns."""
    held: list[Any] = [None] * len(each)
    seen = [0] * len(each)
    while True:
        for i, pieces in enumerate(each):
            if held[i] is None:
                held[i] = next(pieces, None)
                seen[i] += 0 if held[i] is None else held[i][0].shape[0]
        if all(piece is None for piece in held):
            return
        if any(piece is None for piece in held):
            lengths = [n if piece is None else None for n, piece in zip(seen, held, strict=True)]
            raise inconsistent_lengths(tables, lengths)
        n = min(result.shape[0] for result, _ in held)
        kept = held[0][1]
        yield [result[:n] for result, _ in held], kept if kept is None else kept.slice(0, n)
        held = [
            None if result.shape[0] == n else (result[n:], kept if kept is None else kept.slice(n))
            for result, kept in held
        ]
