"""The kinds of files that results are written to, block by block."""

from __future__ import annotations

import io
import os
import re
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from importlib import import_module
from typing import Any, ClassVar

import numpy as np
from numpy.lib import format as npy_format

from ..errors import FormulaWarning, missing_extra, warn_user


class Sink(ABC):
    """Writes one file, or one directory that is opened as a file is.

    Parameters
    ----------
    path : str
        Where to write. Nothing is there yet.
    names : sequence of str
        The names of the columns of results.
    inner : str or None
        The name of the array inside of the file, for kinds that have such names.

    Notes
    -----
    What a file looks like (types, widths) is known from the first block, so nothing is written before.
    """

    #: The name of the kind in messages.
    kind: ClassVar[str]
    #: The library that writes the file, and the extra of lowdim that installs it; None for NumPy.
    package: ClassVar[tuple[str, str] | None] = None
    #: Whether the file holds a table, whose columns have names and may be of any type. Otherwise it holds one array.
    tabular: ClassVar[bool] = False
    #: Whether arrays inside of the file have names.
    has_inner_names: ClassVar[bool] = False
    #: Whether what is written is a directory already.
    is_directory: ClassVar[bool] = False
    #: Whether what is written is a file that is moved to its place when it is whole.
    moved: ClassVar[bool] = True

    def __init__(self, path: str, names: Sequence[str], inner: str | None = None) -> None:
        self.path, self.names, self.inner = path, list(names), inner
        #: What has been opened, and has to be closed, the last one first.
        self._opened: list[Any] = []
        #: Blocks that are not written yet.
        self._gathered: list[Any] = []

    @classmethod
    def require(cls) -> None:
        """Raise an ImportError with advice if the library that is needed is not installed."""
        if cls.package is None:
            return
        package, extra = cls.package
        try:
            import_module(package)
        except ModuleNotFoundError as error:
            raise missing_extra(f"writing {cls.kind} files", package, extra) from error

    @classmethod
    def other_arrays(cls, path: str, inner: str | None) -> list[str]:
        """The names of arrays at `path` beside the one that would be written, which would be lost with the old file."""
        return []

    @abstractmethod
    def write(self, results: Sequence[np.ndarray], kept: Any = None) -> None:
        """Write the next rows: arrays of results, side by side, and before them a pyarrow table of kept columns."""

    @abstractmethod
    def close(self) -> None:
        """Write what is left, and end the file."""

    def abandon(self) -> None:
        """Let go of the file, which is going to be removed."""
        for opened in reversed(self._opened):
            opened.close()


# Files that hold a table: columns with names, written by pyarrow.


#: Rows are written in groups of about this many bytes, or of this many for each column, if that is more: each column of
#: a group has an entry in the list at the end of the file.
_GROUP_BYTES, _COLUMN_BYTES = 8 << 20, 4 << 10


class TableSink(Sink):
    """Base class of sinks for tables. Blocks are gathered until they make a group of about 8 MiB (more for
    thousands of columns)."""

    package = ("pyarrow", "files")
    tabular = True
    #: What writes, from the first group on.
    _writer: Any = None
    #: The types of the kept columns, from the first block on.
    _kept_schema: Any = None
    #: The size of what is gathered: results, and what is kept with them.
    _bytes = 0

    def write(self, results: Sequence[np.ndarray], kept: Any = None) -> None:
        self._gathered.append((results, None if kept is None else self._like_the_first(kept)))
        self._bytes += sum(r.nbytes for r in results) + (0 if kept is None else kept.nbytes)
        if self._bytes >= max(_GROUP_BYTES, _COLUMN_BYTES * len(self.names)):
            self._write_gathered()

    def close(self) -> None:
        if self._gathered:
            self._write_gathered()
        self.abandon()

    @abstractmethod
    def _open(self, schema: Any, kept: Sequence[str]) -> Any:
        """The writer for tables of this schema, in which the columns `kept` are not results."""

    def _write_group(self, group: Any) -> None:
        """Write one group of rows."""
        self._writer.write_table(group)

    def _write_gathered(self) -> None:
        group = self._table()
        self._gathered, self._bytes = [], 0
        if self._writer is None:
            self._writer = self._open(group.schema, group.column_names[: len(group.column_names) - len(self.names)])
            self._opened.append(self._writer)
        self._write_group(group)

    def _table(self) -> Any:
        """What is gathered as a table: first the kept columns, then the results."""
        import pyarrow as pa

        columns, names = [], []
        if self._kept_schema is not None:
            kept = pa.concat_tables([table for _, table in self._gathered])
            columns, names = kept.columns, kept.column_names
        for blocks in zip(*(results for results, _ in self._gathered), strict=True):
            # Each column in one piece, which pyarrow takes without a further copy.
            width = 1 if blocks[0].ndim == 1 else blocks[0].shape[1]
            values = np.empty((width, sum(map(len, blocks))), dtype=blocks[0].dtype)
            np.concatenate([np.atleast_2d(block.T) for block in blocks], axis=1, out=values)
            columns += [pa.array(column) for column in values]
        return pa.table(columns, names=[*names, *self.names])

    def _like_the_first(self, kept: Any) -> Any:
        """Kept columns with the types that they had in the first block, and columns of categories as columns of their
        values: other blocks may have other categories."""
        import pyarrow as pa

        for j, field in enumerate(kept.schema):
            if pa.types.is_dictionary(field.type):
                kept = kept.set_column(j, field.name, kept.column(j).cast(field.type.value_type))
        if self._kept_schema is None:
            self._kept_schema = kept.schema
        if kept.schema.equals(self._kept_schema):
            return kept
        try:
            return kept.cast(self._kept_schema)
        except pa.ArrowInvalid as error:
            first = self._kept_schema
            name = next(field.name for field in kept.schema if field.type != first.field(field.name).type)
            raise ValueError(
                f"the column {name!r}, given as keep, holds values of the type {kept.schema.field(name).type} that "
                f"cannot be converted to {first.field(name).type}, the type of the first rows. Convert the column to "
                "one type first, or do not keep it."
            ) from error


