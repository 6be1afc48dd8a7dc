"""Whether the columns are the pixels of a picture or the points of a curve, from correlations of neighbouring columns.

Neighbouring pixels are much more alike than pixels far from each other, in both directions of the picture: columns j
and j + 1 within a line, and columns j and j + width. This tells the width. The last pixel of a line and the first of
the next one are not neighbours, and neither are pixels half a line apart.

Neighbouring points of a curve, such as a spectrum, are nearly the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from ...inspect.image_shapes import checked_image_shape

#: Fewer rows than this tell nothing of the columns; and the smallest height and width of a picture, and the largest
#: ratio of the two.
_ROWS, _SIDE, _RATIO = 20, 4, 4
#: How much more alike neighbours have to be than columns that are not.
_MORE = 0.2
#: The smallest number of points of a curve, and the median correlation of neighbouring ones.
_POINTS, _SMOOTH = 20, 0.95
#: The standard deviations of neighbouring points of a curve differ by less than this factor.
_JUMP = 5.0
#: The number of pairs of columns that are drawn at random.
_PAIRS = 3000

#: The correlations of pairs of columns, given by their positions; NaN for columns that do not vary.
Correlations = Callable[[np.ndarray, np.ndarray], np.ndarray]


@dataclass(frozen=True)
class ColumnLayout:
    """What the columns are, side by side."""

    #: (height, width) or (height, width, 3) of the picture in each row; None for a curve.
    shape: tuple[int, ...] | None = None

    @property
    def is_curve(self) -> bool:
        """Whether the columns are points of a curve."""
        return self.shape is None


def layout_given(image_shape: Any, p: int) -> ColumnLayout:
    """The layout that the user has told; an error if the shape is not that of p columns."""
    return ColumnLayout(checked_image_shape(image_shape, p, colours=(3,)))


def found_layout(correlations: Correlations, deviations: np.ndarray, n: int) -> ColumnLayout | None:
    """The layout that n rows show of columns with these standard deviations; None if they are in no order."""
    p = len(deviations)
    if n < _ROWS or p < min(_SIDE**2, _POINTS):
        return None
    random = np.random.default_rng(0)
    first, second = random.integers(0, p, (2, _PAIRS))
    apart = _mean(correlations(first[first != second], second[first != second]))
    found = [(score, shape) for shape in _shapes(p) if (score := _alike(correlations, shape, apart)) is not None]
    if found:
        # Pictures with colours look like wider ones without them, too.
        return ColumnLayout(max(found, key=lambda each: (len(each[1]), each[0]))[1])
    steps = correlations(np.arange(p - 1), np.arange(1, p))
    steps = steps[np.isfinite(steps)]
    smooth = len(steps) >= _POINTS and np.median(steps) > _SMOOTH and np.mean(steps) > apart + _MORE
    scales = deviations[deviations > 0]
    jumps = np.abs(np.diff(np.log(scales)))
    # A column of other units beside the curve is not a point of it.
    return ColumnLayout() if smooth and jumps.max(initial=0.0) < np.log(_JUMP) else None


def correlations_of_rows(X: np.ndarray, used: np.ndarray, p: int) -> Correlations:
    """The correlations of columns from rows of the columns `used`, in which entries may be missing."""
    known = ~np.isnan(X)
    counts = np.maximum(known.sum(axis=0), 1)
    centred = np.where(known, X - np.where(known, X, 0.0).sum(axis=0) / counts, 0.0)
    lengths = np.sqrt((centred**2).sum(axis=0))
    units = centred / np.where(lengths > 0, lengths, 1.0)
    place = np.full(p, -1)
    place[used[lengths > 0]] = np.flatnonzero(lengths > 0)

    def correlations(i: np.ndarray, j: np.ndarray) -> np.ndarray:
        a, b = place[i], place[j]
        known = (a >= 0) & (b >= 0)
        out = np.full(len(i), np.nan)
        out[known] = np.einsum("nj,nj->j", units[:, a[known]], units[:, b[known]])
        return out

    return correlations


def _shapes(p: int) -> Iterator[tuple[int, ...]]:
    """The shapes that a picture of p numbers can have."""
    for colours in (1, 3):
        pixels, left = divmod(p, colours)
        for width in range(_SIDE, pixels // _SIDE + 1) if left == 0 else ():
            height, rest = divmod(pixels, width)
            if rest == 0 and max(height, width) <= _RATIO * min(height, width):
                yield (height, width) if colours == 1 else (height, width, 3)


def _alike(correlations: Correlations, shape: tuple[int, ...], apart: float) -> float | None:
    """How alike neighbours in a picture of this shape are; None if the rows do not look like such pictures."""
    p = prod(shape)
    step = shape[2] if len(shape) == 3 else 1
    line = shape[1] * step
    column = np.arange(p) // step % shape[1]
    last = column == shape[1] - 1

    def lag(distance: int, some: np.ndarray | None = None) -> float:
        at = np.arange(p - distance)
        at = at if some is None else at[some[: p - distance]]
        return _mean(correlations(at, at + distance))

    across, down = lag(step, ~last), lag(line)
    if not min(across, down) > apart + _MORE:
        return None
    # Down is a direction only if the pixels beside those one line below are less alike, and so are those half a line
    # away; and the picture ends at its right side.
    if not (down > max(lag(line - step), lag(line + step)) and down > lag(line // 2) + _MORE):
        return None
    over_the_edge = lag(step, last)
    if over_the_edge > across - _MORE / 2:
        return None
    if step == 3 and not _are_colours(correlations(np.arange(p - 1), np.arange(1, p))):
        return None
    return across + down


def _are_colours(steps: np.ndarray) -> bool:
    """Whether the three numbers of a pixel are more alike than the last one and the first one of the next pixel."""
    last = np.arange(len(steps)) % 3 == 2
    within, beyond = steps[~last & np.isfinite(steps)], steps[last & np.isfinite(steps)]
    if min(len(within), len(beyond)) < _SIDE:
        return False
    error = np.sqrt(within.var() / len(within) + beyond.var() / len(beyond))
    return bool(within.mean() - beyond.mean() > max(0.01, 4 * error))


def _mean(values: np.ndarray) -> float:
    """The mean of the correlations that are known; NaN if there are hardly any."""
    known = values[np.isfinite(values)]
    return float(known.mean()) if len(known) >= _SIDE else np.nan
