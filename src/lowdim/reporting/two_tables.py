"""Two tables: how well responses can be predicted, and what another table has in common with this one."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from copy import copy
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sklearn.model_selection import KFold

from ..models.cca import CCA
from ..models.pcr import PCR
from ..models.pls import PLSRegression
from ..selection.bootstrapping import bootstrap
from ..selection.cross_validation import CrossValidation, cross_validate
from ..selection.permutation import permutation_test
from ..sources.base import Source
from ..table import Table
from .blocks import Block, Chart, Listing, Menu, Prose, Section, be, count, listed, number, prose, share
from .charts import GREY, axes, axis, color, column_chart, error_bars, plain, points, scatter, symbol
from .passes import sampled_rows

if TYPE_CHECKING:
    from .analysis import Analysis

#: At most so many numbers of both tables together are used; of more rows, a random sample.
MOST_ENTRIES = 40_000_000
#: With fewer complete rows, nothing can be left out of a fit.
FEWEST_ROWS = 10
#: At most so many points are drawn, and at most so many columns as bars, of one table and of each of two.
_POINTS, _BARS, _BARS_OF_EACH = 2_000, 25, 15


class Pair:
    """The complete rows of a table of n rows and a second one, whose columns are called `stem`1, ... if they have no
    names."""

    def __init__(
        self, rows: Source, second: Source, n: int, stem: str, weights: np.ndarray | None = None, seed: int = 0
    ) -> None:
        width = rows.shape[1] + second.shape[1]
        numbers, (X, Y) = sampled_rows([rows, second], n, max(1, MOST_ENTRIES // width), seed)
        missing = np.isnan(Y).any(axis=1)
        known = ~missing if weights is None else ~missing & (weights[numbers] > 0)
        #: The numbers of these rows in the table.
        self.numbers = numbers[known]
        #: How many rows were looked at, and how many of them were left out because entries of the second table are
        #: missing.
        self.n_drawn, self.n_missing = len(numbers), int(missing.sum())
        varies = np.ptp(Y[known], axis=0) > 0 if known.any() else np.zeros(Y.shape[1], dtype=bool)
        self.X, self.Y = X[known], Y[known][:, varies]
        self.weights = None if weights is None else weights[self.numbers]
        names = [str(name) for name in second.names or [f"{stem}{j + 1}" for j in range(second.shape[1])]]
        self.y_names = [name for name, varied in zip(names, varies, strict=True) if varied]
        #: Columns of the second table that do not vary, and are left out.
        self.constant = [name for name, varied in zip(names, varies, strict=True) if not varied]
        #: Whether there are enough rows to leave some out, and a column of the second table that varies.
        self.is_enough = len(self.X) >= FEWEST_ROWS and len(self.y_names) > 0

    def take(self, rows: np.ndarray) -> Pair:
        """The pair of these rows."""
        found = copy(self)
        found.X, found.Y, found.numbers = self.X[rows], self.Y[rows], self.numbers[rows]
        found.weights = None if self.weights is None else self.weights[rows]
        return found


def section(a: Analysis) -> Section | None:
    """The section; None if there is neither a response nor another table."""
    blocks: list[Block] = []
    leads, sentences = [], []
    pair = a.pairs.get("y")
    if pair is not None:
        names = pair.y_names + pair.constant
        leads.append(
            f"Whether {names[0] if len(names) == 1 else f'{len(names)} responses'} can be predicted from the columns "
            "of the table: by PLS, whose components are chosen to predict, and by PCR, which predicts from principal "
            "components. Errors and predictions are of rows that were left out of the fit, so they tell what to expect "
            "of new rows."
        )
        about = " ".join(_about(pair, a.n, "response"))
        blocks += prose(about)
        sentences += [about] if about else []
        if pair.is_enough:
            verdict = " ".join([_predictable(a.regression), *_set_aside(a, a.regression)])
            blocks += _prediction(a, a.regression, verdict)
            sentences.append(verdict)
    other = a.pairs.get("Y")
    if other is not None:
        leads.append(
            "What the table and the other table of the same rows have in common, by canonical correlation analysis "
            "(CCA). It finds a weighted sum of the columns of each table so that the two sums, called variates, "
            "correlate as much as possible; then a second pair, uncorrelated with the first, and so on. The "
            "correlations of the fit are larger than they would be in new rows; those of rows left out are the ones to "
            "believe."
        )
        about = " ".join(_about(other, a.n, "other table"))
        blocks += prose(about)
        sentences += [about] if about else []
        if other.is_enough:
            verdict = " ".join(filter(None, [_related(a.canonical), _rests_on_one_row(a, a.canonical)]))
            blocks += _in_common(a, a.canonical, verdict)
            sentences.append(verdict)
    if not leads:
        return None
    title = "Prediction" if other is None else "Two tables"
    return Section(key="two-tables", title=title, lead=" ".join(leads), blocks=blocks, summary=" ".join(sentences))


def _about(pair: Pair, n: int, what: str) -> Iterator[str]:
    """Which rows and columns were used, if not all of them, and why nothing else follows if that is so."""
    if pair.n_drawn < n:
        yield f"This part is about a random sample of {pair.n_drawn:,} of the {n:,} rows."
    if pair.n_missing:
        yield (
            f"{count(pair.n_missing, 'row')} {be(pair.n_missing)} left out here, because entries of the {what} are "
            f"missing; {count(len(pair.X), 'row')} remain."
        )
    if pair.constant:
        one = len(pair.constant) == 1
        columns, vary = ("column", "does not vary, and is") if one else ("columns", "do not vary, and are")
        yield f"The {columns} {listed(pair.constant)} of the {what} {vary} left out."
    if not pair.is_enough:
        why = "nothing in it varies" if not pair.y_names else f"fewer than {FEWEST_ROWS} complete rows are too few"
        yield f"No more is said about the {what}: {why}."


def _menu(key: str, label: str, names: Sequence[str], charts: list[Chart]) -> Block:
    """One chart, or several of which the reader chooses one."""
    return charts[0] if len(charts) == 1 else Menu(key, label, dict(zip(names, charts, strict=True)))


def _drawn(a: Analysis, pair: Pair) -> tuple[np.ndarray, list[str], tuple[Any, ...], str]:
    """The rows that are drawn as points: their positions, names, groups, and a remark if these are not all rows."""
    some, n = np.arange(len(pair.X)), len(pair.X)
    if n > _POINTS:
        some = np.sort(np.random.default_rng(a.seed).choice(n, _POINTS, replace=False))
    rows = pair.numbers[some]
    groups = (a.groupings[0].codes[rows], a.groupings[0].levels) if a.groupings else ()
    sampled = f" {len(some):,} of the {n:,} rows are drawn." if len(some) < n else ""
    return some, [a.row_name(int(i)) for i in rows], groups, sampled


# How well responses can be predicted from the rows: PLS and PCR, judged by rows that were left out of the fit.


#: The number of folds, and the largest number of components that is tried.
FOLDS, MOST_COMPONENTS = 10, 20
#: The number of bootstrap samples. With more columns than this, each of them takes longer, and fewer are drawn, but no
#: fewer than the last number.
_DRAWS, _MANY_COLUMNS, _FEWEST_DRAWS = 200, 200, 60
#: At most so many responses have charts of their own.
_RESPONSES = 12
#: From so many standard errors on, predictions are better than the mean.
_BETTER = 2.0
#: At most so many rows that hold more than this share of the variance of a response are set aside, if each is so many
#: times as far from the median as a usual row. If more rows are far out, no few of them decide the comparison: with m
#: rows of equal errors and no others, the mean of the errors is sqrt(m) standard errors from zero.
_MOST_ASIDE, _SHARE_ASIDE, _FAR_ASIDE = 3, 0.5, 10.0
#: Rows that are far out in a column are set aside if they take at least this much from R2.
_COSTS = 0.1
#: The median of the distance from the mean, in standard deviations of a Gaussian.
_MEDIAN = 0.6745
#: What an R2 from this number on is called.
_WORDS = ((0.8, "can be predicted well"), (0.5, "can be predicted fairly well"), (0.1, "can be predicted in part"))


class Regression:
    """PLS and PCR of responses that vary, in ten folds of shuffled rows, and PLS of all rows with bootstrap intervals
    of its coefficients. Errors and predictions are of rows that were left out.

    Rows that are so far out in a response, or in a column and far from their prediction, that all errors would be about
    them, are set aside.

    Everything is of the rows in memory: one cross-validation for each method, ten fits for the predictions, and one
    fit for each bootstrap sample.
    """

    def __init__(self, pair: Pair, scale: bool, seed: int) -> None:
        # The responses have their units already.
        of_both = (scale, False)
        #: The rows that are set aside for their responses, by their positions in `whole`, with the share of the
        #: variance that those of a response hold; and the pair of the other rows.
        self.whole, self.far = pair, _far_rows(pair)
        kept = np.setdiff1d(np.arange(len(pair.X)), list(self.far))
        found = _held_out(pair.take(kept), scale, seed)
        #: The rows that are set aside for their entries, with the column in which each is farthest out, and R2 of each
        #: response with them.
        self.wrong = {int(kept[i]): j for i, j in _wrong_rows(pair.take(kept), found.predicted).items()}
        self.r2_with_wrong = found.r2
        if self.wrong:
            kept = np.setdiff1d(kept, list(self.wrong))
            found = _held_out(pair.take(kept), scale, seed)
        #: All rows that are set aside.
        self.aside = [*self.far, *self.wrong]
        pair = self.pair = pair.take(kept)
        X, Y, weights = pair.X, pair.Y, pair.weights
        n, p = X.shape
        unit, scaled = _units(Y)
        #: The errors of both methods for each number of components, in the same folds.
        self.pls, self.pcr = found.pls, found.pcr
        #: The number of components of PLS: the smallest within one standard error of the best.
        self.k = self.pls.one_standard_error
        #: Predictions of PLS for each row from the rows of the other folds, and the means of the responses in these.
        self.predicted, self.means = found.predicted, found.means
        #: The fit to all rows, its coefficients times the standard deviations of the columns, and their 95% intervals,
        #: each of shape (responses, columns).
        self.model = PLSRegression(self.k, scale=of_both).fit(X, scaled, sample_weight=weights)
        self.n_draws = max(_FEWEST_DRAWS, int(_DRAWS * min(1.0, _MANY_COLUMNS / p)))
        drawn = PLSRegression(self.k, scale=of_both)
        draws = bootstrap(drawn, X, scaled, n_resamples=self.n_draws, sample_weight=weights, random_state=seed)
        #: What this fit predicts of the rows that were set aside.
        self.predicted_aside = (
            self.model.predict(self.whole.X[self.aside]).reshape(len(self.aside), -1) * unit if self.aside else None
        )
        size = X.std(axis=0, ddof=1) * unit[:, None]
        self.effect = draws.estimates["coef"] * size
        self.low, self.high = (end * size for end in draws.interval("coef"))
        #: The root mean squared error of prediction of each response, in its unit.
        self.rmsep = np.sqrt(np.average((Y - self.predicted) ** 2, axis=0, weights=weights))
        #: 1 - MSE / MSE of the means of the other folds, for each response; negative if predictions are worse.
        self.r2 = found.r2
        #: For each response, by how many standard errors the squared errors are smaller than those of the means. Both
        #: errors are of the same row, so their differences are averaged; in units of each response, since squares of
        #: squares may be beyond the range of numbers.
        away = Y - self.means
        size = np.abs(away).max(axis=0)
        size = np.where(size > 0, size, 1.0)
        gain = (away / size) ** 2 - ((Y - self.predicted) / size) ** 2
        spread = gain.std(axis=0, ddof=1)
        errors_apart = gain.mean(axis=0) / np.where(spread > 0, spread, 1.0) * math.sqrt(n)
        # Where few rows hold most of the squares, these differ too much. How many rows are nearer to their prediction
        # than to the mean, in standard errors of a fair coin, then tells more.
        nearer = np.sign(gain).sum(axis=0) / np.sqrt(np.maximum(np.count_nonzero(gain, axis=0), 1))
        some = self.r2 >= _WORDS[-1][0]
        self.better = np.maximum(np.where(spread > 0, errors_apart, 0.0), np.where(some, nearer, 0.0))


class HeldOut(NamedTuple):
    """Cross-validation of PLS and PCR, and what PLS predicts of rows that were left out of the fit."""

    pls: CrossValidation
    pcr: CrossValidation
    predicted: np.ndarray
    means: np.ndarray
    r2: np.ndarray


def _units(Y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The units of the responses, and the responses in these: the mean squared error of several responses is an average
    of numbers without units."""
    unit = Y.std(axis=0, ddof=1) if Y.shape[1] > 1 else np.ones(1)
    return unit, Y / unit


