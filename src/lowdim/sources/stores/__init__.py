"""Arrays in files: NPY files as memory maps, Zarr stores, and datasets of HDF5 files.

Zarr and h5py are imported only when such a file is opened.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..base import Source
from .column_numbers import numbered_columns
from .hdf5 import Hdf5Array, OpenedHdf5, is_hdf5
from .npy import NpyArray
from .store_source import StoreSource
from .stored_array import StoredArray
from .zarr import OpenedZarr, ZarrArray, is_zarr

#: What the name of a file or store ends with, and what opens an array in it.
STORES: dict[str, Callable[..., StoredArray]] = {
    ".npy": NpyArray,
    ".zarr": ZarrArray,
    ".zarr.zip": ZarrArray,
    ".h5": Hdf5Array,
    ".hdf5": Hdf5Array,
}


def open_stores(places: Sequence[tuple[Any, str | None]], columns: Any = None, exclude: Any = None) -> Source:
    """The rows of the arrays at these places, one below the other.

    A place is a path and, for stores that hold several arrays, the name of one of them (otherwise None). The columns of
    arrays have numbers; see `numbered_columns`.
    """
    arrays = [_open_array(path, name) for path, name in places]
    chosen = numbered_columns(columns, exclude, arrays[0].shape[1], arrays[0].place)
    return StoreSource(arrays, chosen)


def open_store_object(X: Any) -> Source:
    """The rows of an array of Zarr, or of a dataset of h5py, that the user has opened."""
    return StoreSource([OpenedZarr(X) if is_zarr(X) else OpenedHdf5(X)])


def is_store_object(X: Any) -> bool:
    """True for an array of Zarr or a dataset of h5py."""
    return is_zarr(X) or is_hdf5(X)


def _open_array(path: Any, name: str | None) -> StoredArray:
    ending = max((end for end in STORES if str(path).lower().rstrip("/").endswith(end)), key=len)
    return STORES[ending](path, name)


__all__ = ["STORES", "StoreSource", "is_store_object", "open_store_object", "open_stores"]
