"""The base class of results that can be shown as a table."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from .table import Table


class Tabular:
    """Base class of results that have a table: they print it, show it in notebooks and convert it to data frames."""

    @abstractmethod
    def table(self) -> Table:
        """The result as a table."""

    def to_pandas(self) -> Any:
        """The table as a pandas data frame; pandas has to be installed."""
        return self.table().to_pandas()

    def to_polars(self) -> Any:
        """The table as a polars data frame; polars has to be installed."""
        return self.table().to_polars()

    def __str__(self) -> str:
        return str(self.table())

    def _repr_html_(self) -> str:
        return self.table()._repr_html_()