def _held_out(pair: Pair, scale: bool, seed: int) -> HeldOut:
    X, Y, weights = pair.X, pair.Y, pair.weights
    n, p = X.shape
    unit, scaled = _units(Y)
    folds = list(KFold(min(FOLDS, n), shuffle=True, random_state=seed).split(X))
    least = min(len(train) for train, _ in folds)
    counts = range(1, max(1, min(MOST_COMPONENTS, p, least - 1)) + 1)
    of_both = (scale, False)
    pls, pcr = (
        cross_validate(kind(scale=of_both), X, scaled, cv=folds, n_components=counts, sample_weight=weights)
        for kind in (PLSRegression, PCR)
    )
    predicted, means = np.empty_like(Y), np.empty_like(Y)
    for train, test in folds:
        of_train = None if weights is None else weights[train]
        fold = PLSRegression(pls.one_standard_error, scale=of_both)
        fold.fit(X[train], scaled[train], sample_weight=of_train)
        predicted[test] = fold.predict(X[test]).reshape(len(test), -1) * unit
        means[test] = np.average(Y[train], axis=0, weights=of_train)
    errors, of_means = (np.average((Y - guess) ** 2, axis=0, weights=weights) for guess in (predicted, means))
    return HeldOut(pls, pcr, predicted, means, 1.0 - errors / of_means)


