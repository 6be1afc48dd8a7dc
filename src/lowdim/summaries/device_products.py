"""Products of the rows of a block on a device: a few large ones, which use that the result is symmetric."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from .._xp import Array, astype, device, multiplies_parts, namespace, to_host, wide_dtype
from ..errors import NonFiniteBlock
from ..linalg import FLOAT32_SQUARES

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
_FAR = 0.2
#: Blocks with fewer features and samples than this are always centred. The copy costs nothing, and a few more rounding
#: errors could change the rank that is found for a small table.
_SMALL = 512


def slice_rows(p: int, narrow: bool) -> int:
    """The number of rows of a slice with p columns, in float32 if `narrow`."""
    rows = max(2 * p, _SLICE_BYTES // (p * (4 if narrow else 8)))
    return rows if p <= _NARROW else min(rows, max(2 * p, _SLICE_ROWS))


@np.errstate(all="ignore")
def products_of_samples(block: Array, sample_weight: Array | None, means: Any) -> Array:
    """Inner products of samples over the features of a block, which are its rows, in the widest dtype of the device.

    Those of large blocks are taken about zero, so that no feature is copied, if centring takes at most four fifths of
    the squares away: the caller centres the products. Otherwise they are about the means of the features, which the
    function `means` computes for a slice of them. Products in float32 whose squares are out of range are computed again
    in float64.
    """
    xp, n = namespace(block), block.shape[1]
    widest = wide_dtype(xp, device(block))
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
        elif not centre and not total - offset >= _FAR * total:
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
    xp, (m, n) = namespace(block), block.shape
    widest = wide_dtype(xp, device(block))
    rows = slice_rows(n, dtype == xp.float32)
    P: Any = None
    for i in range(0, m, rows):
        Z = block[i : min(i + rows, m), :]
        Z = astype(Z if means is None else Z - means(Z), dtype)
        found = [astype(product, widest) for product in parts_of_product(Z, widest)]
        P = found if P is None else [a + b for a, b in zip(P, found, strict=True)]
    return joined_parts(P)


def parts_of_product(Z: Array, widest: Any) -> list[Array]:
    """Z^T Z in the dtype of Z, or the sum of several such products in `widest`. If Z has many columns, only its upper
    half of rows, and the right half of the lower ones: the left half is known from the upper one by symmetry."""
    p = Z.shape[1]
    if p >= _HALVES_FROM and multiplies_parts(Z):
        left, right = Z[:, : p // 2], Z[:, p // 2 :]
        return [left.T @ Z, right.T @ right]
    return [Z.T @ Z if p > _NARROW else tall_product(Z, Z, widest)]


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
