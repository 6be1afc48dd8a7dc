"""Which columns of an array are read: its columns have numbers, not names."""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...errors import array_columns_out_of_range, names_of_array_columns
from ..contents import Contents

#: What a choice of columns is made of: numbers from 0, where negative ones count from the end, or a slice.
Numbers = tuple[int, ...] | slice


@dataclass(frozen=True)
class NumberChoice:
    """A choice of columns by their numbers, made before the number of columns is known. None stands for all columns.

    All columns of an array are numbers, so "numeric" stands for all of them too.
    """

    columns: Numbers | None = None
    exclude: Numbers | None = None
    #: Further columns that are left out.
    further: tuple[int, ...] = ()

    @classmethod
    def of(cls, columns: Any, exclude: Any) -> NumberChoice:
        """The choice that the arguments of `scan` stand for."""
        every = columns is None or (isinstance(columns, str) and columns == "numeric")
        chosen = None if every else _listed(columns, "columns")
        return cls(chosen, None if exclude is None else _listed(exclude, "exclude"))

    def without(self, names: Sequence[int]) -> NumberChoice:
        """The same choice without further columns."""
        return replace(self, further=(*self.further, *names))

    def among(self, contents: Contents) -> list[int]:
        """The numbers of the chosen columns, from 0."""
        p = len(contents.names)
        chosen = list(range(p)) if self.columns is None else _numbers(self.columns, p, "columns")
        left_out = [] if self.exclude is None else _numbers(self.exclude, p, "exclude")
        left_out += _numbers(self.further, p, "without")
        chosen = [j for j in chosen if j not in left_out]
        if not chosen:
            raise array_columns_out_of_range("columns", self.columns, p)
        return chosen

    #: The same, since all columns are numbers.
    named_among = among

    def __str__(self) -> str:
        text = "all columns" if self.columns is None else f"columns {_text(self.columns)}"
        return text if self.exclude is None else f"{text} without {_text(self.exclude)}"


def _listed(choice: Any, argument: str) -> Numbers:
    """A choice of columns as a tuple of numbers, or a slice."""
    if isinstance(choice, slice):
        return choice
    alone = isinstance(choice, numbers.Integral | str) or not hasattr(choice, "__iter__")
    each = [choice] if alone else list(choice)
    if not all(isinstance(j, numbers.Integral) and not isinstance(j, bool | np.bool_) for j in each):
        raise names_of_array_columns(argument, choice)
    return tuple(int(j) for j in each)


def _numbers(choice: Numbers, p: int, argument: str) -> list[int]:
    """A choice of columns as numbers from 0 to p - 1."""
    if isinstance(choice, slice):
        return list(range(p)[choice])
    if any(not -p <= j < p for j in choice) or len({j % p for j in choice}) < len(choice):
        raise array_columns_out_of_range(argument, choice, p)
    return [j % p for j in choice]


def _text(choice: Numbers) -> str:
    return str(choice) if isinstance(choice, slice) else ", ".join(map(str, choice))
