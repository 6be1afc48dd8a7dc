"""What is particular to each kind of file: schemas, numbers of rows, how rows are read, and damaged places."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import accumulate
from typing import Any

from ...errors import unreadable_file
from ..stamps import Found
from .columns import index_columns

#: A batch of Parquet takes this many bytes of a column. That is the usual size of a page: a page of one column is
#: decoded as a whole, and dropped while it is in the cache, before the next column is decoded.
_COLUMN_BYTES = 1 << 20
#: A batch has at most this many bytes, but at least so many rows: with fewer, calls for each column would cost more
#: than the copies. A column is read from disk in pieces of so many bytes.
_BATCH_BYTES, _BATCH_ROWS, _READ_BYTES = 64 << 20, 256, 1 << 16


class FileFormat(ABC):
    """The files of one kind. Each is a fragment of pyarrow.dataset, which finds schema and number of rows.

    A scan of pyarrow.dataset holds several row groups or files at once, each of which may take a gigabyte. So Parquet
    and Arrow files are read by the readers of single files, which take no longer: a batch at a time, whatever the row
    groups are.
    """

    def __init__(self, found: Found) -> None:
        self.found = found

    @property
    @abstractmethod
    def format(self) -> Any:
        """The format, as pyarrow.dataset names it."""

    @cached_property
    def fragments(self) -> list[Any]:
        """One fragment for each file."""
        from pyarrow.fs import LocalFileSystem

        disk = LocalFileSystem()
        return [self.format.make_fragment(path, filesystem=disk) for path in self.found.paths]

    @property
    def schema(self) -> Any:
        """The schema of the first file, as columns are kept beside the rows."""
        return self.schema_of(0)

    def stored_field(self, name: str) -> Any:
        """The name and type of a column that is carried along unchanged."""
        return self.schema.field(name)

    def schema_of(self, i: int) -> Any:
        """The schema of file i, as its columns are read as rows."""
        return self.opened(i, lambda: self.fragments[i].physical_schema)

    @abstractmethod
    def counts(self) -> list[int] | None:
        """The number of rows of each file; None if that is not known without reading them."""

    def after(self, i: int, rows: int) -> tuple[Any, int]:
        """What has to be read of file i if its first `rows` rows are not needed, and how many rows to drop of that."""
        return self.fragments[i], rows

    def starts(self) -> list[int]:
        """The rows, counted over all files, at which reading may begin without reading rows before them. Empty if the
        files can only be read from their beginning."""
        return []

    @property
    def index(self) -> list[str]:
        """The columns that are the index of a data frame."""
        return index_columns(self.schema)

    def nearly_numbers(self, columns: Sequence[str]) -> str:
        """Which of these columns would be numbers but for a few entries, and where those are; empty if none."""
        return ""

    def why_not_numbers(self, columns: Sequence[str]) -> str:
        """Why these columns are not numbers, if there is more to say than that."""
        return ""

    def line_of(self, i: int, row: int) -> int | None:
        """The line of a row of file i, if the file has lines and it can be found quickly."""
        return None

    @abstractmethod
    def read(self, parts: dict[int, Any], schema: Any, *, threads: bool = True) -> Iterator[tuple[int, Any]]:
        """Batches of the columns in `schema`, converted to its types, each with the number of its file. `parts` are the
        fragments to read, by the number of their file. With `threads`, columns may be decoded in several threads.

        A generator through which batches go forgets each of them before it asks for the next one. Otherwise two of them
        would be in memory, and pyarrow would give memory back to the system and take it again all the time.
        """

    def opened(self, i: int, read: Any) -> Any:
        """The result of `read()`, which reads the beginning or the end of file i."""
        import pyarrow as pa

        try:
            return read()
        except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
            raise unreadable_file(self.found.paths[i], "", error) from error

    def error(self, i: int, names: Sequence[str], error: Exception) -> Exception:
        """The error for a scan that failed, which had read the rows of all files before file i."""
        for path in self.found.paths[i:]:
            place = self.damaged_place(path, names)
            if place is not None:
                return unreadable_file(path, *place)
        return unreadable_file(self.found.paths[i], "", error)

    @abstractmethod
    def damaged_place(self, path: str, names: Sequence[str]) -> tuple[str, Any] | None:
        """The first place of a file that cannot be read, in words, and why; None if all can be read."""


class ParquetFormat(FileFormat):
    """Parquet files."""

    @cached_property
    def format(self) -> Any:
        from pyarrow.dataset import ParquetFileFormat

        return ParquetFileFormat()

    def counts(self) -> list[int]:
        return [self.opened(i, lambda f=f: f.metadata.num_rows) for i, f in enumerate(self.fragments)]

    def starts(self) -> list[int]:
        lengths = [group.num_rows for fragment in self.fragments for group in fragment.row_groups]
        return list(accumulate(lengths, initial=0))[:-1]

    def after(self, i: int, rows: int) -> tuple[Any, int]:
        fragment = self.fragments[i]
        needed: list[int] = []
        for group in fragment.row_groups:
            if needed or group.num_rows > rows:
                needed.append(group.id)
            else:
                rows -= group.num_rows
        return fragment.subset(row_group_ids=needed), rows

    def read(self, parts: dict[int, Any], schema: Any, *, threads: bool = True) -> Iterator[tuple[int, Any]]:
        from pyarrow.parquet import ParquetFile

        widths = [_width(kind) for kind in schema.types]
        rows = max(_BATCH_ROWS, min(_COLUMN_BYTES // max(widths), _BATCH_BYTES // sum(widths)))
        for i, fragment in parts.items():
            groups = [group.id for group in fragment.row_groups]
            with ParquetFile(
                self.found.paths[i],
                metadata=fragment.metadata,
                pre_buffer=False,
                buffer_size=_READ_BYTES,
                page_checksum_verification=True,
            ) as file:
                for batch in file.iter_batches(rows, groups, schema.names, use_threads=threads):
                    yield i, _as(batch, schema)
                    del batch

    def damaged_place(self, path: str, names: Sequence[str]) -> tuple[str, Any] | None:
        import pyarrow as pa
        from pyarrow.parquet import ParquetFile

        group = None
        try:
            with ParquetFile(path, page_checksum_verification=True) as file:
                for group in range(file.num_row_groups):
                    file.read_row_group(group, columns=list(names))
        except (pa.ArrowException, OSError) as error:
            return ("" if group is None else f" in row group {group}"), error
        return None


class ArrowFormat(FileFormat):
    """Arrow files (Feather, version 2)."""

    @cached_property
    def format(self) -> Any:
        from pyarrow.dataset import IpcFileFormat

        return IpcFileFormat()

    def counts(self) -> list[int]:
        # A fragment would count its rows by reading all columns, all at once.
        return [self.opened(i, lambda path=path: self._count(path)) for i, path in enumerate(self.found.paths)]

    def _count(self, path: str) -> int:
        """The number of rows, which a file says only with each record batch."""
        import pyarrow as pa
        from pyarrow.ipc import IpcReadOptions, open_file

        with pa.OSFile(path) as disk, open_file(disk, options=IpcReadOptions(included_fields=[0])) as file:
            return sum(file.get_batch(number).num_rows for number in range(file.num_record_batches))

    def read(self, parts: dict[int, Any], schema: Any, *, threads: bool = True) -> Iterator[tuple[int, Any]]:
        import pyarrow as pa
        from pyarrow.ipc import IpcReadOptions, open_file

        for i, fragment in parts.items():
            columns = [fragment.physical_schema.get_field_index(name) for name in schema.names]
            options = IpcReadOptions(included_fields=sorted(columns))
            # A memory map would end the process if somebody shortened the file meanwhile.
            with pa.OSFile(self.found.paths[i]) as disk, open_file(disk, options=options) as file:
                for number in range(file.num_record_batches):
                    yield i, _as(file.get_batch(number), schema)

    def damaged_place(self, path: str, names: Sequence[str]) -> tuple[str, Any] | None:
        import pyarrow as pa
        from pyarrow.ipc import open_file

        batch = None
        try:
            with pa.OSFile(path) as disk, open_file(disk) as file:
                for batch in range(file.num_record_batches):
                    file.get_batch(batch)
        except (pa.ArrowException, OSError) as error:
            return ("" if batch is None else f" in record batch {batch}"), error
        return None


def _width(kind: Any) -> int:
    """About how many bytes an entry of this type takes."""
    try:
        return max(1, int(kind.bit_width) // 8)
    except ValueError:
        # Text and lists may have any length.
        return 32


def _as(batch: Any, schema: Any) -> Any:
    """The columns of a batch in the order and with the types of a schema."""
    import pyarrow as pa

    columns = [batch.column(name) for name in schema.names]
    same = [a if a.type == kind else a.cast(kind) for a, kind in zip(columns, schema.types, strict=True)]
    return pa.RecordBatch.from_arrays(same, schema=schema)
