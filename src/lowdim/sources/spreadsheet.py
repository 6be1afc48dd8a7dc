"""Spreadsheets (.xlsx, .ods): which sheet and which cells of it are the table, and what its columns hold."""

from __future__ import annotations

import datetime
import re
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from typing import Any
from xml.etree import ElementTree

from .. import errors
from .._core.threads import free_bytes
from .arrow_files import ArrowFiles
from .categories import label_of
from .csv import ONE_OF, OTHER_NUMBER, is_number, missing
from .notation import notations
from .scan import Found

# The cells of a sheet, as the reader of calamine gives them, and which of them are one cell.


#: Cells that were merged: the first row and column, and the last ones.
Merged = tuple[tuple[int, int], tuple[int, int]]
#: How files begin that hold an encrypted spreadsheet, or one of Excel until 2003.
_COMPOUND = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
#: Reading a sheet takes about this many times the size of its XML.
_READING = 4


def _workbook(path: str) -> Any:
    """A file, opened by calamine."""
    import python_calamine as calamine

    try:
        with zipfile.ZipFile(path) as archive:
            n_bytes = _READING * sum(part.file_size for part in archive.infolist())
    except (zipfile.BadZipFile, OSError) as error:
        with open(path, "rb") as file:
            if file.read(8) == _COMPOUND:
                raise ValueError(
                    f"{path} is protected by a password, or has the format that Excel had until 2003. Save it as .xlsx "
                    "without a password, and read that file."
                ) from None
        raise errors.unreadable_file(path, "", error) from error
    if n_bytes > free_bytes():
        raise errors.file_exceeds_memory(path, n_bytes, free_bytes())
    try:
        return calamine.CalamineWorkbook.from_path(path)
    except (calamine.CalamineError, OSError) as error:
        raise errors.unreadable_file(path, "", error) from error


def _merged_in_ods(path: str, sheet: str) -> list[Merged]:
    """The cells of a sheet of an .ods file that were merged, which calamine does not tell."""
    spanned = [f"{{{_TABLE}}}number-{what}-spanned" for what in ("rows", "columns")]
    found: list[Merged] = []
    with zipfile.ZipFile(path) as archive:
        content = archive.read("content.xml")
    if not re.search(rb'number-(rows|columns)-spanned="(?!1")', content):
        return found
    for table in ElementTree.fromstring(content).iter(f"{{{_TABLE}}}table"):
        if table.get(f"{{{_TABLE}}}name") != sheet:
            continue
        i = 0
        for row in table.iter(f"{{{_TABLE}}}table-row"):
            j = 0
            for cell in row:
                height, width = (int(cell.get(name, 1)) for name in spanned)
                if height * width > 1:
                    found.append(((i, j), (i + height - 1, j + width - 1)))
                j += int(cell.get(f"{{{_TABLE}}}number-columns-repeated", 1))
            i += int(row.get(f"{{{_TABLE}}}number-rows-repeated", 1))
    return found


_TABLE = "urn:oasis:names:tc:opendocument:xmlns:table:1.0"


def cell_name(i: int, j: int) -> str:
    """The name of a cell, as spreadsheets show it.

    >>> cell_name(0, 0), cell_name(9, 27)
    ('A1', 'AB10')
    """
    letters, j = "", j + 1
    while j:
        j, letter = divmod(j - 1, 26)
        letters = chr(ord("A") + letter) + letters
    return f"{letters}{i + 1}"


@dataclass
class Sheet:
    """The cells of a sheet that hold the table."""

    #: What messages call it: the path, and the name of the sheet if it was given or there are several.
    label: str
    #: The names of the columns, and the numbers that the columns have in the sheet.
    names: list[str]
    columns: list[int]
    #: The entries of each row, without empty rows, and the numbers that these rows have in the sheet.
    rows: list[list[Any]]
    numbers: list[int]
    #: What was recognised on the way, in sentences.
    said: list[str] = field(default_factory=list)

    def cell(self, row: int, column: int) -> str:
        """The name of the cell of an entry."""
        return cell_name(self.numbers[row], self.columns[column])


