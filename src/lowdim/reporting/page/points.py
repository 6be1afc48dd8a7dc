"""How many points a document shows, which decides whether the browser draws them as SVG or by WebGL."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..blocks import Chart, Document, Menu, Widget

#: Charts of up to this many points are drawn as SVG, which prints sharply; above, by WebGL, which is faster.
FEW = 2000


def has_many_points(document: Document) -> bool:
    """Whether a chart of the document has so many points that the browser draws them by WebGL."""
    return any(_points(block) > FEW for block in _drawings(document))


def _drawings(document: Document) -> Iterator[Chart | Widget]:
    for section in document.sections:
        for block in section.blocks:
            if isinstance(block, Menu):
                yield from block.charts.values()
            elif isinstance(block, Chart | Widget):
                yield block


def _points(block: Chart | Widget) -> int:
    if isinstance(block, Widget):
        return len(block.values.get("numbers", ()))
    return sum(_length(trace) for trace in block.data if trace.get("type") == "scattergl")


def _length(trace: Any) -> int:
    return max(len(trace.get("x", ())), len(trace.get("y", ())))
