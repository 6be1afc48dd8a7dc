"""Groups of rows in a map: their colours and markers, and ellipses or hulls around them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np
from scipy import special

from ..errors import choice
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
    missing = _missing(values)
    known = np.flatnonzero(~missing)
    names, codes = _distinct(values[known])
    order = np.argsort(codes, kind="stable")
    ends = np.cumsum(np.bincount(codes, minlength=len(names)))[:-1]
    parts = np.split(known[order], ends) if names else []
    found = [(legend_label(name), rows) for name, rows in zip(names, parts, strict=True)]
    if missing.any():
        found.append(("no group", np.flatnonzero(missing)))
    return [Group(name, rows, color(i), marker(i)) for i, (name, rows) in enumerate(found)]


def _missing(values: np.ndarray) -> np.ndarray:
    """Which entries are None, NaN, or NA of pandas."""
    if values.dtype.kind == "O":
        return np.array([_is_missing(value) for value in values.tolist()], dtype=bool)
    return np.isnan(values) if values.dtype.kind == "f" else np.zeros(len(values), dtype=bool)


def _is_missing(value: Any) -> bool:
    if value is None:
        return True
    try:
        return bool(value != value)
    except TypeError:
        # NA of pandas is neither equal to itself nor unequal.
        return True
    except ValueError:
        return False


def _distinct(values: np.ndarray) -> tuple[list[Any], np.ndarray]:
    """The values that occur, sorted if that is possible, and for each entry which of them it is."""
    if values.dtype.kind != "O":
        found, codes = np.unique(values, return_inverse=True)
        return found.tolist(), codes
    entries = values.tolist()
    names = list(dict.fromkeys(entries))
    with suppress(TypeError):
        names = sorted(names)
    place = {name: i for i, name in enumerate(names)}
    return names, np.array([place[entry] for entry in entries], dtype=int)


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


def ellipse(points: np.ndarray, level: float) -> np.ndarray | None:
    """The ellipse that holds the fraction `level` of a Gaussian with the mean and covariance of the points.

    It is {x : (x - mean)^T S^{-1} (x - mean) = c} with c the quantile of chi-square with two degrees of freedom and S
    with divisor n - 1, as 100 points. None for fewer than three points, or if they are on a line.
    """
    if len(points) < 3:
        return None
    values, vectors = np.linalg.eigh(np.cov(points.T))
    if values[0] <= 1e-12 * values[1]:
        return None
    angle = np.linspace(0.0, 2.0 * np.pi, 100)
    circle = np.vstack([np.cos(angle), np.sin(angle)])
    radius = np.sqrt(special.chdtri(2, 1.0 - level))
    return np.asarray((vectors @ (np.sqrt(values)[:, None] * circle * radius)).T + points.mean(axis=0))


def hull(points: np.ndarray) -> np.ndarray | None:
    """The corners of the convex hull of the points; None for fewer than three, or if they are on a line."""
    from scipy.spatial import ConvexHull, QhullError

    if len(points) < 3:
        return None
    try:
        return np.asarray(points[ConvexHull(points).vertices])
    except QhullError:
        return None
