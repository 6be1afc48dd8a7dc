"""The part of a section about responses: errors of PLS and PCR, and predictions of rows left out."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...selection import CrossValidation
from ...tabular import Table
from ..analysis import Analysis
from ..blocks import Block, Chart, Listing, Menu, Prose
from ..charts import axis, color, plain, points, symbol
from ..numbers.pairs import Pair
from ..numbers.regression import FOLDS, Regression
from ..words import count, listed, number, share
from . import predictors

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
    found.append(Prose(predictors.said(a, r, certain=max(r.better) >= _BETTER)))
    found.append(predictors.vip(a, r))
    found.append(_menu("coefficients", [predictors.coefficients(a, r, j) for j in _shown(r)], r))
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
