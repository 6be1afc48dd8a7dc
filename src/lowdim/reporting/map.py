"""The map: the rows by their scores, and the second pass over the rows, which finds its points."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from itertools import combinations
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from scipy import special

from .._core.arrays import dense, to_numpy
from ..errors import NonFiniteBlock
from ..inspect.diagnostics import ellipse_radius, q_limit, t2_limit
from ..inspect.tables import has_scores
from ..reading.summarizing import summarize
from ..sources.array import ArraySource
from ..sources.base import Source
from ..sources.beside import BesideSource
from ..summaries.base import Changes
from ..summaries.labelled import Labelled
from ..summaries.moments import Moments
from ..table import Table
from .blocks import LONGEST, Section, Widget, be, brief, count, listed, number, prose, share
from .columns import Grouping, measures
from .passes import PassSummary, compact, floats

if TYPE_CHECKING:
    from .analysis import Analysis

#: The share of usual rows beyond the limits of T2 and Q.
ALPHA = 0.05
#: Of each component, this many rows are kept at both ends; of the rows that fit worst, and of those that are rebuilt
#: best and worst, this many.
_ENDS, _FARTHEST, _REBUILT = 10, 200, 10
#: The largest number of supplementary rows that are shown.
MOST_FURTHER = 2000


@dataclass(frozen=True)
class SomeRows:
    """Some rows of a table, with what was computed of each. Rows are counted from 0."""

    numbers: np.ndarray
    #: The entries of the columns that are analysed, shape (m, p).
    entries: np.ndarray
    #: Scores on the components of the map, shape (m, K).
    scores: np.ndarray
    t2: np.ndarray
    q: np.ndarray
    #: The larger one of T2 and Q in units of their limits: a row does not fit if it is above 1.
    misfit: np.ndarray
    #: The share of the squared distance of the row from the mean that the model keeps; 1 for a row at the mean.
    kept: np.ndarray

    def __len__(self) -> int:
        return len(self.numbers)

    def take(self, where: np.ndarray) -> Self:
        """The rows at these positions."""
        return type(self)(*(getattr(self, field.name)[where] for field in fields(self)))

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """The rows of all parts, one below the other."""
        return cls(*(np.concatenate([getattr(part, field.name) for part in parts]) for field in fields(cls)))

    def ordered(self) -> Self:
        """The rows in the order of the table, each of them once."""
        return self.take(np.unique(self.numbers, return_index=True)[1])

    def extremes(self) -> np.ndarray:
        """The positions of the rows at both ends of each component, of those that are farthest out by T2, by Q and by
        both, and of those that are rebuilt best and worst. Of equal rows the first ones are taken, so that blocks can
        be read in any order."""
        wanted = [(sign * column, _ENDS) for column in self.scores.T for sign in (1.0, -1.0)]
        wanted += [(self.misfit, _FARTHEST)]
        wanted += [(values, _REBUILT) for values in (self.t2, self.q, self.kept, -self.kept)]
        return np.unique(np.concatenate([largest(values, size, self.numbers) for values, size in wanted]))


def largest(values: np.ndarray, size: int, numbers: np.ndarray) -> np.ndarray:
    """The positions of the `size` largest values, largest first; of equal ones, those of the smallest numbers."""
    found = np.arange(len(values))
    if len(values) > size:
        found = np.flatnonzero(values >= np.partition(values, len(values) - size)[len(values) - size])
    return np.asarray(found[np.lexsort((numbers[found], -values[found]))][:size])


class Scoring:
    """How rows are scored: on the components of the map, and by T2 and Q of a subspace.

    Parameters
    ----------
    mapped : model
        The model whose components are the axes of the map.
    n_components : int
        The number of these.
    subspace : PCA
        PCA with the number of components of the report's model.
    n : int
        The number of all rows.
    rows : source
        All rows; they are read if the model does not know what the limit of Q is made of.
    weights : array or None
    """

    def __init__(self, mapped: Any, n_components: int, subspace: Any, n: int, rows: Source, weights: Any) -> None:
        self.mapped, self.n_components, self.subspace = mapped, n_components, subspace
        # Limits are exceeded by 5% of usual rows, the second ones by any of n rows in 5% of tables; infinite if there
        # are too few rows.
        self.t2_limit = self.q_limit = self.t2_rare = self.q_rare = np.inf
        if n > subspace.n_components_ + 1 and subspace.rank_ > 0:
            given: Any = {} if subspace.tail_.squares is not None else {"X": rows, "sample_weight": weights}
            self.t2_limit, self.t2_rare = (t2_limit(subspace, alpha) for alpha in (ALPHA, ALPHA / n))
            self.q_limit, self.q_rare = (q_limit(subspace, alpha, **given) for alpha in (ALPHA, ALPHA / n))

    def __call__(self, X: np.ndarray, numbers: np.ndarray) -> SomeRows:
        rows = ArraySource(X)
        rows.names = self.mapped._wanted()
        Z = self._scores(self.mapped, rows)
        own = Z if self.mapped is self.subspace else self._scores(self.subspace, rows)
        # Components without variance are no part of T2.
        rank = int(self.subspace.rank_)
        t2 = (own[:, :rank] ** 2 / floats(self.subspace.explained_variance_)[:rank]).sum(axis=1)
        q = floats(self.subspace.reconstruction_error(rows, scaled=True))
        inside = (own**2).sum(axis=1)
        whole = inside + q
        misfit = np.maximum(t2 / self.t2_limit, q / self.q_limit)
        kept = np.where(whole > 0, inside / np.where(whole > 0, whole, 1.0), 1.0)
        return SomeRows(numbers, X, Z[:, : self.n_components], t2, q, misfit, kept)

    def _scores(self, model: Any, rows: ArraySource) -> np.ndarray:
        scores = model.scores(rows) if has_scores(model) else model.transform(rows)
        # With scikit-learn's set_output, results of `transform` are data frames.
        return floats(scores.to_numpy() if hasattr(scores, "to_numpy") else scores)


# The second pass over the rows: the points of the map, the rows at the ends, and what is known of all rows of a group.
#
# The statistics are those of all rows. The points of the map are all rows of a small table; of a large one, they are a
# random sample that keeps the groups, and the rows at the ends.


#: The largest number of points of a map; of tables with many columns there are fewer, so that the numbers of all points
#: stay below the second limit, but not fewer than the third, unless they would take too much memory (the fourth).
_POINTS, _NUMBERS, _FEWEST, _MEMORY = 6_000, 1_200_000, 4_000, 20_000_000
#: Of each group, at least this many rows are points of the map, if it has them.
_OF_EACH_GROUP = 30
#: Densities are of pairs of the first components, in this many bins for each, which reach this many deviations.
_DENSITIES, BINS, REACH = 5, 60, 5.0
#: The number of rows from which deviations are estimated that a model does not know.
_FIRST_ROWS = 2000
#: Rows that may be at an end wait until there are this many of them.
_WAITING = 1000


class Spread:
    """Mean and covariance (divisor n - 1) of the scores of some rows; None if there are too few of them."""

    def __init__(self, moments: Moments) -> None:
        self.rows, self.weight = moments.n_rows, float(moments.weight)
        self.mean: Any = to_numpy(moments.mean) + to_numpy(moments.rest) if self.rows else None
        enough = self.rows > 1 and self.weight > 1
        self.covariance: Any = to_numpy(moments.scatter) / (self.weight - 1) if enough else None

    def ellipse(self) -> dict[str, Any] | None:
        """What is needed to draw the ellipse of these rows; None if there are too few."""
        if self.covariance is None or self.rows < 3:
            return None
        return {"mean": self.mean, "covariance": self.covariance.ravel(), "rows": self.rows}


class SecondPass:
    """What the second pass has found."""

    def __init__(self, found: ScoredRows) -> None:
        #: The rows that are kept, in the order of the table.
        self.rows = SomeRows.joined([*found.kept, *_settled(found.waiting, 1)]).ordered()
        #: Which of them were chosen at random; the others are those at the ends.
        self.chosen = np.isin(self.rows.numbers, found.chosen, assume_unique=True)
        #: The number of all rows (of positive weight), and whether some of them are missing in the map.
        self.n = found.n_rows
        self.is_sample = len(self.rows) < self.n
        edges = np.linspace(-REACH, REACH, BINS + 1)
        units = np.zeros(0) if found.deviations is None else found.deviations
        #: How many rows there are in each cell of the plane of two components; the outermost cells hold all beyond.
        #: Counts are sums of weights, shape (bins of y, bins of x).
        self.densities = [
            {"x": x, "y": y, "x_edges": edges * units[x], "y_edges": edges * units[y], "counts": counts}
            for (x, y), counts in zip(found.pairs, found.histograms.reshape(-1, BINS, BINS), strict=True)
        ] or None
        #: The spread of the scores of all rows, and of those of each group of each grouping.
        (everything,), *of_groups = found.spreads.parts
        self.spread = Spread(everything)
        self.groups = [[Spread(part) for part in parts] for parts in of_groups]
        #: The number of rows beyond the limit of T2, beyond that of Q, and beyond at least one of them; the last one
        #: also for each group of each grouping.
        self.t2_beyond, self.q_beyond, self.beyond = found.beyond[:3].tolist()
        self.beyond_in_groups = np.split(found.beyond[3:], np.cumsum(found.counts)[:-1]) if found.counts else []

    def between(self, g: int) -> np.ndarray:
        """The share of the variance of each component that is between the groups of grouping g (eta squared)."""
        spreads = [spread for spread in self.groups[g] if spread.mean is not None]
        weights = np.array([spread.weight for spread in spreads])
        means = np.array([spread.mean for spread in spreads])
        within = np.zeros(means.shape[1])
        for spread in spreads:
            if spread.covariance is not None:
                within += (spread.weight - 1) * np.diagonal(spread.covariance)
        centre = weights @ means / weights.sum()
        among = weights @ (means - centre) ** 2
        total = among + within
        return np.where(total > 0, among / np.where(total > 0, total, 1.0), 0.0)

    def differ(self, g: int) -> np.ndarray:
        """The p-values of an analysis of variance of each component between the groups of grouping g, corrected for all
        components and groupings by Bonferroni's method; 1 if there are too few rows."""
        between, sizes = self.between(g), np.array([spread.rows for spread in self.groups[g]])
        n, levels = int(sizes.sum()), int((sizes > 0).sum())
        if levels < 2 or n <= levels:
            return np.ones(len(between))
        within = np.maximum(1 - between, np.finfo(float).tiny)
        with np.errstate(over="ignore"):
            p_values = special.fdtrc(levels - 1, n - levels, between / within * (n - levels) / (levels - 1))
        return np.minimum(1.0, len(between) * len(self.groups) * p_values)


