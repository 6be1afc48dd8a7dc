"""Two tables: variates, their correlations, and what the columns have to do with them."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import inspect
from ..errors import other_test, wrong_number_of_components
from ..inspect.components import has_structure
from ..selection import PermutationTest
from ._axes import background, color, foreground, hatched, make_axes, marker, note, thinned, zero_lines
from ._bars import MOST_BARS
from ._groups import groups_of
from ._labels import place_labels
from ._model import (
    chosen_component,
    chosen_components,
    number_of_tables,
    numbers_of,
    rows_shown,
)
from ._offered import has, shows
from ._text import column_ticks, legend, name_axes, tick_labels
from .biplots import MOST_ARROWS, unit_circle
from .score_maps import draw_points, finish_map


@shows("variates of two tables", lambda model: hasattr(model, "y_rotations_") or hasattr(model, "y_dual_coef_"))
def variates(
    model: Any, X: Any, y: Any, component: Any = 1, *, groups: Any = None, labels: Any = None, ax: Any = None
) -> Any:
    """The variate of X against the variate of y for one pair, with their correlation on these rows.

    Parameters
    ----------
    model : fitted model of two tables
    X, y : rows of both tables
        `y` may be the name of a column of X, or a list of names, as in `fit`.
    component : int or str
        The pair, by its number from 1 or by its name.
    groups, labels
        As for `scores`.
    ax : Axes, optional

    Returns
    -------
    Axes

    Examples
    --------
    >>> from sklearn.datasets import load_linnerud
    >>> from lowdim import CCA
    >>> X, y = load_linnerud(return_X_y=True, as_frame=True)
    >>> cca = CCA(2).fit(X, y)
    >>> ax = cca.plot.variates(X, y, component=1)
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('pair1: variate of X', 'pair1: variate of y')
    """
    k = chosen_component(model, component)
    shown = rows_shown(model, X, groups, labels, y=y)
    both = inspect.scores(model, shown.X, shown.y).values
    points = both[:, [k, int(model.n_components_) + k]]
    values = shown.groups(len(points))
    members, rows = groups_of(values, len(points)), thinned(len(points))
    ax = make_axes(ax)
    draw_points(ax, points, members, rows)
    zero_lines(ax)
    name = model.component_names_[k]
    name_axes(ax, [f"{name}: variate of {table}" for table in "Xy"])
    if np.all(points.std(axis=0) > 0):
        ax.set_title(f"correlation {np.corrcoef(points.T)[0, 1]:.3f}", loc="left", fontsize="medium")
    if values is not None:
        legend(ax)
    finish_map(ax, points, rows, shown.labels(len(points)))
    return ax


@shows("canonical correlations", has("correlations_"))
def correlations(model: Any, test: PermutationTest | None = None, *, ax: Any = None) -> Any:
    """The canonical correlations, with the band that unrelated tables reach.

    Parameters
    ----------
    model : fitted CCA, GCCA or KernelCCA
    test : PermutationTest, optional
        What `lowdim.permutation_test` returns for the same model and rows. The band reaches from the smallest value of
        shuffled rows to the quantile at one minus the level of the test. With regularization the singular values are
        drawn, which are what the test compares.
    ax : Axes, optional

    Returns
    -------
    Axes

    Examples
    --------
    >>> from sklearn.datasets import load_linnerud
    >>> from lowdim import CCA, permutation_test
    >>> X, y = load_linnerud(return_X_y=True, as_frame=True)
    >>> cca = CCA(2).fit(X, y)
    >>> ax = cca.plot.correlations(permutation_test(CCA(), X, y, n_permutations=99, random_state=0))
    >>> ax.get_ylabel()
    'canonical correlation'
    """
    values = numbers_of(model.correlations_)
    what = "canonical correlation"
    if test is not None:
        if test.estimator != type(model).__name__ or test.strength is None:
            raise other_test(test.estimator, type(model).__name__)
        values = test.strength[: len(values)]
        what = what if test.are_correlations else "singular value"
    ax = make_axes(ax)
    positions = np.arange(len(values))
    if test is None:
        ax.bar(positions, values, color=color(0), width=0.6)
    else:
        significant = test.p_values[: len(values)] <= test.level
        for i, (which, words) in enumerate(((significant, "significant"), (~significant, "not significant"))):
            look = {} if i == 0 else {"alpha": 0.5, **hatched(foreground())}
            if which.any():
                ax.bar(positions[which], values[which], color=color(i), width=0.6, label=words, **look)
        _band(ax, positions, test)
        legend(ax)
    column_ticks(ax.xaxis, model.component_names_[: len(values)])
    ax.set_ylabel(what)
    ax.set_ylim(min(0.0, float(values.min(initial=0.0))), max(1.0, float(values.max(initial=0.0)) * 1.05))
    return ax


def _band(ax: Any, positions: np.ndarray, test: PermutationTest) -> None:
    """For each pair, where the values of shuffled rows are."""
    null = test.null_strength[:, : len(positions)]
    low, middle, high = null.min(axis=0), np.median(null, axis=0), np.quantile(null, 1.0 - test.level, axis=0)
    for i, position in enumerate(positions):
        ax.fill_between(
            [position - 0.42, position + 0.42],
            low[i],
            high[i],
            color=foreground(),
            alpha=0.25,
            linewidth=0,
            zorder=3,
            label=f"{1.0 - test.level:.0%} of {len(null):,} shuffles" if i == 0 else None,
        )
        ax.plot([position - 0.42, position + 0.42], [middle[i]] * 2, color=foreground(), linewidth=1.0, zorder=4)


@shows("correlations of columns with factors or variates", has_structure)
def structure(model: Any, components: Any = None, *, ax: Any = None) -> Any:
    """Correlations of the columns with factors, or with the variates of their table, in a circle or as bars.

    Parameters
    ----------
    model : fitted FactorAnalysis, CCA or GCCA
    components : sequence of int or str, optional
        Two components, by their numbers from 1 or by their names, are drawn in a circle, and one as bars; by default
        the first two, or the only one.
    ax : Axes, optional

    Returns
    -------
    Axes

    Notes
    -----
    The correlations of a column are those with the variates of its own table. In a circle, of more than 25 columns of a
    table those with the largest correlations are drawn; 30 bars are shared by the tables.

    Examples
    --------
    >>> from sklearn.datasets import load_linnerud
    >>> from lowdim import CCA
    >>> X, y = load_linnerud(return_X_y=True, as_frame=True)
    >>> cca = CCA(2).fit(X, y)
    >>> ax = cca.plot.structure()
    """
    chosen = chosen_components(model, components, 2)
    if not 1 <= len(chosen) <= 2:
        raise wrong_number_of_components(len(chosen), "one or two")
    count = number_of_tables(model)
    titles = [""] if count == 1 else [" of X", " of y"] if count == 2 else [f" of table {i}" for i in range(count)]
    found = [inspect.structure(model, i) for i in range(count)]
    tables = [(title, part.values[:, chosen], part.rows) for title, part in zip(titles, found, strict=True)]
    names = [model.component_names_[k] for k in chosen]
    return _circle(tables, names, ax) if len(chosen) == 2 else _bars(tables, names[0], ax)


def _circle(tables: list[tuple[str, np.ndarray, list[Any]]], names: list[str], ax: Any) -> Any:
    ax = make_axes(ax)
    unit_circle(ax)
    points, texts, remarks = [], [], []
    for i, (table, values, known) in enumerate(tables):
        order = np.argsort(-np.sum(values**2, axis=1), kind="stable")[:MOST_ARROWS]
        ax.scatter(*values[order].T, color=color(i), marker=marker(i), label=f"columns{table}", zorder=3)
        points.append(values[order])
        texts += [known[j] for j in order]
        if len(order) < len(values):
            remarks.append(f"{len(order)} of {len(values):,} columns{table}")
    name_axes(ax, [f"correlation with {name}" for name in names])
    if len(tables) > 1:
        # The corners beside the circle are empty.
        legend(ax, loc="upper left")
    note(ax, remarks)
    ends = np.vstack(points)
    place_labels(ax, ends, texts, order=np.argsort(-np.sum(ends**2, axis=1), kind="stable"), outward=True)
    return ax


def _bars(tables: list[tuple[str, np.ndarray, list[Any]]], name: str, ax: Any) -> Any:
    ax = make_axes(ax)
    ticks: list[str] = []
    remarks = []
    for i, (table, values, known) in enumerate(tables):
        order = np.argsort(-np.abs(values[:, 0]), kind="stable")[: MOST_BARS // len(tables)]
        where = len(ticks) + np.arange(len(order))
        hatch = {} if i == 0 else hatched(background())
        ax.barh(where, values[order, 0], color=color(i), height=0.7, label=f"columns{table}", **hatch)
        ticks += [known[j] for j in order]
        if len(order) < len(values):
            remarks.append(f"{len(order)} of {len(values):,} columns{table}")
    tick_labels(ax.yaxis, range(len(ticks)), ticks)
    ax.set_ylim(len(ticks) - 0.4, -0.6)
    ax.set_xlim(-1.05, 1.05)
    zero_lines(ax, horizontal=False)
    name_axes(ax, [f"correlation with {name}"])
    if len(tables) > 1:
        legend(ax)
    note(ax, remarks)
    return ax
