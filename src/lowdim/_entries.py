"""What all entries of an array have in common, found piece by piece, so that it takes no memory beside the array."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

#: About how many entries are looked at together.
_PIECE = 1 << 16


def all_finite(a: np.ndarray) -> bool:
    """Whether no entry is NaN or infinite."""
    return all(bool(np.isfinite(piece).all()) for piece in _pieces(a))


def largest_magnitude(a: np.ndarray) -> float:
    """The largest magnitude of an entry; NaN if there is one, and 0 if there are no entries."""
    return float(np.maximum(a.max(), -a.min())) if a.size else 0.0


def asymmetry(a: np.ndarray) -> float:
    """The largest magnitude of an entry of a - a^T, for a square matrix."""
    largest, step = 0.0, max(1, _PIECE // max(1, len(a)))
    with np.errstate(over="ignore", invalid="ignore"):
        for i in range(0, len(a), step):
            part = a[i : i + step, : i + step] - a[: i + step, i : i + step].T
            largest = float(np.maximum(largest, largest_magnitude(part)))
    return largest


def distance_from_orthonormal(a: np.ndarray) -> float:
    """The largest magnitude of an entry of a a^T - I: zero if the rows of a matrix are orthonormal, NaN if products
    overflow."""
    largest, step = 0.0, max(1, _PIECE // max(1, len(a)))
    with np.errstate(over="ignore", invalid="ignore"):
        for i in range(0, len(a), step):
            products = a[i : i + step] @ a.T
            products[:, i:][np.diag_indices(len(products))] -= 1
            largest = float(np.maximum(largest, largest_magnitude(products)))
    return largest


def _pieces(a: np.ndarray) -> Iterator[np.ndarray]:
    """The array, some rows (or, of a vector, some entries) at a time."""
    if a.ndim == 0:
        yield a
        return
    step = max(1, _PIECE // max(1, a[:1].size))
    for i in range(0, len(a), step):
        yield a[i : i + step]
