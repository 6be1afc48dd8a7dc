"""Rows that are images, and their reconstructions from more and more components."""

from __future__ import annotations

import math
import numbers
from collections.abc import Sequence
from typing import Any

import numpy as np

from .._xp import asarray_like
from ..errors import wrong_image_shape
from ..inspect.image_shapes import checked_image_shape
from ..sources import row_labels
from ._axes import foreground, make_axes, note
from ._model import named_rows, numbers_of, read_rows
from ._offered import has, shows
from ._text import tick_labels

#: At most this many rows are drawn.
_MOST_ROWS = 10
#: Empty pixels between two images, as a fraction of their width.
_GAP = 0.08


def _adds_up(model: Any) -> bool:
    """Whether rows are the mean plus a sum over components, in the space of the columns."""
    needed = has("inverse_transform", "components_", "mean_", "explained_variance_ratio_")
    return needed(model) and model.mean_.shape[0] == model.n_features_in_


@shows("reconstructions from components", _adds_up)
def reconstructions(
    model: Any,
    X: Any,
    shape: Sequence[int] | None = None,
    *,
    n_components: Sequence[int] | None = None,
    ax: Any = None,
) -> Any:
    """Rows that are images beside their reconstructions from several numbers of components.

    Parameters
    ----------
    model : fitted model
    X : rows
        Up to ten rows; of more, the first ten are drawn, and a note says so.
    shape : (height, width) or (height, width, 3), optional
        The shape of the image in a row; by default a square.
    n_components : sequence of int, optional
        Numbers of components, from 0 (the mean) on; by default about five between 1 and all of them.
    ax : Axes, optional

    Returns
    -------
    Axes
        All images are in one picture, with a row for each row of X.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from lowdim import PCA
    >>> X = load_digits().data
    >>> ax = PCA(20).fit(X).plot.reconstructions(X[:4], shape=(8, 8), n_components=[2, 10, 20])
    """
    counts = _counts(model, n_components)
    height, width, *colors = _shape(shape, int(model.n_features_in_))
    # One row more tells whether there are others.
    found = read_rows(model, X, _MOST_ROWS + 1)
    rows = found[:_MOST_ROWS, :]
    index = row_labels(X)
    n = rows.shape[0]
    names = list(range(n)) if index is None else list(index[:n])
    Z = numbers_of(model.transform(named_rows(model, rows)))
    images = [numbers_of(rows)]
    for k in counts:
        # Components whose scores are zero contribute nothing: this is the reconstruction from the first k.
        kept = np.where(np.arange(Z.shape[1]) < k, Z, 0.0)
        images.append(numbers_of(model.inverse_transform(asarray_like(kept, rows, dtype=rows.dtype))))
    gap = max(1, round(_GAP * width))
    low, high = float(images[0].min()), float(images[0].max())
    mosaic = np.full(((height + gap) * n - gap, (width + gap) * len(images) - gap, *colors), np.nan)
    for j, of_count in enumerate(images):
        for i, image in enumerate(of_count):
            top, left = i * (height + gap), j * (width + gap)
            mosaic[top : top + height, left : left + width] = image.reshape(height, width, *colors)
    aspect = mosaic.shape[1] / mosaic.shape[0]
    ax = make_axes(ax, size=(1.0, min(2.0, max(0.6, 1.3 / aspect))))
    _draw(ax, mosaic, low, high, bool(colors))
    corners = [(j * (width + gap), i * (height + gap)) for i in range(n) for j in range(len(images))]
    _frame(ax, corners, width, height)
    tick_labels(ax.xaxis, [(width - 1) / 2 + j * (width + gap) for j in range(len(images))], ["row", *map(str, counts)])
    tick_labels(ax.yaxis, [(height - 1) / 2 + i * (height + gap) for i in range(n)], names)
    ax.set_xlabel("number of components")
    ax.xaxis.set_label_position("top")
    ax.tick_params(length=0, labeltop=True, labelbottom=False)
    ax.spines[:].set_visible(False)
    note(ax, [f"the first {n} rows"] if found.shape[0] > n else [])
    return ax


def _draw(ax: Any, mosaic: np.ndarray, low: float, high: float, in_color: bool) -> None:
    ax.grid(False)
    if in_color:
        span = (high - low) or 1.0
        filled = np.clip((mosaic - low) / span, 0.0, 1.0)
        alpha = np.where(np.isnan(mosaic).any(axis=2), 0.0, 1.0)
        ax.imshow(np.dstack([np.nan_to_num(filled), alpha]), interpolation="nearest")
        return
    ax.imshow(mosaic, cmap="gray", vmin=low, vmax=high, interpolation="nearest")


def _frame(ax: Any, corners: list[tuple[int, int]], width: int, height: int) -> None:
    """A thin frame around each image, since its border may have the colour of the background."""
    from matplotlib.patches import Rectangle

    look = {"fill": False, "edgecolor": foreground(), "alpha": 0.3, "linewidth": 0.5}
    for left, top in corners:
        # Pixels are centred at whole numbers.
        ax.add_patch(Rectangle((left - 0.5, top - 0.5), width, height, **look))


def _counts(model: Any, n_components: Any) -> list[int]:
    """The numbers of components, checked."""
    most = int(model.n_components_)
    if n_components is None:
        return sorted({round(k) for k in np.geomspace(1, max(most, 1), 5).tolist()})
    given = [n_components] if isinstance(n_components, numbers.Integral) else list(n_components)
    for k in given:
        if not isinstance(k, numbers.Integral) or not 0 <= int(k) <= most:
            raise ValueError(f"n_components has {k!r}; each must be a whole number between 0 and {most}.")
    return [int(k) for k in given]


def _shape(shape: Any, p: int) -> tuple[int, ...]:
    """The shape of an image of p pixels."""
    if shape is None:
        side = math.isqrt(p)
        if side * side != p:
            raise wrong_image_shape(shape, p)
        return side, side
    return checked_image_shape(shape, p)
