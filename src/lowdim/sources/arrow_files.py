"""Parquet, Arrow and CSV files as one table."""

from __future__ import annotations

import re
from abc import abstractmethod
from bisect import bisect_right
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from copy import copy
from dataclasses import replace
from functools import cached_property
from itertools import accumulate, groupby, pairwise, starmap
from typing import Any

import numpy as np

from .._core.threads import free_bytes, in_words
from ..errors import duplicate_columns, list_names, not_numbers, unreadable_file
from .arrow import ArrowSource, block_dtype, index_columns, kind_of_column, numeric_columns, pyarrow
from .base import Source, cut
from .scan import ColumnKind, Contents, Found, check_unchanged

# What is particular to each kind of file: schemas, numbers of rows, how rows are read, and damaged places.


#: A batch of Parquet takes this many bytes of a column; larger ones take no less time.
_COLUMN_BYTES = 1 << 18
#: The usual size of a page of Parquet, which is decoded as a whole.
_PAGE_BYTES = 1 << 20
#: Beside what is decoded, a thread that reads files takes this many bytes for blocks of rows, and its allocator keeps
#: this share of what it has given back (measured for 5 to 200 columns).
_BLOCKS_BYTES, _KEPT = 48 << 20, 0.25
#: A batch has at most this many bytes, but at least so many rows: with fewer, calls for each column would cost more
#: than the copies. A column is read from disk in pieces of so many bytes.
_BATCH_BYTES, _BATCH_ROWS, _READ_BYTES = 64 << 20, 256, 1 << 16


