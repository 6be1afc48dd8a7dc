"""How well responses can be predicted from the rows: errors of PLS and PCR, predictions, columns."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.model_selection import KFold

from ..models.pcr import PCR
from ..models.pls import PLSRegression
from ..selection.bootstrapping import bootstrap
from ..selection.cross_validation import CrossValidation, cross_validate
from ..sources.base import Source
from ..table import Table
from .blocks import (
    Block,
    Chart,
    Listing,
    Menu,
    Prose,
    axis,
    bars,
    color,
    count,
    dots,
    height,
    limit_line,
    line,
    listed,
    number,
    plain,
    points,
    share,
    symbol,
    value_axes,
)
from .passes import sampled_rows

if TYPE_CHECKING:
    from .analysis import Analysis


# The rows of the table and of a second one, complete and in memory.


#: At most so many numbers of both tables together are used; of more rows, a random sample.
MOST_ENTRIES = 40_000_000
#: With fewer complete rows, nothing can be left out of a fit.
FEWEST_ROWS = 10


@dataclass(frozen=True)
class Pair:
    """Rows of two tables that belong together, without missing entries."""

    X: np.ndarray
    Y: np.ndarray
    x_names: list[str]
    y_names: list[str]
    #: The numbers of these rows in the table.
    numbers: np.ndarray
    weights: np.ndarray | None
    #: How many rows were looked at, and how many of them were left out because entries of the second table are missing.
    n_drawn: int
    n_missing: int
    #: Columns of the second table that do not vary, and are left out.
    constant: list[str]

    @property
    def is_enough(self) -> bool:
        """Whether there are enough rows to leave some out, and a column of the second table that varies."""
        return len(self.X) >= FEWEST_ROWS and len(self.y_names) > 0


def paired(
    rows: Source,
    second: Source,
    names: Sequence[str],
    *,
    n: int,
    stem: str,
    weights: np.ndarray | None = None,
    seed: int = 0,
) -> Pair:
    """The complete rows of a table and a second one, whose columns are called `stem`1, ... if they have no names."""
    width = rows.shape[1] + second.shape[1]
    numbers, (X, Y) = sampled_rows([rows, second], n, max(1, MOST_ENTRIES // width), seed)
    known = ~np.isnan(Y).any(axis=1)
    X, Y = X[known], Y[known]
    kept = numbers[known]
    y_names = [str(name) for name in second.names or [f"{stem}{j + 1}" for j in range(second.shape[1])]]
    varies = np.ptp(Y, axis=0) > 0 if len(Y) else np.zeros(Y.shape[1], dtype=bool)
    return Pair(
        X=X,
        Y=Y[:, varies],
        x_names=list(names),
        y_names=[name for name, varied in zip(y_names, varies, strict=True) if varied],
        numbers=kept,
        weights=None if weights is None else weights[kept],
        n_drawn=len(numbers),
        n_missing=int(len(numbers) - len(kept)),
        constant=[name for name, varied in zip(y_names, varies, strict=True) if not varied],
    )


# How well responses can be predicted from the rows: PLS and PCR, judged by rows that were left out of the fit.


#: The number of folds, and the largest number of components that is tried.
FOLDS, MOST_COMPONENTS = 10, 20
#: The number of bootstrap samples. With more columns than this, each of them takes longer, and fewer are drawn, but no
#: fewer than the last number.
_DRAWS, _MANY_COLUMNS, _FEWEST_DRAWS = 200, 200, 60


@dataclass(frozen=True)
class Regression:
    """PLS and PCR of responses that vary; errors and predictions are of rows that were left out."""

    pair: Pair
    #: The errors of both methods for each number of components, in the same folds. If there are several responses,
    #: these were divided by their standard deviations first.
    pls: CrossValidation
    pcr: CrossValidation
    #: Predictions of PLS for each row from the rows of the other folds, and the means of the responses in these.
    predicted: np.ndarray
    means: np.ndarray
    #: The fit to all rows, its coefficients times the standard deviations of the columns, and their 95% intervals, each
    #: of shape (responses, columns).
    model: Any
    effect: np.ndarray
    low: np.ndarray
    high: np.ndarray
    n_draws: int

    @property
    def k(self) -> int:
        """The number of components of PLS: the smallest within one standard error of the best."""
        return self.pls.one_standard_error

    @property
    def rmsep(self) -> np.ndarray:
        """The root mean squared error of prediction of each response, in its unit."""
        return np.sqrt(np.average((self.pair.Y - self.predicted) ** 2, axis=0, weights=self.pair.weights))

    @property
    def r2(self) -> np.ndarray:
        """1 - MSE / MSE of the means of the other folds, for each response; negative if predictions are worse."""
        errors = np.average((self.pair.Y - self.predicted) ** 2, axis=0, weights=self.pair.weights)
        return 1.0 - errors / np.average((self.pair.Y - self.means) ** 2, axis=0, weights=self.pair.weights)

    @property
    def better(self) -> np.ndarray:
        """For each response, by how many standard errors the squared errors are smaller than those of the means.

        Both errors are of the same row, so their differences are averaged.
        """
        # In units of each response, since squares of squares may be beyond the range of numbers.
        away = self.pair.Y - self.means
        unit = np.abs(away).max(axis=0)
        unit = np.where(unit > 0, unit, 1.0)
        gain = (away / unit) ** 2 - ((self.pair.Y - self.predicted) / unit) ** 2
        spread = gain.std(axis=0, ddof=1)
        return np.where(spread > 0, gain.mean(axis=0) / np.where(spread > 0, spread, 1.0) * math.sqrt(len(gain)), 0.0)


def regression(pair: Pair, standardize: bool, seed: int) -> Regression:
    """PLS and PCR in ten folds of shuffled rows, and PLS of all rows with bootstrap intervals of its coefficients.

    Everything is of the rows in memory: one cross-validation for each method, ten fits for the predictions, and one
    fit for each bootstrap sample.
    """
    X, Y, weights = pair.X, pair.Y, pair.weights
    n, p = X.shape
    # The mean squared error of several responses is an average of numbers without units.
    unit = Y.std(axis=0, ddof=1) if Y.shape[1] > 1 else np.ones(1)
    scaled = Y / unit
    folds = list(KFold(min(FOLDS, n), shuffle=True, random_state=seed).split(X))
    least = min(len(train) for train, _ in folds)
    counts = range(1, max(1, min(MOST_COMPONENTS, p, least - 1)) + 1)
    scale = (standardize, False)
    pls, pcr = (
        cross_validate(kind(scale=scale), X, scaled, cv=folds, n_components=counts, sample_weight=weights)
        for kind in (PLSRegression, PCR)
    )
    k = pls.one_standard_error
    predicted, means = np.empty_like(Y), np.empty_like(Y)
    for train, test in folds:
        of_train = None if weights is None else weights[train]
        fold = PLSRegression(k, scale=scale).fit(X[train], scaled[train], sample_weight=of_train)
        predicted[test] = fold.predict(X[test]).reshape(len(test), -1) * unit
        means[test] = np.average(Y[train], axis=0, weights=of_train)
    model = PLSRegression(k, scale=scale).fit(X, scaled, sample_weight=weights)
    draws = max(_FEWEST_DRAWS, int(_DRAWS * min(1.0, _MANY_COLUMNS / p)))
    found = bootstrap(
        PLSRegression(k, scale=scale),
        X,
        scaled,
        n_boot=draws,
        sample_weight=weights,
        random_state=seed,
    )
    size = X.std(axis=0, ddof=1) * unit[:, None]
    low, high = found.interval("coef")
    return Regression(
        pair=pair,
        pls=pls,
        pcr=pcr,
        predicted=predicted,
        means=means,
        model=model,
        effect=found.estimates["coef"] * size,
        low=low * size,
        high=high * size,
        n_draws=draws,
    )


# The columns that a prediction rests on: their importance, and coefficients with intervals.


#: At most so many columns are shown as bars.
_BARS = 25
#: The colour of intervals around a curve.
_BAND = "rgba(59, 125, 216, 0.3)"


def said(a: Analysis, r: Regression, certain: bool) -> str:
    """Which columns the prediction rests on, with a direction where that is known; `certain`: there is a prediction."""
    if not certain:
        return (
            "Since nothing can be predicted, the importance of the columns and the coefficients below mean little; "
            "they are shown for completeness."
        )
    j = int(np.argmax(r.r2))
    name = r.pair.y_names[j]
    if a.layout is not None:
        return _range_said(a, r, j)
    known = (r.low[j] > 0) | (r.high[j] < 0)
    order = np.argsort(-np.abs(r.effect[j]), kind="stable")
    up = [a.names[i] for i in order if known[i] and r.effect[j, i] > 0][:3]
    down = [a.names[i] for i in order if known[i] and r.effect[j, i] < 0][:3]
    if not up and not down:
        return f"No single column is certain to matter for {name}: all intervals of its coefficients contain zero."
    parts = [f"rises with {listed(up)}"] if up else []
    parts += [f"falls with {listed(down)}"] if down else []
    unsure = int((~known).sum())
    its = "its direction is" if unsure == 1 else "their directions are"
    rest = f" For {unsure} of {count(len(known), 'column')} the interval contains zero, so {its} not known."
    return (
        f"The prediction of {name} {' and '.join(parts)}: these columns have the largest coefficients whose intervals "
        f"leave out zero.{rest if unsure else ''}"
    )


def _range_said(a: Analysis, r: Regression, j: int) -> str:
    """For points of a curve or pixels: where the most important column is, and how many matter."""
    found = np.asarray(r.model.vip_)
    top = a.names[int(np.argmax(found))]
    many = int((found > 1).sum())
    return (
        f"The prediction of {r.pair.y_names[j]} rests most on the columns around {top}: there the importance is "
        f"largest, and it is above average in {many:,} of {len(found):,} columns."
    )


def _is_curve(a: Analysis) -> bool:
    return a.layout is not None and a.layout.is_curve


def _columns_shown(a: Analysis, weight: np.ndarray) -> np.ndarray:
    """The columns that are shown: all if they are points of a curve or few, otherwise those of most weight."""
    if _is_curve(a) or a.p <= _BARS:
        return np.arange(a.p)
    return np.argsort(-weight, kind="stable")[:_BARS]


def vip(a: Analysis, r: Regression) -> Chart:
    """How important each column is for the predictions."""
    found = np.asarray(r.model.vip_)
    shown = _columns_shown(a, found)
    curve = _is_curve(a)
    shown = shown if curve else shown[np.argsort(found[shown], kind="stable")]
    names = [a.names[i] for i in shown]
    some = f" The {len(shown)} most important of {a.p:,} columns are shown." if len(shown) < a.p else ""
    order = np.argsort(-found, kind="stable")
    return Chart(
        key="vip",
        title="Importance of the columns for the prediction (VIP)",
        alt=f"The importance of columns; the largest are {listed([a.names[i] for i in order[:3]])}.",
        data=[line(names, found[shown]) if curve else bars(names, found[shown])],
        layout=value_axes("VIP", curve, names) | {"shapes": [limit_line(1.0, curve)]},
        table=Table({"VIP": found[order]}, [a.names[i] for i in order], title="VIP", row_name="column"),
        height=height(len(shown), curve),
        caption=(
            "Variable importance in projection: the weight of a column in the components, counted by what these "
            f"explain of the response. The average of the squares is 1, the dashed line.{some}"
        ),
    )


def coefficients(a: Analysis, r: Regression, j: int) -> Chart:
    """The coefficients of one response with their intervals."""
    name, curve = r.pair.y_names[j], _is_curve(a)
    effect, low, high = r.effect[j], r.low[j], r.high[j]
    shown = _columns_shown(a, np.abs(effect))
    shown = shown if curve else shown[np.argsort(effect[shown], kind="stable")]
    names = [a.names[i] for i in shown]
    trace = line(names, effect[shown]) if curve else dots(names, effect[shown])
    data = [trace]
    if curve:
        data = [
            {**line(names, low[shown]), "line": {"width": 0}, "hoverinfo": "skip"},
            {
                **line(names, high[shown]),
                "line": {"width": 0},
                "fill": "tonexty",
                "fillcolor": _BAND,
                "hoverinfo": "skip",
            },
            trace,
        ]
    else:
        ends = {"array": (high - effect)[shown], "arrayminus": (effect - low)[shown]}
        trace["error_x"] = {"type": "data", "symmetric": False, **ends}
    some = f" The {len(shown)} largest of {a.p:,} columns are shown." if len(shown) < a.p else ""
    order = np.argsort(-np.abs(effect), kind="stable")
    return Chart(
        key=f"coefficients-{j}",
        title=f"{name}: coefficients",
        alt=f"Coefficients of the columns for {name}; the largest is that of {a.names[int(order[0])]}.",
        data=data,
        layout=value_axes(f"change of {plain(name)}", curve, names) | {"shapes": [limit_line(0.0, curve)]},
        table=Table(
            {"coefficient": effect[order], "low": low[order], "high": high[order]},
            [a.names[i] for i in order],
            title=f"Change of {name} for one standard deviation more of the column",
            row_name="column",
        ),
        height=height(len(shown), curve),
        caption=(
            f"By how much the prediction of {name} changes if a column is one standard deviation larger and the others "
            f"stay as they are. {'The band shows' if curve else 'Bars are'} 95% intervals of {r.n_draws} bootstrap "
            f"samples.{some}"
        ),
    )


# The part of a section about responses: errors of PLS and PCR, and predictions of rows left out.


#: At most so many responses have charts of their own, and so many points are drawn.
_RESPONSES, _POINTS = 12, 2_000
#: From so many standard errors on, predictions are better than the mean.
_BETTER = 2.0
#: What an R2 from this number on is called.
_WORDS = ((0.8, "can be predicted well"), (0.5, "can be predicted fairly well"), (0.1, "can be predicted in part"))


def lead(pair: Pair) -> str:
    """What this part shows and how to read it."""
    return (
        f"Whether {_the(pair)} can be predicted from the columns of the table: by PLS, whose components are chosen to "
        "predict, and by PCR, which predicts from principal components. Errors and predictions are of rows that were "
        "left out of the fit, so they tell what to expect of new rows."
    )


def blocks(a: Analysis, r: Regression) -> list[Block]:
    """Words, charts and tables."""
    found: list[Block] = [Prose(f"{verdict(r)} {_comparison(r)}".strip()), _curves(r)]
    if len(r.pair.y_names) > 1:
        found.append(Listing(_responses(r), shown=12))
    found.append(_menu("predicted", [_predicted(a, r, j) for j in _shown(r)], r))
    found.append(Prose(said(a, r, certain=max(r.better) >= _BETTER)))
    found.append(vip(a, r))
    found.append(_menu("coefficients", [coefficients(a, r, j) for j in _shown(r)], r))
    return found


def verdict(r: Regression) -> str:
    """Whether the responses can be predicted at all, in a sentence."""
    names, r2 = r.pair.y_names, r.r2
    if len(names) == 1:
        name = names[0]
        if r.better[0] < _BETTER:
            how = "no better" if r2[0] <= 0 else f"not clearly better, with {count(len(r.pair.X), 'row')},"
            return (
                f"The response {name} cannot be predicted from these columns: for rows left out, PLS is {how} than the "
                f"mean of the others (R2 = {r2[0]:.2f})."
            )
        return (
            f"The response {name} {_how_well(r2[0])}: PLS with {count(r.k, 'component')} predicts {share(r2[0])} of "
            "its variance in rows left out."
        )
    order = np.argsort(-r2)
    good = [f"{names[j]} ({share(r2[j])})" for j in order if r.better[j] >= _BETTER]
    bad = [names[j] for j in order if r.better[j] < _BETTER]
    if not good:
        return (
            f"None of the {len(names)} responses can be predicted from these columns: for rows left out, PLS is not "
            f"clearly better than their means (R2 is at most {r2.max():.2f})."
        )
    text = f"PLS with {count(r.k, 'component')} predicts, in rows left out, this much of the variance: {listed(good)}."
    return f"{text} {listed(bad)} cannot be predicted." if bad else text


def _how_well(r2: float) -> str:
    return next((words for least, words in _WORDS if r2 >= least), "can hardly be predicted")


def _the(pair: Pair) -> str:
    names = pair.y_names + pair.constant
    return names[0] if len(names) == 1 else f"{len(names)} responses"


def _comparison(r: Regression) -> str:
    """How good the predictions are; nothing if there is nothing to predict."""
    if max(r.better) < _BETTER:
        return ""
    return " ".join([*_size_of_errors(r), _needed(r)])


def _size_of_errors(r: Regression) -> list[str]:
    """How large errors are beside the response itself, if there is only one."""
    if len(r.pair.y_names) > 1:
        return []
    deviation = number(float(r.pair.Y.std(ddof=1)))
    off = number(float(r.rmsep[0]))
    return [f"A prediction is typically off by {off}; the standard deviation of {r.pair.y_names[0]} is {deviation}."]


def _needed(r: Regression) -> str:
    """Which of the methods needs fewer components."""
    pls, pcr = r.pls, r.pcr
    ours, theirs = pls.one_standard_error, pcr.one_standard_error
    errors = [number(float(_rmsep(cv)[0][list(cv.n_components).index(k)])) for cv, k in ((pls, ours), (pcr, theirs))]
    rule = "The smallest number of components whose error is within one standard error of the best"
    if ours == theirs:
        both = f"{rule} is {ours} for both PLS and PCR (errors {errors[0]} and {errors[1]})"
        return f"{both}, so the largest directions of the table are also those that predict."
    fewer = "PLS" if ours < theirs else "PCR"
    return f"{rule} is {ours} for PLS and {theirs} for PCR (errors {errors[0]} and {errors[1]}); {fewer} needs fewer."


def _rmsep(cv: CrossValidation) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The root mean squared error for each number of components, and the ends of its bar of one standard error."""
    mean, error = cv.mean[0], np.nan_to_num(cv.standard_error[0])
    return np.sqrt(mean), np.sqrt(np.maximum(mean - error, 0.0)), np.sqrt(mean + error)


