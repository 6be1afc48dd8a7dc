"""Responses, weights and labels that are columns of the same table as the rows, and are given by their names."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import narwhals as nw
import numpy as np

from .._xp import to_numpy
from ..errors import names_without_columns, needs_second_reading, unknown_column
from .base import Source
from .columns_of import ColumnsSource


class NamedTable(ABC):
    """A table whose columns have names, of which some may be no part of the rows."""

    #: What messages call it.
    label: str = "X"
    #: The names of all columns.
    names: Sequence[str]
    #: The number of rows if it is known without reading them.
    n: int | None = None

    @abstractmethod
    def rows(self, names: Sequence[str]) -> Any:
        """These columns, in this order, as something that can be opened."""

    @abstractmethod
    def column(self, name: str) -> np.ndarray:
        """All entries of one column, which may be text. One pass over this column."""

    @abstractmethod
    def pair(self, x: Sequence[str], y: Sequence[str]) -> tuple[Any, Any]:
        """Two tables of columns that are read in one pass if they are read side by side."""

    def rest(self, used: Sequence[str], wanted: Sequence[str] | None) -> list[str]:
        """The names of the columns that are rows if `used` are not; `wanted` are those that a fitted model expects."""
        return [name for name in self.names if name not in used]


class FrameTable(NamedTable):
    """A data frame in memory."""

    def __init__(self, frame: Any) -> None:
        self._frame = frame if isinstance(frame, nw.DataFrame) else nw.from_native(frame, eager_only=True)
        self._own = {str(name): name for name in self._frame.columns}
        self.names, self.n = list(self._own), len(self._frame)

    def rows(self, names: Sequence[str]) -> Any:
        return self._frame.select([self._own[name] for name in names]).to_native()

    def column(self, name: str) -> np.ndarray:
        return self._frame[self._own[name]].to_numpy()

    def pair(self, x: Sequence[str], y: Sequence[str]) -> tuple[Any, Any]:
        return self.rows(x), self.rows(y)


class DaskTable(NamedTable):
    """A data frame of Dask. Each partition is computed once for all its columns."""

    def __init__(self, frame: Any, open_rows: Callable[[Any], Source]) -> None:
        self._frame, self._open = frame, open_rows
        self._own = {str(name): name for name in frame.columns}
        self.names = list(self._own)

    def rows(self, names: Sequence[str]) -> Any:
        return self._frame[[self._own[name] for name in names]]

    def column(self, name: str) -> np.ndarray:
        return self._frame[self._own[name]].compute().to_numpy()

    def pair(self, x: Sequence[str], y: Sequence[str]) -> tuple[Any, Any]:
        dtypes = [self._open(self.rows(names)._meta_nonempty).dtype for names in (x, y)]
        return side_by_side(self._open(self.rows([*x, *y])), len(x), dtypes)


class SourceTable(NamedTable):
    """A source whose columns have names, such as a stream of data frames."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self.names, self.n = list(source.names or []), source.shape[0]

    def rows(self, names: Sequence[str]) -> Any:
        return ColumnsSource(self._source, [self.names.index(name) for name in names])

    def column(self, name: str) -> np.ndarray:
        if not self._source.traits.rereadable:
            raise needs_second_reading(f"for the column {name!r}, which is read before the rows")
        return entries(self.rows([name]))[:, 0]

    def pair(self, x: Sequence[str], y: Sequence[str]) -> tuple[Any, Any]:
        return self.rows(x), self.rows(y)


def by_name(
    X: Any,
    y: Any = None,
    *,
    find_table: Callable[[Any], NamedTable | None],
    wanted: Sequence[str] | None = None,
    apart: bool = False,
    **vectors: Any,
) -> tuple[Any, ...]:
    """(X, y, and each of the vectors), where names of columns of `X` are replaced by these columns.

    Parameters
    ----------
    X : rows
        If names are given, the result holds the columns that are not named.
    y : table, str, or list of str
        A name gives a vector, a list of names a table. If `X` has no names, a string is not looked at here.
    find_table : callable
        Finds the columns of `X`, or None if they have no names.
    wanted : sequence of str, optional
        The columns that a fitted model expects.
    apart : bool
        Whether `X` and `y` are read one after the other and not side by side.
    vectors : array or str
        Weights and labels. A named one is read at once, by one pass over this column, and held in memory.

    Notes
    -----
    Without names, everything is returned as it is. Otherwise `X` and `y` are read in one pass, as columns of one table.
    """
    targets, named = _names_in(y), {key: value for key, value in vectors.items() if isinstance(value, str)}
    if not targets and not named:
        return X, y, *vectors.values()
    table = find_table(X)
    if table is None:
        for argument, name in named.items():
            raise names_without_columns(argument, name, X)
        return X, y, *vectors.values()
    if isinstance(y, list | tuple) and len(y) == table.n and not set(targets) & set(table.names):
        # The classes of the rows, as scikit-learn passes them to models that do not look at them.
        targets = []
    for name in (*targets, *named.values()):
        if name not in table.names:
            raise unknown_column(table.label, name, list(table.names))
    rest = table.rest([*targets, *named.values()], wanted)
    if not targets:
        X = table.rows(rest)
    else:
        X, y = (table.rows(rest), table.rows(targets)) if apart else table.pair(rest, targets)
        y = y if isinstance(y_given := y, Source) else y_given
    return X, y, *(table.column(value) if key in named else value for key, value in vectors.items())


def side_by_side(parent: Source, n_first: int, dtypes: Sequence[Any] = (None, None)) -> tuple[Source, Source]:
    """The first columns of a source and the others, as two tables that are read in one pass."""
    columns = range(parent.shape[1])
    return ColumnsSource(parent, columns[:n_first], dtypes[0]), ColumnsSource(parent, columns[n_first:], dtypes[1])


def entries(source: Source) -> np.ndarray:
    """All rows of a source as one array. One pass."""
    return np.concatenate([to_numpy(block) for block in source.blocks(1 << 16)])


def _names_in(y: Any) -> list[str]:
    """The names of columns that `y` may stand for; empty if it is a table."""
    if isinstance(y, str):
        return [y]
    if isinstance(y, list | tuple) and y and all(isinstance(name, str) for name in y):
        return list(y)
    return []