class ArrowSink(TableSink):
    """An Arrow file (or Feather file of version 2), not compressed, so that it can be mapped into memory."""

    kind = "Arrow"

    def _open(self, schema: Any, kept: Sequence[str]) -> Any:
        from pyarrow import ipc

        return ipc.new_file(self.path, schema)

    def _write_group(self, group: Any) -> None:
        self._writer.write_table(group.combine_chunks())


class ParquetSink(TableSink):
    """A Parquet file, with row groups of about 8 MiB."""

    kind = "Parquet"

    def _open(self, schema: Any, kept: Sequence[str]) -> Any:
        from pyarrow.parquet import ParquetWriter

        # Results hardly repeat, and a dictionary of them would take as long to make as all the rest.
        return ParquetWriter(self.path, schema, use_dictionary=list(kept))

    def _write_group(self, group: Any) -> None:
        self._writer.write_table(group, row_group_size=group.num_rows)


# CSV files, plain or compressed by gzip, and CSV to the standard output. Numbers are written with all their digits.


#: Text that spreadsheets take for a formula: it begins with one of these signs, and is not a number.
_FORMULA = r"^[=@\t\r]|^[+-][^.0-9]|^[+-][.][^0-9]"

_escapes: ContextVar[bool] = ContextVar("lowdim_escapes_formulas", default=False)


@contextmanager
def escaped_formulas() -> Iterator[None]:
    """Context in which CSV files have an apostrophe before text that spreadsheets would run as a formula."""
    before = _escapes.set(True)
    try:
        yield
    finally:
        _escapes.reset(before)


class CsvSink(TableSink):
    """A CSV file with a line of names.

    Text that is carried along is written as it is. Some spreadsheets run text such as "=1+1" as a formula when they
    open the file, so the first such text gives a warning, unless the sink was made in a context of `escaped_formulas`.
    """

    kind = "CSV"
    _compression: ClassVar[str | None] = None
    _warned = False

    def __init__(self, path: str, names: Sequence[str], inner: str | None = None) -> None:
        super().__init__(path, names, inner)
        self._escapes = _escapes.get()

    def write(self, results: Sequence[np.ndarray], kept: Any = None) -> None:
        super().write(results, None if kept is None else self._harmless(kept))

    def _harmless(self, kept: Any) -> Any:
        """The kept columns, in which formulas are noticed, or escaped."""
        import pyarrow as pa
        from pyarrow import compute

        for i, field in enumerate(kept.schema):
            plain = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
            if not (pa.types.is_string(plain) or pa.types.is_large_string(plain)):
                continue
            texts = kept.column(i).cast(plain)
            formulas = compute.match_substring_regex(texts, _FORMULA)
            if not compute.any(formulas).as_py():
                continue
            if self._escapes:
                escaped = compute.replace_substring_regex(texts, _FORMULA, r"'\0")
                kept = kept.set_column(i, field.name, escaped)
            elif not self._warned:
                self._warned = True
                example = texts.filter(formulas)[0].as_py()
                shown = example if len(example) <= 40 else example[:39] + "…"
                warn_user(
                    f"the column {field.name!r} holds text such as {shown!r}, which spreadsheets run as a formula. It "
                    "is written as it is. To open the file in a spreadsheet, write it with "
                    "lowdim.sinks.escaped_formulas() (on the command line, --escape-formulas).",
                    FormulaWarning,
                )
        return kept

    def _open(self, schema: Any, kept: Sequence[str]) -> Any:
        from pyarrow import types
        from pyarrow.csv import CSVWriter

        # Lists and the like have no text.
        bad = [field for field in map(schema.field, kept) if types.is_nested(field.type)]
        if bad:
            listed = ", ".join(f"{field.name!r} ({field.type})" for field in bad)
            raise ValueError(
                f"a CSV file cannot hold the columns {listed}, given as keep. Write {os.path.basename(self.path)!r} as "
                ".parquet or .arrow, or do not keep them."
            )
        return CSVWriter(self._target(), schema)

    def _target(self) -> Any:
        """The stream to write to."""
        import pyarrow as pa

        stream = pa.output_stream(self.path, compression=self._compression)
        self._opened.append(stream)
        return stream


