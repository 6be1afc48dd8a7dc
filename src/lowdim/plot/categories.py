"""Maps of categories: levels with rows behind, rows and columns of counts, and groups of columns."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from .. import inspect
from .._core.types import VectorLike
from ..coding import MISSING
from ..errors import choice, list_names
from ..inspect.diagnostics import ellipse
from ..inspect.geometry import Geometry, geometry, has_levels, is_of_counts
from ..inspect.mfa import has_groups
from ..selection.bootstrapping import Bootstrap
from ..selection.parallel_analysis import check_probability
from ..sources.categories import CategorySource, category_table
from ..sources.opening import TableLike, row_labels
from . import axes
from .axes import make_axes, shows
from .maps import RowsShown, draw_levels, level_labels, level_style, position_of_row

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: With more columns than this, colours do not tell them apart, and each level is named with its column.
_MOST_COLUMNS = 12
#: So many rows have partial points unless rows are named.
_MOST_ROWS = 8


def _in_a_plane(fits: Any) -> Any:
    return lambda model: fits(model) and model.n_components_ > 1


@shows("levels of categories on two components", _in_a_plane(has_levels))
def levels(
    model: Any,
    X: TableLike | None = None,
    components: int | str | Iterable[int | str] | None = None,
    *,
    columns: str | Sequence[str] | None = None,
    outline: Literal["mean"] | None = None,
    bootstrap: Bootstrap | None = None,
    confidence_level: float = 0.95,
    ax: Axes | None = None,
) -> Axes:
    """A map of the levels of categories, with the rows behind them.

    Parameters
    ----------
    model : fitted MCA, FAMD or MFA
    X : rows, default=None
        They are drawn as small points.
    components : pair of int or str, default=None
        Numbers from 1 or names; by default the first two.
    columns : str or list of str, default=None
        The categories whose levels are drawn; by default all, supplementary ones included.
    outline : "mean" or None, default=None
        Whether the confidence ellipse of the mean of the rows of each level is drawn; it needs X.
    bootstrap : Bootstrap, default=None
        What `lowdim.bootstrap` returns for the same model and rows. The ellipses are those of the levels in its samples
        then; they count that the components are uncertain too.
    confidence_level : float, default=0.95
        The fraction of such means that an ellipse holds.
    ax : Axes, default=None

    Returns
    -------
    Axes

    Notes
    -----
    The levels of a category have one colour and marker; supplementary ones have open markers and slanted names. A name
    is that of the level, with its category in front if several categories have such a level, or if there are more than
    twelve categories, which have no colours. Levels near each other belong to rows that are alike, and levels far from
    the middle to rows that differ from others. In FAMD and MFA a level is the mean of its rows; in MCA the mean divided
    by sqrt(lambda_k), so that levels are farther out than their rows. Names that find no place are left out, and a note
    says so; a large figure, which many levels get by themselves, has room for more.

    Examples
    --------
    >>> import numpy as np
    >>> from lowdim import MCA
    >>> rows = np.random.default_rng(0).choice(["low", "middle", "high"], (50, 3))
    >>> ax = MCA(2).fit(rows).plot.levels(rows)
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['x1', 'x2', 'x3']
    """
    check_probability("confidence_level", confidence_level)
    if outline not in (None, "mean"):
        raise choice("outline", outline, ["mean"], "Or pass None for no outline.")
    if outline is not None and bootstrap is not None:
        raise ValueError("outline='mean' and bootstrap= both draw an ellipse for each level; pass one of them.")
    if outline is not None and X is None:
        raise ValueError("outline='mean' needs the rows X, from which the ellipses are computed.")
    chosen = axes.chosen_components(model, components, 2, "two")
    g = geometry(model)
    places, variables = _of_columns(g, columns)
    points = g.coordinates[places][:, chosen]
    few = len(variables) <= _MOST_COLUMNS
    plain = {"color": axes.foreground(), "marker": "D"}
    looks = [axes.series(variables.index(g.variables[i])) if few else plain for i in places]
    # Many names need a large figure.
    side = min(max(1.0, (len(places) / 20) ** 0.5), 2.5)
    ax = make_axes(ax, size=(side, side))
    remarks: list[str] = []
    if X is not None:
        shown = RowsShown(model, X, labels=False)
        Z = shown.place(axes.scores_of(model, shown.X)[:, chosen])
        look = {"color": axes.foreground(), "alpha": 0.3, "s": 6, "marker": "o", "zorder": 1, "linewidths": 0}
        shown.draw(ax, **look)
        remarks = axes.some_of(len(shown.rows), len(Z))
        if outline is not None:
            unit = np.sqrt(model.explained_variance_[chosen]) if model.levels_have_unit_axes else 1.0
            which = _level_of_rows(model, shown.X, variables)
            clouds = [Z[which[g.variables[i]] == g.levels[i]] / unit for i in places]
            remarks += _draw_ellipses(ax, clouds, looks, confidence_level=confidence_level, of_mean=True)
    if bootstrap is not None:
        draws = _draws_of_levels(bootstrap, g, places, chosen)
        remarks += _draw_ellipses(ax, draws, looks, confidence_level=confidence_level)
    draw_levels(ax, g, places, points, looks)
    axes.zero_lines(ax)
    axes.name_axes(ax, [axes.axis_label(model, k) for k in chosen])
    ax.margins(0.12, 0.1)
    ax.autoscale_view()
    if few:
        _name_colors(ax, g, variables)
    axes.note(ax, remarks)
    ax.set(xlim=ax.get_xlim(), ylim=ax.get_ylim())
    texts = level_labels(g, places, always=not few)
    placed = axes.place_labels(ax, points, texts, sure=True, slanted=(~g.active[places]).tolist(), halo=True)
    axes.note(ax, remarks + axes.some_of(placed, len(texts), "names of levels fit"))
    return ax


def _of_columns(g: Geometry, columns: Any) -> tuple[np.ndarray, list[str]]:
    """The positions of the levels of some categories, and the names of these."""
    known = list(dict.fromkeys(variable for variable, level in zip(g.variables, g.levels, strict=True) if level))
    given = [columns] if isinstance(columns, str) else columns
    if given is None:
        return np.flatnonzero(g.is_level), known
    if unknown := [name for name in given if name not in known]:
        raise ValueError(f"columns: there is no category {list_names(unknown)}; they are {list_names(known, 20)}.")
    wanted = list(given)
    return np.flatnonzero(g.is_level & np.isin(g.variables, wanted)), wanted


def _name_colors(ax: Any, g: Geometry, variables: list[str]) -> None:
    """A legend with the colour of each category."""
    for i, (name, text) in enumerate(zip(variables, axes.distinct(variables), strict=True)):
        active = g.active[g.variables.index(name)]
        words = text if active else f"{axes.distinct(variables, axes.WIDEST - 9)[i]} (suppl.)"
        ax.scatter([], [], label=axes.legend_label(words), **level_style(axes.series(i), bool(active)))
    if len(variables) > 1:
        axes.legend(ax, ncols=1 + len(variables) // 7)


def _draw_ellipses(ax: Any, clouds: Iterable[np.ndarray], looks: list[dict[str, Any]], **how: Any) -> list[str]:
    """An ellipse of each cloud of points; says for how many levels there is none."""
    drawn = 0
    for points, look in zip(clouds, looks, strict=True):
        corners = ellipse(points, **how)
        if corners is not None:
            ax.fill(*corners.T, facecolor=look["color"], alpha=0.08, linewidth=0, zorder=2)
            ax.plot(*np.vstack([corners, corners[:1]]).T, color=look["color"], linewidth=0.9, zorder=2)
            drawn += 1
    return axes.some_of(drawn, len(looks), "levels have three points that differ, and an ellipse")


def _draws_of_levels(bootstrap: Bootstrap, g: Geometry, places: np.ndarray, chosen: list[int]) -> list[np.ndarray]:
    """The coordinates of levels in the bootstrap samples that have them."""
    labels = bootstrap.labels.get("coordinates")
    if labels is None or labels[0] != g.names:
        raise ValueError("bootstrap= needs what lowdim.bootstrap returns for this model and its rows.")
    draws = bootstrap.replicates["coordinates"][:, :, chosen]
    return [draws[~np.isnan(draws[:, i]).any(axis=1), i] for i in places]


def _level_of_rows(model: Any, X: Any, names: list[str]) -> dict[str, np.ndarray]:
    """The level of each row in each of these categories; None for a row without level."""
    table, named = category_table(X)
    inside = [str(name) for name in (table.names if table.chosen is None else table.chosen) if name not in table.index]
    place = dict(zip(inside, inside, strict=True)) if named else dict(zip(model._table_names, inside, strict=True))
    if missing := [name for name in names if place.get(name) not in inside]:
        raise ValueError(f"X has no column {list_names(missing)}, whose levels are drawn; see columns=.")
    here = [place[name] for name in names]
    found: dict[str, list[np.ndarray]] = {name: [] for name in names}
    for block in CategorySource(table.keeping([], here), here, table.blanks).blocks(1 << 16):
        for j, name in enumerate(names):
            coding = model.coding_ if name in model.coding_.categories else model.supplementary_coding_
            position = coding.categories.index(name)
            lookup, own = coding.lookups[position], coding.levels[position]
            codes = [lookup.get(label) for label in (*block.labels[j], MISSING)]
            texts = np.array([None if code is None else own[code] for code in codes], dtype=object)
            found[name].append(texts[block.codes[j]])
    return {name: np.concatenate(parts) for name, parts in found.items()}


# Rows and columns of a table of counts.


@shows("rows and columns of counts on two components", _in_a_plane(is_of_counts))
def symmetric_map(
    model: Any,
    X: TableLike | None = None,
    components: int | str | Iterable[int | str] | None = None,
    *,
    labels: VectorLike | bool | None = None,
    supplementary_rows: TableLike | None = None,
    ax: Axes | None = None,
) -> Axes:
    """The symmetric map of a table of counts: its rows and its columns, both in principal coordinates.

    Parameters
    ----------
    model : fitted CA
    X : the table of counts, default=None
        It is not needed after a fit to two columns of categories. Otherwise only columns are drawn without it.
    components : pair of int or str, default=None
        Numbers from 1 or names; by default the first two.
    labels : sequence, str or bool, default=None
        As for `scores`.
    supplementary_rows : rows of counts, default=None
        Further rows, which did not take part in the fit.
    ax : Axes, default=None

    Returns
    -------
    Axes

    Notes
    -----
    Distances between rows, and distances between columns, are chi-square distances of profiles. A row and a column in
    the same direction from the middle have more counts in common than if rows and columns were independent; the
    distance between a row and a column has no meaning. Both axes have the same unit. Supplementary rows and columns
    have open markers and slanted names.

    Examples
    --------
    >>> import pandas as pd
    >>> from lowdim import CA
    >>> counts = pd.DataFrame([[10, 5, 2], [3, 8, 6], [1, 4, 12]], ["a", "b", "c"], ["x", "y", "z"])
    >>> ax = CA(2).fit(counts).plot.symmetric_map(counts)
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['rows', 'columns']
    """
    chosen = axes.chosen_components(model, components, 2, "two")
    if X is None and hasattr(model, "counts_"):
        X, labels = axes.named_rows(model, model.counts_), model.row_names_ if labels is None else labels
    g, remarks = geometry(model), ["without rows: pass the table of counts"]
    points, few = g.coordinates[:, chosen], np.arange(0)
    parts: list[tuple[np.ndarray, Any, str, int, bool]] = []
    if X is not None:
        shown = RowsShown(model, X, labels=labels)
        Z, few = shown.place(axes.scores_of(model, shown.X)[:, chosen]), shown.rows
        parts = [(Z[few], None if shown.labels is None else shown.labels[few], "rows", 0, True)]
        remarks = axes.some_of(len(few), len(Z))
    ax = make_axes(ax)
    if supplementary_rows is not None:
        more = axes.scores_of(model, supplementary_rows)[:, chosen]
        parts.append((more, row_labels(supplementary_rows), "supplementary rows", 0, False))
    names = np.array(g.names, dtype=object)
    parts.append((points[g.active], names[g.active], "columns", 1, True))
    if not g.active.all():
        parts.append((points[~g.active], names[~g.active], "supplementary columns", 1, False))
    many = axes.point_style(len(few))
    for places, _, name, i, active in parts:
        look = axes.series(i)
        style = {**(many if name == "rows" else axes.point_style(1)), "marker": look["marker"]}
        face = look["color"] if active else "none"
        ax.scatter(*places.T, label=name, facecolors=face, edgecolors=look["color"], zorder=3, **style)
    axes.zero_lines(ax)
    axes.name_axes(ax, [axes.axis_label(model, k) for k in chosen])
    ax.margins(0.12, 0.1)
    ax.autoscale_view()
    axes.same_unit(ax)
    axes.legend(ax)
    axes.note(ax, remarks)
    # Names of columns come first; all are placed together, so that none covers another.
    spots = np.vstack([part[0] for part in parts])
    texts: list[Any] = [text for part in parts for text in (part[1] if part[1] is not None else [""] * len(part[0]))]
    slanted = [not part[4] for part in parts for _ in range(len(part[0]))]
    of_columns = np.array([part[3] for part in parts for _ in range(len(part[0]))])
    wanted = np.array([str(text) != "" for text in texts], dtype=bool)
    far = np.argsort(-(spots**2).sum(axis=1), kind="stable")
    order = np.concatenate([far[of_columns[far] == 1], far[of_columns[far] == 0]])
    order = order[wanted[order]]
    placed = axes.place_labels(ax, spots, texts, order=order, sure=len(order) <= 100, slanted=slanted, halo=True)
    axes.note(ax, remarks + axes.some_of(placed, len(order), "names fit"))
    return ax


# Groups of columns.


@shows("groups of columns on two components", _in_a_plane(has_groups))
def groups(model: Any, components: int | str | Iterable[int | str] | None = None, *, ax: Axes | None = None) -> Axes:
    """The groups of an MFA: how much each has to do with two components.

    Parameters
    ----------
    model : fitted MFA
    components : pair of int or str, default=None
        Numbers from 1 or names; by default the first two.
    ax : Axes, default=None

    Returns
    -------
    Axes

    Notes
    -----
    A coordinate is Lg between the component and the group, from 0 (the group has nothing to do with the component) to 1
    (the component is the direction in which the group varies most). Groups near each other have similar structures.
    Supplementary groups have open markers and slanted names.

    Examples
    --------
    >>> import numpy as np
    >>> from lowdim import MFA
    >>> rows = np.random.default_rng(0).standard_normal((20, 5))
    >>> ax = MFA(2, groups={"one": ["x1", "x2"], "two": ["x3", "x4", "x5"]}).fit(rows).plot.groups()
    >>> ax.get_xlabel()[:4]
    'dim1'
    """
    chosen = axes.chosen_components(model, components, 2, "two")
    found = inspect.groups(model).coordinates
    points, active = found.select(model.component_names_).values[:, chosen], found["active"]
    ax = make_axes(ax)
    for i, (x, y) in enumerate(points):
        face = "C0" if active[i] else "none"
        ax.scatter(x, y, marker="s", s=40, facecolors=face, edgecolors="C0", zorder=3, clip_on=False)
    axes.name_axes(ax, [axes.axis_label(model, k) for k in chosen])
    for axis, part in zip("xy", points.T, strict=True):
        getattr(ax, f"set_{axis}lim")(0.0, max(1.05, 1.1 * float(part.max())))
    axes.reference_line(ax, 1.0)
    axes.reference_line(ax, 1.0, vertical=True)
    placed = axes.place_labels(ax, points, found.rows, sure=True, slanted=(~active).tolist())
    axes.note(ax, axes.some_of(placed, len(points), "names of groups fit"))
    return ax


@shows("partial points of groups on two components", _in_a_plane(has_groups))
def partial_points(
    model: Any,
    X: TableLike | None = None,
    components: int | str | Iterable[int | str] | None = None,
    *,
    rows: Hashable | Sequence[Hashable] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Rows of an MFA, or its levels, as all groups see them together and as each group sees them.

    Parameters
    ----------
    model : fitted MFA
    X : rows, default=None
        Without rows, the levels of the categories are drawn.
    components : pair of int or str, default=None
        Numbers from 1 or names; by default the first two.
    rows : int, label, or sequence of these, default=None
        The rows that have partial points: their positions, from 0, or their labels; or the names of levels. By default
        the eight about which the groups differ most.
    ax : Axes, default=None

    Returns
    -------
    Axes

    Notes
    -----
    The point of a row is the mean of its partial points, one for each active group. Lines lead to them: short lines say
    that the groups agree.

    Examples
    --------
    >>> import numpy as np
    >>> from lowdim import MFA
    >>> rows = np.random.default_rng(0).standard_normal((20, 5))
    >>> mfa = MFA(2, groups={"one": ["x1", "x2"], "two": ["x3", "x4", "x5"]}).fit(rows)
    >>> ax = mfa.plot.partial_points(rows, rows=[0, 3])
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['one', 'two']
    """
    chosen = axes.chosen_components(model, components, 2, "two")
    found = inspect.partial_coordinates(model, X)
    m = model.n_active_groups_
    partial = found.select(model.component_names_).values[:, chosen].reshape(-1, m, 2)
    names = np.array(found.rows[::m], dtype=object)
    points = partial.mean(axis=1)
    spread = ((partial - points[:, None]) ** 2).sum(axis=(1, 2))
    if rows is None:
        picked = np.argsort(-spread, kind="stable")[:_MOST_ROWS]
    else:
        listed = list(rows) if isinstance(rows, list | tuple | np.ndarray) else [rows]
        picked = np.array([position_of_row(row, names, len(points)) for row in listed], dtype=int)
    drawn = axes.thinned(len(points), picked)
    ax = make_axes(ax)
    style: dict[str, Any] = {**axes.point_style(len(drawn)), "alpha": 0.35, "color": axes.foreground()}
    ax.scatter(*points[drawn].T, **{**style, "s": min(style["s"], 12)})
    for g in range(m):
        look, ends = axes.series(g), partial[picked, g]
        lines = np.stack([points[picked], ends, np.full_like(ends, np.nan)], axis=1).reshape(-1, 2)
        ax.plot(*lines.T, color=look["color"], linewidth=0.9, zorder=2)
        label = axes.legend_label(model.group_names_[g])
        ax.scatter(ends[:, 0], ends[:, 1], s=18, label=label, zorder=3, **look)
    ax.scatter(points[picked, 0], points[picked, 1], s=45, color=axes.foreground(), zorder=4)
    axes.zero_lines(ax)
    axes.name_axes(ax, [axes.axis_label(model, k) for k in chosen])
    ax.margins(0.1, 0.1)
    ax.autoscale_view()
    axes.legend(ax)
    what = "levels" if X is None else "rows"
    remarks = axes.some_of(len(picked), len(points), f"{what} have partial points") + axes.some_of(
        len(drawn), len(points)
    )
    axes.note(ax, remarks)
    ax.set(xlim=ax.get_xlim(), ylim=ax.get_ylim())
    ends = partial[picked].reshape(-1, 2)
    placed = axes.place_labels(ax, points[picked], names[picked].tolist(), obstacles=ends, sure=True, halo=True)
    axes.note(ax, remarks + axes.some_of(placed, len(picked), "names fit"))
    return ax
