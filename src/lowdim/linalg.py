"""The small dense algebra that all layers share. Rules of sign, order, rank and divisor are decided here and nowhere
else."""

from __future__ import annotations

import math
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np
from scipy import linalg as scipy_linalg

from ._threads import single_threaded_blas
from ._xp import Array, asarray_like, device, eps, is_sparse, namespace, to_numpy

#: Below this ratio lambda_K / lambda_1 a float64 Gram or covariance matrix has lost the digits of lambda_K:
#: its rounding errors are about eps * lambda_1, so six digits are left at 1e-10.
RESOLUTION = 1e-10
#: The same for products in float32, which are right to about 1e-7 of lambda_1: four digits are left.
RESOLUTION_FLOAT32 = 1e-3

#: Rounding of products in either precision.
FLOAT64_EPS = 2.0**-52
FLOAT32_EPS = 2.0**-23

#: Squared distances below this share of the squared spread are taken from differences: in float64, and in float32.
_CLOSE, _CLOSE_FLOAT32 = 1e-6, 1e-3
#: Pairs whose differences are formed at a time, for about this many numbers.
_DIFFERENCES = 1 << 20

#: From this size on LAPACK is asked for the leading eigenvectors only.
_PARTIAL_FROM = 128
#: Matrices of these sizes are worked on by one thread.
_SMALL, _MEDIUM = 32, 512


def divisor(weight: float, ddof: int) -> float:
    """What a scatter matrix is divided by to give a covariance: total weight minus `ddof`, zero up to rounding."""
    left = weight - ddof
    return left if left > 1e-9 * weight else 0.0


def most_components(n_rows: int, weight: float, n_features: int) -> int:
    """How many components rows can have: min(n, p), n counting repetitions (weight 2 equals repeating the row)."""
    return min(max(n_rows, int(weight)), n_features)


def quiet_blas(p: int) -> AbstractContextManager[None]:
    """Around the algebra of p x p matrices: up to a medium size threads of BLAS gain nothing there, and would go on
    spinning beside whatever reads the rows next."""
    return single_threaded_blas() if _SMALL < p <= _MEDIUM else nullcontext()


def eigh_descending(A: Array, at_least: int | None = None) -> tuple[Array, Array]:
    """Eigenpairs of symmetric `A`, largest first: values (m,), vectors as rows (m, p).

    All p of them, or only the first `at_least` where that is cheaper (many columns, NumPy).
    """
    p = A.shape[0]
    if not isinstance(A, np.ndarray):
        xp = namespace(A)
        values, vectors = xp.linalg.eigh(A)
        return xp.flip(values), xp.flip(vectors, axis=1).T
    with quiet_blas(p):
        if at_least is not None and p >= _PARTIAL_FROM and at_least <= p // 8:
            values, vectors = scipy_linalg.eigh(A, subset_by_index=(p - at_least, p - 1), check_finite=False)
            if len(values) < at_least:
                # Where all eigenvalues are nearly the same LAPACK's search by index may come back with none.
                values, vectors = np.linalg.eigh(A)
        else:
            values, vectors = np.linalg.eigh(A)
    return values[::-1], vectors.T[::-1]


def svd_thin(A: Array) -> tuple[Array, Array, Array]:
    """`A = U diag(s) Vt`, thin, s descending. For NumPy arrays the slower and more reliable driver of LAPACK is used
    where the fast one fails."""
    if isinstance(A, np.ndarray):
        try:
            return np.linalg.svd(A, full_matrices=False)
        except np.linalg.LinAlgError:
            return scipy_linalg.svd(A, full_matrices=False, lapack_driver="gesvd")
    return tuple(namespace(A).linalg.svd(A, full_matrices=False))


def r_factor(A: Array) -> Array:
    """The triangle R of `A = Q R`; Q is not formed where the library can leave it out."""
    if isinstance(A, np.ndarray):
        return np.linalg.qr(A, mode="r")
    return namespace(A).linalg.qr(A, mode="reduced")[1]


