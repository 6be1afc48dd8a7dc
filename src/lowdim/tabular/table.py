"""A small table with names of rows and columns, which prints itself and converts to data frames."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, Self

import narwhals as nw
import numpy as np

from .._xp import to_numpy
from .html import html_of
from .text import text_of


class Table:
    """Columns by name, with a label for each row.

    Parameters
    ----------
    columns : mapping of str to sequence
        The columns, all of the same length: numbers, text or booleans. None marks a missing entry of a list.
    rows : sequence, optional
        The labels of the rows. They may be repeated. Without labels, rows are known by their positions, from 0.
    title : str
        One line that says what the table shows.
    notes : sequence of str
        Remarks that are printed below the table.
    row_name : str
        What the labels are, such as "component" or "column". It becomes the name of the index of a pandas frame.

    Examples
    --------
    >>> from lowdim import Table
    >>> table = Table({"variance": [4.2282, 0.2427], "proportion": [0.9246, 0.0531]}, ["PC1", "PC2"])
    >>> print(table)
         variance  proportion
    PC1    4.2282      0.9246
    PC2    0.2427      0.0531
    >>> table["variance"]
    array([4.2282, 0.2427])
    >>> table.row("PC2")
    {'variance': 0.2427, 'proportion': 0.0531}
    """

    def __init__(
        self,
        columns: Mapping[str, Any],
        rows: Sequence[Any] | np.ndarray | None = None,
        *,
        title: str = "",
        notes: Sequence[str] = (),
        row_name: str = "",
    ) -> None:
        self._columns = {str(name): _column(values) for name, values in columns.items()}
        lengths = {len(values) for values in self._columns.values()}
        if rows is not None:
            lengths.add(len(rows))
        if len(lengths) > 1:
            raise ValueError(f"the columns and the labels of a table need the same length, got {sorted(lengths)}.")
        self._length = lengths.pop() if lengths else 0
        self._rows = rows
        self.title = title
        self.notes = tuple(notes)
        self.row_name = row_name

    @classmethod
    def from_matrix(
        cls,
        values: Any,
        columns: Sequence[Any] | np.ndarray,
        rows: Sequence[Any] | np.ndarray | None = None,
        **more: Any,
    ) -> Self:
        """The table of a matrix, an array of any library, with a name for each of its columns."""
        matrix = to_numpy(values)
        if matrix.ndim != 2 or matrix.shape[1] != len(columns):
            raise ValueError(f"a matrix of shape {matrix.shape} cannot have {len(columns)} names of columns.")
        named = {str(name): matrix[:, j] for j, name in enumerate(columns)}
        if len(named) < len(columns):
            raise ValueError("two columns of a table cannot have the same name.")
        return cls(named, rows, **more)

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return list(self._columns)

    @property
    def rows(self) -> list[Any]:
        """The labels of the rows, or their positions if they have no labels."""
        return list(range(self._length)) if self._rows is None else list(self._rows)

    @property
    def has_labels(self) -> bool:
        """Whether the rows have labels, and not only positions."""
        return self._rows is not None

    @property
    def values(self) -> np.ndarray:
        """The columns of numbers as a matrix of floats; columns of text are left out."""
        numbers = [column for column in self._columns.values() if column.dtype.kind in "fiub"]
        return np.column_stack(numbers).astype(float) if numbers else np.empty((self._length, 0))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return self.values if dtype is None else self.values.astype(dtype)

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of rows and columns."""
        return self._length, len(self._columns)

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __contains__(self, name: object) -> bool:
        return name in self._columns

    def __getitem__(self, name: str) -> np.ndarray:
        if name not in self._columns:
            raise KeyError(f"there is no column {name!r}; the columns are {', '.join(map(repr, self._columns))}.")
        return self._columns[name]

    def row(self, label: Any) -> dict[str, Any]:
        """The entries of the first row with this label, by the names of the columns."""
        labels = self.rows
        if label not in labels:
            raise KeyError(f"there is no row {label!r}; Table.rows lists the labels.")
        i = labels.index(label)
        return {name: _plain(column[i]) for name, column in self._columns.items()}

    def select(self, names: Sequence[str]) -> Table:
        """The table with these columns only, in this order."""
        columns = {name: self[name] for name in names}
        return Table(columns, self._rows, title=self.title, notes=self.notes, row_name=self.row_name)

    def head(self, n: int = 5) -> Table:
        """The first n rows."""
        return self.take(np.arange(min(max(n, 0), self._length)))

    def sort(self, by: str, *, descending: bool = True, absolute: bool = False) -> Table:
        """The rows in the order of a column, or of its absolute values; NaN and None come last, ties keep order."""
        key = self[by]
        known = np.arange(len(key))
        if key.dtype.kind == "O":
            known = np.array([i for i, entry in enumerate(key) if entry is not None and entry == entry], dtype=int)
        elif key.dtype.kind == "f":
            known = np.flatnonzero(~np.isnan(key))
        last = np.setdiff1d(np.arange(len(key)), known)
        key = key[known]
        if absolute:
            key = np.abs(key)
        order = np.argsort(key, kind="stable")
        if descending:
            # Reversing twice keeps the order of ties.
            order = (len(key) - 1 - np.argsort(key[::-1], kind="stable"))[::-1]
        return self.take(np.concatenate([known[order], last]))

    def take(self, order: np.ndarray) -> Table:
        """The rows at these positions, in this order. Rows without labels keep their positions as labels."""
        labels: Any = None
        if self._rows is not None:
            take = getattr(self._rows, "take", None)
            labels = [self._rows[int(i)] for i in order] if take is None else take(order)
        elif not np.array_equal(order, np.arange(len(order))):
            labels = np.asarray(order).tolist()
        columns = {name: column[order] for name, column in self._columns.items()}
        return Table(columns, labels, title=self.title, notes=self.notes, row_name=self.row_name)

    def to_pandas(self) -> Any:
        """A pandas data frame, with the labels as its index."""
        frame = self._frame("pandas")
        if self._rows is not None:
            # Labels that are an index of pandas are kept with their type and name.
            frame.index = self._rows
            if self.row_name and frame.index.nlevels == 1:
                frame = frame.rename_axis(index=self.row_name)
        return frame

    def to_polars(self) -> Any:
        """A polars data frame, with the labels as its first column, named by `row_name` (or "row")."""
        if self._rows is None:
            return self._frame("polars")
        name = self.row_name or "row"
        while name in self._columns:
            name += "_"
        labels = self.rows
        kinds = {type(label) for label in labels}
        # A column of polars has one type; labels of several levels are tuples.
        one_type = len(kinds) <= 1 and tuple not in kinds
        return self._frame("polars", {name: labels if one_type else [str(label) for label in labels]})

    def _frame(self, backend: Literal["pandas", "polars"], first: Mapping[str, Any] | None = None) -> Any:
        columns = {
            name: column.tolist() if column.dtype.kind == "O" else column for name, column in self._columns.items()
        }
        return nw.from_dict({**(first or {}), **columns}, backend=backend).to_native()

    def to_dict(self) -> dict[str, Any]:
        """The whole table as values of JSON. Numbers that are not finite become None."""
        return {
            "title": self.title,
            "rows": [_json(label) for label in self.rows],
            "columns": {name: [_json(entry) for entry in column] for name, column in self._columns.items()},
            "notes": list(self.notes),
        }

    def text(self, *, max_rows: int | None = 40, max_columns: int | None = 20, width: int = 80) -> str:
        """The table as text.

        Parameters
        ----------
        max_rows : int or None
            The largest number of rows that are shown; a last line tells how many there are beside them.
        max_columns : int or None
            The same for columns.
        width : int
            The largest width of a line. Columns that do not fit continue below, with the labels repeated.
        """
        return text_of(self, max_rows=max_rows, max_columns=max_columns, width=width)

    def __str__(self) -> str:
        return self.text()

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return html_of(self)


