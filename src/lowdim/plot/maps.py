"""Maps of rows: scores, biplots, correlation circles, contours, outlying rows."""

from __future__ import annotations

import numbers
from collections import Counter
from collections.abc import Hashable, Iterable
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from .. import inspect
from .._core.arrays import asarray_like
from .._core.types import VectorLike
from ..errors import choice, not_one_for_each_row
from ..inspect.diagnostics import categories, diagnose, ellipse, hull
from ..inspect.geometry import Geometry, geometry, has_points, is_mixed, is_of_counts, known_correlations
from ..inspect.tables import has_loadings, has_subspace, is_latent
from ..selection.parallel_analysis import check_probability
from ..sources.opening import TableLike, by_name, row_labels
from ..table import Table
from . import axes
from .axes import has, make_axes, shows
from .components import DIVERGING

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Rows as points of a map: which of them are drawn, their groups with ellipses or hulls around them, and labels.


#: What may be drawn around the points of a group.
OUTLINES = ("ellipse", "mean", "hull")
#: With more groups than this, their outlines are thin and not filled; with more strips than this, some have no name.
_MANY, _MANY_STRIPS = 30, 40


class Group(NamedTuple):
    """The rows of one group and how they are drawn."""

    name: str
    rows: np.ndarray
    #: Colour and marker.
    look: dict[str, str]


def groups_of(values: np.ndarray | None, n: int) -> list[Group]:
    """The groups of n rows, sorted by their names if these can be sorted; one group without a name if there are none.

    Rows whose group is None or NaN form a group called "no group".
    """
    if values is None:
        return [Group("", np.arange(n), axes.series(0))]
    levels, codes = categories(values)
    order = np.argsort(codes, kind="stable")
    # Rows without a group have the code -1 and come first.
    without, *parts = np.split(order, np.cumsum(np.bincount(codes + 1, minlength=len(levels) + 1))[:-1])
    found = [(axes.legend_label(name), rows) for name, rows in zip(levels, parts, strict=True)]
    if len(without):
        found.append(("no group", without))
    return [Group(name, rows, axes.series(i)) for i, (name, rows) in enumerate(found)]


class RowsShown:
    """Rows, and what is shown of them beside their numbers.

    Categories, labels, the second table and weights may be names of columns of `X`. They are looked up together, since
    what is left of `X` does not hold the columns that were named.

    `labels` is None for the labels of the table's own index, if it has one that does not just count the rows; True for
    these labels or row numbers; False for none; or a sequence, or the name of a column.
    """

    def __init__(
        self, model: Any, X: Any, hue: Any = None, labels: Any = None, *, y: Any = None, sample_weight: Any = None
    ) -> None:
        index = row_labels(X)
        #: What the model reads: the rows, the second table and the weights, if there are any.
        mixed = is_mixed(model)
        rows, self.y, hue, labels, self.sample_weight = by_name(
            X, y, wanted=model._wanted(), of_any_kind=mixed, hue=hue, labels=labels, sample_weight=sample_weight
        )
        # A model of categories takes its own columns by name, and a column that gives colours may be one of them.
        self.X = X if mixed and hasattr(model, "feature_names_in_") else rows
        #: Whether the labels are row numbers.
        self._counted = labels is True and index is None
        if labels is None or isinstance(labels, bool):
            labels = None if labels is False else index
        self._values, self.labels = _vector("hue", hue), _vector("labels", labels)
        self.grouped = hue is not None
        #: What a note says of names of groups that are left out.
        self.remarks: list[str] = []

    def place(self, points: np.ndarray) -> np.ndarray:
        """Give each row its point in the map; which rows are drawn, and their groups and labels, are known then."""
        n = len(points)
        for name, values in (("labels", self.labels), ("hue", self._values)):
            if values is not None and len(values) != n:
                raise not_one_for_each_row(name, len(values), n)
        self.labels = np.arange(n) if self._counted else self.labels
        self.points, self.groups, self.rows = points, groups_of(self._values, n), axes.thinned(n)
        return points

    def draw(self, ax: Any, **look: Any) -> None:
        """The rows that are shown, in the colours and markers of their groups."""
        for group in self.groups:
            inside = group.rows[np.isin(group.rows, self.rows)] if len(self.rows) < len(self.points) else group.rows
            style = {**axes.point_style(len(self.rows)), **group.look, **look}
            ax.scatter(*self.points[inside].T, label=group.name or None, **style)

    def draw_outlines(self, ax: Any, outline: str | None, confidence_level: float) -> None:
        """An ellipse or a hull around the points of each group that has one, if there are groups."""
        for group in self.groups if self.grouped and outline is not None else ():
            points = self.points[group.rows]
            corners = (
                hull(points) if outline == "hull" else ellipse(points, confidence_level, of_mean=outline == "mean")
            )
            if corners is not None and len(self.groups) <= _MANY:
                ax.fill(*corners.T, facecolor=group.look["color"], alpha=0.12, linewidth=0, zorder=0)
            if corners is not None:
                closed = np.vstack([corners, corners[:1]])
                width = 1.0 if len(self.groups) <= _MANY else 0.3
                ax.plot(*closed.T, color=group.look["color"], linewidth=width, zorder=1)

    def draw_legend(self, ax: Any, **look: Any) -> None:
        """The names of the groups, if there are any: in a legend or, if there are many, beside a marker at the mean of
        each group, as far as there is room. The limits of the axes are final then.

        In space, where points hide names, a legend beside the axes holds more of them.
        """
        if not self.grouped:
            return
        in_space, many = self.points.shape[1] == 3, len(self.groups) > axes.MOST_IN_LEGEND
        if not many or (in_space and len(self.groups) <= _MANY):
            # The corner of a new figure is empty, and the points are in its middle.
            small = {"fontsize": "x-small", "labelspacing": 0.2, "bbox_to_anchor": (-0.3, 1.12)} if many else {}
            axes.legend(ax, _MANY, **(look | small))
            return
        names = [group.name for group in self.groups]
        means = np.array([self.points[group.rows].mean(axis=0) for group in self.groups])
        for group, mean in zip(self.groups, means, strict=True):
            ax.scatter(*mean, s=40, edgecolors=axes.foreground(), linewidths=0.8, zorder=4, **group.look)
        if in_space:
            placed = axes.label_points_in_space(ax, means, names)
        else:
            ax.set(xlim=ax.get_xlim(), ylim=ax.get_ylim())
            # The names of large groups come first.
            order = np.argsort([-len(group.rows) for group in self.groups], kind="stable")
            placed = axes.place_labels(ax, means, names, order=order, sure=True, halo=True)
        self.remarks = axes.some_of(placed, len(names), "names of groups fit")

    def draw_labels(self, ax: Any) -> None:
        """Labels of the rows that are shown, and notes on what is left out. The limits of the axes are final then."""
        remarks = axes.some_of(len(self.rows), len(self.points)) + self.remarks
        if self.labels is not None:
            points, texts = self.points[self.rows], self.labels[self.rows]
            if points.shape[1] == 3:
                # These labels turn with the points.
                placed = axes.label_points_in_space(ax, points, texts)
            else:
                ax.set(xlim=ax.get_xlim(), ylim=ax.get_ylim())
                placed = axes.place_labels(ax, points, texts)
            remarks += axes.some_of(placed, len(self.rows), "labels fit")
        axes.note(ax, remarks)


