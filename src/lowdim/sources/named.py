"""Responses, weights and labels that are columns of the same table as the rows, and are given by their names."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import narwhals as nw
import numpy as np

from .._core.devices import Destination
from ..errors import (
    named_response_not_numbers,
    named_twice,
    needs_second_reading,
    rows_in_another_order,
    unknown_column,
)
from .base import Source
from .beside import ColumnsSource
from .contents import ColumnChoice, Contents, check_columns
from .derived import entries_of
from .frame import is_column, is_table, open_table
from .on_device import OnDevice, open_sent
from .scan import Scan, names_file, with_columns

# Responses, weights and labels that are columns of the same table as the rows, and are given by their names.


class NamedTable(ABC):
    """A table whose columns have names; some of them may be no part of the rows."""

    #: What messages call it.
    label: str = "X"
    #: The names of all columns.
    names: Sequence[str]
    #: The number of rows if it is known without reading them.
    n: int | None = None

    @property
    def has_names(self) -> bool:
        """False for arrays in files, whose columns have numbers."""
        return True

    @property
    @abstractmethod
    def numeric(self) -> list[str]:
        """The names of the columns that are numbers."""

    @property
    def chosen(self) -> list[str] | None:
        """The columns that the user has chosen, whatever they hold; None if no choice was made."""
        return None

    def nearly_numbers(self, names: Sequence[str]) -> str:
        """Which of these columns would be numbers but for a few entries, and where those are; empty if none."""
        return ""

    @abstractmethod
    def rows(self, names: Sequence[str]) -> Any:
        """These columns, in this order, as something that can be opened."""

    @abstractmethod
    def column(self, name: str) -> np.ndarray:
        """All entries of one column, which may be text. One pass over this column."""

    @abstractmethod
    def pair(self, x: Sequence[str], y: Sequence[str] | str) -> tuple[Any, Any]:
        """Two tables of columns, which are read in one pass when they are read side by side. A single name is a
        vector."""

    def rest(self, used: Sequence[str], wanted: Sequence[str] | None) -> list[str]:
        """The names of the columns that are the rows if `used` are not; a fitted model expects those in `wanted`."""
        if wanted is not None and set(wanted) <= set(self.names):
            return list(wanted)
        return [name for name in self.names if name not in used]


class FrameTable(NamedTable):
    """A data frame in memory."""

    def __init__(self, frame: Any) -> None:
        self._frame = frame if isinstance(frame, nw.DataFrame) else nw.from_native(frame, eager_only=True)
        self.names, self.n = [str(name) for name in self._frame.columns], len(self._frame)

    @property
    def numeric(self) -> list[str]:
        kinds = zip(self.names, self._frame.schema.values(), strict=True)
        return [name for name, kind in kinds if kind.is_numeric()]

    def rows(self, names: Sequence[str]) -> Any:
        # By number, since names may be anything in pandas.
        return self._frame[:, [self.names.index(name) for name in names]].to_native()

    def column(self, name: str) -> np.ndarray:
        return self._frame[:, self.names.index(name)].to_numpy()

    def pair(self, x: Sequence[str], y: Sequence[str] | str) -> tuple[Any, Any]:
        kinds = dict(zip(self.names, self._frame.schema.values(), strict=True))
        text = [name for name in _listed(y) if kinds[name] == nw.String]
        if text:
            raise named_response_not_numbers(self.label, text, self.numeric)
        if not isinstance(y, str):
            return self.rows(x), self.rows(y)
        vector = open_table(self.rows([y]))
        vector.vector = True
        return self.rows(x), vector


class DaskTable(NamedTable):
    """A data frame of Dask. A partition is computed once for all columns that are read side by side."""

    def __init__(self, frame: Any, open_rows: Callable[[Any], Source]) -> None:
        self._frame, self._open = frame, open_rows
        self._own = {str(name): name for name in frame.columns}
        self.names = list(self._own)

    @property
    def numeric(self) -> list[str]:
        kinds = nw.from_native(self._frame._meta).schema.values()
        return [name for name, kind in zip(self.names, kinds, strict=True) if kind.is_numeric()]

    def rows(self, names: Sequence[str]) -> Any:
        return self._frame[[self._own[name] for name in names]]

    def column(self, name: str) -> np.ndarray:
        return self._frame[self._own[name]].compute().to_numpy()

    def pair(self, x: Sequence[str], y: Sequence[str] | str) -> tuple[Any, Any]:
        targets = _listed(y)
        dtypes = [self._open(self.rows(names)._meta_nonempty).dtype for names in (x, targets)]
        return _side_by_side(self._open(self.rows([*x, *targets])), len(x), y, dtypes)


class ContentsTable(NamedTable):
    """Files with named columns, as a scan of them or just what they hold; or an object that speaks Arrow."""

    def __init__(self, contents: Contents, scan: Scan | None = None) -> None:
        self._contents, self._scan = contents, scan
        self.label, self.names = contents.label, list(contents.names)

    @property
    def has_names(self) -> bool:
        return self._contents.has_names

    @property
    def numeric(self) -> list[str]:
        return list(self._contents.numeric)

    @property
    def chosen(self) -> list[str] | None:
        made = self._scan is not None and self._scan.choice != ColumnChoice()
        return self._scan.choice.named_among(self._contents) if self._scan is not None and made else None

    def nearly_numbers(self, names: Sequence[str]) -> str:
        return self._contents.nearly_numbers(names)

    def rows(self, names: Sequence[str]) -> Source:
        check_columns(names, self._contents)
        return self._contents.source(names)

    def column(self, name: str) -> np.ndarray:
        return self._contents.column(name)

    def pair(self, x: Sequence[str], y: Sequence[str] | str) -> tuple[Any, Any]:
        numeric = set(self._contents.numeric)
        text = [name for name in _listed(y) if name not in numeric]
        if text:
            raise named_response_not_numbers(self.label, text, list(self._contents.numeric))
        dtypes = [self._contents.dtype(names) for names in (x, _listed(y))]
        return _side_by_side(self.rows([*x, *_listed(y)]), len(x), y, dtypes)

    def rest(self, used: Sequence[str], wanted: Sequence[str] | None) -> list[str]:
        if self._scan is None:
            return super().rest(used, wanted)
        scan = self._scan if wanted is None else with_columns(self._scan, wanted)
        return scan.without(used).chosen


class SourceTable(NamedTable):
    """A source whose columns have names, such as a stream of data frames."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self.names, self.n = list(source.names or []), source.shape[0]

    @property
    def numeric(self) -> list[str]:
        return list(self.names)

    def rows(self, names: Sequence[str]) -> Any:
        return ColumnsSource(self._source, [self.names.index(name) for name in names])

    def column(self, name: str) -> np.ndarray:
        if not self._source.traits.rereadable:
            raise needs_second_reading(f"for the column {name!r}, which is read before the rows")
        return entries_of(self.rows([name]))[:, 0]

    def pair(self, x: Sequence[str], y: Sequence[str] | str) -> tuple[Any, Any]:
        second = self.rows(_listed(y))
        second.vector = isinstance(y, str)
        return self.rows(x), second


