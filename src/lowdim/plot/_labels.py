"""Labels beside points that do not cover one another: each takes the first free place around its point."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ._text import LITERAL, label

#: At most this many labels are tried.
MOST_LABELS = 200
#: Directions from a point to its label, in the order in which they are tried.
_DIRECTIONS = ((1, 1), (1, -1), (-1, 1), (-1, -1), (1, 0), (-1, 0), (0, 1), (0, -1))
#: Distances between a point and its label, in points of 1/72 inch.
_DISTANCES = (4.0, 9.0, 16.0)


def place_labels(
    ax: Any,
    points: np.ndarray,
    texts: Sequence[Any],
    *,
    order: np.ndarray | None = None,
    obstacles: np.ndarray | None = None,
    **look: Any,
) -> int:
    """Write `texts` beside `points`, in the coordinates of the axes, whose limits must be final.

    Parameters
    ----------
    ax : Axes
    points : array of shape (n, 2)
    texts : sequence of n labels
    order : array of int, optional
        The points in the order in which they get their labels; by default those far from the middle come first.
    obstacles : array of shape (m, 2), optional
        Other points that labels should not cover.

    Returns
    -------
    int
        How many labels found a place. The others are left out.

    Notes
    -----
    A place is free if the label is within the axes and covers no point and no other label. If all places beside a
    point cover points, the label is left out. The work is proportional to the number of labels times the number of
    points.
    """
    points = np.asarray(points, dtype=float)
    if order is None:
        spread = points.std(axis=0)
        distance = np.sum(((points - points.mean(axis=0)) / np.where(spread > 0, spread, 1.0)) ** 2, axis=1)
        order = np.argsort(-distance, kind="stable")
    figure = ax.figure.figure
    # This computes the layout, without which the size of the axes in pixels is not known.
    figure.draw_without_rendering()
    pixels = figure.dpi / 72.0
    everything = points if obstacles is None else np.vstack([points, obstacles])
    on_screen = ax.transData.transform(everything)
    inside, taken = ax.get_window_extent(), [_box(box) for box in _notes(ax)]
    look = {"fontsize": "small", **LITERAL, **look}
    placed = 0
    for i in order[:MOST_LABELS]:
        shown = label(texts[i])
        if not shown:
            continue
        text = ax.annotate(shown, points[i], xytext=(0, 0), textcoords="offset points", zorder=5, **look)
        extent = text.get_window_extent()
        place = _free_place(on_screen, i, extent.width, extent.height, pixels, taken, _box(inside))
        if place is None:
            text.remove()
            continue
        box, (dx, dy) = place
        taken.append(box)
        text.set(ha="left", va="bottom")
        text.set_position(((box[0] - on_screen[i, 0]) / pixels, (box[1] - on_screen[i, 1]) / pixels))
        if max(abs(dx), abs(dy)) > _DISTANCES[1]:
            _connect(ax, points[i], text)
        placed += 1
    return placed


def _free_place(
    on_screen: np.ndarray,
    i: int,
    width: float,
    height: float,
    pixels: float,
    taken: list[np.ndarray],
    inside: np.ndarray,
) -> tuple[np.ndarray, tuple[float, float]] | None:
    """The first free box (left, bottom, right, top) for the label of point i, and its offset from the point."""
    x, y = on_screen[i]
    others = np.delete(on_screen, i, axis=0)
    for distance in _DISTANCES:
        for direction in _DIRECTIONS:
            dx, dy = (distance * pixels * d for d in direction)
            left = x + dx - width * (1 - direction[0]) / 2
            bottom = y + dy - height * (1 - direction[1]) / 2
            box = np.array([left, bottom, left + width, bottom + height])
            within = box[0] >= inside[0] and box[1] >= inside[1] and box[2] <= inside[2] and box[3] <= inside[3]
            if within and not _covers(box, others, 2.0 * pixels) and not any(_overlap(box, b) for b in taken):
                return box, (distance * direction[0], distance * direction[1])
    return None


def _covers(box: np.ndarray, points: np.ndarray, margin: float) -> bool:
    """Whether a box covers one of the points."""
    low, high = box[:2] - margin, box[2:] + margin
    return bool(np.any(np.all((points > low) & (points < high), axis=1)))


def _overlap(a: np.ndarray, b: np.ndarray) -> bool:
    return bool(a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3])


def _box(extent: Any) -> np.ndarray:
    return np.array([extent.x0, extent.y0, extent.x1, extent.y1])


def _notes(ax: Any) -> list[Any]:
    """Where text and the legend are already."""
    boxes = [text.get_window_extent() for text in ax.texts]
    legend = ax.get_legend()
    return boxes if legend is None else [*boxes, legend.get_window_extent()]


def _connect(ax: Any, point: np.ndarray, text: Any) -> None:
    """A thin line from a point to a label that is not directly beside it."""
    ax.annotate(
        "",
        point,
        xytext=text.get_position(),
        textcoords="offset points",
        arrowprops={"arrowstyle": "-", "color": text.get_color(), "linewidth": 0.5, "shrinkA": 0, "shrinkB": 2},
        zorder=4,
    )


def keep_free_texts(ax: Any, texts: Sequence[Any]) -> int:
    """Remove the texts that cover an earlier one or leave the figure; returns how many stay."""
    figure = ax.figure.figure
    figure.draw_without_rendering()
    taken: list[np.ndarray] = []
    inside = _box(figure.bbox)
    for text in texts:
        box = _box(text.get_window_extent())
        within = box[0] >= inside[0] and box[1] >= inside[1] and box[2] <= inside[2] and box[3] <= inside[3]
        if within and not any(_overlap(box, other) for other in taken):
            taken.append(box)
        else:
            text.remove()
    return len(taken)
