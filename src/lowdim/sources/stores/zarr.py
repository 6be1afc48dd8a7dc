"""Arrays of Zarr stores: directories, and zip files of them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from math import prod
from typing import Any
from zipfile import ZipFile

from ...errors import missing_chunks, missing_extra, unreadable_file
from ..special_files import check_ordinary
from .named_arrays import pick
from .stored_array import Reader, StoredArray, chunk_places, reader_of


class ZarrArray(StoredArray):
    """An array of a Zarr store that is opened by its path.

    Zarr reads chunks that are not stored as the fill value, without a word. Here they are an error, because nothing in
    a store tells a chunk that was lost from one that was left out since all its entries are equal to the fill value.
    (Inside a shard that is no question: its index, which has a checksum, says which chunks were left out.)
    """

    def __init__(self, path: Any, name: str | None = None) -> None:
        self._path, self._name = os.fspath(path), name
        self.paths = [self._path]
        self.place = self._path if name is None else f"{self._path}::{name}"
        self._array = self._open()
        self.chunk_rows = _grid(self._array)[0]
        self._accept(self._array.shape, self._array.dtype)
        self._require_all_chunks()

    def __reduce__(self) -> Any:
        return ZarrArray, (self._path, self._name)

    def _files(self) -> Sequence[str]:
        if os.path.isfile(self._path):
            return [self._path]
        root = os.path.join(self._path, *self._array.path.split("/"))
        return [os.path.join(folder, name) for folder, _, names in os.walk(root) for name in names]

    def _open(self) -> Any:
        try:
            import zarr
        except ImportError as error:
            raise missing_extra(f"reading {self._path}", "zarr", "zarr") from error
        if os.path.isdir(self._path):
            check_ordinary(self._path)
        try:
            if os.path.isfile(self._path):
                root = zarr.open(zarr.storage.ZipStore(self._path, mode="r"), mode="r")
            else:
                root = zarr.open(self._path, mode="r")
        except MemoryError:
            raise
        except Exception as error:
            # Metadata is JSON, and Zarr trusts it to be of the right form.
            raise unreadable_file(self._path, " as a Zarr store", error) from error
        if isinstance(root, zarr.Array) and self._name is None:
            return root
        arrays = {} if isinstance(root, zarr.Array) else dict(root.members(max_depth=None))
        return pick(self._path, self._name, {name: a for name, a in arrays.items() if isinstance(a, zarr.Array)})

    def _require_all_chunks(self) -> None:
        """Raise an error unless all chunks (all shards of a sharded array) are among the files of the store."""
        counts = [-(-n // c) for n, c in zip(self._array.shape, _grid(self._array), strict=True)]
        names = (self._array.metadata.encode_chunk_key(place) for place in chunk_places(counts))
        stored = self._stored_names()
        first = next((name for name in names if name not in stored), None)
        if first is not None:
            accept = f"fit(zarr.open_array({self._path!r}{'' if self._name is None else f', path={self._name!r}'}))"
            fill = self._array.fill_value
            n_missing = max(1, prod(counts) - sum(_is_chunk(name) for name in stored))
            raise missing_chunks(self.place, first, n_missing, prod(counts), fill, accept)

    def _stored_names(self) -> set[str]:
        """The names of the files of the array within it."""
        inside = self._array.path
        if os.path.isfile(self._path):
            start = f"{inside}/" if inside else ""
            with ZipFile(self._path) as archive:
                return {name.removeprefix(start) for name in archive.namelist() if name.startswith(start)}
        root = os.path.join(self._path, *inside.split("/"))
        return {os.path.relpath(path, root).replace(os.sep, "/") for path in self._files()}

    def _reading(self) -> AbstractContextManager[Reader]:
        # What was kept in memory of a group may be out of date, so the array is opened anew for each pass.
        return nullcontext(reader_of(self._open(), self.place))


class OpenedZarr(StoredArray):
    """A `zarr.Array` that the user has opened; chunks that are not stored are read as Zarr does."""

    def __init__(self, array: Any) -> None:
        self.place = str(array.store_path)
        self._array = array
        self.chunk_rows = _grid(array)[0] if len(array.shape) else 1
        self._accept(array.shape, array.dtype)

    def _reading(self) -> AbstractContextManager[Reader]:
        return nullcontext(reader_of(self._array, self.place))


def is_zarr(X: Any) -> bool:
    """True for an array of Zarr."""
    return type(X).__module__.partition(".")[0] == "zarr" and hasattr(X, "chunks") and hasattr(X, "store_path")


def _is_chunk(name: str) -> bool:
    """Whether a file in an array is a chunk, and no metadata."""
    return name.rpartition("/")[2] not in ("zarr.json", ".zarray", ".zattrs")


def _grid(array: Any) -> tuple[int, ...]:
    """The shape of what is stored in one file: of a shard, if there are shards, or of a chunk."""
    return tuple(getattr(array, "shards", None) or array.chunks)
