"""Files that hold a table: columns with names, written by pyarrow."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import other_kept_type
from .base import Sink

#: Rows are written in groups of about this many bytes, or of this many for each column, if that is more: each column of
#: a group has an entry in the list at the end of the file.
_GROUP_BYTES, _COLUMN_BYTES = 8 << 20, 4 << 10


class TableSink(Sink):
    """Base class of sinks for tables. Blocks are gathered until they make a group of about 8 MiB (more for
    thousands of columns)."""

    package = ("pyarrow", "files")
    tabular = True
    #: What has been opened for writing, from the first group on.
    _writer: Any = None
    #: The types of the kept columns, from the first block on.
    _kept_schema: Any = None

    def __init__(self, path: str, names: Sequence[str], inner: str | None = None) -> None:
        super().__init__(path, names, inner)
        #: Results, and what is kept with them.
        self._gathered: list[tuple[Sequence[np.ndarray], Any]] = []
        self._bytes = 0

    def write(self, results: Sequence[np.ndarray], kept: Any = None) -> None:
        self._gathered.append((results, None if kept is None else self._like_the_first(_without_dictionaries(kept))))
        self._bytes += sum(r.nbytes for r in results) + (0 if kept is None else kept.nbytes)
        if self._bytes >= max(_GROUP_BYTES, _COLUMN_BYTES * len(self.names)):
            self._write_gathered()

    def close(self) -> None:
        if self._gathered:
            self._write_gathered()
        self._end()

    def abandon(self) -> None:
        self._end()

    def _end(self) -> None:
        if self._writer is not None:
            self._writer.close()

    @abstractmethod
    def _open(self, schema: Any, kept: Sequence[str]) -> Any:
        """The writer for tables of this schema, in which the columns `kept` are not results."""

    @staticmethod
    def _write_group(writer: Any, group: Any) -> None:
        """Write one group of rows."""
        writer.write_table(group)

    def _write_gathered(self) -> None:
        group = self._table()
        self._gathered, self._bytes = [], 0
        if self._writer is None:
            self._writer = self._open(group.schema, group.column_names[: len(group.column_names) - len(self.names)])
        self._write_group(self._writer, group)

    def _table(self) -> Any:
        """What is gathered as a table: first the kept columns, then the results."""
        import pyarrow as pa

        columns, names = [], []
        if self._kept_schema is not None:
            kept = pa.concat_tables([table for _, table in self._gathered])
            columns, names = kept.columns, kept.column_names
        for values in zip(*(results for results, _ in self._gathered), strict=True):
            columns += [pa.array(column) for column in _columns(values)]
        return pa.table(columns, names=[*names, *self.names])

    def _like_the_first(self, kept: Any) -> Any:
        """Kept columns with the types that they had in the first block."""
        import pyarrow as pa

        if self._kept_schema is None:
            self._kept_schema = kept.schema
        if kept.schema.equals(self._kept_schema):
            return kept
        try:
            return kept.cast(self._kept_schema)
        except pa.ArrowInvalid as error:
            first = self._kept_schema
            name = next(field.name for field in kept.schema if field.type != first.field(field.name).type)
            raise other_kept_type(name, kept.schema.field(name).type, first.field(name).type) from error


def _columns(blocks: Sequence[np.ndarray]) -> np.ndarray:
    """The columns of blocks of rows, each in one piece: pyarrow takes them without a further copy."""
    width = 1 if blocks[0].ndim == 1 else blocks[0].shape[1]
    columns = np.empty((width, sum(block.shape[0] for block in blocks)), dtype=blocks[0].dtype)
    i = 0
    for block in blocks:
        columns[:, i : i + block.shape[0]] = block.T
        i += block.shape[0]
    return columns


def _without_dictionaries(table: Any) -> Any:
    """Columns of categories as columns of their values: other blocks may have other categories."""
    from pyarrow import types

    for j, field in enumerate(table.schema):
        if types.is_dictionary(field.type):
            table = table.set_column(j, field.name, table.column(j).cast(field.type.value_type))
    return table