def _far_rows(pair: Pair) -> dict[int, float]:
    """The few rows that hold most of the variance of a response, with their share of it; none if too few remain."""
    weights = np.ones(len(pair.X)) if pair.weights is None else pair.weights
    found: dict[int, float] = {}
    for y in pair.Y.T:
        far, held = _few(y, float(np.average(y, weights=weights)), weights)
        found |= {i: max(held, found.get(i, 0.0)) for i in far}
    return found if len(pair.X) - len(found) >= FEWEST_ROWS else {}


def _wrong_rows(pair: Pair, predicted: np.ndarray) -> dict[int, int]:
    """The few rows that make most of the squared errors of predictions and are far out in a column, with this column;
    none if too few remain.

    The error of a row that was left out is its residual divided by 1 - h, with h its leverage.
    """
    weights = np.ones(len(pair.X)) if pair.weights is None else pair.weights
    away = np.abs(pair.X - np.median(pair.X, axis=0))
    usual = np.median(away, axis=0) / _MEDIAN
    away = np.where(usual > 0, away / np.where(usual > 0, usual, 1.0), 0.0)
    found: dict[int, int] = {}
    centred = pair.Y - np.average(pair.Y, axis=0, weights=weights)
    for y, error in zip(centred.T, (pair.Y - predicted).T, strict=True):
        far, _ = _few(error, 0.0, weights)
        size = np.abs(y).max(initial=0.0) or 1.0
        costs = weights[far] @ (error[far] / size) ** 2 > _COSTS * (weights @ (y / size) ** 2)
        if costs and all(away[i].max() > _FAR_ASIDE for i in far):
            found |= {i: int(np.argmax(away[i])) for i in far}
    return found if len(pair.X) - len(found) >= FEWEST_ROWS else {}


def _few(values: np.ndarray, centre: float, weights: np.ndarray) -> tuple[list[int], float]:
    """The few rows far from all others that make most of the sum of squares about the centre, and their share."""
    away = np.abs(values - np.median(values))
    usual = float(np.median(away)) / _MEDIAN
    far = np.flatnonzero(away > _FAR_ASIDE * usual) if usual > 0 else np.array([], dtype=int)
    squares = weights * ((values - centre) / away.max(initial=1.0)) ** 2
    held = float(squares[far].sum() / squares.sum())
    return (far.tolist(), held) if weights[far].sum() <= _MOST_ASIDE and held > _SHARE_ASIDE else ([], 0.0)


