"""Lengths, inner products and distances of rows."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .._xp import Array, astype, device, eps, is_sparse, namespace, smallest_normal, wide_dtype
from .conventions import FLOAT32_SQUARES

#: Squared distances below this fraction of the squared spread are recomputed from differences: float64, float32.
_CLOSE, _CLOSE_FLOAT32 = 1e-6, 1e-3
#: Size, in numbers, of the array of differences that is formed at a time.
_DIFFERENCES = 1 << 20


def column_lengths(A: np.ndarray) -> np.ndarray:
    """Euclidean lengths of the columns, computed so that squares do not overflow or underflow."""
    largest = np.abs(A).max(axis=0, initial=0.0)
    safe = np.where(largest > 0, largest, 1.0)
    return largest * np.sqrt(((A / safe) ** 2).sum(axis=0))


def inner_products(X: Array, Y: Array) -> Array:
    """Inner products x_i . y_j of rows, which may be dense or sparse, as a dense matrix."""
    if is_sparse(X) or is_sparse(Y):
        K = X @ Y.T
        return K.toarray() if is_sparse(K) else np.asarray(K)
    return X @ Y.T


def row_lengths(X: Array) -> Array:
    """Euclidean lengths of the rows; 1 for rows of zeros.

    If squares overflow or underflow, rows are first divided by their largest entries.
    """
    with np.errstate(over="ignore", under="ignore"):
        squares = row_squares(X)
    xp = namespace(squares)
    least = smallest_normal(squares) / eps(squares)
    if bool(xp.all((squares >= least) & (squares < math.inf))):
        return xp.sqrt(squares)
    largest = abs(X).max(axis=1).toarray().ravel() if is_sparse(X) else xp.max(xp.abs(X), axis=1)
    largest = xp.where(largest > 0, largest, xp.ones_like(largest))
    squares = row_squares(X.multiply(1.0 / largest[:, None]) if is_sparse(X) else X / largest[:, None])
    return largest * xp.sqrt(xp.where(squares > 0, squares, xp.ones_like(squares)))


def row_squares(X: Array) -> Array:
    """Sums of squares of the rows."""
    if is_sparse(X):
        return np.asarray(X.multiply(X).sum(axis=1)).ravel().astype(X.dtype)
    return namespace(X).sum(X * X, axis=1)


def squared_distances(X: Array, Y: Array) -> Array:
    """Squared distances |x_i - y_j|^2 of rows, from inner products.

    Dense rows are centred first, so that an offset common to all rows costs no digits. The distance of a row to itself
    (`X is Y`) is exactly zero. The rounding error is about eps times the squared spread of the rows. Those of float32
    rows are in float64 if their squares are out of the range of float32. For dense NumPy
    rows, distances below a thousandth of the spread (a thirtieth in float32) are recomputed from differences.
    """
    same = X is Y
    if is_sparse(X) or is_sparse(Y):
        squares = [
            np.asarray(A.multiply(A).sum(axis=1)).ravel() if is_sparse(A) else (A * A).sum(axis=1) for A in (X, Y)
        ]
    else:
        xp = namespace(X)
        origin = xp.mean(Y, axis=0, keepdims=True)
        X, Y = X - origin, Y - origin
        with np.errstate(over="ignore"):
            squares = [xp.sum(A * A, axis=1) for A in (X, Y)]
        if X.dtype == xp.float32 and not _in_float32_range(squares):
            X, Y = (astype(A, wide_dtype(xp, device(A))) for A in (X, Y))
            squares = [xp.sum(A * A, axis=1) for A in (X, Y)]
    D = inner_products(X, Y)
    if isinstance(D, np.ndarray):
        np.multiply(D, D.dtype.type(-2.0), out=D)
        D += squares[0][:, None]
        D += squares[1][None, :]
        np.maximum(D, 0.0, out=D)
        close = _CLOSE if D.dtype == np.float64 else _CLOSE_FLOAT32
        _measure_again(D, X, Y, close * float(max(squares[0].max(), squares[1].max())))
        if same:
            np.fill_diagonal(D, 0.0)
        return D
    xp = namespace(D)
    D = xp.clip(squares[0][:, None] + squares[1][None, :] - 2.0 * D, 0.0, None)
    return D * (1.0 - xp.eye(D.shape[0], dtype=D.dtype, device=device(D))) if same else D


def _in_float32_range(squares: list[Array]) -> bool:
    """Whether sums of squares neither overflow nor underflow in float32."""
    low, high = FLOAT32_SQUARES
    xp = namespace(squares[0])
    return low < float(xp.max(xp.stack([xp.max(s) for s in squares]))) < high


def _measure_again(D: np.ndarray, X: Any, Y: Any, below: float) -> None:
    """Recompute squared distances smaller than `below` from differences, since from products they are mostly rounding
    error."""
    if is_sparse(X) or is_sparse(Y):
        return
    i, j = np.nonzero(below > D)
    step = max(1, _DIFFERENCES // X.shape[1])
    for start in range(0, len(i), step):
        some = slice(start, start + step)
        apart = X[i[some]] - Y[j[some]]
        D[i[some], j[some]] = np.einsum("ij,ij->i", apart, apart)
