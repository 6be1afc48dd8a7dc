"""What a report consists of: sections of prose, charts, tables and widgets. No HTML, and nothing that computes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..tabular import Table


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
    #: What a reader is told who does not see the chart.
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
