"""Rows that are images, and missing entries of rows."""

from __future__ import annotations

import itertools
import math
import numbers
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import special

from .. import inspect
from .._core.arrays import asarray_like
from ..errors import wrong_image_shape
from ..inspect.diagnostics import checked_image_shape
from ..inspect.geometry import is_of_counts
from ..selection.parallel_analysis import check_probability
from ..sources.opening import TableLike, row_labels
from . import axes
from .axes import has, make_axes, shows

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Rows that are images, and their reconstructions from more and more components.


#: At most this many rows are drawn.
_MOST_ROWS = 10
#: Empty pixels between two images, as a fraction of their width.
_GAP = 0.08


def _adds_up(model: Any) -> bool:
    """Whether rows are the mean plus a sum over components, in the space of the columns."""
    needed = has("inverse_transform", "components_", "mean_", "explained_variance_ratio_")
    return needed(model) and model.mean_.shape[0] == model.n_features_in_ and not is_of_counts(model)


@shows("reconstructions from components", _adds_up)
def reconstructions(
    model: Any,
    X: TableLike,
    image_shape: Sequence[int] | None = None,
    *,
    n_components: Sequence[int] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Rows that are images beside their reconstructions from several numbers of components.

    Parameters
    ----------
    model : fitted model
    X : rows
        Up to ten rows; of more, the first ten are drawn, and a note says so.
    image_shape : (height, width) or (height, width, 3), default=None
        The shape of the image in a row; by default a square.
    n_components : sequence of int, default=None
        Numbers of components, from 0 (the mean) on; by default about five between 1 and all of them.
    ax : Axes, default=None

    Returns
    -------
    Axes
        All images are in one picture, with a row for each row of X.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from lowdim import PCA
    >>> X = load_digits().data
    >>> ax = PCA(20).fit(X).plot.reconstructions(X[:4], image_shape=(8, 8), n_components=[2, 10, 20])
    """
    counts, p = _counts(model, n_components), int(model.n_features_in_)
    if image_shape is None:
        image_shape = (math.isqrt(p),) * 2
        if math.prod(image_shape) != p:
            raise wrong_image_shape(None, p)
    height, width, *colors = checked_image_shape(image_shape, p)
    # One row more tells whether there are others.
    found = axes.read_rows(model, X, _MOST_ROWS + 1)
    rows = found[:_MOST_ROWS, :]
    index = row_labels(X)
    n = rows.shape[0]
    names = list(range(n)) if index is None else list(index[:n])
    Z = axes.numbers_of(model.transform(axes.named_rows(model, rows)))
    images = [axes.numbers_of(rows)]
    for k in counts:
        # Components whose scores are zero contribute nothing: this is the reconstruction from the first k.
        kept = np.where(np.arange(Z.shape[1]) < k, Z, 0.0)
        images.append(axes.numbers_of(model.inverse_transform(asarray_like(kept, rows, dtype=rows.dtype))))
    gap = max(1, round(_GAP * width))
    low, high = float(images[0].min()), float(images[0].max())
    mosaic = np.full((n, height + gap, len(images), width + gap, *colors), np.nan)
    for j, of_count in enumerate(images):
        mosaic[:, :height, j, :width] = of_count.reshape(n, height, width, *colors)
    mosaic = mosaic.reshape(n * (height + gap), len(images) * (width + gap), *colors)[:-gap, :-gap]
    aspect = mosaic.shape[1] / mosaic.shape[0]
    ax = make_axes(ax, size=(1.0, min(2.0, max(0.6, 1.3 / aspect))))
    ax.grid(False)
    if colors:
        filled = np.clip((mosaic - low) / ((high - low) or 1.0), 0.0, 1.0)
        alpha = np.where(np.isnan(mosaic).any(axis=2), 0.0, 1.0)
        ax.imshow(np.dstack([np.nan_to_num(filled), alpha]), interpolation="nearest")
    else:
        ax.imshow(mosaic, cmap="gray", vmin=low, vmax=high, interpolation="nearest")
    lefts, tops = np.arange(len(images)) * (width + gap), np.arange(n) * (height + gap)
    from matplotlib.patches import Rectangle

    # A thin frame around each image, since its border may have the colour of the background.
    look = {"fill": False, "edgecolor": axes.foreground(), "alpha": 0.3, "linewidth": 0.5}
    for y, x in itertools.product(tops, lefts):
        # Pixels are centred at whole numbers.
        ax.add_patch(Rectangle((x - 0.5, y - 0.5), width, height, **look))
    axes.tick_labels(ax.xaxis, (width - 1) / 2 + lefts, ["row", *map(str, counts)])
    axes.tick_labels(ax.yaxis, (height - 1) / 2 + tops, names)
    ax.set_xlabel("number of components")
    ax.xaxis.set_label_position("top")
    ax.tick_params(length=0, labeltop=True, labelbottom=False)
    ax.spines[:].set_visible(False)
    axes.note(ax, [f"the first {n} rows"] if found.shape[0] > n else [])
    return ax


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


# Missing entries: what the model expects of them, and how sure it is.


#: At most this many columns, missing entries in all, and observed entries in each column are drawn.
_MOST_COLUMNS, _MOST_MISSING, _MOST_OBSERVED = 15, 120, 200


@shows("imputed entries", has("impute", "posterior"))
def missing(
    model: Any,
    X: TableLike,
    columns: str | Sequence[str] | None = None,
    *,
    confidence_level: float = 0.95,
    ax: Axes | None = None,
) -> Axes:
    """The missing entries of each column as they are imputed, with intervals, beside the observed ones.

    Parameters
    ----------
    model : fitted PPCA or FactorAnalysis
    X : rows, with NaN for missing entries
    columns : str, or sequence of str, default=None
        Names of columns (x1, x2, ... if they have none); by default up to 15 columns with the most missing entries.
    confidence_level : float, default=0.95
        The probability that an interval contains its entry, under the model.
    ax : Axes, default=None

    Returns
    -------
    Axes

    Notes
    -----
    Several columns are drawn in units of their standard deviations, from the means of their observed entries; a single
    one in its own units. At most 120 missing entries, and 200 observed ones in each column, are drawn, at random.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from lowdim import PPCA
    >>> X = load_iris(as_frame=True).data
    >>> incomplete = X.mask(np.random.default_rng(0).random(X.shape) < 0.1)
    >>> ax = PPCA(2).fit(incomplete).plot.missing(incomplete)
    """
    confidence_level = check_probability("confidence_level", confidence_level)
    filled, deviation = (axes.numbers_of(values) for values in model.impute(X, return_std=True))
    # Observed entries have no uncertainty.
    absent = deviation > 0.0
    if not absent.any():
        raise ValueError("X has no missing entries, so there is nothing to draw; they are NaN in X.")
    names = inspect.column_names(model)
    chosen = _columns(columns, names, absent)
    quantile = float(special.ndtri(0.5 + confidence_level / 2))
    alone = len(chosen) == 1
    random = np.random.default_rng(0)
    ax = make_axes(ax)
    drawn = 0
    for place, j in enumerate(chosen):
        observed, empty = np.flatnonzero(~absent[:, j]), np.flatnonzero(absent[:, j])
        known = filled[observed, j]
        scaled = not alone and len(known)
        centre, unit = (float(known.mean()), float(known.std()) or 1.0) if scaled else (0.0, 1.0)
        shown = random.permutation(observed)[:_MOST_OBSERVED]
        lost = np.sort(random.permutation(empty)[: _MOST_MISSING // len(chosen)])
        drawn += len(lost)
        words = ("observed", f"imputed, with {confidence_level:.0%} intervals") if place == 0 else (None, None)
        left = place - 0.2 + random.uniform(-0.12, 0.12, len(shown))
        look = {**axes.point_style(len(shown)), **axes.series(0), "alpha": 0.4, "s": 8}
        ax.scatter(left, (filled[shown, j] - centre) / unit, label=words[0], **look)
        right = place + (np.linspace(0.0, 0.35, len(lost)) if len(lost) > 1 else np.array([0.15]))[: len(lost)]
        middle, half = (filled[lost, j] - centre) / unit, quantile * deviation[lost, j] / unit
        look = {"color": "C1", "fmt": axes.MARKERS[1], "markersize": 3, "elinewidth": 0.8}
        ax.errorbar(right, middle, yerr=half, label=words[1], **look)
    axes.column_ticks(ax.xaxis, [names[j] for j in chosen])
    ax.set_xlim(-0.5, len(chosen) - 0.5)
    if not alone:
        axes.zero_lines(ax, vertical=False)
    ax.set_ylabel("value" if alone else "standard deviations from the mean")
    # Above the axes, where it covers no entries; the note is above the legend.
    axes.legend(ax, loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=2, borderaxespad=0.2)
    remarks = []
    if columns is None and len(chosen) < len(names):
        whole = len(chosen) == np.count_nonzero(absent.any(axis=0))
        remarks.append(f"{len(chosen)} of {len(names):,} columns{' have missing entries' if whole else ''}")
    remarks += axes.some_of(drawn, int(absent[:, chosen].sum()), "missing entries, drawn at random")
    axes.note(ax, remarks, above=1.5)
    return ax


def _columns(columns: Any, names: list[str], absent: np.ndarray) -> list[int]:
    """The positions of the columns that are drawn, in their order in the table."""
    if columns is None:
        counts = absent.sum(axis=0)
        most = np.argsort(-counts, kind="stable")[:_MOST_COLUMNS]
        return sorted(int(j) for j in most if counts[j] > 0)
    given = [columns] if isinstance(columns, str) else list(columns)
    for name in given:
        if name not in names:
            raise ValueError(f"there is no column {name!r}; the columns are {', '.join(map(repr, names[:20]))}.")
    return [names.index(name) for name in given]