def read_sheet(path: str, name: str | None) -> Sheet:
    """The table in a sheet of a file, by default in its first one.

    The names of the columns are in the first row with several entries (or in the first row, if no row has several);
    rows above it are titles. Empty rows and columns are left out, and so are notes, which are single entries below an
    empty row at the end. A cell that was merged from several in a column holds for all of them.
    """
    import python_calamine as calamine

    book = _workbook(path)
    kept = [sheet for sheet in book.sheets_metadata if sheet.typ == calamine.SheetTypeEnum.WorkSheet]
    shown = [sheet.name for sheet in kept if sheet.visible == calamine.SheetVisibleEnum.Visible]
    names = shown or [sheet.name for sheet in kept]
    chosen = names[0] if name is None and names else name
    if chosen is None or chosen not in book.sheet_names:
        raise ValueError(
            f"{path} has no sheet {chosen!r}; its sheets are {errors.list_names(book.sheet_names, 20)}. Name one of "
            f"them behind two colons, as in '{path}::{(names or ['Sheet1'])[0]}'."
        )
    label = path if name is None and len(names) == 1 else f"{path}::{chosen}"
    said = []
    if name is None and len(names) > 1:
        said.append(
            f"{path} has {len(names)} sheets: {errors.list_names(names)}. The first one is read; '{path}::{names[1]}' "
            "is another."
        )
    try:
        sheet = book.get_sheet_by_name(chosen)
        cells = sheet.to_python()
        merged = _merged_in_ods(path, chosen) if path.lower().endswith(".ods") else sheet.merged_cell_ranges
    except (calamine.CalamineError, zipfile.BadZipFile, ElementTree.ParseError, OSError, KeyError) as error:
        raise errors.unreadable_file(label, "", error) from error
    top, left = sheet.start or (0, 0)
    found = _table(label, cells, top, left, [tuple(map(tuple, range_)) for range_ in merged or []])
    found.said = said + found.said
    return found


def _is_empty(cell: Any) -> bool:
    """Whether a cell has no entry."""
    return cell is None or (isinstance(cell, str) and not cell.strip())


#: Words with which a row begins that adds up the others.
_TOTALS = frozenset({"total", "totals", "grand total", "sum", "mean", "average", "overall"})
#: Titles have at most so many rows.
_TITLE_ROWS = 10


def _table(label: str, cells: list[list[Any]], top: int, left: int, merged: Sequence[Any]) -> Sheet:
    """The table among the cells of a sheet; the first of them is in row `top` and column `left`."""
    filled = [[j for j, cell in enumerate(row) if not _is_empty(cell)] for row in cells]
    used = [i for i, row in enumerate(filled) if row]
    if not used:
        raise ValueError(f"{label} is empty. Name another sheet behind two colons, as in 'table.xlsx::Sheet2'.")
    said = []
    header = next((i for i in used if len(filled[i]) > 1), used[0])
    if sum(i < header for i in used) > _TITLE_ROWS:
        raise ValueError(
            f"{label} has one entry in each row down to row {top + header}, and several in row {top + header + 1}. The "
            "first row must hold the names of the columns: delete what does not belong to the table."
        )
    titles = [cells[i][filled[i][0]] for i in used if i < header]
    if titles:
        said.append(
            f"The names of the columns of {label} are in row {top + header + 1}; what is above is a title: "
            f"{errors.list_names([str(title) for title in titles], 3)}."
        )
    body = [i for i in used if i > header]
    # Notes are below an empty row.
    end = next((k for k in range(len(body), 0, -1) if len(filled[body[k - 1]]) > 1), len(body))
    if len(filled[header]) > 1 and 0 < end < len(body) and body[end] > body[end - 1] + 1:
        notes = [str(cells[i][filled[i][0]]) for i in body[end:]]
        said.append(f"What is below the table of {label} is left out: {errors.list_names(notes, 3)}.")
        body = body[:end]
    if body and str(cells[body[-1]][filled[body[-1]][0]]).strip().casefold() in _TOTALS:
        entry = cells[body[-1]][filled[body[-1]][0]]
        said.append(
            f"Row {top + body[-1] + 1} of {label} begins with {entry!r} and is one of the rows: delete it if it adds "
            "up the others."
        )
    columns = sorted({j for i in (header, *body) for j in filled[i]})
    _spread(label, cells, merged, top, left, header, body, said)
    names = [" ".join((label_of(cells[header][j]) or "").split()) for j in columns]
    unnamed = [left + columns[k] for k in range(1, len(names)) if not names[k]]
    if unnamed:
        _refuse_two_headers(label, cells, header, body, columns, top)
        raise errors.no_names(label, [cell_name(0, j)[:-1] for j in unnamed])
    if all(is_number(name) for name in names if name):
        raise ValueError(
            f"{label} has no names of columns: the first row must hold them, and row {top + header + 1} holds numbers: "
            f"{errors.list_names(names)}. Write a row of names above."
        )
    twice = [name for name in dict.fromkeys(names) if names.count(name) > 1]
    if twice:
        raise errors.duplicate_columns(label, twice, can_leave_out=False)
    _refuse_two_headers(label, cells, header, body, columns, top)
    rows = [[None if _is_empty(cells[i][j]) else cells[i][j] for j in columns] for i in body]
    return Sheet(label, names, [left + j for j in columns], rows, [top + i for i in body], said)


