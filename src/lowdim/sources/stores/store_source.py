"""Rows of arrays in files: NPY, Zarr and HDF5."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from copy import copy
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from ...errors import array_is_no_table, column_label, inexact_integer, other_store_width
from ..array import ArraySource
from ..base import Source, Traits, cut
from ..exact_integers import InexactInteger, may_be_inexact, require_exact
from ..gathered import StoredSource, fits_easily
from ..read_ahead import read_ahead
from .stored_array import StoredArray

#: Arrays that have to be decoded are read in pieces of at least this many bytes.
_PIECE_BYTES = 4 << 20


class StoreSource(StoredSource):
    """Rows of one or more stored arrays with the same columns, one after another.

    Parameters
    ----------
    arrays : sequence of StoredArray
    columns : array of int, optional
        The columns to take, in this order; all of them by default.

    Notes
    -----
    Mapped arrays (NPY) are read in place, by several threads. Chunks of other arrays are decoded by one thread while
    the last rows are summed up. Each chunk is decoded once in a pass, whatever the size of the blocks, so that about
    twice a chunk, or 8 MiB if that is more, is in memory.
    """

    def __init__(self, arrays: Sequence[StoredArray], columns: np.ndarray | None = None) -> None:
        first = arrays[0]
        for array in arrays[1:]:
            if array.shape[1] != first.shape[1]:
                raise other_store_width(array.place, array.shape[1], first.place, first.shape[1])
        self._arrays = list(arrays)
        self._edges = list(accumulate((a.shape[0] for a in arrays), initial=0))
        self._columns = columns
        self._mapped = all(a.mapped for a in arrays)
        self.kind = "store"
        self.vector = all(a.vector for a in arrays)
        self.files = [path for array in arrays for path in array.paths]
        self.dtype = np.float32 if all(a.dtype == np.float32 for a in arrays) else np.float64
        self._cut(0, self._edges[-1])

    def require_two_axes(self) -> None:
        for array in self._arrays:
            if array.vector:
                raise array_is_no_table(array.place, array.shape[:1])

    def _cut(self, start: int, stop: int) -> None:
        """Keep the rows from `start` to `stop`."""
        self._start, self._stop = start, stop
        n, p = stop - start, self._arrays[0].shape[1] if self._columns is None else len(self._columns)
        itemsize = int(np.dtype(self.dtype).itemsize)
        single = self._single_map() is not None
        self.shape = (n, p)
        self.traits = Traits(
            by_feature=single or fits_easily(n, p, itemsize),
            in_memory=single,
            n_bytes=n * p * itemsize if self._mapped else 0,
            itemsize=itemsize,
        )

    def blocks(self, rows: int) -> Iterator[np.ndarray]:
        pieces = self._pieces(rows)
        # Python 3.12 does not end the inner generator as soon as the outer one is closed, and the file would stay open.
        with closing(pieces if self._mapped else read_ahead(pieces)) as read:
            yield from self._exact(read, rows)

    def parts(self, k: int, least: int = 1) -> list[Source]:
        if not self._mapped:
            return [self]
        return [self.between(i, j) for i, j in cut(self._stop - self._start, k)]

    def between(self, i: int, j: int) -> Source:
        part = copy(self)
        part._held = None
        part._cut(self._start + i, self._start + j)
        return part

    def features(self) -> Source:
        mapped = self._single_map()
        if mapped is None:
            return super().features()
        with mapped.opened() as read:
            rows = read(self._start, self._stop, 0, mapped.shape[1])
        features = self._inherit(ArraySource(rows.T), transposed=True)
        features.origin = self
        return features

    def identity(self) -> dict[str, Any]:
        """The files with their sizes and times, and the columns and rows that are read; for arrays that the user has
        opened, which may change without a trace, a digest of some rows."""
        stamps = [[[stamp.path, stamp.size, stamp.mtime_ns] for stamp in array.stamps] for array in self._arrays]
        if not all(stamps):
            return super().identity()
        columns = None if self._columns is None else self._columns.tolist()
        return self.form() | {"files": stamps, "columns": columns, "rows": [self._start, self._stop]}

    def row_label(self, i: int, column: int = 0) -> str:
        k = bisect_right(self._edges, i) - 1
        of_all = f" (row {i} of all)" if len(self._arrays) > 1 else ""
        return f"row {i - self._edges[k]} of {self._arrays[k].place}{of_all}"

    def _single_map(self) -> StoredArray | None:
        """The mapped array of which these are all columns, if there is just one; its columns are read in place. Not if
        its integers have to be checked."""
        array = self._arrays[0]
        alone = self._mapped and len(self._arrays) == 1 and self._columns is None
        return array if alone and not may_be_inexact(array.dtype) else None

    def _pieces(self, rows: int) -> Generator[np.ndarray, None, None]:
        """The rows in pieces that end where chunks end. Columns are chosen and converted, except in mapped arrays."""
        first, last = (0, self._arrays[0].shape[1]) if self._columns is None else _span(self._columns)
        for array, (i, j) in zip(self._arrays, pairwise(self._edges), strict=True):
            start, stop = max(self._start, i) - i, min(self._stop, j) - i
            if start >= stop:
                continue
            with array.opened() as read:
                if array.mapped:
                    yield read(start, stop, first, last)
                    continue
                step = _piece_rows(array, rows, (last - first) * array.dtype.itemsize)
                while start < stop:
                    end = min(stop, (start // step + 1) * step)
                    yield self._chosen(read(start, end, first, last), i + start)
                    start = end

    def _chosen(self, rows: np.ndarray, start: int) -> np.ndarray:
        """The chosen columns in the dtype of the source; an error if that cannot hold an integer. The first row is row
        `start` of all."""
        if self._columns is not None:
            numbers = self._columns - int(self._columns.min())
            rows = rows if np.array_equal(numbers, np.arange(rows.shape[1])) else rows[:, numbers]
        converted = np.asarray(rows, dtype=self.dtype)
        if may_be_inexact(rows.dtype):
            self._check_integers(rows, converted, start)
        return converted

    def _check_integers(self, rows: np.ndarray, converted: np.ndarray, start: int) -> None:
        """Raise an error that names the first integer that was rounded."""
        try:
            require_exact(converted.ravel(), rows.ravel())
        except InexactInteger as found:
            i, j = divmod(found.index, rows.shape[1])
            column = j if self._columns is None else int(self._columns[j])
            raise inexact_integer(found.value, self.row_label(start + i), column_label(column, None)) from None

    def _exact(self, pieces: Iterator[np.ndarray], rows: int) -> Iterator[np.ndarray]:
        """Blocks of exactly `rows` rows, except the last, from pieces of any size; a block of one piece is no copy."""
        held: list[np.ndarray] = []
        missing, done = rows, self._start
        for piece in pieces:
            i = 0
            while i < len(piece):
                part = piece[i : i + missing]
                held.append(self._chosen(part, done) if self._mapped else part)
                i, missing, done = i + len(part), missing - len(part), done + len(part)
                if missing == 0:
                    yield held[0] if len(held) == 1 else np.concatenate(held)
                    held, missing = [], rows
        if held:
            yield held[0] if len(held) == 1 else np.concatenate(held)


def _span(columns: np.ndarray) -> tuple[int, int]:
    """The first of these columns, and the one after the last."""
    return int(columns.min()), int(columns.max()) + 1


def _piece_rows(array: StoredArray, rows: int, row_bytes: int) -> int:
    """The number of rows to read together: whole chunks, at least one block and at least `_PIECE_BYTES`."""
    least = max(rows, _PIECE_BYTES // max(1, row_bytes))
    chunk: Any = array.chunk_rows
    return -(-least // chunk) * chunk
