"""Windows of rows for training: as many rows as are shuffled together, read one window after another."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from .._progress import Progress, watcher
from .._threads import check_stop
from .._xp import Array, Beside, all_finite, concat_rows, dense
from ..sources import BesideSource, CarriedColumn, Source, bad_entry_error
from .blocks import rows_to_map
from .mapping import without_float_warnings
from .weights import check_all_weights, weights_of

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
    blocks = _blocks(source, weights, size, random)
    while (window := _next_window(blocks, size, progress)) is not None:
        yield window


def _next_window(blocks: Iterator[tuple[Array, Array | None]], size: int, progress: Progress | None) -> Window | None:
    """The next window, or None if there are no more blocks. Each window is told as a pass of its own, since other
    passes may come between two of them."""
    held: list[tuple[Array, Array | None]] = []
    count = 0
    for block, counts in blocks:
        check_stop()
        if progress is not None:
            if not held:
                progress.begin("Window", None, size)
            progress.step()
        held.append((block, counts))
        count += int(block.shape[0])
        if count >= size:
            break
    if not held:
        return None
    if progress is not None:
        progress.end()
    weights = None if held[0][1] is None else concat_rows([counts for _, counts in held])
    return Window(concat_rows([block for block, _ in held]), weights)


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
            yield block, weights_of(block, n, weights)
            n += int(block.shape[0])
        if part is source:
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
