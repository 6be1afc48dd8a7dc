"""Files that hold one array of numbers."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np

from .base import Sink

#: A chunk of an array has about this many bytes.
_CHUNK_BYTES = 4 << 20


class ArraySink(Sink):
    """Base class of sinks for arrays. Rows are gathered and written in whole chunks of about 4 MiB.

    If the results are one vector, the array has one axis; otherwise it has two. Several results side by side are
    written in a dtype that holds them all.
    """

    def __init__(self, path: str, names: Sequence[str], inner: str | None = None) -> None:
        super().__init__(path, names, inner)
        self._gathered: list[np.ndarray] = []
        #: The number of rows that are gathered, and of those that are written.
        self._waiting = self._written = 0
        #: The number of rows of a chunk, known from the first block on.
        self._chunk = 0

    def write(self, results: Sequence[np.ndarray], kept: Any = None) -> None:
        block = results[0] if len(results) == 1 else np.hstack([r.reshape(r.shape[0], -1) for r in results])
        if not self._chunk:
            row = block.dtype.itemsize * max(1, int(np.prod(block.shape[1:])))
            self._chunk = max(1, _CHUNK_BYTES // row)
        self._gathered.append(block)
        self._waiting += block.shape[0]
        if self._waiting >= self._chunk:
            self._write_gathered(self._waiting - self._waiting % self._chunk)

    def close(self) -> None:
        if self._waiting:
            self._write_gathered(self._waiting)
        self._finish()

    def abandon(self) -> None:
        self._release()

    def _write_gathered(self, n: int) -> None:
        """Write the first `n` of the rows that are gathered."""
        rows = np.concatenate(self._gathered) if len(self._gathered) > 1 else self._gathered[0]
        if not self._written:
            # All rows together may be fewer than a chunk.
            self._chunk = min(self._chunk, n)
            self._create(rows.shape[1:], rows.dtype)
        self._append(rows[:n])
        self._written += n
        self._waiting -= n
        # A copy, so that the rows that are written can be freed.
        self._gathered = [rows[n:].copy()] if self._waiting else []

    @abstractmethod
    def _create(self, rest: tuple[int, ...], dtype: np.dtype[Any]) -> None:
        """Make an array without rows; `rest` is the shape of a row."""

    @abstractmethod
    def _append(self, rows: np.ndarray) -> None:
        """Write rows behind those that were written before."""

    @abstractmethod
    def _finish(self) -> None:
        """End the file, whose number of rows is now known."""

    @abstractmethod
    def _release(self) -> None:
        """Let go of the file."""