def _set_aside(a: Analysis, r: Regression) -> Iterator[str]:
    """Which rows were set aside, why, and whether they follow what was found in the others."""
    if r.predicted_aside is None:
        return
    names = r.pair.y_names
    if r.far:
        named, held = _listed_rows(a, r, list(r.far)), share(max(r.far.values()))
        which, them = ("which alone holds", "this row") if len(r.far) == 1 else ("which hold", "these rows")
        of_what = names[0] if len(names) == 1 else "a response"
        yield f"This is without {named}, {which} {held} of the variance of {of_what}; all errors would be about {them}."
    if r.wrong:
        named = _listed_rows(a, r, list(r.wrong))
        columns = listed(a.brief_names(dict.fromkeys(r.wrong.values())))
        are, them = ("which is", "this row") if len(r.wrong) == 1 else ("which are", "these rows")
        yield (
            f"This is{' also' if r.far else ''} without {named}, {are} far out in {columns} and far from what the "
            f"other rows predict; check {them}. With {them}, R2 is {r.r2_with_wrong.max():.2f}"
            f"{'' if len(names) == 1 else ' at most'}."
        )
    if len(names) == 1:
        told = [
            f"{number(float(guess[0]))} for {a.called(int(r.whole.numbers[i]))}, where {names[0]} is "
            f"{number(float(r.whole.Y[i, 0]))}"
            for i, guess in zip(r.aside, r.predicted_aside, strict=True)
        ]
        yield f"The fit to the other rows predicts {listed(told)}."


def _listed_rows(a: Analysis, r: Regression, rows: list[int]) -> str:
    return listed([a.called(int(r.whole.numbers[i])) for i in rows])


def _prediction(a: Analysis, r: Regression, verdict: str) -> list[Block]:
    """Words, charts and tables about responses."""
    names, certain = r.pair.y_names, max(r.better) >= _BETTER
    # The best predicted responses have charts, in their order.
    shown = sorted(np.argsort(-r.r2, kind="stable")[:_RESPONSES].tolist())
    titles = [names[j] for j in shown]
    blocks: list[Block] = [Prose(f"{verdict} {_needed(r) if certain else ''}".strip()), _curves(r)]
    if len(names) > 1:
        facts = {"R2": r.r2, "RMSEP": r.rmsep, "std. deviation": r.pair.Y.std(axis=0, ddof=1)}
        facts["better than the mean"] = r.better >= _BETTER
        title = f"PLS with {count(r.k, 'component')}, rows left out"
        blocks.append(Listing(Table(facts, names, title=title, row_name="response"), shown=12))
    return [
        *blocks,
        _menu("predicted", "Response", titles, [_predicted(a, r, j) for j in shown]),
        Prose(_rests_on(a, r, certain)),
        _vip(a, r),
        _menu("coefficients", "Response", titles, [_coefficients(a, r, j) for j in shown]),
    ]


def _predictable(r: Regression) -> str:
    """Whether the responses can be predicted at all, in a sentence."""
    names, r2 = r.pair.y_names, r.r2
    if len(names) == 1:
        name = names[0]
        if r2[0] <= 0:
            return (
                f"The response {name} cannot be predicted from these columns: for rows left out, PLS is no better than "
                f"the mean of the others (R2 = {r2[0]:.2f})."
            )
        if r.better[0] < _BETTER:
            return (
                f"It is not certain that the response {name} can be predicted from these columns: for rows left out, "
                f"PLS is better than the mean of the others (R2 = {r2[0]:.2f}), but {count(len(r.pair.X), 'row')} do "
                "not show it clearly."
            )
        how = next((words for least, words in _WORDS if r2[0] >= least), "can hardly be predicted")
        return (
            f"The response {name} {how}: PLS with {count(r.k, 'component')} predicts {share(r2[0])} of "
            "its variance in rows left out."
        )
    order = np.argsort(-r2)
    good = [f"{names[j]} ({share(r2[j])})" for j in order if r.better[j] >= _BETTER]
    bad = [names[j] for j in order if r.better[j] < _BETTER]
    if not good:
        return (
            f"For none of the {len(names)} responses it is certain that it can be predicted from these columns: for "
            f"rows left out, PLS is not clearly better than their means (R2 is at most {r2.max():.2f})."
        )
    text = f"PLS with {count(r.k, 'component')} predicts, in rows left out, this much of the variance: {listed(good)}."
    return f"{text} For {listed(bad)}, it is not clearly better than the mean." if bad else text


def _needed(r: Regression) -> str:
    """How large errors are beside the response, if there is only one; and which method needs fewer components."""
    text = "The smallest number of components whose error is within one standard error of the best"
    if len(r.pair.y_names) == 1:
        deviation, off = number(float(r.pair.Y.std(ddof=1))), number(float(r.rmsep[0]))
        name = r.pair.y_names[0]
        text = f"A prediction is typically off by {off}; the standard deviation of {name} is {deviation}. {text}"
    ours, theirs = r.pls.one_standard_error, r.pcr.one_standard_error
    errors = [number(float(cv.rmse[0][list(cv.n_components).index(cv.one_standard_error)])) for cv in (r.pls, r.pcr)]
    if ours == theirs:
        both = f"{text} is {ours} for both PLS and PCR (errors {errors[0]} and {errors[1]})"
        return f"{both}, so the largest directions of the table are also those that predict."
    fewer = "PLS" if ours < theirs else "PCR"
    return f"{text} is {ours} for PLS and {theirs} for PCR (errors {errors[0]} and {errors[1]}); {fewer} needs fewer."


