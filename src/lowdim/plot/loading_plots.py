"""Loadings: how much each column has to do with each component, as a heatmap and as bars."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import inspect
from ..inspect.components import has_loadings
from ..selection import Bootstrap
from ._axes import columns_note, make_axes, note, readable_on
from ._bars import sorted_bars
from ._model import chosen_component, chosen_components
from ._offered import shows
from ._text import LITERAL, column_ticks, label

#: The largest numbers of columns and components of a heatmap.
_MOST_COLUMNS, _MOST_COMPONENTS = 30, 12
#: Up to this many cells have their numbers written in them.
_WRITTEN = 150
#: Two colours that differ for readers who do not see all colours, with the lightest shade at zero.
DIVERGING = "RdBu_r"


@shows("loadings", has_loadings)
def loadings(model: Any, components: Any = None, *, table: str | int = 0, ax: Any = None) -> Any:
    """The loadings as a heatmap: columns of the table by components.

    Parameters
    ----------
    model : fitted model
    components : sequence of int or str, optional
        Numbers from 1 or names; by default the first twelve.
    table : "X", "y" or int
        For models of several tables: which one.
    ax : Axes, optional

    Returns
    -------
    Axes

    Notes
    -----
    Of more than 30 columns, those with the largest sums of squared loadings over these components are shown, in their
    order in the table. The scale of colours is symmetric, and up to 150 numbers are written into their cells.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from lowdim import PCA
    >>> wine = load_wine(as_frame=True)
    >>> pca = PCA(5, standardize=True).fit(wine.data)
    >>> ax = pca.plot.loadings()
    >>> [tick.get_text() for tick in ax.get_xticklabels()]
    ['PC1', 'PC2', 'PC3', 'PC4', 'PC5']
    """
    chosen = chosen_components(model, components, _MOST_COMPONENTS)
    found = inspect.loadings(model, table)
    L = found.values[:, chosen]
    strongest = np.argsort(-np.sum(L**2, axis=1), kind="stable")[:_MOST_COLUMNS]
    rows = np.sort(strongest)
    # A tall figure for many columns, so that their names do not overlap.
    ax = make_axes(ax, size=(1.0, max(1.0, len(rows) / 22)))
    heatmap(ax, L[rows], [found.rows[j] for j in rows], [found.columns[k] for k in chosen], "loading")
    remarks = columns_note(len(rows), len(L), "those of the largest loadings")
    if len(chosen) < model.n_components_ and components is None:
        remarks.append(f"{len(chosen)} of {model.n_components_:,} components")
    note(ax, remarks)
    return ax


def heatmap(ax: Any, values: np.ndarray, rows: list[str], columns: list[str], what: str) -> None:
    """A matrix in colours that are symmetric about zero, with names, and with numbers if there are few."""
    largest = float(np.max(np.abs(values), initial=0.0)) or 1.0
    image = ax.imshow(values, cmap=DIVERGING, vmin=-largest, vmax=largest, aspect="auto", interpolation="nearest")
    column_ticks(ax.xaxis, columns)
    column_ticks(ax.yaxis, rows)
    ax.grid(False)
    ax.figure.colorbar(image, ax=ax, label=what)
    if values.size <= _WRITTEN:
        decimals = 2 if largest < 100 else 0
        colors = readable_on(image.to_rgba(values).reshape(-1, 4))
        for (i, j), shade in zip(np.ndindex(values.shape), colors, strict=True):
            ax.text(j, i, f"{values[i, j]:.{decimals}f}", ha="center", va="center", color=shade, fontsize="small")


@shows("loadings", has_loadings)
def loading_bars(
    model: Any, component: Any = 1, *, table: str | int = 0, bootstrap: Bootstrap | None = None, ax: Any = None
) -> Any:
    """The loadings of one component as sorted bars, with bootstrap intervals.

    Parameters
    ----------
    model : fitted model
    component : int or str
        Its number from 1, or its name.
    table : "X", "y" or int
        For models of several tables: which one.
    bootstrap : Bootstrap, optional
        What `lowdim.bootstrap` returns for the same model and rows. Bars whose interval contains zero are hatched.
    ax : Axes, optional

    Returns
    -------
    Axes

    Notes
    -----
    Of more than 30 columns, those with the largest loadings are shown.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from lowdim import PCA
    >>> wine = load_wine(as_frame=True)
    >>> pca = PCA(5, standardize=True).fit(wine.data)
    >>> ax = pca.plot.loading_bars("PC2")
    >>> [tick.get_text() for tick in ax.get_yticklabels()[:3]]
    ['color_intensity', 'alcohol', 'proline']
    """
    k = chosen_component(model, component)
    interval = None if bootstrap is None else bootstrap.interval("loadings")[:, :, k]
    found = inspect.loadings(model, table)
    ax = make_axes(ax)
    remarks = sorted_bars(ax, found.rows, found.values[:, k], interval)
    words = "" if bootstrap is None else f", with {bootstrap.level:.0%} intervals"
    ax.set_xlabel(label(f"loading on {found.columns[k]}{words}", 60), **LITERAL)
    note(ax, remarks)
    return ax