def _curves(r: Regression) -> Chart:
    """Errors of both methods against the number of components."""
    traces: list[dict[str, Any]] = []
    columns: dict[str, Any] = {}
    for i, (name, cv) in enumerate((("PLS", r.pls), ("PCR", r.pcr))):
        middle, low, high = _rmsep(cv)
        traces.append(
            {
                "type": "scatter",
                "mode": "lines+markers",
                "name": name,
                "x": cv.n_components.astype(np.int32),
                "y": middle,
                "error_y": {"type": "data", "symmetric": False, "array": high - middle, "arrayminus": middle - low},
                "line": {"color": color(i)},
                "marker": {"color": color(i), "symbol": symbol(i), "size": 7},
                "hovertemplate": f"{name}, %{{x}} components: %{{y:.4~g}}<extra></extra>",
            }
        )
        marks = [("best", cv.best, "circle-open"), ("one standard error", cv.one_standard_error, "square-open")]
        for what, k, look in marks:
            traces.append(
                {
                    "type": "scatter",
                    "mode": "markers",
                    "name": f"{name}: {what}, K = {k}",
                    "x": np.array([k], dtype=np.int32),
                    "y": middle[cv.n_components == k],
                    "marker": {"color": color(i), "symbol": look, "size": 15, "line": {"width": 2}},
                    "hovertemplate": f"{name}: {what}, K = {k}<extra></extra>",
                }
            )
        columns |= {f"{name} error": middle, f"{name} std. error of the MSE": cv.standard_error[0]}
    if r.pls.of_means is not None:
        of_means = float(np.sqrt(np.average(r.pls.of_means[:, 0], axis=0, weights=r.pls.weights).mean()))
        counts = r.pls.n_components
        traces.append(
            {
                "type": "scatter",
                "mode": "lines",
                "name": "predicting the mean",
                "x": np.array([counts[0], counts[-1]], dtype=np.int32),
                "y": np.full(2, of_means),
                "line": {"dash": "dot", "color": "#8a8a8a"},
                "hovertemplate": "predicting the mean: %{y:.4~g}<extra></extra>",
            }
        )
        columns["error of the mean"] = np.full(len(counts), of_means)
    several = len(r.pair.y_names) > 1
    unit = "responses in standard deviations" if several else plain(r.pair.y_names[0])
    best = f"PLS is best with {r.pls.best} and PCR with {r.pcr.best}"
    return Chart(
        key="prediction-errors",
        title="Error of prediction against the number of components",
        alt=f"Curves of the error of rows left out for PLS and PCR; {best} components.",
        data=traces,
        layout={
            "xaxis": axis("components", dtick=1 if len(r.pls.n_components) <= 20 else None),
            "yaxis": axis(f"RMSEP ({unit})", rangemode="tozero"),
            "legend": {"orientation": "h", "y": -0.25},
        },
        table=Table(columns, [int(k) for k in r.pls.n_components], title="Errors of rows left out", row_name="K"),
        caption=(
            f"The root mean squared error of prediction of rows left out, in {min(FOLDS, len(r.pair.X))} folds of "
            "shuffled rows, the same for both methods. Bars are one standard error. Circles mark the best number of "
            "components, squares the smallest one within one standard error of it."
        ),
    )


