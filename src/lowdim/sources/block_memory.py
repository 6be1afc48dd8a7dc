"""Memory for blocks that are copied or decoded, which later blocks use again."""

from __future__ import annotations

import threading
import weakref
from math import prod
from typing import Any

import numpy as np


class BlockMemory:
    """Memory for one array after another, each in a place that is no longer in use, if there is one.

    The system fills new memory with zeros, which takes as long as copying a block into it. So memory is used again as
    soon as nobody holds an array that lies in it: neither the one that was handed out nor a part of it. Whoever keeps a
    block keeps its numbers. Several threads may share one object; copies and pickles start empty. It holds about as
    much as is in use at a time.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        #: Each piece of memory with the array that was handed out last; views of that array keep it alive.
        self._pieces: list[tuple[_Piece, weakref.ref[np.ndarray]]] = []

    def empty(self, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
        """An uninitialised array, as that of `numpy.empty`."""
        size = prod(shape) * np.dtype(dtype).itemsize
        with self._lock:
            piece = self._free_piece(size)
            handed_out = piece.view(np.ndarray)
            self._pieces.append((piece, weakref.ref(handed_out)))
        return handed_out[:size].view(dtype).reshape(shape)

    def _free_piece(self, size: int) -> _Piece:
        """A piece of at least `size` bytes that nobody uses. If there is none, the others that nobody uses are given
        back, so that arrays of changing sizes do not add up."""
        for number, (piece, handed_out) in enumerate(self._pieces):
            if piece.size >= size and handed_out() is None:
                del self._pieces[number]
                return piece
        self._pieces = [(piece, handed_out) for piece, handed_out in self._pieces if handed_out() is not None]
        return _Piece(size, np.uint8)

    def __reduce__(self) -> Any:
        return BlockMemory, ()


class _Piece(np.ndarray):
    """An array with memory of its own. The `base` of a view is usually the array that owns the memory, however many
    views are between the two. But NumPy does not go on to an array of another type, so the base of all views of the
    plain array that was handed out is that array."""
