"""Missing entries filled in by probabilistic PCA: what, how sure that is, and how well hidden entries are found."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import ConvergenceWarning
from ..models.ppca import PPCA
from ..solvers.latent.em import EM
from ..sources.base import Source
from ..sources.derived import MappedSource
from ..table import Table
from .blocks import Block, Chart, Listing, Menu, Prose, Section, axis, brief, color, count, labels, listed, share
from .data import BINARY, FEW

if TYPE_CHECKING:
    from .analysis import Analysis


# Missing entries filled in by probabilistic PCA, and a check of how well that works: observed entries are hidden.


#: The number of components is chosen from at most so many rows, and the model is fitted to at most so many: every step
#: of the fit reads them all.
_CHOSEN_FROM, _FITTED_TO = 2_000, 20_000
#: The numbers of components that are tried, until two in a row were no better than the best so far.
_TRIED = (1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30)
#: The share of the observed entries that are hidden, at most so many. If there are few of them, others are hidden in
#: further rounds, until there are about as many as the third number.
_HIDDEN, _MOST_HIDDEN, _ENOUGH, _ROUNDS = 0.05, 5_000, 400, 5
#: Fits that are compared, without further starts, and to an accuracy that is enough to compare them.
_QUICK = EM(tol=1e-4, max_iter=200, n_init=0)
#: In columns with fewer observed entries, none is hidden.
_FEWEST_OBSERVED = 10
#: Half the width of an interval of 95%, in standard deviations.
NORMAL_95 = 1.959963984540054


@dataclass(frozen=True)
class Entries:
    """Entries of the table that were filled in, each with its standard deviation."""

    rows: np.ndarray
    columns: np.ndarray
    values: np.ndarray
    deviations: np.ndarray

    def __len__(self) -> int:
        return len(self.values)


@dataclass(frozen=True)
class Hidden:
    """Observed entries that were hidden and filled in like missing ones."""

    entries: Entries
    truth: np.ndarray
    #: The mean of the entries of the same column that were not hidden.
    column_means: np.ndarray
    #: The standard deviations of the columns of the entries.
    spread: np.ndarray

    @property
    def error(self) -> float:
        """The root mean squared error of what was filled in, in standard deviations of the columns."""
        return _root_mean_square((self.entries.values - self.truth) / self.spread)

    @property
    def error_of_means(self) -> float:
        """The same for the mean of the column."""
        return _root_mean_square((self.column_means - self.truth) / self.spread)

    @property
    def within(self) -> float:
        """The share of the hidden entries that lie in their interval of 95%."""
        away = np.abs(self.entries.values - self.truth)
        return float(np.mean(away <= NORMAL_95 * self.entries.deviations))

    @property
    def log_density(self) -> float:
        """The average logarithm of the density that the model gave to the hidden entries, up to a constant."""
        away = (self.entries.values - self.truth) / self.entries.deviations
        return float(np.mean(-0.5 * away**2 - np.log(self.entries.deviations / self.spread)))


@dataclass(frozen=True)
class Holes:
    """How missing entries were filled in."""

    model: Any
    #: The numbers of components that were tried.
    tried: list[int]
    #: The number of rows that the model was fitted to, and whether these are all.
    fitted_to: int
    all_rows: bool
    #: The entries that were filled in; if the rows are not in memory, those of the sample.
    entries: Entries
    hidden: Hidden | None
    #: All rows, filled in, if they are in memory.
    completed: np.ndarray | None

    def filled(self, rows: Source) -> Source:
        """Rows in which missing entries are filled in when they are read."""
        return MappedSource(rows, self.model.impute)


def fill_holes(
    X: np.ndarray,
    weights: np.ndarray | None,
    deviation: np.ndarray,
    *,
    standardize: bool,
    held: bool,
    n_rows: int,
    seed: int,
) -> Holes:
    """Fit PPCA to rows with holes, and fill them in.

    Parameters
    ----------
    X : array of shape (m, p)
        All rows, or a sample of them if they are not `held` in memory.
    weights : array of shape (m,), or None
    deviation : array of shape (p,)
        The standard deviations of the columns.
    standardize : bool
        As in PPCA.
    n_rows : int
        The number of all rows.
    """
    random = np.random.default_rng([seed, 2])
    some = _some(len(X), _FITTED_TO, random)
    rows, counts = X[some], None if weights is None else weights[some]
    how = _How(deviation, standardize, seed)
    few = _some(len(some), _CHOSEN_FROM, random)
    k, tried = _best_number(rows[few], None if counts is None else counts[few], how)
    model = how.fit(rows, counts, k)
    filled, spread = (np.asarray(part) for part in model.impute(X, return_std=True))
    i, j = np.nonzero(np.isnan(X))
    return Holes(
        model=model,
        tried=tried,
        fitted_to=len(some),
        all_rows=len(some) == n_rows,
        entries=Entries(i, j, filled[i, j], spread[i, j]),
        hidden=how.hide(rows, counts, k, "auto", 1),
        completed=filled if held else None,
    )


def _some(n: int, most: int, random: np.random.Generator) -> np.ndarray:
    """All of n rows, or a random choice of them in order."""
    return np.arange(n) if n <= most else np.sort(random.choice(n, most, replace=False))


def _best_number(X: np.ndarray, weights: np.ndarray | None, how: _How) -> tuple[int, list[int]]:
    """The number of components for which hidden entries have the largest density, and the numbers that were tried."""
    most = max(1, min(X.shape[1] - 1, len(X) - 1))
    found: dict[int, float] = {}
    for k in (k for k in _TRIED if k <= most):
        hidden = how.hide(X, weights, k, _QUICK, 0)
        if hidden is None:
            return 1, []
        found[k] = hidden.log_density
        if list(found).index(max(found, key=lambda tried: found[tried])) < len(found) - 2:
            break
    return max(found, key=lambda tried: found[tried]), list(found)


@dataclass(frozen=True)
class _How:
    """How models are fitted and checked."""

    deviation: np.ndarray
    standardize: bool
    seed: int

    def fit(self, X: np.ndarray, weights: np.ndarray | None, k: int, solver: Any = "auto") -> PPCA:
        """The model with k components."""
        # With the prior, components that the rows do not support shrink: without structure, means are filled in.
        model = PPCA(k, prior="vb", standardize=self.standardize, solver=solver, random_state=self.seed)
        with warnings.catch_warnings():
            # A fit that stopped early fills in a little worse, and the hidden entries tell how well it does.
            warnings.simplefilter("ignore", ConvergenceWarning)
            return model.fit(X, sample_weight=weights)

    def hide(self, X: np.ndarray, weights: np.ndarray | None, k: int, solver: Any, which: int) -> Hidden | None:
        """Hide observed entries at random, fit the model without them, and fill them in; None if there are too few.

        Different entries are hidden for each `which`.
        """
        known = ~np.isnan(X)
        known &= known.sum(axis=0) >= _FEWEST_OBSERVED
        # A row keeps an entry: those of an empty row would be the means of the columns.
        known[known.sum(axis=1) < 2] = False
        able = np.flatnonzero(known)
        size = min(int(_HIDDEN * len(able)), _MOST_HIDDEN)
        if size < 1:
            return None
        found: list[tuple[np.ndarray, ...]] = []
        for i in range(min(_ROUNDS, -(-_ENOUGH // size))):
            random = np.random.default_rng([self.seed, 3, which, i])
            rows, columns = np.divmod(random.choice(able, size, replace=False), X.shape[1])
            left = X.copy()
            left[rows, columns] = np.nan
            if not _is_usable(left, X):
                continue
            model = self.fit(left, weights, k, solver)
            guess, spread = (np.asarray(part) for part in model.impute_at(left, rows, columns, return_std=True))
            means = np.nanmean(left, axis=0)
            found.append((rows, columns, guess, spread, X[rows, columns], means[columns], self.deviation[columns]))
        if not found:
            return None
        rows, columns, guess, spread, truth, means, units = (np.concatenate(part) for part in zip(*found, strict=True))
        return Hidden(Entries(rows, columns, guess, spread), truth, means, units)


def _is_usable(left: np.ndarray, X: np.ndarray) -> bool:
    """Whether, without the hidden entries, all columns still vary and no further row is empty."""
    low, high = np.nanmin(left, axis=0, initial=np.inf), np.nanmax(left, axis=0, initial=-np.inf)
    empty = (np.count_nonzero(np.isnan(rows).all(axis=1)) for rows in (left, X))
    return bool(np.all(low < high)) and len(set(empty)) == 1


def _root_mean_square(values: np.ndarray) -> float:
    return float(np.sqrt(np.mean(values**2)))


# Charts of entries that were filled in.


#: The largest number of entries in a chart with intervals.
_DRAWN = 200


def hidden_chart(a: Analysis, hidden: Hidden) -> Chart:
    means = hidden.column_means
    truth, guess = (hidden.truth - means) / hidden.spread, (hidden.entries.values - means) / hidden.spread
    step = -(-len(truth) // 2000)
    truth, guess, columns = truth[::step], guess[::step], hidden.entries.columns[::step]
    ends = np.array([min(truth.min(), guess.min()), max(truth.max(), guess.max())])
    names = labels(a.names)
    return Chart(
        key="hidden",
        title="Hidden entries: filled in against true",
        alt=f"{count(len(truth), 'hidden entry', 'hidden entries')}, what was filled in against the true value.",
        data=[
            {
                "type": "scatter",
                "mode": "markers",
                "x": truth,
                "y": guess,
                "text": [names[j] for j in columns],
                "name": "hidden entries",
                "marker": {"color": color(0), "size": 5, "opacity": 0.6},
                "hovertemplate": "%{text}<br>true %{x:.2f}, filled in %{y:.2f}<extra></extra>",
            },
            {
                "type": "scatter",
                "mode": "lines",
                "x": ends,
                "y": ends,
                "name": "equal",
                "line": {"color": color(1), "width": 1.5, "dash": "dash"},
                "hoverinfo": "skip",
            },
        ],
        layout={
            "xaxis": axis("true value, in standard deviations from the column mean"),
            "yaxis": axis("filled in"),
            "legend": {"orientation": "h", "y": 1.08},
        },
        table=Table(
            {"column": [a.names[j] for j in columns], "true": truth, "filled in": guess},
            title="Hidden entries, in standard deviations from the column mean",
        ),
        height=400,
        caption=(
            "The nearer to the line, the better. A flat cloud means that the other columns say little, and means are "
            "filled in."
        ),
    )


def entries_chart(a: Analysis, found: Holes, j: int) -> Chart:
    """The filled-in entries of a column with their intervals, in order, and the range of the observed ones."""
    of_column = np.flatnonzero(found.entries.columns == j)
    order = of_column[np.argsort(found.entries.values[of_column], kind="stable")]
    if len(order) > _DRAWN:
        order = order[np.linspace(0, len(order) - 1, _DRAWN).round().astype(int)]
    values, half = found.entries.values[order], NORMAL_95 * found.entries.deviations[order]
    rows = row_names(a, found, order)
    places = np.arange(1, len(order) + 1)
    sample = a.first.sample[:, a.used[j]]
    low, middle, high = np.nanquantile(sample, [0.05, 0.5, 0.95])
    lines = [
        {
            "type": "scatter",
            "mode": "lines",
            "x": np.array([0.5, len(order) + 0.5]),
            "y": np.array([level, level]),
            "name": name,
            "line": {"color": color(1), "width": 1.5, "dash": dash},
            "hovertemplate": f"{name}: %{{y:.4g}}<extra></extra>",
        }
        for level, name, dash in ((high, "observed, 95%", "dot"), (middle, "median", "dash"), (low, "5%", "dot"))
    ]
    some = f" {_DRAWN} of {len(of_column):,} entries are shown." if len(of_column) > _DRAWN else ""
    name = brief(a.names[j])
    return Chart(
        key=f"imputed-{j}",
        title=f"Filled-in entries of {name}",
        alt=f"{count(len(order), 'filled-in entry', 'filled-in entries')} of {name} with intervals of 95%, in order.",
        data=[
            {
                "type": "scatter",
                "mode": "markers",
                "x": places,
                "y": values,
                "text": labels(rows),
                "error_y": {
                    "type": "data",
                    "array": half,
                    "visible": True,
                    "color": color(0),
                    "thickness": 1,
                    "width": 2,
                },
                "name": "filled in, with 95%",
                "marker": {"color": color(0), "size": 6},
                "hovertemplate": "%{text}: %{y:.4g} (%{error_y.array:.3g} up and down)<extra></extra>",
            },
            *lines,
        ],
        layout={
            "xaxis": axis("entries, from the smallest to the largest", showticklabels=False),
            "yaxis": axis(labels([name])[0]),
            "legend": {"orientation": "h", "y": 1.1},
        },
        table=Table(
            {"filled in": values, "from": values - half, "to": values + half},
            rows,
            title=f"Filled-in entries of {name}",
            row_name="row",
        ),
        height=380,
        caption=f"Dots are filled in, bars are intervals of 95%, and the lines belong to the observed entries.{some}",
    )


def distribution(a: Analysis, found: Holes, j: int) -> Chart:
    """Observed and filled-in entries of a column."""
    sample = a.first.sample[:, a.used[j]]
    observed = sample[~np.isnan(sample)]
    filled = found.entries.values[found.entries.columns == j]
    edges = np.histogram_bin_edges(np.concatenate([observed, filled]), 24)
    width = float(edges[1] - edges[0])
    middle = (edges[:-1] + edges[1:]) / 2
    data, table = [], {"from": edges[:-1], "to": edges[1:]}
    for i, (name, entries) in enumerate((("observed", observed), ("filled in", filled))):
        percent = 100.0 * np.histogram(entries, edges)[0] / max(1, len(entries))
        table[f"{name}, percent"] = percent
        data.append(
            {
                "type": "bar",
                "x": middle,
                "y": percent,
                "width": 0.92 * width,
                "name": f"{name} ({len(entries):,})",
                "opacity": 0.65,
                "marker": {"color": color(i), "pattern": {"shape": "" if i == 0 else "/"}},
                "hovertemplate": "%{x:.4g}: %{y:.1f}%<extra></extra>",
            }
        )
    name = brief(a.names[j])
    return Chart(
        key=f"imputed-distribution-{j}",
        title=f"Observed and filled-in entries of {name}",
        alt=f"Histograms of {len(observed):,} observed and {len(filled):,} filled-in entries of {name}.",
        data=data,
        layout={
            "barmode": "overlay",
            "xaxis": axis(labels([name])[0]),
            "yaxis": axis("percent of the entries"),
            "legend": {"orientation": "h", "y": 1.1},
        },
        table=Table(table, title=f"Observed and filled-in entries of {name}"),
        height=340,
        caption=(
            "Expectations vary less than measurements: a narrower histogram is no error. One that lies elsewhere means "
            "that entries are missing where this column is unusual."
        ),
    )


def row_names(a: Analysis, found: Holes, which: np.ndarray) -> list[str]:
    """The names of the rows of some entries; rows of a sample have none."""
    if not a.opened.held:
        return [f"row {i} of the sample" for i in found.entries.rows[which]]
    return [a.row_name(int(i)) for i in found.entries.rows[which]]


# With holes: what was filled in, how sure that is, and how well hidden entries are found again.


#: The largest numbers of columns in the menus, and of entries in the table.
_COLUMNS, _LISTED = 20, 30
#: Filling in is of use if it removes at least this share of the squared error of the column means.
_USEFUL = 0.1
#: From this ratio of standard deviations on, an entry is as uncertain as if its row were unknown.
_AS_WIDE = 0.98
#: Intervals of 95% that hold fewer of the hidden entries are too narrow.
_TOO_FEW = 0.9


def section(a: Analysis) -> Section | None:
    """What was filled in; None if no entry is missing."""
    found = a.holes
    if found is None:
        return None
    blocks: list[Block] = [Prose(_how(a, found)), Prose(_widths(a, found))]
    impossible = _impossible(a, found)
    blocks += [Prose(impossible)] if impossible else []
    if found.hidden is not None:
        blocks += [Prose(_check(found.hidden)), hidden_chart(a, found.hidden)]
    else:
        blocks.append(Prose("There are too few observed entries to hide some and see how well they are found again."))
    counts = np.bincount(found.entries.columns, minlength=a.p)
    order = np.argsort(-counts, kind="stable")
    shown = [int(j) for j in order if counts[j] > 0][:_COLUMNS]
    names = labels([a.names[j] for j in shown])
    if shown:
        charts = {name: entries_chart(a, found, j) for name, j in zip(names, shown, strict=True)}
        compared = {name: distribution(a, found, j) for name, j in zip(names, shown, strict=True)}
        blocks += [
            Menu("imputed", "Column", charts),
            Menu("imputed-distribution", "Column", compared),
            Listing(_widest(a, found), shown=8),
        ]
    blocks.append(
        Prose(
            "What the rest of the report does: maps, loadings, distances and rules are of the table with its holes "
            "filled in. Filled-in entries lie closer to the model than measured ones would, and intervals from the "
            "bootstrap do not include the uncertainty of filling in."
        )
    )
    return Section(
        key="holes",
        title="With holes",
        lead=(
            "What the missing entries probably are, given the observed entries of their rows. Each comes with an "
            "interval that holds it with a probability of 95%, if the model is right."
        ),
        blocks=blocks,
        summary=_summary(found),
    )


def _summary(found: Holes) -> str:
    if found.hidden is None:
        return ""
    gain = _gain(found.hidden)
    if gain < _USEFUL:
        return "Missing entries were filled in, but the other columns say little about them."
    return (
        f"Missing entries were filled in; hidden ones were found with {share(gain)} less squared error than by means."
    )


def _gain(hidden: Hidden) -> float:
    """The share of the squared error of the column means that filling in removes."""
    return 1.0 - (hidden.error / hidden.error_of_means) ** 2


def _how(a: Analysis, found: Holes) -> str:
    total = int(a.first.missing[a.used].sum())
    k = int(found.model.n_components_)
    units = ", of columns divided by their standard deviations" if found.model.standardize else ""
    rows = "" if found.all_rows else f", fitted to a sample of {count(found.fitted_to, 'row')}"
    chosen = ""
    if found.tried:
        chosen = (
            f" Of the numbers of components from {min(found.tried):,} to {max(found.tried):,}, it is the one that "
            "found hidden entries again best."
        )
    return (
        f"{count(total, 'missing entry', 'missing entries')} {'was' if total == 1 else 'were'} filled in by "
        f"probabilistic PCA with {count(k, 'component')}{units}{rows}, with a prior that shrinks what the rows do not "
        f"support (variational Bayes).{chosen} The filled-in value is the expectation given the observed entries of "
        "the row."
    )


def _widths(a: Analysis, found: Holes) -> str:
    """How wide the intervals are, compared with the columns."""
    if not len(found.entries):
        return "None of the rows of the sample has a missing entry."
    spread = a.first.deviation[a.used][found.entries.columns]
    relative = found.entries.deviations / spread
    typical = float(np.median(relative))
    so = f"account for about {share(1.0 - typical**2)} of its variance" if typical < _AS_WIDE else "say little about it"
    said = (
        f"The standard deviation of a filled-in entry is typically {typical:.2f} times that of its column: by the "
        f"model, the other columns {so}."
    )
    columns = np.unique(found.entries.columns)
    if len(columns) > 1:
        medians = np.array([np.median(relative[found.entries.columns == j]) for j in columns])
        best, worst = columns[np.argmin(medians)], columns[np.argmax(medians)]
        if medians.max() > 1.1 * medians.min():
            said += (
                f" It is smallest for {brief(a.names[best])} ({medians.min():.2f}) and largest for "
                f"{brief(a.names[worst])} ({medians.max():.2f})."
            )
    return said


def _impossible(a: Analysis, found: Holes) -> str:
    """Columns that are never negative, with filled-in entries below zero."""
    below = np.bincount(found.entries.columns[found.entries.values < 0], minlength=a.p)
    columns = np.flatnonzero((below > 0) & (a.first.low[a.used] >= 0))
    if len(columns) == 0:
        return ""
    total, one = int(below[columns].sum()), len(columns) == 1
    if all(a.columns.kinds[a.used[j]] in (BINARY, FEW) for j in columns):
        what = (
            "Round to the whole numbers that the column holds" if one else "Round to the whole numbers of each column"
        )
    else:
        zeros = " (of 1 + x where there are zeros)" if np.any(a.first.low[a.used[columns]] == 0) else ""
        what = f"Fill in {'its logarithm' if one else 'their logarithms'}{zeros} instead"
    return (
        f"{count(total, 'filled-in entry', 'filled-in entries')} of {listed([brief(a.names[j]) for j in columns])} "
        f"{'is' if total == 1 else 'are'} below zero, where no observed entry is: the model is Gaussian and knows no "
        f"such limit. {what} if that matters."
    )


def _check(hidden: Hidden) -> str:
    """How well hidden entries were found again."""
    gain, n = _gain(hidden), len(hidden.truth)
    said = (
        f"As a check, {count(n, 'observed entry', 'observed entries')} were hidden at random, and filled in by a model "
        f"that had not seen them. The error was {hidden.error:.2f} standard deviations of a column (root mean square), "
        f"against {hidden.error_of_means:.2f} if the mean of the column is filled in. "
    )
    if gain < 0:
        said += "So filling in is no better than means here. "
    elif gain < _USEFUL:
        said += f"That is hardly better ({share(gain)} less squared error). "
    else:
        said += f"That is {share(gain)} less squared error. "
    said += f"{share(hidden.within)} of the hidden entries lie in their interval of 95%"
    if hidden.within < _TOO_FEW:
        said += (
            ", so the intervals are too narrow: rows are few or not Gaussian, and the uncertainty of the model itself "
            "is not in them"
        )
    few = " With so few entries, this is a rough measure." if n < 100 else ""
    return f"{said}.{few} Entries that are missing for a reason may be harder to find than those hidden at random."


def _widest(a: Analysis, found: Holes) -> Table:
    """The entries about which least is known, in units of their columns."""
    spread = a.first.deviation[a.used][found.entries.columns]
    relative = found.entries.deviations / spread
    order = np.argsort(-relative, kind="stable")[:_LISTED]
    entries = found.entries
    half = NORMAL_95 * entries.deviations[order]
    return Table(
        {
            "column": [a.names[j] for j in entries.columns[order]],
            "filled in": entries.values[order],
            "from": entries.values[order] - half,
            "to": entries.values[order] + half,
            "std. deviation, of the column's": relative[order],
        },
        row_names(a, found, order),
        title="The widest intervals",
        row_name="row",
    )
