"""Arrow files, which are also known as Feather files (version 2)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .table_sink import TableSink


class ArrowSink(TableSink):
    """An Arrow file, not compressed, so that it can be mapped into memory."""

    kind = "Arrow"

    def _open(self, schema: Any, kept: Sequence[str]) -> Any:
        from pyarrow import ipc

        return ipc.new_file(self.path, schema)

    @staticmethod
    def _write_group(writer: Any, group: Any) -> None:
        writer.write_table(group.combine_chunks())
