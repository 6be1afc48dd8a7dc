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
#: The gap between two labels, in pixels.
_GAP = 2.0


def place_labels(
    ax: Any,
    points: np.ndarray,
    texts: Sequence[Any],
    *,
    order: np.ndarray | None = None,
    obstacles: np.ndarray | None = None,
    outward: bool = False,
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
    outward : bool
        For names of arrows: places away from the origin are tried first, and a label that covers a point is better
        than none.

    Returns
    -------
    int
        How many labels found a place. The others are left out.

    Notes
    -----
    A place is free if the label is within the axes and covers no point and no other label. The work is proportional to
    the number of labels times the number of points.
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
    on_screen, origin = ax.transData.transform(everything), ax.transData.transform((0.0, 0.0))
    inside, taken = _box(ax.get_window_extent()), [_box(extent) for extent in _occupied(ax)]
    look = {"fontsize": "small", **LITERAL, **look}
    placed = 0
    for i in order[:MOST_LABELS]:
        shown = label(texts[i])
        if not shown:
            continue
        text = ax.annotate(shown, points[i], xytext=(0, 0), textcoords="offset points", zorder=5, **look)
        extent = text.get_window_extent()
        away = on_screen[i] - origin if outward else None
        boxes = _places(on_screen[i], extent.width, extent.height, pixels, away)
        boxes = [box for box in boxes if _within(box, inside) and not any(_overlap(box, other) for other in taken)]
        others = np.delete(on_screen, i, axis=0)
        free = [box for box in boxes if not _covers(box, others, 2.0 * pixels)]
        found = free or (boxes if outward else [])
        if not found:
            text.remove()
            continue
        box = found[0]
        taken.append(box)
        text.set(ha="left", va="bottom")
        text.set_position(tuple((box[:2] - on_screen[i]) / pixels))
        _connect(ax, points[i], (np.clip(on_screen[i], box[:2], box[2:]) - on_screen[i]) / pixels, text)
        placed += 1
    return placed


def _places(point: np.ndarray, width: float, height: float, pixels: float, away: np.ndarray | None) -> list[np.ndarray]:
    """Boxes (left, bottom, right, top) for a label around a point, the best first."""
    directions = np.array(_DIRECTIONS, dtype=float)
    if away is not None and np.any(away):
        units = directions / np.linalg.norm(directions, axis=1)[:, None]
        directions = directions[np.argsort(-(units @ away), kind="stable")]
    size = np.array([width, height])
    corners = [
        point + d * pixels * direction - size * (1 - direction) / 2 for d in _DISTANCES for direction in directions
    ]
    return [np.concatenate([corner, corner + size]) for corner in corners]


def _within(box: np.ndarray, frame: np.ndarray) -> bool:
    return bool(np.all(box[:2] >= frame[:2]) and np.all(box[2:] <= frame[2:]))


def _covers(box: np.ndarray, points: np.ndarray, margin: float) -> bool:
    """Whether a box covers one of the points."""
    low, high = box[:2] - margin, box[2:] + margin
    return bool(np.any(np.all((points > low) & (points < high), axis=1)))


def _overlap(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether two boxes overlap or nearly touch each other."""
    return bool(np.all(a[:2] < b[2:] + _GAP) and np.all(b[:2] < a[2:] + _GAP))


def _box(extent: Any) -> np.ndarray:
    return np.array([extent.x0, extent.y0, extent.x1, extent.y1])


def _occupied(ax: Any) -> list[Any]:
    """Where text and the legend are already."""
    boxes = [text.get_window_extent() for text in ax.texts if text.get_text()]
    legend = ax.get_legend()
    return boxes if legend is None else [*boxes, legend.get_window_extent()]


def _connect(ax: Any, point: np.ndarray, nearest: np.ndarray, text: Any) -> None:
    """A thin line from a point to its label, if that is not directly beside it."""
    if np.linalg.norm(nearest) <= 1.5 * _DISTANCES[0]:
        return
    ax.annotate(
        "",
        point,
        xytext=tuple(nearest),
        textcoords="offset points",
        arrowprops={"arrowstyle": "-", "color": text.get_color(), "linewidth": 0.5, "shrinkA": 0, "shrinkB": 1},
        zorder=4,
    )


def label_points_in_space(ax: Any, points: np.ndarray, texts: Sequence[Any], **look: Any) -> int:
    """Write `texts` beside points in three dimensions, which they follow when the axes are turned.

    Labels that would cover an earlier one, as the axes are turned now, are left out. Returns how many are written.
    """
    from mpl_toolkits.mplot3d import proj3d

    figure = ax.figure.figure
    figure.draw_without_rendering()
    x, y, _ = proj3d.proj_transform(*points.T, ax.get_proj())
    on_screen = ax.transData.transform(np.column_stack([x, y]))
    spread = points.std(axis=0)
    distance = np.sum(((points - points.mean(axis=0)) / np.where(spread > 0, spread, 1.0)) ** 2, axis=1)
    inside, taken = _box(figure.bbox), [_box(extent) for extent in _occupied(ax)]
    placed = 0
    for i in np.argsort(-distance, kind="stable")[:MOST_LABELS]:
        text = ax.text(*points[i], f" {label(texts[i])}", **{"fontsize": "small", **LITERAL, **look})
        extent = text.get_window_extent()
        size = np.array([extent.width, extent.height])
        box = np.concatenate([on_screen[i], on_screen[i] + size])
        if _within(box, inside) and not any(_overlap(box, other) for other in taken):
            taken.append(box)
            placed += 1
        else:
            text.remove()
    return placed
