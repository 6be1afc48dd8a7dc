"""Groups of rows in a map: their colours and markers, and ellipses or hulls around them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from ..errors import choice
from ..inspect.categories import categories
from ..inspect.outlines import ellipse, hull
from ..selection.resampling import check_level
from ._axes import color, marker
from ._text import legend_label

#: What may be drawn around the points of a group.
OUTLINES = ("ellipse", "hull")


class Group(NamedTuple):
    """The rows of one group and how they are drawn."""

    name: str
    rows: np.ndarray
    color: str
    marker: str


def groups_of(values: np.ndarray | None, n: int) -> list[Group]:
    """The groups of n rows, sorted by their names if these can be sorted; one group without a name if there are none.

    Rows whose group is None or NaN form a group called "no group".
    """
    if values is None:
        return [Group("", np.arange(n), color(0), marker(0))]
    levels, codes = categories(values)
    order = np.argsort(codes, kind="stable")
    # Rows without a group have the code -1 and come first.
    without, *parts = np.split(order, np.cumsum(np.bincount(codes + 1, minlength=len(levels) + 1))[:-1])
    found = [(legend_label(name), rows) for name, rows in zip(levels, parts, strict=True)]
    if len(without):
        found.append(("no group", without))
    return [Group(name, rows, color(i), marker(i)) for i, (name, rows) in enumerate(found)]


def check_outline(outline: Any, level: Any) -> None:
    """Refuse an outline that is not known, and a level that is no probability."""
    check_level(level)
    if outline is not None and outline not in OUTLINES:
        raise choice("outline", outline, OUTLINES, "Or pass None for no outline.")


def outlines(groups: list[Group], points: np.ndarray, outline: str, level: float) -> Iterator[tuple[Group, np.ndarray]]:
    """The outline of each group that has one, as the corners of a polygon."""
    for group in groups:
        corners = ellipse(points[group.rows], level) if outline == "ellipse" else hull(points[group.rows])
        if corners is not None:
            yield group, corners
