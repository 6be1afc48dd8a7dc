"""Two tables: variates and correlations; regressions: errors, importance of columns, predictions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import inspect
from .._core.types import VectorLike
from ..inspect.tables import has_coefficients, has_structure, has_vip
from ..selection.bootstrapping import Bootstrap
from ..selection.cross_validation import CrossValidation
from ..selection.permutation import PermutationTest
from ..sources.opening import TableLike, by_name, check_row_labels
from . import axes
from .axes import has, make_axes, shows
from .components import MOST_BARS, draw_columns
from .maps import MOST_ARROWS, RowsShown, unit_circle

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Two tables: variates, their correlations, and what the columns have to do with them.


@shows("variates of two tables", lambda model: hasattr(model, "y_rotations_") or hasattr(model, "y_dual_coef_"))
def variates(
    model: Any,
    X: TableLike,
    y: TableLike,
    component: int | str = 1,
    *,
    hue: VectorLike | None = None,
    labels: VectorLike | bool | None = None,
    ax: Axes | None = None,
) -> Axes:
    """The variate of X against the variate of y for one pair, with their correlation on these rows.

    Parameters
    ----------
    model : fitted model of two tables
    X, y : rows of both tables
        `y` may be the name of a column of X, or a list of names, as in `fit`.
    component : int or str, default=1
        The pair, by its number from 1 or by its name.
    hue : sequence, or str, default=None
        As for `scores`.
    labels : sequence, str or bool, default=None
        As for `scores`.
    ax : Axes, default=None

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
    k = axes.chosen_component(model, component)
    shown = RowsShown(model, X, hue, labels, y=y)
    both = inspect.scores(model, shown.X, shown.y).values
    points = shown.place(both[:, [k, int(model.n_components_) + k]])
    ax = make_axes(ax)
    shown.draw(ax)
    axes.zero_lines(ax)
    name = model.component_names_[k]
    axes.name_axes(ax, [f"{name}: variate of {table}" for table in "Xy"])
    if np.all(points.std(axis=0) > 0):
        ax.set_title(f"correlation {np.corrcoef(points.T)[0, 1]:.3f}", loc="left", fontsize="medium")
    ax.margins(0.08)
    ax.autoscale_view()
    shown.draw_legend(ax)
    shown.draw_labels(ax)
    return ax


@shows("canonical correlations", has("correlations_"))
def correlations(model: Any, test: PermutationTest | None = None, *, ax: Axes | None = None) -> Axes:
    """The canonical correlations, with the band that unrelated tables reach.

    Parameters
    ----------
    model : fitted CCA, GCCA or KernelCCA
    test : PermutationTest, default=None
        What `lowdim.permutation_test` returns for the same model and rows. The band reaches from the smallest value of
        shuffled rows to the quantile at one minus the level of the test. With regularization the singular values are
        drawn, which are what the test compares.
    ax : Axes, default=None

    Returns
    -------
    Axes

    Examples
    --------
    >>> from sklearn.datasets import load_linnerud
    >>> from lowdim import CCA, permutation_test
    >>> X, y = load_linnerud(return_X_y=True, as_frame=True)
    >>> cca = CCA(2).fit(X, y)
    >>> ax = cca.plot.correlations(permutation_test(CCA(), X, y, n_resamples=99, random_state=0))
    >>> ax.get_ylabel()
    'canonical correlation'
    """
    values = axes.numbers_of(model.correlations_)
    what = "canonical correlation"
    if test is not None:
        if test.estimator != type(model).__name__ or test.strength is None:
            raise ValueError(
                f"the permutation test is of {test.estimator}, or comes from an older file; pass what "
                f"lowdim.permutation_test returns for {type(model).__name__} and the same tables."
            )
        values = test.strength[: len(values)]
        what = what if test.are_correlations else "singular value"
    ax = make_axes(ax)
    positions = np.arange(len(values))
    if test is None:
        ax.bar(positions, values, color="C0", width=0.6)
    else:
        significant = test.p_values[: len(values)] <= test.alpha
        for i, (which, words) in enumerate(((significant, "significant"), (~significant, "not significant"))):
            look = {} if i == 0 else {"alpha": 0.5, "edgecolor": axes.foreground(), **axes.HATCHED}
            if which.any():
                ax.bar(positions[which], values[which], color=f"C{i}", width=0.6, label=words, **look)
        # Where the values of shuffled rows are.
        null = test.null_strength[:, : len(values)]
        low, middle, high = null.min(axis=0), np.median(null, axis=0), np.quantile(null, 1.0 - test.alpha, axis=0)
        words = f"{1.0 - test.alpha:.0%} of {len(null):,} shuffles"
        look = {"color": axes.foreground(), "alpha": 0.25, "linewidth": 0, "zorder": 3}
        for i, position in enumerate(positions):
            width = [position - 0.42, position + 0.42]
            ax.fill_between(width, low[i], high[i], label=None if i else words, **look)
            ax.plot(width, [middle[i]] * 2, color=axes.foreground(), linewidth=1.0, zorder=4)
        axes.legend(ax)
    axes.column_ticks(ax.xaxis, model.component_names_[: len(values)])
    ax.set_ylabel(what)
    ax.set_ylim(min(0.0, float(values.min(initial=0.0))), max(1.0, float(values.max(initial=0.0)) * 1.05))
    return ax