class GzipCsvSink(CsvSink):
    """The same, compressed by gzip."""

    kind = "CSV (gzip)"
    _compression = "gzip"


class StandardOutputSink(CsvSink):
    """CSV to the standard output. What has been written cannot be taken back."""

    kind = "CSV (standard output)"
    moved = False

    def _target(self) -> Any:
        import pyarrow as pa

        if sys.stdout is None:
            raise ValueError("the standard output is closed: name a file to write to.")
        return pa.PythonFile(sys.stdout.buffer, mode="w")

    def abandon(self) -> None:
        super().abandon()
        sys.stdout.buffer.flush()


# Files that hold one array of numbers.


#: A chunk of an array has about this many bytes.
_CHUNK_BYTES = 4 << 20


class ArraySink(Sink):
    """Base class of sinks for arrays. Rows are gathered and written in whole chunks of about 4 MiB.

    If the results are one vector, the array has one axis; otherwise it has two. Several results side by side are
    written in a dtype that holds them all.
    """

    #: The number of rows that are gathered, and of those that are written.
    _waiting = _written = 0
    #: The number of rows of a chunk, known from the first block on.
    _chunk = 0

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


class NpySink(ArraySink):
    """An NPY file, which can be mapped into memory."""

    kind = "NPY"

    def _create(self, rest: tuple[int, ...], dtype: np.dtype[Any]) -> None:
        self._file = open(self.path, "wb")  # noqa: SIM115 (closed by `abandon`)
        self._opened.append(self._file)
        self._rest, self._dtype = rest, dtype
        self._write_header(0)

    def _append(self, rows: np.ndarray) -> None:
        self._file.write(np.ascontiguousarray(rows).data)

    def _finish(self) -> None:
        self._file.seek(0)
        self._write_header(self._written)
        self.abandon()

    def _write_header(self, n: int) -> None:
        # NumPy leaves room in the header for more rows, so its length does not depend on their number.
        header = {"descr": npy_format.dtype_to_descr(self._dtype), "fortran_order": False, "shape": (n, *self._rest)}
        npy_format.write_array_header_1_0(self._file, header)


class ZarrSink(ArraySink):
    """An array in a directory, in chunks of whole rows. The names of the columns are its attribute `columns`."""

    kind = "Zarr"
    package = ("zarr", "zarr")
    has_inner_names = True
    is_directory = True

    @classmethod
    def other_arrays(cls, path: str, inner: str | None) -> list[str]:
        import zarr

        try:
            store = zarr.open(path, mode="r")
        except Exception:
            # Damaged, or of another kind: then it holds no array that could be read.
            return []
        if not isinstance(store, zarr.Group):
            return []
        arrays = (name for name, member in store.members(max_depth=None) if isinstance(member, zarr.Array))
        return sorted(name for name in arrays if name != (inner or "").strip("/"))

    def _create(self, rest: tuple[int, ...], dtype: np.dtype[Any]) -> None:
        import zarr

        self._rest = rest
        self._array = zarr.create_array(
            self.path,
            name=self.inner,
            shape=(self._chunk, *rest),
            chunks=(self._chunk, *rest),
            dtype=dtype,
            attributes={"columns": self.names},
            # Otherwise chunks of zeros would be left out, and nobody could tell them from chunks that were lost.
            config={"write_empty_chunks": True},
        )

    def _append(self, rows: np.ndarray) -> None:
        needed = self._written + rows.shape[0]
        if needed > self._array.shape[0]:
            # Each change of the shape goes through the list of all chunks, so there should be few.
            self._array.resize((2 * needed, *self._rest))
        self._array[self._written : needed] = rows

    def _finish(self) -> None:
        self._array.resize((self._written, *self._rest))


