"""Scores as contours over the plane of two columns."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import inspect
from .._xp import asarray_like
from ._axes import background, foreground, make_axes, note, thinned, thinning_note
from ._groups import groups_of
from ._model import axis_label, chosen_component, named_rows, numbers_of, read_rows, rows_shown, scores_of
from ._offered import shows
from ._text import label, legend, name_axes
from .loading_plots import DIVERGING
from .score_maps import draw_points

#: The number of points of the grid along each axis.
_GRID = 80
_LEVELS = 12


def _is_of_the_plane(model: Any) -> bool:
    return (
        getattr(model, "n_features_in_", None) == 2 and hasattr(model, "transform") and hasattr(model, "n_components_")
    )


@shows("scores over the plane of two columns", _is_of_the_plane)
def contours(model: Any, X: Any, component: Any = 1, *, groups: Any = None, ax: Any = None) -> Any:
    """The scores of one component as contours over the plane, for models of two columns such as kernel PCA.

    Parameters
    ----------
    model : fitted model of two columns
    X : rows, which are drawn as points
    component : int or str
        Its number from 1, or its name.
    groups : sequence, or str, optional
        As for `scores`.
    ax : Axes, optional

    Returns
    -------
    Axes

    Notes
    -----
    The scores are computed at the 6,400 points of a grid.

    Examples
    --------
    >>> from sklearn.datasets import make_circles
    >>> from lowdim import KernelPCA
    >>> X, which = make_circles(100, factor=0.3, noise=0.05, random_state=0)
    >>> ax = KernelPCA(2, kernel="rbf", sigma=0.4).fit(X).plot.contours(X, groups=which)
    """
    from matplotlib.ticker import MaxNLocator

    k = chosen_component(model, component)
    shown = rows_shown(model, X, groups, False)
    found = read_rows(model, shown.X)
    if found.shape[1] != len(inspect.column_names(model)):
        scores_of(model, found)  # says what the model expects
    points = numbers_of(found)
    low, high = points.min(axis=0), points.max(axis=0)
    margin = 0.1 * np.where(high > low, high - low, 1.0)
    x, y = (np.linspace(a - m, b + m, _GRID) for a, b, m in zip(low, high, margin, strict=True))
    grid = np.column_stack([axis.ravel() for axis in np.meshgrid(x, y)])
    on_grid = scores_of(model, named_rows(model, asarray_like(grid, found, dtype=found.dtype)))
    heights = on_grid[:, k].reshape(_GRID, _GRID)
    largest = float(np.abs(heights).max()) or 1.0
    # Round numbers, as many above zero as below, so that the colours say the sign.
    levels = MaxNLocator(_LEVELS, symmetric=True).tick_values(-largest, largest)
    ax = make_axes(ax)
    filled = ax.contourf(x, y, heights, levels=levels, cmap=DIVERGING, alpha=0.7)
    ax.contour(x, y, heights, levels=levels, colors=[foreground()], linewidths=0.4, linestyles="solid")
    ax.figure.colorbar(filled, ax=ax, label=label(axis_label(model, k), 40))
    members, rows = groups_of(shown.groups(len(points)), len(points)), thinned(len(points))
    draw_points(ax, points, members, rows, edgecolors=background(), linewidths=0.4, alpha=1.0)
    ax.grid(False)
    name_axes(ax, inspect.column_names(model))
    if shown.groups(len(points)) is not None:
        legend(ax)
    note(ax, thinning_note(len(rows), len(points)))
    return ax
