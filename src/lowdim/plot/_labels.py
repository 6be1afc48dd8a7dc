"""Labels beside points that do not cover one another: each takes the first free place around its point."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ._text import LITERAL, label, settle_legend

#: At most this many labels are tried.
MOST_LABELS = 200
#: Directions from a point to its label, in the order in which they are tried.
_DIRECTIONS = ((1, 1), (1, -1), (-1, 1), (-1, -1), (1, 0), (-1, 0), (0, 1), (0, -1))
#: Distances between a point and its label, in points of 1/72 inch.
_DISTANCES = (4.0, 9.0, 16.0, 26.0, 40.0)
#: How a label in each direction is aligned, horizontally and vertically.
_SIDES = ({1: "left", 0: "center", -1: "right"}, {1: "bottom", 0: "center", -1: "top"})
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
        order = _from_outside(points)
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
        places = _places(on_screen[i], extent.width, extent.height, pixels, away)
        boxes = np.array([place.box for place in places])
        possible = _within(boxes, inside) & ~_overlap(boxes, taken)
        free = possible & ~_cover(boxes, np.delete(on_screen, i, axis=0), 2.0 * pixels)
        found = np.flatnonzero(free if free.any() or not outward else possible)
        if len(found) == 0:
            text.remove()
            continue
        place = places[found[0]]
        taken.append(place.box)
        # The label is anchored at the side of its point, so that it stays there in files of other resolutions.
        text.set(ha=_SIDES[0][place.direction[0]], va=_SIDES[1][place.direction[1]])
        text.set_position((place.distance * place.direction[0], place.distance * place.direction[1]))
        if place.distance > _DISTANCES[0]:
            nearest = np.clip(on_screen[i], place.box[:2], place.box[2:])
            _connect(ax, points[i], (nearest - on_screen[i]) / pixels, text)
        placed += 1
    return placed


def _from_outside(points: np.ndarray) -> np.ndarray:
    """The points in the order of their distance from the middle, in units of their deviations, the farthest first."""
    spread = points.std(axis=0)
    distance = np.sum(((points - points.mean(axis=0)) / np.where(spread > 0, spread, 1.0)) ** 2, axis=1)
    return np.argsort(-distance, kind="stable")


class _Place(NamedTuple):
    """A place for a label."""

    #: Left, bottom, right and top, in pixels.
    box: np.ndarray
    #: The direction from the point to the label, and the distance in points.
    direction: tuple[int, int]
    distance: float


def _places(point: np.ndarray, width: float, height: float, pixels: float, away: np.ndarray | None) -> list[_Place]:
    """Places for a label around a point, the best first."""
    directions = list(_DIRECTIONS)
    if away is not None and np.any(away):
        directions.sort(key=lambda d: -float(np.dot(d, away)) / float(np.linalg.norm(d)))
    size = np.array([width, height])
    places = []
    # Names of arrows may be far away; labels of many rows with long lines would be hard to read.
    for distance in _DISTANCES[: None if away is not None else -1]:
        for direction in directions:
            towards = np.array(direction, dtype=float)
            corner = point + distance * pixels * towards - size * (1 - towards) / 2
            places.append(_Place(np.concatenate([corner, corner + size]), direction, distance))
    return places


def _within(boxes: np.ndarray, frame: np.ndarray) -> np.ndarray:
    """Which boxes are within a frame."""
    return np.asarray(np.all(boxes[:, :2] >= frame[:2], axis=1) & np.all(boxes[:, 2:] <= frame[2:], axis=1))


def _cover(boxes: np.ndarray, points: np.ndarray, margin: float) -> np.ndarray:
    """Which boxes cover one of the points."""
    # Most points are far from all boxes.
    near = np.all((points > boxes[:, :2].min(axis=0) - margin) & (points < boxes[:, 2:].max(axis=0) + margin), axis=1)
    points = points[near]
    low, high = boxes[:, None, :2] - margin, boxes[:, None, 2:] + margin
    return np.asarray(np.any(np.all((points > low) & (points < high), axis=2), axis=1))


def _overlap(boxes: np.ndarray, others: list[np.ndarray]) -> np.ndarray:
    """Which boxes overlap one of the others, or nearly touch it."""
    if not others:
        return np.zeros(len(boxes), dtype=bool)
    other = np.array(others)[None]
    beside = (boxes[:, None, :2] >= other[..., 2:] + _GAP) | (other[..., :2] >= boxes[:, None, 2:] + _GAP)
    return np.asarray(~np.all(np.any(beside, axis=2), axis=1))


def _box(extent: Any) -> np.ndarray:
    return np.array([extent.x0, extent.y0, extent.x1, extent.y1])


def _occupied(ax: Any) -> list[Any]:
    """Where text and the legend are already."""
    boxes = [text.get_window_extent() for text in ax.texts if text.get_text()]
    legend = ax.get_legend()
    if legend is None:
        return boxes
    box = legend.get_window_extent()
    settle_legend(ax, box)
    return [*boxes, box]


def _connect(ax: Any, point: np.ndarray, nearest: np.ndarray, text: Any) -> None:
    """A thin line from a point to a label that is not directly beside it."""
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
    inside, taken = _box(figure.bbox), [_box(extent) for extent in _occupied(ax)]
    placed = 0
    for i in _from_outside(points)[:MOST_LABELS]:
        text = ax.text(*points[i], f" {label(texts[i])}", **{"fontsize": "small", **LITERAL, **look})
        extent = text.get_window_extent()
        size = np.array([extent.width, extent.height])
        box = np.concatenate([on_screen[i], on_screen[i] + size])
        if _within(box[None], inside)[0] and not _overlap(box[None], taken)[0]:
            taken.append(box)
            placed += 1
        else:
            text.remove()
    return placed
