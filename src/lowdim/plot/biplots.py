"""Columns as arrows: biplot and correlation circle."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import inspect
from ..errors import wrong_number_of_components
from ..inspect.components import has_loadings
from ..inspect.limits import has_scores
from ._axes import color, columns_note, foreground, labels_note, make_axes, note, thinned, thinning_note, zero_lines
from ._groups import check_outline, groups_of
from ._labels import place_labels
from ._model import axis_label, chosen_components, rows_shown, scores_of
from ._offered import shows
from ._text import legend, name_axes
from .score_maps import draw_outlines, draw_points

#: At most this many columns are drawn as arrows.
MOST_ARROWS = 25


@shows("loadings of two components", lambda model: has_loadings(model) and model.n_components_ > 1)
def biplot(
    model: Any,
    X: Any,
    components: Any = None,
    *,
    groups: Any = None,
    labels: Any = None,
    outline: str | None = None,
    level: float = 0.95,
    ax: Any = None,
) -> Any:
    """Rows as points and columns as arrows, in one map.

    Parameters
    ----------
    model : fitted model
    X : rows
    components : pair of int or str, optional
        Numbers from 1 or names; by default the first two.
    groups, labels, outline, level
        As for `scores`.
    ax : Axes, optional

    Returns
    -------
    Axes

    Notes
    -----
    Points are scores divided by their standard deviations, and arrows are loadings times one common factor that makes
    the longest arrow as long as the farthest point is far. So the angle between two arrows tells the correlation of
    two columns, and the projection of a point on an arrow tells the entry of that row in that column, as far as two
    components represent them. Of more than 25 columns, those of the longest arrows are drawn.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from lowdim import PCA
    >>> wine = load_wine(as_frame=True)
    >>> pca = PCA(5, standardize=True).fit(wine.data)
    >>> ax = pca.plot.biplot(wine.data, groups=wine.target)
    >>> ax.get_xlabel()
    'PC1 (36.2%)'
    """
    check_outline(outline, level)
    chosen = _pair(model, components)
    shown = rows_shown(model, X, groups, labels)
    Z = scores_of(model, shown.X)
    deviations = Z.std(axis=0)
    found = inspect.loadings(model)
    # The loadings of PLS and PCR belong to the scores as they are, those of others to scores of variance one.
    factors = deviations if hasattr(model, "x_loadings_") else np.ones_like(deviations)
    arrows = (found.values * factors)[:, chosen]
    Z = (Z / np.where(deviations > 0, deviations, 1.0))[:, chosen]
    reach = float(np.sqrt(np.max(np.sum(arrows**2, axis=1), initial=0.0)))
    arrows = arrows * (0.9 * float(np.sqrt(np.sum(Z**2, axis=1).max())) / (reach or 1.0))
    values = shown.groups(len(Z))
    members, rows = groups_of(values, len(Z)), thinned(len(Z))
    ax = make_axes(ax)
    # Points are in the back: the arrows are the subject.
    draw_points(ax, Z, members, rows, alpha=0.5)
    if values is not None:
        if outline is not None:
            draw_outlines(ax, Z, members, outline, level)
        legend(ax, ncols=1 + len(members) // 12)
    zero_lines(ax)
    name_axes(ax, [axis_label(model, k) for k in chosen])
    longest = _draw_arrows(ax, arrows)
    # Room for the names of the arrows.
    ax.margins(0.18, 0.1)
    remarks = [*thinning_note(len(rows), len(Z)), *columns_note(len(longest), len(arrows), "the longest arrows")]
    note(ax, remarks)
    ax.set(xlim=ax.get_xlim(), ylim=ax.get_ylim())
    _name_arrows(ax, arrows[longest], [found.rows[j] for j in longest])
    named = shown.labels(len(Z))
    if named is not None:
        placed = place_labels(ax, Z[rows], named[rows], obstacles=_along(arrows[longest]), alpha=0.8)
        note(ax, [*remarks, *labels_note(placed, len(rows))])
    return ax


@shows("correlations of columns with two components", lambda model: has_scores(model) and model.n_components_ > 1)
def correlation_circle(model: Any, X: Any, Y: Any = None, components: Any = None, *, ax: Any = None) -> Any:
    """Correlations of the columns with two components, as arrows within the unit circle.

    Parameters
    ----------
    model : fitted PCA, PCR or PLS
    X : the rows of the fit
    Y : further columns of the same rows, optional
        Supplementary columns, which were not part of the fit; their arrows are dashed.
    components : pair of int or str, optional
        Numbers from 1 or names; by default the first two.
    ax : Axes, optional

    Returns
    -------
    Axes

    Notes
    -----
    The squared length of an arrow is the share of the column's variance that the two components explain. Of more than
    25 columns, those of the longest arrows are drawn.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from lowdim import PCA
    >>> wine = load_wine(as_frame=True)
    >>> pca = PCA(5, standardize=True).fit(wine.data)
    >>> ax = pca.plot.correlation_circle(wine.data)
    >>> ax.get_aspect()
    1.0
    """
    chosen = _pair(model, components)
    tables = [(inspect.correlations(model, X), {"linestyle": "-", "color": color(0)})]
    if Y is not None:
        tables.append((inspect.correlations(model, X, Y), {"linestyle": "--", "color": color(1)}))
    ax = make_axes(ax)
    unit_circle(ax)
    ends, names, remarks = [], [], []
    for found, look in tables:
        arrows = found.values[:, chosen]
        longest = _draw_arrows(ax, arrows, **look)
        ends.append(arrows[longest])
        names += [found.rows[j] for j in longest]
        remarks += columns_note(len(longest), len(arrows), "the longest arrows")
    name_axes(ax, [axis_label(model, k) for k in chosen])
    note(ax, remarks)
    _name_arrows(ax, np.vstack(ends), names)
    return ax


def unit_circle(ax: Any) -> None:
    """The unit circle with axes through its middle, not distorted."""
    from matplotlib.patches import Circle

    ax.add_patch(Circle((0.0, 0.0), 1.0, fill=False, edgecolor=foreground(), linewidth=1.0))
    zero_lines(ax)
    ax.set(xlim=(-1.5, 1.5), ylim=(-1.15, 1.15), aspect="equal")


def _pair(model: Any, components: Any) -> list[int]:
    chosen = chosen_components(model, components, 2)
    if len(chosen) != 2:
        raise wrong_number_of_components(len(chosen), "two")
    return chosen


def _draw_arrows(ax: Any, ends: np.ndarray, **look: Any) -> np.ndarray:
    """Arrows from the origin to the farthest ends; returns their positions."""
    lengths = np.sqrt(np.sum(ends**2, axis=1))
    longest = np.argsort(-lengths, kind="stable")[:MOST_ARROWS]
    longest = longest[lengths[longest] > 0] if np.any(lengths > 0) else longest
    look = {"color": foreground(), "linestyle": "-", **look}
    for x, y in ends[longest]:
        ax.annotate(
            "",
            (x, y),
            xytext=(0.0, 0.0),
            arrowprops={"arrowstyle": "->", "linewidth": 1.2, "shrinkA": 0, "shrinkB": 0, **look},
            zorder=3,
        )
    # Arrows do not count for the limits of the axes.
    ax.update_datalim(ends[longest])
    ax.autoscale_view()
    return longest


def _name_arrows(ax: Any, ends: np.ndarray, names: list[str]) -> None:
    """Names beside the ends of arrows, the longest first."""
    order = np.argsort(-np.sum(ends**2, axis=1), kind="stable")
    place_labels(ax, ends, names, order=order, obstacles=_along(ends), outward=True)


def _along(ends: np.ndarray) -> np.ndarray:
    """Points along arrows, which labels should not cover."""
    return np.vstack([ends * t for t in np.linspace(0.2, 0.9, 6)])
