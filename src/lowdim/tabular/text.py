"""Tables as text: columns of numbers with the same decimals, awkward labels made harmless, wide tables continued."""

from __future__ import annotations

import math
import unicodedata
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from .table import Table

#: The largest width of a label or an entry of text; longer ones are cut.
_WIDEST = 40
#: Columns of numbers within this range are printed without exponents.
_SMALLEST, _LARGEST = 1e-3, 1e6


def text_of(table: Table, *, max_rows: int | None, max_columns: int | None, width: int) -> str:
    """The text of a table, see `Table.text`."""
    shown = _shown(len(table), max_rows)
    labels = _labels(table, shown)
    blocks = []
    names = table.columns[: _shown(len(table.columns), max_columns)]
    more = left_out(len(table) - shown, len(table.columns) - len(names))
    while True:
        block, names = _block(table, names, labels, shown, width)
        blocks.append("\n".join(block))
        if not names:
            break
    lines = [clean(table.title)] if table.title else []
    lines.append("\n\n".join(blocks))
    return "\n".join([*lines, *more, *(clean(note) for note in table.notes)])


def _shown(count: int, most: int | None) -> int:
    return count if most is None else min(count, max(most, 0))


def left_out(rows: int, columns: int) -> list[str]:
    """What is said of rows and columns that are not shown: one line, or none."""
    parts = [_more(count, what) for count, what in ((rows, "row"), (columns, "column")) if count > 0]
    return ["... " + ", ".join(parts)] if parts else []


def _more(count: int, what: str) -> str:
    return f"{count} more {what}{'' if count == 1 else 's'}"


def _labels(table: Table, shown: int) -> list[str]:
    """The labels of the first rows, padded to the same width; above them their name, if there is room for it."""
    labels: list[Any] = table.head(shown).rows if table.has_labels else list(range(shown))
    texts = [cut(clean(str(label)), _WIDEST) for label in labels]
    width = max(map(cell_width, texts), default=0)
    name = clean(table.row_name)
    right = all(isinstance(label, int | np.integer) for label in labels)
    return [pad(text, width, right=right) for text in [name if cell_width(name) <= width else "", *texts]]


def _block(table: Table, names: list[str], labels: list[str], shown: int, width: int) -> tuple[list[str], list[str]]:
    """The lines of as many columns as fit into the width, at least one, and the names of the columns that remain."""
    parts = [labels]
    used = cell_width(labels[0])
    for position, name in enumerate(names):
        column = table[name][:shown]
        cells, right = cells_of(column)
        head = cut(clean(name), _WIDEST)
        room = width - used - 2
        needed = max([cell_width(head), *map(cell_width, cells)])
        if needed > room:
            # Text in the last place is cut to the room that is left; anything else continues below.
            if not right and room >= 20:
                cells, needed = [cut(cell, room) for cell in cells], room
            elif position > 0:
                return _joined(parts), names[position:]
        parts.append([pad(cell, needed, right=right) for cell in [head, *cells]])
        used += needed + 2
    return _joined(parts), []


def _joined(parts: list[list[str]]) -> list[str]:
    """The lines of columns of cells that were padded to the same width."""
    return ["  ".join(cells).rstrip() for cells in zip(*parts, strict=True)]


def cells_of(column: np.ndarray) -> tuple[list[str], bool]:
    """The entries of a column as text, and whether they are aligned on the right, as numbers are."""
    if column.dtype.kind == "b":
        return ["yes" if entry else "no" for entry in column], False
    if column.dtype.kind in "iu":
        return [str(entry) for entry in column], True
    if column.dtype.kind == "f":
        return _numbers([float(entry) for entry in column]), True
    entries = list(column)
    known = [entry for entry in entries if entry is not None]
    if known and all(isinstance(entry, int | float | np.number) and not isinstance(entry, bool) for entry in known):
        whole = all(isinstance(entry, int) or float(entry).is_integer() for entry in known)
        texts = iter([str(int(entry)) for entry in known] if whole else _numbers([float(entry) for entry in known]))
        return ["-" if entry is None else next(texts) for entry in entries], True
    return ["" if entry is None else cut(clean(str(entry)), 4 * _WIDEST) for entry in entries], False


def _numbers(values: list[float]) -> list[str]:
    """Numbers with the same decimals: five digits for the largest, and exponents where decimals would not do."""
    sizes = [abs(value) for value in values if math.isfinite(value) and value != 0.0]
    largest = max(sizes, default=1.0)
    if not _SMALLEST <= largest < _LARGEST:
        return [_exponent(value, 3) for value in values]
    decimals = min(4, max(0, 4 - math.floor(math.log10(largest))))
    resolution = 0.5 * 10.0**-decimals
    return [
        _exponent(value, 1) if math.isfinite(value) and 0.0 < abs(value) < resolution else f"{value:.{decimals}f}"
        for value in values
    ]


def _exponent(value: float, digits: int) -> str:
    return f"{value:.{digits}e}" if math.isfinite(value) and value != 0.0 else f"{value:g}"


def clean(text: str) -> str:
    """Text on one line: line breaks and other control characters are shown as their escapes."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or unicodedata.category(c) == "Cf" else repr(c)[1:-1] for c in text)


def cell_width(text: str) -> int:
    """The number of columns that a text takes in a terminal; East Asian characters and emoji take two."""
    if text.isascii():
        return len(text)
    return sum(_character_width(c) for c in text)


def _character_width(character: str) -> int:
    if unicodedata.combining(character) or unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def cut(text: str, width: int) -> str:
    """The text, shortened to the width with an ellipsis at its end if it is longer."""
    if cell_width(text) <= width:
        return text
    used, kept = 0, []
    for character in text:
        used += _character_width(character)
        if used > width - 1:
            break
        kept.append(character)
    return "".join(kept) + "…"


def pad(text: str, width: int, *, right: bool = False) -> str:
    """The text with blanks up to the width, before it if it is aligned on the right."""
    blanks = " " * (width - cell_width(text))
    return blanks + text if right else text + blanks
