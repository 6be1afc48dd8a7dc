"""Parquet files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .table_sink import TableSink


class ParquetSink(TableSink):
    """A Parquet file, with row groups of about 8 MiB."""

    kind = "Parquet"

    def _open(self, schema: Any, kept: Sequence[str]) -> Any:
        from pyarrow.parquet import ParquetWriter

        # Results hardly repeat, and a dictionary of them would take as long to make as all the rest.
        return ParquetWriter(self.path, schema, use_dictionary=list(kept))

    @staticmethod
    def _write_group(writer: Any, group: Any) -> None:
        writer.write_table(group, row_group_size=group.num_rows)
