"""Find the entry because of which the sums over a block are not finite, and make an error that names it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from .._xp import Array, Beside, astype, is_sparse, namespace, to_numpy
from ..errors import not_finite, too_large
from .base import Source

#: The number of entries on a device that are looked at together.
_LOOKED_AT = 1 << 24


def bad_entry_error(
    source: Source,
    block: Array,
    row_numbers: Sequence[int] | np.ndarray,
    weights: Array | None = None,
    *,
    takes_nan: bool = False,
) -> ValueError | None:
    """The error that names the first NaN or infinity in a block, or None if all entries are finite.

    Parameters
    ----------
    source : Source
        Where the block comes from.
    block : dense array, CSR array or Beside
    row_numbers : sequence of int
        The number of each row of the block in the source.
    weights : array, optional
        Rows of weight zero are ignored.
    takes_nan : bool
        Accept NaN: only infinity is an error.
    """
    block, row_numbers, weights = _one_row(block, row_numbers, weights, partial(_has_bad, takes_nan=takes_nan))
    values, place = _entries(block, weights)
    bad = np.isinf(values) if takes_nan else ~np.isfinite(values)
    if not bad.any():
        return None
    index = int(np.argmax(bad))
    return _error_at(source, *place(index), row_numbers, float(values[index]), not_finite)


def unusable_block_error(
    source: Source,
    block: Array,
    row_numbers: Sequence[int] | np.ndarray,
    weights: Array | None = None,
    *,
    takes_nan: bool = False,
    powers: str = "squares",
) -> ValueError:
    """The error for a block whose sums are not finite: it names the first bad entry, or else the largest entry, whose
    `powers` are too large."""
    error = bad_entry_error(source, block, row_numbers, weights, takes_nan=takes_nan)
    if error is not None:
        return error
    block, row_numbers, weights = _one_row(block, row_numbers, weights, _largest)
    values, place = _entries(block, weights)
    index = int(np.nanargmax(np.abs(values)))
    return _error_at(source, *place(index), row_numbers, float(values[index]), partial(too_large, powers=powers))


def _one_row(
    block: Any, row_numbers: Sequence[int] | np.ndarray, weights: Array | None, measure: Callable[[Array], Array]
) -> tuple[Any, Sequence[int] | np.ndarray, Array | None]:
    """Of a block on a device only the first row with the largest `measure`, so that no more is copied to the host. All
    others are left as they are."""
    xp = namespace(block)
    if xp is np:
        return block, row_numbers, weights
    n, p = block.shape
    step = max(1, _LOOKED_AT // p)
    most, row = -1.0, 0
    for i in range(0, n, step):
        part = slice(i, min(i + step, n))
        rows = block[part, :]
        found = measure(rows.joined() if isinstance(rows, Beside) else rows)
        if weights is not None:
            found = xp.where(weights[part] > 0, found, xp.zeros_like(found))
        first = int(xp.argmax(found))
        if float(found[first]) > most:
            most, row = float(found[first]), i + first
    here = slice(row, row + 1)
    return block[here, :], row_numbers[here], None if weights is None else weights[here]


def _has_bad(rows: Array, takes_nan: bool) -> Array:
    """1 for rows with an entry that cannot be used, otherwise 0."""
    xp = namespace(rows)
    return astype(xp.any(xp.isinf(rows) if takes_nan else ~xp.isfinite(rows), axis=1), rows.dtype)


def _largest(rows: Array) -> Array:
    """The largest magnitude in each row; missing entries count as zero."""
    xp = namespace(rows)
    return xp.max(xp.where(xp.isnan(rows), xp.zeros_like(rows), xp.abs(rows)), axis=1)


def _error_at(
    source: Source,
    i: int,
    j: int,
    row_numbers: Sequence[int] | np.ndarray,
    value: float,
    build: Callable[..., ValueError],
) -> ValueError:
    """The error that `build` makes for entry (i, j) of a block, given its row, column and table in the source."""
    number = int(row_numbers[i])
    row, column = (source.row(j), number) if source.transposed else (number, j)
    label = source.row_label(row, column)
    table, column, names = source.place(column)
    return build(label, column, value, names, table)


def _entries(block: Any, weights: Array | None) -> tuple[np.ndarray, Callable[[int], tuple[int, int]]]:
    """The entries of a block, row by row, with zeros in rows of weight zero; and a function that returns the row and
    the column of the entry with a given index. For a sparse block, only the stored entries."""
    counted = None if weights is None else to_numpy(weights) > 0
    if is_sparse(block) and block.nnz:
        rows = np.repeat(np.arange(block.shape[0]), np.diff(block.indptr))
        values = block.data if counted is None else np.where(counted[rows], block.data, 0.0)
        return values, lambda index: (int(rows[index]), int(block.indices[index]))
    if is_sparse(block):
        return np.zeros(1), lambda index: (0, 0)
    data = to_numpy(block.joined() if isinstance(block, Beside) else block)
    data = data if counted is None else np.where(counted[:, None], data, 0.0)
    n_columns = data.shape[1]
    return data.ravel(), lambda index: divmod(index, n_columns)
