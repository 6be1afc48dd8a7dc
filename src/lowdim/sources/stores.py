"""Arrays in files: NPY files as memory maps, Zarr stores, and datasets of HDF5 files."""

from __future__ import annotations

import numbers
import os
from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from itertools import accumulate, pairwise
from math import prod
from tokenize import TokenError
from typing import Any
from zipfile import ZipFile

import numpy as np

from .. import errors
from .array import ArraySource, InexactInteger, may_be_inexact, require_exact
from .base import Source, Traits, cut, fits_easily, read_ahead
from .derived import StoredSource
from .scan import Contents, Found, Stamp, check_unchanged, refuse_special

# A 2-D array in a file, as the source of stores needs it.


#: `read(i, j, first, last)` reads rows i to j and columns `first` to `last`, the ends not included.
Reader = Callable[[int, int, int, int], np.ndarray]


class StoredArray(ABC):
    """Numbers in n rows and p columns, of which any rows can be read: an array in a file or store at a path, with a
    name if there are several."""

    shape: tuple[int, int]
    #: Whether the array has one axis, and is read as one column.
    vector: bool = False
    dtype: np.dtype
    #: The number of rows that are stored together: reading one of them costs as much as reading all.
    chunk_rows: int = 1
    #: Whether the array is mapped to memory: reading it makes no copy.
    mapped: bool = False

    def __init__(self, path: Any, name: str | None = None) -> None:
        self._path, self._name = os.fspath(path), name
        #: The paths of the file, or of the directory, that holds the array.
        self.paths: Sequence[str] = [self._path]
        #: The file, and the array in it, for messages.
        self.place = self._path if name is None else f"{self._path}::{name}"
        self._begin()
        #: The files, which are compared with these stamps before and after each pass.
        self.stamps = tuple(Stamp.of(path) for path in self._files())

    def __reduce__(self) -> Any:
        # A map would be pickled as all its rows.
        return type(self), (self._path, self._name)

    @abstractmethod
    def _begin(self) -> None:
        """Open the array for the first time, and accept it."""

    @abstractmethod
    def _array(self) -> AbstractContextManager[Any]:
        """The array of its own library for one pass, and a context that closes what it needs."""

    def _files(self) -> Sequence[str]:
        """The files in which the array is stored."""
        return self.paths

    @contextmanager
    def opened(self) -> Iterator[Reader]:
        """The reader of this array for one pass. A file that was changed since it was first opened is an error."""
        check_unchanged(self.stamps)
        with self._array() as array:
            yield partial(self._read, array)
        check_unchanged(self.stamps)

    def _read(self, array: Any, i: int, j: int, first: int, last: int) -> np.ndarray:
        """Rows i to j and columns `first` to `last` of an array of any library; a vector is one column."""
        try:
            return np.asarray(array[i:j, first:last] if len(array.shape) == 2 else array[i:j][:, None])
        except MemoryError:
            raise
        except Exception as error:
            # The chunks cannot be decoded. Each codec has errors of its own.
            raise errors.unreadable_file(self.place, f" in rows {i} to {j - 1}", error) from error

    def _accept(self, shape: tuple[int, ...], dtype: Any) -> None:
        """Take shape and dtype, or refuse an array that is no table of numbers and no vector."""
        self.vector = len(shape) == 1
        shape = (*shape, 1) if self.vector else shape
        if len(shape) != 2 or 0 in shape:
            raise errors.array_is_no_table(self.place, shape)
        if dtype.kind not in "fiub":
            advice = "Convert the array and store it again, or load it and pass the numbers in it"
            if dtype.names:
                advice = (
                    f"Of records with the fields {errors.list_names(dtype.names)}, pass pandas.DataFrame(array), or "
                    "convert them with numpy.lib.recfunctions.structured_to_unstructured"
                )
            raise ValueError(
                f"{self.place}: the array has dtype {dtype}; rows are real numbers (floats, integers or booleans). "
                f"{advice}."
            )
        self.shape, self.dtype = (int(shape[0]), int(shape[1])), np.dtype(dtype)


