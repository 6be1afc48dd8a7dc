"""Tables with names: the one kind of object for every table that a model or a function answers with."""

from __future__ import annotations

import math
import re
import unicodedata
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from itertools import accumulate
from os import PathLike
from pathlib import Path
from typing import Any, Literal, Self

import narwhals as nw
import numpy as np

from ._core.arrays import to_numpy

#: The largest width of a label or an entry of text; longer ones are cut.
_WIDEST = 40
#: Columns of numbers within this range are printed without exponents.
_SMALLEST, _LARGEST = 1e-3, 1e6
#: The largest number of rows and columns that are shown in notebooks.
_ROWS, _COLUMNS = 40, 20
#: Characters with a meaning in LaTeX, and how they are written as text.
_LATEX = str.maketrans(
    {
        **{character: f"\\{character}" for character in "&%$#_{}"},
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "\\": r"\textbackslash{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
    }
)


class Table:
    """Columns by name, with a label for each row.

    Parameters
    ----------
    columns : mapping of str to sequence
        The columns, all of the same length: numbers, text or booleans. None marks a missing entry of a list.
    rows : sequence, default=None
        The labels of the rows. They may be repeated. Without labels, rows are known by their positions, from 0.
    title : str, default=""
        One line that says what the table shows.
    notes : sequence of str, default=()
        Remarks that are printed below the table.
    row_name : str, default=""
        What the labels are, such as "component" or "column". It becomes the name of the index of a pandas frame.
    blank : float, default=0.0
        Floats of smaller magnitude are printed as blanks; in data frames and files of numbers they stay what they are.

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
        blank: float = 0.0,
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
        self.blank = blank

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
        return self._like({name: self[name] for name in names}, self._rows)

    def head(self, n: int = 5) -> Table:
        """The first n rows."""
        return self.take(np.arange(min(max(n, 0), self._length)))

    def sort(self, by: str, *, descending: bool = True, absolute: bool = False) -> Table:
        """The rows in the order of a column, or of its absolute values; NaN and None come last, ties keep order."""
        key = self[by]
        # NaN differs from itself.
        known = np.flatnonzero(np.equal(key, key) & np.not_equal(key, np.array(None)))
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
        return self._like({name: column[order] for name, column in self._columns.items()}, labels)

    def _like(self, columns: Mapping[str, Any], rows: Any) -> Table:
        """A table of other columns or rows, with the same title, notes and way of printing."""
        return Table(columns, rows, title=self.title, notes=self.notes, row_name=self.row_name, blank=self.blank)

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

    def to_csv(self, path: str | PathLike[str] | None = None, **options: Any) -> str | None:
        """Write the table to a CSV file, or return its text if `path` is None; numbers have all their digits.

        The labels are the first column, if there are any. `options` are those of pandas' `to_csv`, such as `sep` and
        `decimal`; pandas has to be installed.
        """
        text: str | None = self.to_pandas().to_csv(path, **{"index": self.has_labels, **options})
        return text

    def to_excel(self, path: str | PathLike[str], **options: Any) -> None:
        """Write the table to an Excel file; numbers have all their digits. pandas and openpyxl have to be installed.

        The labels are the first column, if there are any. `options` are those of pandas' `to_excel`, such as
        `sheet_name`.
        """
        frame = self.to_pandas()
        try:
            frame.to_excel(path, **{"index": self.has_labels, **options})
        except ImportError as error:
            package = options.get("engine", "openpyxl")
            raise ImportError(
                f"Table.to_excel needs {package}, which is not installed: pip install {package}. Or use Table.to_csv, "
                "whose files spreadsheets open too."
            ) from error

    def to_markdown(self, path: str | PathLike[str] | None = None) -> str | None:
        """Write the table to a Markdown file, or return its text if `path` is None; numbers are as `print` shows them.

        All rows and columns are written. The title and the notes are not; they are `title` and `notes`.

        Examples
        --------
        >>> from lowdim import Table
        >>> print(Table({"variance": [4.2282, 0.2427]}, ["PC1", "PC2"]).to_markdown())
        |     | variance |
        | :-- | -------: |
        | PC1 |   4.2282 |
        | PC2 |   0.2427 |
        """
        columns = []
        for cells, right in self._printed():
            texts = [cell.replace("\\", "\\\\").replace("|", "\\|") for cell in cells]
            width = max(3, *map(cell_width, texts))
            rule = "-" * (width - 1) + ":" if right else ":" + "-" * (width - 1)
            texts.insert(1, rule)
            columns.append([pad(text, width, right=right) for text in texts])
        lines = ["| " + " | ".join(cells) + " |" for cells in zip(*columns, strict=True)]
        return _written("\n".join(lines), path)

    def to_latex(self, path: str | PathLike[str] | None = None) -> str | None:
        """Write the table to a LaTeX file, or return its text if `path` is None; numbers are as `print` shows them.

        It is a `tabular` environment with the rules of the package booktabs. All rows and columns are written. The
        title and the notes are not; they are `title` and `notes`.

        Examples
        --------
        >>> from lowdim import Table
        >>> print(Table({"PC1": [0.7431, -0.1738]}, ["sepal_length", "sepal_width"]).to_latex())
        \\begin{tabular}{lr}
        \\toprule
         & PC1 \\\\
        \\midrule
        sepal\\_length & 0.7431 \\\\
        sepal\\_width & $-0.1738$ \\\\
        \\bottomrule
        \\end{tabular}
        """
        columns, kinds = [], ""
        for (name, *cells), right in self._printed():
            columns.append([_latex_text(name), *map(_latex_number if right else _latex_text, cells)])
            kinds += "r" if right else "l"
        rows = [" & ".join(cells) + r" \\" for cells in zip(*columns, strict=True)]
        rules = rf"\begin{{tabular}}{{{kinds}}}", r"\toprule", r"\midrule", r"\bottomrule", r"\end{tabular}"
        lines = [*rules[:2], *rows[:1], rules[2], *rows[1:], *rules[3:]]
        return _written("\n".join(lines), path)

    def _printed(self) -> list[tuple[list[str], bool]]:
        """The labels, if there are any, and the columns as printed text below their names; and whether each is aligned
        on the right."""
        labels = [([self.row_name, *map(str, self.rows)], False)] if self.has_labels else []
        columns = [(name, *cells_of(column, self.blank)) for name, column in self._columns.items()]
        printed = [*labels, *(([name, *cells], right) for name, cells, right in columns)]
        return [([clean(cell).strip() for cell in cells], right) for cells, right in printed]

    def text(self, *, max_rows: int | None = 40, max_columns: int | None = 20, width: int = 80) -> str:
        """The table as text.

        Parameters
        ----------
        max_rows : int or None, default=40
            The largest number of rows that are shown; a last line tells how many there are beside them.
        max_columns : int or None, default=20
            The same for columns.
        width : int, default=80
            The largest width of a line. Columns that do not fit continue below, with the labels repeated.
        """
        shown = len(self) if max_rows is None else min(len(self), max(max_rows, 0))
        names = self.columns if max_columns is None else self.columns[: max(max_columns, 0)]
        labels, more = _labels(self, shown), left_out(len(self) - shown, len(self.columns) - len(names))
        blocks: list[str] = []
        while names or not blocks:
            block, names = _block(self, names, labels, shown, width)
            blocks.append("\n".join(block))
        title = [clean(self.title)] if self.title else []
        return "\n".join([*title, "\n\n".join(blocks), *more, *(clean(note) for note in self.notes)])

    def __str__(self) -> str:
        return self.text()

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """The table as HTML: the first rows and columns, and how many more there are. All text is escaped."""
        left = "style='text-align:left'"
        shown = self.head(_ROWS)
        names = self.columns[:_COLUMNS]
        columns = [cells_of(shown[name], self.blank) for name in names]
        head = "".join(f"<th>{_escaped(name)}</th>" for name in names)
        body = "".join(
            f"<tr><th {left}>{_escaped(str(label))}</th>"
            + "".join(f"<td{'' if right else ' ' + left}>{_escaped(cells[i])}</td>" for cells, right in columns)
            + "</tr>"
            for i, label in enumerate(shown.rows)
        )
        caption = f"<caption {left}>{_escaped(self.title)}</caption>" if self.title else ""
        notes = [*left_out(len(self) - len(shown), len(self.columns) - len(names)), *self.notes]
        below = "".join(f"<p>{_escaped(note)}</p>" for note in notes)
        corner = f"<th {left}>{_escaped(self.row_name)}</th>"
        return f"<table>{caption}<thead><tr>{corner}{head}</tr></thead><tbody>{body}</tbody></table>{below}"


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


def numbered(stem: str, count: int) -> list[str]:
    """Names that count from 1: PC1, PC2, ... for components, x1, x2, ... for columns without names."""
    return [f"{stem}{i + 1}" for i in range(count)]


def _column(values: Any) -> np.ndarray:
    """A column as a vector of numbers, booleans or, for anything else, objects."""
    if not isinstance(values, list | tuple | range):
        array = to_numpy(values)
    elif values and all(isinstance(value, bool | np.bool_) for value in values):
        array = np.array(values, dtype=bool)
    elif all(isinstance(value, int | float | np.number) and not isinstance(value, bool) for value in values):
        array = np.array(values, dtype=None if values else float)
    else:
        array = np.empty(len(values), dtype=object)
        for i, value in enumerate(values):
            array[i] = value
    if array.ndim != 1:
        raise ValueError(f"a column of a table has one dimension, got shape {array.shape}.")
    if array.dtype.kind in "mM":
        # As objects of Python, nanoseconds would become whole numbers.
        array = array.astype(f"{array.dtype.kind}8[us]")
    return array if array.dtype.kind in "fiubO" else array.astype(object)


def _plain(value: Any) -> Any:
    """A NumPy scalar as the number of Python."""
    return value.item() if isinstance(value, np.generic) else value


def _json(value: Any) -> Any:
    """A value of JSON; what JSON cannot express becomes text, and NaN and infinities become None."""
    value = _plain(value)
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def _written(text: str, path: str | PathLike[str] | None) -> str | None:
    """The text itself or, if there is a path, None after it was written there."""
    if path is None:
        return text
    Path(path).write_text(text + "\n", encoding="utf-8")
    return None


def _latex_text(text: str) -> str:
    """Text with the characters that mean something else in LaTeX escaped."""
    return text.translate(_LATEX)


def _latex_number(text: str) -> str:
    """A printed number with a minus sign and powers of ten as LaTeX sets them."""
    typeset = re.sub(r"e([+-]\d+)$", lambda power: rf" \times 10^{{{int(power[1])}}}", text)
    return f"${typeset}$" if typeset != text or (text[:1] == "-" and len(text) > 1) else text


# Tables as text: numbers with their points below one another, awkward labels made harmless, wide tables continued.


def left_out(rows: int, columns: int) -> list[str]:
    """What is said of rows and columns that are not shown: one line, or none."""
    counts = [(count, what) for count, what in ((rows, "row"), (columns, "column")) if count > 0]
    parts = [f"{count} more {what}{'' if count == 1 else 's'}" for count, what in counts]
    return ["... " + ", ".join(parts)] if parts else []


def _labels(table: Table, shown: int) -> list[str]:
    """The labels of the first rows, padded to the same width; above them their name, if there is room for it."""
    labels = table.head(shown).rows
    texts = [cut(clean(str(label)), _WIDEST) for label in labels]
    width = max(map(cell_width, texts), default=0)
    name = clean(table.row_name)
    right = all(isinstance(label, int | np.integer) for label in labels)
    return [pad(text, width, right=right) for text in [name if cell_width(name) <= width else "", *texts]]


def _block(table: Table, names: list[str], labels: list[str], shown: int, width: int) -> tuple[list[str], list[str]]:
    """The lines of as many columns as fit into the width, at least one, and the names of the columns that remain."""
    parts, left, used = [labels], [], cell_width(labels[0])
    for position, name in enumerate(names):
        cells, right = cells_of(table[name][:shown], table.blank)
        head = cut(clean(name), _WIDEST)
        room = width - used - 2
        needed = max([cell_width(head), *map(cell_width, cells)])
        if needed > room:
            # Text in the last place is cut to the room that is left; anything else continues below.
            if not right and room >= 20:
                cells, needed = [cut(cell, room) for cell in cells], room
            elif position > 0:
                left = names[position:]
                break
        parts.append([pad(cell, needed, right=right) for cell in [head, *cells]])
        used += needed + 2
    return ["  ".join(cells).rstrip() for cells in zip(*parts, strict=True)], left


def cells_of(column: np.ndarray, blank: float = 0.0) -> tuple[list[str], bool]:
    """The entries of a column as text, and whether they are aligned on the right, as numbers are. Floats whose
    magnitude is below `blank` are empty."""
    if column.dtype.kind == "b":
        return ["yes" if entry else "no" for entry in column], False
    if column.dtype.kind in "iu":
        return [str(entry) for entry in column], True
    if column.dtype.kind == "f":
        # An entry that is NaN is not below anything.
        below = np.abs(column) < blank
        shown = iter(_numbers(column[~below].astype(float).tolist()))
        return ["" if small else next(shown) for small in below], True
    entries = list(column)
    known = [entry for entry in entries if entry is not None]
    if known and all(isinstance(entry, int | float | np.number) and not isinstance(entry, bool) for entry in known):
        whole = all(isinstance(entry, int) or float(entry).is_integer() for entry in known)
        texts = iter([str(int(entry)) for entry in known] if whole else _numbers([float(entry) for entry in known]))
        return ["-" if entry is None else next(texts) for entry in entries], True
    return ["" if entry is None else cut(clean(str(entry)), 4 * _WIDEST) for entry in entries], False


def _numbers(values: list[float]) -> list[str]:
    """Numbers with the decimals that show five digits of the largest, at most four of them. Smaller entries have more
    decimals, up to four, where they would have fewer than three digits; and exponents where decimals would not do."""
    values = [value + 0.0 for value in values]  # without minus signs of zeros
    sizes = [abs(value) for value in values if math.isfinite(value) and value != 0.0]
    largest = max(sizes, default=1.0)
    if not _SMALLEST <= largest < _LARGEST:
        return [_exponent(value, 3) for value in values]
    three = 2 - math.floor(math.log10(largest))
    common, most = max(three, min(4, three + 2), 0), max(three, 4)
    texts, decimals = [], []
    for value in values:
        size = abs(value) if math.isfinite(value) else 0.0
        own = common if size == 0.0 else min(most, max(common, 2 - math.floor(math.log10(size))))
        texts.append(f"{value:.{own}f}" if size == 0.0 or size >= 0.5 * 10.0**-own else _exponent(value, 1))
        decimals.append(own)
    # Blanks behind the numbers with fewer decimals keep the points below one another.
    widths = [own + (own > 0) for own in decimals]
    return [text + " " * (max(widths) - width) for text, width in zip(texts, widths, strict=True)]


def _exponent(value: float, digits: int) -> str:
    return f"{value:.{digits}e}" if math.isfinite(value) and value != 0.0 else f"{value:g}"


def clean(text: str) -> str:
    """Text on one line: line breaks and other control characters are shown as their escapes."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or unicodedata.category(c) == "Cf" else repr(c)[1:-1] for c in text)


def cell_width(text: str) -> int:
    """The number of columns that a text takes in a terminal; East Asian characters and emoji take two."""
    return len(text) if text.isascii() else sum(map(_character_width, text))


def _character_width(character: str) -> int:
    if unicodedata.combining(character) or unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def cut(text: str, width: int) -> str:
    """The text, shortened to the width with an ellipsis at its end if it is longer."""
    if cell_width(text) <= width:
        return text
    ends = accumulate(map(_character_width, text))
    return "".join(character for character, end in zip(text, ends, strict=True) if end < width) + "…"


def pad(text: str, width: int, *, right: bool = False) -> str:
    """The text with blanks up to the width, before it if it is aligned on the right."""
    blanks = " " * (width - cell_width(text))
    return blanks + text if right else text + blanks


def _escaped(text: str) -> str:
    return escape(clean(text))
