"""Numbers, lists and plurals in sentences."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

#: Control characters, those that turn the direction of the text after them, and halves of characters.
_INVISIBLE = re.compile("[\x00-\x1f\x7f-\x9f\u200e\u200f\u061c\u202a-\u202e\u2066-\u2069\u2028\u2029\ud800-\udfff]")


def count(n: int, noun: str, plural: str | None = None) -> str:
    """ "1 row", "1,200 rows", or "no rows"."""
    number = "no" if n == 0 else f"{n:,}"
    return f"{number} {noun if n == 1 else plural or noun + 's'}"


def share(fraction: float) -> str:
    """A fraction in percent, with the digits that it deserves: "92.5%", "0.04%"."""
    percent = 100.0 * fraction
    if 0 < percent < 0.001:
        return "less than 0.001%"
    return f"{percent:.1f}%" if percent >= 0.995 or percent == 0 else f"{percent:.2g}%"


def number(value: float, digits: int = 3) -> str:
    """A number with a few significant digits, without an exponent where that is readable."""
    if value == 0 or 1e-4 <= abs(value) < 1e7:
        return f"{value:,.{digits}g}" if abs(value) < 10**digits else f"{value:,.0f}"
    return f"{value:.{digits}g}"


def listed(items: Sequence[Any], most: int = 5, last: str = "and") -> str:
    """ "a, b and c", or "a, b, c and 7 others"; a single other is named instead."""
    names = [str(item) for item in items[: most + 1 if len(items) == most + 1 else most]]
    beside = len(items) - len(names)
    if beside:
        names.append(f"{beside:,} others")
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} {last} {names[-1]}" if names else "nothing"


def visible(text: Any) -> str:
    """Text on one line, in which blanks replace control characters and those that turn the direction of the text."""
    return _INVISIBLE.sub(" ", str(text))


def brief(text: Any, longest: int = 40) -> str:
    """The same, shortened in its middle if it is long."""
    clean = visible(text)
    if len(clean) <= longest:
        return clean
    half = (longest - 1) // 2
    return f"{clean[: longest - 1 - half]}\u2026{clean[len(clean) - half :]}"