def _curves(r: Regression) -> Chart:
    """Errors of both methods against the number of components."""
    traces: list[dict[str, Any]] = []
    columns: dict[str, Any] = {}
    for i, (name, cv) in enumerate((("PLS", r.pls), ("PCR", r.pcr))):
        mean, middle, error = cv.mean[0], cv.rmse[0], np.nan_to_num(cv.standard_error[0])
        low, high = np.sqrt(np.maximum(mean - error, 0.0)), np.sqrt(mean + error)
        at = {"x": cv.n_components.astype(np.int32), "y": middle, "error_y": error_bars(high - middle, middle - low)}
        hover = f"{name}, %{{x}} components: %{{y:.4~g}}"
        traces.append(scatter("lines+markers", hover, i, name=name, **at, symbol=symbol(i), size=7))
        marks = [("best", cv.best, "circle-open"), ("one standard error", cv.one_standard_error, "square-open")]
        for what, k, look in marks:
            title = f"{name}: {what}, K = {k}"
            at = {"x": np.array([k], dtype=np.int32), "y": middle[cv.n_components == k]}
            marker = {"color": color(i), "symbol": look, "size": 15, "line": {"width": 2}}
            traces.append(scatter("markers", title, name=title, **at, marker=marker))
        columns |= {f"{name} error": middle, f"{name} std. error of the MSE": cv.standard_error[0]}
    counts = r.pls.n_components
    if r.pls.of_means is not None:
        of_means = float(np.sqrt(np.average(r.pls.of_means[:, 0], axis=0, weights=r.pls.weights).mean()))
        at = {"x": np.array([counts[0], counts[-1]], dtype=np.int32), "y": np.full(2, of_means)}
        title = "predicting the mean"
        traces.append(scatter("lines", f"{title}: %{{y:.4~g}}", GREY, name=title, **at, dash="dot"))
        columns["error of the mean"] = np.full(len(counts), of_means)
    unit = "responses in standard deviations" if len(r.pair.y_names) > 1 else plain(r.pair.y_names[0])
    best = f"PLS is best with {r.pls.best} and PCR with {r.pcr.best}"
    x = axis("components", dtick=1 if len(counts) <= 20 else None)
    return Chart(
        key="prediction-errors",
        title="Error of prediction against the number of components",
        alt=f"Curves of the error of rows left out for PLS and PCR; {best} components.",
        data=traces,
        layout=axes(x, axis(f"RMSEP ({unit})", rangemode="tozero"), legend=-0.25),
        table=Table(columns, [int(k) for k in counts], title="Errors of rows left out", row_name="K"),
        caption=(
            f"The root mean squared error of prediction of rows left out, in {min(FOLDS, len(r.pair.X))} folds of "
            "shuffled rows, the same for both methods. Bars are one standard error. Circles mark the best number of "
            "components, squares the smallest one within one standard error of it."
        ),
    )


def _predicted(a: Analysis, r: Regression, j: int) -> Chart:
    """Predictions of rows left out against what was measured."""
    name = r.pair.y_names[j]
    some, hover, groups, sampled = _drawn(a, r.pair)
    measured, predicted = r.pair.Y[some, j], r.predicted[some, j]
    ends = np.array([min(measured.min(), predicted.min()), max(measured.max(), predicted.max())])
    diagonal = scatter("lines", None, GREY, x=ends, y=ends, width=1, hoverinfo="skip", showlegend=False)
    columns = {"measured": measured, "predicted": predicted, "difference": predicted - measured}
    return Chart(
        key=f"predicted-{j}",
        title=f"{name}: predicted against measured",
        alt=f"A scatter plot of predicted against measured {name}; R2 is {r.r2[j]:.2f}.",
        data=[*points(measured, predicted, hover, *groups), diagonal],
        layout=axes(f"measured {plain(name)}", f"predicted {plain(name)}"),
        table=Table(columns, hover, title=f"{name}: rows left out", row_name="row").head(300),
        height=460,
        caption=(
            f"Each row is predicted by PLS with {count(r.k, 'component')} fitted to the rows of the other folds. R2 = "
            f"{r.r2[j]:.3f}, RMSEP = {number(float(r.rmsep[j]))}. On the line, both agree. The number of components "
            f"was chosen in the same folds, which flatters it a little.{sampled}"
        ),
    )


def _rests_on(a: Analysis, r: Regression, certain: bool) -> str:
    """Which columns the prediction rests on, with a direction where that is known; `certain`: there is a prediction."""
    if not certain:
        return (
            "Since no prediction is certain, the importance of the columns and the coefficients below mean little; "
            "they are shown for completeness."
        )
    j = int(np.argmax(r.r2))
    name, effect = r.pair.y_names[j], r.effect[j]
    if a.layout is not None:
        # Of points of a curve and of pixels, the place is said.
        found = np.asarray(r.model.vip_)
        return (
            f"The prediction of {name} rests most on the columns around {a.names[int(np.argmax(found))]}: there the "
            f"importance is largest, and it is above average in {int((found > 1).sum()):,} of {len(found):,} columns."
        )
    known = (r.low[j] > 0) | (r.high[j] < 0)
    order = np.argsort(-np.abs(effect), kind="stable")
    up = [a.names[i] for i in order if known[i] and effect[i] > 0][:3]
    down = [a.names[i] for i in order if known[i] and effect[i] < 0][:3]
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


