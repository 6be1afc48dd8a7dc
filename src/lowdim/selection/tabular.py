"""Results that can be converted to tables."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import narwhals as nw


class Tabular:
    """Base class of results that have a table."""

    @abstractmethod
    def table(self) -> dict[str, list[Any]]:
        """Columns by name."""

    def to_pandas(self) -> Any:
        """The table as a pandas data frame; pandas has to be installed."""
        return nw.from_dict(self.table(), backend="pandas").to_native()
