"""The columns of tables by their names, also of those that are no part of the rows, and the labels of rows."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import narwhals as nw
import numpy as np

from .._core.devices import Destination
from ..errors import needs_second_reading
from .base import Source
from .beside import ColumnsSource
from .derived import entries_of
from .frame import is_column, is_table, open_table
from .on_device import OnDevice, open_sent
from .scan import ColumnChoice, Contents, Scan, with_columns


class FrameTable(Contents):
    """A data frame in memory."""

    def __init__(self, frame: Any) -> None:
        self._frame = frame if isinstance(frame, nw.DataFrame) else nw.from_native(frame, eager_only=True)
        self.names, self.n = [str(name) for name in self._frame.columns], len(self._frame)

    @cached_property
    def _kinds(self) -> dict[str, Any]:
        return dict(zip(self.names, self._frame.schema.values(), strict=True))

    @property
    def numeric(self) -> list[str]:  # type: ignore[override]
        return [name for name, kind in self._kinds.items() if kind.is_numeric()]

    def rows(self, columns: Sequence[str]) -> Any:
        # By number, since names may be anything in pandas.
        return self._frame[:, [self.names.index(name) for name in columns]].to_native()

    def source(self, columns: Sequence[str]) -> Source:
        return open_table(self.rows(columns))

    def column(self, name: str) -> np.ndarray:
        return self._frame[:, self.names.index(name)].to_numpy()

    def text_among(self, names: Sequence[str]) -> list[str]:
        return [name for name in names if self._kinds[name] == nw.String]

    def two_tables(self, x: Sequence[str], y: Sequence[str]) -> tuple[Any, Any]:
        return self.rows(x), self.rows(y)


class SourceTable(Contents):
    """A source whose columns have names, such as a stream of data frames."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self.names = self.numeric = list(source.names or [])
        self.n = source.shape[0]

    def source(self, columns: Sequence[str]) -> Source:
        return ColumnsSource(self._source, [self.names.index(name) for name in columns])

    rows = source

    def column(self, name: str) -> np.ndarray:
        if not self._source.traits.rereadable:
            raise needs_second_reading(f"for the column {name!r}, which is read before the rows")
        return entries_of(self.source([name]))[:, 0]

    def two_tables(self, x: Sequence[str], y: Sequence[str]) -> tuple[Any, Any]:
        return self.source(x), self.source(y)


class _Changed:
    """The columns of another table, apart from what a subclass says."""

    def __init__(self, table: Contents) -> None:
        self._table = table

    def __getattr__(self, name: str) -> Any:
        return getattr(self._table, name)


class ScanTable(_Changed):
    """The columns of a scan: those that the user has chosen are the rows."""

    def __init__(self, scan: Scan) -> None:
        super().__init__(scan.contents)
        self._scan = scan
        self.chosen = None if scan.choice == ColumnChoice() else scan.choice.named_among(scan.contents)

    def rest(self, used: Sequence[str], wanted: Sequence[str] | None) -> list[str]:
        scan = self._scan if wanted is None else with_columns(self._scan, wanted)
        return scan.without(used).chosen


class SentTable(_Changed):
    """The columns of a table that is sent to a device. Weights, labels and other single columns stay on the host."""

    def __init__(self, table: Any, to: Destination) -> None:
        super().__init__(table)
        self._to = to

    def rows(self, names: Sequence[str]) -> Any:
        return OnDevice(self._table.rows(names), self._to)

    def pair(self, x: Sequence[str], y: Sequence[str] | str) -> tuple[Any, Any]:
        first, second = self._table.pair(x, y)
        if isinstance(first, ColumnsSource) and isinstance(second, ColumnsSource):
            # Both are columns of one source, which is read once.
            parent = open_sent(first.parent, self._to)
            return first.of_other(parent), second.of_other(parent)
        return OnDevice(first, self._to), OnDevice(second, self._to)


def names_in(y: Any) -> list[str]:
    """The names of columns that `y` may stand for; empty if it is a table."""
    if isinstance(y, str):
        return [y]
    return list(y) if isinstance(y, list | tuple) and all(isinstance(name, str) for name in y) else []


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
                aligned = "B.loc[A.index]"
                if other.isidentifier() and name.isidentifier():
                    aligned = f"{other}.loc[{name}.index]"
                raise ValueError(
                    f"{name} and {other} have the same row labels in another order: row {place} is {labels[place]!r} "
                    f"in {name} and {theirs[place]!r} in {other}. Rows are matched by their positions: pass {aligned}, "
                    "or drop the labels with reset_index(drop=True) if the positions are right."
                )