def _columns_drawn(a: Analysis, values: np.ndarray) -> np.ndarray:
    """The columns that are drawn: all of a curve, otherwise those of the largest values, by these."""
    if a.is_curve:
        return np.arange(a.p)
    shown = np.arange(a.p) if a.p <= _BARS else np.argsort(-np.abs(values), kind="stable")[:_BARS]
    return shown[np.argsort(values[shown], kind="stable")]


def _vip(a: Analysis, r: Regression) -> Chart:
    """How important each column is for the predictions."""
    found = np.asarray(r.model.vip_)
    shown = _columns_drawn(a, found)
    names = [a.names[i] for i in shown]
    some = f" The {len(shown)} most important of {a.p:,} columns are shown." if len(shown) < a.p else ""
    order = np.argsort(-found, kind="stable")
    return Chart(
        key="vip",
        title="Importance of the columns for the prediction (VIP)",
        alt=f"The importance of columns; the largest are {listed([a.names[i] for i in order[:3]])}.",
        **column_chart("curve" if a.is_curve else "bars", names, found[shown], "VIP", line=1.0),
        table=a.column_table({"VIP": found[order]}, order, "VIP"),
        caption=(
            "Variable importance in projection: the weight of a column in the components, counted by what these "
            f"explain of the response. The average of the squares is 1, the dashed line.{some}"
        ),
    )


def _coefficients(a: Analysis, r: Regression, j: int) -> Chart:
    """The coefficients of one response with their intervals."""
    name, curve = r.pair.y_names[j], a.is_curve
    effect, low, high = r.effect[j], r.low[j], r.high[j]
    shown = _columns_drawn(a, effect)
    names = [a.names[i] for i in shown]
    drawn = column_chart("curve" if curve else "dots", names, effect[shown], f"change of {plain(name)}", line=0.0)
    (trace,) = drawn["data"]
    if curve:
        band = {"fill": "tonexty", "fillcolor": "rgba(59, 125, 216, 0.3)"}
        drawn["data"][:0] = [
            {**trace, "y": end[shown], "line": {"width": 0}, **more, "hoverinfo": "skip"}
            for end, more in ((low, {}), (high, band))
        ]
    else:
        trace["error_x"] = error_bars((high - effect)[shown], (effect - low)[shown])
    some = f" The {len(shown)} largest of {a.p:,} columns are shown." if len(shown) < a.p else ""
    order = np.argsort(-np.abs(effect), kind="stable")
    columns = {"coefficient": effect[order], "low": low[order], "high": high[order]}
    return Chart(
        key=f"coefficients-{j}",
        title=f"{name}: coefficients",
        alt=f"Coefficients of the columns for {name}; the largest is that of {a.names[int(order[0])]}.",
        **drawn,
        table=a.column_table(columns, order, f"Change of {name} for one standard deviation more of the column"),
        caption=(
            f"By how much the prediction of {name} changes if a column is one standard deviation larger and the others "
            f"stay as they are. {'The band shows' if curve else 'Bars are'} 95% intervals of {r.n_draws} bootstrap "
            f"samples.{some}"
        ),
    )


# What two tables have in common: canonical correlations, of the fit and of rows that were left out, with a test.


#: The number of folds, and the largest number of pairs that is shown.
CANONICAL_FOLDS, MOST_PAIRS = 5, 5
#: With fewer rows than this for each column of both tables, correlations need regularization.
ROWS_PER_COLUMN = 10
#: The regularizations that are tried then.
TRIED = (0.003, 0.01, 0.03, 0.1, 0.3, 0.6, 0.9)
#: Numbers of shuffles, of which the first that takes at most so many multiplications is used.
_SHUFFLES, _MOST_WORK = (199, 99, 39), 2e10
#: The test takes at most so many rows.
_MOST_ROWS = 5_000
#: Columns that correlate less with a variate are not named.
_NAMED = 0.3
#: What held-out correlations from this number on are called.
_RELATED = ((0.8, "closely related"), (0.5, "related"), (0.2, "weakly related"))