#: The name of the dataset, unless the path gives another one.
DATASET = "data"


class Hdf5Sink(ArraySink):
    """A dataset in an HDF5 file of its own. The names of the columns are its attribute `columns`."""

    kind = "HDF5"
    package = ("h5py", "hdf5")
    has_inner_names = True

    @classmethod
    def other_arrays(cls, path: str, inner: str | None) -> list[str]:
        import h5py

        if not h5py.is_hdf5(path):
            return []
        found: list[str] = []
        with h5py.File(path, "r") as file:
            # Unlike `visititems`, this also names links, whose targets may be elsewhere.
            file.visititems_links(lambda name, _: found.append(name))
            groups = {name for name in found if isinstance(file.get(name), h5py.Group)}
        return [name for name in found if name not in groups and name != (inner or DATASET).strip("/")]

    def _create(self, rest: tuple[int, ...], dtype: np.dtype[Any]) -> None:
        import h5py

        self._disk = _LateErrors(self.path)
        # This version of the format, which HDF5 has read since 2008, allows attributes of more than 64 KiB.
        file = h5py.File(self._disk, "w", libver=("v108", "v108"))
        self._opened += [self._disk, file]
        self._dataset = file.create_dataset(
            self.inner or DATASET, shape=(0, *rest), maxshape=(None, *rest), chunks=(self._chunk, *rest), dtype=dtype
        )
        self._dataset.attrs["columns"] = self.names

    def _append(self, rows: np.ndarray) -> None:
        n = self._written + rows.shape[0]
        self._dataset.resize(n, axis=0)
        self._dataset[self._written : n] = rows
        self._disk.raise_error()

    def _finish(self) -> None:
        self.abandon()
        self._disk.raise_error()


class _LateErrors(io.FileIO):
    """A file whose errors are raised when they are asked for.

    The HDF5 library does not survive a write that fails: closing the file fails too, and the next file may end the
    process. So no error is reported to it, and the file, of no use any more, is removed.
    """

    def __init__(self, path: str) -> None:
        super().__init__(path, "w+b")
        self._error: OSError | None = None

    def write(self, data: Any) -> int:
        view = memoryview(data).cast("B")
        done = 0
        while done < len(view):
            done += self._noting(super().write, view[done:]) or len(view)
        return len(view)

    def truncate(self, size: int | None = None) -> int:
        return self._noting(super().truncate, size) or 0

    def raise_error(self) -> None:
        """Raise the first error that there was."""
        if self._error is not None:
            raise self._error

    def _noting(self, function: Callable[..., int | None], *arguments: Any) -> int | None:
        """The value of a function, or None after an error."""
        try:
            return function(*arguments) if self._error is None else None
        except OSError as error:
            self._error = error
            return None


#: A part is ended when its rows have this many bytes.
_PART_BYTES = 256 << 20
#: The names of parts.
PART_NAME = re.compile(r"part-\d{5,}\..*")


class PartsSink(Sink):
    """A directory of files part-00000, part-00001, ..., in the order of the rows.

    Parameters
    ----------
    path, names
        As in `Sink`.
    make : class of sinks
        The kind of the files.
    suffix : str
        How their names end.
    """

    def __init__(self, path: str, names: Sequence[str], make: type[Sink], suffix: str) -> None:
        super().__init__(path, names)
        self._make, self._suffix = make, suffix
        self._part: Sink | None = None
        self._count = self._bytes = 0
        os.mkdir(path)

    def write(self, results: Sequence[np.ndarray], kept: Any = None) -> None:
        if self._part is None:
            name = f"part-{self._count:05d}{self._suffix}"
            self._part = self._make(os.path.join(self.path, name), self.names)
            self._count, self._bytes = self._count + 1, 0
        self._part.write(results, kept)
        self._bytes += sum(r.nbytes for r in results) + (0 if kept is None else kept.nbytes)
        if self._bytes >= _PART_BYTES:
            self.close()

    def close(self) -> None:
        if self._part is not None:
            self._part.close()
            self._part = None

    def abandon(self) -> None:
        if self._part is not None:
            self._part.abandon()


#: How names of files end, and the sinks that write them. The first one that fits decides.
SINKS: dict[str, type[Sink]] = {
    ".parquet": ParquetSink,
    ".arrow": ArrowSink,
    ".feather": ArrowSink,
    ".csv": CsvSink,
    ".csv.gz": GzipCsvSink,
    ".npy": NpySink,
    ".zarr": ZarrSink,
    ".h5": Hdf5Sink,
    ".hdf5": Hdf5Sink,
}
