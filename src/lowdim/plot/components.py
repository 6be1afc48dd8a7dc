"""Plots of components: scree, loadings, independent sources, and how the likelihood grew."""

from __future__ import annotations

import numbers
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import inspect
from .._core.arrays import asarray_like
from ..inspect.geometry import geometry, has_points, is_mixed, is_of_counts
from ..inspect.tables import has_loadings
from ..selection.bootstrapping import Bootstrap
from ..selection.choose import choose_n_components
from ..selection.rules import Choices, RuleName
from ..sources.opening import TableLike
from ..summaries.moments import Moments
from ..summaries.triangle import Triangle
from . import axes
from .axes import has, make_axes, shows

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# The variance of the components: scree and cumulative proportion.


#: At most this many components are drawn, or more to reach a number that a rule chose, up to the second limit.
_MOST, _MOST_CHOSEN = 40, 200


@shows("the variance of components", lambda model: isinstance(model, Choices) or hasattr(model, "explained_variance_"))
def scree(
    model: Any, choices: Choices | None = None, *, threshold: RuleName | None = "parallel", ax: Axes | None = None
) -> Axes:
    """The variance of each component, with the numbers of components that the rules choose.

    Parameters
    ----------
    model : fitted model, or Choices
        Also what `choose_n_components` returns, without a model.
    choices : Choices, default=None
        What `choose_n_components` returns for the rows of the fit. Without it, the rules are applied to the summary
        that a PCA keeps of its rows, if it keeps one (tables of at most 256 columns); the rule "cv" needs the rows.
    threshold : str or None, default="parallel"
        A rule whose thresholds are drawn as a dashed line, such as "parallel" or "broken-stick".
    ax : Axes, default=None

    Returns
    -------
    Axes

    Notes
    -----
    Of MCA, FAMD and MFA all eigenvalues are drawn, with their average as a dashed line, which is 1/J for an MCA of J
    columns and 1 for FAMD.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from lowdim import PCA
    >>> wine = load_wine(as_frame=True)
    >>> pca = PCA(5, scale=True).fit(wine.data)
    >>> ax = pca.plot.scree()
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('component', 'variance')
    """
    if isinstance(model, Choices):
        choices = model
    elif choices is None:
        choices = _choices_of(model)
    mixed = not isinstance(model, Choices) and is_mixed(model)
    if choices is not None:
        variances = axes.numbers_of(choices.eigenvalues.values)
    else:
        # Of tables with categories all eigenvalues are known, also those of components that are not kept.
        variances = axes.numbers_of(model._inertias if mixed else model.explained_variance_)
    ax = make_axes(ax)
    # The numbers of components that were chosen, and by which rules.
    chosen: dict[int, list[str]] = {}
    for answer in () if choices is None else choices.answers:
        if answer.k is not None:
            chosen.setdefault(int(answer.k), []).append(answer.rule)
    shown = min(len(variances), max(_MOST, *(k for k in chosen if k <= _MOST_CHOSEN), 0))
    ax.plot(np.arange(1, shown + 1), variances[:shown], color=axes.foreground(), linewidth=1.0, marker=".", zorder=2)
    remarks = axes.some_of(shown, len(variances), "components")
    if choices is not None:
        if threshold is not None and threshold in choices and choices[threshold].k is not None:
            curve = choices[threshold].curve[:shown]
            look: dict[str, Any] = {"color": axes.foreground(), "linestyle": "--", "linewidth": 1.0}
            ax.plot(np.arange(1, len(curve) + 1), curve, label=f"threshold of {threshold}", **look)
        for i, (k, rules) in enumerate(sorted(chosen.items())):
            # No component has number 0, and those that are not drawn have no point.
            place = ([k], [variances[k - 1]]) if 1 <= k <= shown else ([], [])
            words = ",\n".join(", ".join(rules[j : j + 3]) for j in range(0, len(rules), 3))
            ax.plot(*place, label=f"{k}: {words}", linestyle="none", zorder=3, **axes.series(i))
        missing = [answer.rule for answer in choices.answers if answer.k is None]
        remarks += [f"not available: {', '.join(missing)}"] if missing else []
        axes.legend(ax, loc="upper right", title="components according to")
    if mixed:
        ax.axhline(variances.mean(), color=axes.foreground(), linestyle="--", linewidth=1.0, label="average of all")
        axes.legend(ax, loc="upper right")
    ax.set(xlabel="component", ylabel=_measure(model), xlim=(0.5, shown + 0.5))
    axes.whole_ticks(ax.xaxis)
    # Few variances that differ little would otherwise touch the frame: the margin is a share of their differences.
    highest = max(ax.get_ylim()[1], 1.02 * float(variances.max(initial=0.0)))
    ax.set_ylim(min(0.0, float(variances.min(initial=0.0))), highest)
    axes.note(ax, remarks)
    return ax


