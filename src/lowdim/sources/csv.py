"""CSV files: header and types, how they are read, and the line of an entry that is no number."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import re
import zlib
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache, cached_property, partial
from itertools import groupby, islice
from typing import Any

from .. import errors
from .arrow import numeric_columns
from .arrow_files import ArrowFiles
from .notation import Notation, Notations, notations
from .scan import ColumnKind

# Entries of CSV files: which are numbers, which are missing, and columns that are text because of a few entries.


#: Texts that often stand for a missing value, in small letters. They are not read as one, since they may be names.
_SIGNS = frozenset({"", "-", "--", "?", ".", "*", "na", "n.a.", "missing", "none", "unknown"})
#: Numbers that are not written as they have to be: with another character before decimals, with separators of
#: thousands, with a percent sign or a sign of a currency, or between brackets, as accounts write negative ones.
_SIGN = "[-+]?[$%\u20ac\u00a3\u00a5]?"
OTHER_NUMBER = re.compile(
    rf"\s*\(?{_SIGN}\s*{_SIGN}(\d+([.,]\d+)?|\d{{1,3}}([,.'\u2019 \u00a0\u202f]\d{{3}})+([.,]\d+)?)\s*{_SIGN}\)?\s*"
)
#: Numbers with a decimal comma or without decimals; and those whose comma may also separate thousands.
_DECIMAL_COMMA = re.compile(r"\s*[-+]?(\d+,?\d*|,\d+)([eE][-+]?\d+)?\s*")
_MAY_BE_THOUSANDS = re.compile(r"\s*[-+]?[1-9]\d{0,2},\d{3}\s*")
#: A column is nearly numbers if at most one of so many entries is other text.
ONE_OF = 10


@dataclass
class FirstText:
    """The first entry of a column that is neither a number nor missing, and what the other entries are."""

    text: str
    line: int
    #: Whether a number or a missing value comes before it.
    comes_later: bool
    #: The character before decimals, as the file is read.
    decimal: str = "."
    #: How many entries are numbers, however they are written, and how many are other text. Missing values and signs
    #: that often stand for them are neither.
    numbers: int = 0
    texts: int = 0

    @property
    def is_nearly_numbers(self) -> bool:
        """Whether the column is numbers, but for few entries."""
        return self.numbers > 0 and ONE_OF * self.texts <= self.numbers + self.texts

    def __str__(self) -> str:
        return f"has the text {self.text!r} in line {self.line}{advice(self.text, self.decimal)}"


def first_texts(
    lines: Iterable[tuple[int, list[str]]], columns: Mapping[str, int], n: int, decimal: str = "."
) -> dict[str, FirstText]:
    """What is found in `columns`, which are given with their numbers, in `n` rows with the numbers of their lines."""
    found: dict[str, FirstText] = {}
    numbers = dict.fromkeys(columns, 0)
    waiting = dict(columns)
    for count, (line, fields) in enumerate(lines):
        for name, j in list(waiting.items()):
            text = fields[j] if j < len(fields) else ""
            if text in missing():
                continue
            if is_number(text, decimal):
                numbers[name] += 1
                continue
            first = found.setdefault(name, FirstText(text, line, count > 0, decimal))
            if OTHER_NUMBER.fullmatch(text):
                numbers[name] += 1
            elif text.strip() not in missing() and text.strip().lower() not in _SIGNS:
                first.texts += 1
                if ONE_OF * first.texts > n:
                    # However many numbers follow, they are too few.
                    del waiting[name]
        if not waiting:
            break
    for name, first in found.items():
        first.numbers = numbers[name]
    return found


def is_number(text: str, decimal: str = ".") -> bool:
    """Whether a text is a number, as it has to be written."""
    if decimal == ",":
        text = "no" if "." in text else text.replace(",", ".")
    try:
        float(text)
    except ValueError:
        return False
    # In Python, but not in files, 1_000 is a number.
    return "_" not in text


@cache
def missing() -> frozenset[str]:
    """How missing values are written."""
    from pyarrow.csv import ConvertOptions

    return frozenset(ConvertOptions().null_values)


def why_not(text: str, kind: Any, decimal: str) -> str:
    """Why a text is not of the type of its column; empty if it is, or if it is missing."""
    import pyarrow as pa
    from pyarrow.csv import ConvertOptions

    if text in missing():
        return ""
    if pa.types.is_floating(kind) or pa.types.is_integer(kind):
        return "" if is_number(text, decimal) else f"is not a number{advice(text, decimal)}"
    if pa.types.is_boolean(kind):
        known = [*ConvertOptions().true_values, *ConvertOptions().false_values]
        return "" if text.strip() in known else "is neither true nor false, as the entries before it are"
    return ""


def advice(text: str, decimal: str = ".") -> str:
    """How an entry that is not a number should have been written; empty if nothing is known."""
    if is_number(text, decimal):
        return ""
    if decimal == "." and "," in text and _DECIMAL_COMMA.fullmatch(text):
        if _MAY_BE_THOUSANDS.fullmatch(text):
            return "; pass decimal=',' if its comma is before decimals, or decimal='.' if it separates thousands"
        return "; if its comma is before decimals, pass decimal=',', otherwise write thousands without a separator"
    other = "," if decimal == "." else "."
    if Notation(other, decimal).value(text) is not None:
        points, comma = ("points", "a comma") if other == "," else ("commas", "a point")
        return f"; if the file has {comma} before decimals and {points} between thousands, pass decimal={other!r}"
    if OTHER_NUMBER.fullmatch(text):
        return (
            f"; decimals have to be written with a {'point' if decimal == '.' else 'comma'}, thousands without a "
            "separator, and numbers without signs of percent or currencies, or brackets"
        )
    if text.strip().lower() in _SIGNS or text.strip() in missing():
        return "; missing values are written as an empty field or NA, without blanks"
    return ""


# Lines of CSV files: the header and its separator, and the fields of each line with its number.


#: Separators that are recognised in the header.
_BAR = "|"
_SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", _BAR: "vertical bars"}
#: A title is looked for in so many lines, and names are shorter than so many characters.
_TITLE_LINES, _NAME_LENGTH = 10, 80
#: The header has to end within this many bytes.
_HEADER_BYTES = 16 << 20


#: The line by which Excel is told the separator.
_DECLARED = re.compile(rb'(?:\xef\xbb\xbf)?"?sep=(.)"?[;,\t]*\r?\n', re.IGNORECASE)


@dataclass(frozen=True)
class HeaderLine:
    """The line of a file that names the columns."""

    text: str
    #: Whether the line ends.
    ends: bool
    #: The separator that a line such as "sep=;" before it declares; empty if there is none.
    declared: str = ""


def header_line(path: str) -> HeaderLine:
    """The header of a file, without the mark at the beginning that some editors write."""
    with opened(path) as file:
        line = file.readline(_HEADER_BYTES)
        declared = _DECLARED.fullmatch(line)
        if declared:
            line = file.readline(_HEADER_BYTES)
    if line.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)):
        raise errors.csv_encoding(path, "UTF-32", "utf-32")
    if line.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise errors.csv_encoding(path, "UTF-16", "utf-16")
    if b"\0" in line:
        raise errors.csv_encoding(path, "UTF-16 or UTF-32, or is no text", "utf-16")
    try:
        # Lines may also end with a single "\r".
        text, *rest = re.split("[\r\n]", line.decode("utf-8-sig"), maxsplit=1)
    except UnicodeDecodeError:
        raise errors.csv_encoding(path, "another encoding than UTF-8") from None
    if not text:
        raise errors.csv_header(path, [])
    return HeaderLine(text, bool(rest), declared[1].decode("latin-1") if declared else "")


@dataclass(frozen=True)
class Layout:
    """Where the columns of a file are."""

    #: Their names, in their order. Columns at the end that have neither a name nor an entry are left out.
    names: list[str]
    #: The number of fields in a line.
    n_fields: int
    #: The number of lines before the header.
    before: int
    #: Whether the header ends; pyarrow refuses to read a file in which it does not.
    ends: bool

    @property
    def is_usual(self) -> bool:
        """Whether the first line names all fields."""
        return not self.before and len(self.names) == self.n_fields


def refuse_title(path: str, header: Sequence[str], before: int) -> None:
    """Raise an error if a title is where the names should be: a first line with one field, and below it a line with
    several, all of which are names."""
    if sum(bool(name.strip()) for name in header) != 1:
        return
    with opened(path) as file:
        lines = [file.readline(_HEADER_BYTES) for _ in range(before + _TITLE_LINES)]
    for number, line in enumerate(lines[before + 1 :], before + 2):
        text = line.decode("utf-8-sig", "replace").rstrip("\r\n")
        fields = [field.strip() for field in fields_of(text, separator_of(text))] if text else []
        if sum(map(bool, fields)) > 1:
            # Lines of text with commas are no names if the header is one name.
            named = all(field and not is_number(field) and len(field) < _NAME_LENGTH for field in fields)
            if named and len(fields) >= len(header):
                title = next(filter(str.strip, header))
                raise ValueError(
                    f"{path} begins with {title!r}, which looks like a title: line {number} has the names "
                    f"{errors.list_names(fields)}. The first line must hold the names of the columns: delete the lines "
                    f"above line {number}."
                )
            return


def separator_of(header: str) -> str:
    """The separator that is found most often outside of quotes; a vertical bar only if there is no other; a comma if
    there is none."""
    plain = re.sub(r'"[^"]*"', "", header)
    usual = [separator for separator in _SEPARATORS if separator != _BAR]
    return _BAR if _BAR in plain and not any(map(plain.count, usual)) else max(usual, key=plain.count)


def longer_of_two(path: str) -> int:
    """The number of bytes of the first line, or of the second if that is longer."""
    with opened(path) as file:
        return max(len(file.readline(_HEADER_BYTES)) for _ in range(2))


def fields_of(line: str, separator: str) -> list[str]:
    """The fields of a single line."""
    return next(csv.reader([line], delimiter=separator))


def is_whole(line: str, separator: str) -> bool:
    """Whether no field goes on in the next line, as one between quotes could."""
    reader = csv.reader([line, ""], delimiter=separator)
    next(reader)
    return reader.line_num == 1


def rows(path: str, separator: str, start: int = 0, before: int = 0) -> Iterator[tuple[int, list[str]]]:
    """The fields of each line that is not empty, with the number of the line in which they end; those of row `start`
    come first. Lines count from 1; the header, and lines `before` it, are no rows."""
    with opened(path) as file, io.TextIOWrapper(file, encoding="utf-8-sig", errors="replace", newline="") as text:
        reader = csv.reader(text, delimiter=separator)
        # A field that is too long for Python ends the search.
        with suppress(csv.Error):
            filled = filter(None, reader)
            # This skips lines much faster than a loop could.
            deque(islice(filled, before + 1 + start), maxlen=0)
            for fields in filled:
                yield reader.line_num, fields


def has_odd_quotes(path: str, tail: int) -> bool:
    """Whether the number of quotes in a file is odd. Only the last `tail` bytes are read if there is no quote in them,
    and the result is then False."""
    with opened(path) as file:
        if not is_compressed(path):
            file.seek(max(0, file.seek(0, io.SEEK_END) - tail))
            if b'"' not in file.read():
                return False
            file.seek(0)
        return sum(part.count(b'"') for part in iter(partial(file.read, 1 << 20), b"")) % 2 == 1


def line_of_open_quote(path: str, separator: str) -> int | None:
    """The line of the first row with a quote that is opened and not closed at the end of its field: not before the end
    of the file, for very long, or within a field. None if there is none."""
    line = 1
    with opened(path) as file, io.TextIOWrapper(file, encoding="utf-8-sig", errors="replace", newline="") as text:
        reader = csv.reader(text, delimiter=separator, strict=True)
        try:
            for _ in reader:
                line = reader.line_num + 1
        except csv.Error:
            return line
    return None


def opened(path: str) -> Any:
    """The file, decompressed where it is compressed."""
    return gzip.open(path, "rb") if is_compressed(path) else open(path, "rb")


def is_compressed(path: str) -> bool:
    """Whether the name of a file says that it is compressed."""
    return path.lower().endswith(".gz")


#: CSV files of up to this many bytes in all are counted when they are opened.
_COUNTED_BYTES = 16 << 20
#: A compressed file is taken to hold this many times its size.
_COMPRESSION = 8
#: The line of an entry is looked for up to this many rows.
_COUNTED_ROWS = 5_000_000
#: Blocks of text that pyarrow parses have at least this many bytes, and at least the length of so many lines.
_BLOCK_BYTES, _LINES = 1 << 20, 16
#: Further lines of a header are looked for among so many rows, and are at most so many.
_LOOKED_AT, _HEADER_LINES = 20, 4
#: A column without a name is empty if it has no entry in so many rows.
_EMPTY_ROWS = 10_000
#: So many columns that should be numbers are described in a message.
_DESCRIBED = 5


class CsvFiles(ArrowFiles):
    """CSV files with a header. The types are those of the first file with rows; integers are read as floats."""

    _further_errors = (csv.Error, EOFError, zlib.error)

    @property
    def blanks(self) -> frozenset[str]:  # type: ignore[override] # known from pyarrow
        return missing()

    def _begin(self) -> None:
        #: Where the columns of the files are that were opened so far.
        self._layouts: dict[int, Layout] = {}
        with self.opening(0):
            line = header_line(self.found.paths[0])
        self._separator = line.declared or separator_of(line.text)
        self._decimal = self.found.decimal or "."
        #: How the numbers of columns are written that pyarrow would take for text.
        self._notations: dict[str, Notation] = {}
        i, kinds = self._types()
        #: Columns of whole numbers that begin with zeros, as codes do: the first such entry, and its line.
        self._codes = self._leading_zeros(i, kinds)
        before = self._decimal
        self._find_notations(i, kinds)
        #: The first file with rows, and the types of its columns.
        self._typed = (i, kinds) if self._decimal == before else self._types()
        self.how_read = " ".join(filter(None, [self.how_read, self._codes_in_words()]))

    def _leading_zeros(self, i: int, kinds: Mapping[str, Any]) -> dict[str, tuple[str, int]]:
        """Columns of whole numbers such as 00123, in the rows that give the columns their types."""
        import pyarrow as pa
        import pyarrow.compute as pc

        whole = [name for name, kind in kinds.items() if pa.types.is_integer(kind)]
        if not whole:
            return {}
        found = {}
        text = pa.schema([(name, pa.string()) for name in whole])
        with self._located(i), self._reader(i, include_columns=whole, column_types=text) as reader:
            batch = reader.read_next_batch()
        for name in whole:
            row = pc.index(pc.match_substring_regex(batch.column(name), r"^\s*0[0-9]"), True).as_py()
            if row >= 0:
                found[name] = batch.column(name)[row].as_py(), next(self._rows(i, row))[0]
        return found

    def _codes_in_words(self) -> str:
        """Which columns of whole numbers are read as text, in a sentence."""
        if not self._codes:
            return ""
        listed = [f"{name!r} ({text!r} in line {line})" for name, (text, line) in self._codes.items()]
        more = len(listed) - _DESCRIBED
        columns = ", ".join(listed[:_DESCRIBED]) + (f" and {more} more" if more > 0 else "")
        return (
            f"Whole numbers that begin with zeros are codes and are read as text, in these columns of {self.label}: "
            f"{columns}."
        )

    def _find_notations(self, i: int, kinds: Mapping[str, Any]) -> None:
        """Look for decimal commas, separators of thousands, percent signs and signs of currencies in the rows that give
        the columns their types."""
        import pyarrow as pa

        numeric, header = set(numeric_columns(self._schema_of_types(kinds))), self._layout(i).names
        texts = {name: j for j, name in enumerate(header) if name in kinds and pa.types.is_string(kinds[name])}
        if not texts:
            return
        self._refuse_second_header(i)
        n, numbers = self._n_typed(i), [j for j, name in enumerate(header) if name in numeric]
        found = notations(
            islice(self._rows(i), n),
            texts,
            numbers,
            missing().__contains__,
            given=self.found.decimal,
            may_be_comma=self._separator != ",",
        )
        self._decimal = found.decimal
        # pyarrow reads decimal commas itself.
        self._notations = {
            name: notation for name, notation in found.written.items() if found.decimal == "." or not notation.is_plain
        }
        said = [self._commas_in_words(found), self._notations_in_words(found)]
        self.how_read = " ".join(filter(None, said))
        if self.found.decimal is None and self.how_read:
            errors.warn_user(
                f"{self.how_read[:-1]}; decimal={found.decimal!r} says that this is right.", errors.NumberFormatWarning
            )

    def _commas_in_words(self, found: Notations) -> str:
        """That numbers are read with decimal commas, in a sentence; empty if they are not, or if the user said so."""
        if found.evidence is None:
            return ""
        name, text, line = found.evidence
        what = "with decimal commas" if "," in text else "with points between thousands and decimal commas"
        return (
            f"The numbers of {self.label} are read {what}, as in {text!r} in line {line} of column {name!r} "
            "(decimal='.' would take such entries for text)."
        )

    def _notations_in_words(self, found: Notations) -> str:
        """Which columns are read without their separators and signs, in a sentence; empty if there are none."""
        known = [(name, *found.columns[name]) for name in self._notations]
        listed = [
            f"{name!r} ({text!r} in line {line} is {notation.value(text):.12g})"
            for name, notation, text, line in known[:_DESCRIBED]
        ]
        if not listed:
            return ""
        columns = ", ".join(listed) + (f" and {len(known) - _DESCRIBED} more" if len(known) > _DESCRIBED else "")
        return (
            f"Text with separators of thousands, percent signs or signs of currencies is read as numbers, in these "
            f"columns of {self.label}: {columns}."
        )

    def _refuse_second_header(self, i: int) -> None:
        """Raise an error if lines of names, units or labels follow the header: lines of text, in which columns begin
        that are numbers otherwise."""
        header = self._layout(i).names
        first = list(islice(self._rows(i), _LOOKED_AT))
        k = next((k for k, (_, fields) in enumerate(first) if any(map(_is_written_number, fields))), 0)
        if not 0 < k <= _HEADER_LINES:
            return
        columns = {}
        for j, name in enumerate(header):
            above, below = ([fields[j] for _, fields in part if j < len(fields)] for part in (first[:k], first[k:]))
            text = next((text for text in above if text.strip().lower() not in _SIGNS | missing()), None)
            known = [text for text in below if text not in missing()]
            if text is not None and known and all(map(_is_written_number, known)):
                columns[name] = text
        others = [text for _, fields in first[:k] for text in fields if text.strip()]
        if len(columns) > 1 or (columns and len(others) == k):
            raise errors.second_header(self.found.paths[i], [line for line, _ in first[:k]], columns)

    @cached_property
    def format(self) -> Any:
        from pyarrow.csv import ConvertOptions
        from pyarrow.dataset import CsvFileFormat, CsvFragmentScanOptions

        convert = ConvertOptions(decimal_point=self._decimal)
        options = CsvFragmentScanOptions(convert_options=convert, read_options=self._read_options)
        return CsvFileFormat(parse_options=self._parse_options, default_fragment_scan_options=options)

    @cached_property
    def _parse_options(self) -> Any:
        from pyarrow.csv import ParseOptions

        return ParseOptions(delimiter=self._separator, newlines_in_values=True)

    @cached_property
    def _read_options(self) -> Any:
        """Blocks are at least as long as several lines: pyarrow needs one whole line in each."""
        from pyarrow.csv import ReadOptions

        with self.opening(0):
            longest = longer_of_two(self.found.paths[0])
        return ReadOptions(block_size=max(_BLOCK_BYTES, _LINES * longest))

    @contextmanager
    def _reader(self, i: int, *, threads: bool = True, **converted: Any) -> Iterator[Any]:
        """A reader of the batches of file i. `converted`: columns and types; those of the first block if not given."""
        import pyarrow as pa
        from pyarrow.csv import ConvertOptions, ReadOptions, open_csv

        path, layout = self.found.paths[i], self._layout(i)
        read = ReadOptions(
            use_threads=threads,
            block_size=self._read_options.block_size,
            skip_rows=layout.before,
        )
        if len(layout.names) < layout.n_fields:
            # The names of empty columns need only be different from the others.
            read.column_names = [*layout.names, *(f"\0{j}" for j in range(layout.n_fields - len(layout.names)))]
            read.skip_rows += 1
        with (
            pa.input_stream(path, compression="gzip" if is_compressed(path) else None) as stream,
            open_csv(
                stream, read, self._parse_options, ConvertOptions(decimal_point=self._decimal, **converted)
            ) as reader,
        ):
            yield reader

    def _layout(self, i: int) -> Layout:
        """Where the columns of file i are."""
        if i not in self._layouts:
            path = self.found.paths[i]
            with self.opening(i):
                line = header_line(path)
                fields = fields_of(line.text, self._separator)
            if not is_whole(line.text, self._separator):
                raise ValueError(
                    f"{path} has a header that does not end with the first line: a quote is open there. Line breaks "
                    "within the name of a column are not supported; rename it."
                )
            before = 1 if line.declared else 0
            with self.opening(i):
                refuse_title(path, fields, before)
            own = line.declared or separator_of(line.text)
            if len(fields) == 1 and own != self._separator:
                raise ValueError(
                    f"{path} is separated by {_SEPARATORS.get(own, own)}, and the first file, {self.found.paths[0]}, "
                    f"by {_SEPARATORS.get(self._separator, self._separator)}. All CSV files of a table must be "
                    "separated by the same character: write this one again, or leave it out."
                )
            if all(is_number(name) for name in fields):
                raise errors.csv_header(path, fields)
            names = self._without_empty_columns(i, fields, before)
            twice = [name for name in dict.fromkeys(names) if names.count(name) > 1]
            if twice == [""]:
                raise errors.no_names(path, [f"{j + 1}" for j, name in enumerate(names) if not name])
            if twice:
                raise errors.duplicate_columns(path, twice, can_leave_out=False)
            self._refuse_open_quote(i)
            self._layouts[i] = Layout(names, len(fields), before, line.ends)
        return self._layouts[i]

    def _without_empty_columns(self, i: int, fields: list[str], before: int) -> list[str]:
        """The names of the columns, without those at the end that have neither a name nor, in the first lines, an
        entry: separators at the end of each line make such columns."""
        n = len(fields)
        while n > 1 and not fields[n - 1].strip():
            n -= 1
        if n == len(fields):
            return fields
        with self.opening(i):
            lines = islice(rows(self.found.paths[i], self._separator, before=before), _EMPTY_ROWS)
            filled = any(any(text.strip() for text in line[n:]) for _, line in lines)
        return fields if filled else fields[:n]

    def _rows(self, i: int, start: int = 0) -> Iterator[tuple[int, list[str]]]:
        """The fields of the rows of file i from row `start` on, each with its line."""
        return rows(self.found.paths[i], self._separator, start, self._layout(i).before)

    def _refuse_open_quote(self, i: int) -> None:
        """Raise an error if a quote is never closed: pyarrow would take all lines behind it for one field. If that is
        longer than two blocks, it is an error of pyarrow, so that only files with quotes near their end are looked at;
        compressed files have to be read for it, and are, if they are small."""
        file = self.found.files[i]
        if is_compressed(file.path) and file.size * _COMPRESSION > _COUNTED_BYTES:
            return
        with self.opening(i):
            odd = has_odd_quotes(file.path, 3 * _BLOCK_BYTES)
            line = line_of_open_quote(file.path, self._separator) if odd else None
        if line is not None:
            raise errors.unreadable_file(file.path, f" in line {line}", errors.open_quote())

    def _may_have_rows(self, i: int) -> bool:
        """Whether the line of names of file i has an end. pyarrow refuses to read a file in which it has none."""
        return self._layout(i).ends

    def _types(self) -> tuple[int, dict[str, Any]]:
        """The first file with rows, and the types of its columns, from its first block."""
        import pyarrow as pa

        i, found = 0, {}
        for i in range(len(self.found.paths)):
            if not self._may_have_rows(i):
                continue
            with self._located(i), self._reader(i) as reader:
                found = {field.name: field.type for field in reader.schema}
            if not all(pa.types.is_null(kind) for kind in found.values()):
                break
        return i, found

    @cached_property
    def _own_schema(self) -> Any:
        """Names and types, from the first block of the first file with rows."""
        import pyarrow as pa

        return self._schema_of_types({name: self._typed[1].get(name, pa.null()) for name in self._layout(0).names})

    def _schema_of_types(self, kinds: Mapping[str, Any]) -> Any:
        import pyarrow as pa

        def type_of(name: str, kind: Any) -> Any:
            if name in self._codes:
                return pa.string()
            # A column without an entry may have numbers later.
            return pa.float64() if pa.types.is_null(kind) or name in self._notations else kind

        return pa.schema([(name, type_of(name, kind)) for name, kind in kinds.items()])

    def kind_of(self, name: str) -> ColumnKind:
        import pyarrow as pa

        if pa.types.is_binary(self.schema.field(name).type):
            raise errors.csv_encoding(self.label, f"another encoding than UTF-8, as column {name!r} shows")
        return super().kind_of(name)

    def stored_field(self, name: str) -> Any:
        import pyarrow as pa

        # A number such as 00042 may be a name.
        return super().stored_field(name) if name in self._keys else pa.field(name, pa.string())

    def _own_schema_of(self, i: int) -> Any:
        import pyarrow as pa

        kinds = {field.name: field.type for field in self._own_schema}
        # Floats may come where there were only integers so far.
        read = {name: pa.float64() if pa.types.is_integer(kind) else kind for name, kind in kinds.items()}
        return pa.schema([(name, read.get(name, pa.string())) for name in self._layout(i).names])

    def counts(self) -> list[int] | None:
        n_bytes = sum(file.size * (_COMPRESSION if is_compressed(file.path) else 1) for file in self.found.files)
        return None if n_bytes > _COUNTED_BYTES else super().counts()

    def _count(self, i: int) -> int:
        """The number of rows of file i. One pass over it."""
        with self._located(i):
            if not self._may_have_rows(i):
                return 0
            if self._is_scannable(i):
                return int(self.fragments[i].count_rows())
            return sum(batch.num_rows for _, batch in self._streamed(i, self._own_schema_of(i)))

    @contextmanager
    def _located(self, i: int) -> Iterator[None]:
        """Context in which file i is read; an error names the line."""
        import pyarrow as pa

        try:
            yield
        except (pa.ArrowException, OSError) as error:
            raise self.error(i, [], error) from error

    def _index_columns(self) -> list[str]:
        """The first column if it alone has no name: so pandas and R write the index, or the names of the rows."""
        header = self._layout(0).names
        return [""] if header[0] == "" and header.count("") == 1 else []

    @cached_property
    def _texts(self) -> dict[str, FirstText]:
        """The first text in each column that is not numbers, from the rows that gave the columns their types."""
        i = self._typed[0]
        numeric, header = set(numeric_columns(self._own_schema)), self._layout(i).names
        names = self._own_schema.names
        others = {name: header.index(name) for name in names if name not in numeric and name in header}
        n = self._n_typed(i)
        return first_texts(islice(self._rows(i), n), others, n, self._decimal)

    def _n_typed(self, i: int) -> int:
        """The number of rows in the first block of file i."""
        with self._reader(i) as reader:
            return int(reader.read_next_batch().num_rows)

    def why_not_numbers(self, columns: Sequence[str]) -> str:
        """Where text begins in columns that begin with numbers; empty if there is no such column."""
        known = self._among(columns).items()
        why = _described({name: text for name, text in known if text.comes_later or advice(text.text, self._decimal)})
        codes = [
            f"column {name!r} has numbers that begin with zeros, as codes do, such as {text!r} in line {line}"
            for name, (text, line) in self._codes.items()
            if name in columns
        ]
        return "; ".join(filter(None, [why, *codes[:_DESCRIBED]]))

    def nearly_numbers(self, columns: Sequence[str]) -> str:
        return _described({name: text for name, text in self._among(columns).items() if text.is_nearly_numbers})

    def _among(self, columns: Sequence[str]) -> dict[str, FirstText]:
        return {name: self._texts[name] for name in columns if name in self._texts}

    def _is_scannable(self, i: int) -> bool:
        """Whether pyarrow.dataset reads a file: its first line names all fields, and if it is compressed, its suffix,
        by which that is known, is in small letters."""
        path = self.found.paths[i]
        return self._layout(i).is_usual and (not is_compressed(path) or path.endswith(".gz"))

    def _read_own(self, parts: dict[int, Any], schema: Any, threads: bool) -> Iterator[tuple[int, Any]]:
        filled = [i for i in parts if self._may_have_rows(i)]
        for scannable, group in groupby(filled, key=self._is_scannable):
            if scannable:
                yield from self._scanned({i: parts[i] for i in group}, schema)
            else:
                for i in group:
                    yield from self._streamed(i, schema)

    def _scanned(self, parts: dict[int, Any], schema: Any) -> Iterator[tuple[int, Any]]:
        """Batches of several files, which pyarrow.dataset reads ahead."""
        from pyarrow.dataset import FileSystemDataset

        numbers = iter(parts)
        here = next(numbers)
        read = self._as_read(schema)
        scanner = FileSystemDataset(list(parts.values()), read, self.format).scanner(columns=schema.names)
        for tagged in scanner.scan_batches():
            while self.found.paths[here] != tagged.fragment.path:
                here = next(numbers)
            yield here, self._converted(tagged.record_batch, schema)

    def _streamed(self, i: int, schema: Any, *, threads: bool = True) -> Iterator[tuple[int, Any]]:
        """Batches of one file."""
        read = self._as_read(schema)
        with self._reader(i, threads=threads, include_columns=schema.names, column_types=read) as batches:
            for batch in batches:
                yield i, self._converted(batch, schema)

    def _written(self, schema: Any) -> dict[int, Notation]:
        """The columns, by their numbers in a schema, whose text has to become numbers."""
        import pyarrow as pa

        known = self._notations
        return {j: known[f.name] for j, f in enumerate(schema) if f.name in known and pa.types.is_floating(f.type)}

    def _as_read(self, schema: Any) -> Any:
        """The types in which pyarrow reads columns that then have the types of a schema."""
        import pyarrow as pa

        for j in self._written(schema):
            schema = schema.set(j, pa.field(schema.names[j], pa.string()))
        return schema

    def _converted(self, batch: Any, schema: Any) -> Any:
        """A batch as it was read, with the types of a schema."""
        import pyarrow as pa
        import pyarrow.compute as pc

        written = self._written(schema)
        if not written:
            return batch
        columns, blanks = list(batch.columns), pa.array(sorted(missing()))
        for j, notation in written.items():
            known = pc.if_else(pc.is_in(columns[j], value_set=blanks), pa.scalar(None, pa.string()), columns[j])
            columns[j] = notation.numbers(known)
        return pa.RecordBatch.from_arrays(columns, schema=schema)

    def damaged_place(self, path: str, names: Sequence[str]) -> tuple[str, Any] | None:
        """The first line with another number of fields, or with text where numbers were expected.

        pyarrow, which does not tell the line, reads the rows before it again; only the block behind them is searched
        here.
        """
        i = self.found.paths.index(path)
        kinds = {name: self._own_schema.field(name).type for name in names}
        try:
            layout = self._layout(i)
            for line, fields in self._rows(i, start=self._count_sound(i, names)):
                if len(fields) != layout.n_fields:
                    counts = f"it has {_n(len(fields), 'field')}, and the header names {_n(layout.n_fields, 'column')}"
                    names = "; if its first field is the name of the row, give this column a name in the header"
                    return f" in line {line}", counts + (names if len(fields) == layout.n_fields + 1 else "")
                for name, text in zip(layout.names, fields, strict=False):
                    wrong = name in kinds and self._why_not(name, text, kinds[name])
                    if wrong:
                        return f" in line {line}", f"{text!r} in column {name!r} {wrong}"
            open_line = line_of_open_quote(path, self._separator)
        except (OSError, EOFError, csv.Error, zlib.error) as error:
            return "", error
        return None if open_line is None else (f" in line {open_line}", errors.open_quote())

    def _why_not(self, name: str, text: str, kind: Any) -> str:
        """Why a text is not of the type of its column; empty if it is."""
        if name not in self._notations:
            return why_not(text, kind, self._decimal)
        notation = self._notations[name]
        if text in missing() or notation.value(text) is not None:
            return ""
        return f"is not a number that is written as those before it: {notation}"

    def _count_sound(self, i: int, names: Sequence[str]) -> int:
        """The number of rows of file i in blocks before the first one in which these columns cannot be read."""
        import pyarrow as pa

        n = 0
        if names:
            kinds = pa.schema([self._own_schema_of(i).field(name) for name in names])
        else:
            # Some column has to be read; in bytes nothing is wrong.
            kinds = pa.schema([(self._layout(i).names[0], pa.binary())])
        try:
            for _, batch in self._streamed(i, kinds, threads=False):
                n += batch.num_rows
        except (pa.ArrowException, OSError):
            pass
        return n

    def line_of(self, i: int, row: int) -> int | None:
        """The line of a row of file i, counted from 1 as editors do; None if it would take long to find."""
        if row > _COUNTED_ROWS:
            return None
        return next((line for line, _ in self._rows(i, start=row)), None)


def _n(n: int, noun: str) -> str:
    return f"{n} {noun}{'' if n == 1 else 's'}"


def _is_written_number(text: str) -> bool:
    """Whether a text is a number, in whatever notation."""
    return is_number(text) or OTHER_NUMBER.fullmatch(text) is not None


def _described(texts: dict[str, FirstText]) -> str:
    """What is wrong with columns that should be numbers, in words."""
    found = [f"column {name!r} {text}" for name, text in islice(texts.items(), _DESCRIBED)]
    return "; ".join(found + ([f"and {len(texts) - _DESCRIBED} more"] if len(texts) > _DESCRIBED else []))
