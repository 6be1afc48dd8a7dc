"""Maps of scores: one component as strips or a histogram, two as a map, three in space."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import wrong_number_of_components
from ._axes import color, labels_note, make_axes, note, point_style, style, thinned, thinning_note, zero_lines
from ._groups import Group, check_outline, groups_of, outlines
from ._labels import label_points_in_space, place_labels
from ._model import axis_label, chosen_components, rows_shown, scores_of
from ._offered import has, shows
from ._text import legend, name_axes, tick_labels


@shows("scores", has("transform", "n_components_"))
def scores(
    model: Any,
    X: Any,
    components: Any = None,
    *,
    groups: Any = None,
    labels: Any = None,
    outline: str | None = "ellipse",
    level: float = 0.95,
    ax: Any = None,
) -> Any:
    """A map of the rows by their scores, with labels, and with groups in ellipses or hulls.

    Parameters
    ----------
    model : fitted model
    X : rows
    components : sequence of int or str, optional
        The components on the axes, by their numbers from 1 or by their names; by default the first two. One is drawn as
        strips of its groups, or as a histogram without groups; three are drawn in space.
    groups : sequence, or str, optional
        The group of each row, or the name of a column of X that holds it.
    labels : sequence, str or bool, optional
        The label of each row, or the name of a column of X. By default the labels of a pandas index that does not just
        count the rows; True takes these or row numbers, False none. Labels that find no place are left out.
    outline : "ellipse", "hull" or None
        What is drawn around each group of two components.
    level : float
        The fraction of a Gaussian group that its ellipse holds.
    ax : Axes, optional

    Returns
    -------
    Axes

    Notes
    -----
    Of more than 10,000 rows, 10,000 are drawn at random, and a note says so. Ellipses and hulls are those of all rows.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from lowdim import PCA
    >>> wine = load_wine(as_frame=True)
    >>> pca = PCA(5, standardize=True).fit(wine.data)
    >>> ax = pca.plot.scores(wine.data, groups=wine.target)
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('PC1 (36.2%)', 'PC2 (19.2%)')
    """
    check_outline(outline, level)
    chosen = chosen_components(model, components, 2)
    if not 1 <= len(chosen) <= 3:
        raise wrong_number_of_components(len(chosen), "one, two or three")
    shown = rows_shown(model, X, groups, labels)
    Z = scores_of(model, shown.X)[:, chosen]
    named, members = shown.labels(len(Z)), groups_of(shown.groups(len(Z)), len(Z))
    names = [axis_label(model, k) for k in chosen]
    rows = thinned(len(Z))
    grouped = shown.groups(len(Z)) is not None
    if len(chosen) == 3:
        return _in_space(ax, Z, members, rows, names, named, grouped)
    if len(chosen) == 1:
        return _on_a_line(ax, Z[:, 0], members, rows, names[0], named, grouped)
    ax = make_axes(ax)
    draw_points(ax, Z, members, rows)
    if grouped and outline is not None:
        draw_outlines(ax, Z, members, outline, level)
    zero_lines(ax)
    name_axes(ax, names)
    if grouped:
        legend(ax, ncols=1 + len(members) // 12)
    finish_map(ax, Z, rows, named)
    return ax


def draw_points(ax: Any, points: np.ndarray, groups: list[Group], rows: np.ndarray, **look: Any) -> None:
    """The rows that are shown, in the colours and markers of their groups."""
    look = {**point_style(len(rows)), **look}
    for group in groups:
        inside = group.rows[np.isin(group.rows, rows)] if len(rows) < len(points) else group.rows
        ax.scatter(*points[inside].T, color=group.color, marker=group.marker, label=group.name or None, **look)


def finish_map(ax: Any, points: np.ndarray, rows: np.ndarray, named: np.ndarray | None) -> None:
    """Labels of the rows that are shown, and notes on what is left out. The limits of the axes are final after it."""
    remarks = thinning_note(len(rows), len(points))
    ax.margins(0.08)
    ax.autoscale_view()
    if named is not None:
        ax.set(xlim=ax.get_xlim(), ylim=ax.get_ylim())
        remarks += labels_note(place_labels(ax, points[rows], named[rows]), len(rows))
    note(ax, remarks)


def draw_outlines(ax: Any, points: np.ndarray, groups: list[Group], outline: str, level: float) -> None:
    """An ellipse or a hull around the points of each group."""
    for group, corners in outlines(groups, points, outline, level):
        ax.fill(*corners.T, facecolor=group.color, alpha=0.12, linewidth=0, zorder=0)
        closed = np.vstack([corners, corners[:1]])
        ax.plot(*closed.T, color=group.color, linewidth=1.0, zorder=1)


def _on_a_line(
    ax: Any, z: np.ndarray, groups: list[Group], rows: np.ndarray, name: str, named: np.ndarray | None, grouped: bool
) -> Any:
    """One component: strips of groups, or a histogram with a mark for each row."""
    ax = make_axes(ax)
    look = point_style(len(rows))
    if not grouped:
        ax.hist(z, bins="auto" if len(z) > 1 else 1, color=color(0), alpha=0.6)
        ax.set_ylabel("rows")
        ax.scatter(
            z[rows],
            np.zeros(len(rows)),
            marker="|",
            color=style("text.color"),
            clip_on=False,
            **{**look, "s": 60, "linewidths": 1},
        )
        points = np.column_stack([z, np.zeros(len(z))])
    else:
        # A little noise, always the same, keeps rows of equal scores apart.
        points = np.column_stack([z, np.random.default_rng(0).uniform(-0.25, 0.25, len(z))])
        for i, group in enumerate(groups):
            points[group.rows, 1] += i
        draw_points(ax, points, groups, rows)
        tick_labels(ax.yaxis, range(len(groups)), [group.name for group in groups])
        ax.set_ylim(len(groups) - 0.5, -0.5)
    zero_lines(ax, horizontal=False)
    name_axes(ax, [name])
    remarks = thinning_note(len(rows), len(z))
    if named is not None:
        ax.set(xlim=ax.get_xlim(), ylim=ax.get_ylim())
        remarks += labels_note(place_labels(ax, points[rows], named[rows]), len(rows))
    note(ax, remarks)
    return ax


def _in_space(
    ax: Any,
    Z: np.ndarray,
    groups: list[Group],
    rows: np.ndarray,
    names: list[str],
    named: np.ndarray | None,
    grouped: bool,
) -> Any:
    """Three components. Labels turn with the points."""
    ax = make_axes(ax, projection="3d")
    draw_points(ax, Z, groups, rows)
    name_axes(ax, names)
    if grouped:
        legend(ax, loc="upper left", bbox_to_anchor=(0.0, 1.0))
    remarks = thinning_note(len(rows), len(Z))
    if named is not None:
        remarks += labels_note(label_points_in_space(ax, Z[rows], named[rows]), len(rows))
    note(ax, remarks)
    return ax
