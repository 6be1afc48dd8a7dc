"""Small builders of Plotly figures as plain values, and the rules for text and colours in them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

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
    """The symbol of category i."""
    return SYMBOLS[i % len(SYMBOLS)]


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
