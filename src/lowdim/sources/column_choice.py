"""Which columns of a table are read, and in which order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Any

from ..errors import (
    bad_columns,
    duplicate_columns,
    list_names,
    nearly_numbers,
    no_columns_left,
    not_numbers,
    unknown_column,
)
from .contents import Contents

#: The word for all columns that are numbers.
NUMERIC = "numeric"


@dataclass(frozen=True)
class ColumnChoice:
    """A choice of columns, made before the columns are known.

    Parameters
    ----------
    columns : None, "numeric" or tuple of str
        None: all columns. "numeric": those that are numbers. Otherwise names, or patterns with `*`, `?` and `[...]`;
        the columns come in the order in which they are listed here, those of a pattern in that of the table.
    exclude : tuple of str
        Names or patterns of columns that are left out.
    """

    columns: str | tuple[str, ...] | None = None
    exclude: tuple[str, ...] = ()

    @classmethod
    def of(cls, columns: Any, exclude: Any) -> ColumnChoice:
        """The choice that the arguments of `scan` stand for."""
        if columns is not None and not (isinstance(columns, str) and columns == NUMERIC):
            columns = _listed(columns, "columns")
        nothing = exclude is None or (isinstance(exclude, list | tuple) and not exclude)
        return cls(columns, () if nothing else _listed(exclude, "exclude"))

    def without(self, names: Sequence[str]) -> ColumnChoice:
        """The same choice without further columns."""
        return replace(self, exclude=(*self.exclude, *names))

    def among(self, contents: Contents) -> list[str]:
        """The chosen columns of a table; an error if one is not there, not a number or not unique."""
        chosen = self.named_among(contents)
        if self.columns == NUMERIC:
            self._refuse_nearly_numbers(contents)
        if not chosen:
            raise no_columns_left(contents.label, contents.names, contents.numeric)
        check_columns(chosen, contents)
        return chosen

    def named_among(self, contents: Contents) -> list[str]:
        """The chosen columns of a table, whatever they hold; an error if one is not there."""
        if self.columns is None or isinstance(self.columns, str):
            all_columns = contents.names if self.columns is None else contents.numeric
            chosen = [name for name in all_columns if name not in contents.index]
        else:
            chosen = _matching(self.columns, contents)
        left_out = set(_matching(self.exclude, contents))
        return [name for name in chosen if name not in left_out]

    def _refuse_nearly_numbers(self, contents: Contents) -> None:
        """Raise an error if columns would be left out only because a few of their entries are not numbers."""
        known = {*contents.numeric, *contents.index, *_matching(self.exclude, contents)}
        why = contents.nearly_numbers([name for name in dict.fromkeys(contents.names) if name not in known])
        if why:
            raise nearly_numbers(contents.label, why)

    def __str__(self) -> str:
        if self.columns is None:
            text = "all columns"
        elif isinstance(self.columns, str):
            text = "the numeric columns"
        else:
            text = f"columns {list_names(self.columns)}"
        return f"{text} without {list_names(self.exclude)}" if self.exclude else text


def check_columns(chosen: Sequence[str], contents: Contents) -> None:
    """Raise an error unless all chosen columns are numbers, and each name belongs to one column."""
    numeric = set(contents.numeric)
    others = [name for name in dict.fromkeys(chosen) if name not in numeric]
    if others:
        why = contents.why_not_numbers(others)
        raise not_numbers(contents.label, others, contents.numeric, why=why)
    names = list(contents.names)
    if len(set(names)) < len(names):
        twice = [name for name in dict.fromkeys(chosen) if names.count(name) > 1]
        if twice:
            raise duplicate_columns(contents.label, twice)


def require_columns(names: Sequence[str], contents: Contents) -> None:
    """Raise an error unless a table has all these columns, whatever they hold."""
    known = set(contents.names)
    for name in names:
        if name not in known:
            raise unknown_column(contents.label, name, contents.names)


def _matching(wanted: Sequence[str], contents: Contents) -> list[str]:
    """The columns that names and patterns stand for, each once."""
    chosen: dict[str, None] = {}
    known = set(contents.names)
    for name in wanted:
        matches = [name] if name in known else _like(name, contents)
        if not matches:
            raise unknown_column(contents.label, name, contents.names)
        chosen.update(dict.fromkeys(matches))
    return list(chosen)


def _like(pattern: str, contents: Contents) -> list[str]:
    """The columns that match a pattern."""
    return [name for name in contents.names if fnmatchcase(name, pattern) and name not in contents.index]


def _listed(given: Any, argument: str) -> tuple[str, ...]:
    """Names as a tuple."""
    names = (given,) if isinstance(given, str) else tuple(given) if hasattr(given, "__iter__") else ()
    if not names or not all(isinstance(name, str) for name in names):
        raise bad_columns(argument, given)
    return tuple(dict.fromkeys(names))
