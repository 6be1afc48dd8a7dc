"""Orthonormal rows and columns."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .._xp import Array, asarray_like, eps, namespace, to_host, to_numpy

#: From this many rows on, Householder's method for NumPy arrays is slower than products.
_BY_PRODUCTS_FROM = 128
#: Columns of unit length are far from linearly dependent if the squares in the rows of the inverse of their triangular
#: factor sum to at most this on average. They are then orthonormal up to so many roundings for each of them.
_FAR_FROM_DEPENDENT = 10.0
#: Parts of unit vectors that are smaller than this do no harm in the matrices of an iteration.
_NEGLIGIBLE = 1e-12


def orthonormal_in_turn(rows: Array) -> Array:
    """The rows orthonormalised one after the other, up to sign, as Gram and Schmidt do.

    If the rows are nearly orthogonal already, the Cholesky factor L of their inner products is well conditioned, and
    L^{-1} times the rows is as accurate as Householder's method and several times as fast.
    """
    xp = namespace(rows)
    if xp is not np or rows.shape[0] >= _BY_PRODUCTS_FROM:
        found = _in_turn_by_products(rows)
        # On a device, where Householder's method takes many times as long, the second time makes up for products of
        # long rows in float32.
        again = found if found is None or xp is np else _in_turn_by_products(found)
        if again is not None:
            return again
    return xp.linalg.qr(rows.T, mode="reduced")[0].T


def _in_turn_by_products(rows: Array) -> Array | None:
    """The rows orthonormalised by the Cholesky factor of their inner products, or None if they are far from orthogonal.
    The factor, which is small, is computed on the host."""
    if rows.shape[0] == 0:
        return rows
    products = to_numpy(rows @ rows.T).astype(np.float64)
    lengths = np.sqrt(np.diagonal(products))
    if not np.all(lengths > 0.0) or not np.all(np.isfinite(products)):
        return None
    products = products / lengths / lengths[:, None]
    if float(np.abs(products - np.eye(len(lengths))).sum(axis=1).max()) >= 0.5:
        return None
    turn = np.linalg.inv(np.linalg.cholesky(products)) / lengths
    return asarray_like(turn, rows, dtype=rows.dtype) @ rows


def orthonormal_block(Z: Array, basis: Array, random: Any) -> tuple[Array, np.ndarray, np.ndarray, int]:
    """Q, R and C with `Z = basis C + Q R`, where Q has orthonormal columns that are orthogonal to `basis`.

    Directions that vanish, because the block has reached an invariant subspace, are replaced by random ones with zero
    rows in R, as many as the dimension of the space allows. The fourth result is the number of random directions.
    Gram-Schmidt is applied twice, which is enough [1]. R and C, which are small, are NumPy arrays. On a device, if the
    first time shows that the second one will change only the last digits of Q, what it changes in R and C is left out,
    so that the host need not wait for it.

    References
    ----------
    [1] Giraud, Langou, Rozloznik (2005), The loss of orthogonality in the Gram-Schmidt process.
    """
    xp = namespace(Z)
    there = basis.T @ Z
    Q, R, (C, squares), inverse = _qr_of_thin(Z - basis @ there, [there, xp.sum(Z * Z, axis=0)])
    size = math.sqrt(float(squares.sum()))
    there = basis.T @ Q
    found = np.abs(np.diagonal(R)) > 1e3 * eps(Z) * size
    if not isinstance(Z, np.ndarray) and inverse is not None and found.all():
        # Roundings of Z, and of what is left of it, become these parts of Q.
        left_of_basis = eps(Z) * math.sqrt(float(squares @ (inverse**2).sum(axis=1)))
        roundings = float((R**2).sum(axis=0) @ (inverse**2).sum(axis=1)) / len(R)
        if left_of_basis <= _NEGLIGIBLE and roundings <= _FAR_FROM_DEPENDENT:
            return Q - basis @ there, R, C, 0
    # The remainder of a nearly dependent column is mostly rounding, so it is normalized before the second projection.
    Q, turn, (again,), _ = _qr_of_thin(Q - basis @ there, [there])
    kept = np.flatnonzero(found & (np.abs(np.diagonal(turn)) > 0.5))
    C, R = C + again @ R, turn @ R
    if len(kept) == Q.shape[1]:
        return Q, R, C, 0
    Q, R = xp.take(Q, asarray_like(kept, Z), axis=1), R[kept]
    n_new = min(Z.shape[1] - len(kept), Z.shape[0] - basis.shape[1] - len(kept))
    if n_new:
        fresh = asarray_like(random.standard_normal((Z.shape[0], n_new)), Z, dtype=Z.dtype)
        for _ in range(3):
            fresh = fresh - Q @ (Q.T @ fresh)
            fresh = xp.linalg.qr(fresh - basis @ (basis.T @ fresh), mode="reduced")[0]
        Q = xp.concat([Q, fresh], axis=1)
        R = np.concatenate([R, np.zeros((n_new, R.shape[1]))])
    return Q, R, C, n_new


def _qr_of_thin(Z: Array, others: list[Array]) -> tuple[Array, np.ndarray, list[np.ndarray], np.ndarray | None]:
    """Q and R of a tall and thin block; R is a NumPy array, as are the other small ones that are sent to the host with
    the inner products, and the inverse of R, or None if columns are nearly dependent.

    If they are not, R is the Cholesky factor of Z^T Z, which needs only matrix products. Applied twice, this gives a Q
    as orthogonal as that of Householder's method [1].

    References
    ----------
    [1] Yamamoto, Nakatsukasa, Yanagisawa, Fukaya (2015), Roundoff error analysis of the CholeskyQR2 algorithm.
    """
    gram, *sent = (array.astype(np.float64) for array in to_host([Z.T @ Z, *others]))
    lengths = np.sqrt(np.diagonal(gram))
    if lengths.size and np.all(np.isfinite(gram)) and np.all(lengths > 0.0):
        try:
            L = np.linalg.cholesky(gram / lengths / lengths[:, None])
        except np.linalg.LinAlgError:
            L = np.zeros_like(gram)
        if np.diagonal(L).min() > 0.01:
            R = L.T * lengths
            inverse = np.linalg.inv(R)
            return Z @ asarray_like(inverse, Z, dtype=Z.dtype), R, sent, inverse
    Q, there = namespace(Z).linalg.qr(Z, mode="reduced")
    return Q, to_numpy(there).astype(np.float64), sent, None
