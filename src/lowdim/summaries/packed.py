"""Symmetric k x k tables of which one half is stored, and inverses of many of them at once."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from .._xp import Array, asarray_like, astype, device, namespace, subtract_product


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


def pairs_like(k: int, like: Array) -> tuple[Array, Array]:
    """`pairs` in the namespace and on the device of `like`."""
    return _sent("rows", k, like), _sent("columns", k, like)


def _sent(which: str, k: int, like: Array) -> Array:
    """Indices of a table, or the packed unit matrix, in the namespace and on the device of `like`. They are sent to a
    device once, because that takes as long as an operation that uses them."""
    xp, where = namespace(like), str(device(like))
    found = _kept.get((which, k, xp, where))
    if found is None:
        i, j = pairs(k)
        tables = {
            "rows": i,
            "columns": j,
            "halves": i * k + j,
            "places": _places(k),
            "identity": (i == j).astype(float),
        }
        found = asarray_like(tables[which], like)
        if len(_kept) >= _MOST_KEPT:
            _kept.clear()
        _kept[which, k, xp, where] = found
    return found


#: What was sent, by its name, the size of the table, the namespace, and the name of the device; at most so many.
_kept: dict[tuple[str, int, Any, str], Array] = {}
_MOST_KEPT = 64


def identity(k: int, like: Array) -> Array:
    """The packed unit matrix, (k(k+1)/2, 1), in the dtype of `like`."""
    return astype(_sent("identity", k, like), like.dtype)[:, None]


def multiplicity(k: int, like: Array) -> Array:
    """How often each pair of a packed k x k table occurs in the full one: 1 on the diagonal, else 2."""
    i, j = pairs(k)
    return asarray_like(np.where(i == j, 1.0, 2.0), like, dtype=like.dtype)


def unpack(packed: Array, k: int) -> Array:
    """(k(k+1)/2, b) -> (k, k, b)."""
    xp = namespace(packed)
    return xp.reshape(xp.take(packed, _sent("places", k, packed), axis=0), (k, k, packed.shape[1]))


def pack(full: Array) -> Array:
    """(k, k, b) -> (k(k+1)/2, b)."""
    xp, k = namespace(full), full.shape[0]
    return xp.take(xp.reshape(full, (k * k, full.shape[2])), _sent("halves", k, full), axis=0)


def pack_outer(v: Array) -> Array:
    """v v^T of each column, packed: (k, b) -> (k(k+1)/2, b)."""
    xp = namespace(v)
    i, j = pairs_like(v.shape[0], v)
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
    options = {"dtype": A.dtype, "device": device(A)}
    pivots, minus_one = xp.empty((k, A.shape[2]), **options), xp.full((A.shape[2],), -1.0, **options)
    for j in range(k):
        column = xp.asarray(A[:, j, :], copy=True)
        pivots[j, :] = column[j, :]
        row = column / column[j, :]
        A = subtract_product(A, column[:, None, :], row[None, :, :])
        A[j, :, :] = row
        A[:, j, :] = row
        A[j, j, :] = minus_one / column[j, :]
    return -A, xp.sum(xp.log(pivots), axis=0)