class ArrowFiles(Contents):
    """The columns of files of one kind, by the schema of the first file. Each file is a fragment of pyarrow.dataset,
    which finds schema and number of rows.

    A scan of pyarrow.dataset holds several row groups or files at once, each of which may take a gigabyte. So Parquet
    and Arrow files are read by the readers of single files, which take no longer: a batch at a time, whatever the row
    groups are.
    """

    #: The class of pyarrow.dataset for files of this kind.
    _format_name = ""
    #: Errors at the beginning of a file that are not those of pyarrow or of the system.
    _further_errors: tuple[type[Exception], ...] = ()
    #: Whether text may be read as dictionaries, which takes less time and memory.
    reads_dictionaries = False
    #: What messages call a line of a file.
    line_name = "line {}"
    #: What to do if there is not enough memory to read the files.
    to_save_memory = "Choose fewer columns with lowdim.scan(..., columns=...), or free memory."

    def __init__(self, found: Found) -> None:
        pyarrow(f"reading {found.kind} files")
        self.found, self.label = found, found.where
        #: The entries of each key of the directories, one for each file, as an array of Arrow.
        self._keys: dict[str, Any] = {}
        self._begin()
        keys = {tuple(key for key, _ in keys) for keys in found.partitions}
        names = keys.pop() if len(keys) == 1 else ()
        if names and len(set(names)) == len(names):
            own, values = set(self._own_schema.names), [dict(keys) for keys in found.partitions]
            self._keys = {key: _typed([each[key] for each in values]) for key in names if key not in own}
        schema = self.schema
        self.names, self.index, self.numeric = schema.names, self._index_columns(), numeric_columns(schema)

    def _begin(self) -> None:
        """Look at the first file."""

    @cached_property
    def format(self) -> Any:
        """The format, as pyarrow.dataset knows it."""
        from pyarrow import dataset

        return getattr(dataset, self._format_name)()

    @cached_property
    def fragments(self) -> list[Any]:
        """One fragment for each file."""
        from pyarrow.fs import LocalFileSystem

        disk = LocalFileSystem()
        return [self.format.make_fragment(path, filesystem=disk) for path in self.found.paths]

    def _own_schema_of(self, i: int) -> Any:
        """The schema of file i, as its columns are read as rows, without the keys of the directories."""
        with self.opening(i):
            return self.fragments[i].physical_schema

    @property
    def _own_schema(self) -> Any:
        """The schema of the first file, as columns are kept beside the rows, without the keys of the directories."""
        return self._own_schema_of(0)

    @property
    def schema(self) -> Any:
        """The schema of the first file, as columns are kept beside the rows."""
        return self._with_keys(self._own_schema)

    def schema_of(self, i: int) -> Any:
        """The schema of file i, as its columns are read as rows."""
        return self._with_keys(self._own_schema_of(i))

    def _with_keys(self, schema: Any) -> Any:
        """The schema of a file with the keys of its directories behind it."""
        import pyarrow as pa

        if not self._keys:
            return schema
        own = [field for field in schema if field.name not in self._keys]
        return pa.schema([*own, *(pa.field(key, values.type) for key, values in self._keys.items())])

    def stored_field(self, name: str) -> Any:
        """The name and type of a column that is carried along unchanged."""
        return self.schema.field(name)

    def counts(self) -> list[int] | None:
        """The number of rows of each file; None if that is not known without reading them."""
        return [self._count(i) for i in range(len(self.fragments))]

    @abstractmethod
    def _count(self, i: int) -> int:
        """The number of rows of file i."""

    def reading_bytes(self, columns: Sequence[str]) -> int:
        """About how many bytes a thread takes to read these columns; 0 if they are few."""
        return 0

    def after(self, i: int, rows: int) -> tuple[Any, int]:
        """What has to be read of file i if its first `rows` rows are not needed, and how many rows to drop of that."""
        return self.fragments[i], rows

    def starts(self) -> list[int]:
        """The rows, counted over all files, at which reading may begin without reading rows before them. Empty if the
        files can only be read from their beginning."""
        return []

    def _index_columns(self) -> list[str]:
        """The columns that are the index of a data frame."""
        return index_columns(self._own_schema)

    def line_of(self, i: int, row: int) -> int | None:
        """The line of a row of file i, if the file has lines and it can be found quickly."""
        return None

    def read(self, parts: dict[int, Any], schema: Any, *, threads: bool = True) -> Iterator[tuple[int, Any]]:
        """Batches of the columns in `schema`, converted to its types, each with the number of its file. `parts` are the
        fragments to read, by the number of their file. With `threads`, columns may be decoded in several threads.

        A generator through which batches go forgets each of them before it asks for the next one. Otherwise two of them
        would be in memory, and pyarrow would give memory back to the system and take it again all the time.
        """
        import pyarrow as pa

        if not self._keys:
            return self._read_own(parts, schema, threads)
        own = [field for field in schema if field.name not in self._keys]
        # A column has to be read even if only keys are needed: it tells how many rows there are.
        read = pa.schema(own or [self._own_schema_of(next(iter(parts))).field(0)])

        def extended(i: int, batch: Any) -> Any:
            columns = [
                pa.repeat(self._keys[field.name][i], batch.num_rows)
                if field.name in self._keys
                else batch.column(field.name)
                for field in schema
            ]
            return i, pa.RecordBatch.from_arrays(columns, schema=schema)

        return starmap(extended, self._read_own(parts, read, threads))

    @abstractmethod
    def _read_own(self, parts: dict[int, Any], schema: Any, threads: bool) -> Iterator[tuple[int, Any]]:
        """As `read`, of columns that the files hold."""

    @contextmanager
    def opening(self, i: int) -> Iterator[None]:
        """Context in which the beginning or the end of file i is read."""
        import pyarrow as pa

        try:
            yield
        except MemoryError:
            raise
        except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
            raise unreadable_file(self.found.paths[i], "", error) from error
        except self._further_errors as error:
            raise unreadable_file(self.found.paths[i], " at its beginning", error) from error

    def error(self, i: int, names: Sequence[str], error: Exception) -> Exception:
        """The error for a scan that failed, which had read the rows of all files before file i."""
        own = [name for name in names if name not in self._keys]
        for path in self.found.paths[i:]:
            place = self.damaged_place(path, own)
            if place is not None:
                return unreadable_file(path, *place)
        return unreadable_file(self.found.paths[i], "", error)

    def damaged_place(self, path: str, names: Sequence[str]) -> tuple[str, Any] | None:
        """The first place of a file that cannot be read, in words, and why; None if all can be read."""
        import pyarrow as pa

        place = ""
        try:
            for reached in self._tried(path, names):
                place = reached
        except MemoryError:
            return None
        except (pa.ArrowException, OSError) as error:
            return place, error
        return None

    def _tried(self, path: str, names: Sequence[str]) -> Iterator[str]:
        """The places of a file, in words; each is read when the next one is asked for."""
        raise NotImplementedError

    def source(self, columns: Sequence[str]) -> ArrowFilesSource:
        return ArrowFilesSource(self, columns)

    def keeping(self, columns: Sequence[str], names: Sequence[str]) -> Source:
        source = self.source(columns)
        source.as_dictionaries = self.reads_dictionaries
        return source

    def kind_of(self, name: str) -> ColumnKind:
        return kind_of_column(self.schema.field(name).type)

    def column(self, name: str) -> np.ndarray:
        return self.source([]).column(name)

    def dtype(self, columns: Sequence[str]) -> Any:
        schemas = map(self.schema_of, range(len(self.found.files)))
        return block_dtype([schema.field(name).type for schema in schemas for name in columns])


