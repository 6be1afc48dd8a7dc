"""Arrays in files: NPY files as memory maps, Zarr stores, and datasets of HDF5 files.

Zarr and h5py are imported only when such a file is opened.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..contents import Contents
from ..gathered import entries_of
from ..stamps import Found
from .column_numbers import NumberChoice
from .hdf5 import Hdf5Array, OpenedHdf5, is_hdf5
from .npy import NpyArray
from .store_source import StoreSource
from .stored_array import StoredArray
from .zarr import OpenedZarr, ZarrArray, is_zarr


class StoredArrays(Contents):
    """The arrays in files of one kind, which are read one below the other. Their columns have numbers, and no names."""

    choice = NumberChoice
    has_names = False

    def __init__(self, open_array: Callable[[str, str | None], StoredArray], found: Found) -> None:
        # The second argument is the name of an array in a file that may hold several.
        self._arrays = [open_array(path, found.inside) for path in found.paths]
        self.label = found.where
        self.names = self.numeric = range(self._arrays[0].shape[1])

    def source(self, columns: Sequence[int]) -> StoreSource:
        every = list(columns) == list(self.names)
        return StoreSource(self._arrays, None if every else np.asarray(columns))

    def column(self, name: int) -> np.ndarray:
        return entries_of(self.source([name]))[:, 0]

    def dtype(self, columns: Sequence[int]) -> Any:
        return self.source(columns).dtype


def open_store_object(X: Any) -> StoreSource:
    """The rows of an array of Zarr, or of a dataset of h5py, that the user has opened."""
    return StoreSource([OpenedZarr(X) if is_zarr(X) else OpenedHdf5(X)])


def is_store_object(X: Any) -> bool:
    """True for an array of Zarr or a dataset of h5py."""
    return is_zarr(X) or is_hdf5(X)


__all__ = [
    "Hdf5Array",
    "NpyArray",
    "StoreSource",
    "StoredArrays",
    "ZarrArray",
    "is_store_object",
    "open_store_object",
]