def columns_by_name(
    find_table: Callable[[Any], NamedTable | None],
    X: Any,
    y: Any,
    vectors: dict[str, Any],
    *,
    wanted: Sequence[str] | None = None,
    hold: Callable[[Any], np.ndarray] | None = None,
) -> tuple[Any, ...]:
    """See `sources.by_name`. `find_table` gives the columns of `X` by their names, or None if they have none; `hold`
    reads the rows of `y` into memory, if that is wanted."""
    targets, named = names_in(y), {key: value for key, value in vectors.items() if isinstance(value, str)}
    table = find_table(X) if targets or named else None
    if table is None:
        return X, y, *vectors.values()
    if isinstance(y, str) and y not in table.names and names_file(y):
        targets = []
    if isinstance(y, list | tuple) and len(y) == table.n and not set(targets) & set(table.names):
        # The classes of the rows, as scikit-learn passes them to models that do not look at them.
        targets = []
    for name in (*targets, *named.values()):
        if name not in table.names:
            raise unknown_column(table.label, name, list(table.names))
    if len(set(targets)) < len(targets):
        raise named_twice("y", targets)
    if not targets and not named:
        return X, y, *vectors.values()
    rest = table.rest([*targets, *named.values()], wanted)
    if targets and hold is None:
        X, y = table.pair(rest, y)
    else:
        X = table.rows(rest)
    if targets and hold is not None:
        y = table.column(y) if isinstance(y, str) else hold(table.rows(targets))
    return X, y, *(table.column(value) if key in named else value for key, value in vectors.items())


def _side_by_side(parent: Source, p: int, y: Sequence[str] | str, dtypes: Sequence[Any]) -> tuple[Source, Source]:
    """The first p columns of a source, and the others, which are `y`, as tables that are read in one pass."""
    columns = range(parent.shape[1])
    second = ColumnsSource(parent, columns[p:], dtypes[1])
    second.vector = isinstance(y, str)
    return ColumnsSource(parent, columns[:p], dtypes[0]), second


def _listed(y: Sequence[str] | str) -> list[str]:
    return [y] if isinstance(y, str) else list(y)


def names_in(y: Any) -> list[str]:
    """The names of columns that `y` may stand for; empty if it is a table."""
    named = isinstance(y, str) or (isinstance(y, list | tuple) and all(isinstance(name, str) for name in y))
    return _listed(y) if named else []


# The labels of the rows of a table.


def row_labels(X: Any) -> Any:
    """The index of a table or column of pandas, as it is; None if it only counts the rows, and for everything else."""
    X = X.rows if isinstance(X, OnDevice) else X
    if not is_table(X) and not is_column(X):
        return None
    index: Any = nw.maybe_get_index(nw.from_native(X, eager_only=True, allow_series=True))
    counts = type(index).__name__ == "RangeIndex" and index.start == 0 and index.step == 1 and index.name is None
    return None if counts else index


def check_row_labels(first: Any, name: str = "X", **others: Any) -> None:
    """Raise an error if another table or series of pandas has the row labels of the first one in another order.

    Rows belong together by their positions. They surely do not if both have the same labels, each once, in another
    order. Other differences say nothing: tables that were made in different ways often have different labels. A default
    index 0, 1, 2, ... counts as no labels, since it is also that of rows that were computed from labelled ones.
    """
    given = {other: value for other, value in others.items() if value is not None}
    labels = row_labels(first) if given else None
    if labels is None:
        return
    for other, value in given.items():
        theirs = row_labels(value)
        if theirs is None or theirs is labels or len(theirs) != len(labels) or theirs.equals(labels):
            continue
        if not labels.is_unique or not theirs.is_unique:
            continue
        places = labels.get_indexer(theirs)
        if bool((places >= 0).all()):
            # Positions are compared, since a label may be NaN or NA, which does not equal itself.
            place = next((i for i, found in enumerate(places.tolist()) if found != i), None)
            if place is not None:
                raise rows_in_another_order(name, other, place, labels[place], theirs[place])


# The columns of rows that are sent to a device, by their names.


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
