"""Builders of Plotly figures as plain values, and the rules for text and colours in them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .blocks import brief

#: Colours of categories that colour-blind readers tell apart, legible on white and on dark grey. Where more than one
#: category is drawn, each has its symbol, too.
COLORS = ("#3b7dd8", "#e07b00", "#1c9c75", "#c7529a", "#8a6fd1", "#b8a200", "#4aa8c8", "#d1495b", "#6d8a3c", "#9a6a4f")
SYMBOLS = ("circle", "square", "diamond", "triangle-up", "cross", "triangle-down", "star", "x", "pentagon", "hexagon")
#: The colour of lines that only guide the eye, on light and on dark pages.
GREY = "#8a8a8a"


def plain(text: Any, longest: int = 40) -> str:
    """Text that Plotly draws as it is: without tags, entities or control characters, and shortened in its middle."""
    return brief(text, longest).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def labels(names: Sequence[Any]) -> list[str]:
    """Names as categories of an axis: shortened, and made different where Plotly would take them for the same."""
    found: dict[str, int] = {}
    out = []
    for name in names:
        text = plain(name, 24)
        found[text] = found.get(text, 0) + 1
        # A blank of no width: it is not seen, but makes the categories different.
        out.append(text + "\u200b" * (found[text] - 1))
    return out


def color(i: int) -> str:
    """The colour of category i."""
    return COLORS[i % len(COLORS)]


def symbol(i: int) -> str:
    """The symbol of category i; the categories of one colour have different symbols."""
    return SYMBOLS[(i + i // len(COLORS)) % len(SYMBOLS)]


def axis(title: str = "", **more: Any) -> dict[str, Any]:
    """An axis with a title."""
    return {"title": {"text": title}, **more}


def axes(x: Any, y: Any, legend: float | None = None, **more: Any) -> dict[str, Any]:
    """A layout: two axes, given by their titles or as they are, and the height of a flat legend."""
    layout = {"xaxis": axis(x) if isinstance(x, str) else x, "yaxis": axis(y) if isinstance(y, str) else y, **more}
    return layout if legend is None else layout | {"legend": {"orientation": "h", "y": legend}}


#: The looks of the two parts of a trace.
_LOOKS = {"line": ("color", "width", "dash"), "marker": ("color", "symbol", "size", "opacity")}


def names_axis(n: int = 0, **more: Any) -> dict[str, Any]:
    """An axis of names; more than three of them are turned."""
    return axis(type="category", automargin=True, tickangle=-45 if n > 3 else 0, **more)


def scatter(mode: str, hover: str | None = None, paint: Any = None, **more: Any) -> dict[str, Any]:
    """A trace of points or lines; `hover` is what is shown of the point below the pointer.

    `paint` is a colour, or the number of one; `width`, `dash`, `symbol`, `size` and `opacity` are those of the lines
    and markers.
    """
    look = {"color": color(paint) if isinstance(paint, int) else paint} if paint is not None else {}
    look |= {name: more.pop(name) for names in _LOOKS.values() for name in names if name in more}
    for part, names in _LOOKS.items():
        own = {name: look[name] for name in names if name in look}
        if own and f"{part}s" in mode:
            more[part] = own
    end = {} if hover is None else {"hovertemplate": f"{hover}<extra></extra>"}
    return {"type": "scatter", "mode": mode, **more, **end}


def bar(hover: str, paint: int = 0, **more: Any) -> dict[str, Any]:
    """A trace of bars of one colour; `hover` is what is shown of the bar below the pointer."""
    return {"type": "bar", "marker": {"color": color(paint)}, **more, "hovertemplate": f"{hover}<extra></extra>"}


def heatmap(hover: str, z: np.ndarray, colors: list[list[Any]], **more: Any) -> dict[str, Any]:
    """A picture of a matrix in a scale of colours."""
    look = {"colorscale": colors, "hovertemplate": f"{hover}<extra></extra>"}
    return {"type": "heatmap", "z": z.astype(np.float32), **look, **more}


def error_bars(above: np.ndarray, below: np.ndarray, **more: Any) -> dict[str, Any]:
    """Bars of an interval, given by its lengths above and below each value."""
    return {"type": "data", "symmetric": False, "array": above, "arrayminus": below, **more}


def heading(text: str, x: float, y: float, **more: Any) -> dict[str, Any]:
    """Text at a place that is given as fractions of the whole chart, or of what `more` refers to."""
    return {"text": text, "x": x, "y": y, "xref": "paper", "yref": "paper", **more}


def guide(axis: str, value: float, **look: Any) -> dict[str, Any]:
    """A thin line across the whole chart at a value of the x or the y axis."""
    other = "y" if axis == "x" else "x"
    ends = {f"{axis}0": value, f"{axis}1": value, f"{other}0": 0, f"{other}1": 1, f"{other}ref": "paper"}
    return {"type": "line", **ends, "line": {"color": GREY, "width": 1, **look}}


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
    traces = []
    for i, level in [(0, None)] if codes is None else [*enumerate(levels), (-1, "no label")]:
        own: Any = slice(None) if codes is None else np.flatnonzero(codes == i)
        text = [plain(name) for name in np.array(hover, dtype=object)[own]]
        if not text:
            continue
        size = 8 if len(text) <= 300 else 6 if len(text) <= 1000 else 5
        look = {"paint": i, "symbol": symbol(i)} if i >= 0 else {"paint": GREY, "symbol": "circle-open"}
        at = {axis: np.asarray(values[own], dtype=np.float64) for axis, values in (("x", x), ("y", y))}
        trace = scatter("markers", "%{text}<br>%{x:.4~g}, %{y:.4~g}", **at, text=text, **look, size=size, opacity=0.75)
        named = {} if level is None else {"name": plain(level), "legendgroup": plain(level)}
        traces.append({**trace, "showlegend": level is not None, **named, **more})
    return traces


def column_chart(kind: str, names: list[str], values: np.ndarray, title: str, line: float) -> dict[str, Any]:
    """Data, layout and height of a chart of the values of columns, with a dashed line at one value.

    They are "bars" or "dots", one above the other with their names, or a "curve" over columns in order. Columns are
    numbered, since their names may be anything.
    """
    n, text, curve = len(names), [plain(name) for name in names], kind == "curve"
    hover = f"%{{text}}: %{{{'y' if curve else 'x'}:.4~g}}"
    places = np.arange(n, dtype=np.int32)
    look: Any = {"text": text, "showlegend": False, "paint": 0}
    if curve:
        trace = scatter("lines", hover, x=places, y=values, width=2, **look)
    elif kind == "dots":
        trace = scatter("markers", hover, x=values, y=places, size=8, **look)
    else:
        trace = bar(hover, orientation="h", x=values, y=places, textposition="none", **look)
    marked = np.unique(np.linspace(0, n - 1, 9).round().astype(int)) if curve else np.arange(n)
    marks = {"tickmode": "array", "tickvals": marked.tolist(), "ticktext": [plain(names[i], 24) for i in marked]}
    of_values, of_columns = axis(title), axis("", automargin=True, **marks)
    x, y = (of_columns, of_values) if curve else (of_values, of_columns)
    shapes = [guide("y" if curve else "x", line, dash="dash")]
    return {"data": [trace], "layout": axes(x, y, shapes=shapes), "height": 380 if curve else max(240, 120 + 22 * n)}