class Canonical:
    """CCA of two tables, regularized if there are few rows; a test by shuffles, and five folds."""

    def __init__(self, pair: Pair, seed: int) -> None:
        self.pair = pair
        X, Y, weights = pair.X, pair.Y, pair.weights
        n, (p, q) = len(X), (X.shape[1], Y.shape[1])
        most = min(p, q, MOST_PAIRS)
        folds = list(KFold(min(CANONICAL_FOLDS, n), shuffle=True, random_state=seed).split(X))
        #: The amount of regularization, and whether it was chosen by rows left out; otherwise none was needed.
        self.searched = n < ROWS_PER_COLUMN * (p + q)
        tried = [0.0]
        if self.searched:
            # Without regularization, correlations of one are found as soon as the columns are as many as the rows.
            enough = n * (CANONICAL_FOLDS - 1) // CANONICAL_FOLDS > p + q + 1
            tried = [0.0, *TRIED] if enough else list(TRIED)
        counts, grid = range(1, most + 1), {"regularization": tried}
        found = cross_validate(CCA(), X, Y, cv=folds, n_components=counts, param_grid=grid, sample_weight=weights)
        # The sum of all pairs that are shown decides: it does not depend on how many of them are good for chance.
        s = int(np.nanargmax(found.mean[:, -1]))
        self.regularization = float(tried[s])
        self.model = CCA(most, regularization=self.regularization).fit(X, Y, sample_weight=weights)
        k = int(self.model.n_components_)
        #: Correlations of the fit and of rows that were left out, one for each pair that is shown.
        self.correlations = np.asarray(self.model.correlations_)[:k]
        self.held_out = np.diff(np.concatenate([[0.0], found.mean[s][:k]]))
        #: A test of the pairs that are shown; None if there are too many columns for it. At most so many rows are used.
        shown = np.arange(n) if n <= _MOST_ROWS else np.sort(np.random.default_rng(seed).choice(n, _MOST_ROWS, False))
        self.n_tested = len(shown)
        ranks = sorted((min(len(shown), p), min(len(shown), q)))
        work = k * ranks[0] ** 2 * ranks[1]
        shuffles = next((number for number in _SHUFFLES if number * work <= _MOST_WORK), None)
        self.test = None
        if shuffles is not None:
            model = CCA(regularization=self.regularization)
            options: Any = {"n_resamples": shuffles, "n_components": k, "random_state": seed}
            self.test = permutation_test(model, X[shown], Y[shown], **options)
        #: The number of pairs that are more than chance, among those shown; 0 if that was not tested.
        self.significant = 0 if self.test is None else self.test.n_components
        #: The variates of all rows, of shape (rows, pairs).
        self.x_variates, self.y_variates = (np.asarray(part) for part in self.model.transform(X, Y))


def _related(c: Canonical) -> str:
    """Whether the tables have something in common, in a sentence."""
    fit, held = c.correlations[0], c.held_out[0]
    numbers = f"the first pair of variates correlates {_digits(held)} in rows left out ({_digits(fit)} in the fit)"
    if c.test is not None and c.significant == 0:
        return (
            f"The two tables have nothing in common that could be distinguished from chance: {numbers}, and shuffled "
            f"rows reach as much (p = {number(c.test.p_values[0], 2)})."
        )
    how = next((words for least, words in _RELATED if held >= least), "hardly related in rows left out")
    text = f"The two tables are {how}: {numbers}."
    if c.test is None:
        return text
    if len(c.correlations) == 1:
        return f"{text} That is more than chance."
    if c.significant == 1:
        return f"{text} Only the first pair is more than chance."
    least = "At least the" if c.significant == MOST_PAIRS else "The"
    return f"{text} {least} first {c.significant} pairs are more than chance."


def _rests_on_one_row(a: Analysis, c: Canonical) -> str:
    """Whether a single row makes up most of the first correlation: a sum over the rows of products of two variates."""
    u, v = (part[:, 0] - np.average(part[:, 0], weights=c.pair.weights) for part in (c.x_variates, c.y_variates))
    products = np.abs(u * v) * (1.0 if c.pair.weights is None else c.pair.weights)
    i = int(np.argmax(products))
    held = float(products[i] / products.sum()) if products.sum() > 0 else 0.0
    if held <= _SHARE_ASIDE:
        return ""
    row = a.called(int(c.pair.numbers[i]))
    return f"The correlation of the fit rests on a single row, {row}, which makes up {share(held)} of it."


def _digits(correlation: float) -> str:
    """A correlation with two digits, or three close to one."""
    return f"{correlation:.2f}" if correlation < 0.995 else f"{correlation:.3f}"


def _in_common(a: Analysis, c: Canonical, verdict: str) -> list[Block]:
    """Words, charts and tables about another table."""
    k = len(c.correlations)
    names = [f"pair {j + 1}" for j in range(k)]
    meanings = [_meaning(a, c, j) for j in range(k if c.test is None else c.significant)]
    few = f"{len(c.pair.X):,} rows are few for {c.pair.X.shape[1]:,} and {c.pair.Y.shape[1]:,} columns"
    if c.regularization > 0:
        verdict += (
            f" {few}, so the weights are regularized by {number(c.regularization)} (0 is none, 1 is full), which gave "
            "the largest correlations in rows left out."
        )
    elif c.searched:
        verdict += f" {few}, but no regularization gave the largest correlations in rows left out, so none is used."
    columns: dict[str, Any] = {"fit": c.correlations, "rows left out": c.held_out}
    title, notes = "Pairs of variates", ["There are too many columns for a test by shuffled rows."]
    if c.test is not None:
        columns |= {"p": c.test.p_values, "more than chance": np.arange(k) < c.significant}
        some = f" of {c.n_tested:,} rows" if c.n_tested < len(c.pair.X) else ""
        title = f"Pairs of variates; p-values from {len(c.test.null)} shuffles{some}"
        notes = ["The p-value of a pair is never smaller than that of the pair before it."]
    return [
        Prose(verdict),
        _correlations(c),
        Listing(Table(columns, names, title=title, notes=notes)),
        *(Prose(text) for text in meanings if text),
        _menu("variates", "Pair", names, [_variates(a, c, j) for j in range(k)]),
        _menu("structure", "Pair", names, [_structure(a, c, j) for j in range(k)]),
    ]


