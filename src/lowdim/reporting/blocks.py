"""What a report consists of: prose, charts and tables, with the words and small charts that sections share."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ..table import Table

if TYPE_CHECKING:
    from .analysis import Analysis


# What a report consists of: sections of prose, charts, tables and widgets. No HTML, and nothing that computes.


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


# Numbers, lists and plurals in sentences.


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


# Small builders of Plotly figures as plain values, and the rules for text and colours in them.


#: Colours of categories that colour-blind readers tell apart, legible on white and on dark grey. Where more than one
#: category is drawn, each has its symbol, too.
COLORS = ("#3b7dd8", "#e07b00", "#1c9c75", "#c7529a", "#8a6fd1", "#b8a200", "#4aa8c8", "#d1495b", "#6d8a3c", "#9a6a4f")
SYMBOLS = ("circle", "square", "diamond", "triangle-up", "cross", "triangle-down", "star", "x", "pentagon", "hexagon")
#: The colour of lines that only guide the eye, on light and on dark pages.
GREY = "#8a8a8a"

#: Names longer than this are shortened in charts.
_LONGEST = 40


def plain(text: Any, longest: int = _LONGEST) -> str:
    """Text that Plotly draws as it is: without tags, entities or control characters, and shortened in its middle."""
    return brief(text, longest).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def axis(title: str = "", **more: Any) -> dict[str, Any]:
    """An axis with a title."""
    return {"title": {"text": title}, **more}


def color(i: int) -> str:
    """The colour of category i."""
    return COLORS[i % len(COLORS)]


def symbol(i: int) -> str:
    """The symbol of category i; the categories of one colour have different symbols."""
    return SYMBOLS[(i + i // len(COLORS)) % len(SYMBOLS)]


def points(
    x: np.ndarray,
    y: np.ndarray,
    hover: Sequence[str],
    codes: np.ndarray | None = None,
    levels: Sequence[str] = (),
    **more: Any,
) -> list[dict[str, Any]]:
    """The traces of points: one trace, or one for each category with its colour, symbol and place in the legend.

    `hover` says what each point is called. `more` goes into each trace. Points of no category (code -1) are grey.
    """
    if codes is None:
        return [_trace(x, y, hover, {"color": color(0), "symbol": symbol(0)}, **more)]
    traces = []
    for i, level in [*enumerate(levels), (-1, "no label")]:
        own = np.flatnonzero(codes == i)
        if len(own):
            look = {"color": color(i), "symbol": symbol(i)} if i >= 0 else {"color": GREY, "symbol": "circle-open"}
            names = [hover[int(j)] for j in own]
            traces.append(_trace(x[own], y[own], names, look, name=plain(level), legendgroup=plain(level), **more))
    return traces


def _trace(x: np.ndarray, y: np.ndarray, hover: Sequence[str], look: dict[str, Any], **more: Any) -> dict[str, Any]:
    size = 8 if len(x) <= 300 else 6 if len(x) <= 1000 else 5
    return {
        "type": "scatter",
        "mode": "markers",
        "x": np.asarray(x, dtype=np.float64),
        "y": np.asarray(y, dtype=np.float64),
        "text": [plain(name) for name in hover],
        "marker": {**look, "size": size, "opacity": 0.75},
        "hovertemplate": "%{text}<br>%{x:.4~g}, %{y:.4~g}<extra></extra>",
        "showlegend": "name" in more,
        **more,
    }


def labels(names: Sequence[Any], longest: int = 24) -> list[str]:
    """Names as categories of an axis: shortened, and made different where Plotly would take them for the same."""
    found: dict[str, int] = {}
    out = []
    for name in names:
        text = plain(name, longest)
        found[text] = found.get(text, 0) + 1
        # A blank of no width: it is not seen, but makes the categories different.
        out.append(text + "\u200b" * (found[text] - 1))
    return out


def diverging() -> list[list[Any]]:
    """A colour scale for numbers of both signs, which is nearly transparent at zero, on light and on dark pages."""
    return [[0.0, COLORS[0]], [0.5, "rgba(128,128,128,0.06)"], [1.0, COLORS[1]]]


# Values of columns as charts: bars or dots, one above the other with their names, or a curve over columns in order.


def line(names: list[str], values: np.ndarray) -> dict[str, Any]:
    """A curve over columns, which are numbered, since names of columns may be anything."""
    return {
        "type": "scatter",
        "mode": "lines",
        "x": np.arange(len(values), dtype=np.int32),
        "y": values,
        "text": [plain(name) for name in names],
        "line": {"color": color(0), "width": 2},
        "hovertemplate": "%{text}: %{y:.4~g}<extra></extra>",
        "showlegend": False,
    }


def bars(names: list[str], values: np.ndarray) -> dict[str, Any]:
    """A bar for each column, one above the other."""
    return {
        "type": "bar",
        "orientation": "h",
        "x": values,
        "y": np.arange(len(values), dtype=np.int32),
        "text": [plain(name) for name in names],
        "textposition": "none",
        "marker": {"color": color(0)},
        "hovertemplate": "%{text}: %{x:.4~g}<extra></extra>",
        "showlegend": False,
    }


def dots(names: list[str], values: np.ndarray) -> dict[str, Any]:
    """A dot for each column, one above the other."""
    return {
        "type": "scatter",
        "mode": "markers",
        "x": values,
        "y": np.arange(len(values), dtype=np.int32),
        "text": [plain(name) for name in names],
        "marker": {"color": color(0), "size": 8},
        "hovertemplate": "%{text}: %{x:.4~g}<extra></extra>",
        "showlegend": False,
    }


def value_axes(title: str, curve: bool, names: list[str]) -> dict[str, Any]:
    """Axes for values over columns; the axis of the columns has their names at its marks."""
    places = np.arange(len(names)) if not curve else np.unique(np.linspace(0, len(names) - 1, 9).round().astype(int))
    marks = {"tickmode": "array", "tickvals": places.tolist(), "ticktext": [plain(names[i], 24) for i in places]}
    of_values, of_columns = axis(title), axis("", automargin=True, **marks)
    return {"xaxis": of_columns, "yaxis": of_values} if curve else {"xaxis": of_values, "yaxis": of_columns}


def limit_line(value: float, curve: bool) -> dict[str, Any]:
    """A dashed line at a value."""
    along, across = ("y", "x") if curve else ("x", "y")
    ends = {f"{along}0": value, f"{along}1": value, f"{across}0": 0, f"{across}1": 1}
    return {"type": "line", f"{across}ref": "paper", "line": {"dash": "dash", "width": 1, "color": "#8a8a8a"}, **ends}


def height(n: int, curve: bool) -> int:
    """The height of a chart of n columns."""
    return 380 if curve else max(240, 120 + 22 * n)


# What rows and components are called in sentences, tables and charts.


#: Longer names are shortened in the menus and lists of charts.
LONGEST = 80


def called(a: Analysis, row: int) -> str:
    """The name of a row, with its group by the first labels: "row 138 (virginica)"."""
    group, name = group_of(a, row), brief(a.row_name(row))
    return f"{name} ({group})" if group else name


def group_of(a: Analysis, row: int) -> str:
    """The group of a row by the first labels; empty if it has none."""
    if not a.groupings:
        return ""
    code = int(a.groupings[0].codes[row])
    return brief(a.groupings[0].levels[code]) if code >= 0 else ""


def columns_called(a: Analysis, columns: Iterable[int]) -> list[str]:
    """The names of columns in sentences."""
    return [brief(a.names[j]) for j in columns]


def component_title(a: Analysis, k: int) -> str:
    """The name of a component with its share of the variance, if that is known: "PC1 (72.9%)"."""
    name, shares = a.mapped.component_names_[k], a.variance_shares
    return name if shares is None else f"{name} ({share(shares[k])})"
