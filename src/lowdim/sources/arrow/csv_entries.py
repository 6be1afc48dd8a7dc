"""Entries of CSV files: which are numbers, which are missing, and columns that are text because of a few entries."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

#: Texts that often stand for a missing value, in small letters. They are not read as one, since they may be names.
_SIGNS = frozenset({"", "-", "--", "?", ".", "*", "na", "n.a.", "missing", "none", "unknown"})
#: Numbers that are not written as they have to be: with a decimal comma, with separators of thousands, or both.
_OTHER_NUMBER = re.compile(r"\s*[-+]?(\d+,\d+|\d{1,3}([,.' ]\d{3})+([.,]\d+)?)\s*")
#: A column is nearly numbers if at most one of so many entries is other text.
_ONE_OF = 10


@dataclass
class FirstText:
    """The first entry of a column that is neither a number nor missing, and what the other entries are."""

    text: str
    line: int
    #: Whether a number or a missing value comes before it.
    comes_later: bool
    #: How many entries are numbers, however they are written, and how many are other text. Missing values and signs
    #: that often stand for them are neither.
    numbers: int = 0
    texts: int = 0

    @property
    def is_explained(self) -> bool:
        """Whether there is more to say than that the column is text."""
        return self.comes_later or advice(self.text) != ""

    @property
    def is_nearly_numbers(self) -> bool:
        """Whether the column is numbers, but for few entries."""
        return self.numbers > 0 and _ONE_OF * self.texts <= self.numbers + self.texts

    def __str__(self) -> str:
        return f"has the text {self.text!r} in line {self.line}{advice(self.text)}"


def first_texts(lines: Iterable[tuple[int, list[str]]], columns: Mapping[str, int], n: int) -> dict[str, FirstText]:
    """What is found in `columns`, which are given with their numbers, in `n` rows with the numbers of their lines."""
    found: dict[str, FirstText] = {}
    numbers = dict.fromkeys(columns, 0)
    waiting = dict(columns)
    for count, (line, fields) in enumerate(lines):
        for name, j in list(waiting.items()):
            text = fields[j] if j < len(fields) else ""
            if text in missing():
                continue
            if is_number(text):
                numbers[name] += 1
                continue
            first = found.setdefault(name, FirstText(text, line, comes_later=count > 0))
            if _OTHER_NUMBER.fullmatch(text):
                numbers[name] += 1
            elif text.strip() not in missing() and text.strip().lower() not in _SIGNS:
                first.texts += 1
                if _ONE_OF * first.texts > n:
                    # However many numbers follow, they are too few.
                    del waiting[name]
        if not waiting:
            break
    for name, first in found.items():
        first.numbers = numbers[name]
    return found


def is_number(text: str) -> bool:
    """Whether a text is a number, as it has to be written."""
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


def why_not(text: str, kind: Any) -> str:
    """Why a text is not of the type of its column; empty if it is, or if it is missing."""
    import pyarrow as pa
    from pyarrow.csv import ConvertOptions

    if text in missing():
        return ""
    if pa.types.is_floating(kind) or pa.types.is_integer(kind):
        return "" if is_number(text) else f"is not a number{advice(text)}"
    if pa.types.is_boolean(kind):
        known = [*ConvertOptions().true_values, *ConvertOptions().false_values]
        return "" if text.strip() in known else "is neither true nor false, as the entries before it are"
    return ""


def advice(text: str) -> str:
    """How an entry that is not a number should have been written; empty if nothing is known."""
    if _OTHER_NUMBER.fullmatch(text):
        return "; decimals have to be written with a point, thousands without a separator"
    if text.strip().lower() in _SIGNS or text.strip() in missing():
        return "; missing values are written as an empty field or NA, without blanks"
    return ""
