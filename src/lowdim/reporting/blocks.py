"""What a report consists of: sections of prose, charts, tables and widgets, and numbers and lists in sentences.

There is no HTML here, and nothing that computes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..table import Table


@dataclass(frozen=True)
class Prose:
    """A paragraph of plain text."""

    text: str


@dataclass(frozen=True)
class Listing:
    """A table that is shown as such."""

    table: Table
    #: The largest number of rows that are shown before the reader asks for more.
    shown: int = 12


@dataclass(frozen=True)
class Chart:
    """A Plotly figure as plain values. Colours of text, background and grid are left to the page."""

    #: Unique within the page, of letters, digits and hyphens.
    key: str
    title: str
    #: The text for a reader who does not see the chart.
    alt: str
    data: Sequence[Mapping[str, Any]]
    layout: Mapping[str, Any] = field(default_factory=dict)
    #: The same numbers as a table, which the reader can open and copy.
    table: Table | None = None
    #: The height in pixels.
    height: int = 420
    #: A sentence below the chart, on how to read it.
    caption: str = ""


@dataclass(frozen=True)
class Menu:
    """Several charts of which the reader chooses one."""

    key: str
    #: What is chosen, such as "Component".
    label: str
    #: The charts by the names under which they are chosen.
    charts: Mapping[str, Chart]


@dataclass(frozen=True)
class Widget:
    """A chart with controls of its own."""

    key: str
    #: Which script of the page draws it: "map", "misfits" or "rebuilding".
    kind: str
    title: str
    alt: str
    values: Mapping[str, Any]
    table: Table | None = None
    height: int = 560
    caption: str = ""


@dataclass(frozen=True)
class Download:
    """A file that the reader can save from the page."""

    name: str
    content: bytes
    description: str


Block = Prose | Listing | Chart | Menu | Widget


@dataclass(frozen=True)
class Section:
    """A part of the report with a heading."""

    #: The name of the section in links, such as "data".
    key: str
    title: str
    #: What the section shows and how to read it.
    lead: str
    blocks: Sequence[Block]
    #: Its most important sentence, for the top of the page; empty if there is none.
    summary: str = ""
    #: Files that the reader can save.
    downloads: Sequence[Download] = ()


@dataclass(frozen=True)
class Document:
    """All that the page shows."""

    title: str
    subtitle: str
    sections: Sequence[Section]
    #: The few sentences at the top that answer the reader's question.
    summary: Sequence[str] = ()
    downloads: Sequence[Download] = ()
    #: What made the page, for the footer.
    generator: str = ""
    #: Whether it is a single page, without controls and a table of contents.
    brief: bool = False


def prose(*paragraphs: str | Iterable[str]) -> list[Block]:
    """The paragraphs, each a text or its sentences; those in which nothing is said are left out."""
    texts = (given if isinstance(given, str) else " ".join(filter(None, given)) for given in paragraphs)
    return [Prose(text) for text in texts if text]


# Numbers, lists and plurals in sentences.


#: Longer names are shortened in the menus and lists of charts.
LONGEST = 80
#: Control characters, those that turn the direction of the text after them, and halves of characters.
_INVISIBLE = re.compile("[\x00-\x1f\x7f-\x9f\u200e\u200f\u061c\u202a-\u202e\u2066-\u2069\u2028\u2029\ud800-\udfff]")


def count(n: int, noun: str, plural: str | None = None) -> str:
    """ "1 row", "1,200 rows", or "no rows"."""
    number = "no" if n == 0 else f"{n:,}"
    return f"{number} {noun if n == 1 else plural or noun + 's'}"


def be(n: int) -> str:
    """ "is" or "are"."""
    return "is" if n == 1 else "are"


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


def sentence(text: str) -> str:
    """The text with "row" in capitals as it begins a sentence; other names stay as they are."""
    return f"R{text[1:]}" if text.startswith("row ") else text


def listed(items: Sequence[Any], most: int = 5, last: str = "and") -> str:
    """ "a, b and c", or "a, b, c and 7 others"; a single other is named instead. `last` is the word before the last."""
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