def chunk_places(counts: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """The places of all chunks of an array with one or two axes, along which there are so many chunks. They are not
    listed, since damaged metadata may name more chunks than there could ever be."""
    across = prod(counts[1:])
    return ((i, j)[: len(counts)] for i in range(counts[0]) for j in range(across))


# Rows of arrays in files: NPY, Zarr and HDF5.


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
                raise ValueError(
                    f"{array.place}: the array has {array.shape[1]} columns, and that of {first.place} has "
                    f"{first.shape[1]}. The arrays are read one below the other, so all must have the same columns."
                )
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
                raise errors.array_is_no_table(array.place, array.shape[:1])

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
        first, last = (0, self._arrays[0].shape[1])
        if self._columns is not None:
            first, last = int(self._columns.min()), int(self._columns.max()) + 1
        for array, (i, j) in zip(self._arrays, pairwise(self._edges), strict=True):
            start, stop = max(self._start, i) - i, min(self._stop, j) - i
            if start >= stop:
                continue
            with array.opened() as read:
                if array.mapped:
                    yield read(start, stop, first, last)
                    continue
                # Whole chunks, at least one block and at least so many bytes.
                least = max(rows, _PIECE_BYTES // max(1, (last - first) * array.dtype.itemsize))
                step = -(-least // array.chunk_rows) * array.chunk_rows
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
            try:
                require_exact(converted.ravel(), rows.ravel())
            except InexactInteger as found:
                i, j = divmod(found.index, rows.shape[1])
                column = j if self._columns is None else int(self._columns[j])
                row, label = self.row_label(start + i), errors.column_label(column, None)
                raise errors.inexact_integer(found.value, row, label) from None
        return converted

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


# NPY files, as memory maps.


class NpyArray(StoredArray):
    """The array of a .npy file, mapped to memory and read in place. Files of Python objects are refused, not opened."""

    mapped = True

    def _begin(self) -> None:
        if self._name is not None:
            raise errors.no_such_array(self._path, self._name, ["one array, which has no name"])
        try:
            self._map = np.lib.format.open_memmap(self._path, mode="r")
        except (ValueError, OverflowError, SyntaxError, TokenError) as error:
            if "Python objects" in str(error):
                raise ValueError(
                    f"{self.place}: the file holds Python objects, which are pickled and are not read, since that can "
                    "run any code. If you trust the file, load it with numpy.load(path, allow_pickle=True) and save it "
                    "as numbers."
                ) from error
            size = os.path.getsize(self._path)
            raise errors.unreadable_file(self.place, f" as a .npy file of {size} bytes", error) from error
        self._accept(self._map.shape, self._map.dtype)

    def _array(self) -> AbstractContextManager[Any]:
        # A plain view: slices of a memmap carry attributes, which takes longer than reading a few rows.
        return nullcontext(np.asarray(self._map))


# Which array of a file or store with several is meant.


def pick(path: str, name: str | None, arrays: Mapping[str, Any]) -> Any:
    """The array of this name; without a name, the only array with two axes, or the only array at all. Errors list the
    arrays with two axes."""
    # A dataset of HDF5 that holds nothing has None as its shape.
    tables = [each for each, array in arrays.items() if len(array.shape or ()) == 2]
    if name is not None:
        found = arrays.get(name.strip("/"))
        if found is None:
            raise errors.no_such_array(path, name, tables)
        return found
    if len(arrays) == 1:
        return next(iter(arrays.values()))
    if len(tables) != 1:
        raise ValueError(
            f"{path} holds {len(tables)} arrays with two axes: {', '.join(tables[:20])}. Say which one to read: "
            f"{path}::{tables[0]}."
            if tables
            else f"{path} holds no array with two axes (rows, columns), so there are no rows to read."
        )
    return arrays[tables[0]]


# Arrays of Zarr stores: directories, and zip files of them.


#: Files in an array that are no chunks.
_METADATA = ("zarr.json", ".zarray", ".zattrs")


class ZarrArray(StoredArray):
    """An array of a Zarr store that is opened by its path.

    Zarr reads chunks that are not stored as the fill value, without a word. Here they are an error, because nothing in
    a store tells a chunk that was lost from one that was left out since all its entries are equal to the fill value.
    (Inside a shard that is no question: its index, which has a checksum, says which chunks were left out.)
    """

    def _begin(self) -> None:
        self._first = self._open()
        self.chunk_rows = _grid(self._first)[0]
        self._accept(self._first.shape, self._first.dtype)
        self._require_all_chunks()

    def _files(self) -> Sequence[str]:
        if os.path.isfile(self._path):
            return [self._path]
        root = os.path.join(self._path, *self._first.path.split("/"))
        return [os.path.join(folder, name) for folder, _, names in os.walk(root) for name in names]

    def _open(self) -> Any:
        try:
            import zarr
        except ImportError as error:
            raise errors.missing_extra(f"reading {self._path}", "zarr", "zarr") from error
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
            raise errors.unreadable_file(self._path, " as a Zarr store", error) from error
        if isinstance(root, zarr.Array) and self._name is None:
            return root
        arrays = {} if isinstance(root, zarr.Array) else dict(root.members(max_depth=None))
        return pick(self._path, self._name, {name: a for name, a in arrays.items() if isinstance(a, zarr.Array)})

    def _require_all_chunks(self) -> None:
        """Raise an error unless all chunks (all shards of a sharded array) are among the files of the store."""
        counts = [-(-n // c) for n, c in zip(self._first.shape, _grid(self._first), strict=True)]
        names = (self._first.metadata.encode_chunk_key(place) for place in chunk_places(counts))
        stored = self._stored_names()
        first = next((name for name in names if name not in stored), None)
        if first is not None:
            accept = f"fit(zarr.open_array({self._path!r}{'' if self._name is None else f', path={self._name!r}'}))"
            fill = self._first.fill_value
            n_missing = max(1, prod(counts) - sum(name.rpartition("/")[2] not in _METADATA for name in stored))
            raise errors.missing_chunks(self.place, first, n_missing, prod(counts), fill, accept)

    def _stored_names(self) -> set[str]:
        """The names of the files of the array within it."""
        inside = self._first.path
        if os.path.isfile(self._path):
            start = f"{inside}/" if inside else ""
            with ZipFile(self._path) as archive:
                return {name.removeprefix(start) for name in archive.namelist() if name.startswith(start)}
        root = os.path.join(self._path, *inside.split("/"))
        return {os.path.relpath(path, root).replace(os.sep, "/") for path in self._files()}

    def _array(self) -> AbstractContextManager[Any]:
        # What was kept in memory of a group may be out of date, so the array is opened anew for each pass.
        return nullcontext(self._open())


class OpenedArray(StoredArray):
    """A `zarr.Array` or an `h5py.Dataset` that the user has opened; parts that are not stored are read as these
    libraries do."""

    # Where the rows are stored may change without a trace.
    paths: Sequence[str] = ()
    stamps: tuple[Stamp, ...] = ()

    def __init__(self, array: Any) -> None:
        self._given = array
        self._begin()

    def __reduce__(self) -> Any:
        return OpenedArray, (self._given,)

    def _begin(self) -> None:
        array = self._given
        if hasattr(array, "store_path"):
            self.place = str(array.store_path)
            self.chunk_rows = _grid(array)[0] if len(array.shape) else 1
        else:
            self.place = f"{array.file.filename}::{array.name}"
            self.chunk_rows = array.chunks[0] if array.chunks else 1
        self._accept(array.shape, array.dtype)

    def _array(self) -> AbstractContextManager[Any]:
        return nullcontext(self._given)


def check_ordinary(directory: str) -> None:
    """Raise an error if something in a directory, or below it, is a device, a socket or a pipe: reading it might never
    end."""
    with os.scandir(directory) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                check_ordinary(entry.path)
            elif not entry.is_file():
                refuse_special(entry.path)


def _grid(array: Any) -> tuple[int, ...]:
    """The shape of what is stored in one file: of a shard, if there are shards, or of a chunk."""
    return tuple(getattr(array, "shards", None) or array.chunks)


# Datasets of HDF5 files.


class Hdf5Array(StoredArray):
    """A dataset of an HDF5 file that is opened by its path, for the duration of each pass.

    HDF5 reads chunks that were never written as the fill value. Here they are an error, and so are virtual datasets,
    whose parts in other files are filled in the same way if those files are missing.
    """

    def _begin(self) -> None:
        with self._file() as file:
            dataset = self._dataset(file)
            self._accept(dataset.shape or (), dataset.dtype)
            self._require_all_chunks(dataset)
            self.chunk_rows = dataset.chunks[0] if dataset.chunks else 1

    @contextmanager
    def _array(self) -> Iterator[Any]:
        with self._file() as file:
            yield self._dataset(file)

    def _file(self) -> Any:
        try:
            import h5py
        except ImportError as error:
            raise errors.missing_extra(f"reading {self._path}", "h5py", "hdf5") from error
        try:
            return h5py.File(self._path, "r")
        except OSError as error:
            raise errors.unreadable_file(self._path, " as an HDF5 file", error) from error

    def _dataset(self, file: Any) -> Any:
        """The dataset of this name; see `pick`."""
        found: dict[str, Any] = {}
        try:
            file.visititems(lambda name, item: found.update({name: item}) if hasattr(item, "chunks") else None)
        except (OSError, KeyError, RuntimeError, ValueError) as error:
            raise errors.unreadable_file(self._path, " in the list of its datasets", error) from error
        return pick(self._path, self._name, found)

    def _require_all_chunks(self, dataset: Any) -> None:
        """Raise an error if not all of the dataset is stored in this file."""
        if dataset.is_virtual:
            raise ValueError(
                f"{self.place} is a virtual dataset: where a file with a part of it is missing, HDF5 reads the fill "
                "value without an error. Read the files with the parts, or accept this and open the dataset yourself: "
                "fit(h5py.File(path)[name])."
            )
        accept = f"fit(h5py.File({self._path!r})[{dataset.name!r}])"
        if dataset.chunks is None:
            if dataset.id.get_storage_size() == 0 and dataset.size:
                raise errors.missing_chunks(self.place, "all of it", 1, 1, dataset.fillvalue, accept)
            return
        counts = [-(-n // c) for n, c in zip(dataset.shape, dataset.chunks, strict=True)]
        n_missing = prod(counts) - dataset.id.get_num_chunks()
        if n_missing > 0:
            # Chunks are found quickly by their place; by their number each takes as long as all before it together.
            offsets = (tuple(i * c for i, c in zip(at, dataset.chunks, strict=True)) for at in chunk_places(counts))
            found = dataset.id.get_chunk_info_by_coord
            first = next(offset for offset in offsets if found(offset).byte_offset is None)
            where = f"at row {first[0]}" + (f", column {first[1]}" if len(first) > 1 else "")
            raise errors.missing_chunks(self.place, where, n_missing, prod(counts), dataset.fillvalue, accept)


# Which columns of an array are read: its columns have numbers, not names.


#: What a choice of columns is made of: numbers from 0, where negative ones count from the end, or a slice.
Numbers = tuple[int, ...] | slice


@dataclass(frozen=True)
class NumberChoice:
    """A choice of columns by their numbers, made before the number of columns is known. None stands for all columns.

    All columns of an array are numbers, so "numeric" stands for all of them too.
    """

    columns: Numbers | None = None
    exclude: Numbers | None = None
    #: Further columns that are left out.
    further: tuple[int, ...] = ()

    @classmethod
    def of(cls, columns: Any, exclude: Any) -> NumberChoice:
        """The choice that the arguments of `scan` stand for."""
        every = isinstance(columns, str) and columns == "numeric"
        return cls(None if every else _listed(columns, "columns"), _listed(exclude, "exclude"))

    def without(self, names: Sequence[int]) -> NumberChoice:
        """The same choice without further columns."""
        return replace(self, further=(*self.further, *names))

    def among(self, contents: Contents) -> list[int]:
        """The numbers of the chosen columns, from 0."""
        p = len(contents.names)
        chosen = _numbers(slice(None) if self.columns is None else self.columns, p, "columns")
        left_out = {*_numbers(self.exclude or (), p, "exclude"), *_numbers(self.further, p, "without")}
        chosen = [j for j in chosen if j not in left_out]
        if not chosen:
            raise errors.array_columns_out_of_range("columns", self.columns, p)
        return chosen

    #: The same, since all columns are numbers.
    named_among = among

    def __str__(self) -> str:
        text = "all columns" if self.columns is None else f"columns {_text(self.columns)}"
        return text if self.exclude is None else f"{text} without {_text(self.exclude)}"


def _listed(choice: Any, argument: str) -> Numbers | None:
    """A choice of columns as a tuple of numbers, or a slice; None if there is no choice."""
    if choice is None or isinstance(choice, slice):
        return choice
    alone = isinstance(choice, numbers.Integral | str) or not hasattr(choice, "__iter__")
    each = [choice] if alone else list(choice)
    if not all(isinstance(j, numbers.Integral) and not isinstance(j, bool | np.bool_) for j in each):
        raise TypeError(
            f"{argument}={choice!r}: the columns of arrays (NPY, Zarr, HDF5) have no names; pass their numbers, "
            "counted from 0: an integer, a list of integers, a range or a slice."
        )
    return tuple(int(j) for j in each)


def _numbers(choice: Numbers, p: int, argument: str) -> list[int]:
    """A choice of columns as numbers from 0 to p - 1."""
    if isinstance(choice, slice):
        return list(range(p)[choice])
    if any(not -p <= j < p for j in choice) or len({j % p for j in choice}) < len(choice):
        raise errors.array_columns_out_of_range(argument, choice, p)
    return [j % p for j in choice]


def _text(choice: Numbers) -> str:
    return str(choice) if isinstance(choice, slice) else ", ".join(map(str, choice))


# Arrays in files: NPY files as memory maps, Zarr stores, and datasets of HDF5 files.
#
# Zarr and h5py are imported only when such a file is opened.


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


npy_files = partial(StoredArrays, NpyArray)
zarr_files = partial(StoredArrays, ZarrArray)
hdf5_files = partial(StoredArrays, Hdf5Array)


def open_store_object(X: Any, vectors: bool = True) -> StoreSource:
    """The rows of an array of Zarr, or of a dataset of h5py, that the user has opened. With `vectors`, it may have one
    axis."""
    source = StoreSource([OpenedArray(X)])
    if not vectors:
        source.require_two_axes()
    return source
