"""Numbers that are written with separators of thousands, percent signs or signs of currencies: which columns hold them
without doubt, and what they are as floating-point numbers.

A number such as "1,234" means two things, depending on whether commas or points are before decimals. One such as
"1,234.50" or "3.75" means one thing only, and says what the commas of the whole table are.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

#: Signs of currencies; blanks, some of which do not break lines; and separators of thousands beside points and commas.
CURRENCIES = "$\u20ac\u00a3\u00a5"
_BLANKS = " \t\u00a0\u202f"
_SPACERS = "'\u2019 \u00a0\u202f"
_EXPONENT = "(?:[eE][-+]?[0-9]+)?"
#: A sign, a sign of a currency in front or behind, digits with separators, and a percent sign.
_WRITTEN = re.compile(
    rf"[{_BLANKS}]*(?:[-+]?([{CURRENCIES}])[{_BLANKS}]?)?[-+]?([0-9.,](?:[0-9.,{_SPACERS}]*[0-9.,])?){_EXPONENT}"
    rf"[{_BLANKS}]*([{CURRENCIES}]?)(%?)[{_BLANKS}]*"
)
#: Numbers without any of these.
_PLAIN = re.compile(rf"[-+]?[0-9]*\.?[0-9]*{_EXPONENT}")
_OTHER = {".": ",", ",": "."}


def _shape(decimal: str, thousands: str) -> str:
    """A regular expression of digits with this character before decimals and these separators of thousands."""
    grouped = "".join(f"[1-9][0-9]{{0,2}}(?:{re.escape(t)}[0-9]{{3}})+|" for t in thousands)
    return rf"(?:(?:{grouped}[0-9]+)(?:{re.escape(decimal)}[0-9]*)?|{re.escape(decimal)}[0-9]+)"


_DIGITS = {decimal: re.compile(_shape(decimal, other + _SPACERS)) for decimal, other in _OTHER.items()}


@dataclass(frozen=True)
class Notation:
    """How the numbers of a column are written.

    >>> Notation(thousands=",", currency="$").value("$1,234.50")
    1234.5
    >>> Notation(decimal=",", percent=True).value("12,5 %")
    0.125
    """

    #: The character before decimals.
    decimal: str = "."
    #: Separators of thousands, which need not be in every number.
    thousands: str = ""
    #: The sign of a currency, which is in every entry; empty if there is none.
    currency: str = ""
    #: Whether a percent sign is in every entry. 12% is the number 0.12.
    percent: bool = False

    @property
    def pattern(self) -> str:
        """A regular expression, for Python and for pyarrow, of the numbers that are written in this way."""
        digits, blanks = _shape(self.decimal, self.thousands) + _EXPONENT, f"[{_BLANKS}]"
        number = f"[-+]?{digits}"
        if self.currency:
            sign = re.escape(self.currency)
            number = f"(?:[-+]?{sign}{blanks}?{digits}|{sign}{blanks}?{number}|{number}{blanks}*{sign})"
        return f"^{blanks}*{number}{blanks}*{'%' if self.percent else ''}{blanks}*$"

    @property
    def is_plain(self) -> bool:
        """Whether numbers are written without separators of thousands and signs."""
        return not (self.thousands or self.currency or self.percent)

    def value(self, text: str) -> float | None:
        """The number that a text stands for; None if it is not written in this way."""
        if not re.match(self.pattern, text):
            return None
        number = float(re.sub(f"[^0-9eE{re.escape(self.decimal)}-]", "", text).replace(self.decimal, "."))
        return number / 100.0 if self.percent else number

    def numbers(self, texts: Any) -> Any:
        """An array of Arrow with text as one of float64, with nulls where the text is null. An entry that is not
        written in this way is an `ArrowInvalid` error."""
        import pyarrow as pa
        import pyarrow.compute as pc

        if pc.any(pc.invert(pc.match_substring_regex(texts, self.pattern))).as_py():
            raise pa.ArrowInvalid("an entry is not written as the numbers before it are")
        digits = pc.replace_substring_regex(texts, f"[^0-9eE{re.escape(self.decimal)}-]", "")
        numbers = pc.replace_substring(digits, self.decimal, ".").cast("float64")
        return pc.divide(numbers, 100.0) if self.percent else numbers

    def __str__(self) -> str:
        """In which way numbers are written, in words."""
        points = f"decimals with a {'point' if self.decimal == '.' else 'comma'}"
        thousands = f"thousands with {self.thousands!r}" if self.thousands else "thousands without a separator"
        signs = [f"with {self.currency}"] if self.currency else []
        return ", ".join([points, thousands, *signs, *(["with a percent sign"] if self.percent else [])])


@dataclass
class _Column:
    """What was found in a column whose entries may be numbers."""

    #: The characters that may be before its decimals.
    decimals: set[str] = field(default_factory=lambda: set(_OTHER))
    #: For each of them, the first entry that means nothing else, and its row.
    only: dict[str, tuple[str, int]] = field(default_factory=dict)
    #: Whether an entry is another number with a comma before decimals than with a point.
    doubtful: bool = False
    separators: set[str] = field(default_factory=set)
    currencies: set[str] = field(default_factory=set)
    percents: set[bool] = field(default_factory=set)
    #: The first entry, and the first that has a sign or a separator, with their rows.
    first: tuple[str, int] | None = None
    shown: tuple[str, int] | None = None

    def add(self, text: str, row: int) -> bool:
        """Look at an entry; False if the column holds other text."""
        written = _WRITTEN.fullmatch(text)
        # Leading zeros are those of a code, such as a zip code.
        if written is None or re.match("0[0-9]", written[2]) or (written[1] and written[3]):
            return False
        front, digits, behind, percent = written.groups()
        fits = {decimal for decimal in _OTHER if _DIGITS[decimal].fullmatch(digits)}
        self.decimals &= fits
        if "." in digits or "," in digits:
            if len(fits) == 1:
                self.only.setdefault(next(iter(fits)), (text, row))
            else:
                self.doubtful = True
        self.separators |= set(digits) - set("0123456789")
        self.currencies.add(front or behind or "")
        self.percents.add(bool(percent))
        self.first = self.first or (text, row)
        if self.shown is None and not _PLAIN.fullmatch(text):
            self.shown = (text, row)
        return bool(self.decimals) and len(self.currencies) == 1 and len(self.percents) == 1

    def notation(self, decimal: str) -> Notation:
        thousands = "".join(sorted(self.separators - {decimal}))
        return Notation(decimal, thousands, next(iter(self.currencies)), next(iter(self.percents)))


@dataclass
class Notations:
    """How the numbers of a table are written."""

    #: The character before decimals.
    decimal: str = "."
    #: Columns that hold numbers without doubt: how they are written, and the first entry with its row.
    columns: dict[str, tuple[Notation, str, int]] = field(default_factory=dict)
    #: The column, the entry and its row that say that commas are before decimals.
    evidence: tuple[str, str, int] | None = None

    @cached_property
    def written(self) -> dict[str, Notation]:
        """How the numbers of these columns are written."""
        return {name: notation for name, (notation, _, _) in self.columns.items()}


def notations(
    lines: Iterable[tuple[int, Sequence[str]]],
    texts: Mapping[str, int],
    numbers: Sequence[int],
    is_missing: Callable[[str], bool],
    *,
    given: str | None = None,
    may_be_comma: bool = True,
) -> Notations:
    """How the numbers of a table are written, where its entries leave no doubt.

    Parameters
    ----------
    lines : iterable of (int, list of str)
        The rows, with a number for each, which is that of the result.
    texts : mapping of str to int
        Names and numbers of the columns that are text.
    numbers : list of int
        The numbers of the columns that are numbers already.
    is_missing : callable
        Whether a text stands for a missing entry.
    given : {".", ","}, default=None
        The character before decimals, if the user has said it.
    may_be_comma : bool, default=True
        Whether a comma may be before decimals if that is not given.

    Notes
    -----
    Commas are before decimals if the entries of a column say so, and if no entry of another column has a decimal point.
    Numbers that mean two things are read only if others of the table, or the user, say which of the two.

    Examples
    --------
    >>> rows = enumerate([["$1,200", "1,5"], ["$950", "2,5"], ["$12,000", "x"]])
    >>> notations(rows, {"price": 0, "note": 1}, [], str.isspace).columns
    {}
    >>> rows = enumerate([["$1,200", "5"], ["$950.50", "6"]])
    >>> notations(rows, {"price": 0}, [1], str.isspace).written
    {'price': Notation(decimal='.', thousands=',', currency='$', percent=False)}
    """
    found = {name: _Column() for name in texts}
    points = has_points = False
    for row, fields in lines:
        if not found:
            return Notations(given or ".")
        for j in numbers:
            entry = fields[j] if j < len(fields) else ""
            if "." in entry:
                has_points = True
                points = points or not _DIGITS[","].fullmatch(entry.strip().lstrip("+-"))
        for name in list(found):
            j = texts[name]
            text = fields[j] if j < len(fields) else ""
            if not is_missing(text) and not found[name].add(text, row):
                del found[name]
    found = {name: column for name, column in found.items() if column.first}
    says: dict[str, list[tuple[str, str, int]]] = {decimal: [] for decimal in _OTHER}
    for name, column in found.items():
        for decimal in column.decimals:
            if decimal in column.only:
                says[decimal].append((name, *column.only[decimal]))
    points = points or bool(says["."])
    is_comma = bool(says[","]) and not points and not has_points and may_be_comma
    decimal = given or ("," if is_comma else ".")
    sure = not says[_OTHER[decimal]] and (given is not None or is_comma or points)
    columns = {
        name: (column.notation(decimal), *(column.shown or column.first))
        for name, column in found.items()
        if column.first and decimal in column.decimals and (sure or not column.doubtful)
    }
    return Notations(decimal, columns, says[","][0] if is_comma and given is None else None)
