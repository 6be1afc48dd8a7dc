"""Files that hold a table: columns with names, written by pyarrow."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import other_kept_type
from .base import Sink

#: Rows are written in groups of about this many bytes.
_GROUP_BYTES = 8 << 20


class TableSink(Sink):
    """Base class of sinks for tables. Blocks are gathered until they make a group of about 8 MiB."""

    package = ("pyarrow", "files")
    tabular = True
    #: What has been opened for writing, from the first group on.
    _writer: Any = None

    def __init__(self, path: str, names: Sequence[str], inner: str | None = None) -> None:
        super().__init__(path, names, inner)
        self._gathered: list[Any] = []
        self._bytes = 0
        self._schema: Any = None

    def write(self, results: Sequence[np.ndarray], kept: Any = None) -> None:
        self._gathered.append(self._table(results, kept))
        self._bytes += self._gathered[-1].nbytes
        if self._bytes >= _GROUP_BYTES:
            self._write_gathered()

    def close(self) -> None:
        if self._gathered:
            self._write_gathered()
        if self._writer is not None:
            self._writer.close()

    def abandon(self) -> None:
        if self._writer is not None:
            self._writer.close()

    @abstractmethod
    def _open(self, schema: Any, kept: Sequence[str]) -> Any:
        """The writer for tables of this schema, in which the columns `kept` are not results."""

    def _write_gathered(self) -> None:
        import pyarrow as pa

        group = pa.concat_tables(self._gathered)
        self._gathered, self._bytes = [], 0
        if self._writer is None:
            self._writer = self._open(group.schema, group.column_names[: -len(self.names)])
        self._write_group(self._writer, group)

    @staticmethod
    def _write_group(writer: Any, group: Any) -> None:
        """Write one group of rows."""
        writer.write_table(group)

    def _table(self, results: Sequence[np.ndarray], kept: Any) -> Any:
        """A block as a table: first the kept columns, then the results."""
        import pyarrow as pa

        columns = [] if kept is None else [_without_dictionary(column) for column in kept.columns]
        names = [] if kept is None else list(kept.column_names)
        for values in results:
            # One copy makes the columns contiguous, and Arrow then takes them as they are.
            columns += [pa.array(column) for column in np.ascontiguousarray(values.T.reshape(-1, values.shape[0]))]
        table = pa.table(columns, names=[*names, *self.names])
        if self._schema is None:
            self._schema = table.schema
        return table if table.schema.equals(self._schema) else self._cast(table)

    def _cast(self, table: Any) -> Any:
        """A table with the types of the first one."""
        import pyarrow as pa

        try:
            return table.cast(self._schema)
        except pa.ArrowInvalid as error:
            differing = [f.name for f in table.schema if f.type != self._schema.field(f.name).type]
            now, first = (s.field(differing[0]).type for s in (table.schema, self._schema))
            raise other_kept_type(differing[0], now, first) from error


def _without_dictionary(column: Any) -> Any:
    """A column of categories as a column of their values: other blocks may have other categories."""
    from pyarrow import types

    return column.cast(column.type.value_type) if types.is_dictionary(column.type) else column
