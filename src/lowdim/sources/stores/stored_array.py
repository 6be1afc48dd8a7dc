"""A 2-D array in a file, as the source of stores needs it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from math import prod
from typing import Any

import numpy as np

from ...errors import array_is_no_table, array_without_numbers, unreadable_file
from ..stamps import Stamp, check_unchanged

#: `read(i, j, first, last)` reads rows i to j and columns `first` to `last`, the ends not included.
Reader = Callable[[int, int, int, int], np.ndarray]


class StoredArray(ABC):
    """Numbers in n rows and p columns, of which any rows can be read."""

    #: The file, and the array in it, for messages.
    place: str
    shape: tuple[int, int]
    #: Whether the array has one axis, and is read as one column.
    vector: bool = False
    dtype: np.dtype
    #: The number of rows that are stored together: reading one of them costs as much as reading all.
    chunk_rows: int = 1
    #: Whether the array is mapped to memory: reading it makes no copy.
    mapped: bool = False
    #: The paths of the file, or of the directory, that holds the array.
    paths: Sequence[str] = ()
    #: The files, which are compared with these stamps before and after each pass; none for an object that is open.
    stamps: tuple[Stamp, ...] = ()

    @contextmanager
    def opened(self) -> Iterator[Reader]:
        """The reader of this array for one pass. A file that was changed since it was first opened is an error."""
        check_unchanged(self.stamps)
        with self._reading() as read:
            yield read
        check_unchanged(self.stamps)

    @abstractmethod
    def _reading(self) -> AbstractContextManager[Reader]:
        """The function that reads rows, and a context that closes what it needs."""

    def _files(self) -> Sequence[str]:
        """The files in which the array is stored; empty for an object that the user has opened."""
        return ()

    def _accept(self, shape: tuple[int, ...], dtype: Any) -> None:
        """Take shape and dtype, or refuse an array that is no table of numbers and no vector."""
        self.vector = len(shape) == 1
        shape = (*shape, 1) if self.vector else shape
        if len(shape) != 2 or 0 in shape:
            raise array_is_no_table(self.place, shape)
        if dtype.kind not in "fiub":
            raise array_without_numbers(self.place, dtype)
        self.shape, self.dtype = (int(shape[0]), int(shape[1])), np.dtype(dtype)
        self.stamps = tuple(Stamp.of(path) for path in self._files())


def chunk_places(counts: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """The places of all chunks of an array with one or two axes, along which there are so many chunks. They are not
    listed, since damaged metadata may name more chunks than there could ever be."""
    across = prod(counts[1:])
    return ((i, j)[: len(counts)] for i in range(counts[0]) for j in range(across))


def reader_of(array: Any, place: str) -> Reader:
    """The function that reads rows of an array of Zarr or h5py; the error for chunks that cannot be decoded names the
    rows."""

    def read(i: int, j: int, first: int, last: int) -> np.ndarray:
        try:
            return rows_between(array, i, j, first, last)
        except MemoryError:
            raise
        except Exception as error:
            # Each codec has errors of its own.
            raise unreadable_file(place, f" in rows {i} to {j - 1}", error) from error

    return read


def rows_between(array: Any, i: int, j: int, first: int, last: int) -> np.ndarray:
    """Rows i to j and columns `first` to `last` of an array of any library; a vector is one column."""
    return np.asarray(array[i:j, first:last] if len(array.shape) == 2 else array[i:j][:, None])
