"""`map_rows`: a function of each block of rows, and the results stacked."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from .. import _blas, _threads
from .._placing import placed_like
from .._xp import Array, all_finite, concat_rows, copy_to_numpy, to_numpy
from ..errors import NonFiniteBlock
from ..sources import (
    Source,
    open_source,
    resident,
    unusable_block_error,
)
from .blocks import edges, parts_of, rows_to_map


@dataclass(frozen=True)
class RowMap:
    """A function of the rows of a source, before it is applied: to all rows at once, or on the way to a file."""

    source: Source
    #: As for `map_rows`.
    function: Callable[[Array], Array]
    #: Returns the names of the columns of the results.
    names: Callable[[], Sequence[str]]
    takes_nan: bool = False

    def result(self) -> Array:
        """The results for all rows, see `map_rows`."""
        return map_rows(self.source, self.function, takes_nan=self.takes_nan, names=self.names)

    def on_device(self) -> RowMap:
        """The same map of rows on the device to which they are sent; the same object if they are not sent."""
        rows = resident(self.source)
        if rows is self.source:
            return self
        return replace(self, source=rows, function=placed_like(self.function, rows.empty(0)))


def map_rows(
    X: Any,
    function: Callable[[Array], Array],
    *,
    takes_nan: bool = False,
    names: Callable[[], Sequence[str]] | None = None,
) -> Array:
    """The stacked results of `function(block)` for all blocks of `X`: one pass, without a copy of all rows.

    `function` maps b rows to an array of length b, with one or two axes. If it has an attribute `keeps_sparse` that is
    true, sparse blocks have as many rows as their stored entries allow. NaN and infinity in the rows are detected in
    the results, so `function` must propagate them. If it has an attribute `replaces_rows` that is true, its results
    are the rows themselves with other entries. With `takes_nan`, `function` treats NaN as missing and must return
    finite results. For rows that an engine holds the result is a lazy collection of the engine, such as a Dask array,
    and no rows are read until it is computed; `names` returns the names of its columns.
    """
    source = open_source(X)
    if source.traits.sent is not None:
        return _mapped_and_returned(RowMap(source, function, names or (lambda: ()), takes_nan).on_device())
    rows = rows_to_map(source, function)
    if source.traits.engine is not None:
        task = partial(_answers, function=function, rows=rows, takes_nan=takes_nan)
        replaces = getattr(function, "replaces_rows", False)
        return source.traits.engine.mapped(source, task, task(source.first_block, 0), names, replaces=replaces)
    n, parts = source.shape[0], parts_of(source, threaded_blas=False)
    if not source.traits.host and source.traits.rereadable:
        found = _mapped_on_device(source, function, rows)
        if found is not None:
            return found
    if len(parts) == 1:
        pieces = list(mapped_blocks(source, function, 0, rows, lambda: None, takes_nan))
        return pieces[0] if len(pieces) == 1 else concat_rows(pieces)
    one = function(next(parts[0].blocks(1)))
    out = np.empty((n, *one.shape[1:]), dtype=one.dtype)

    def run(part: Source, start: int, tick: Callable[[], None]) -> None:
        i = start
        for piece in mapped_blocks(part, function, start, rows, tick, takes_nan):
            out[i : i + len(piece)] = piece
            i += len(piece)

    todo = [partial(run, part, start) for part, (start, _) in zip(parts, edges(parts), strict=True)]
    for _ in _threads.run_in_parallel(todo, n_threads=_blas.available()):
        pass
    return out


def _mapped_on_device(source: Source, function: Callable[[Array], Array], rows: int) -> Array | None:
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
    """The results of a map on a device, in main memory: those of one block return while the next one is sent."""
    rows, n = rows_to_map(there.source, there.function), there.source.shape[0]
    blocks = mapped_blocks(there.source, there.function, 0, rows, lambda: None, there.takes_nan)
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


def _answers(
    part: Source,
    start: int,
    along: None = None,
    *,
    function: Callable[[Array], Array],
    rows: int,
    takes_nan: bool,
) -> Array:
    """A task: the results of `function` for one partition."""
    with _blas.single_threaded_blas():
        return concat_rows(list(mapped_blocks(part, function, start, rows, lambda: None, takes_nan)))


def mapped_blocks(
    source: Source,
    function: Callable[[Array], Array],
    start: int,
    rows: int,
    tick: Callable[[], None],
    takes_nan: bool,
) -> Iterator[Array]:
    """The results of `function` for the blocks of `source`, whose first row is row `start` of the table."""
    with without_float_warnings():
        for block in source.blocks(rows):
            answer = mapped_block(source, function, block, start, takes_nan)
            start += block.shape[0]
            tick()
            yield answer


def mapped_block(
    source: Source, function: Callable[[Array], Array], block: Array, start: int, takes_nan: bool
) -> Array:
    """The result of `function` for a block of `source` whose first row is row `start` of the table."""
    try:
        answer = function(block)
        usable = all_finite(answer)
    except NonFiniteBlock:
        usable = False
    if usable:
        return answer
    raise unusable_block_error(source, block, range(start, start + block.shape[0]), takes_nan=takes_nan)


def without_float_warnings() -> np.errstate:
    """Context without NumPy's warnings of overflow: what is not finite is found in the results."""
    return np.errstate(over="ignore", invalid="ignore", under="ignore")