def signs(vectors: Array) -> Array:
    """+1 or -1 per row, such that the entry of largest magnitude times it is positive; the first one on a tie.

    Entries within sqrt(eps) of the largest count as tied: otherwise rounding, and so the solver, would decide.
    """
    xp = namespace(vectors)
    size = xp.abs(vectors)
    tied = size >= xp.max(size, axis=1, keepdims=True) * (1.0 - math.sqrt(eps(vectors)))
    if isinstance(vectors, np.ndarray):
        decisive = vectors[np.arange(len(vectors)), tied.argmax(axis=1)]
        return np.where(decisive < 0, -1.0, 1.0).astype(vectors.dtype)
    first = xp.argmax(xp.astype(tied, xp.int8), axis=1)
    here = xp.arange(vectors.shape[1], device=device(vectors))[None, :] == first[:, None]
    negative = xp.any(here & (vectors < 0), axis=1)
    return 1.0 - 2.0 * xp.astype(negative, vectors.dtype)


def fix_signs(vectors: Array) -> Array:
    """Rows of `vectors` times their `signs`."""
    return vectors * signs(vectors)[:, None]


def column_lengths(A: np.ndarray) -> np.ndarray:
    """Euclidean lengths of the columns; squares need not fit the range of numbers."""
    largest = np.abs(A).max(axis=0, initial=0.0)
    safe = np.where(largest > 0, largest, 1.0)
    return largest * np.sqrt(((A / safe) ** 2).sum(axis=0))


def is_constant(deviation: Array, mean: Array) -> Array:
    """Columns whose deviation is no more than the rounding of their entries."""
    return deviation <= 2.0 * FLOAT64_EPS * namespace(mean).abs(mean)


def rank_cut(largest: float, n_features: int, epsilon: float) -> float:
    """Eigenvalues at or below this are zero as far as arithmetic can tell: D * eps * lambda_1."""
    return n_features * epsilon * largest


def resolution(epsilon: float, needed: float = RESOLUTION) -> float:
    """The share of the largest eigenvalue below which products with rounding `epsilon` have lost an eigenvalue's
    digits: `needed` for products in float64."""
    return needed if epsilon < 1e-10 else RESOLUTION_FLOAT32


def numerical_rank(values: Array, n_features: int, epsilon: float | None = None) -> int:
    """How many of the descending eigenvalues `values` stand above the rank cut."""
    if values.shape[0] == 0:
        return 0
    xp = namespace(values)
    cut = rank_cut(float(values[0]), n_features, eps(values) if epsilon is None else epsilon)
    return int(xp.count_nonzero(values > cut))


def orthonormal_block(Z: Array, basis: Array, random: Any) -> tuple[Array, Array, Array, int]:
    """Orthonormal Q, R and C with `Z = basis C + Q R` and Q orthogonal to `basis`.

    Directions that vanish (the block has met an invariant subspace) are replaced by random ones with zero rows in
    R, as many as the space still has room for. Returns also how many new ones came in. Gram-Schmidt is done
    twice, which is enough [1].

    References
    ----------
    [1] Giraud, Langou, Rozloznik (2005), The loss of orthogonality in the Gram-Schmidt process.
    """
    xp = namespace(Z)
    size = math.sqrt(float(xp.sum(Z * Z)))
    C = basis.T @ Z
    Q, R = _qr_of_thin(Z - basis @ C)
    # What is left of a nearly dependent column is mostly rounding: only at unit length can it be projected once more.
    again = basis.T @ Q
    Q, turn = _qr_of_thin(Q - basis @ again)
    kept = np.flatnonzero(
        (np.abs(to_numpy(xp.linalg.diagonal(R))) > 1e3 * eps(Z) * size)
        & (np.abs(to_numpy(xp.linalg.diagonal(turn))) > 0.5)
    )
    C, R = C + again @ R, turn @ R
    if len(kept) == Q.shape[1]:
        return Q, R, C, 0
    index = asarray_like(kept, Z)
    Q, R = xp.take(Q, index, axis=1), xp.take(R, index, axis=0)
    n_new = min(Z.shape[1] - len(kept), Z.shape[0] - basis.shape[1] - len(kept))
    if n_new:
        fresh = asarray_like(random.standard_normal((Z.shape[0], n_new)), Z, dtype=Z.dtype)
        for _ in range(3):
            fresh = fresh - Q @ (Q.T @ fresh)
            fresh = xp.linalg.qr(fresh - basis @ (basis.T @ fresh), mode="reduced")[0]
        Q = xp.concat([Q, fresh], axis=1)
        R = xp.concat([R, xp.zeros((n_new, R.shape[1]), dtype=R.dtype, device=device(R))], axis=0)
    return Q, R, C, n_new


