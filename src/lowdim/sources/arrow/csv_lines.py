"""Lines of CSV files: the header and its separator, and the fields of each line with its number."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import re
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from itertools import islice
from typing import Any

from ...errors import csv_encoding, csv_header

#: Separators that are recognised in the header.
_SEPARATORS = ",;\t"
#: The header has to end within this many bytes.
_HEADER_BYTES = 16 << 20


def first_line(path: str) -> tuple[str, bool]:
    """The header of a file, without the mark at the beginning that some editors write, and whether its line ends."""
    with opened(path) as file:
        line = file.readline(_HEADER_BYTES)
    if line.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)):
        raise csv_encoding(path, "UTF-32")
    if line.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise csv_encoding(path, "UTF-16")
    if b"\0" in line:
        raise csv_encoding(path, "UTF-16 or UTF-32, or is no text")
    try:
        # Lines may also end with a single "\r".
        text, *rest = re.split("[\r\n]", line.decode("utf-8-sig"), maxsplit=1)
    except UnicodeDecodeError:
        raise csv_encoding(path, "another encoding than UTF-8") from None
    if not text:
        raise csv_header(path, [])
    return text, bool(rest)


def separator_of(header: str) -> str:
    """The separator that is found most often outside of quotes; a comma if there is none."""
    return max(_SEPARATORS, key=re.sub(r'"[^"]*"', "", header).count)


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


def rows(path: str, separator: str, start: int = 0) -> Iterator[tuple[int, list[str]]]:
    """The fields of each line that is not empty, with the number of the line in which they end; those of row `start`
    come first. Lines count from 1 and the header is no row."""
    with opened(path) as file, io.TextIOWrapper(file, encoding="utf-8-sig", errors="replace", newline="") as text:
        reader = csv.reader(text, delimiter=separator)
        # A field that is too long for Python ends the search.
        with suppress(csv.Error):
            filled = filter(None, reader)
            # This skips lines much faster than a loop could.
            deque(islice(filled, 1 + start), maxlen=0)
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
