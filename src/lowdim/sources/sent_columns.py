"""The columns of rows that are sent to a device, by their names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._devices import Destination
from .columns_of import ColumnsSource
from .named_columns import NamedTable
from .sent_rows import OnDevice, open_sent


class SentTable(NamedTable):
    """The columns of a table that is sent to a device. Weights, labels and other single columns stay on the host."""

    def __init__(self, table: NamedTable, to: Destination) -> None:
        self._table, self._to = table, to
        self.label, self.names, self.n = table.label, table.names, table.n

    @property
    def has_names(self) -> bool:
        return self._table.has_names

    @property
    def numeric(self) -> list[str]:
        return self._table.numeric

    @property
    def chosen(self) -> list[str] | None:
        return self._table.chosen

    def nearly_numbers(self, names: Sequence[str]) -> str:
        return self._table.nearly_numbers(names)

    def rows(self, names: Sequence[str]) -> Any:
        return OnDevice(self._table.rows(names), self._to)

    def column(self, name: str) -> np.ndarray:
        return self._table.column(name)

    def pair(self, x: Sequence[str], y: Sequence[str] | str) -> tuple[Any, Any]:
        first, second = self._table.pair(x, y)
        if isinstance(first, ColumnsSource) and isinstance(second, ColumnsSource):
            # Both are columns of one source, which is read once.
            parent = open_sent(first.parent, self._to)
            return first.of_other(parent), second.of_other(parent)
        return OnDevice(first, self._to), OnDevice(second, self._to)

    def rest(self, used: Sequence[str], wanted: Sequence[str] | None) -> list[str]:
        return self._table.rest(used, wanted)