def _spread(
    label: str,
    cells: list[list[Any]],
    merged: Sequence[Merged],
    top: int,
    left: int,
    header: int,
    body: Sequence[int],
    said: list[str],
) -> None:
    """Write the entry of a cell that was merged from several rows of the table into all of them."""
    inside, spread = set(body), []
    for (first, j), (last, right) in sorted(merged):
        among = [i for i in range(first - top, last - top + 1) if i in inside]
        name = f"{cell_name(first, j)}:{cell_name(last, right)}"
        if right > j and (among or first - top == header):
            raise ValueError(
                f"{label} has the merged cells {name}, which belong to several columns. In a table, each cell belongs "
                "to one row and one column: undo the merging, and write an entry, or a name, for each column."
            )
        if among and first - top <= header:
            raise ValueError(
                f"{label} has names of columns in several rows, since the cells {name} are merged. Write all names "
                f"into one row, row {top + header + 1}, and delete the others."
            )
        if among and last > first:
            for i in among:
                cells[i][j - left] = cells[first - top][j - left]
            spread.append(name)
    if spread:
        said.append(f"The entry of merged cells of {label} holds for all their rows: {errors.list_names(spread, 3)}.")


def _is_plain_text(cell: Any) -> bool:
    return isinstance(cell, str) and not (is_number(cell) or OTHER_NUMBER.fullmatch(cell))


#: Further rows of names, units or labels are at most so many.
_HEADER_ROWS = 4


def _refuse_two_headers(
    label: str, cells: list[list[Any]], header: int, body: Sequence[int], columns: Sequence[int], top: int
) -> None:
    """Raise an error if rows of names, units or labels follow the header: rows of text, in which columns begin that are
    numbers, dates or truth values otherwise."""

    def is_text(i: int) -> bool:
        return all(_is_empty(cells[i][j]) or _is_plain_text(cells[i][j]) for j in columns)

    k = next((k for k, i in enumerate(body) if not is_text(i)), 0)
    if not 0 < k <= _HEADER_ROWS:
        return
    found = {}
    for j in columns:
        above = [cells[i][j] for i in body[:k] if not _is_empty(cells[i][j])]
        below = [cells[i][j] for i in body[k:] if not _is_empty(cells[i][j])]
        if above and below and not any(map(_is_plain_text, below)):
            found[label_of(cells[header][j]) or ""] = above[0]
    others = sum(not _is_empty(cells[i][j]) for i in body[:k] for j in columns)
    if len(found) > 1 or (found and others == k):
        raise errors.second_header(label, [top + i + 1 for i in body[:k]], found, "row")


# What the columns hold.


def _kind(entry: Any) -> str:
    """What a cell holds, in words."""
    if isinstance(entry, bool):
        return "truth value"
    if isinstance(entry, int | float):
        return "number"
    if isinstance(entry, datetime.date):
        return "date"
    if isinstance(entry, datetime.time | datetime.timedelta):
        return "time"
    return "text"


#: How codes begin, such as zip codes.
_CODE = re.compile(r"\s*0[0-9]")


@dataclass
class Other:
    """An entry of a column that is not as most of the others are."""

    kind: str
    text: str
    cell: str
    #: Whether nearly all entries of the column are numbers, and whether some are.
    nearly_numbers: bool
    some_numbers: bool

    def __str__(self) -> str:
        cells = "; convert the cells of this column to numbers in the spreadsheet"
        doubtful = self.kind == "text" and OTHER_NUMBER.fullmatch(self.text) is not None
        return f"has the {self.kind} {self.text!r} in cell {self.cell}{cells if doubtful else ''}"


