"""Sums and products of the rows of a block on a device: a few large products, and one look at the results.

A device works while the host prepares what comes next, unless the host asks for a number: then both wait for each
other. So the sums of all slices are computed first, and vectors are copied to the host at once. What is computed with
vectors is computed there, because a device takes as long to begin with an operation as the host to finish it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from .._core.arrays import (
    Array,
    Beside,
    asarray_like,
    astype,
    column_sums,
    device,
    multiplies_parts,
    namespace,
    to_host,
    wide_dtype,
)
from ..errors import NonFiniteBlock
from ..linalg import FLOAT32_SQUARES

# Products of the rows of a block on a device: a few large ones, which use that the result is symmetric.


#: The size, and the largest number of rows, of the slices of a block whose products are computed in the dtype of the
#: rows, and added in float64. Products of more rows lose digits of float32: with 256 columns of normal numbers, the
#: largest eigenvalues had errors of 2e-8 for 2^18 rows, and of 6e-7 for 2^21.
_SLICE_BYTES, _SLICE_ROWS = 512 << 20, 1 << 19
#: Up to this many columns, a slice is multiplied by itself as a long and narrow matrix.
_NARROW = 64
#: A product of long and narrow matrices on a device is the sum of products of so many rows, which are computed
#: together: one product keeps few of the cores of a device busy, and adds up too many numbers in turn.
_STACKED_ROWS = 1024
#: From this many columns on, the parts of a product that are the same by symmetry are computed once: three quarters of
#: the multiplications, in two products.
_HALVES_FROM = 128
#: Features are centred before they are multiplied if less than this share of their squares is left by centring them.
_FAR_SAMPLES = 0.2
#: Blocks with fewer features and samples than this are always centred. The copy costs nothing, and a few more rounding
#: errors could change the rank that is found for a small table.
_SMALL = 512


@np.errstate(all="ignore")
def products_of_samples(block: Array, sample_weight: Array | None, means: Any) -> Array:
    """Inner products of samples over the features of a block, which are its rows, in the widest dtype of the device.

    Those of large blocks are taken about zero, so that no feature is copied, if centring takes at most four fifths of
    the squares away: the caller centres the products. Otherwise they are about the means of the features, which the
    function `means` computes for a slice of them. Products in float32 whose squares are out of range are computed again
    in float64.
    """
    xp, n = namespace(block), block.shape[1]
    widest = wide_dtype(block)
    w = xp.ones(n, dtype=widest, device=device(block)) if sample_weight is None else astype(sample_weight, widest)
    low, high = FLOAT32_SQUARES
    dtype, centre = block.dtype, max(block.shape) < _SMALL
    while True:
        P = _sum_of_products(block, dtype, means if centre else None)
        squares, along, weights = to_host([xp.linalg.diagonal(P), P @ w, w])
        if np.isnan(squares).any():
            raise NonFiniteBlock
        total, offset = float(weights @ squares), float(weights @ along) / float(weights.sum())
        if dtype != widest and not low < squares.max() < high:
            dtype = widest
        elif not centre and not total - offset >= _FAR_SAMPLES * total:
            # This is also so if the squares about zero are too large.
            centre = True
        else:
            break
    if squares.max() > float(xp.finfo(widest).max) / 16 / n:
        raise NonFiniteBlock
    return P


def _sum_of_products(block: Array, dtype: Any, means: Any) -> Array:
    """Z^T Z for the rows of a block, less their `means`; those of a slice are computed in `dtype`, and added up in the
    widest one."""

    def of_slice(at: slice) -> list[Array]:
        Z = block[at, :]
        return parts_of_product(astype(Z if means is None else Z - means(Z), dtype))

    return joined_parts(_added_up(block, dtype, of_slice))


def _added_up(block: Array, dtype: Any, of_slice: Callable[[slice], list[Array]]) -> list[Array]:
    """The sums, in the widest dtype, of what `of_slice` gives for slices of the rows, which it computes in `dtype`."""
    n, p = block.shape
    widest = wide_dtype(block)
    rows = max(2 * p, _SLICE_BYTES // (p * (4 if dtype == namespace(block).float32 else 8)))
    rows = rows if p <= _NARROW else min(rows, max(2 * p, _SLICE_ROWS))
    total: list[Array] = []
    for i in range(0, n, rows):
        found = [astype(part, widest) for part in of_slice(slice(i, min(i + rows, n)))]
        total = [a + b for a, b in zip(total, found, strict=True)] if total else found
    return total


def parts_of_product(Z: Array) -> list[Array]:
    """Z^T Z in the dtype of Z, or the sum of several such products in the widest one. If Z has many columns, only its
    upper half of rows, and the right half of the lower ones: the left half is known from the upper one by symmetry."""
    p = Z.shape[1]
    if p >= _HALVES_FROM and multiplies_parts(Z):
        left, right = Z[:, : p // 2], Z[:, p // 2 :]
        return [left.T @ Z, right.T @ right]
    return [Z.T @ Z if p > _NARROW else tall_product(Z, Z, wide_dtype(Z))]


def tall_product(X: Array, Y: Array, dtype: Any = None) -> Array:
    """X^T Y for long and narrow matrices. On a device it is the sum, in `dtype`, of products of a thousand rows."""
    xp, n = namespace(X), X.shape[0]
    rows = _stacked_rows(n)
    k = n // rows
    if xp is np or k < 2:
        return X.T @ Y if dtype is None else astype(X.T @ Y, dtype)
    m = k * rows
    left, right = (xp.reshape(A[:m, :], (k, rows, A.shape[1])) for A in (X, Y))
    found = xp.sum(xp.matrix_transpose(left) @ right, axis=0, dtype=dtype)
    return found if m == n else found + astype(X[m:, :].T @ Y[m:, :], found.dtype)


@lru_cache(maxsize=64)
def _stacked_rows(n: int) -> int:
    """The number of rows of each product of a stack: one that leaves no rows over, if there is one that is near."""
    near = range(_STACKED_ROWS, _STACKED_ROWS // 2, -1)
    return next((rows for rows in near if n % rows == 0), _STACKED_ROWS)


def joined_parts(P: list[Array]) -> Array:
    """The symmetric matrix whose parts `parts_of_product` gives."""
    if len(P) == 1:
        return P[0]
    xp = namespace(P[0])
    upper, corner = P
    lower = xp.concat([upper[:, upper.shape[0] :].T, corner], axis=1)
    return xp.concat([upper, lower], axis=0)


#: The shift of the first block is the mean of this many rows.
_PILOT_ROWS = 64
#: A better shift is needed if the variance of a column is a smaller part than this of its mean square about the shift:
#: in float64, and in float32, which has no digits to lose.
_FAR, _FAR_FLOAT32 = 0.01, 0.2
#: How often the shift is moved to the mean. The second time helps if the first shift was so far away that its sums had
#: no digits left.
_MOVES = 2


@np.errstate(all="ignore")
def device_sums(
    so_far: Any, block: Array, weights: Array | None, weight: float
) -> tuple[np.ndarray, np.ndarray, Array, float]:
    """The shift c of a block, s = sum w (x - c), P = sum w (x - c)(x - c)^T, and the machine epsilon of the products.

    c and s are NumPy arrays; P stays on the device. `so_far` are the Moments to which the block will be added, and
    `weight` is the sum of the weights, or the number of rows.

    Notes
    -----
    The shift is zero, and no row is copied, if the mean of no column is farther from zero than its rows are from the
    mean. Products in float32 whose squares are out of range are computed again in float64, and sums about a shift that
    was a bad one again about the mean. The memory beside the rows is that of one slice, or of two if there are weights,
    or if rows are multiplied in another dtype.
    """
    xp = namespace(block)
    widest = wide_dtype(block)
    dtype = widest if so_far.wide else block.dtype
    narrow = np.dtype(np.float32 if block.dtype == xp.float32 else np.float64)
    shift, moves = _shift_for(block, so_far, narrow), 0
    low, high = FLOAT32_SQUARES
    while True:
        there, P = _sums_about(shift, block, weights, dtype)
        s, squares = to_host([there, xp.linalg.diagonal(P)])
        # The largest sum of squares of each table, and the least variance of a column as a part of its mean square
        # about the shift.
        largest = np.array([squares[i:j].max() for i, j in pairwise(accumulate(so_far.widths, initial=0))])
        least_spread = float(np.where(squares > 0, (squares - s * s / weight) / squares, 1.0).min())
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


def _shift_for(block: Array, so_far: Any, dtype: np.dtype) -> np.ndarray | None:
    """A shift near the mean, in `dtype`: that of the rows so far, or of the first rows; None stands for zeros.

    A column whose mean is not farther from zero than its rows are from the mean is not shifted: columns of zeros and
    ones, whose sums are exact, stay what they are. A column that is constant in the first rows is shifted by its entry,
    so that its scatter is exactly zero.
    """
    xp = namespace(block)
    if so_far.mean is not None:
        shift, squares = to_host([so_far.mean, xp.linalg.diagonal(so_far.scatter)])
        near = so_far.weight * shift**2 <= squares
    else:
        rows = _rows(block, slice(0, min(_PILOT_ROWS, block.shape[0])), wide_dtype(block))
        found = [xp.mean(rows, axis=0), xp.var(rows, axis=0), xp.max(rows, axis=0), xp.min(rows, axis=0)]
        mean, variance, largest, smallest = to_host(found)
        near, shift = mean**2 <= variance, np.where(largest == smallest, largest, mean)
    return None if near.all() else np.where(near, 0.0, shift).astype(dtype)


def _sums_about(shift: np.ndarray | None, block: Array, weights: Array | None, dtype: Any) -> tuple[Array, Array]:
    """Sums and products about the shift. Those of a slice are computed in `dtype`, and added up in float64."""
    c = None if shift is None else asarray_like(shift, block, dtype=dtype)

    def of_slice(at: slice) -> list[Array]:
        Z = _rows(block, at, dtype)
        if c is not None:
            Z = Z - c
        w = None if weights is None else astype(weights[at], dtype)
        s = column_sums(Z, w)
        return [s, *parts_of_product(Z if w is None else Z * namespace(Z).sqrt(w)[:, None])]

    s, *P = _added_up(block, dtype, of_slice)
    return s, joined_parts(P)


def _rows(block: Array, part: slice, dtype: Any) -> Array:
    """Some rows of a block in `dtype`; tables side by side are joined."""
    rows = block[part, :]
    return rows.joined(dtype) if isinstance(rows, Beside) else astype(rows, dtype)