@shows("correlations of columns with factors or variates", has_structure)
def structure(model: Any, components: int | str | Iterable[int | str] | None = None, *, ax: Axes | None = None) -> Axes:
    """Correlations of the columns with factors, or with the variates of their table, in a circle or as bars.

    Parameters
    ----------
    model : fitted FactorAnalysis, CCA or GCCA
    components : sequence of int or str, default=None
        Two components, by their numbers from 1 or by their names, are drawn in a circle, and one as bars; by default
        the first two, or the only one.
    ax : Axes, default=None

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
    chosen = axes.chosen_components(model, components, 2, "one or two")
    count, in_circle = len(model._widths()), len(chosen) == 2
    titles = [""] if count == 1 else [" of X", " of y"] if count == 2 else [f" of table {i}" for i in range(count)]
    names = [f"correlation with {model.component_names_[k]}" for k in chosen]
    ax = make_axes(ax)
    if in_circle:
        unit_circle(ax)
    points, remarks = [], []
    texts: list[Any] = []
    for i, title in enumerate(titles):
        found = inspect.structure(model, i)
        values = found.values[:, chosen]
        size = np.sum(values**2, axis=1) if in_circle else np.abs(values[:, 0])
        order = np.argsort(-size, kind="stable")[: MOST_ARROWS if in_circle else MOST_BARS // count]
        if in_circle:
            ax.scatter(*values[order].T, label=f"columns{title}", zorder=3, **axes.series(i))
        else:
            where = len(texts) + np.arange(len(order))
            look = {"edgecolor": axes.style("axes.facecolor"), **axes.HATCHED} if i else {}
            ax.barh(where, values[order, 0], color=f"C{i}", height=0.7, label=f"columns{title}", **look)
        points.append(values[order])
        texts += [found.rows[j] for j in order]
        remarks += axes.some_of(len(order), len(values), f"columns{title}")
    if not in_circle:
        axes.tick_labels(ax.yaxis, range(len(texts)), texts)
        ax.set(xlim=(-1.05, 1.05), ylim=(len(texts) - 0.4, -0.6))
        axes.zero_lines(ax, horizontal=False)
    axes.name_axes(ax, names)
    if count > 1:
        # The corners beside the circle are empty.
        axes.legend(ax, loc="upper left" if in_circle else "best")
    axes.note(ax, remarks)
    if in_circle:
        axes.place_labels(ax, np.vstack(points), texts, outward=True)
    return ax


# Regressions on components: cross-validated error, importance of columns, coefficients, predictions.


def _validation_of(model: Any) -> CrossValidation | None:
    """The cross-validation by which a model chose its number of components; what is one already stays as it is."""
    if isinstance(model, CrossValidation):
        return model
    return getattr(getattr(model, "choice_", None), "cross_validation", None)


@shows(
    "a cross-validation, which cross_validate(model, X, y) returns and models with n_components='cv' hold",
    lambda model: _validation_of(model) is not None,
)
def validation(model: Any, *, ax: Axes | None = None) -> Axes:
    """Error (or score) of held-out rows for each number of components, with standard errors.

    Parameters
    ----------
    model : CrossValidation, or a model that was fitted with n_components="cv"
        `lowdim.cross_validate(model, X, y)` returns a CrossValidation.
    ax : Axes, default=None

    Returns
    -------
    Axes

    Notes
    -----
    For regressions it is the root mean squared error; its standard error is that of the mean squared error divided by
    2 RMSE. A ring marks the best number of components, and a square the smallest one whose mean is within one standard
    error of the best.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from lowdim import PLSRegression, cross_validate, plot
    >>> found = cross_validate(PLSRegression(), *load_diabetes(return_X_y=True))
    >>> ax = plot.validation(found)
    >>> ax.get_ylabel()
    'RMSE of held-out rows'
    """
    found: Any = _validation_of(model)
    errors = found.by_response is not None
    mean, error = found.mean, found.standard_error
    if errors:
        mean, error = np.sqrt(mean), error / (2.0 * np.sqrt(np.where(mean > 0, mean, 1.0)))
    ax = make_axes(ax)
    best = found.settings.index(found.best_setting)
    for s, setting in enumerate(found.settings):
        words = ", ".join(f"{name}={value}" for name, value in setting.items())
        look: dict[str, Any] = {**axes.series(s + 2), "color": f"C{s}", "markersize": 4, "capsize": 2.5}
        look["label"] = axes.legend_label(words) if words else None
        ax.errorbar(found.n_components, mean[s], yerr=error[s], **look)
    for k, shape, words in (
        (found.best, "o", f"best: {found.best}"),
        (found.one_standard_error, "s", f"within one standard error: {found.one_standard_error}"),
    ):
        at = int(np.flatnonzero(found.n_components == k)[0])
        look = {"marker": shape, "markersize": 13 if shape == "s" else 10, "markerfacecolor": "none"}
        ax.plot([k], [mean[best, at]], linestyle="none", color=axes.foreground(), label=words, zorder=4, **look)
    ax.set(xlabel="number of components", ylabel=f"{'RMSE' if errors else found.what} of held-out rows")
    axes.whole_ticks(ax.xaxis)
    axes.legend(ax)
    return ax


@shows("the importance of columns", has_vip)
def vip(model: Any, *, ax: Axes | None = None) -> Axes:
    """The importance of each column for the prediction (VIP), with a line at 1, the root mean square.

    Parameters
    ----------
    model : fitted PLS or PCR
    ax : Axes, default=None

    Returns
    -------
    Axes

    Notes
    -----
    Up to 40 columns are sorted bars; more of them, as in spectra, are a curve over the columns in their order.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from lowdim import PLSRegression
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> pls = PLSRegression(2).fit(X, y)
    >>> ax = pls.plot.vip()
    >>> [tick.get_text() for tick in ax.get_yticklabels()[:2]]
    ['bmi', 's5']
    """
    ax = make_axes(ax)
    found = inspect.vip(model)
    across = draw_columns(ax, found.rows, found["VIP"], None)
    axes.reference_line(ax, 1.0, vertical=not across)
    (ax.set_ylabel if across else ax.set_xlabel)("variable importance in projection (VIP)")
    return ax


@shows("regression coefficients", has_coefficients)
def coefficients(
    model: Any, response: int | str | None = None, *, bootstrap: Bootstrap | None = None, ax: Axes | None = None
) -> Axes:
    """The regression coefficients of one response, in the units of the columns, with bootstrap intervals.

    Parameters
    ----------
    model : fitted PLS, PCR or CCA
    response : int or str, default=None
        Its number from 1 or its name; by default the first.
    bootstrap : Bootstrap, default=None
        What `lowdim.bootstrap` returns for the same model and rows. Bars whose interval contains zero are hatched.
    ax : Axes, default=None

    Returns
    -------
    Axes

    Notes
    -----
    Up to 40 columns are sorted bars; more of them, as in spectra, are a curve over the columns in their order.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from lowdim import PLSRegression
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> pls = PLSRegression(2).fit(X, y)
    >>> ax = pls.plot.coefficients()
    >>> ax.get_xlabel()
    'coefficient for target'
    """
    j, name = _response(model, response)
    found = inspect.coefficients(model)
    values = found.values[:, j]
    interval = None if bootstrap is None else bootstrap.interval("coef").reshape(2, -1, len(values))[:, j]
    ax = make_axes(ax)
    across = draw_columns(ax, found.rows, values, interval)
    words = "" if bootstrap is None else f", with {bootstrap.confidence_level:.0%} intervals"
    text = axes.label(f"coefficient for {name}{words}", 60)
    (ax.set_ylabel if across else ax.set_xlabel)(text, **axes.LITERAL)
    return ax


@shows("predictions", has("predict", "y_mean_"))
def predictions(
    model: Any, X: TableLike, y: TableLike, response: int | str | None = None, *, ax: Axes | None = None
) -> Axes:
    """Predicted against measured values of the responses, with R2 and RMSE on these rows.

    Parameters
    ----------
    model : fitted PLS, PCR or CCA
    X, y : rows of both tables
        `y` may be the name of a column of X, or a list of names, as in `fit`.
    response : int or str, default=None
        Its number from 1 or its name; by default all, which are then divided by their standard deviations and centred.
    ax : Axes, default=None

    Returns
    -------
    Axes

    Notes
    -----
    On the rows of the fit, predictions are better than on new rows; see `validation`.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from lowdim import PLSRegression
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> pls = PLSRegression(2).fit(X, y)
    >>> ax = pls.plot.predictions(X, y)
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('measured', 'predicted')
    """
    names = inspect.column_names(model, "y")
    check_row_labels(X, y=y)
    X, y = by_name(X, y, wanted=model._wanted(), hold=True)
    found = axes.numbers_of(model.predict(X))
    found = found.reshape(len(found), -1)
    measured = axes.numbers_of(y).reshape(len(found), -1)
    chosen = list(range(len(names))) if response is None else [_response(model, response)[0]]
    scaled = len(chosen) > 1
    rows = axes.thinned(len(found))
    ax = make_axes(ax)
    for i, j in enumerate(chosen):
        a, b = measured[:, j], found[:, j]
        error, total = float(np.mean((a - b) ** 2)), float(np.var(a))
        words = f"R2 {1 - error / total:.3f}, RMSE {np.sqrt(error):.3g}" if total > 0 else f"RMSE {np.sqrt(error):.3g}"
        if scaled:
            centre, unit = a.mean(), a.std() or 1.0
            a, b = (a - centre) / unit, (b - centre) / unit
        look = {**axes.series(i), **axes.point_style(len(rows))}
        ax.scatter(a[rows], b[rows], label=f"{axes.legend_label(names[j])}: {words}", **look)
    (left, right), (bottom, top) = ax.get_xlim(), ax.get_ylim()
    limits = min(left, bottom), max(right, top)
    ax.plot(limits, limits, color=axes.foreground(), linestyle="--", linewidth=1.0, zorder=1)
    ending = ", in standard deviations" if scaled else ""
    ax.set(xlim=limits, ylim=limits, aspect="equal", xlabel=f"measured{ending}", ylabel=f"predicted{ending}")
    axes.legend(ax, loc="upper left")
    axes.note(ax, axes.some_of(len(rows), len(found)))
    return ax


def _response(model: Any, response: Any) -> tuple[int, str]:
    """The position and the name of a response that is given by its number from 1 or by its name."""
    names = inspect.column_names(model, "y")
    position = 0 if response is None else axes.position_among(names, response)
    if position is None:
        raise ValueError(f"response={response!r} is not one of {', '.join(map(repr, names))}; pass its name.")
    return position, names[position]
