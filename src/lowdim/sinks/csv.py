"""CSV files, plain or compressed by gzip. Numbers are written with all their digits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..errors import not_for_csv
from .table_sink import TableSink


class CsvSink(TableSink):
    """A CSV file with a line of names."""

    kind = "CSV"

    def _open(self, schema: Any, kept: Sequence[str]) -> Any:
        self._check_types(schema, kept)
        return self._open_text(schema)

    def _open_text(self, schema: Any) -> Any:
        """The writer of text."""
        from pyarrow.csv import CSVWriter

        return CSVWriter(self.path, schema)

    def _check_types(self, schema: Any, kept: Sequence[str]) -> None:
        """Refuse lists and the like, which have no text."""
        from pyarrow import types

        bad = [name for name in kept if types.is_nested(schema.field(name).type)]
        if bad:
            raise not_for_csv(self.name, bad, [schema.field(name).type for name in bad])


class GzipCsvSink(CsvSink):
    """The same, compressed by gzip."""

    kind = "CSV (gzip)"
    _stream: Any = None

    def _open_text(self, schema: Any) -> Any:
        import pyarrow as pa
        from pyarrow.csv import CSVWriter

        self._stream = pa.CompressedOutputStream(self.path, "gzip")
        return CSVWriter(self._stream, schema)

    def _end(self) -> None:
        super()._end()
        if self._stream is not None:
            self._stream.close()