class ParquetFiles(ArrowFiles):
    """Parquet files."""

    _format_name = "ParquetFileFormat"
    reads_dictionaries = True
    to_save_memory = (
        f"{ArrowFiles.to_save_memory} Files that were written without dictionaries and with smaller pages take less "
        "(use_dictionary=False and data_page_size of pyarrow.parquet.write_table)."
    )

    def _count(self, i: int) -> int:
        with self.opening(i):
            return int(self.fragments[i].metadata.num_rows)

    def starts(self) -> list[int]:
        lengths = [group.num_rows for fragment in self.fragments for group in fragment.row_groups]
        return list(accumulate(lengths, initial=0))[:-1]

    def reading_bytes(self, columns: Sequence[str]) -> int:
        """All columns are decoded side by side. Each has a page, a part of the batch, and its dictionary twice, as it
        is stored and decoded, all of the largest row group of the first file that has rows."""
        metadata = next(fragment.metadata for fragment in self.fragments if fragment.metadata.num_rows)
        group = max(map(metadata.row_group, range(metadata.num_row_groups)), key=lambda group: group.total_byte_size)
        wanted, total = set(columns), 0
        for chunk in map(group.column, range(group.num_columns)):
            if chunk.path_in_schema in wanted:
                dictionary = chunk.data_page_offset - chunk.dictionary_page_offset if chunk.has_dictionary_page else 0
                total += 2 * dictionary + min(_PAGE_BYTES, chunk.total_uncompressed_size) + _COLUMN_BYTES
        return int((1.0 + _KEPT) * total) + _BLOCKS_BYTES

    def after(self, i: int, rows: int) -> tuple[Any, int]:
        fragment = self.fragments[i]
        needed: list[int] = []
        for group in fragment.row_groups:
            if needed or group.num_rows > rows:
                needed.append(group.id)
            else:
                rows -= group.num_rows
        return fragment.subset(row_group_ids=needed), rows

    def _read_own(self, parts: dict[int, Any], schema: Any, threads: bool) -> Iterator[tuple[int, Any]]:
        import pyarrow as pa
        from pyarrow.parquet import ParquetFile

        widths = [_width(kind) for kind in schema.types]
        rows = max(_BATCH_ROWS, min(_COLUMN_BYTES // max(widths), _BATCH_BYTES // sum(widths)))
        dictionaries = [field.name for field in schema if pa.types.is_dictionary(field.type)]
        for i, fragment in parts.items():
            groups = [group.id for group in fragment.row_groups]
            with ParquetFile(
                self.found.paths[i],
                metadata=fragment.metadata,
                read_dictionary=dictionaries,
                pre_buffer=False,
                buffer_size=_READ_BYTES,
                page_checksum_verification=True,
            ) as file:
                for batch in file.iter_batches(rows, groups, schema.names, use_threads=threads):
                    yield i, as_schema(batch, schema)
                    del batch

    def _tried(self, path: str, names: Sequence[str]) -> Iterator[str]:
        from pyarrow.parquet import ParquetFile

        with ParquetFile(path, page_checksum_verification=True) as file:
            for group in range(file.num_row_groups):
                yield f" in row group {group}"
                file.read_row_group(group, columns=list(names))


class IpcFiles(ArrowFiles):
    """Arrow files (Feather, version 2)."""

    _format_name = "IpcFileFormat"
    to_save_memory = f"{ArrowFiles.to_save_memory} Files with smaller record batches take less."

    #: The number of rows of the largest record batch of the files that were counted.
    _longest = 0

    def _count(self, i: int) -> int:
        """The number of rows, which a file says only with each record batch. A fragment would count its rows by reading
        all columns, all at once."""
        import pyarrow as pa
        from pyarrow.ipc import IpcReadOptions, open_file

        options = IpcReadOptions(included_fields=[0])
        with self.opening(i), pa.OSFile(self.found.paths[i]) as disk, open_file(disk, options=options) as file:
            lengths = [file.get_batch(number).num_rows for number in range(file.num_record_batches)]
        self._longest = max(self._longest, *lengths, 0)
        return sum(lengths)

    def reading_bytes(self, columns: Sequence[str]) -> int:
        """A record batch is read as a whole, and compressed ones are decompressed."""
        fields = map(self._own_schema.field, set(columns) - set(self._keys))
        return 2 * self._longest * sum(_width(field.type) for field in fields) + _BLOCKS_BYTES

    def _read_own(self, parts: dict[int, Any], schema: Any, threads: bool) -> Iterator[tuple[int, Any]]:
        import pyarrow as pa
        from pyarrow.ipc import IpcReadOptions, open_file

        for i, fragment in parts.items():
            columns = [fragment.physical_schema.get_field_index(name) for name in schema.names]
            options = IpcReadOptions(included_fields=sorted(columns))
            # A memory map would end the process if somebody shortened the file meanwhile.
            with pa.OSFile(self.found.paths[i]) as disk, open_file(disk, options=options) as file:
                for number in range(file.num_record_batches):
                    yield i, as_schema(file.get_batch(number), schema)

    def _tried(self, path: str, names: Sequence[str]) -> Iterator[str]:
        import pyarrow as pa
        from pyarrow.ipc import open_file

        with pa.OSFile(path) as disk, open_file(disk) as file:
            for batch in range(file.num_record_batches):
                yield f" in record batch {batch}"
                file.get_batch(batch)


def _width(kind: Any) -> int:
    """About how many bytes an entry of this type takes."""
    try:
        return max(1, int(kind.bit_width) // 8)
    except ValueError:
        # Text and lists may have any length.
        return 32


def as_schema(batch: Any, schema: Any) -> Any:
    """The columns of a batch in the order and with the types of a schema."""
    import pyarrow as pa

    columns = [batch.column(name) for name in schema.names]
    same = [a if a.type == kind else a.cast(kind) for a, kind in zip(columns, schema.types, strict=True)]
    return pa.RecordBatch.from_arrays(same, schema=schema)


# Names of directories such as `year=2024`: the keys of a partitioned table, which are columns of its files.
#
# | values | column |
# | --- | --- |
# | whole numbers | int64 |
# | numbers | float64 |
# | anything else | text |
# | `__HIVE_DEFAULT_PARTITION__` | null |
#
# Keys are columns only if all files have the same keys in the same order. A column that the files hold themselves is
# read from them, whatever the directories say.


#: How a missing value is written as the name of a directory.
_NULL = "__HIVE_DEFAULT_PARTITION__"
#: Whole numbers of up to 18 digits fit into int64.
_WHOLE, _REAL = re.compile(r"[-+]?\d{1,18}"), re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")


def _typed(values: Sequence[str]) -> Any:
    """The values of a key, as numbers if all of them are."""
    import pyarrow as pa

    known = [value for value in values if value != _NULL]
    convert: Any = str
    kind = "string"
    if known and all(_WHOLE.fullmatch(value) for value in known):
        convert, kind = int, "int64"
    elif known and all(_REAL.fullmatch(value) for value in known):
        convert, kind = float, "float64"
    return pa.array([None if value == _NULL else convert(value) for value in values], kind)


class ArrowFilesSource(ArrowSource):
    """Rows of files, one file after the other.

    Each pass reads the files again: parts of them by several threads at the same time, if reading may begin at several
    places (`ArrowFiles.starts`), and otherwise ahead of the blocks that are in use. A file that has changed since the
    scan was made is an error.
    """

    def __init__(self, format: ArrowFiles, columns: Sequence[str]) -> None:
        found = format.found
        self._found, self._format = found, format
        #: Whether text that is carried along comes as dictionaries, as files may hold it.
        self.as_dictionaries = False
        check_unchanged(found.files)
        self._schemas = [self._require(i, columns, numbers=True) for i in range(len(found.files))]
        kinds = {schema.field(name).type for schema in self._schemas for name in columns}
        counts = format.counts()
        if counts is not None and sum(counts) == 0:
            raise ValueError(
                f"found 0 sample(s) in {found.where}, while a minimum of 1 is required: none of the files has a row."
            )
        super().__init__(columns, kinds, None if counts is None else sum(counts))
        #: The number of rows of each file, as far as they are known, and whether all of them are.
        self._counts: list[int] = counts or []
        self._counted = counts is not None
        #: The number of rows to read, if there may be others behind them.
        self._limit: int | None = None
        self.files = found.paths
        n_bytes = int(self.shape[0] or 0) * self.shape[1] * self.traits.itemsize if len(format.starts()) > 1 else 0
        self.traits = replace(self.traits, part_bytes=n_bytes, reading_bytes=format.reading_bytes(columns))

    def _require(self, i: int, names: Sequence[str], *, numbers: bool = False) -> Any:
        """The schema of a file, after a check that it has these columns and, with `numbers`, that they are numbers."""
        schema = self._format.schema_of(i)
        known = set(schema.names)
        missing = [name for name in names if name not in known]
        if missing:
            raise ValueError(
                f"{self._found.paths[i]} has no column {list_names(missing)}, which is needed and which the first file "
                f"has; its columns are {list_names(schema.names)}. Rename the column there, or leave the file or the "
                "column out."
            )
        twice = [name for name in dict.fromkeys(names) if len(schema.get_all_field_indices(name)) > 1]
        if twice:
            raise duplicate_columns(self._found.paths[i], twice)
        numeric = numeric_columns(schema) if numbers else names
        others = set(names) - set(numeric)
        if others:
            raise not_numbers(self._found.paths[i], [name for name in names if name in others], numeric)
        return schema

    def blocks_keeping(self, rows: int, names: Sequence[str]) -> Iterator[tuple[Any, Any]]:
        if names:
            for i in range(len(self._found.files)):
                self._require(i, names)
        return super().blocks_keeping(rows, names)

    def after(self, i: int) -> ArrowFilesSource:
        """The rows from row i on. Files and row groups before it are not read."""
        later = self._from(i, None if self.shape[0] is None else self.shape[0] - i)
        later._limit = None if self._limit is None else self._limit - i
        return later

    def between(self, i: int, j: int) -> ArrowFilesSource:
        """The rows from i to j, for one of several threads that read at the same time. Other files and row groups are
        not read."""
        rows = self._from(i, j - i)
        rows._limit, rows._is_part = j - i, True
        return rows

    def parts(self, k: int, least: int = 1) -> list[Source]:
        """At most `k` parts that begin where row groups do; each is read by one thread, which also decodes it."""
        n = self.shape[0]
        starts = [start - self._start for start in self._format.starts()]
        if n is None or len(starts) < 2:
            return [self]
        begins = [0, *(start for start in starts if 0 < start < n)]
        nearest = (begins[bisect_right(begins, i) - 1] for i, _ in cut(n, k))
        edges = [*dict.fromkeys(nearest), n]
        if len(edges) < 3:
            return [self]
        return [self.between(i, j) for i, j in pairwise(edges)]

    def _from(self, i: int, n: int | None) -> ArrowFilesSource:
        """A copy that begins with row i and has `n` rows, if their number is known."""
        rows = copy(self)
        rows._held = None
        rows._start = self._start + i
        rows.shape = (n, self.shape[1])
        rows._n_read = n
        return rows

    def identity(self) -> dict[str, Any]:
        """What tells these rows from others: the files with size and time stamp, and the columns."""
        named = zip(self._found.short_names(), self._found.files, strict=True)
        files = [[name, file.size, file.mtime_ns] for name, file in named]
        return {"kind": self._found.kind, "files": files, "columns": self._names, "start": self._start}

    def row_label(self, i: int, column: int = 0) -> str:
        index, row = self._file_of(i)
        name = self._found.short_names()[index]
        line = self._format.line_of(index, row)
        of_all = f"row {i} of all" if len(self._found.files) > 1 else ""
        more = ", ".join(text for text in (self._format.line_name.format(line) if line else "", of_all) if text)
        return f"row {row} of {name}" + (f" ({more})" if more else "")

    def batches(self, names: Sequence[str], carried: Sequence[str] = ()) -> Iterator[Any]:
        check_unchanged(self._found.files)
        first, drop = self._file_at(self._start)
        counts = [0] * len(self._found.files)
        left = self._limit
        last = len(counts) - 1
        if self._counted and left:
            last = self._file_at(self._start + left - 1)[0]
        schemas = [self._schema(i, names, carried) for i in range(last + 1)]
        # Files one after another whose columns have the same types are read together.
        for _, group in groupby(range(first, len(schemas)), key=lambda i: schemas[i].types):
            parts = {i: self._format.fragments[i] for i in group}
            if first in parts and drop:
                parts[first], drop = self._format.after(first, drop)
            with closing(self._read(parts, schemas[next(iter(parts))])) as batches:
                for i, batch in batches:
                    counts[i] += batch.num_rows
                    if not self._counted and (len(self._counts) < i + 1 or self._counts[i] < counts[i]):
                        # For messages.
                        self._counts = counts[: i + 1]
                    dropped = min(drop, batch.num_rows)
                    drop -= dropped
                    if dropped == batch.num_rows:
                        continue
                    needed = batch.slice(dropped, left) if dropped or left is not None else batch
                    left = None if left is None else left - needed.num_rows
                    yield needed
                    del batch, needed
                    if left == 0:
                        break
            if left == 0:
                break
        check_unchanged(self._found.files)

    def _read(self, parts: dict[int, Any], schema: Any) -> Generator[tuple[int, Any], None, None]:
        """Batches of the files, each with the number of its file; errors name the file and the place in it."""
        import pyarrow as pa

        here = next(iter(parts))
        batches = self._format.read(parts, schema, threads=not self._is_part)
        try:
            for here, batch in batches:
                yield here, batch
                del batch
        except pa.ArrowMemoryError as error:
            raise MemoryError(
                f"reading {len(schema.names)} columns of {self._found.paths[here]} took more memory than there is "
                f"({error}). A thread needs about {in_words(self.traits.reading_bytes)} for these columns, and "
                f"{in_words(free_bytes())} are free. {self._format.to_save_memory}"
            ) from error
        except (pa.ArrowException, OSError) as error:
            check_unchanged(self._found.files)
            raise self._format.error(here, schema.names, error) from error

    def _schema(self, i: int, names: Sequence[str], carried: Sequence[str]) -> Any:
        """The types in which columns of file i are read: as rows, as they are stored, or for others, of all files."""
        import pyarrow as pa

        rows, columns = self._schemas[i], set(self._names)
        fields = {name: self._format.stored_field(name) for name in carried} if carried else {}
        if self.as_dictionaries:
            text = (pa.string(), pa.large_string())
            coded = pa.dictionary(pa.int32(), pa.string())
            fields = {name: field.with_type(coded) if field.type in text else field for name, field in fields.items()}
        others = self._format.schema
        return pa.schema(
            [rows.field(name) if name in columns else fields.get(name) or others.field(name) for name in names]
        )

    def _file_at(self, row: int) -> tuple[int, int]:
        """The file that holds a row, and the number of the row in it; the first file if no number of rows is known."""
        return self._file_of(row) if self._counted else (0, row)

    def _file_of(self, row: int) -> tuple[int, int]:
        """The file that holds a row by the numbers of rows that are known, and the number of the row in it."""
        ends = list(accumulate(self._counts))
        i = min(bisect_right(ends, row), len(self._found.files) - 1)
        return i, row - (ends[i - 1] if i else 0)
