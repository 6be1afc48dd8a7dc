"""Parquet, Arrow and CSV files as one table."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from copy import copy
from dataclasses import replace
from itertools import accumulate, groupby, pairwise
from typing import Any

import numpy as np

from ...errors import duplicate_columns, missing_columns, no_rows_in_files, not_numbers
from ..base import Source, cut
from ..column_choice import ColumnChoice
from ..contents import Contents
from ..stamps import Found, check_unchanged
from .columns import block_dtype, numeric_columns
from .formats import FileFormat
from .library import pyarrow
from .partitions import with_keys
from .source import ArrowSource


class ArrowFiles(Contents):
    """The columns of files of one kind, by the schema of the first file."""

    choice = ColumnChoice

    def __init__(self, make_format: Callable[[Found], FileFormat], found: Found) -> None:
        pyarrow(f"reading {found.kind} files")
        self._found = found
        self.label = found.where
        self._format = with_keys(make_format(found))
        schema = self._format.schema
        self.names = schema.names
        self.index = self._format.index
        self.numeric = numeric_columns(schema)

    def source(self, columns: Sequence[str]) -> ArrowFilesSource:
        return ArrowFilesSource(self._found, self._format, columns)

    def why_not_numbers(self, columns: Sequence[str]) -> str:
        return self._format.why_not_numbers(columns)

    def nearly_numbers(self, columns: Sequence[str]) -> str:
        return self._format.nearly_numbers(columns)

    def column(self, name: str) -> np.ndarray:
        return self.source([]).column(name)

    def dtype(self, columns: Sequence[str]) -> Any:
        schemas = [self._format.schema_of(i) for i in range(len(self._found.files))]
        return block_dtype([schema.field(name).type for schema in schemas for name in columns])


class ArrowFilesSource(ArrowSource):
    """Rows of files, one file after the other.

    Each pass reads the files again: parts of them by several threads at the same time, if reading may begin at several
    places (`FileFormat.starts`), and otherwise ahead of the blocks that are in use. A file that has changed since the
    scan was made is an error.
    """

    def __init__(self, found: Found, format: FileFormat, columns: Sequence[str]) -> None:
        self._found, self._format = found, format
        check_unchanged(found.files)
        self._schemas = [self._checked(i, columns) for i in range(len(found.files))]
        kinds = {schema.field(name).type for schema in self._schemas for name in columns}
        counts = format.counts()
        if counts is not None and sum(counts) == 0:
            raise no_rows_in_files(found.where)
        super().__init__(columns, kinds, None if counts is None else sum(counts))
        #: The number of rows of each file, as far as they are known, and whether all of them are.
        self._counts: list[int] = counts or []
        self._counted = counts is not None
        #: The number of rows to read, if there may be others behind them.
        self._limit: int | None = None
        self.files = found.paths
        if len(format.starts()) > 1:
            n_bytes = int(self.shape[0] or 0) * self.shape[1] * self.traits.itemsize
            self.traits = replace(self.traits, part_bytes=n_bytes)

    def _checked(self, i: int, columns: Sequence[str]) -> Any:
        """The schema of a file, after a check that it has all columns, and that they are numbers."""
        schema, path = self._require(i, columns), self._found.paths[i]
        numeric = numeric_columns(schema)
        known = set(numeric)
        others = [name for name in columns if name not in known]
        if others:
            raise not_numbers(path, others, numeric)
        return schema

    def _require(self, i: int, names: Sequence[str]) -> Any:
        """The schema of a file, after a check that it has these columns."""
        schema = self._format.schema_of(i)
        known = set(schema.names)
        missing = [name for name in names if name not in known]
        if missing:
            raise missing_columns(self._found.paths[i], missing, schema.names)
        twice = [name for name in dict.fromkeys(names) if len(schema.get_all_field_indices(name)) > 1]
        if twice:
            raise duplicate_columns(self._found.paths[i], twice)
        return schema

    def blocks_keeping(self, rows: int, names: Sequence[str]) -> Iterator[tuple[Any, Any]]:
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
        ends = list(accumulate(self._counts))
        index = min(bisect_right(ends, i), len(self._found.files) - 1)
        row = i - (ends[index - 1] if index else 0)
        name = self._found.short_names()[index]
        line = self._format.line_of(index, row)
        of_all = f"row {i} of all" if len(self._found.files) > 1 else ""
        more = ", ".join(text for text in (f"line {line}" if line else "", of_all) if text)
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
        for group in self._of_same_types(schemas, first):
            parts = {i: self._format.fragments[i] for i in group}
            if first in parts and drop:
                parts[first], drop = self._format.after(first, drop)
            with closing(self._read(parts, schemas[group[0]])) as batches:
                for i, batch in batches:
                    counts[i] += batch.num_rows
                    self._note(counts, i)
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
        except MemoryError:
            raise
        except (pa.ArrowException, OSError) as error:
            check_unchanged(self._found.files)
            raise self._format.error(here, schema.names, error) from error

    def _schema(self, i: int, names: Sequence[str], carried: Sequence[str]) -> Any:
        """The types in which columns of file i are read: as rows, as they are stored, or for others, of all files."""
        import pyarrow as pa

        rows, columns = self._schemas[i], set(self._names)
        fields = {name: self._format.stored_field(name) for name in carried} if carried else {}
        others = self._format.schema
        return pa.schema(
            [rows.field(name) if name in columns else fields.get(name) or others.field(name) for name in names]
        )

    def _of_same_types(self, schemas: Sequence[Any], first: int) -> Iterator[list[int]]:
        """Numbers of files one after another, from the first one to read, whose columns have the same types."""
        for _, group in groupby(range(first, len(schemas)), key=lambda i: schemas[i].types):
            yield list(group)

    def _file_at(self, row: int) -> tuple[int, int]:
        """The file that holds a row, and the number of the row in it; the first file if no number of rows is known."""
        if not self._counted:
            return 0, row
        ends = list(accumulate(self._counts))
        i = min(bisect_right(ends, row), len(ends) - 1)
        return i, row - (ends[i - 1] if i else 0)

    def _note(self, counts: list[int], i: int) -> None:
        """Remember how many rows each file had, for messages."""
        if not self._counted and (len(self._counts) < i + 1 or self._counts[i] < counts[i]):
            self._counts = counts[: i + 1]
