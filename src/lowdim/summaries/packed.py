"""Symmetric k x k tables of which one half is stored, and inverses of many of them at once."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from .._xp import Array, asarray_like, device, namespace


@lru_cache(maxsize=64)
def pairs(k: int) -> tuple[np.ndarray, np.ndarray]:
    """Row indices i and column indices j <= i of a packed k x k table: (0,0), (1,0), (1,1), (2,0), ... A packed table
    thus begins with the packed table of the first k - 1 indices."""
    return np.tril_indices(k)


@lru_cache(maxsize=64)
def _places(k: int) -> np.ndarray:
    """The index in the packed table of each entry (i, j) of the full table."""
    i, j = np.divmod(np.arange(k * k), k)
    low, high = np.minimum(i, j), np.maximum(i, j)
    return high * (high + 1) // 2 + low


def multiplicity(k: int, like: Array) -> Array:
    """How often each pair of a packed k x k table occurs in the full one: 1 on the diagonal, else 2."""
    i, j = pairs(k)
    return asarray_like(np.where(i == j, 1.0, 2.0), like, dtype=like.dtype)


def unpack(packed: Array, k: int) -> Array:
    """(k(k+1)/2, b) -> (k, k, b)."""
    xp = namespace(packed)
    return xp.reshape(xp.take(packed, asarray_like(_places(k), packed), axis=0), (k, k, packed.shape[1]))


def pack(full: Array) -> Array:
    """(k, k, b) -> (k(k+1)/2, b)."""
    xp, k = namespace(full), full.shape[0]
    i, j = pairs(k)
    return xp.take(xp.reshape(full, (k * k, full.shape[2])), asarray_like(i * k + j, full), axis=0)


def pack_outer(v: Array) -> Array:
    """v v^T of each column, packed: (k, b) -> (k(k+1)/2, b)."""
    xp = namespace(v)
    i, j = (asarray_like(a, v) for a in pairs(v.shape[0]))
    return xp.take(v, i, axis=0) * xp.take(v, j, axis=0)


def with_one(u: Array) -> Array:
    """(u, 1)."""
    xp = namespace(u)
    return xp.concat([u, xp.ones_like(u[:1, :])])


def invert_positive(A: Array) -> tuple[Array, Array]:
    """Inverses and log-determinants of b positive definite matrices, (k, k, b), by k symmetric sweeps [1].

    `A` is overwritten. Each operation is applied to all matrices at once, which for small matrices is many times
    faster than inverting them one by one.

    References
    ----------
    [1] Goodnight (1979), A tutorial on the SWEEP operator.
    """
    xp, k = namespace(A), A.shape[0]
    log_determinant = xp.zeros((A.shape[2],), dtype=A.dtype, device=device(A))
    for j in range(k):
        pivot = xp.asarray(A[j, j, :], copy=True)
        log_determinant += xp.log(pivot)
        column = xp.asarray(A[:, j, :], copy=True)
        row = column / pivot
        A -= column[:, None, :] * row[None, :, :]
        A[j, :, :] = row
        A[:, j, :] = row
        A[j, j, :] = -1.0 / pivot
    return -A, log_determinant
