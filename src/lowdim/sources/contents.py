"""What files or other objects with named columns hold, before any of their rows is read."""

from __future__ import annotations

import os
import stat
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Any, ClassVar

import numpy as np

from ..errors import (
    bad_columns,
    changed_file,
    deleted_file,
    duplicate_columns,
    list_names,
    nearly_numbers,
    no_columns_left,
    no_such_file,
    not_numbers,
    special_file,
    unknown_column,
)
from .base import Source

# What files or other objects with named columns hold, before any of their rows is read.


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


# Which columns of a table are read, and in which order.


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


# Files that were found for a table, and by what a change of them is noticed.


@dataclass(frozen=True)
class Stamp:
    """A file, and by what a change of it is noticed."""

    path: str
    size: int
    mtime_ns: int
    inode: int

    @classmethod
    def of(cls, path: str) -> Stamp:
        """The stamp of a file that exists."""
        found = os.stat(path)
        return cls(path, found.st_size, found.st_mtime_ns, found.st_ino)

    def check(self) -> None:
        """Raise an error if the file is another one by now, or no longer there."""
        try:
            now = Stamp.of(self.path)
        except FileNotFoundError:
            raise deleted_file(self.path) from None
        if now.size != self.size:
            raise changed_file(self.path, f"it had {self.size} bytes and now has {now.size}")
        if now != self:
            raise changed_file(self.path, "it was written again in between, as its time stamp or its inode says")


@dataclass(frozen=True)
class Found:
    """Files of one kind, in the order in which they are read."""

    #: What the user gave, as text.
    where: str
    #: One of the keys of `FILE_KINDS`.
    kind: str
    files: tuple[Stamp, ...]
    #: The name of an array in a store ("file.h5::name"), or None.
    inside: str | None = None
    #: For each file, the keys and values in the names of its directories ("year=2024"), below what the user gave.
    partitions: tuple[tuple[tuple[str, str], ...], ...] = ()

    @property
    def paths(self) -> list[str]:
        return [file.path for file in self.files]

    @property
    def n_bytes(self) -> int:
        """The size of all files."""
        return sum(file.size for file in self.files)

    def short_names(self) -> list[str]:
        """The names of the files below the directory that they have in common."""
        if len(self.files) == 1:
            return [os.path.basename(self.paths[0])]
        common = os.path.commonpath([os.path.dirname(os.path.abspath(path)) for path in self.paths])
        return [os.path.relpath(path, common) for path in self.paths]


def check_unchanged(files: Sequence[Stamp]) -> None:
    """Raise an error if one of the files has changed, or was deleted, since its stamp was taken."""
    for file in files:
        file.check()


# Devices, sockets and pipes, which are never read: that might not end.


#: What is neither a file nor a directory.
_SPECIAL = (
    (stat.S_ISCHR, "a character device"),
    (stat.S_ISBLK, "a block device"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISFIFO, "a named pipe"),
)


def refuse_special(path: str) -> None:
    """Raise an error if there is nothing at a path, or a device, a socket or a pipe."""
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        raise no_such_file(path) from None
    for is_special, what in _SPECIAL:
        if is_special(mode):
            raise special_file(path, what)


def check_ordinary(directory: str) -> None:
    """Raise an error if something in a directory, or below it, is a device, a socket or a pipe: reading it might never
    end."""
    with os.scandir(directory) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                check_ordinary(entry.path)
            elif not entry.is_file():
                refuse_special(entry.path)
