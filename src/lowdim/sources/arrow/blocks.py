"""Batches of Arrow, of any number of rows, as blocks of exactly as many rows as were asked for."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from ..._xp import empty_columns
from ..block_memory import BlockMemory
from ..exact_integers import InexactInteger
from ..read_ahead import read_ahead
from .columns import fill

#: Makes the error for an integer that float64 cannot hold, from its row, its column and its value.
Error = Callable[[int, int, int], Exception]

#: Small blocks are cut from a buffer of at least this size: a call for each column and batch then costs little.
_BUFFER_BYTES = 8 << 20


def blocks_of(
    batches: Iterator[Any],
    n_columns: int,
    dtype: Any,
    rows: int,
    error: Error,
    *,
    n: int | None = None,
    keep: Sequence[str] = (),
    ahead: bool = True,
    memory: BlockMemory | None = None,
) -> Iterator[tuple[np.ndarray, Any]]:
    """Blocks of exactly `rows` rows (the last may be shorter) of the first `n_columns` columns of the batches.

    Each block comes with a table of the columns `keep` of its rows, or with None if none are kept. `error(row, column,
    value)` makes the error for an integer that float64 cannot hold. If the number of rows `n` is known, no more memory
    than that is taken. Unless `ahead`, the thread that uses the blocks also reads them. Blocks lie in `memory`, which
    later blocks use again.

    Notes
    -----
    The numbers of a column lie one after the other in a block, as they do in Arrow, so that a column is copied as a
    whole. Another thread reads and copies the next blocks while the last ones are in use.
    """
    itemsize = np.dtype(dtype).itemsize
    at_once = max(1, _BUFFER_BYTES // max(1, rows * n_columns * itemsize))
    capacity = rows * at_once if n is None else min(rows * at_once, max(n, 1))
    empty = (memory or BlockMemory()).empty
    buffers = _buffers_of(batches, partial(empty_columns, capacity, n_columns, dtype, empty), error, keep)
    for buffer, table in read_ahead(buffers) if ahead else buffers:
        filled = len(buffer)
        for i in range(0, filled, rows):
            j = min(i + rows, filled)
            yield buffer[i:j], None if table is None else table.slice(i, j - i)


def _buffers_of(
    batches: Iterator[Any], new_buffer: Callable[[], np.ndarray], error: Error, keep: Sequence[str]
) -> Generator[tuple[np.ndarray, Any], None, None]:
    """Full buffers (the last may be shorter), and the columns that are kept with their rows."""
    buffer, filled, done = new_buffer(), 0, 0
    capacity, n_columns = buffer.shape
    kept: list[Any] = []
    for batch in batches:
        start, piece = 0, batch
        while start < batch.num_rows:
            count = min(capacity - filled, batch.num_rows - start)
            piece = batch.slice(start, count)
            for j in range(n_columns):
                try:
                    fill(buffer[filled : filled + count, j], piece.column(j))
                except InexactInteger as found:
                    raise error(done + filled + found.index, j, found.value) from None
            if keep:
                kept.append(piece.select(list(keep)))
            start, filled = start + count, filled + count
            if filled == capacity:
                yield buffer, _table(kept)
                done, filled, kept = done + filled, 0, []
                buffer = new_buffer()
        del batch, piece
    if filled:
        yield buffer[:filled], _table(kept)


def _table(pieces: list[Any]) -> Any:
    """Batches as one table; None if there are none."""
    import pyarrow as pa

    return pa.Table.from_batches(pieces) if pieces else None
