"""Sums and products of the rows of a block on a device: a few large products, and one look at the results.

A device works while the host prepares what comes next, unless the host asks for a number: then both wait for each
other. So the sums of all slices are computed first, and vectors are sent to the host together. What is computed with
vectors is computed there, because a device takes as long to begin with an operation as the host to finish it.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

import numpy as np

from .._xp import (
    Array,
    Beside,
    asarray_like,
    astype,
    column_sums,
    device,
    namespace,
    to_host,
    wide_dtype,
)
from ..errors import NonFiniteBlock
from ..linalg import FLOAT32_SQUARES
from .device_products import joined_parts, parts_of_product, slice_rows

#: The shift of the first block is the mean of this many rows.
_PILOT_ROWS = 64
#: A better shift is needed if the variance of a column is a smaller part than this of its mean square about the shift:
#: in float64, and in float32, which has no digits to lose.
_FAR, _FAR_FLOAT32 = 0.01, 0.2
#: How often the shift is moved to the mean. The second time helps if the first shift was so far away that its sums had
#: no digits left.
_MOVES = 2


class Known(NamedTuple):
    """What is known of the rows before a block: their weight, mean, and sums of squares about the mean."""

    weight: float
    mean: Array
    squares: Array


@np.errstate(all="ignore")
def device_sums(
    block: Array, weights: Array | None, weight: float, known: Known | None, groups: Sequence[int], wide: bool
) -> tuple[np.ndarray, np.ndarray, Array, float]:
    """The shift c of a block, s = sum w (x - c), P = sum w (x - c)(x - c)^T, and the machine epsilon of the products.

    c and s are NumPy arrays; P stays on the device.

    Parameters
    ----------
    block : array or Beside of shape (n, p)
    weights : array of shape (n,), optional
    weight : float
        Their sum, or n.
    known : Known, optional
    groups : sequence of int
        Widths of tables side by side.
    wide : bool
        Multiply float32 rows in float64.

    Notes
    -----
    The shift is zero, and no row is copied, if the mean of no column is farther from zero than its rows are from the
    mean. Products in float32 whose squares are out of range are computed again in float64, and sums about a shift that
    was a bad one again about the mean. The memory beside the rows is that of one slice, or of two if there are weights,
    or if rows are multiplied in another dtype.
    """
    xp = namespace(block)
    widest = wide_dtype(xp, device(block))
    dtype = widest if wide else block.dtype
    narrow = np.dtype(np.float32 if block.dtype == xp.float32 else np.float64)
    shift, moves = _shift_for(block, known, narrow), 0
    low, high = FLOAT32_SQUARES
    while True:
        there, P = _sums_about(shift, block, weights, dtype)
        s, squares = to_host([there, xp.linalg.diagonal(P)])
        largest, least_spread = _look(s, squares, weight, groups)
        if np.isnan(largest).any():
            raise NonFiniteBlock
        if dtype != widest and not np.all((low < largest) & (largest < high)):
            dtype = widest
        elif moves < _MOVES and least_spread < (_FAR if dtype == xp.float64 else _FAR_FLOAT32):
            shift = (s / weight if shift is None else shift.astype(s.dtype) + s / weight).astype(narrow)
            moves += 1
        else:
            break
    if largest.max() > float(xp.finfo(widest).max) / 16 / block.shape[1]:
        raise NonFiniteBlock
    return np.zeros_like(s) if shift is None else shift, s, P, float(xp.finfo(dtype).eps)


def _shift_for(block: Array, known: Known | None, dtype: np.dtype) -> np.ndarray | None:
    """A shift near the mean, in `dtype`: that of the rows so far, or of the first rows; None stands for zeros.

    A column whose mean is not farther from zero than its rows are from the mean is not shifted: columns of zeros and
    ones, whose sums are exact, stay what they are. A column that is constant in the first rows is shifted by its entry,
    so that its scatter is exactly zero.
    """
    if known is not None:
        shift, squares = to_host([known.mean, known.squares])
        near = known.weight * shift**2 <= squares
    else:
        xp = namespace(block)
        rows = _rows(block, slice(0, min(_PILOT_ROWS, block.shape[0])), wide_dtype(xp, device(block)))
        found = [xp.mean(rows, axis=0), xp.var(rows, axis=0), xp.max(rows, axis=0), xp.min(rows, axis=0)]
        mean, variance, largest, smallest = to_host(found)
        near, shift = mean**2 <= variance, np.where(largest == smallest, largest, mean)
    return None if near.all() else np.where(near, 0.0, shift).astype(dtype)


def _sums_about(shift: np.ndarray | None, block: Array, weights: Array | None, dtype: Any) -> tuple[Array, Array]:
    """Sums and products about the shift. Those of a slice are computed in `dtype`, and added up in float64."""
    n, p = block.shape
    xp = namespace(block)
    widest = wide_dtype(xp, device(block))
    rows = slice_rows(p, dtype == xp.float32)
    c = None if shift is None else asarray_like(shift, block, dtype=dtype)
    s: Any = None
    P: Any = None
    for i in range(0, n, rows):
        part = slice(i, min(i + rows, n))
        Z = _rows(block, part, dtype)
        if c is not None:
            Z = Z - c
        w = None if weights is None else astype(weights[part], dtype)
        s_part = astype(column_sums(Z, w), widest)
        if w is not None:
            Z = Z * xp.sqrt(w)[:, None]
        P_part = [astype(product, widest) for product in parts_of_product(Z, widest)]
        s = s_part if s is None else s + s_part
        P = P_part if P is None else [a + b for a, b in zip(P, P_part, strict=True)]
    return s, joined_parts(P)


def _rows(block: Array, part: slice, dtype: Any) -> Array:
    """Some rows of a block in `dtype`; tables side by side are joined."""
    rows = block[part, :]
    return rows.joined(dtype) if isinstance(rows, Beside) else astype(rows, dtype)


def _look(s: np.ndarray, squares: np.ndarray, weight: float, groups: Sequence[int]) -> tuple[np.ndarray, float]:
    """The largest sum of squares of each group of columns, and the smallest variance of a column as a part of its mean
    square about the shift."""
    spread = np.where(squares > 0, (squares - s * s / weight) / squares, 1.0)
    tops = [squares[i:j].max() for i, j in pairwise(accumulate(groups, initial=0))]
    return np.array(tops), float(spread.min())