def _responses(r: Regression) -> Table:
    """A row for each response."""
    deviation = r.pair.Y.std(axis=0, ddof=1)
    return Table(
        {"R2": r.r2, "RMSEP": r.rmsep, "std. deviation": deviation, "better than the mean": r.better >= _BETTER},
        r.pair.y_names,
        title=f"PLS with {count(r.k, 'component')}, rows left out",
        row_name="response",
    )


def _shown(r: Regression) -> list[int]:
    """The responses that have charts: the best predicted ones, in their order."""
    return sorted(np.argsort(-r.r2, kind="stable")[:_RESPONSES].tolist())


def _menu(key: str, charts: list[Chart], r: Regression) -> Block:
    """One chart, or several of which the reader chooses one."""
    names = [r.pair.y_names[j] for j in _shown(r)]
    return charts[0] if len(charts) == 1 else Menu(key, "Response", dict(zip(names, charts, strict=True)))


def _predicted(a: Analysis, r: Regression, j: int) -> Chart:
    """Predictions of rows left out against what was measured."""
    pair, name = r.pair, r.pair.y_names[j]
    some = np.arange(len(pair.X))
    if len(some) > _POINTS:
        some = np.sort(np.random.default_rng(a.request.random_state).choice(len(some), _POINTS, replace=False))
    measured, predicted = pair.Y[some, j], r.predicted[some, j]
    rows = pair.numbers[some]
    hover = [a.row_name(int(i)) for i in rows]
    group = a.groupings[0] if a.groupings else None
    traces = points(measured, predicted, hover, *_colours(group, rows))
    ends = np.array([min(measured.min(), predicted.min()), max(measured.max(), predicted.max())])
    traces.append(
        {
            "type": "scatter",
            "mode": "lines",
            "x": ends,
            "y": ends,
            "line": {"color": "#8a8a8a", "width": 1},
            "hoverinfo": "skip",
            "showlegend": False,
        }
    )
    sampled = f" {len(some):,} of the {len(pair.X):,} rows are drawn." if len(some) < len(pair.X) else ""
    table = Table(
        {"measured": measured, "predicted": predicted, "difference": predicted - measured},
        hover,
        title=f"{name}: rows left out",
        row_name="row",
    )
    return Chart(
        key=f"predicted-{j}",
        title=f"{name}: predicted against measured",
        alt=f"A scatter plot of predicted against measured {name}; R2 is {r.r2[j]:.2f}.",
        data=traces,
        layout={"xaxis": axis(f"measured {plain(name)}"), "yaxis": axis(f"predicted {plain(name)}")},
        table=table.head(300),
        height=460,
        caption=(
            f"Each row is predicted by PLS with {count(r.k, 'component')} fitted to the rows of the other folds. R2 = "
            f"{r.r2[j]:.3f}, RMSEP = {number(float(r.rmsep[j]))}. On the line, both agree. The number of components "
            f"was chosen in the same folds, which flatters it a little.{sampled}"
        ),
    )


def _colours(group: Any, rows: np.ndarray) -> tuple[Any, ...]:
    return () if group is None else (group.codes[rows], group.levels)
