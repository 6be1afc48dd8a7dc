"""Regressions on components: cross-validated error, importance of columns, coefficients, predictions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import inspect
from ..errors import other_response
from ..inspect.names import names_expected
from ..inspect.pairs import has_coefficients, has_vip
from ..selection import Bootstrap, CrossValidation
from ..sources import by_name, check_row_labels
from ._axes import (
    color,
    foreground,
    make_axes,
    marker,
    note,
    point_style,
    reference_line,
    thinned,
    thinning_note,
    whole_ticks,
)
from ._bars import CURVE_FROM, curve_over_columns, sorted_bars
from ._model import numbers_of, position_among
from ._offered import has, shows
from ._text import LITERAL, label, legend, legend_label


def _validation_of(model: Any) -> CrossValidation | None:
    """The cross-validation by which a model chose its number of components; what is one already stays as it is."""
    if isinstance(model, CrossValidation):
        return model
    return getattr(getattr(model, "choice_", None), "cross_validation", None)


@shows(
    "a cross-validation, which cross_validate(model, X, y) returns and models with n_components='cv' hold",
    lambda model: _validation_of(model) is not None,
)
def validation(model: Any, *, ax: Any = None) -> Any:
    """Error (or score) of held-out rows for each number of components, with standard errors.

    Parameters
    ----------
    model : CrossValidation, or a model that was fitted with n_components="cv"
        `lowdim.cross_validate(model, X, y)` returns a CrossValidation.
    ax : Axes, optional

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
        look = {"color": color(s), "marker": marker(s + 2), "markersize": 4, "capsize": 2.5}
        ax.errorbar(found.n_components, mean[s], yerr=error[s], label=legend_label(words) if words else None, **look)
    for k, shape, words in (
        (found.best, "o", f"best: {found.best}"),
        (found.one_standard_error, "s", f"within one standard error: {found.one_standard_error}"),
    ):
        at = int(np.flatnonzero(found.n_components == k)[0])
        look = {"marker": shape, "markersize": 13 if shape == "s" else 10, "markerfacecolor": "none"}
        ax.plot([k], [mean[best, at]], linestyle="none", color=foreground(), label=words, zorder=4, **look)
    ax.set_xlabel("number of components")
    ax.set_ylabel("RMSE of held-out rows" if errors else f"{found.what} of held-out rows")
    whole_ticks(ax.xaxis)
    legend(ax)
    return ax


@shows("the importance of columns", has_vip)
def vip(model: Any, *, ax: Any = None) -> Any:
    """The importance of each column for the prediction (VIP), with a line at 1, the root mean square.

    Parameters
    ----------
    model : fitted PLS or PCR
    ax : Axes, optional

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
    across = _draw_columns(ax, found.rows, found["VIP"], None)
    reference_line(ax, 1.0, vertical=not across)
    (ax.set_ylabel if across else ax.set_xlabel)("variable importance in projection (VIP)")
    return ax


@shows("regression coefficients", has_coefficients)
def coefficients(model: Any, response: Any = None, *, bootstrap: Bootstrap | None = None, ax: Any = None) -> Any:
    """The regression coefficients of one response, in the units of the columns, with bootstrap intervals.

    Parameters
    ----------
    model : fitted PLS, PCR or CCA
    response : int or str, optional
        Its number from 1 or its name; by default the first.
    bootstrap : Bootstrap, optional
        What `lowdim.bootstrap` returns for the same model and rows. Bars whose interval contains zero are hatched.
    ax : Axes, optional

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
    across = _draw_columns(ax, found.rows, values, interval)
    words = "" if bootstrap is None else f", with {bootstrap.level:.0%} intervals"
    text = label(f"coefficient for {name}{words}", 60)
    (ax.set_ylabel if across else ax.set_xlabel)(text, **LITERAL)
    return ax


def _draw_columns(ax: Any, names: Sequence[str], values: np.ndarray, interval: np.ndarray | None) -> bool:
    """Bars or, for many columns, a curve; returns whether the columns are on the horizontal axis."""
    if len(values) > CURVE_FROM:
        curve_over_columns(ax, names, values, interval)
        return True
    note(ax, sorted_bars(ax, names, values, interval))
    return False


@shows("predictions", has("predict", "y_mean_"))
def predictions(model: Any, X: Any, y: Any, response: Any = None, *, ax: Any = None) -> Any:
    """Predicted against measured values of the responses, with R2 and RMSE on these rows.

    Parameters
    ----------
    model : fitted PLS, PCR or CCA
    X, y : rows of both tables
        `y` may be the name of a column of X, or a list of names, as in `fit`.
    response : int or str, optional
        Its number from 1 or its name; by default all, which are then divided by their standard deviations and centred.
    ax : Axes, optional

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
    X, y = by_name(X, y, wanted=names_expected(model), hold=True)
    found = numbers_of(model.predict(X))
    found = found.reshape(len(found), -1)
    measured = numbers_of(y).reshape(len(found), -1)
    chosen = list(range(len(names))) if response is None else [_response(model, response)[0]]
    scaled = len(chosen) > 1
    rows = thinned(len(found))
    ax = make_axes(ax)
    for i, j in enumerate(chosen):
        a, b = measured[:, j], found[:, j]
        error, total = float(np.mean((a - b) ** 2)), float(np.var(a))
        words = f"R2 {1 - error / total:.3f}, RMSE {np.sqrt(error):.3g}" if total > 0 else f"RMSE {np.sqrt(error):.3g}"
        if scaled:
            centre, unit = a.mean(), a.std() or 1.0
            a, b = (a - centre) / unit, (b - centre) / unit
        look = {"color": color(i), "marker": marker(i), **point_style(len(rows))}
        ax.scatter(a[rows], b[rows], label=f"{legend_label(names[j])}: {words}", **look)
    limits = _common_limits(ax)
    ax.plot(limits, limits, color=foreground(), linestyle="--", linewidth=1.0, zorder=1)
    ax.set(xlim=limits, ylim=limits, aspect="equal")
    ending = ", in standard deviations" if scaled else ""
    ax.set_xlabel(f"measured{ending}")
    ax.set_ylabel(f"predicted{ending}")
    legend(ax, loc="upper left")
    note(ax, thinning_note(len(rows), len(found)))
    return ax


def _common_limits(ax: Any) -> tuple[float, float]:
    """Limits for both axes."""
    (a, b), (c, d) = ax.get_xlim(), ax.get_ylim()
    return min(a, c), max(b, d)


def _response(model: Any, response: Any) -> tuple[int, str]:
    """The position and the name of a response that is given by its number from 1 or by its name."""
    names = inspect.column_names(model, "y")
    position = 0 if response is None else position_among(names, response)
    if position is None:
        raise other_response(response, names)
    return position, names[position]
