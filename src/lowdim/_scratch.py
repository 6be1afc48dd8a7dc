"""Memory that blocks of rows use one after the other."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._xp import Array, Beside, empty_columns, has_columns_in_one_piece

#: For tables with fewer than _NARROW columns, a difference is computed for _FOLD rows at a time.
_NARROW, _FOLD = 64, 8


class Scratch:
    """Memory for one block, which the next block reuses, since allocating it anew would cost more than the arithmetic.

    Each thread needs its own object. Copies and pickles start empty.
    """

    def __init__(self) -> None:
        self._room: np.ndarray | None = None

    def difference(self, a: Array, b: Array) -> Array:
        """`a - b`. For NumPy arrays the result is overwritten by the next call of a method."""
        if not isinstance(a, np.ndarray | Beside):
            return a - b
        out = self._like(a)
        if isinstance(a, np.ndarray):
            if b.shape == a.shape[1:] and a.shape[1] < _NARROW and a.shape[0] % _FOLD == 0 and _are_contiguous(a, out):
                # Treat several short rows as one long row: loops over few columns cost more than the arithmetic.
                long = (a.shape[0] // _FOLD, a.shape[1] * _FOLD)
                np.subtract(a.reshape(long), np.tile(b, _FOLD), out=out.reshape(long))
                return out
            return np.subtract(a, b, out=out)
        start = 0
        for piece in a.pieces:
            stop = start + piece.shape[1]
            np.subtract(piece, b[start:stop], out=out[:, start:stop])
            start = stop
        return out

    def product(self, a: Array, b: Array) -> Array:
        """`a * b`, entry by entry; `a` may be the result of another call, which is then overwritten. For NumPy arrays
        the result is overwritten by the next call of a method."""
        return np.multiply(a, b, out=self._like(a)) if isinstance(a, np.ndarray) else a * b

    def _like(self, a: np.ndarray | Beside) -> np.ndarray:
        """Memory for an array of the shape and dtype of `a`."""
        room = self._room
        if room is None or room.shape[0] < a.shape[0] or room.shape[1:] != a.shape[1:] or room.dtype != a.dtype:
            self._room = room = _empty_like(a)
        return room[: a.shape[0]]

    def __reduce__(self) -> tuple[Any, ...]:
        return Scratch, ()


def _empty_like(a: np.ndarray | Beside) -> np.ndarray:
    """Uninitialised memory in the order of `a`, by columns or by rows."""
    if a.ndim == 2 and has_columns_in_one_piece(a):
        n, p = a.shape
        return empty_columns(n, p, a.dtype)
    return np.empty_like(a, order="K", subok=False) if isinstance(a, np.ndarray) else np.empty(a.shape, a.dtype)


def _are_contiguous(*arrays: np.ndarray) -> bool:
    """Whether all arrays are contiguous in memory, row by row."""
    return all(array.flags.c_contiguous for array in arrays)
