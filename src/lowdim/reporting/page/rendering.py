"""A document becomes the text of an HTML file, with the style sheet, the scripts and all values inside."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from importlib.resources import files
from typing import Any

from ..blocks import Chart, Document, Listing, Menu, Prose, Widget
from ..charts import COLORS, SYMBOLS
from ..words import visible
from .encoding import chart_json, values_json
from .packages import require_packages
from .points import FEW, has_many_points
from .policy import policy
from .tables import shown_table

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

    environment = Environment(
        loader=FunctionLoader(_text),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        # Whatever the template shows is made visible, so that no place of it can forget to.
        finalize=lambda value: visible(value) if type(value) is str else value,
    )
    plotly = _plotly()
    scripts = [plotly, *(_text(f"scripts/{name}") for name in SCRIPTS)]
    style = "".join(_text(f"styles/{name}") for name in STYLES)
    return environment.get_template("template.html").render(
        document=document,
        policy=policy(scripts, style, compiles=has_many_points(document)),
        style=Markup(style),
        style_ids=_style_ids(plotly),
        scripts=[Markup(script) for script in scripts],
        look=Markup(values_json({"colors": list(COLORS), "symbols": list(SYMBOLS), "few": FEW})),
        stored=[(key, Markup(text)) for key, text in _stored(document)],
        kind_of=lambda block: _KINDS[type(block)],
        shown_table=shown_table,
        base64=lambda content: Markup(base64.b64encode(content).decode("ascii")),
    )


def _stored(document: Document) -> Iterator[tuple[str, str]]:
    """The values of all charts and widgets of a document, as JSON by their keys."""
    for section in document.sections:
        for block in section.blocks:
            if isinstance(block, Widget):
                yield block.key, values_json(block.values)
            else:
                yield from ((chart.key, chart_json(chart)) for chart in _charts(block))


def _charts(block: Any) -> list[Chart]:
    if isinstance(block, Menu):
        return list(block.charts.values())
    return [block] if isinstance(block, Chart) else []


def _text(name: str) -> str:
    """A file of this package."""
    return files(__package__).joinpath(name).read_text(encoding="utf-8").replace("\r\n", "\n")


def _style_ids(plotly: str) -> list[str]:
    """The names of style elements that Plotly adds when it is loaded, unless they are there.

    They are for geographical maps, and the policy forbids them. The page has empty ones, so that Plotly adds none.
    """
    return sorted(set(re.findall(r'document\.getElementById\("([0-9a-f]{32,128})"\)', plotly)))


def _plotly() -> str:
    """Plotly's JavaScript, with the line breaks that a browser sees, since its hash is taken."""
    from plotly.offline import get_plotlyjs

    return get_plotlyjs().replace("\r\n", "\n")
