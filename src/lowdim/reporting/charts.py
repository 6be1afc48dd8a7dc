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


def scatter(mode: str, hover: str | None = None, **more: Any) -> dict[str, Any]:
    """A trace of points or lines; `hover` is what is shown of the point below the pointer."""
    end = {} if hover is None else {"hovertemplate": f"{hover}<extra></extra>"}
    return {"type": "scatter", "mode": mode, **more, **end}


def bar(hover: str, **more: Any) -> dict[str, Any]:
    """A trace of bars; `hover` is what is shown of the bar below the pointer."""
    return {"type": "bar", **more, "hovertemplate": f"{hover}<extra></extra>"}


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
        own = np.arange(len(x)) if codes is None else np.flatnonzero(codes == i)
        if len(own) == 0:
            continue
        look = {"color": color(i), "symbol": symbol(i)} if i >= 0 else {"color": GREY, "symbol": "circle-open"}
        named = {} if level is None else {"name": plain(level), "legendgroup": plain(level)}
        traces.append(
            scatter(
                "markers",
                x=np.asarray(x[own], dtype=np.float64),
                y=np.asarray(y[own], dtype=np.float64),
                text=[plain(hover[int(j)]) for j in own],
                marker={**look, "size": 8 if len(own) <= 300 else 6 if len(own) <= 1000 else 5, "opacity": 0.75},
                hovertemplate="%{text}<br>%{x:.4~g}, %{y:.4~g}<extra></extra>",
                showlegend=level is not None,
                **named,
                **more,
            )
        )
    return traces


# Values of columns: bars or dots, one above the other with their names, or a curve over columns in order.


def column_values(kind: str, names: list[str], values: np.ndarray) -> dict[str, Any]:
    """A trace of "bars", "dots" or a "curve". Columns are numbered, since their names may be anything."""
    places, text = np.arange(len(values), dtype=np.int32), [plain(name) for name in names]
    end: Any = {"hovertemplate": "%{text}: %{x:.4~g}<extra></extra>", "showlegend": False}
    if kind == "bars":
        start = {"type": "bar", "orientation": "h", "x": values, "y": places, "text": text, "textposition": "none"}
        return {**start, "marker": {"color": color(0)}, **end}
    if kind == "dots":
        return scatter("markers", x=values, y=places, text=text, marker={"color": color(0), "size": 8}, **end)
    end["hovertemplate"] = "%{text}: %{y:.4~g}<extra></extra>"
    return scatter("lines", x=places, y=values, text=text, line={"color": color(0), "width": 2}, **end)


def column_axes(title: str, curve: bool, names: list[str], line: float) -> dict[str, Any]:
    """The layout for values of columns, whose names are at the marks, with a dashed line at one value."""
    places = np.arange(len(names)) if not curve else np.unique(np.linspace(0, len(names) - 1, 9).round().astype(int))
    marks = {"tickmode": "array", "tickvals": places.tolist(), "ticktext": [plain(names[i], 24) for i in places]}
    of_values, of_columns = axis(title), axis("", automargin=True, **marks)
    along, across = ("y", "x") if curve else ("x", "y")
    ends = {f"{along}0": line, f"{along}1": line, f"{across}0": 0, f"{across}1": 1}
    look = {"type": "line", f"{across}ref": "paper", "line": {"dash": "dash", "width": 1, "color": GREY}}
    x, y = (of_columns, of_values) if curve else (of_values, of_columns)
    return axes(x, y, shapes=[look | ends])


def column_height(n: int, curve: bool) -> int:
    """The height of a chart of n columns."""
    return 380 if curve else max(240, 120 + 22 * n)