class SpreadsheetTable:
    """The table of a sheet, with typed columns."""

    def __init__(self, sheet: Sheet) -> None:
        import pyarrow as pa

        self.sheet = sheet
        #: The first entry of columns of text that is no number, where the others may be.
        self.others: dict[str, Other] = {}
        self.said = list(sheet.said)
        entries = [[row[j] for row in sheet.rows] for j in range(len(sheet.names))]
        self._convert_text(entries)
        empty = [
            name
            for name, column in zip(sheet.names, entries, strict=True)
            if sheet.rows and not any(entry is not None for entry in column)
        ]
        if empty:
            self.said.append(
                f"Columns of {sheet.label} without an entry: {errors.list_names(empty)}. (Formulas have values once a "
                "spreadsheet has saved the file.)"
            )
        self.table = pa.table(dict(zip(sheet.names, map(self._column, range(len(entries)), entries), strict=True)))
        # The columns have them now.
        sheet.rows = []

    def _convert_text(self, entries: list[list[Any]]) -> None:
        """Make numbers of text that is one without doubt, in columns that hold nothing else."""
        sheet = self.sheet
        texts = {
            name: j
            for j, name in enumerate(sheet.names)
            if any(isinstance(entry, str) and entry not in missing() for entry in entries[j])
            and all(entry is None or _kind(entry) in ("text", "number") for entry in entries[j])
        }
        lines = [[entry if isinstance(entry, str) else "" for entry in row] for row in sheet.rows]
        found = notations(enumerate(lines), texts, [], lambda text: text in missing())
        listed = []
        for name, (notation, text, row) in found.columns.items():
            column = entries[texts[name]]
            if notation.percent and any(isinstance(entry, float | int) for entry in column):
                continue
            column[:] = [notation.value(entry) if isinstance(entry, str) else entry for entry in column]
            listed.append(f"{name!r} ({text!r} in cell {sheet.cell(row, texts[name])} is {notation.value(text):.12g})")
        if listed:
            more = f" and {len(listed) - 5} more" if len(listed) > 5 else ""
            self.said.append(
                f"Numbers that are stored as text are read as numbers, in these columns of {sheet.label}: "
                f"{', '.join(listed[:5])}{more}."
            )
            errors.warn_user(self.said[-1], errors.NumberFormatWarning)

    def _column(self, j: int, entries: list[Any]) -> Any:
        """A column as an array of Arrow."""
        import pyarrow as pa

        known = {_kind(entry) for entry in entries if entry is not None}
        if "number" in known:
            # Among numbers, these are missing entries, as they are in CSV files.
            entries = [None if isinstance(entry, str) and entry in missing() else entry for entry in entries]
            known = {_kind(entry) for entry in entries if entry is not None}
        if known <= {"number"}:
            return pa.array([None if entry is None else float(entry) for entry in entries], "float64")
        if known == {"truth value"}:
            return pa.array(entries, "bool")
        if known == {"date"}:
            days = all(entry is None or type(entry) is datetime.date for entry in entries)
            moments = [entry if entry is None else _moment(entry) for entry in entries]
            return pa.array(entries, "date32") if days else pa.array(moments, "timestamp[us]")
        if known == {"time"}:
            return pa.array([entry if entry is None else _duration(entry) for entry in entries], "duration[us]")
        self._note_other(j, entries)
        return pa.array([label_of(entry) for entry in entries], "string")

    def _note_other(self, j: int, entries: list[Any]) -> None:
        """Note the first entry because of which a column is text, if some of its entries are numbers."""
        kinds = [None if entry is None else _kind(entry) for entry in entries]
        numbers = [
            kind == "number" or (kind == "text" and not _is_plain_text(entry))
            for kind, entry in zip(kinds, entries, strict=True)
        ]
        n, n_numbers = sum(kind is not None for kind in kinds), sum(numbers)
        strange = [i for i, kind in enumerate(kinds) if kind is not None and not numbers[i]]
        first = strange[0] if strange else next(i for i, kind in enumerate(kinds) if kind == "text")
        name = self.sheet.names[j]
        codes = [i for i, entry in enumerate(entries) if isinstance(entry, str) and _CODE.match(entry)]
        is_code = bool(codes) and not strange
        if is_code:
            self.said.append(
                f"Whole numbers that begin with zeros are codes and are read as text, in column {name!r} of "
                f"{self.sheet.label} ({entries[codes[0]]!r} in cell {self.sheet.cell(codes[0], j)})."
            )
        self.others[name] = Other(
            kinds[first] or "",
            label_of(entries[first]) or "",
            self.sheet.cell(first, j),
            nearly_numbers=n_numbers > 0 and ONE_OF * len(strange) <= n and not is_code,
            some_numbers=n_numbers > 0,
        )


