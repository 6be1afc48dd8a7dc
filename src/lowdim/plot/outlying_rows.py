"""T2 against Q: rows that are far from the mean, and rows that are far from the subspace."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..inspect import diagnose
from ._axes import color, labels_note, make_axes, marker, note, point_style, reference_line, thinned, thinning_note
from ._labels import place_labels
from ._model import numbers_of, rows_shown
from ._offered import has, shows
from ._text import legend

#: So many of the farthest rows are drawn whatever the number of rows.
_FARTHEST = 200


@shows("T2 and Q", has("scores", "reconstruction_error", "tail_"))
def outliers(
    model: Any,
    X: Any,
    *,
    alpha: float = 0.05,
    new_rows: bool = False,
    labels: Any = None,
    sample_weight: Any = None,
    ax: Any = None,
) -> Any:
    """T2 against Q of each row, with the limits that few usual rows exceed.

    Parameters
    ----------
    model : fitted PCA, PCR or PLS
    X : rows
    alpha : float
        The fraction of usual rows above each limit.
    new_rows : bool
        Whether the rows were not part of the fit.
    labels : sequence, str or bool, optional
        As for `scores`; only rows beyond a limit are labelled, and by default they are, with row numbers if there are
        no other labels.
    sample_weight : array or str, optional
        The weights of the fit; see `lowdim.inspect.diagnose`.
    ax : Axes, optional

    Returns
    -------
    Axes

    Notes
    -----
    T2 is the squared distance from the mean within the subspace, in units of the variances; Q is the squared distance
    to the subspace. Of more than 10,000 rows, 10,000 are drawn, among them the 200 farthest.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from lowdim import PCA
    >>> wine = load_wine(as_frame=True)
    >>> pca = PCA(5, standardize=True).fit(wine.data)
    >>> ax = pca.plot.outliers(wine.data)
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('T2, distance within the subspace (limit 10.9)', 'Q, distance to the subspace (limit 5.38)')
    """
    shown = rows_shown(model, X, labels=True if labels is None else labels, sample_weight=sample_weight)
    found = diagnose(model, shown.X, alpha=alpha, new_rows=new_rows, sample_weight=shown.sample_weight)
    t2, q = numbers_of(found.t2), numbers_of(found.q)
    points = np.column_stack([t2, q])
    beyond = (t2 > found.t2_limit) | (q > found.q_limit)
    # The farthest rows are always drawn.
    far = np.argsort(-np.maximum(t2 / found.t2_limit, q / found.q_limit), kind="stable")[: int(beyond.sum())]
    rows = thinned(len(t2), far[:_FARTHEST])
    ax = make_axes(ax)
    kinds = (("usual", ~beyond, 0), (f"beyond a limit: {int(beyond.sum()):,} of {len(t2):,} rows", beyond, 1))
    for name, where, i in kinds:
        inside = rows[where[rows]]
        ax.scatter(*points[inside].T, color=color(i), marker=marker(i), label=name, **point_style(len(rows)))
    reference_line(ax, found.t2_limit, vertical=True)
    reference_line(ax, found.q_limit)
    ax.set_xlabel(f"T2, distance within the subspace (limit {found.t2_limit:.3g})")
    ax.set_ylabel(f"Q, distance to the subspace (limit {found.q_limit:.3g})")
    ax.set_xlim(0.0, max(float(t2.max()), found.t2_limit) * 1.08)
    ax.set_ylim(0.0, max(float(q.max()), found.q_limit) * 1.08)
    legend(ax)
    remarks = thinning_note(len(rows), len(t2))
    note(ax, remarks)
    named = shown.labels(len(t2))
    if named is not None and beyond.any():
        position = np.full(len(t2), -1)
        position[rows] = np.arange(len(rows))
        order = position[far][position[far] >= 0]
        placed = place_labels(ax, points[rows], named[rows], order=order)
        note(ax, [*remarks, *labels_note(placed, len(order))])
    return ax