def _correlations(c: Canonical) -> Chart:
    """Correlations of the fit and of rows left out, beside those of shuffled rows."""
    k = len(c.correlations)
    x = np.arange(1, k + 1, dtype=np.int32)
    columns: dict[str, Any] = {"fit": c.correlations, "rows left out": c.held_out}
    traces = []
    for i, (name, y) in enumerate((("of the fit", c.correlations), ("of rows left out", c.held_out))):
        look: Any = {"name": name, "symbol": symbol(i), "size": 11}
        traces.append(scatter("markers", f"{name}, pair %{{x}}: %{{y:.3f}}", i, x=x, y=y, **look))
    if c.test is not None and c.test.are_correlations:
        columns["95% of shuffles"] = np.quantile(c.test.null_strength, 0.95, axis=0)
        look = {"name": "95% of shuffled rows are below", "dash": "dot", "symbol": "line-ew-open", "size": 12}
        hover = "shuffled rows, pair %{x}: %{y:.3f}"
        traces.append(scatter("lines+markers", hover, GREY, x=x, y=columns["95% of shuffles"], **look))
    lowest = min(-0.05, float(c.held_out.min()) - 0.05)
    pairs, heights = axis("pair", dtick=1, range=[0.5, k + 0.5]), axis("correlation", range=[lowest, 1.05])
    return Chart(
        key="canonical-correlations",
        title="Canonical correlations",
        alt=f"Correlations of {count(k, 'pair')} of variates, of the fit and of rows left out.",
        data=traces,
        layout=axes(pairs, heights, legend=-0.25),
        table=Table(columns, [f"pair {j}" for j in x], title="Canonical correlations", row_name="pair"),
        caption=(
            "Rows left out: the average over five folds of the correlation between variates whose weights come from "
            "the other rows. Where it is far below that of the fit, the fit has found chance."
        ),
    )


def _meaning(a: Analysis, c: Canonical, j: int) -> str:
    """Which columns of the two tables go together, in a sentence."""
    # Of each table, the columns that correlate most with its variate, positively and negatively.
    ends = []
    for names, structure in ((a.names, c.model.x_structure_), (c.pair.y_names, c.model.y_structure_)):
        r = np.asarray(structure)[:, j]
        order = [i for i in np.argsort(-np.abs(r), kind="stable") if abs(r[i]) >= _NAMED][:4]
        ends.append([[names[i] for i in order if r[i] > 0], [names[i] for i in order if r[i] < 0]])
    if not all(map(any, ends)):
        return ""
    if not ends[0][0]:
        # A variate and its opposite say the same.
        ends = [side[::-1] for side in ends]
    ours, theirs = (
        " and ".join(f"{word} {listed(names)}" for word, names in zip(("high", "low"), side, strict=True) if names)
        for side in ends
    )
    return f"Pair {j + 1}: rows with {ours} in the table have {theirs} in the other table."


def _variates(a: Analysis, c: Canonical, j: int) -> Chart:
    """The variates of the two tables against each other."""
    some, hover, groups, sampled = _drawn(a, c.pair)
    x, y = c.x_variates[some, j], c.y_variates[some, j]
    coloured = f" Colours are by {a.groupings[0].name}." if groups else ""
    table = Table({"table": x, "other table": y}, hover, title=f"Variates of pair {j + 1}", row_name="row")
    return Chart(
        key=f"variates-{j}",
        title=f"Pair {j + 1}: the variates of the two tables",
        alt=f"A scatter plot of the variates of pair {j + 1}, whose correlation is {c.correlations[j]:.2f}.",
        data=points(x, y, hover, *groups),
        layout=axes("variate of the table", "variate of the other table"),
        table=table.head(300),
        height=460,
        caption=(
            f"Their correlation is {_digits(c.correlations[j])} in the fit, which is shown here, and "
            f"{_digits(c.held_out[j])} in rows left out.{coloured}{sampled}"
        ),
    )


def _structure(a: Analysis, c: Canonical, j: int) -> Chart:
    """Correlations of the columns of both tables with the variates of their own table."""
    drawn_of, all_of = [], []
    sides = ((1, "other table", c.pair.y_names, c.model.y_structure_), (0, "table", a.names, c.model.x_structure_))
    for i, what, of_table, found in sides:
        structure = np.asarray(found)[:, j]
        order = np.argsort(-np.abs(structure), kind="stable")
        kept = order[:_BARS_OF_EACH][np.argsort(structure[order[:_BARS_OF_EACH]], kind="stable")]
        drawn_of += [(of_table[m], structure[m], color(i)) for m in kept]
        all_of += [(of_table[m], structure[m], what) for m in order]
    names, values, colours = map(list, zip(*drawn_of, strict=True))
    columns, correlations, tables = zip(*all_of, strict=True)
    drawn = column_chart("bars", names, np.array(values), "correlation with the variate of its table", line=0.0)
    drawn["data"][0]["marker"] = {"color": colours}
    drawn["layout"]["xaxis"]["range"] = [-1.05, 1.05]
    most = max(len(c.pair.y_names), a.p)
    some = f" At most {_BARS_OF_EACH} columns of each table are shown." if most > _BARS_OF_EACH else ""
    title = f"Structure of pair {j + 1}"
    return Chart(
        key=f"structure-{j}",
        title=f"Pair {j + 1}: what the variates consist of",
        alt=f"Correlations of the columns of both tables with the variates of pair {j + 1}.",
        **drawn,
        table=Table({"table": tables, "correlation": correlations}, columns, title=title, row_name="column"),
        caption=(
            "Structure correlations: of each column with the variate of its own table; the columns of the table are "
            f"above in the first colour, those of the other table below in the second.{some}"
        ),
    )