def _column(values: Any) -> np.ndarray:
    """A column as a vector of numbers, booleans or, for anything else, objects."""
    array = to_numpy(values) if not isinstance(values, list | tuple | range) else np.asarray(_objects(values))
    if array.ndim != 1:
        raise ValueError(f"a column of a table has one dimension, got shape {array.shape}.")
    if array.dtype.kind in "mM":
        # As objects of Python, nanoseconds would become whole numbers.
        array = array.astype(f"{array.dtype.kind}8[us]")
    return array if array.dtype.kind in "fiubO" else array.astype(object)


def _objects(values: Sequence[Any]) -> np.ndarray:
    """A list as an array: of numbers if it holds only numbers, otherwise of objects."""
    if values and all(isinstance(value, bool | np.bool_) for value in values):
        return np.array(values, dtype=bool)
    if all(isinstance(value, int | float | np.number) and not isinstance(value, bool) for value in values):
        return np.array(values, dtype=float) if not values else np.array(values)
    array = np.empty(len(values), dtype=object)
    for i, value in enumerate(values):
        array[i] = value
    return array


def _plain(value: Any) -> Any:
    """A NumPy scalar as the number of Python."""
    return value.item() if isinstance(value, np.generic) else value


def _json(value: Any) -> Any:
    """A value of JSON; what JSON cannot express becomes text, and NaN and infinities become None."""
    value = _plain(value)
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)
