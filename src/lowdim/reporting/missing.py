"""Missing entries: where they are, whether that looks random, what was filled in, and how sure that is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.stats import norm, rankdata

from ..errors import ConvergenceWarning, ImputedRangeWarning, without_warnings
from ..models.ppca import PPCA
from ..solvers.latent.em import EM
from ..table import Table
from .blocks import Block, Chart, Listing, Menu, Prose, Section, be, brief, count, listed, number, prose, share
from .charts import axes, axis, bar, color, heatmap, labels, names_axis, scatter

if TYPE_CHECKING:
    from .analysis import Analysis


# Where entries are missing: by column, in which patterns, and whether the other columns tell where.


#: Tests compare groups of at least this many rows.
_FEWEST = 5
#: The largest number of columns with missing entries that are tested, and of rows.
_MOST_TESTED, _MOST_ROWS = 200, 20_000
#: The level of the tests together.
LEVEL = 0.05
#: The largest numbers of columns and of patterns that are drawn.
_COLUMNS, _PATTERNS = 40, 12
#: The number of differences that are described in sentences.
_IN_SENTENCES = 3


@dataclass(frozen=True)
class Difference:
    """Another column differs between the rows in which a column is missing and those in which it is observed."""

    column: int
    other: int
    #: The p-value of Mann and Whitney's test, corrected by Holm's method.
    p_value: float
    #: The medians of the other column where the entry is missing, and where it is observed.
    median_missing: float
    median_observed: float


class Missing:
    """Missing entries of the columns that are analysed: patterns and tests of the rows `X`, and the number of missing
    entries of each column of all rows."""

    def __init__(self, X: np.ndarray, by_column: np.ndarray) -> None:
        missing = np.isnan(X)
        self.by_column = by_column
        #: The columns with missing entries, those with the most first.
        self.columns = np.argsort(-by_column, kind="stable")[: np.count_nonzero(by_column)]
        #: The numbers of rows that were looked at for patterns and tests, and of those that are complete, and empty.
        self.rows = len(X)
        self.complete = int(np.count_nonzero(~missing.any(axis=1)))
        self.empty = int(np.count_nonzero(missing.all(axis=1)))
        #: Patterns by how often they occur: which columns are missing, shape (m, p), and the number of rows.
        packed = np.packbits(missing, axis=1)
        keys = np.ascontiguousarray(packed).view(f"V{packed.shape[1]}")[:, 0]
        _, first, counts = np.unique(keys, return_index=True, return_counts=True)
        order = np.lexsort([first, -counts])
        self.patterns, self.counts = missing[first[order]], counts[order]
        #: The number of tests, and the differences that remain significant when this number is taken into account.
        self.tests, self.differences = _differences(X[:: -(-len(X) // _MOST_ROWS)])


def _differences(X: np.ndarray) -> tuple[int, list[Difference]]:
    """All pairs of a column with missing entries and another column, by the test of Mann and Whitney.

    The rows in which the other column is observed form two groups: where the first one is missing, and where it is not.
    The mean ranks of these groups are compared, in units of the standard deviation that their difference has if the
    groups are drawn at random; ties are taken into account. p-values are corrected by Holm's method, which holds
    whatever the tests have to do with each other: the smallest of m is multiplied by m, the next one by m - 1, and so
    on. Two products of a q x n with an n x p matrix, for q columns with missing entries.
    """
    gaps = np.isnan(X)
    missing = gaps.sum(axis=0)
    able = np.flatnonzero((missing >= _FEWEST) & (len(X) - missing >= _FEWEST))
    able = np.sort(able[np.argsort(-missing[able], kind="stable")[:_MOST_TESTED]])
    if len(able) == 0:
        return 0, []
    known = (~gaps).astype(np.float64)
    counts = known.sum(axis=0)
    ranks = np.where(gaps, 0.0, rankdata(X, axis=0, nan_policy="omit") - (counts + 1) / 2)
    variance = (ranks**2).sum(axis=0) / np.maximum(counts - 1, 1)
    without = gaps[:, able].T.astype(np.float64)
    n1 = without @ known
    n2 = counts - n1
    # Centred ranks add up to zero, so the sum of the other group is the same with the other sign.
    sums = without @ ranks
    tested = (n1 >= _FEWEST) & (n2 >= _FEWEST) & (variance > 0)
    tested[np.arange(len(able)), able] = False
    i, j = np.nonzero(tested)
    sums, n1, n2, variance = sums[i, j], n1[i, j], n2[i, j], variance[j]
    away = np.abs(sums / n1 + sums / n2) / np.sqrt(variance * (1 / n1 + 1 / n2))
    p_values = 2.0 * norm.sf(away)
    order = np.argsort(p_values, kind="stable")
    factors = np.arange(len(p_values), 0, -1)
    p_values[order] = np.minimum(np.maximum.accumulate(p_values[order] * factors), 1.0)
    found = []
    for at in np.argsort(p_values, kind="stable"):
        if p_values[at] > LEVEL:
            break
        column, other = int(able[i[at]]), int(j[at])
        where, entries = gaps[:, column], X[:, other]
        medians = [float(np.nanmedian(entries[some])) for some in (where, ~where)]
        found.append(Difference(column, other, float(p_values[at]), *medians))
    return len(p_values), found


def missing_blocks(a: Analysis) -> list[Block]:
    """The part of the section on the data that shows where entries are missing; nothing if no entry is."""
    missing = a.missing
    if missing is None:
        return []
    blocks = [*prose(_where(a, missing)), _by_column(a, missing)]
    repeated = np.flatnonzero(missing.counts > 1)[:_PATTERNS]
    # A pattern says something if rows have it in common.
    if missing.patterns[repeated].any():
        blocks.append(_pattern_picture(a, missing, repeated))
    blocks.append(Prose(_whether_random(a, missing)))
    found = missing.differences
    if len(found) > _IN_SENTENCES:
        columns = {
            "missing column": [a.names[each.column] for each in found],
            "other column": [a.names[each.other] for each in found],
            "median where missing": [each.median_missing for each in found],
            "median elsewhere": [each.median_observed for each in found],
            "p-value (Holm)": [each.p_value for each in found],
        }
        places, title = range(1, len(found) + 1), "Columns that differ where another one is missing"
        blocks.append(Listing(Table(columns, places, title=title, row_name="place"), shown=6))
    return blocks


def _where(a: Analysis, missing: Missing) -> Iterator[str]:
    total = int(missing.by_column.sum())
    most = [f"{brief(a.names[j])} ({share(missing.by_column[j] / a.n)})" for j in missing.columns[:3]]
    others = len(missing.columns) - 3
    joined = listed(most) if others <= 0 else f"{', '.join(most)} and {count(others, 'other')}"
    yield (
        f"{count(total, 'entry', 'entries')} ({share(total / (a.n * a.p))}) {be(total)} missing, "
        f"in {count(len(missing.columns), 'column')} of {a.p:,}: {joined}."
    )
    complete = share(missing.complete / missing.rows)
    if missing.complete == 0:
        yield "No row is complete." if missing.rows == a.n else "No row of a sample is complete."
    elif missing.rows == a.n:
        yield f"{count(missing.complete, 'row')} ({complete}) {be(missing.complete)} complete."
    else:
        yield f"In a sample of {count(missing.rows, 'row')}, {complete} are complete."
    if missing.empty:
        yield f"{count(missing.empty, 'row')} {'has' if missing.empty == 1 else 'have'} no entry at all."
    common = np.flatnonzero(missing.patterns.sum(axis=1) > 1)[:1]
    if missing.counts[common].max(initial=0) > 1:
        names = a.brief_names(np.flatnonzero(missing.patterns[common[0]]))
        yield f"In {count(int(missing.counts[common[0]]), 'row')}, {listed(names)} are missing together."
    elif missing.counts[missing.patterns.any(axis=1)].max() == 1 and missing.rows - missing.complete > 1:
        yield "No two of the other rows miss the same entries."


def _by_column(a: Analysis, missing: Missing) -> Chart:
    order, shown = missing.columns, missing.columns[:_COLUMNS]
    names = labels([a.names[j] for j in shown])
    percent = 100.0 * missing.by_column[order] / a.n
    few = len(shown) <= 15
    of_columns = axis(type="category", automargin=True, showgrid=False, ticklabelstandoff=6, dtick=1)
    of_shares = axis("missing entries, percent", rangemode="tozero")
    if few:
        trace = bar("%{y}: %{x}%", 1, orientation="h", x=percent[: len(shown)], y=names)
        layout = axes(of_shares, of_columns | {"autorange": "reversed"}, showlegend=False)
    else:
        trace = bar("%{x}: %{y}%", 1, orientation="v", x=names, y=percent[: len(shown)])
        layout = axes(of_columns | {"tickangle": -45, "tickfont": {"size": 9}}, of_shares, showlegend=False)
    return Chart(
        key="missing-by-column",
        title="Missing entries by column",
        alt=f"Bars of the share of missing entries in {count(len(shown), 'column')}.",
        data=[trace],
        layout=layout,
        table=a.column_table({"missing": missing.by_column[order], "percent": percent}, order, "Missing entries"),
        height=max(200, 24 * len(shown) + 110) if few else 360,
        caption=f"The {_COLUMNS} columns with the most missing entries." if len(order) > _COLUMNS else "",
    )


def _pattern_picture(a: Analysis, missing: Missing, which: np.ndarray) -> Chart:
    patterns, counts = missing.patterns[which], missing.counts[which]
    columns = np.flatnonzero(patterns.any(axis=0))[:_COLUMNS]
    names = labels([a.names[j] for j in columns])
    ends: Any = {"x": names, "y": labels([count(int(n), "row") for n in counts]), "zmin": 0, "zmax": 1}
    colors = [[0, "rgba(128,128,128,0.18)"], [1, color(1)]]
    trace = heatmap("%{x}, %{y}", patterns[:, columns], colors, **ends, showscale=False, xgap=2, ygap=2)
    where = [listed(a.brief_names(np.flatnonzero(p)), 8) if p.any() else "none" for p in patterns]
    title = "Which entries are missing together"
    beside = len(missing.counts) - len(counts)
    further = f" There {be(beside)} {count(beside, 'further pattern')}." if beside else ""
    y = axis(type="category", autorange="reversed", automargin=True, showgrid=False, ticklabelstandoff=6)
    return Chart(
        key="missing-patterns",
        title=title,
        alt=f"A picture of the {count(len(counts), 'most frequent pattern')} of missing entries.",
        data=[trace],
        layout=axes(names_axis(len(names), showgrid=False), y),
        table=Table({"rows": counts, "missing": where}, range(1, len(counts) + 1), title=title, row_name="pattern"),
        height=max(220, 26 * len(counts) + 130),
        caption=f"Each line is a pattern of rows, the most frequent first; coloured entries are missing.{further}",
    )


def _whether_random(a: Analysis, missing: Missing) -> str:
    """What the comparisons found, and what they cannot find."""
    if missing.tests == 0:
        return (
            "Too few entries are missing in each column to test whether the other columns tell where: at least 5 are "
            "needed."
        )
    how = (
        f"This is from {count(missing.tests, 'comparison')} of rows with and without an entry by Mann and Whitney's "
        "test, at a level of 5% for all together by Holm's method."
    )
    if not missing.differences:
        return (
            f"Do they look random? No column tells where entries of another one are missing, so nothing here "
            f"speaks against entries that are missing at random. {how} It is no proof: whether an entry is missing may "
            "depend on the entry itself, which no table can show."
        )
    sentences = []
    for found in missing.differences[:_IN_SENTENCES]:
        other, column = a.brief_names([found.other, found.column])
        medians = number(found.median_missing), number(found.median_observed)
        size = "smaller" if found.median_missing < found.median_observed else "larger"
        differs = f"{size} (median {medians[0]} against {medians[1]})"
        if medians[0] == medians[1]:
            differs = "distributed differently"
        sentences.append(f"where {column} is missing, {other} is {differs}")
    rest = len(missing.differences) - len(sentences)
    more = f" There {be(rest)} {count(rest, 'further difference')}." if rest else ""
    return (
        f"Do they look random? Not entirely: {'; '.join(sentences)}.{more} {how} Filling in takes such differences "
        "into account as far as they are in the columns of the table; it cannot if an entry is missing because of its "
        "own value."
    )


# Missing entries filled in by probabilistic PCA, and a check of how well that works: observed entries are hidden.


#: The number of components is chosen from at most so many rows, and the model is fitted to at most so many: every step
#: of the fit reads them all.
_CHOSEN_FROM, _FITTED_TO = 2_000, 20_000
#: The numbers of components that are tried, until two in a row were no better than the best so far.
_TRIED = (1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30)
#: The share of the observed entries that are hidden, at most so many. If there are few of them, others are hidden in
#: further rounds, until there are about as many as the third number.
_HIDDEN, _MOST_HIDDEN, _ENOUGH, _ROUNDS = 0.05, 1_000, 400, 5
#: Fits that are compared, without further starts, and to an accuracy that is enough to compare them.
_QUICK = EM(tol=1e-4, max_iter=200, n_init=0)
#: With the prior, components that the rows do not support shrink: without structure, means are filled in.
_WITH_PRIOR: dict[str, Any] = {"prior": "vb"}
#: In columns with fewer observed entries, none is hidden.
_FEWEST_OBSERVED = 10
#: Half the width of an interval of 95%, in standard deviations.
NORMAL_95 = 1.959963984540054


@dataclass
class Entries:
    """Entries of the table that were filled in, each with its standard deviation."""

    rows: np.ndarray
    columns: np.ndarray
    values: np.ndarray
    deviations: np.ndarray

    def intervals(self, which: np.ndarray) -> dict[str, Any]:
        """Some entries with their intervals of 95%, as columns of a table."""
        values, half = self.values[which], NORMAL_95 * self.deviations[which]
        return {"filled in": values, "from": values - half, "to": values + half}


@dataclass
class Hidden(Entries):
    """Observed entries that were hidden and filled in like missing ones."""

    truth: np.ndarray
    #: The mean of the entries of the same column that were not hidden, and the standard deviation of the column.
    column_means: np.ndarray
    spread: np.ndarray

    def __post_init__(self) -> None:
        away, deviations = self.values - self.truth, self.deviations
        #: Root mean squared errors in standard deviations of the columns: of what was filled in, and of the means.
        self.error, self.error_of_means = (
            float(np.sqrt(np.mean((error / self.spread) ** 2))) for error in (away, self.column_means - self.truth)
        )
        #: The share of the hidden entries that lie in their interval of 95%.
        self.within = float(np.mean(np.abs(away) <= NORMAL_95 * deviations))
        #: The average logarithm of the density that the model gave to the hidden entries, up to a constant.
        self.log_density = float(np.mean(-0.5 * (away / deviations) ** 2 - np.log(deviations / self.spread)))

    @property
    def gain(self) -> float:
        """The share of the squared error of the column means that filling in removes."""
        return 1.0 - (self.error / self.error_of_means) ** 2


class Filled:
    """Missing entries that were filled in by PPCA, fitted to all rows in memory or to a sample of the others."""

    def __init__(self, a: Analysis) -> None:
        X, weights = a.first.sample[:, a.used], a.opened.weights if a.opened.held else None
        self.seed, self.deviation, self.scale = a.seed, a.deviation, a.scale or a.scales_differ
        random = np.random.default_rng([a.seed, 2])
        some = _some(len(X), _FITTED_TO, random)
        rows, counts = X[some], None if weights is None else weights[some]
        few = _some(len(some), _CHOSEN_FROM, random)
        #: The numbers of components that were tried.
        k, self.tried = self._best_number(rows[few], None if counts is None else counts[few])
        self.model = self._fit(rows, counts, k)
        #: The number of rows that the model was fitted to, and whether these are all.
        self.fitted_to, self.all_rows = len(some), len(some) == a.n
        # Values below zero are told in words.
        with without_warnings(ImputedRangeWarning):
            filled, spread = (np.asarray(part) for part in self.model.impute(X, return_std=True))
        i, j = np.nonzero(np.isnan(X))
        #: The entries that were filled in; if the rows are not in memory, those of the sample.
        self.entries = Entries(i, j, filled[i, j], spread[i, j])
        self.hidden = self._hide(rows, counts, k, _WITH_PRIOR, 1)
        #: All rows, filled in, if they are in memory.
        self.completed = filled if a.opened.held else None

    def _best_number(self, X: np.ndarray, weights: np.ndarray | None) -> tuple[int, list[int]]:
        """The number of components for which hidden entries have the largest density, and the numbers that were
        tried."""
        most = max(1, min(X.shape[1] - 1, len(X) - 1))
        found: dict[int, float] = {}
        for k in (k for k in _TRIED if k <= most):
            # Without the prior, since fits by pattern are quick, and hidden entries tell which number is too large.
            hidden = self._hide(X, weights, k, {"solver": _QUICK}, 0)
            if hidden is None:
                return 1, []
            found[k] = hidden.log_density
            if list(found).index(max(found, key=lambda tried: found[tried])) < len(found) - 2:
                break
        return max(found, key=lambda tried: found[tried]), list(found)

    def _fit(self, X: np.ndarray, weights: np.ndarray | None, k: int, options: dict[str, Any] = _WITH_PRIOR) -> PPCA:
        """The model with k components."""
        model = PPCA(k, scale=self.scale, random_state=self.seed, **options)
        # A fit that stopped early fills in a little worse, and the hidden entries tell how well it does.
        with without_warnings(ConvergenceWarning):
            return model.fit(X, sample_weight=weights)

    def _hide(
        self, X: np.ndarray, weights: np.ndarray | None, k: int, options: dict[str, Any], which: int
    ) -> Hidden | None:
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
            # Without the hidden entries, all columns must still vary, and no further row may be empty.
            varies = np.nanmin(left, axis=0, initial=np.inf) < np.nanmax(left, axis=0, initial=-np.inf)
            empty, before = (np.count_nonzero(np.isnan(table).all(axis=1)) for table in (left, X))
            if not np.all(varies) or empty != before:
                continue
            model = self._fit(left, weights, k, options)
            guess, spread = (np.asarray(part) for part in model.impute_at(left, rows, columns, return_std=True))
            means = np.nanmean(left, axis=0)
            found.append((rows, columns, guess, spread, X[rows, columns], means[columns], self.deviation[columns]))
        return Hidden(*(np.concatenate(part) for part in zip(*found, strict=True))) if found else None


def _some(n: int, most: int, random: np.random.Generator) -> np.ndarray:
    """All of n rows, or a random choice of them in order."""
    return np.arange(n) if n <= most else np.sort(random.choice(n, most, replace=False))


# The section: what was filled in, how sure that is, and how well hidden entries are found again.


#: The largest numbers of columns in the menus, of entries in the table, and of entries in a chart with intervals.
_MENUS, _LISTED, _DRAWN = 20, 30, 200
#: Filling in is of use if it removes at least this share of the squared error of the column means.
_USEFUL = 0.1
#: From this ratio of standard deviations on, an entry is as uncertain as if its row were unknown.
_AS_WIDE = 0.98
#: Intervals of 95% that hold fewer of the hidden entries are too narrow.
_TOO_FEW = 0.9


def section(a: Analysis) -> Section | None:
    """What was filled in; None if no entry is missing."""
    found = a.filled
    if found is None:
        return None
    blocks = prose(_how(a, found), _widths(a, found), _impossible(a, found))
    summary = ""
    if found.hidden is not None:
        gain = found.hidden.gain
        summary = (
            "Missing entries were filled in, but the other columns say little about them."
            if gain < _USEFUL
            else "Missing entries were filled in. As a check, entries that were hidden were filled in with "
            f"{share(gain)} less squared error than by the means of the columns."
        )
        blocks += [Prose(_check(found.hidden)), _hidden_chart(a, found.hidden)]
    else:
        blocks.append(Prose("There are too few observed entries to hide some and see how well they are found again."))
    counts = np.bincount(found.entries.columns, minlength=a.p)
    shown = np.argsort(-counts, kind="stable")[: min(_MENUS, np.count_nonzero(counts))].tolist()
    if shown:
        names = labels([a.names[j] for j in shown])
        for key, draw in (("imputed", _entries_chart), ("imputed-distribution", _distribution)):
            blocks.append(Menu(key, "Column", dict(zip(names, (draw(a, found, j) for j in shown), strict=True))))
        blocks.append(Listing(_widest(a, found), shown=8))
    blocks += prose(
        "All other sections, with their maps, loadings, distances and rules, are about the table with its missing "
        "entries filled in. Filled-in entries lie closer to the model than measured ones would, and intervals from the "
        "bootstrap do not include the uncertainty of filling in."
    )
    lead = (
        "What the missing entries probably are, given the observed entries of their rows. Each comes with an "
        "interval that holds it with a probability of 95%, if the model is right."
    )
    return Section("missing", "Missing entries", lead, blocks, summary)


def _how(a: Analysis, found: Filled) -> str:
    total = int(a.first.missing[a.used].sum())
    units = ", of columns divided by their standard deviations" if found.scale else ""
    rows = "" if found.all_rows else f", fitted to a sample of {count(found.fitted_to, 'row')}"
    chosen = ""
    if found.tried:
        chosen = (
            f" Of the numbers of components from {min(found.tried):,} to {max(found.tried):,}, it is the one that "
            "found hidden entries again best."
        )
    return (
        f"{count(total, 'missing entry', 'missing entries')} {'was' if total == 1 else 'were'} filled in by "
        f"probabilistic PCA with {count(int(found.model.n_components_), 'component')}{units}{rows}, with a prior that "
        f"shrinks what the rows do not support (variational Bayes).{chosen} The filled-in value is the expectation "
        "given the observed entries of the row."
    )


def _widths(a: Analysis, found: Filled) -> str:
    """How wide the intervals are, compared with the columns."""
    of_entries = found.entries.columns
    if not len(of_entries):
        return "None of the rows of the sample has a missing entry."
    relative = found.entries.deviations / a.deviation[of_entries]
    typical = float(np.median(relative))
    so = f"account for about {share(1.0 - typical**2)} of its variance" if typical < _AS_WIDE else "say little about it"
    said = (
        f"The standard deviation of a filled-in entry is typically {typical:.2f} times that of its column: by the "
        f"model, the other columns {so}."
    )
    columns = np.unique(of_entries)
    medians = np.array([np.median(relative[of_entries == j]) for j in columns])
    if medians.max() > 1.1 * medians.min():
        best, worst = a.brief_names([columns[np.argmin(medians)], columns[np.argmax(medians)]])
        said += f" It is smallest for {best} ({medians.min():.2f}) and largest for {worst} ({medians.max():.2f})."
    return said


def _impossible(a: Analysis, found: Filled) -> str:
    """Columns that are never negative, with filled-in entries below zero."""
    below = np.bincount(found.entries.columns[found.entries.values < 0], minlength=a.p)
    columns = np.flatnonzero((below > 0) & (a.first.low[a.used] >= 0))
    if len(columns) == 0:
        return ""
    total, codes = int(below[columns].sum()), a.columns.codes[a.used[columns]]
    advice = []
    if codes.any():
        advice.append(f"round those of {listed(a.brief_names(columns[codes]))} to the whole numbers that occur")
    if not codes.all():
        others = columns[~codes]
        zeros = " (of 1 + x where there are zeros)" if np.any(a.first.low[a.used[others]] == 0) else ""
        advice.append(f"fill in logarithms of {listed(a.brief_names(others))}{zeros} instead")
    return (
        f"{count(total, 'filled-in entry', 'filled-in entries')} of {listed(a.brief_names(columns))} "
        f"{be(total)} below zero, where no observed entry is: the model is Gaussian and knows no "
        f"such limit. If that matters, {' and '.join(advice)}."
    )


def _check(hidden: Hidden) -> str:
    """How well hidden entries were found again."""
    n = len(hidden.truth)
    said = (
        f"As a check, {count(n, 'observed entry', 'observed entries')} were hidden at random, and filled in by a model "
        f"that had not seen them. The error was {hidden.error:.2f} standard deviations of a column (root mean square), "
        f"against {hidden.error_of_means:.2f} if the mean of the column is filled in. "
    )
    if hidden.gain < 0:
        said += "So filling in is no better than means here. "
    elif hidden.gain < _USEFUL:
        said += f"That is hardly better ({share(hidden.gain)} less squared error). "
    else:
        said += f"That is {share(hidden.gain)} less squared error. "
    said += f"{share(hidden.within)} of the hidden entries lie in their interval of 95%"
    if hidden.within < _TOO_FEW:
        said += (
            ", so the intervals are too narrow: rows are few or not Gaussian, and the uncertainty of the model itself "
            "is not in them"
        )
    few = " With so few entries, this is a rough measure." if n < 100 else ""
    return f"{said}.{few} Entries that are missing for a reason may be harder to find than those hidden at random."


def _hidden_chart(a: Analysis, hidden: Hidden) -> Chart:
    """What was filled in for hidden entries against what they are."""
    step, means = -(-len(hidden.truth) // 2000), hidden.column_means
    truth, guess = (((values - means) / hidden.spread)[::step] for values in (hidden.truth, hidden.values))
    columns = hidden.columns[::step]
    ends = np.array([min(truth.min(), guess.min()), max(truth.max(), guess.max())])
    names = labels(a.names)
    text, look = [names[j] for j in columns], {"size": 5, "opacity": 0.6}
    table = {"column": [a.names[j] for j in columns], "true": truth, "filled in": guess}
    hover = "%{text}<br>true %{x:.2f}, filled in %{y:.2f}"
    dots = scatter("markers", hover, 0, x=truth, y=guess, text=text, name="hidden entries", **look)
    line = scatter("lines", None, 1, x=ends, y=ends, name="equal", width=1.5, dash="dash", hoverinfo="skip")
    return Chart(
        key="hidden",
        title="Hidden entries: filled in against true",
        alt=f"{count(len(truth), 'hidden entry', 'hidden entries')}, what was filled in against the true value.",
        data=[dots, line],
        layout=axes("true value, in standard deviations from the column mean", "filled in", legend=1.08),
        table=Table(table, title="Hidden entries, in standard deviations from the column mean"),
        height=400,
        caption=(
            "The nearer to the line, the better. A flat cloud means that the other columns say little, and means are "
            "filled in."
        ),
    )


def _entries_chart(a: Analysis, found: Filled, j: int) -> Chart:
    """The filled-in entries of a column with their intervals, in order, and the range of the observed ones."""
    of_column = np.flatnonzero(found.entries.columns == j)
    order = of_column[np.argsort(found.entries.values[of_column], kind="stable")]
    if len(order) > _DRAWN:
        order = order[np.linspace(0, len(order) - 1, _DRAWN).round().astype(int)]
    half, rows, name = NORMAL_95 * found.entries.deviations[order], _row_names(a, found, order), brief(a.names[j])
    low, middle, high = np.nanquantile(a.first.sample[:, a.used[j]], [0.05, 0.5, 0.95])
    ends = np.array([0.5, len(order) + 0.5])
    lines = [
        scatter("lines", f"{what}: %{{y:.4g}}", 1, x=ends, y=np.full(2, level), name=what, width=1.5, dash=dash)
        for level, what, dash in ((high, "observed, 95%", "dot"), (middle, "median", "dash"), (low, "5%", "dot"))
    ]
    bars = {"type": "data", "array": half, "visible": True, "color": color(0), "thickness": 1, "width": 2}
    look: Any = {"text": labels(rows), "error_y": bars, "name": "filled in, with 95%", "size": 6}
    hover = "%{text}: %{y:.4g} (%{error_y.array:.3g} up and down)"
    dots = scatter("markers", hover, 0, x=np.arange(1, len(order) + 1), y=found.entries.values[order], **look)
    some = f" {_DRAWN} of {len(of_column):,} entries are shown." if len(of_column) > _DRAWN else ""
    title = f"Filled-in entries of {name}"
    return Chart(
        key=f"imputed-{j}",
        title=title,
        alt=f"{count(len(order), 'filled-in entry', 'filled-in entries')} of {name} with intervals of 95%, in order.",
        data=[dots, *lines],
        layout=axes(
            axis("entries, from the smallest to the largest", showticklabels=False), labels([name])[0], legend=1.1
        ),
        table=Table(found.entries.intervals(order), rows, title=title, row_name="row"),
        height=380,
        caption=f"Dots are filled in, bars are intervals of 95%, and the lines belong to the observed entries.{some}",
    )


def _distribution(a: Analysis, found: Filled, j: int) -> Chart:
    """Observed and filled-in entries of a column."""
    sample = a.first.sample[:, a.used[j]]
    observed = sample[~np.isnan(sample)]
    filled = found.entries.values[found.entries.columns == j]
    edges = np.histogram_bin_edges(np.concatenate([observed, filled]), 24)
    middle, width = (edges[:-1] + edges[1:]) / 2, 0.92 * float(edges[1] - edges[0])
    data, table = [], {"from": edges[:-1], "to": edges[1:]}
    for i, (what, entries) in enumerate((("observed", observed), ("filled in", filled))):
        percent = 100.0 * np.histogram(entries, edges)[0] / max(1, len(entries))
        table[f"{what}, percent"] = percent
        bars = bar("%{x:.4g}: %{y:.1f}%", i, x=middle, y=percent, width=width, name=f"{what} ({len(entries):,})")
        bars["marker"]["pattern"] = {"shape": "" if i == 0 else "/"}
        data.append(bars | {"opacity": 0.65})
    name = brief(a.names[j])
    title = f"Observed and filled-in entries of {name}"
    return Chart(
        key=f"imputed-distribution-{j}",
        title=title,
        alt=f"Histograms of {len(observed):,} observed and {len(filled):,} filled-in entries of {name}.",
        data=data,
        layout={"barmode": "overlay", **axes(labels([name])[0], "percent of the entries", legend=1.1)},
        table=Table(table, title=title),
        height=340,
        caption=(
            "Expectations vary less than measurements: a narrower histogram is no error. One that lies elsewhere means "
            "that entries are missing where this column is unusual."
        ),
    )


def _row_names(a: Analysis, found: Filled, which: np.ndarray) -> list[str]:
    """The names of the rows of some entries; rows of a sample have none."""
    rows = found.entries.rows[which]
    return [a.row_name(int(i)) if a.opened.held else f"row {i + 1} of the sample" for i in rows]


def _widest(a: Analysis, found: Filled) -> Table:
    """The entries about which least is known, in units of their columns."""
    entries = found.entries
    relative = entries.deviations / a.deviation[entries.columns]
    order = np.argsort(-relative, kind="stable")[:_LISTED]
    columns = {"column": [a.names[j] for j in entries.columns[order]], **entries.intervals(order)}
    columns["std. deviation, of the column's"] = relative[order]
    return Table(columns, _row_names(a, found, order), title="The widest intervals", row_name="row")