def _vector(name: str, values: Any) -> np.ndarray | None:
    """A sequence of anything as a vector of objects or numbers; None stays None."""
    if values is None:
        return None
    array = values.to_numpy() if hasattr(values, "to_numpy") else values
    if not isinstance(array, np.ndarray):
        listed = list(array)
        array = np.empty(len(listed), dtype=object)
        array[:] = listed
    if array.ndim != 1:
        raise ValueError(f"{name} must be a vector with one entry for each row, got an array of shape {array.shape}.")
    return array


def check_outline(outline: Any, confidence_level: Any) -> None:
    """Refuse an outline that is not known, and a confidence level that is no probability."""
    check_probability("confidence_level", confidence_level)
    if outline is not None and outline not in OUTLINES:
        raise choice("outline", outline, OUTLINES, "Or pass None for no outline.")


# Maps of scores: one component as strips or a histogram, two as a map, three in space.


_has_scores = has("transform", "n_components_")


@shows("scores", _has_scores)
def scores(
    model: Any,
    X: TableLike,
    components: int | str | Iterable[int | str] | None = None,
    *,
    hue: VectorLike | None = None,
    labels: VectorLike | bool | None = None,
    outline: Literal["ellipse", "mean", "hull"] | None = "ellipse",
    confidence_level: float = 0.95,
    ax: Axes | None = None,
) -> Axes:
    """A map of the rows by their scores, with labels, and with groups in ellipses or hulls.

    Parameters
    ----------
    model : fitted model
    X : rows
    components : sequence of int or str, default=None
        The components on the axes, by their numbers from 1 or by their names; by default the first two. One is drawn as
        strips of its groups, or as a histogram without groups; three are drawn in space.
    hue : sequence, or str, default=None
        The group of each row, or the name of a column of X that holds it.
    labels : sequence, str or bool, default=None
        The label of each row, or the name of a column of X. By default the labels of a pandas index that does not just
        count the rows; True takes these or row numbers, False none. Labels that find no place are left out.
    outline : "ellipse", "mean", "hull" or None, default="ellipse"
        What is drawn around each group of two components: an ellipse that holds most of the group, the confidence
        ellipse of its mean, or its hull.
    confidence_level : float, default=0.95
        The fraction of a Gaussian group, or of the means of such groups, that its ellipse holds.
    ax : Axes, default=None

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
    >>> pca = PCA(5, scale=True).fit(wine.data)
    >>> ax = pca.plot.scores(wine.data, hue=wine.target)
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('PC1 (36.2%)', 'PC2 (19.2%)')
    """
    check_outline(outline, confidence_level)
    chosen = axes.chosen_components(model, components, 2, "one, two or three")
    shown = RowsShown(model, X, hue, labels)
    shown.place(axes.scores_of(model, shown.X)[:, chosen])
    ax = make_axes(ax, projection="3d" if len(chosen) == 3 else None)
    if len(chosen) == 1:
        _draw_on_a_line(ax, shown)
        axes.zero_lines(ax, horizontal=False)
    elif len(chosen) == 2:
        shown.draw(ax)
        shown.draw_outlines(ax, outline, confidence_level)
        axes.zero_lines(ax)
        ax.margins(0.08)
        ax.autoscale_view()
        shown.draw_legend(ax, ncols=1 + len(shown.groups) // 12)
    else:
        shown.draw(ax)
        shown.draw_legend(ax, loc="upper left", bbox_to_anchor=(0.0, 1.0))
    axes.name_axes(ax, [axes.axis_label(model, k) for k in chosen])
    shown.draw_labels(ax)
    return ax


def _draw_on_a_line(ax: Any, shown: RowsShown) -> None:
    """One component: strips of groups, or a histogram with a mark for each row. The rows are moved there."""
    (z,), n, rows = shown.points.T, len(shown.points), shown.rows
    shown.points = points = np.column_stack([z, np.zeros(n)])
    if not shown.grouped:
        ax.hist(z, bins="auto" if n > 1 else 1, color="C0", alpha=0.6)
        ax.set_ylabel("rows")
        look = {**axes.point_style(len(rows)), "marker": "|", "color": axes.foreground(), "s": 60, "linewidths": 1}
        ax.scatter(*points[rows].T, clip_on=False, **look)
        return
    # A little noise, always the same, keeps rows of equal scores apart.
    points[:, 1] = np.random.default_rng(0).uniform(-0.25, 0.25, n)
    for i, group in enumerate(shown.groups):
        points[group.rows, 1] += i
    shown.draw(ax)
    named = range(0, len(shown.groups), 1 + (len(shown.groups) - 1) // _MANY_STRIPS)
    axes.column_ticks(ax.yaxis, [shown.groups[i].name for i in named], named)
    shown.remarks = axes.some_of(len(named), len(shown.groups), "names of groups")
    ax.set_ylim(len(shown.groups) - 0.5, -0.5)


# Scores as contours over the plane of two columns.


#: The number of points of the grid along each axis.
_GRID = 80
_LEVELS = 12


@shows(
    "scores over the plane of two columns",
    lambda model: (
        getattr(model, "n_features_in_", None) == 2
        and _has_scores(model)
        and not (is_mixed(model) or is_of_counts(model))
    ),
)
def contours(
    model: Any, X: TableLike, component: int | str = 1, *, hue: VectorLike | None = None, ax: Axes | None = None
) -> Axes:
    """The scores of one component as contours over the plane, for models of two columns such as kernel PCA.

    Parameters
    ----------
    model : fitted model of two columns
    X : rows, which are drawn as points
    component : int or str, default=1
        Its number from 1, or its name.
    hue : sequence, or str, default=None
        As for `scores`.
    ax : Axes, default=None

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
    >>> ax = KernelPCA(2, kernel="rbf", gamma=3.125).fit(X).plot.contours(X, hue=which)
    """
    from matplotlib.ticker import MaxNLocator

    k = axes.chosen_component(model, component)
    shown = RowsShown(model, X, hue, False)
    found = axes.read_rows(model, shown.X)
    if found.shape[1] != len(inspect.column_names(model)):
        axes.scores_of(model, found)  # says what the model expects
    points = shown.place(axes.numbers_of(found))
    low, high = points.min(axis=0), points.max(axis=0)
    margin = 0.1 * np.where(high > low, high - low, 1.0)
    x, y = (np.linspace(a - m, b + m, _GRID) for a, b, m in zip(low, high, margin, strict=True))
    grid = np.column_stack([axis.ravel() for axis in np.meshgrid(x, y)])
    on_grid = axes.scores_of(model, axes.named_rows(model, asarray_like(grid, found, dtype=found.dtype)))
    heights = on_grid[:, k].reshape(_GRID, _GRID)
    largest = float(np.abs(heights).max()) or 1.0
    # Round numbers, as many above zero as below, so that the colours say the sign.
    levels = MaxNLocator(_LEVELS, symmetric=True).tick_values(-largest, largest)
    ax = make_axes(ax)
    filled = ax.contourf(x, y, heights, levels=levels, cmap=DIVERGING, alpha=0.7)
    ax.contour(x, y, heights, levels=levels, colors=[axes.foreground()], linewidths=0.4, linestyles="solid")
    ax.figure.colorbar(filled, ax=ax, label=axes.label(axes.axis_label(model, k), 40))
    shown.draw(ax, edgecolors=axes.style("axes.facecolor"), linewidths=0.4, alpha=1.0)
    ax.grid(False)
    axes.name_axes(ax, inspect.column_names(model))
    shown.draw_legend(ax)
    shown.draw_labels(ax)
    return ax


# Two columns with their mean and principal axes, and the perpendicular from a row.


#: The length of an arrow in standard deviations, and the size of the mark of a right angle as a share of the picture.
_ARROW, _CORNER = 2.0, 0.025


@shows(
    "principal axes in the plane of two columns",
    lambda model: (
        has("components_", "mean_", "explained_variance_")(model) and has_subspace(model) and model.n_features_in_ == 2
    ),
)
def principal_axes(
    model: Any, X: TableLike, row: Hashable = None, *, hue: VectorLike | None = None, ax: Axes | None = None
) -> Axes:
    """The rows in the plane of two columns, with mean, principal axes, and a perpendicular to the first axis.

    Parameters
    ----------
    model : fitted PCA of two columns
        To show two columns of a larger table, fit it to these.
    X : rows
    row : int or label, default=None
        The row with the perpendicular: its position, from 0, or its label. By default the one of which score times
        distance is largest.
    hue : sequence, or str, default=None
        As for `scores`.
    ax : Axes, default=None

    Returns
    -------
    Axes

    Notes
    -----
    Both axes have the same unit, so that right angles are right. An arrow is two standard deviations of the scores on
    its component long. The foot of the perpendicular is the row as one component reconstructs it: its distance from the
    mean is the score, and the length of the perpendicular is the root of Q. If the model scales, the columns are
    divided by their standard deviations in the picture too.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from lowdim import PCA
    >>> X = load_wine(as_frame=True).data[["alcohol", "color_intensity"]]
    >>> ax = PCA(scale=True).fit(X).plot.principal_axes(X)
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['mean', 'row 158', 'score 3.59', 'distance 1.26']
    """
    shown = RowsShown(model, X, hue)
    axes.scores_of(model, shown.X)
    scale = 1.0 if model.scale_ is None else axes.numbers_of(model.scale_)
    points = shown.place(axes.numbers_of(axes.read_rows(model, shown.X)) / scale)
    mean, W = axes.numbers_of(model.mean_) / scale, axes.numbers_of(model.components_)
    deviations = np.sqrt(axes.numbers_of(model.explained_variance_))
    centred = points - mean
    z = centred @ W[0]
    distances = np.linalg.norm(centred - z[:, None] * W[0], axis=1)
    i = int((np.abs(z) * distances).argmax()) if row is None else position_of_row(row, shown.labels, len(points))
    shown.rows, foot = axes.thinned(len(points), [i]), mean + z[i] * W[0]
    ax = make_axes(ax)
    shown.draw(ax, alpha=0.5)
    ends = mean + _ARROW * deviations[:, None] * W
    # A square around all points, arrows and the perpendicular: room for the legend beside a narrow cloud.
    corners = np.vstack([points, ends, foot])
    low, high = corners.min(axis=0), corners.max(axis=0)
    middle, half = (low + high) / 2, 0.56 * float((high - low).max())
    ax.set(xlim=middle[0] + half * np.array([-1, 1]), ylim=middle[1] + half * np.array([-1, 1]), aspect="equal")
    ax.axline(tuple(mean), tuple(mean + W[0]), color=axes.foreground(), alpha=0.4, linewidth=1.0, zorder=1)
    _draw_arrows(ax, ends, mean, linewidth=2.0)
    bar, line = (axes.series(len(shown.groups) + j)["color"] for j in (0, 1))
    name = axes.legend_label(f"row {i}" if shown.labels is None else shown.labels[i])
    ax.plot(*mean, "X", color=axes.foreground(), markersize=9, label="mean", zorder=5)
    ax.plot(*points[i], "o", color=line, label=name, zorder=4)
    ax.plot(*np.stack([mean, foot]).T, color=bar, linewidth=5.0, label=f"score {z[i]:.3g}", zorder=2)
    ax.plot(*np.stack([points[i], foot]).T, color=line, label=f"distance {distances[i]:.3g}", zorder=2)
    if distances[i] > 0.0:
        across, along = (points[i] - foot) / distances[i], (W[0] if z[i] < 0.0 else -W[0])
        corner = foot + _CORNER * 2 * half * np.stack([along, along + across, across])
        ax.plot(*corner.T, color=line, linewidth=1.0, zorder=2)
    for k, (end, direction) in enumerate(zip(ends, W, strict=True)):
        x, y = (int(np.sign(part)) if abs(part) > 0.1 else 0 for part in direction)
        look = {"ha": axes.SIDES[0][x], "va": axes.SIDES[1][y], "zorder": 5, **axes.LITERAL}
        name = axes.label(axes.axis_label(model, k), 40)
        ax.annotate(name, end, xytext=(6 * x, 6 * y), textcoords="offset points", **look)
    names = inspect.column_names(model)
    axes.name_axes(ax, names if model.scale_ is None else [f"{name}, in std. deviations" for name in names])
    axes.legend(ax)
    axes.note(ax, axes.some_of(len(shown.rows), len(points)))
    return ax


def position_of_row(row: Any, labels: np.ndarray | None, n: int) -> int:
    """The position of a row that is given by its label or by its position, from 0."""
    if labels is not None and row in labels.tolist():
        return labels.tolist().index(row)
    if isinstance(row, numbers.Integral) and not isinstance(row, bool) and 0 <= int(row) < n:
        return int(row)
    raise ValueError(f"there is no row {row!r}; pass its position, from 0 to {n - 1}, or its label.")


# T2 against Q: rows that are far from the mean, and rows that are far from the subspace.


#: So many of the farthest rows are drawn whatever the number of rows.
_FARTHEST = 200


@shows("T2 and Q", lambda model: has("scores", "reconstruction_error", "tail_")(model) or is_latent(model))
def outliers(
    model: Any,
    X: TableLike,
    *,
    alpha: float = 0.05,
    new_rows: bool = False,
    labels: VectorLike | bool | None = None,
    sample_weight: VectorLike | None = None,
    ax: Axes | None = None,
) -> Axes:
    """T2 against Q of each row, with the limits that few usual rows exceed.

    Parameters
    ----------
    model : fitted PCA, PCR, PLS, PPCA or FactorAnalysis
    X : rows
    alpha : float, default=0.05
        The fraction of usual rows above each limit.
    new_rows : bool, default=False
        Whether the rows were not part of the fit.
    labels : sequence, str or bool, default=None
        As for `scores`; only rows beyond a limit are labelled, and by default they are, with row numbers if there are
        no other labels.
    sample_weight : array or str, default=None
        The weights of the fit; see `lowdim.inspect.diagnose`.
    ax : Axes, default=None

    Returns
    -------
    Axes

    Notes
    -----
    T2 is the squared distance from the mean within the subspace, in units of the variances; Q is the squared distance
    to the subspace. If rows of PPCA or FactorAnalysis have missing entries, so that each has its own limits, T2 and Q
    are drawn in units of these. Of more than 10,000 rows, 10,000 are drawn, among them the 200 farthest.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from lowdim import PCA
    >>> wine = load_wine(as_frame=True)
    >>> pca = PCA(5, scale=True).fit(wine.data)
    >>> ax = pca.plot.outliers(wine.data)
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('T2, distance within the subspace (limit 10.9)', 'Q, distance to the subspace (limit 5.38)')
    """
    shown = RowsShown(model, X, labels=True if labels is None else labels, sample_weight=sample_weight)
    found = diagnose(model, shown.X, alpha=alpha, new_rows=new_rows, sample_weight=shown.sample_weight)
    t2, q, t2_limit, q_limit = axes.numbers_of(found.t2), axes.numbers_of(found.q), found.t2_limit, found.q_limit
    unit = ""
    if isinstance(t2_limit, np.ndarray) or isinstance(q_limit, np.ndarray):
        t2, q, t2_limit, q_limit, unit = t2 / t2_limit, q / q_limit, 1.0, 1.0, "of its row"
    points = shown.place(np.column_stack([t2, q]))
    beyond = (t2 > t2_limit) | (q > q_limit)
    # The farthest rows are always drawn.
    far = np.argsort(-np.maximum(t2 / t2_limit, q / q_limit), kind="stable")[: int(beyond.sum())]
    rows = axes.thinned(len(t2), far[:_FARTHEST])
    ax = make_axes(ax)
    kinds = (("usual", ~beyond), (f"beyond a limit: {int(beyond.sum()):,} of {len(t2):,} rows", beyond))
    for i, (name, where) in enumerate(kinds):
        x, y = points[rows[where[rows]]].T
        ax.scatter(x, y, label=name, **axes.series(i), **axes.point_style(len(rows)))
    axes.reference_line(ax, t2_limit, vertical=True)
    axes.reference_line(ax, q_limit)
    ax.set_xlabel(f"T2, distance within the subspace ({_limit(t2_limit, unit)})")
    ax.set_ylabel(f"Q, distance to the subspace ({_limit(q_limit, unit)})")
    ax.set_xlim(0.0, max(float(t2.max()), t2_limit) * 1.08)
    ax.set_ylim(0.0, max(float(q.max()), q_limit) * 1.08)
    axes.legend(ax)
    remarks = axes.some_of(len(rows), len(t2))
    axes.note(ax, remarks)
    if shown.labels is not None and beyond.any():
        position = np.full(len(t2), -1)
        position[rows] = np.arange(len(rows))
        order = position[far][position[far] >= 0]
        placed = axes.place_labels(ax, points[rows], shown.labels[rows], order=order)
        axes.note(ax, remarks + axes.some_of(placed, len(order), "labels fit"))
    return ax


def _limit(limit: float, unit: str) -> str:
    return f"in units of the limit {unit}" if unit else f"limit {limit:.3g}"


# Columns as arrows: biplot and correlation circle.


#: At most this many columns are drawn as arrows.
MOST_ARROWS = 25


def _has_numbers(model: Any) -> bool:
    """Whether a model of coded columns has numbers, active or supplementary."""
    return is_mixed(model) and bool(model.coding_.numbers or model.supplementary_coding_.numbers)


@shows(
    "loadings of two components",
    lambda model: (_has_numbers(model) if is_mixed(model) else has_loadings(model)) and model.n_components_ > 1,
)
def biplot(
    model: Any,
    X: TableLike,
    components: int | str | Iterable[int | str] | None = None,
    *,
    hue: VectorLike | None = None,
    labels: VectorLike | bool | None = None,
    outline: Literal["ellipse", "mean", "hull"] | None = None,
    confidence_level: float = 0.95,
    ax: Axes | None = None,
) -> Axes:
    """Rows as points and columns as arrows, in one map.

    Parameters
    ----------
    model : fitted model
    X : rows
    components : pair of int or str, default=None
        Numbers from 1 or names; by default the first two.
    hue : sequence, or str, default=None
        As for `scores`.
    labels : sequence, str or bool, default=None
        As for `scores`.
    outline : "ellipse", "mean", "hull" or None, default=None
        As for `scores`.
    confidence_level : float, default=0.95
        As for `scores`.
    ax : Axes, default=None

    Returns
    -------
    Axes

    Notes
    -----
    Points are scores divided by their standard deviations, and arrows are loadings times one common factor that makes
    the longest arrow as long as the farthest point is far. So the angle between two arrows tells the correlation of
    two columns, and the projection of a point on an arrow tells the entry of that row in that column, as far as two
    components represent them. Of more than 25 columns, those of the longest arrows are drawn.

    Of MCA, FAMD and MFA, the points are scores, levels of categories are where the means of their rows are, and the
    arrows are correlations: a circle shows how long an arrow is that stands for a correlation of one. Supplementary
    columns and levels have dashed arrows, open markers and slanted names.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from lowdim import PCA
    >>> wine = load_wine(as_frame=True)
    >>> pca = PCA(5, scale=True).fit(wine.data)
    >>> ax = pca.plot.biplot(wine.data, hue=wine.target)
    >>> ax.get_xlabel()
    'PC1 (36.2%)'
    """
    check_outline(outline, confidence_level)
    chosen = axes.chosen_components(model, components, 2, "two")
    shown = RowsShown(model, X, hue, labels)
    Z = axes.scores_of(model, shown.X)
    if is_mixed(model):
        return _biplot_of_mixed(model, shown, Z[:, chosen], chosen, outline, confidence_level, ax)
    deviations = Z.std(axis=0)
    found = inspect.loadings(model)
    # The loadings of PLS and PCR belong to the scores as they are, those of others to scores of variance one.
    factors = deviations if hasattr(model, "x_loadings_") else np.ones_like(deviations)
    arrows = (found.values * factors)[:, chosen]
    Z = shown.place((Z / np.where(deviations > 0, deviations, 1.0))[:, chosen])
    reach = float(np.sqrt(np.max(np.sum(arrows**2, axis=1), initial=0.0)))
    arrows = arrows * (0.9 * float(np.sqrt(np.sum(Z**2, axis=1).max())) / (reach or 1.0))
    ax = make_axes(ax)
    # Points are in the back: the arrows are the subject.
    shown.draw(ax, alpha=0.5)
    shown.draw_outlines(ax, outline, confidence_level)
    axes.zero_lines(ax)
    axes.name_axes(ax, [axes.axis_label(model, k) for k in chosen])
    longest = _draw_arrows(ax, arrows)
    # Room for the names of the arrows.
    ax.margins(0.18, 0.1)
    shown.draw_legend(ax, ncols=1 + len(shown.groups) // 12)
    rows = shown.rows
    remarks = axes.some_of(len(rows), len(Z)) + axes.some_of(len(longest), len(arrows), "columns, the longest arrows")
    remarks += shown.remarks
    axes.note(ax, remarks)
    ax.set(xlim=ax.get_xlim(), ylim=ax.get_ylim())
    ends = arrows[longest]
    axes.place_labels(ax, ends, [found.rows[j] for j in longest], obstacles=_along(ends), outward=True)
    if shown.labels is not None:
        placed = axes.place_labels(ax, Z[rows], shown.labels[rows], obstacles=_along(ends), alpha=0.8)
        axes.note(ax, remarks + axes.some_of(placed, len(rows), "labels fit"))
    return ax


def _biplot_of_mixed(
    model: Any,
    shown: RowsShown,
    Z: np.ndarray,
    chosen: list[int],
    outline: Any,
    confidence_level: float,
    ax: Any,
) -> Any:
    """The biplot of tables with categories: scores, levels where the means of their rows are, and correlations of
    numbers as arrows."""
    from matplotlib.patches import Circle

    g, Z = geometry(model), shown.place(Z)
    levels = np.flatnonzero(g.is_level)
    points = (g.means[levels] * np.sqrt(model.explained_variance_))[:, chosen]
    reach = np.sqrt(max(float((part**2).sum(axis=1).max(initial=0.0)) for part in (Z, points)))
    radius = 0.7 * (reach or 1.0)
    ax = make_axes(ax)
    shown.draw(ax, alpha=0.4)
    shown.draw_outlines(ax, outline, confidence_level)
    axes.zero_lines(ax)
    axes.name_axes(ax, [axes.axis_label(model, k) for k in chosen])
    ax.add_patch(Circle((0.0, 0.0), radius, fill=False, edgecolor=axes.foreground(), linewidth=0.8, linestyle=":"))
    ax.update_datalim(radius * np.array([[-1.0, -1.0], [1.0, 1.0]]))
    ends, names, slanted, remarks = [], [], [], []
    for active, line in ((True, "-"), (False, "--")):
        where = np.flatnonzero(~g.is_level & (g.active == active))
        if len(where):
            arrows = radius * g.correlations[where][:, chosen]
            longest = _draw_arrows(ax, arrows, linestyle=line)
            remarks += axes.some_of(len(longest), len(where), "columns, the longest arrows")
            ends.append(arrows[longest])
            names += [g.names[i] for i in where[longest]]
            slanted += [not active] * len(longest)
    draw_levels(ax, g, levels, points, [{"color": axes.foreground(), "marker": "D"}] * len(levels))
    ax.margins(0.12, 0.1)
    ax.autoscale_view()
    shown.draw_legend(ax, ncols=1 + len(shown.groups) // 12)
    remarks = ["circle: correlation 1", *axes.some_of(len(shown.rows), len(Z)), *remarks, *shown.remarks]
    axes.note(ax, remarks)
    axes.same_unit(ax)
    tips = np.vstack(ends)
    texts, spots = [*names, *level_labels(g, levels)], np.vstack([tips, points])
    slanted += (~g.active[levels]).tolist()
    placed = axes.place_labels(ax, spots, texts, sure=True, obstacles=_along(tips), slanted=slanted, halo=True)
    remarks += axes.some_of(placed, len(texts), "names fit")
    if shown.labels is not None:
        rows = shown.rows
        found = axes.place_labels(ax, Z[rows], shown.labels[rows], obstacles=spots, alpha=0.8)
        remarks += axes.some_of(found, len(rows), "labels of rows fit")
    axes.note(ax, remarks)
    return ax


def draw_levels(ax: Any, g: Geometry, levels: np.ndarray, points: np.ndarray, looks: list[dict[str, Any]]) -> None:
    """Markers of levels with these colours and shapes; those of supplementary levels are open."""
    kinds = [(look["color"], look["marker"], bool(g.active[i])) for i, look in zip(levels, looks, strict=True)]
    for color, marker, active in dict.fromkeys(kinds):
        where = [kind == (color, marker, active) for kind in kinds]
        ax.scatter(*points[where].T, zorder=4, **level_style({"color": color, "marker": marker}, active))


def level_style(look: dict[str, Any], active: bool) -> dict[str, Any]:
    """How the marker of a level is drawn."""
    color = look["color"]
    face = color if active else "none"
    return {"marker": look["marker"], "s": 28, "facecolors": face, "edgecolors": color, "linewidths": 1.0}


#: A level has at most so many characters beside the name of its column.
_LEVEL_WIDTH = 14


def level_labels(g: Geometry, levels: np.ndarray, *, always: bool = False) -> list[str]:
    """Short names of levels: the level, with its column if other columns have a level of this name, or `always`."""
    counts = Counter(g.levels[i] for i in levels)
    names = list(dict.fromkeys(g.variables[i] for i in levels))
    columns = dict(zip(names, axes.distinct(names, axes.WIDEST - _LEVEL_WIDTH - 1), strict=True))
    found = []
    for name in names:
        own = [i for i in levels if g.variables[i] == name]
        narrow = axes.distinct([g.levels[i] for i in own], _LEVEL_WIDTH)
        for i, wide, text in zip(own, axes.distinct([g.levels[i] for i in own], axes.WIDEST), narrow, strict=True):
            found.append((i, f"{columns[name]}={text}" if always or counts[g.levels[i]] > 1 else wide))
    return [text for _, text in sorted(found)]


@shows(
    "correlations of columns with two components",
    lambda model: (has_subspace(model) or _has_numbers(model)) and model.n_components_ > 1,
)
def correlation_circle(
    model: Any,
    X: TableLike | None = None,
    Y: TableLike | None = None,
    components: int | str | Iterable[int | str] | None = None,
    *,
    ax: Axes | None = None,
) -> Axes:
    """Correlations of the columns with two components, as arrows within the unit circle.

    Parameters
    ----------
    model : fitted PCA, PCR, PLS, MCA, FAMD or MFA
    X : the rows of the fit, default=None
        PCR and PLS need them, and PCA does if it does not keep the variances of its columns. Models with categories
        take none.
    Y : further columns of the same rows, default=None
        Supplementary columns, which were not part of the fit; their arrows are dashed, as are those of columns that
        were supplementary in the fit.
    components : pair of int or str, default=None
        Numbers from 1 or names; by default the first two.
    ax : Axes, default=None

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
    >>> pca = PCA(5, scale=True).fit(wine.data)
    >>> ax = pca.plot.correlation_circle(wine.data)
    >>> ax.get_aspect()
    1.0
    """
    chosen = axes.chosen_components(model, components, 2, "two")
    solid, dashed = {"linestyle": "-", "color": "C0"}, {"linestyle": "--", "color": "C1"}
    tables: list[tuple[Table, dict[str, Any]]] = []
    if X is not None and not is_mixed(model):
        tables.append((inspect.correlations(model, X), solid))
        if Y is not None:
            tables.append((inspect.correlations(model, X, Y), dashed))
    elif X is not None or Y is not None:
        raise ValueError(
            f"{type(model).__name__} knows the correlations of its numbers; leave out X and Y. Further columns can be "
            "supplementary in the fit; see also inspect.supplementary."
            if is_mixed(model)
            else "Y needs the rows X of the fit, whose further columns it holds."
        )
    elif not has_points(model):
        raise ValueError(f"{type(model).__name__} keeps no correlations of its columns; pass the rows of the fit as X.")
    else:
        g = geometry(model)
        values = g.correlations if is_mixed(model) else known_correlations(model, g)
        for active, look in ((True, solid), (False, dashed)):
            where = np.flatnonzero(~g.is_level & (g.active == active))
            if len(where):
                of_columns = Table.from_matrix(values[where], model.component_names_, [g.names[i] for i in where])
                tables.append((of_columns, look))
    ax = make_axes(ax)
    unit_circle(ax)
    ends, names, remarks = [], [], []
    for found, look in tables:
        arrows = found.values[:, chosen]
        longest = _draw_arrows(ax, arrows, **look)
        ends.append(arrows[longest])
        names += [found.rows[j] for j in longest]
        remarks += axes.some_of(len(longest), len(arrows), "columns, the longest arrows")
    axes.name_axes(ax, [axes.axis_label(model, k) for k in chosen])
    axes.note(ax, remarks)
    points = np.vstack(ends)
    axes.place_labels(ax, points, names, obstacles=_along(points), outward=True)
    return ax


def unit_circle(ax: Any) -> None:
    """The unit circle with axes through its middle, not distorted."""
    from matplotlib.patches import Circle

    ax.add_patch(Circle((0.0, 0.0), 1.0, fill=False, edgecolor=axes.foreground(), linewidth=1.0))
    axes.zero_lines(ax)
    ax.set(xlim=(-1.5, 1.5), ylim=(-1.15, 1.15), aspect="equal")


def _draw_arrows(ax: Any, ends: np.ndarray, start: Any = 0.0, **look: Any) -> np.ndarray:
    """Arrows from a point, by default the origin, to the ends that are farthest from it; returns their positions."""
    lengths = np.sqrt(np.sum((ends - start) ** 2, axis=1))
    longest = np.argsort(-lengths, kind="stable")[:MOST_ARROWS]
    longest = longest[lengths[longest] > 0] if np.any(lengths > 0) else longest
    arrow = {"arrowstyle": "->", "linewidth": 1.2, "shrinkA": 0, "shrinkB": 0, "color": axes.foreground(), **look}
    for end in ends[longest]:
        ax.annotate("", end, xytext=np.broadcast_to(start, 2), arrowprops=arrow, zorder=3)
    # Arrows do not count for the limits of the axes.
    ax.update_datalim(ends[longest])
    ax.autoscale_view()
    return longest


def _along(ends: np.ndarray) -> np.ndarray:
    """Points along arrows, which labels should not cover."""
    return np.vstack([ends * t for t in np.linspace(0.2, 0.9, 6)])