def _measure(model: Any) -> str:
    """What components explain: inertia of categories and counts; without centring, mean squares about zero, as in the
    printed table."""
    if not isinstance(model, Choices) and (is_mixed(model) or is_of_counts(model)):
        return "inertia"
    centred = model.eigenvalues.center if isinstance(model, Choices) else getattr(model, "center", True)
    return "variance" if centred else "mean square"


def _choices_of(model: Any) -> Choices | None:
    """The numbers of components according to all rules, from the summary that the model keeps of its rows, if any."""
    summary = getattr(model, "summary_", None)
    if not isinstance(summary, Moments | Triangle) or len(summary.widths) != 1 or not hasattr(model, "scale"):
        return None
    if is_mixed(model):
        # It is a summary of coded columns, which the rules for numbers do not fit.
        return None
    # The rules are about centred rows.
    centred = getattr(model, "center", True)
    return choose_n_components(summary, scale=model.scale, ddof=model.ddof) if centred else None


@shows("proportions of the variance", has("explained_variance_ratio_"))
def cumulative(model: Any, *, proportion: float = 0.9, ax: Axes | None = None) -> Axes:
    """The proportion of the variance that the first components explain together, with a line at 90%.

    Parameters
    ----------
    model : fitted model
        For PLS and PCR there is a second curve, for the variance of y.
    proportion : float, default=0.9
        Where the line is. The first number of components that reaches it is marked.
    ax : Axes, default=None

    Returns
    -------
    Axes

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from lowdim import PCA
    >>> wine = load_wine(as_frame=True)
    >>> pca = PCA(5, scale=True).fit(wine.data)
    >>> ax = pca.plot.cumulative(proportion=0.8)
    >>> ax.get_ylabel()
    'cumulative proportion of variance'
    """
    if not 0.0 < proportion <= 1.0:
        raise ValueError(f"proportion={proportion!r} must be a proportion above 0 and at most 1.")
    ax = make_axes(ax)
    curves = {"X": model.explained_variance_ratio_}
    if hasattr(model, "y_explained_variance_ratio_"):
        curves["y"] = model.y_explained_variance_ratio_
    for i, (table, shares) in enumerate(curves.items()):
        sums = np.cumsum(axes.numbers_of(shares))
        look: dict[str, Any] = {"label": f"variance of {table}", "markevery": max(1, len(sums) // 40), **axes.series(i)}
        ax.plot(np.arange(1, len(sums) + 1), sums, **look)
        if i == 0:
            _mark_level(ax, sums, proportion, " of X" if len(curves) > 1 else "")
    axes.reference_line(ax, proportion)
    ylabel = f"cumulative proportion of {_measure(model)}"
    ax.set(xlabel="number of components", ylabel=ylabel, ylim=(0.0, 1.04))
    ax.yaxis.set_major_formatter("{x:.0%}")
    axes.whole_ticks(ax.xaxis)
    if len(curves) > 1:
        axes.legend(ax, loc="lower right")
    return ax


def _mark_level(ax: Any, sums: np.ndarray, proportion: float, whose: str) -> None:
    """Say which number of components reaches the proportion, or that none does."""
    # Sums of proportions may miss a proportion by rounding.
    reached = np.flatnonzero(sums >= proportion - 1e-12)
    if len(reached):
        k = int(reached[0]) + 1
        ax.plot([k, k], [0.0, sums[k - 1]], color=axes.foreground(), linestyle=":", linewidth=1.0)
        words = f"{proportion:.0%}{whose} with {k} component{'' if k == 1 else 's'}"
    else:
        words = f"{proportion:.0%}{whose} is not reached"
    low = float(sums[0]) > proportion
    place = {"xycoords": ("axes fraction", "data"), "xytext": (-4, -4 if low else 4), "textcoords": "offset points"}
    ax.annotate(words, (1.0, proportion), ha="right", va="top" if low else "bottom", fontsize="small", **place)


# Numbers of columns, as sorted bars or as a curve over the columns.


#: At most this many bars are drawn, those of the largest size.
MOST_BARS = 30
#: With more columns than this, as for spectra, numbers are drawn as a curve over the columns in their order.
CURVE_FROM = 40


def sorted_bars(
    ax: Any, names: Sequence[Any], values: np.ndarray, interval: np.ndarray | None = None, what: str = "columns"
) -> Any:
    """Horizontal bars, the largest magnitude on top, with intervals (low, high) as whiskers; returns the bars and the
    positions of their values.

    Bars whose interval contains zero are drawn lighter and hatched.
    """
    order = np.argsort(-np.abs(values), kind="stable")[:MOST_BARS]
    positions = np.arange(len(order))
    bars = ax.barh(positions, values[order], color="C0", height=0.7)
    if interval is not None:
        low, high = interval[:, order]
        for bar, a, b in zip(bars, low, high, strict=True):
            if a <= 0.0 <= b:
                bar.set(alpha=0.35, edgecolor=axes.foreground(), **axes.HATCHED)
        # An estimate may be outside its interval; then the whisker starts at the estimate.
        sides = np.maximum([values[order] - low, high - values[order]], 0.0)
        look = {"fmt": "none", "ecolor": axes.foreground(), "elinewidth": 1.0, "capsize": 2.5}
        ax.errorbar(values[order], positions, xerr=sides, **look)
    axes.zero_lines(ax, horizontal=False)
    axes.column_ticks(ax.yaxis, [names[i] for i in order])
    ax.set_ylim(len(order) - 0.4, -0.6)
    axes.note(ax, axes.some_of(len(order), len(values), f"{what}, those of the largest size"))
    return bars, order


def draw_columns(ax: Any, names: Sequence[Any], values: np.ndarray, interval: np.ndarray | None = None) -> bool:
    """Sorted bars or, for many columns, a curve over the columns in their order, with a band.

    The columns are numbers if all names are numbers, such as wavelengths. Returns whether they are on the horizontal
    axis.
    """
    if len(values) <= CURVE_FROM:
        sorted_bars(ax, names, values, interval)
        return False
    where, numeric = np.arange(len(names), dtype=float), False
    with suppress(ValueError):
        found = np.array([float(name) for name in names])
        # "nan" and "inf" may be names, and are no places on an axis.
        if np.all(np.isfinite(found)):
            where, numeric = found, True
    ax.plot(where, values, color="C0")
    if interval is not None:
        ax.fill_between(where, interval[0], interval[1], color="C0", alpha=0.25, linewidth=0)
    axes.zero_lines(ax, vertical=False)
    ax.set_xlabel("column")
    if not numeric:
        few = np.unique(np.linspace(0, len(names) - 1, 6).round().astype(int))
        axes.column_ticks(ax.xaxis, [names[i] for i in few], few)
    return True


# Loadings: how much each column has to do with each component, as a heatmap and as bars.


#: The largest numbers of columns and components of a heatmap.
_MOST_COLUMNS, _MOST_COMPONENTS = 30, 12
#: Up to this many cells have their numbers written in them.
_WRITTEN = 150
#: Two colours that differ for readers who do not see all colours, with the lightest shade at zero.
DIVERGING = "RdBu_r"


@shows("loadings", has_loadings)
def loadings(
    model: Any,
    components: int | str | Iterable[int | str] | None = None,
    *,
    table: str | int = 0,
    ax: Axes | None = None,
) -> Axes:
    """The loadings as a heatmap: columns of the table by components.

    Parameters
    ----------
    model : fitted model
    components : sequence of int or str, default=None
        Numbers from 1 or names; by default the first twelve.
    table : "X", "y" or int, default=0
        For models of several tables: which one.
    ax : Axes, default=None

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
    >>> pca = PCA(5, scale=True).fit(wine.data)
    >>> ax = pca.plot.loadings()
    >>> [tick.get_text() for tick in ax.get_xticklabels()]
    ['PC1', 'PC2', 'PC3', 'PC4', 'PC5']
    """
    chosen = axes.chosen_components(model, components, _MOST_COMPONENTS)
    found = inspect.loadings(model, table)
    L = found.values[:, chosen]
    strongest = np.argsort(-np.sum(L**2, axis=1), kind="stable")[:_MOST_COLUMNS]
    rows = np.sort(strongest)
    # A tall figure for many columns, so that their names do not overlap.
    ax = make_axes(ax, size=(1.0, max(1.0, len(rows) / 22)))
    values = L[rows]
    largest = float(np.max(np.abs(values), initial=0.0)) or 1.0
    image = ax.imshow(values, cmap=DIVERGING, vmin=-largest, vmax=largest, aspect="auto", interpolation="nearest")
    axes.column_ticks(ax.xaxis, [found.columns[k] for k in chosen])
    axes.column_ticks(ax.yaxis, [found.rows[j] for j in rows])
    ax.grid(False)
    ax.figure.colorbar(image, ax=ax, label="loading")
    if values.size <= _WRITTEN:
        decimals = 2 if largest < 100 else 0
        colors = axes.readable_on(image.to_rgba(values).reshape(-1, 4))
        for (i, j), shade in zip(np.ndindex(values.shape), colors, strict=True):
            ax.text(j, i, f"{values[i, j]:.{decimals}f}", ha="center", va="center", color=shade, fontsize="small")
    remarks = axes.some_of(len(rows), len(L), "columns, those of the largest loadings")
    if components is None:
        remarks += axes.some_of(len(chosen), model.n_components_, "components")
    axes.note(ax, remarks)
    return ax


@shows("loadings", has_loadings)
def loading_bars(
    model: Any,
    component: int | str = 1,
    *,
    table: str | int = 0,
    bootstrap: Bootstrap | None = None,
    ax: Axes | None = None,
) -> Axes:
    """The loadings of one component as sorted bars, with bootstrap intervals.

    Parameters
    ----------
    model : fitted model
    component : int or str, default=1
        Its number from 1, or its name.
    table : "X", "y" or int, default=0
        For models of several tables: which one.
    bootstrap : Bootstrap, default=None
        What `lowdim.bootstrap` returns for the same model and rows. Bars whose interval contains zero are hatched.
    ax : Axes, default=None

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
    >>> pca = PCA(5, scale=True).fit(wine.data)
    >>> ax = pca.plot.loading_bars("PC2")
    >>> [tick.get_text() for tick in ax.get_yticklabels()[:3]]
    ['color_intensity', 'alcohol', 'proline']
    """
    k = axes.chosen_component(model, component)
    interval = None if bootstrap is None else bootstrap.interval("loadings")[:, :, k]
    found = inspect.loadings(model, table)
    ax = make_axes(ax)
    sorted_bars(ax, found.rows, found.values[:, k], interval)
    words = "" if bootstrap is None else f", with {bootstrap.confidence_level:.0%} intervals"
    ax.set_xlabel(axes.label(f"loading on {found.columns[k]}{words}", 60), **axes.LITERAL)
    return ax


@shows("contributions", has_points)
def contributions(model: Any, component: int | str = 1, X: TableLike | None = None, *, ax: Axes | None = None) -> Axes:
    """The contributions of columns, levels or rows to one component as sorted bars, with their average.

    Parameters
    ----------
    model : fitted PCA, CA, MCA, FAMD or MFA
    component : int or str, default=1
        Its number from 1, or its name.
    X : rows, default=None
        By default the contributions are those of the columns and levels that took part in the fit.
    ax : Axes, default=None

    Returns
    -------
    Axes

    Notes
    -----
    A contribution is the share in the variance of the component. The dashed line is the share that each would have if
    all had the same. The colours say on which side of zero a column, level or row is. Of more than 30, those of the
    largest contributions are shown.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from lowdim import PCA
    >>> wine = load_wine(as_frame=True)
    >>> pca = PCA(5, scale=True).fit(wine.data)
    >>> ax = pca.plot.contributions("PC2")
    >>> [tick.get_text() for tick in ax.get_yticklabels()[:3]]
    ['color_intensity', 'alcohol', 'proline']
    """
    k = axes.chosen_component(model, component)
    name = model.component_names_[k]
    if X is None:
        g = geometry(model)
        active = np.flatnonzero(g.active)
        shares, places = g.contributions[active, k], g.coordinates[active, k]
        names, what = [g.names[i] for i in active], "columns and levels" if is_mixed(model) else "columns"
    else:
        found = inspect.contributions(model, X)
        shares, places = found[name], axes.scores_of(model, X)[:, k]
        names, what = found.rows, "rows"
    ax = make_axes(ax)
    bars, order = sorted_bars(ax, names, shares, what=what)
    sides: dict[str, Any] = {}
    for bar, i in zip(bars, order, strict=True):
        below = places[i] < 0
        if below:
            bar.set(facecolor="C1", edgecolor=axes.foreground(), **axes.HATCHED)
        sides.setdefault("below zero" if below else "above zero", bar)
    average = 1.0 / len(shares)
    axes.reference_line(ax, average, vertical=True)
    for side, bar in sorted(sides.items()):
        bar.set_label(side)
    axes.legend(ax, loc="lower right", title=f"coordinate on {axes.label(name)}")
    ax.set_xlabel(
        axes.label(f"contribution to {axes.axis_label(model, k)}; average: {average:.1%}", 60), **axes.LITERAL
    )
    ax.xaxis.set_major_formatter("{x:.0%}" if shares.max() >= 0.05 else "{x:.1%}")
    return ax


# The steps of an iteration: how the likelihood grew.


@shows("the steps of an iteration", lambda model: len(getattr(model, "loglike_", ())) > 1)
def convergence(model: Any, *, gap: bool = False, ax: Axes | None = None) -> Axes:
    """The log-likelihood at each step of the fit (EM, Newton's method, ICA).

    Parameters
    ----------
    model : fitted PPCA, FactorAnalysis or ICA
        A PPCA of complete rows is solved in closed form, without steps.
    gap : bool, default=False
        Whether to draw what was still missing to the last value, on a logarithmic axis. A straight line means that
        each step leaves the same fraction of the gap.
    ax : Axes, default=None

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
    >>> ax = ica.plot.convergence()
    >>> ax.get_xlabel()
    'step'
    """
    values = np.asarray(model.loglike_, dtype=float)
    steps = np.arange(len(values))
    ax = make_axes(ax)
    look: dict[str, Any] = {"color": "C0", "marker": "o", "markersize": 3 if len(values) > 40 else 5}
    if gap:
        rest = values[-1] - values
        ax.semilogy(steps[rest > 0], rest[rest > 0], **look)
        ax.set_ylabel("log-likelihood still missing")
    else:
        ax.plot(steps, values, **look)
        ax.set_ylabel("log-likelihood")
        # Whole numbers at the ticks, not differences from a number in the corner.
        ax.ticklabel_format(axis="y", useOffset=False)
    ax.set_xlabel("step")
    axes.whole_ticks(ax.xaxis)
    status = model.status_.name.lower().replace("_", " ")
    axes.note(ax, [f"{model.solver_}: {status} after {len(values) - 1} steps"])
    return ax


# Independent sources: their densities and their courses.


#: At most this many sources are drawn.
_MOST_SOURCES = 12


@shows("densities of sources", has("densities_", "mixing_"))
def densities(
    model: Any, X: TableLike, components: int | str | Iterable[int | str] | None = None, *, ax: Axes | None = None
) -> Axes:
    """Histograms of the sources with the density that the model assumes for each.

    Parameters
    ----------
    model : fitted ICA
    X : rows
    components : sequence of int or str, default=None
        Numbers from 1 or names; by default the first twelve.
    ax : Axes, default=None

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
    chosen = axes.chosen_components(model, components, _MOST_SOURCES)
    U = axes.scores_of(model, X)[:, chosen]
    low, high = np.quantile(U, 0.001), np.quantile(U, 0.999)
    margin = 0.05 * ((high - low) or 1.0)
    edges = np.linspace(low - margin, high + margin, 61)
    where = np.linspace(edges[0], edges[-1], 300)
    ax = make_axes(ax)
    for i, k in enumerate(chosen):
        counts = np.histogram(U[:, i], edges)[0] / (len(U) * np.diff(edges))
        density = np.exp(-axes.numbers_of(model.densities_[k].energy(asarray_like(where, model.mean_))))
        scale = 0.85 / max(float(counts.max()), float(density.max()))
        base = len(chosen) - 1 - i
        words = ("rows", "density of the model") if i == 0 else (None, None)
        ax.stairs(base + scale * counts, edges, baseline=base, fill=True, color="C0", alpha=0.45, label=words[0])
        ax.plot(where, base + scale * density, color="C1", linewidth=1.2, label=words[1])
        ax.axhline(base, color=axes.foreground(), linewidth=0.5)
    axes.tick_labels(ax.yaxis, range(len(chosen) - 1, -1, -1), [model.component_names_[k] for k in chosen])
    ax.set(xlabel="source", xlim=(edges[0], edges[-1]), ylim=(-0.08, len(chosen)))
    axes.legend(ax, loc="upper right")
    axes.note(ax, axes.some_of(len(chosen), model.n_components_, "sources") if components is None else [])
    return ax


@shows("sources", has("densities_", "mixing_"))
def sources(
    model: Any,
    X: TableLike,
    components: int | str | Iterable[int | str] | None = None,
    *,
    n_rows: int = 1000,
    ax: Axes | None = None,
) -> Axes:
    """The course of each source over the rows, in their order.

    Parameters
    ----------
    model : fitted ICA
    X : rows, such as samples in time
    components : sequence of int or str, default=None
        Numbers from 1 or names; by default the first twelve.
    n_rows : int, default=1000
        How many rows are drawn, from the first one on.
    ax : Axes, default=None

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
    chosen = axes.chosen_components(model, components, _MOST_SOURCES)
    U = axes.scores_of(model, X)[:, chosen]
    n = min(len(U), int(n_rows))
    ax = make_axes(ax)
    for i in range(len(chosen)):
        u = U[:n, i]
        # Each source takes most of the height of its line.
        middle = (float(u.min()) + float(u.max())) / 2.0
        half = float(u.max()) - middle or 1.0
        base = len(chosen) - 1 - i
        ax.axhline(base, color=axes.foreground(), linewidth=0.3, alpha=0.5)
        ax.plot(np.arange(n), base + 0.45 * (u - middle) / half, color=f"C{i}", linewidth=0.8)
    axes.tick_labels(ax.yaxis, range(len(chosen) - 1, -1, -1), [model.component_names_[k] for k in chosen])
    ax.set(xlabel="row", xlim=(0, max(n - 1, 1)), ylim=(-0.6, len(chosen) - 0.4))
    remarks = [] if n == len(U) else [f"the first {n:,} of {len(U):,} rows"]
    if components is None:
        remarks += axes.some_of(len(chosen), model.n_components_, "sources")
    axes.note(ax, remarks)
    return ax
