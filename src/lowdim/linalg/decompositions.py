"""Eigenpairs, singular values and triangular factors, in the order of the conventions."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np
from scipy import linalg as scipy_linalg

from .._blas import single_threaded_blas
from .._lapack import largest_eigenpairs
from .._threads import run_interruptibly
from .._xp import Array, asarray_like, namespace, to_numpy
from .leading import leading_eigenpairs
from .lengths import row_squares

#: Squares of singular values are accurate enough if they are at least this share of the largest.
_SQUARED = 1e-6
#: The smallest matrix for which only the leading eigenvectors are computed.
_PARTIAL_FROM = 128
#: For matrices larger than the first size and up to the second one, BLAS uses a single thread. (With sixteen threads,
#: eigenpairs of 32 columns take 2 ms in place of 0.1 ms.)
_SMALL, _MEDIUM = 8, 512
#: From this size on, a decomposition takes so long that Ctrl-C must be heard meanwhile.
_LONG = 1000


def quiet_blas(p: int) -> AbstractContextManager[None]:
    """Context for the algebra of p x p matrices.

    Up to a medium size, several BLAS threads are no faster than one, and they keep spinning for a while afterwards,
    which slows down the next pass over the rows.
    """
    return single_threaded_blas() if _SMALL < p <= _MEDIUM else nullcontext()


def eigh_descending(A: Array, at_least: int | None = None) -> tuple[Array, Array]:
    """Eigenpairs of symmetric `A`, largest first: values (m,), vectors as rows (m, p).

    Returns all p of them, or only the first `at_least` if that is cheaper (matrices with many columns).
    """
    p, few = A.shape[0], _few(A, at_least)
    if not isinstance(A, np.ndarray):
        found = None if few is None else leading_eigenpairs(A, few)
        if found is not None:
            return asarray_like(found[0], A), asarray_like(found[1], A)
        xp = namespace(A)
        values, vectors = xp.linalg.eigh(A)
        return xp.flip(values), xp.flip(vectors, axis=1).T
    with quiet_blas(p):
        if few is not None:
            values, vectors = _decompose(largest_eigenpairs, A, m=few)
            if len(values) < few:
                # If all eigenvalues are nearly equal, LAPACK's search by index may find none.
                values, vectors = _decompose(np.linalg.eigh, A)
        else:
            values, vectors = _decompose(np.linalg.eigh, A)
    return values[::-1], vectors.T[::-1]


def _few(A: Array, at_least: int | None) -> int | None:
    """The number of leading eigenpairs if they are few of many, which are then computed alone; otherwise None."""
    p = A.shape[0]
    return at_least if at_least is not None and p >= _PARTIAL_FROM and at_least <= p // 8 else None


def eigenpairs(A: Array, at_least: int | None = None) -> tuple[np.ndarray, Array]:
    """As `eigh_descending`, but as NumPy arrays: the values always, and the vectors if the host has found them, which
    are those of NumPy arrays, and the leading ones of matrices on a device."""
    few = None if isinstance(A, np.ndarray) else _few(A, at_least)
    found = None if few is None else leading_eigenpairs(A, few)
    if found is not None:
        return found
    values, vectors = eigh_descending(A, None if few is not None else at_least)
    return to_numpy(values), vectors


def svd_thin(A: Array) -> tuple[Array, Array, Array]:
    """The thin decomposition `A = U diag(s) Vt`, s descending. For NumPy arrays, if LAPACK's fast driver fails, the
    slower and more reliable one is used."""
    if isinstance(A, np.ndarray):
        try:
            return _decompose(np.linalg.svd, A, full_matrices=False)
        except np.linalg.LinAlgError:
            return _decompose(scipy_linalg.svd, A, full_matrices=False, lapack_driver="gesvd")
    return tuple(namespace(A).linalg.svd(A, full_matrices=False))


def svd_leading(A: np.ndarray, k: int, *, all_values: bool = False) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """At least the first `k` singular triplets of `A`, U diag(s) Vt with s descending; with `all_values`, all s.

    If few of many are wanted, they are eigenvectors of the smaller of A^T A and A A^T, which is several times as fast;
    but not if s_k is so far below s_1 that squaring would cost its digits. The values beyond the k-th have an error of
    about eps s_1^2 / s_j.
    """
    if min(A.shape) < (1 if all_values else 2) * _PARTIAL_FROM or k > min(A.shape) // 8:
        return svd_thin(A)
    if A.shape[0] < A.shape[1]:
        V, s, Ut = svd_leading(A.T, k, all_values=all_values)
        return Ut.T, s, V.T
    unit = float(np.abs(A).max()) or 1.0
    A = A / unit
    values, Vt = eigh_descending(A.T @ A, at_least=None if all_values else k)
    if not values[k - 1] > _SQUARED * values[0]:
        U, s, Vt = svd_thin(A)
        return U, s * unit, Vt
    Vt = Vt[:k]
    U = A @ Vt.T
    s = np.sqrt(row_squares(U.T))
    others = np.sqrt(np.clip(values[k:], 0.0, None)) if all_values else s[:0]
    return U / s, np.concatenate([s, np.minimum(others, s[-1])]) * unit, Vt


def _decompose(decompose: Callable[..., Any], A: np.ndarray, **options: Any) -> Any:
    """`decompose(A, **options)`; if that takes long, it can be interrupted."""
    return run_interruptibly(decompose, A, **options) if min(A.shape) >= _LONG else decompose(A, **options)


def r_factor(A: Array) -> Array:
    """The triangular factor R of `A = Q R`; NumPy does not form Q."""
    if isinstance(A, np.ndarray):
        return np.linalg.qr(A, mode="r")
    return namespace(A).linalg.qr(A, mode="reduced")[1]