def points_of_map(n: int, p: int) -> int:
    """How many points a map of n rows and p columns has, beside the rows at the ends."""
    return min(n, _POINTS, max(_NUMBERS // p, min(_FEWEST, _MEMORY // p)))


def second_pass(a: Analysis) -> SecondPass:
    """Read all complete rows once. In means, covariances and densities, rows count by their weights."""
    n, groups = a.n, a.groupings
    size = points_of_map(n, a.p)
    width = a.rows.shape[1]
    beside = ArraySource(np.column_stack([np.arange(n), *(group.codes for group in groups)]).astype(np.float64))
    beside.table = "the numbers of the rows"
    deviations = _deviations(a) if size < n else None
    counts = [len(group.levels) for group in groups]
    summary = ScoredRows(width, a.scoring, chosen_rows(n, size, groups, a.seed), counts, deviations)
    return SecondPass(summarize(BesideSource([a.rows, beside]), summary, weights=a.opened.weights))


def chosen_rows(n: int, size: int, groups: Sequence[Grouping], seed: int) -> np.ndarray:
    """About `size` of n row numbers, drawn at random, in order: from each group of the first grouping its share, and
    from each group of any grouping at least 30 rows, if it has them."""
    if size >= n:
        return np.arange(n)
    random = np.random.default_rng(seed)
    if not groups:
        return np.sort(random.choice(n, size, replace=False, shuffle=False))
    drawn = np.zeros(n, dtype=bool)
    for i, group in enumerate(groups):
        for level in range(-1, len(group.levels)):
            members = np.flatnonzero(group.codes == level)
            wanted = max(_OF_EACH_GROUP, round(size * len(members) / n) if i == 0 else 0)
            left = members[~drawn[members]]
            more = min(max(0, wanted - (len(members) - len(left))), len(left))
            drawn[random.choice(left, more, replace=False)] = True
    return np.flatnonzero(drawn)


class ScoredRows(PassSummary):
    """What the map and the rows at the ends need; rows come with their numbers and groups in the last columns.

    Parameters
    ----------
    n_columns : int
        The number of columns without numbers and groups.
    scoring : Scoring
    chosen : array of int
        The numbers of the rows that are kept in any case, in order.
    counts : sequence of int
        The number of groups of each grouping.
    deviations : array, optional
        The standard deviations of the scores, if there are rows that were not chosen: only then are densities and
        extremes of use.
    """

    parameters = ("n_columns", "counts")
    options = ("scoring", "chosen", "deviations")

    def __init__(
        self,
        n_columns: int,
        scoring: Scoring,
        chosen: np.ndarray,
        counts: Sequence[int],
        deviations: np.ndarray | None = None,
    ) -> None:
        self.n_columns, self.counts = int(n_columns), tuple(counts)
        self.scoring, self.chosen, self.deviations = scoring, chosen, deviations
        k = scoring.n_components
        self.n_rows = 0
        #: Rows beyond the limits of T2 and Q, and beyond one of them; then the last one for each group.
        self.beyond = np.zeros(3 + sum(self.counts), dtype=np.int64)
        self.pairs = [] if deviations is None else list(combinations(range(min(_DENSITIES, k)), 2))
        self.histograms = np.zeros((len(self.pairs), BINS * BINS))
        # The first labelling has a single label, that of all rows.
        self.spreads: Labelled[Moments] = Labelled(Moments(k, wide=True), [1, *self.counts])
        self.kept: tuple[SomeRows, ...] = ()
        self.waiting: tuple[SomeRows, ...] = ()

    def _updated(self, block: Any, weights: Any) -> Changes:
        block = floats(dense(block))
        if not np.isfinite(block.sum()):
            raise NonFiniteBlock
        numbers = block[:, self.n_columns].astype(np.int64)
        codes = block[:, self.n_columns + 1 :].astype(np.int64)
        rows = self.scoring(block[:, : self.n_columns], numbers)
        labelled = np.column_stack([rows.scores, np.zeros(len(rows)), codes])
        places = np.searchsorted(self.chosen, numbers)
        drawn = self.chosen[np.minimum(places, len(self.chosen) - 1)] == numbers
        changes: Changes = {
            "n_rows": self.n_rows + len(rows),
            "beyond": self.beyond + self._count_beyond(rows, codes),
            "spreads": self.spreads._changes_from(labelled, weights),
            # The memory of a block is used again: what is kept is copied.
            "kept": (*self.kept, rows.take(np.flatnonzero(drawn))),
        }
        if self.deviations is not None:
            changes["histograms"] = self.histograms + self._histograms(rows.scores, weights)
            changes["waiting"] = _settled((*self.waiting, rows.take(rows.extremes())))
        return changes

    def _merged(self, other: Self) -> Changes:
        sums = self._plus({name: getattr(other, name) for name in ("n_rows", "beyond", "histograms", "kept")})
        spreads, waiting = self.spreads._merged(other.spreads), _settled(self.waiting + other.waiting)
        return sums | {"spreads": spreads, "waiting": waiting}

    def _change(self, changes: Changes) -> None:
        changes = dict(changes)
        self.spreads._change(changes.pop("spreads", {}))
        super()._change(changes)

    def _count_beyond(self, rows: SomeRows, codes: np.ndarray) -> np.ndarray:
        outside = rows.misfit > 1
        found = [(rows.t2 > self.scoring.t2_limit).sum(), (rows.q > self.scoring.q_limit).sum(), outside.sum()]
        for column, n in zip(codes.T, self.counts, strict=True):
            found += np.bincount(column[outside & (column >= 0)], minlength=n).tolist()
        return np.array(found, dtype=np.int64)

    def _histograms(self, scores: np.ndarray, weights: Any) -> np.ndarray:
        """The sums of weights in the cells of each pair of components."""
        assert self.deviations is not None
        unit = np.where(self.deviations > 0, self.deviations, 1.0)
        cells = ((scores / unit + REACH) * (BINS / (2 * REACH))).astype(np.int64).clip(0, BINS - 1)
        weights = None if weights is None else to_numpy(weights)
        flat = [np.bincount(cells[:, y] * BINS + cells[:, x], weights, BINS * BINS) for x, y in self.pairs]
        return np.array(flat).reshape(self.histograms.shape)


def _deviations(a: Analysis) -> np.ndarray:
    """The standard deviations of the scores, which give the densities their range: those of all rows where the model
    knows them, otherwise those of the first rows."""
    if has_scores(a.scoring.mapped):
        return np.sqrt(np.maximum(floats(a.scoring.mapped.explained_variance_)[: a.n_mapped], 0.0))
    first = floats(dense(next(iter(a.rows.blocks(_FIRST_ROWS)))))
    return a.scoring(first, np.arange(len(first))).scores.std(axis=0)


def _settled(waiting: tuple[SomeRows, ...], many: int = _WAITING) -> tuple[SomeRows, ...]:
    """Of the rows that wait, those that are at an end of all of them, once there are many."""
    if sum(map(len, waiting)) < many:
        return waiting
    rows = SomeRows.joined(waiting)
    return (rows.take(rows.extremes()),)


# The section.


#: The fraction of a Gaussian group within its ellipse.
_LEVEL = 0.95
#: The largest number of entries of columns by which points can be coloured, and the number of pixels of pictures.
_ENTRIES, _PIXELS = 600_000, 12
#: Of more groups than this, the script of the map writes names at their means.
_UNNAMED_LEVELS = 10
#: The largest number of rows of the table of the scores.
_TABLE_ROWS = 300
#: Distances of group means, in standard deviations of the groups along the line between them: above the first, groups
#: are apart, since not more than 1 in 40 rows would be taken for one of the other; below the second they overlap.
APART, _OVERLAP = 4.0, 2.5
#: The share of the variance of a component between groups from which on its ends are described by groups.
BETWEEN = 0.3
#: Groups differ if they do by a test of this level, corrected for the number of comparisons.
CHANCE = 0.01
#: Groups of fewer rows are not compared, and neither are more groups than this.
_FEWEST_ROWS, _MOST_GROUPS = 10, 12


def section(a: Analysis) -> Section | None:
    """The section; None if there are fewer than two components."""
    if a.n_mapped < 2:
        return None
    of_groups = list(_groups(a))
    blocks = prose([_variance(a), *of_groups, _farthest(a), _sample(a), *_supplementary(a)])
    names = a.mapped.component_names_
    lead = (
        f"Each point is a row of the table, placed by its scores on two components, at first {names[0]} and "
        f"{names[1]}. Rows that lie close together are alike in what these components describe. Choose other axes, or "
        "colour and size by any column; draw a box or a lasso around points to list their rows."
    )
    summary = of_groups[0] if of_groups and _is_news(a) else ""
    return Section("map", "The map", lead, [*blocks, _widget(a)], summary)


def _widget(a: Analysis) -> Widget:
    found, further = a.second, a.further
    rows = found.rows
    shown = rows if further is None else SomeRows.joined([rows, further])
    names = a.mapped.component_names_[: a.n_mapped]
    columns, note = _columns(a, shown)
    groups = [
        {
            "name": brief(group.name, LONGEST),
            "levels": [brief(level, LONGEST) for level in group.levels],
            "codes": np.append(group.codes[rows.numbers], np.full(len(shown) - len(rows), -1)).astype(np.int32),
            "ellipses": [spread.ellipse() for spread in spreads],
        }
        for group, spreads in zip(a.groupings, found.groups, strict=True)
    ]
    labels = a.labels_of(rows.numbers)
    if labels is not None and further is not None:
        labels += [f"supplementary {i + 1}" for i in further.numbers.tolist()]
    densities = [
        {name: compact(value.ravel()) if isinstance(value, np.ndarray) else value for name, value in density.items()}
        for density in found.densities or ()
    ]
    values: dict[str, Any] = {
        "rows": found.n,
        "components": [
            {"name": name, "title": a.component_title(k), "scores": compact(shown.scores[:, k])}
            for k, name in enumerate(names)
        ],
        "columns": columns,
        "groups": groups,
        "labels": labels,
        "numbers": (shown.numbers + 1).astype(np.int32),
        "supplementary": None if further is None else (np.arange(len(shown)) >= len(rows)).astype(np.uint8),
        "densities": densities or None,
        "radius": ellipse_radius(_LEVEL),
        "note": note,
    }
    called = "names" if labels is not None else "numbers, counted from 1,"
    caption = f"Rows have their {called} where there is room, the outermost first."
    if any(len(group.levels) > _UNNAMED_LEVELS for group in a.groupings):
        caption += (
            f" Where colours tell more than {_UNNAMED_LEVELS} groups apart, these are named instead, at their means."
        )
    return Widget(
        key="map",
        kind="map",
        title="Scores of the rows",
        alt=f"A scatter plot of {count(len(shown), 'row')} by their scores on {names[0]} and {names[1]}.",
        values=values,
        table=_table(a, rows.take(np.arange(min(len(rows), _TABLE_ROWS)))),
        caption=caption,
    )


def _columns(a: Analysis, shown: SomeRows) -> tuple[list[dict[str, Any]], str]:
    """The columns by which points can be coloured, and a remark if these are not all of them."""
    pictures = a.image_shape is not None
    p = len(a.measured)
    most = min(p, max(1, _ENTRIES // len(shown)), _PIXELS if pictures else p)
    order, note = np.arange(p), ""
    if most < p:
        # The weight of each column in the components together: its shares in them, by the variance that they explain.
        found = a.meaning
        shares = np.ones(len(found.names)) if found.shares is None else found.shares
        order = np.argsort(-(found.weights @ shares), kind="stable")[:most]
        what = "pixels" if pictures else "columns"
        note = f"Of {p:,} {what}, the {most:,} with most weight in the components are offered for colour and size."
    columns = [{"name": brief(a.measured[j], LONGEST), "values": compact(shown.entries[:, j])} for j in order]
    rows = a.second.rows
    for name, values in measures(a.opened.groups).items():
        of_rows = np.append(values[rows.numbers], np.full(len(shown) - len(rows), np.nan))
        columns.append({"name": brief(name, LONGEST), "values": compact(of_rows)})
    return columns, note


def _table(a: Analysis, some: SomeRows) -> Table:
    """The scores of the first points."""
    # The code -1, of rows without a group, stands for the last one.
    columns: dict[str, Any] = {
        group.name: np.array([*group.levels, ""], dtype=object)[group.codes[some.numbers]] for group in a.groupings
    }
    columns |= dict(zip(a.mapped.component_names_, some.scores.T, strict=False))
    title = "Scores"
    if len(some) < a.second.n:
        title += f" of {'' if a.second.is_sample else 'the first '}{len(some):,} of {a.second.n:,} rows"
    return Table(columns, [brief(a.row_name(i), LONGEST) for i in some.numbers], title=title, row_name="row")


def _variance(a: Analysis) -> str:
    """What the axes hold together."""
    shares, names = a.variance_shares, a.mapped.component_names_
    if shares is None:
        return ""
    both = float(shares[0] + shares[1])
    what = "the variance"
    if hasattr(a.mapped, "kernel"):
        what = "the variance, as the kernel measures it"
    elif hasattr(a.mapped, "coding_"):
        what = "the adjusted inertia" if hasattr(a.mapped, "greenacre_ratio_") else "the inertia"
    elif hasattr(a.mapped, "feature_map_"):
        what = "the variance of the features"
    text = f"{names[0]} and {names[1]} together hold {share(both)} of {what}"
    if both >= 0.8:
        return f"{text}, so that the map shows most of how the rows differ."
    if a.n_mapped == 2:
        return f"{text}; the model has no further axes, and the rest is not on this map."
    if both >= 0.4 or hasattr(a.mapped, "coding_"):
        # The inertia of categories is mostly that of their many columns.
        return f"{text}; further axes show the rest."
    return f"{text}, so that much of how the rows differ is not on this map: look at other axes, too."


def _is_news(a: Analysis) -> bool:
    """Whether the top of the page says along which component the first groups differ: not if what it says of the
    components tells it already, and of groups that were not asked for only if they differ along one that is used."""
    parts = [a.second.between(g)[: a.n_told].max(initial=0.0) for g in range(len(a.groupings))]
    if parts[0] >= BETWEEN:
        return False
    if a.groupings[0].name not in a.left_out:
        return True
    k = int(np.argmax(a.second.between(0)))
    used = k < int(getattr(a.model, "n_components_", a.n_mapped))
    return max(parts) < BETWEEN and used and bool(a.second.differ(0)[k] <= CHANCE)


def _groups(a: Analysis) -> Iterator[str]:
    """Whether the groups separate, and along which component."""
    names = a.mapped.component_names_
    for g, group in enumerate(a.groupings[: a.n_compared]):
        sizes = np.array([spread.rows for spread in a.second.groups[g]])
        n, levels = int(sizes.sum()), int((sizes > 0).sum())
        if levels < 2 or n <= levels + 1:
            continue
        between = a.second.between(g)
        # Groups that were formed at random have eta squared (levels - 1) / (n - 1) on average.
        beyond_chance = 1 - (1 - between) * (n - 1) / (n - levels)
        k = int(np.argmax(between))
        held = f"{share(between[k])} of its variance is between them"
        looks, p_value = len(between) * len(a.groupings), a.second.differ(g)[k]
        what = f"The {group.title}"
        if group.n_pooled:
            what += f" (the {group.n_pooled:,} least frequent ones counted as one)"
        where = f"along {names[k]}"
        used = int(getattr(a.model, "n_components_", a.n_mapped))
        if k >= used:
            # Why a component is spoken of that the report does not use.
            p_said = "p < 0.001" if p_value < 0.001 else f"p = {number(p_value, 2)}"
            size = "" if a.variance_shares is None else f" ({share(a.variance_shares[k])} of the variance)"
            where += f"{size}, although the report uses only {count(used, 'component')}"
            held += f" ({p_said}, corrected for {looks:,} comparisons)"
        if beyond_chance[k] < 0.1:
            yield (
                f"{what} hardly differ along any of these components (at most {share(between[k])} of the variance of "
                "one is between them)."
            )
            continue
        if p_value > CHANCE:
            yield (
                f"{what} do not differ clearly along any of these components: at most {share(between[k])} of the "
                "variance of one is between them, which may be chance."
            )
            continue
        if beyond_chance[k] >= 0.5:
            yield f"{what} differ most {where}: {held}."
        else:
            yield f"{what} differ in part {where}: {held}, and the rest within them."
        yield from _separate(a.second.groups[g], group, f"{names[0]} and {names[1]}")


def _separate(spreads: list[Spread], group: Grouping, plane: str) -> Iterator[str]:
    """Which groups are apart from all others in the plane of the first two components, and which overlap."""
    found = [i for i, spread in enumerate(spreads) if spread.rows >= _FEWEST_ROWS and spread.covariance is not None]
    if not 2 <= len(found) <= _MOST_GROUPS:
        return
    distances = {pair: distance(spreads[pair[0]], spreads[pair[1]], [0, 1]) for pair in combinations(found, 2)}
    nearest = {i: min(d for pair, d in distances.items() if i in pair) for i in found}
    names = [brief(level) for level in group.levels]
    apart = [names[i] for i in found if nearest[i] >= APART]
    overlap = [pair for pair, d in sorted(distances.items(), key=lambda item: item[1]) if d < _OVERLAP]
    if len(apart) == len(found):
        yield f"In the plane of {plane} {'both' if len(found) == 2 else 'all'} groups are apart from each other."
    elif apart:
        yield f"In the plane of {plane}, {listed(apart)} {'lies' if len(apart) == 1 else 'lie'} apart from all others."
    where = "There" if apart else f"In the plane of {plane}"
    if len(overlap) == len(distances):
        yield f"{where}, {'both' if len(found) == 2 else 'all'} groups overlap."
    elif len(overlap) == 1:
        yield f"{where}, {names[overlap[0][0]]} and {names[overlap[0][1]]} overlap."
    elif overlap:
        pairs = [f"{names[i]} with {names[j]}" for i, j in overlap[:3]]
        more = f", and {count(len(overlap) - 3, 'more pair')}" if len(overlap) > 3 else ""
        yield f"{where}, some overlap: {', '.join(pairs)}{more}."


def distance(one: Spread, other: Spread, components: list[int]) -> float:
    """The distance of two group means in some components, in deviations within the groups."""
    away = (one.mean - other.mean)[components]
    within = ((one.weight - 1) * one.covariance + (other.weight - 1) * other.covariance)[np.ix_(components, components)]
    within = within / (one.weight + other.weight - 2)
    return float(np.sqrt(away @ np.linalg.pinv(within) @ away))


def _farthest(a: Analysis) -> str:
    """The rows farthest out, if they are farther than the farthest of as many Gaussian rows would be."""
    rows, spread = a.second.rows, a.second.spread
    if spread.covariance is None:
        return ""
    away = (rows.scores - spread.mean)[:, :2]
    squares = np.einsum("ni,ij,nj->n", away, np.linalg.pinv(spread.covariance[:2, :2]), away)
    # Less than 1 of as many Gaussian rows in 20 tables is beyond this.
    limit = special.chdtri(2, 0.05 / a.second.n)
    far = largest(squares, 3, rows.numbers)
    far = far[squares[far] > limit]
    if len(far) == 0:
        return ""
    named = [f"{a.called(rows.numbers[i])}, {number(float(np.sqrt(squares[i])), 2)} deviations away" for i in far]
    rest = int((squares > limit).sum()) - len(far)
    more = f"; {count(rest, 'more row')} {be(rest)} unusually far out" if rest else ""
    return f"Farthest from the middle: {'; '.join(named)}{more}."


def _sample(a: Analysis) -> str:
    found = a.second
    if not found.is_sample:
        return ""
    kept = " that keeps the shares of the groups and at least 30 rows of each," if a.groupings else ""
    drawn = int(found.chosen.sum())
    return (
        f"The points are {len(found.rows):,} of the {found.n:,} rows: a random sample of {drawn:,}{kept} and "
        f"{len(found.rows) - drawn:,} more rows at the ends of the components and among those that fit worst. The "
        "density, the ellipses and all numbers in this report are of all rows."
    )


def _supplementary(a: Analysis) -> Iterator[str]:
    if a.further is None and a.opened.supplementary is None:
        return
    marked = 0 if a.further is None else len(a.further)
    given = a.n_supplementary or marked
    later = max(given - MOST_FURTHER, 0)
    incomplete = given - later - marked
    if marked:
        yield f"{count(marked, 'supplementary row')} that took no part in the fit {be(marked)} marked."
    if incomplete:
        verb = "is not shown, since it has" if incomplete == 1 else "are not shown, since they have"
        yield f"{count(incomplete, 'supplementary row')} {verb} entries that are missing or infinite."
    if later:
        yield f"Of {given:,} supplementary rows, only the first {MOST_FURTHER:,} are looked at."
