"""What files or other objects with named columns hold, before any of their rows is read."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from .base import Source


class Contents(ABC):
    """The columns of a table that is stored elsewhere, known from its schema; `source` opens some of them."""

    #: The class of choices among the columns: by name, or by number where they have no names.
    choice: ClassVar[Any]
    #: Whether the columns have names.
    has_names: ClassVar[bool] = True
    #: The names of all columns, in the order in which they are stored; their numbers if they have no names.
    names: Sequence[Any]
    #: Those that are numbers.
    numeric: Sequence[Any]
    #: Those that are the index of a data frame. They are read only if they are named.
    index: Sequence[Any] = ()
    #: What messages call the table: a path, or the type of an object.
    label: str

    @abstractmethod
    def source(self, columns: Sequence[Any]) -> Source:
        """The rows of these columns, in this order. All of them must be numbers."""

    def why_not_numbers(self, columns: Sequence[Any]) -> str:
        """Why these columns are not numbers, if there is more to say than that."""
        return ""

    def nearly_numbers(self, columns: Sequence[Any]) -> str:
        """Which of these columns would be numbers but for a few entries, and where those are; empty if none."""
        return ""

    @abstractmethod
    def column(self, name: Any) -> np.ndarray:
        """All entries of one column, which may be text. One pass over this column."""

    @abstractmethod
    def dtype(self, columns: Sequence[Any]) -> Any:
        """The dtype of the rows of these columns."""
