"""Independent sources: their densities and their courses."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np

from .._xp import asarray_like
from ._axes import color, foreground, make_axes, note
from ._model import chosen_components, numbers_of, scores_of
from ._offered import has, shows
from ._text import legend, tick_labels

#: At most this many sources are drawn.
_MOST = 12


@shows("densities of sources", has("densities_", "mixing_"))
def densities(model: Any, X: Any, components: Any = None, *, ax: Any = None) -> Any:
    """Histograms of the sources with the density that the model assumes for each.

    Parameters
    ----------
    model : fitted ICA
    X : rows
    components : sequence of int or str, optional
        Numbers from 1 or names; by default the first twelve.
    ax : Axes, optional

    Returns
    -------
    Axes

    Notes
    -----
    Each source has its own line, on which heights are proportional to densities. The ends of the axis leave out one
    row in a thousand on each side, so that single rows do not press the histograms together.

    Examples
    --------
    >>> import numpy as np
    >>> from lowdim import ICA
    >>> sources = np.random.default_rng(0).laplace(size=(300, 2))
    >>> X = sources @ np.array([[2.0, 1.0], [1.0, 1.0]])
    >>> ica = ICA().fit(X)
    >>> ax = ica.plot.densities(X)
    """
    chosen = chosen_components(model, components, _MOST)
    U = scores_of(model, X)[:, chosen]
    low, high = np.quantile(U, 0.001), np.quantile(U, 0.999)
    margin = 0.05 * ((high - low) or 1.0)
    edges = np.linspace(low - margin, high + margin, 61)
    where = np.linspace(edges[0], edges[-1], 300)
    ax = make_axes(ax)
    for i, k in enumerate(chosen):
        counts = np.histogram(U[:, i], edges)[0] / (len(U) * np.diff(edges))
        density = np.exp(-numbers_of(model.densities_[k].energy(asarray_like(where, model.mean_))))
        scale = 0.85 / max(float(counts.max()), float(density.max()))
        base = len(chosen) - 1 - i
        words = ("rows", "density of the model") if i == 0 else (None, None)
        ax.stairs(base + scale * counts, edges, baseline=base, fill=True, color=color(0), alpha=0.45, label=words[0])
        ax.plot(where, base + scale * density, color=color(1), linewidth=1.2, label=words[1])
        ax.axhline(base, color=foreground(), linewidth=0.5)
    _name_lines(ax, [model.component_names_[k] for k in chosen])
    ax.set_ylim(-0.08, len(chosen))
    ax.set_xlabel("source")
    ax.set_xlim(edges[0], edges[-1])
    legend(ax, loc="upper right")
    note(ax, _left_out(model, len(chosen), components))
    return ax


@shows("sources", has("densities_", "mixing_"))
def sources(model: Any, X: Any, components: Any = None, *, n_rows: int = 1000, ax: Any = None) -> Any:
    """The course of each source over the rows, in their order.

    Parameters
    ----------
    model : fitted ICA
    X : rows, such as samples in time
    components : sequence of int or str, optional
        Numbers from 1 or names; by default the first twelve.
    n_rows : int
        How many rows are drawn, from the first one on.
    ax : Axes, optional

    Returns
    -------
    Axes

    Examples
    --------
    >>> import numpy as np
    >>> from lowdim import ICA
    >>> sources = np.random.default_rng(0).laplace(size=(300, 2))
    >>> X = sources @ np.array([[2.0, 1.0], [1.0, 1.0]])
    >>> ica = ICA().fit(X)
    >>> ax = ica.plot.sources(X, n_rows=100)
    """
    if not isinstance(n_rows, numbers.Integral) or n_rows < 1:
        raise ValueError(f"n_rows={n_rows!r} must be a whole number of at least 1.")
    chosen = chosen_components(model, components, _MOST)
    U = scores_of(model, X)[:, chosen]
    n = min(len(U), int(n_rows))
    ax = make_axes(ax)
    for i in range(len(chosen)):
        u = U[:n, i]
        # Each source takes most of the height of its line.
        middle = (float(u.min()) + float(u.max())) / 2.0
        half = float(u.max()) - middle or 1.0
        base = len(chosen) - 1 - i
        ax.axhline(base, color=foreground(), linewidth=0.3, alpha=0.5)
        ax.plot(np.arange(n), base + 0.45 * (u - middle) / half, color=color(i), linewidth=0.8)
    _name_lines(ax, [model.component_names_[k] for k in chosen])
    ax.set_ylim(-0.6, len(chosen) - 0.4)
    ax.set_xlabel("row")
    ax.set_xlim(0, max(n - 1, 1))
    remarks = [] if n == len(U) else [f"the first {n:,} of {len(U):,} rows"]
    note(ax, [*remarks, *_left_out(model, len(chosen), components)])
    return ax


def _name_lines(ax: Any, names: list[str]) -> None:
    tick_labels(ax.yaxis, range(len(names) - 1, -1, -1), names)


def _left_out(model: Any, shown: int, components: Any) -> list[str]:
    """What is said if there are more sources, and nobody chose some of them."""
    all_there = components is not None or shown == model.n_components_
    return [] if all_there else [f"{shown} of {model.n_components_:,} sources"]
