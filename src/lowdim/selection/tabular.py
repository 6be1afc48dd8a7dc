"""Results that are tables."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import narwhals as nw


class Tabular:
    """A result with a table of its own."""

    @abstractmethod
    def table(self) -> dict[str, list[Any]]:
        """Columns by name."""

    def to_pandas(self) -> Any:
        """The table as a pandas data frame, for those who have pandas."""
        return nw.from_dict(self.table(), backend="pandas").to_native()
