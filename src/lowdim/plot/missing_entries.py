"""Missing entries: what the model expects of them, and how sure it is."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import special

from .. import inspect
from ..errors import nothing_missing
from ..selection.resampling import check_level
from ._axes import color, make_axes, marker, note, point_style, zero_lines
from ._model import numbers_of
from ._offered import has, shows
from ._text import column_ticks, legend

#: At most this many columns, missing entries in all, and observed entries in each column are drawn.
_MOST_COLUMNS, _MOST_MISSING, _MOST_OBSERVED = 15, 120, 200


@shows("imputed entries", has("impute", "posterior"))
def missing(model: Any, X: Any, columns: Any = None, *, level: float = 0.95, ax: Any = None) -> Any:
    """The missing entries of each column as they are imputed, with intervals, beside the observed ones.

    Parameters
    ----------
    model : fitted PPCA or FactorAnalysis
    X : rows, with NaN for missing entries
    columns : str, or sequence of str, optional
        Names of columns (x1, x2, ... if they have none); by default up to 15 columns with the most missing entries.
    level : float
        The probability that an interval contains its entry, under the model.
    ax : Axes, optional

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
    >>> holes = X.mask(np.random.default_rng(0).random(X.shape) < 0.1)
    >>> ax = PPCA(2).fit(holes).plot.missing(holes)
    """
    level = check_level(level)
    filled, deviation = (numbers_of(values) for values in model.impute(X, return_std=True))
    # Observed entries have no uncertainty.
    holes = deviation > 0.0
    if not holes.any():
        raise nothing_missing()
    names = inspect.column_names(model)
    chosen = _columns(columns, names, holes)
    quantile = float(special.ndtri(0.5 + level / 2))
    alone = len(chosen) == 1
    random = np.random.default_rng(0)
    ax = make_axes(ax)
    drawn = 0
    for place, j in enumerate(chosen):
        observed, absent = np.flatnonzero(~holes[:, j]), np.flatnonzero(holes[:, j])
        centre, unit = _centre_and_unit(filled[observed, j], alone)
        seen = random.permutation(observed)[:_MOST_OBSERVED]
        lost = np.sort(random.permutation(absent)[: _MOST_MISSING // len(chosen)])
        drawn += len(lost)
        words = ("observed", f"imputed, with {level:.0%} intervals") if place == 0 else (None, None)
        left = place - 0.2 + random.uniform(-0.12, 0.12, len(seen))
        ax.scatter(
            left,
            (filled[seen, j] - centre) / unit,
            color=color(0),
            marker=marker(0),
            label=words[0],
            **{**point_style(len(seen)), "alpha": 0.4, "s": 8},
        )
        right = place + (np.linspace(0.0, 0.35, len(lost)) if len(lost) > 1 else np.array([0.15]))[: len(lost)]
        ax.errorbar(
            right,
            (filled[lost, j] - centre) / unit,
            yerr=quantile * deviation[lost, j] / unit,
            fmt=marker(1),
            color=color(1),
            markersize=3,
            elinewidth=0.8,
            label=words[1],
        )
    column_ticks(ax.xaxis, [names[j] for j in chosen])
    ax.set_xlim(-0.5, len(chosen) - 0.5)
    if not alone:
        zero_lines(ax, vertical=False)
    ax.set_ylabel("value" if alone else "standard deviations from the mean")
    # Above the axes, where it covers no entries; the note is above the legend.
    legend(ax, loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=2, borderaxespad=0.2)
    remarks = []
    if columns is None and len(chosen) < len(names):
        whole = len(chosen) == np.count_nonzero(holes.any(axis=0))
        remarks.append(f"{len(chosen)} of {len(names):,} columns{' have missing entries' if whole else ''}")
    if drawn < holes[:, chosen].sum():
        remarks.append(f"{drawn:,} of {int(holes[:, chosen].sum()):,} missing entries, drawn at random")
    note(ax, remarks, above=1.5)
    return ax


def _columns(columns: Any, names: list[str], holes: np.ndarray) -> list[int]:
    """The positions of the columns that are drawn, in their order in the table."""
    if columns is None:
        counts = holes.sum(axis=0)
        most = np.argsort(-counts, kind="stable")[:_MOST_COLUMNS]
        return sorted(int(j) for j in most if counts[j] > 0)
    given = [columns] if isinstance(columns, str) else list(columns)
    for name in given:
        if name not in names:
            raise ValueError(f"there is no column {name!r}; the columns are {', '.join(map(repr, names[:20]))}.")
    return [names.index(name) for name in given]


def _centre_and_unit(observed: np.ndarray, alone: bool) -> tuple[float, float]:
    if alone or len(observed) == 0:
        return 0.0, 1.0
    return float(observed.mean()), float(observed.std()) or 1.0
