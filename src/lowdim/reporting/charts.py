"""Small builders of Plotly figures as plain values, and the rules for text and colours in them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .words import brief

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