def _moment(entry: Any) -> datetime.datetime:
    """A date as the moment at which it begins."""
    if isinstance(entry, datetime.datetime):
        return entry
    return datetime.datetime(entry.year, entry.month, entry.day)


def _duration(entry: Any) -> datetime.timedelta:
    """A time of a day as the time since it began."""
    if isinstance(entry, datetime.timedelta):
        return entry
    return datetime.timedelta(
        hours=entry.hour, minutes=entry.minute, seconds=entry.second, microseconds=entry.microsecond
    )


#: So many columns are described in a message.
_DESCRIBED = 5


class SpreadsheetFiles(ArrowFiles):
    """A sheet of each of the files, held in memory: names and types come from all of its rows."""

    line_name = "row {} of the sheet"
    to_save_memory = "Save the sheet as a CSV or Parquet file, which is read in blocks."

    def __init__(self, found: Found) -> None:
        try:
            import python_calamine  # noqa: F401
        except ImportError as error:
            raise errors.missing_extra("reading spreadsheets", "python-calamine", "excel") from error
        super().__init__(found)

    def _begin(self) -> None:
        self._tables: dict[int, SpreadsheetTable] = {}
        self.how_read = " ".join(self._table(0).said)

    @property
    def blanks(self) -> frozenset[str]:  # type: ignore[override] # known from pyarrow
        return missing()

    def _table(self, i: int) -> SpreadsheetTable:
        """The table of file i."""
        if i not in self._tables:
            self._tables[i] = SpreadsheetTable(read_sheet(self.found.paths[i], self.found.inside))
        return self._tables[i]

    @cached_property
    def fragments(self) -> list[Any]:
        return [self._table(i).table for i in range(len(self.found.paths))]

    def _own_schema_of(self, i: int) -> Any:
        return self._table(i).table.schema

    def _count(self, i: int) -> int:
        return int(self._table(i).table.num_rows)

    def _index_columns(self) -> list[str]:
        """The first column, if it has no name: so spreadsheets hold the index of a data frame."""
        names = self._own_schema.names
        return [""] if names[0] == "" else []

    def line_of(self, i: int, row: int) -> int | None:
        return self._table(i).sheet.numbers[row] + 1

    def _read_own(self, parts: dict[int, Any], schema: Any, threads: bool) -> Iterator[tuple[int, Any]]:
        import pyarrow as pa

        for i, table in parts.items():
            columns = [_as(table.column(field.name), field.type) for field in schema]
            for batch in pa.table(columns, schema=schema).to_batches():
                yield i, batch

    def after(self, i: int, rows: int) -> tuple[Any, int]:
        return self.fragments[i].slice(rows), 0

    def damaged_place(self, path: str, names: Sequence[str]) -> tuple[str, Any] | None:
        return None

    def why_not_numbers(self, columns: Sequence[str]) -> str:
        others = self._table(0).others
        return _described({name: others[name] for name in columns if name in others and others[name].some_numbers})

    def nearly_numbers(self, columns: Sequence[str]) -> str:
        others = self._table(0).others
        return _described({name: others[name] for name in columns if name in others and others[name].nearly_numbers})


def _as(column: Any, kind: Any) -> Any:
    """A column with another type, which a column of this name has in the first file."""
    import pyarrow as pa

    if column.type == kind:
        return column
    return pa.array(map(label_of, column.to_pylist()), kind) if pa.types.is_string(kind) else column.cast(kind)


def _described(others: dict[str, Other]) -> str:
    """What is wrong with columns that should be numbers, in words."""
    found = [f"column {name!r} {other}" for name, other in islice(others.items(), _DESCRIBED)]
    return "; ".join(found + ([f"and {len(others) - _DESCRIBED} more"] if len(others) > _DESCRIBED else []))


def refused_xls(found: Found) -> Any:
    """The error for a file in the format that Excel had until 2003."""
    raise ValueError(
        f"{found.paths[0]} has the format that Excel had until 2003 (.xls), which is not read. Open it in Excel or "
        "LibreOffice, save it as .xlsx, and read that file."
    )