def _qr_of_thin(Z: Array) -> tuple[Array, Array]:
    """Q and R of a tall and thin block: by the Cholesky factor of Z^T Z where its columns are far from dependent, which
    is products only; done twice, as here, this is as orthogonal as Householder's [1].

    References
    ----------
    [1] Yamamoto, Nakatsukasa, Yanagisawa, Fukaya (2015), Roundoff error analysis of the CholeskyQR2 algorithm.
    """
    xp = namespace(Z)
    gram = to_numpy(Z.T @ Z).astype(np.float64)
    lengths = np.sqrt(np.diagonal(gram))
    if lengths.size and np.all(np.isfinite(gram)) and np.all(lengths > 0.0):
        try:
            L = np.linalg.cholesky(gram / lengths / lengths[:, None])
        except np.linalg.LinAlgError:
            L = np.zeros_like(gram)
        if np.diagonal(L).min() > 0.01:
            R = L.T * lengths
            return Z @ asarray_like(np.linalg.inv(R), Z, dtype=Z.dtype), asarray_like(R, Z, dtype=Z.dtype)
    return xp.linalg.qr(Z, mode="reduced")


def inner_products(X: Array, Y: Array) -> Array:
    """x_i . y_j of rows, dense or sparse, as a dense matrix."""
    if is_sparse(X) or is_sparse(Y):
        K = X @ Y.T
        return K.toarray() if is_sparse(K) else np.asarray(K)
    return X @ Y.T


def row_lengths(X: Array) -> Array:
    """Euclidean lengths of rows; one for rows of zeros."""
    if is_sparse(X):
        squares = np.asarray(X.multiply(X).sum(axis=1)).ravel()
        return np.sqrt(np.where(squares > 0, squares, 1.0)).astype(X.dtype)
    xp = namespace(X)
    squares = xp.sum(X * X, axis=1)
    return xp.sqrt(xp.where(squares > 0, squares, xp.ones_like(squares)))


def squared_distances(X: Array, Y: Array) -> Array:
    """|x_i - y_j|^2 of rows, from their products.

    Dense rows are measured from a common point first, so that an offset of all rows costs no digits; those of rows with
    themselves (`X is Y`) are exactly zero. Rounding leaves about eps times the square of the spread; NumPy rows that
    are closer than a thousandth of it (float32: a thirtieth) are measured entry by entry.
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


def _measure_again(D: np.ndarray, X: Any, Y: Any, below: float) -> None:
    """Compute squared distances smaller than `below` once more, from differences: from products they are mostly
    rounding."""
    if is_sparse(X) or is_sparse(Y):
        return
    i, j = np.nonzero(below > D)
    step = max(1, _DIFFERENCES // X.shape[1])
    for start in range(0, len(i), step):
        some = slice(start, start + step)
        apart = X[i[some]] - Y[j[some]]
        D[i[some], j[some]] = np.einsum("ij,ij->i", apart, apart)
