"""What is particular to each kind of file that pyarrow.dataset reads: schemas, numbers of rows, and damaged places."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property
from typing import Any

from ...errors import unreadable_file
from ..found_files import Found


class FileFormat(ABC):
    """The files of one kind. `fragments` are what a scan of pyarrow.dataset reads."""

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

    def schema_of(self, i: int) -> Any:
        """The schema of file i, as its columns are read as rows."""
        return self.opened(i, lambda: self.fragments[i].physical_schema)

    def counts(self) -> list[int] | None:
        """The number of rows of each file; None if that is not known without reading them."""
        return [self.opened(i, fragment.count_rows) for i, fragment in enumerate(self.fragments)]

    def after(self, i: int, rows: int) -> tuple[Any, int]:
        """What has to be read of file i if its first `rows` rows are not needed, and how many rows to drop of that."""
        return self.fragments[i], rows

    def line_of(self, i: int, row: int) -> int | None:
        """The line of a row of file i, if the file has lines and it can be found quickly."""
        return None

    def row_bytes(self, kinds: Sequence[Any]) -> int:
        """About how many bytes a row of these types takes in memory."""
        return sum(kind.bit_width // 8 if hasattr(kind, "bit_width") else 16 for kind in kinds)

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
    @cached_property
    def format(self) -> Any:
        from pyarrow.dataset import ParquetFileFormat

        return ParquetFileFormat()

    def counts(self) -> list[int]:
        return [self.opened(i, lambda f=f: f.metadata.num_rows) for i, f in enumerate(self.fragments)]

    def after(self, i: int, rows: int) -> tuple[Any, int]:
        fragment = self.fragments[i]
        needed: list[int] = []
        for group in fragment.row_groups:
            if needed or group.num_rows > rows:
                needed.append(group.id)
            else:
                rows -= group.num_rows
        return fragment.subset(row_group_ids=needed), rows

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
    @cached_property
    def format(self) -> Any:
        from pyarrow.dataset import IpcFileFormat

        return IpcFileFormat()

    def damaged_place(self, path: str, names: Sequence[str]) -> tuple[str, Any] | None:
        import pyarrow as pa
        from pyarrow.ipc import open_file

        batch = None
        try:
            with pa.memory_map(path) as memory, open_file(memory) as file:
                for batch in range(file.num_record_batches):
                    file.get_batch(batch)
        except (pa.ArrowException, OSError) as error:
            return ("" if batch is None else f" in record batch {batch}"), error
        return None
