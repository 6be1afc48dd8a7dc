"""The page: a document as one HTML file that needs nothing else. Only this package knows HTML, Jinja2 and Plotly."""

from __future__ import annotations

import base64
import hashlib
import json
import math
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from importlib import import_module
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np

from ...errors import missing_extra
from ...table import Table, cells_of, left_out
from ..blocks import Chart, Document, Listing, Menu, Prose, Widget, visible
from ..charts import COLORS, SYMBOLS

# Values as JSON that may stand in a script element: arrays as base64, and no character that ends the element.


#: The kinds of arrays that JavaScript has.
_TYPED = frozenset({"f4", "f8", "i1", "i2", "i4", "u1", "u2", "u4"})
#: JSON allows these to be written as escapes within text, and uses them nowhere else.
_ESCAPES = {ord(c): f"\\u{ord(c):04x}" for c in "<>&"}


def values_json(values: Any) -> str:
    """Values as JSON: arrays of numbers become {"dtype", "bdata", "shape"}, and numbers that are not finite null."""
    return _dumped(_encoded(values, typed=True))


def chart_json(chart: Chart) -> str:
    """The figure of a chart as JSON. Arrays of its layout are short, and Plotly wants them as lists."""
    return _dumped({"data": _encoded(chart.data, typed=True), "layout": _encoded(chart.layout, typed=False)})


def _dumped(values: Any) -> str:
    # Only ASCII is written, so U+2028 and lone surrogates are escapes, too.
    return json.dumps(values, ensure_ascii=True, allow_nan=False, separators=(",", ":")).translate(_ESCAPES)


