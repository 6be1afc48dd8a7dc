"""CSV files: separator, header and types, and the line of an entry that is no number."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import re
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import cached_property, partial
from itertools import islice
from typing import Any

from ...errors import csv_encoding, csv_header, csv_line_break_in_header, other_separator, unreadable_file
from ..stamps import Found
from .formats import FileFormat

#: Separators that are recognised in the header.
_SEPARATORS = ",;\t"
#: The header has to end within this many bytes.
_HEADER_BYTES = 16 << 20
#: CSV files of up to this many bytes in all are counted when they are opened.
_COUNTED_BYTES = 16 << 20
#: A compressed file is taken to hold this many times its size.
_COMPRESSION = 8
#: The line of an entry is looked for up to this many rows.
_COUNTED_ROWS = 5_000_000
#: Blocks of text that pyarrow parses have at least this many bytes, and at least the length of so many lines.
_BLOCK_BYTES, _LINES = 1 << 20, 16
#: Text in a column of numbers is looked for in this many rows.
_EXPLAINED_ROWS = 200_000
#: Numbers with a decimal comma are looked for in this many rows.
_COMPARED_ROWS = 200


class CsvFormat(FileFormat):
    """CSV files with a header. The types are those of the first file with rows; integers are read as floats."""

    def __init__(self, found: Found) -> None:
        super().__init__(found)
        self._headers: dict[int, list[str]] = {}
        line = self.opened(0, lambda: _first_line(found.paths[0]))
        self._separator = _separator_of(line)

    @cached_property
    def format(self) -> Any:
        from pyarrow.dataset import CsvFileFormat, CsvFragmentScanOptions

        options = CsvFragmentScanOptions(read_options=self._read_options)
        return CsvFileFormat(parse_options=self._parse_options, default_fragment_scan_options=options)

    @cached_property
    def _parse_options(self) -> Any:
        from pyarrow.csv import ParseOptions

        return ParseOptions(delimiter=self._separator)

    @cached_property
    def _read_options(self) -> Any:
        """Blocks are at least as long as several lines: pyarrow needs one whole line in each."""
        from pyarrow.csv import ReadOptions

        longest = self.opened(0, lambda: _longer_of_two(self.found.paths[0]))
        return ReadOptions(block_size=max(_BLOCK_BYTES, _LINES * longest))

    def opened(self, i: int, read: Any) -> Any:
        try:
            return super().opened(i, read)
        except (csv.Error, EOFError, zlib.error) as error:
            raise unreadable_file(self.found.paths[i], " at its beginning", error) from error

    def _lines(self, i: int) -> Iterator[tuple[int, list[str]]]:
        """The fields of each line of file i that is not empty, with the number of the line; the first is the header."""
        return _rows(self.found.paths[i], self._separator)

    def _header(self, i: int) -> list[str]:
        """The names of the columns of file i."""
        if i not in self._headers:
            path = self.found.paths[i]
            line = self.opened(i, lambda: _first_line(path))
            names = self.opened(i, lambda: _fields(line, self._separator))
            if not _is_whole(line, self._separator):
                raise csv_line_break_in_header(path)
            own = _separator_of(line)
            if len(names) == 1 and own != self._separator:
                raise other_separator(path, own, self.found.paths[0], self._separator)
            if all(_is_number(name) for name in names):
                raise csv_header(path, names)
            self._headers[i] = names
        return self._headers[i]

    @cached_property
    def schema(self) -> Any:
        """Names and types, from the first block of the first file with rows."""
        import pyarrow as pa
        from pyarrow.csv import open_csv

        names = self._header(0)
        for i, path in enumerate(self.found.paths):
            with self._located(i, partial(open_csv, path, self._read_options, self._parse_options)) as reader:
                found = {field.name: field.type for field in reader.schema}
            if not all(pa.types.is_null(kind) for kind in found.values()):
                break
        # A column without an entry may have numbers later.
        return pa.schema([(name, _or_float(found.get(name, pa.null()))) for name in names])

    def stored_field(self, name: str) -> Any:
        import pyarrow as pa

        # A number such as 00042 may be a name.
        return pa.field(name, pa.string())

    def schema_of(self, i: int) -> Any:
        import pyarrow as pa

        kinds = {field.name: field.type for field in self.schema}
        # Floats may come where there were only integers so far.
        read = {name: pa.float64() if pa.types.is_integer(kind) else kind for name, kind in kinds.items()}
        return pa.schema([(name, read.get(name, pa.string())) for name in self._header(i)])

    def counts(self) -> list[int] | None:
        n_bytes = sum(file.size * (_COMPRESSION if _is_compressed(file.path) else 1) for file in self.found.files)
        if n_bytes > _COUNTED_BYTES:
            return None
        return [self._located(i, fragment.count_rows) for i, fragment in enumerate(self.fragments)]

    def _located(self, i: int, read: Callable[[], Any]) -> Any:
        """The result of `read()`, which reads file i; an error names the line."""
        import pyarrow as pa

        try:
            return read()
        except (pa.ArrowException, OSError) as error:
            raise self.error(i, [], error) from error

    @cached_property
    def index(self) -> list[str]:
        """The first column if it alone has no name: so pandas and R write the index, or the names of the rows."""
        header = self._header(0)
        return [""] if header[0] == "" and header.count("") == 1 else []

    def with_decimal_comma(self, columns: Sequence[str]) -> list[str]:
        """Those of these columns of text that are numbers with a decimal comma, as far as the first rows tell."""
        header = self._header(0)
        entries: dict[str, list[str]] = {name: [] for name in columns}
        for _, fields in islice(self._lines(0), 1, _COMPARED_ROWS):
            for name, texts in entries.items():
                texts += fields[header.index(name) :][:1]
        return [name for name, texts in entries.items() if _have_decimal_commas(texts)]

    def why_not_numbers(self, columns: Sequence[str]) -> str:
        """Where text begins in columns that begin with numbers; empty if there is no such column."""
        header = self._header(0)
        waiting = {name: header.index(name) for name in columns}
        found = []
        for count, (line, fields) in enumerate(islice(self._lines(0), 1, _EXPLAINED_ROWS)):
            for name, j in list(waiting.items()):
                text = fields[j] if j < len(fields) else ""
                if not _is_number(text) and text not in _missing():
                    del waiting[name]
                    if count:
                        found.append(f"column {name!r} has the text {text!r} in line {line}{_advice(text)}")
                    elif _advice(text):
                        found.append(f"column {name!r} has {text!r}{_advice(text)}")
            if not waiting:
                break
        return "; ".join(found)

    def read(self, parts: dict[int, Any], schema: Any, *, threads: bool = True) -> Iterator[tuple[int, Any]]:
        from pyarrow.dataset import FileSystemDataset

        numbers = iter(parts)
        here = next(numbers)
        scanner = FileSystemDataset(list(parts.values()), schema, self.format).scanner(columns=schema.names)
        for tagged in scanner.scan_batches():
            while self.found.paths[here] != tagged.fragment.path:
                here = next(numbers)
            yield here, tagged.record_batch

    def damaged_place(self, path: str, names: Sequence[str]) -> tuple[str, Any] | None:
        """The first line with another number of fields, or with text where numbers were expected."""
        kinds = {name: self.schema.field(name).type for name in names}
        missing = set(_missing())
        try:
            lines = _rows(path, self._separator)
            header = next(lines)[1]
            for line, fields in lines:
                if len(fields) != len(header):
                    reason = f"it has {len(fields)} fields, and the header names {len(header)} columns"
                    return f" in line {line}", reason
                for name, text in zip(header, fields, strict=True):
                    wrong = name in kinds and text not in missing and _why_not(text, kinds[name])
                    if wrong:
                        return f" in line {line}", f"{text!r} in column {name!r} {wrong}"
        except (OSError, EOFError, csv.Error, zlib.error) as error:
            return "", error
        return None

    def line_of(self, i: int, row: int) -> int | None:
        """The line of a row of file i, counted from 1 as editors do; None if it would take long to find."""
        if row > _COUNTED_ROWS:
            return None
        return next((line for line, _ in islice(self._lines(i), row + 1, None)), None)


def _first_line(path: str) -> str:
    """The header of a file, without the mark at the beginning that some editors write."""
    with _opened(path) as file:
        line = file.readline(_HEADER_BYTES)
    if line.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise csv_encoding(path, "UTF-16")
    try:
        # Lines may also end with a single "\r".
        text = re.split("[\r\n]", line.decode("utf-8-sig"), maxsplit=1)[0]
    except UnicodeDecodeError:
        raise csv_encoding(path, "another encoding than UTF-8") from None
    if not text:
        raise csv_header(path, [])
    return text


def _separator_of(header: str) -> str:
    """The separator that is found most often outside of quotes; a comma if there is none."""
    return max(_SEPARATORS, key=re.sub(r'"[^"]*"', "", header).count)


def _longer_of_two(path: str) -> int:
    """The number of bytes of the first line, or of the second if that is longer."""
    with _opened(path) as file:
        return max(len(file.readline(_HEADER_BYTES)) for _ in range(2))


def _fields(line: str, separator: str) -> list[str]:
    return next(csv.reader([line], delimiter=separator))


def _is_whole(line: str, separator: str) -> bool:
    """Whether no field goes on in the next line, as one between quotes could."""
    reader = csv.reader([line, ""], delimiter=separator)
    next(reader)
    return reader.line_num == 1


def _rows(path: str, separator: str) -> Iterator[tuple[int, list[str]]]:
    """The fields of each line that is not empty, with the number of the line in which they end."""
    with _opened(path) as file, io.TextIOWrapper(file, encoding="utf-8-sig", errors="replace", newline="") as text:
        reader = csv.reader(text, delimiter=separator)
        # A field that is too long for Python ends the search.
        with suppress(csv.Error):
            for fields in reader:
                if fields:
                    yield reader.line_num, fields


def _opened(path: str) -> Any:
    return gzip.open(path, "rb") if _is_compressed(path) else open(path, "rb")


def _is_compressed(path: str) -> bool:
    return path.lower().endswith(".gz")


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    # In Python, but not in files, 1_000 is a number.
    return "_" not in text


def _why_not(text: str, kind: Any) -> str:
    """Why a text is not of the type of its column; empty if it is."""
    import pyarrow as pa
    from pyarrow.csv import ConvertOptions

    if _is_float(kind):
        return "" if _is_number(text) else f"is not a number{_advice(text)}"
    if pa.types.is_boolean(kind):
        known = [*ConvertOptions().true_values, *ConvertOptions().false_values]
        return "" if text.strip() in known else "is neither true nor false, as the entries before it are"
    return ""


def _missing() -> list[str]:
    """How missing values are written."""
    from pyarrow.csv import ConvertOptions

    return ConvertOptions().null_values


def _or_float(kind: Any) -> Any:
    import pyarrow as pa

    return pa.float64() if pa.types.is_null(kind) else kind


def _is_float(kind: Any) -> bool:
    import pyarrow as pa

    return pa.types.is_floating(kind) or pa.types.is_integer(kind)


def _advice(text: str) -> str:
    if _has_decimal_comma(text):
        return "; decimals have to be written with a point, not a comma"
    if text.strip().lower() in {"", "-", "--", "?", ".", "*", "missing", "none"} or text.strip() in _missing():
        return "; missing values are written as an empty field or NA, without blanks"
    return ""


def _have_decimal_commas(texts: Sequence[str]) -> bool:
    """Whether the entries of a column are numbers, some of them with a decimal comma."""
    commas = [_has_decimal_comma(text) for text in texts]
    return any(commas) and all(
        comma or _is_number(text) or text in _missing() for comma, text in zip(commas, texts, strict=True)
    )


def _has_decimal_comma(text: str) -> bool:
    return re.fullmatch(r"\s*[-+]?\d+,\d+\s*", text) is not None
