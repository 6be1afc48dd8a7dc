"""What files or other objects with named columns hold, before any of their rows is read."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from .base import Source


class Contents(ABC):
    """The columns of a table that is stored elsewhere, known from its schema; `source` opens some of them."""

    #: All columns, in the order in which they are stored.
    names: Sequence[str]
    #: Those that are numbers.
    numeric: Sequence[str]
    #: What messages call the table: a path, or the type of an object.
    label: str

    @abstractmethod
    def source(self, columns: Sequence[str]) -> Source:
        """The rows of these columns, in this order. All of them must be numbers."""