def _encoded(value: Any, *, typed: bool) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, np.ndarray):
        return _array(value) if typed and value.dtype.kind in "fiub" else _encoded(value.tolist(), typed=typed)
    if isinstance(value, Mapping):
        return {str(name): _encoded(entry, typed=typed) for name, entry in value.items()}
    if isinstance(value, list | tuple | range):
        return [_encoded(entry, typed=typed) for entry in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def _array(array: np.ndarray) -> dict[str, Any]:
    """The array in little-endian order, and in a kind that JavaScript has, the smallest that loses nothing it shows."""
    kind, size = array.dtype.kind, array.dtype.itemsize
    if kind == "b":
        stored = array.astype("u1")
    elif f"{kind}{size}" in _TYPED:
        stored = array.astype(array.dtype.newbyteorder("<"), copy=False)
    elif kind == "f":
        stored = array.astype("<f4" if size < 4 else "<f8")
    else:
        fits = array.size == 0 or (array.min() >= -(2**31) and array.max() < 2**31)
        stored = array.astype("<i4" if fits else "<f8")
    return {
        "dtype": stored.dtype.str[1:],
        "bdata": base64.b64encode(np.ascontiguousarray(stored).tobytes()).decode("ascii"),
        "shape": list(array.shape),
    }


# The packages that a page needs beside lowdim, which are imported only when a report is made.


def require_packages() -> None:
    """Raise an ImportError that says what to install if a package is missing; meant to be called before the work."""
    for package in ("jinja2", "plotly"):
        try:
            import_module(package)
        except ModuleNotFoundError as error:
            raise missing_extra("a report", package, "report") from error


def plotly_js_version() -> str:
    """The version of Plotly's JavaScript that the page holds."""
    from plotly.offline import get_plotlyjs_version

    return str(get_plotlyjs_version())


# How many points a document shows, which decides whether the browser draws them as SVG or by WebGL.


#: Charts of up to this many points are drawn as SVG, which prints sharply; above, by WebGL, which is faster.
FEW = 2000


def has_many_points(document: Document) -> bool:
    """Whether a chart of the document has so many points that the browser draws them by WebGL."""
    for block in _drawings(document):
        n = len(block.values.get("numbers", ())) if isinstance(block, Widget) else 0
        for trace in block.data if isinstance(block, Chart) else ():
            if trace.get("type") == "scattergl":
                n += max(len(trace.get("x", ())), len(trace.get("y", ())))
        if n > FEW:
            return True
    return False


def _drawings(document: Document) -> Iterator[Chart | Widget]:
    """All charts and widgets of a document."""
    for section in document.sections:
        for block in section.blocks:
            if isinstance(block, Menu):
                yield from block.charts.values()
            elif isinstance(block, Chart | Widget):
                yield block


# The Content-Security-Policy of the page: what the browser lets it do.


def policy(scripts: Sequence[str], style: str, *, compiles: bool) -> str:
    """A policy under which only these scripts and this style sheet run, and nothing is fetched or sent.

    A script is named by its hash, so text of the table that became a script by an error of ours would not run. Plotly
    makes empty style elements, which it fills by calls, and sets style attributes. With `compiles`, these scripts (and
    still no others) may compile text: Plotly makes functions of text, in which no text of the table is, to draw many
    points by WebGL.
    """
    allowed = [*map(_hash, scripts), *(["'unsafe-eval'"] if compiles else [])]
    return (
        f"default-src 'none'; script-src {' '.join(allowed)}; style-src {_hash(style)} {_hash('')}; "
        "style-src-attr 'unsafe-inline'; img-src data: blob:; base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode('utf-8')).digest()).decode('ascii')}'"


# Tables as the template shows them: cells as text, with their exact values where these are longer.


#: The largest numbers of columns and of cells of a table in the page.
_COLUMNS, _CELLS = 300, 40_000
#: Text longer than this is cut by the style sheet, and whole in a tooltip.
_LONG = 24


@dataclass(frozen=True)
class Cell:
    """An entry: what is shown, the whole value for copies where it is longer, and a tooltip for long text."""

    text: str
    exact: str | None = None
    tip: str = ""


@dataclass(frozen=True)
class ShownTable:
    """A table as lines of cells. `corner` is None where rows have no labels."""

    title: str
    corner: Cell | None
    heads: Sequence[Cell]
    #: Whether each column is aligned on the right.
    right: Sequence[bool]
    #: The label (or None) and the cells of each row.
    lines: Sequence[tuple[Cell | None, Sequence[Cell]]]
    notes: Sequence[str]


def shown_table(table: Table) -> ShownTable:
    """The first rows and columns of a table, as many as a page can hold, and how many more there are."""
    names = table.columns[:_COLUMNS]
    part = table.head(max(1, _CELLS // max(1, len(names))))
    texts = [cells_of(part[name]) for name in names]
    columns = [
        [_cell(text.rstrip(), entry) for text, entry in zip(cells, part[name], strict=True)]
        for name, (cells, _) in zip(names, texts, strict=True)
    ]
    labels = [_text_cell(str(label)) for label in part.rows] if table.has_labels else [None] * len(part)
    return ShownTable(
        table.title,
        _text_cell(table.row_name) if table.has_labels else None,
        [_text_cell(name) for name in names],
        [right for _, right in texts],
        [(label, [column[i] for column in columns]) for i, label in enumerate(labels)],
        [*left_out(len(table) - len(part), len(table.columns) - len(names)), *table.notes],
    )


def _cell(text: str, entry: Any) -> Cell:
    if entry is None:
        return Cell(text, "" if text else None)
    if isinstance(entry, bool | np.bool_):
        return Cell(text)
    if isinstance(entry, int | float | np.number):
        exact = f"{entry:.10g}" if isinstance(entry, float | np.floating) else str(entry)
        if not math.isfinite(entry):
            return Cell("\u2013" if math.isnan(entry) else text, "")
        return Cell(text, None if exact == text else exact)
    return _text_cell(str(entry))


def _text_cell(text: str) -> Cell:
    whole = visible(text)
    return Cell(whole, tip=whole if len(whole) > _LONG else "")


# A document becomes the text of an HTML file, with the style sheet, the scripts and all values inside.


#: The scripts in the order in which they run; each adds its functions to the object `report`. Plotly comes first.
SCRIPTS = (
    "report.js",
    "text.js",
    "decoding.js",
    "csv.js",
    "geometry.js",
    "controls.js",
    "tables.js",
    "theme.js",
    "webgl.js",
    "charts.js",
    "printing.js",
    "menus.js",
    "map_points.js",
    "map_outlines.js",
    "map_selection.js",
    "map.js",
    "misfits.js",
    "pictures.js",
    "rebuilding.js",
    "start.js",
)

#: The parts of the style sheet, in their order.
STYLES = ("layout.css", "charts.css", "tables.css", "screens.css", "print.css")

#: The kinds of blocks by the names that the template knows.
_KINDS = {Prose: "prose", Listing: "listing", Chart: "chart", Menu: "menu", Widget: "widget"}


def render(document: Document) -> str:
    """The document as the text of one HTML file, to be written as UTF-8.

    All text is escaped, arrays are stored as base64, and the file allows only its own scripts and style sheet to run
    and no request to leave it. It takes about twice the memory of the arrays of the document.
    """
    require_packages()
    from jinja2 import Environment, FunctionLoader, StrictUndefined
    from markupsafe import Markup
    from plotly.offline import get_plotlyjs

    environment = Environment(
        loader=FunctionLoader(_text),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        # Whatever the template shows is made visible, so that no place of it can forget to.
        finalize=lambda value: visible(value) if type(value) is str else value,
    )
    # With the line breaks that a browser sees, since the hash of each script is taken.
    plotly = get_plotlyjs().replace("\r\n", "\n")
    scripts = [plotly, *(_text(f"scripts/{name}") for name in SCRIPTS)]
    style = "".join(_text(f"styles/{name}") for name in STYLES)
    return environment.get_template("template.html").render(
        document=document,
        policy=policy(scripts, style, compiles=has_many_points(document)),
        style=Markup(style),
        style_ids=_style_ids(plotly),
        scripts=[Markup(script) for script in scripts],
        look=Markup(values_json({"colors": list(COLORS), "symbols": list(SYMBOLS), "few": FEW})),
        stored=[
            (block.key, Markup(values_json(block.values) if isinstance(block, Widget) else chart_json(block)))
            for block in _drawings(document)
        ],
        kind_of=lambda block: _KINDS[type(block)],
        shown_table=shown_table,
        base64=lambda content: Markup(base64.b64encode(content).decode("ascii")),
    )


#: Larger pages are not shown within a notebook, which would keep a copy of them.
_LARGEST_FRAME = 8 << 20


def in_notebook(path: str, summary: Sequence[str]) -> str:
    """What a notebook shows of a report that was written: the page in a frame, and a link to the file. Of a page that
    is too large, or no longer there, it shows the sentences at the top instead."""
    size = os.path.getsize(path) if os.path.exists(path) else 0
    link = f'<p><a href="{escape(quote(path))}">{escape(path)}</a></p>'
    if not 0 < size <= _LARGEST_FRAME:
        sentences = "".join(f"<li>{escape(visible(sentence))}</li>" for sentence in summary)
        return f"<ul>{sentences}</ul>{link if size else ''}"
    page = escape(Path(path).read_text(encoding="utf-8"))
    return f'<iframe title="Report" srcdoc="{page}" width="100%" height="640" style="border: 0"></iframe>{link}'


def _text(name: str) -> str:
    """A file of this package."""
    return files(__package__).joinpath(name).read_text(encoding="utf-8").replace("\r\n", "\n")


def _style_ids(plotly: str) -> list[str]:
    """The names of style elements that Plotly adds when it is loaded, unless they are there.

    They are for geographical maps, and the policy forbids them. The page has empty ones, so that Plotly adds none.
    """
    return sorted(set(re.findall(r'document\.getElementById\("([0-9a-f]{32,128})"\)', plotly)))
