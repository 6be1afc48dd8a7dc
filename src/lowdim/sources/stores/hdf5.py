"""Datasets of HDF5 files."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from math import prod
from typing import Any

from ...errors import missing_chunks, missing_extra, unreadable_file, virtual_dataset
from .named_arrays import pick
from .stored_array import Reader, StoredArray, chunk_places, reader_of


class Hdf5Array(StoredArray):
    """A dataset of an HDF5 file that is opened by its path, for the duration of each pass.

    HDF5 reads chunks that were never written as the fill value. Here they are an error, and so are virtual datasets,
    whose parts in other files are filled in the same way if those files are missing.
    """

    def __init__(self, path: Any, name: str | None = None) -> None:
        self._path, self._name = os.fspath(path), name
        self.paths = [self._path]
        self.place = self._path if name is None else f"{self._path}::{name}"
        with self._file() as file:
            dataset = self._dataset(file)
            self._accept(dataset.shape or (), dataset.dtype)
            self._require_all_chunks(dataset)
            self.chunk_rows = dataset.chunks[0] if dataset.chunks else 1

    def __reduce__(self) -> Any:
        return Hdf5Array, (self._path, self._name)

    def _files(self) -> Sequence[str]:
        return [self._path]

    @contextmanager
    def _reading(self) -> Iterator[Reader]:
        with self._file() as file:
            yield reader_of(self._dataset(file), self.place)

    def _file(self) -> Any:
        try:
            import h5py
        except ImportError as error:
            raise missing_extra(f"reading {self._path}", "h5py", "hdf5") from error
        try:
            return h5py.File(self._path, "r")
        except OSError as error:
            raise unreadable_file(self._path, " as an HDF5 file", error) from error

    def _dataset(self, file: Any) -> Any:
        """The dataset of this name; see `pick`."""
        found: dict[str, Any] = {}
        try:
            file.visititems(lambda name, item: found.update({name: item}) if hasattr(item, "chunks") else None)
        except (OSError, KeyError, RuntimeError, ValueError) as error:
            raise unreadable_file(self._path, " in the list of its datasets", error) from error
        return pick(self._path, self._name, found)

    def _require_all_chunks(self, dataset: Any) -> None:
        """Raise an error if not all of the dataset is stored in this file."""
        if dataset.is_virtual:
            raise virtual_dataset(self.place)
        accept = f"fit(h5py.File({self._path!r})[{dataset.name!r}])"
        if dataset.chunks is None:
            if dataset.id.get_storage_size() == 0 and dataset.size:
                raise missing_chunks(self.place, "all of it", 1, 1, dataset.fillvalue, accept)
            return
        counts = [-(-n // c) for n, c in zip(dataset.shape, dataset.chunks, strict=True)]
        n_missing = prod(counts) - dataset.id.get_num_chunks()
        if n_missing > 0:
            # Chunks are found quickly by their place; by their number each takes as long as all before it together.
            offsets = (tuple(i * c for i, c in zip(at, dataset.chunks, strict=True)) for at in chunk_places(counts))
            found = dataset.id.get_chunk_info_by_coord
            first = next(offset for offset in offsets if found(offset).byte_offset is None)
            where = f"at row {first[0]}" + (f", column {first[1]}" if len(first) > 1 else "")
            raise missing_chunks(self.place, where, n_missing, prod(counts), dataset.fillvalue, accept)


class OpenedHdf5(StoredArray):
    """An `h5py.Dataset` that the user has opened; parts that were never written are read as HDF5 does."""

    def __init__(self, dataset: Any) -> None:
        self.place = f"{dataset.file.filename}::{dataset.name}"
        self._dataset = dataset
        self.chunk_rows = dataset.chunks[0] if dataset.chunks else 1
        self._accept(dataset.shape, dataset.dtype)

    def _reading(self) -> AbstractContextManager[Reader]:
        return nullcontext(reader_of(self._dataset, self.place))


def is_hdf5(X: Any) -> bool:
    """True for a dataset of h5py."""
    return type(X).__module__.partition(".")[0] == "h5py" and hasattr(X, "chunks")
