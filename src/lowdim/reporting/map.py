"""The map: the rows by their scores, and the second pass over the rows, which finds its points."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from itertools import combinations
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from scipy import special

from .._core.arrays import dense, to_numpy
from ..errors import NonFiniteBlock
from ..inspect.diagnostics import ellipse_radius
from ..inspect.limits import has_scores, names_expected
from ..reading.summarize import summarize
from ..sources.array import ArraySource
from ..sources.base import Source
from ..sources.beside import BesideSource
from ..summaries.base import Changes, Layout, Summary, check_columns
from ..summaries.labelled import Labelled
from ..summaries.moments import Moments
from ..table import Table
from .blocks import LONGEST, Block, Prose, Section, Widget, brief, called, component_title, count, listed, number, share
from .data import Grouping, measures
from .passes import compact, floats

if TYPE_CHECKING:
    from .analysis import Analysis


# Scores, T2 and Q of rows, and the rows of a table of which they are kept.


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
        """The positions of the rows at both ends of each component, of those that fit worst, and of those that are
        rebuilt best and worst. Of equal rows the first ones are taken, so that blocks can be read in any order."""
        wanted = [(sign * column, _ENDS) for column in self.scores.T for sign in (1.0, -1.0)]
        wanted += [(self.misfit, _FARTHEST), (self.kept, _REBUILT), (-self.kept, _REBUILT)]
        return np.unique(np.concatenate([largest(values, size, self.numbers) for values, size in wanted]))


def largest(values: np.ndarray, size: int, numbers: np.ndarray) -> np.ndarray:
    """The positions of the `size` largest values, largest first; of equal ones, those of the smallest numbers."""
    found = np.arange(len(values))
    if len(values) > size:
        found = np.flatnonzero(values >= np.partition(values, len(values) - size)[len(values) - size])
    return np.asarray(found[np.lexsort((numbers[found], -values[found]))][:size])


@dataclass(frozen=True)
class Scoring:
    """How rows are scored: on the components of the map, and by T2 and Q of a subspace."""

    #: The model whose components are the axes of the map, and the number of these.
    mapped: Any
    n_components: int
    #: PCA with the number of components of the report's model.
    subspace: Any
    t2_limit: float
    q_limit: float

    def __call__(self, X: np.ndarray, numbers: np.ndarray) -> SomeRows:
        rows = ArraySource(X)
        rows.names = names_expected(self.mapped)
        Z = self._scores(self.mapped, rows)
        own = Z if self.mapped is self.subspace else self._scores(self.subspace, rows)
        # Components without variance are no part of T2.
        rank = int(self.subspace.rank_)
        variances = floats(self.subspace.explained_variance_)[:rank]
        t2 = (own[:, :rank] ** 2 / variances).sum(axis=1)
        q = floats(self.subspace.reconstruction_error(rows, scaled=True))
        inside = (own**2).sum(axis=1)
        whole = inside + q
        return SomeRows(
            numbers=numbers,
            entries=X,
            scores=Z[:, : self.n_components],
            t2=t2,
            q=q,
            misfit=np.maximum(t2 / self.t2_limit, q / self.q_limit),
            kept=np.where(whole > 0, inside / np.where(whole > 0, whole, 1.0), 1.0),
        )

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


@dataclass(frozen=True)
class Density:
    """How many rows there are in each cell of the plane of two components; the outermost cells hold all beyond."""

    x: int
    y: int
    x_edges: np.ndarray
    y_edges: np.ndarray
    #: Sums of weights, shape (bins of y, bins of x).
    counts: np.ndarray


@dataclass(frozen=True)
class Spread:
    """Mean and covariance (divisor n - 1) of the scores of some rows; None if there are too few of them."""

    rows: int
    weight: float
    mean: np.ndarray | None
    covariance: np.ndarray | None


@dataclass(frozen=True)
class Seen:
    """What the second pass has found."""

    #: The rows that are kept, in the order of the table.
    rows: SomeRows
    #: Which of them were chosen at random; the others are those at the ends.
    chosen: np.ndarray
    #: The number of all rows (of positive weight).
    n: int
    densities: list[Density] | None
    #: The spread of the scores of all rows, and of those of each group of each grouping.
    spread: Spread
    groups: list[list[Spread]]
    #: The number of rows beyond the limit of T2, beyond that of Q, and beyond at least one of them; the last one also
    #: for each group of each grouping.
    t2_beyond: int
    q_beyond: int
    beyond: int
    beyond_in_groups: list[np.ndarray]

    @property
    def is_sample(self) -> bool:
        """Whether rows are missing in the map."""
        return len(self.rows) < self.n

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


def points_of_map(n: int, p: int) -> int:
    """How many points a map of n rows and p columns has, beside the rows at the ends."""
    return min(n, _POINTS, max(_NUMBERS // p, min(_FEWEST, _MEMORY // p)))


def see(rows: Source, n: int, scoring: Scoring, groups: Sequence[Grouping], weights: Any, seed: int) -> Seen:
    """Read all rows once.

    Parameters
    ----------
    rows : source
        Complete rows.
    n : int
        Their number.
    scoring : Scoring
    groups : sequence of Grouping
    weights : array of shape (n,), or None
        In means, covariances and densities, row i counts `weights[i]` times.
    seed : int
        Seed of the sample of rows.
    """
    p = rows.shape[1]
    size = points_of_map(n, p)
    chosen = chosen_rows(n, size, groups, seed)
    beside = ArraySource(np.column_stack([np.arange(n), *(group.codes for group in groups)]).astype(np.float64))
    beside.table = "the numbers of the rows"
    deviations = _deviations(scoring, rows) if size < n else None
    summary = SeenRows(p, scoring, chosen, [len(group.levels) for group in groups], deviations)
    return summarize(BesideSource([rows, beside]), summary, weights=weights).result()


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


class SeenRows(Summary):
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
    state = ("n_columns", "counts", "n_rows", "beyond", "histograms")

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
        check_columns(self.n_columns + 1 + len(self.counts), block)
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
        return {
            "n_rows": self.n_rows + other.n_rows,
            "beyond": self.beyond + other.beyond,
            "histograms": self.histograms + other.histograms,
            "spreads": self.spreads._merged(other.spreads),
            "kept": self.kept + other.kept,
            "waiting": _settled(self.waiting + other.waiting),
        }

    def _change(self, changes: Changes) -> None:
        changes = dict(changes)
        self.spreads._change(changes.pop("spreads", {}))
        super()._change(changes)

    def snapshot(self) -> Self:
        twin = super().snapshot()
        twin.spreads = self.spreads.snapshot()
        return twin

    def _layout(self) -> Layout:
        return {"n_columns": (), "n_rows": (), "beyond": (3 + sum(self.counts),)}

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

    def result(self) -> Seen:
        """What was found."""
        (everything,), *of_groups = self.spreads.parts
        edges = np.linspace(-REACH, REACH, BINS + 1)
        units = np.zeros(0) if self.deviations is None else self.deviations
        densities = [
            Density(x, y, edges * units[x], edges * units[y], counts.reshape(BINS, BINS))
            for (x, y), counts in zip(self.pairs, self.histograms, strict=True)
        ]
        rows = SomeRows.joined([*self.kept, *_at_the_ends(self.waiting)]).ordered()
        by_group = np.split(self.beyond[3:], np.cumsum(self.counts)[:-1]) if self.counts else []
        return Seen(
            rows=rows,
            chosen=np.isin(rows.numbers, self.chosen, assume_unique=True),
            n=self.n_rows,
            densities=densities or None,
            spread=_spread(everything),
            groups=[[_spread(part) for part in parts] for parts in of_groups],
            t2_beyond=int(self.beyond[0]),
            q_beyond=int(self.beyond[1]),
            beyond=int(self.beyond[2]),
            beyond_in_groups=by_group,
        )


def _deviations(scoring: Scoring, rows: Source) -> np.ndarray:
    """The standard deviations of the scores, which give the densities their range: those of all rows where the model
    knows them, otherwise those of the first rows."""
    model, k = scoring.mapped, scoring.n_components
    if has_scores(model):
        return np.sqrt(np.maximum(floats(model.explained_variance_)[:k], 0.0))
    first = floats(dense(next(iter(rows.blocks(_FIRST_ROWS)))))
    return scoring(first, np.arange(len(first))).scores.std(axis=0)


def _settled(waiting: tuple[SomeRows, ...]) -> tuple[SomeRows, ...]:
    """Of the rows that wait, those that are at an end of all of them, once there are many."""
    return waiting if sum(map(len, waiting)) < _WAITING else _at_the_ends(waiting)


def _at_the_ends(waiting: tuple[SomeRows, ...]) -> tuple[SomeRows, ...]:
    if not waiting:
        return ()
    rows = SomeRows.joined(waiting)
    return (rows.take(rows.extremes()),)


def _spread(moments: Moments) -> Spread:
    n, weight = moments.n_rows, float(moments.weight)
    if n == 0:
        return Spread(0, 0.0, None, None)
    mean = to_numpy(moments.mean) + to_numpy(moments.rest)
    covariance = to_numpy(moments.scatter) / (weight - 1) if n > 1 and weight > 1 else None
    return Spread(n, weight, mean, covariance)


# The map: the rows by their scores.


#: The fraction of a Gaussian group within its ellipse.
_LEVEL = 0.95
#: The largest number of entries of columns by which points can be coloured, and the number of pixels of pictures.
_ENTRIES, _PIXELS = 600_000, 12
#: The largest number of rows of the table of the scores.
_TABLE_ROWS = 300
#: Distances of group means, in standard deviations of the groups along the line between them: above the first, groups
#: are apart, since not more than 1 in 40 rows would be taken for one of the other; below the second they overlap.
_APART, _OVERLAP = 4.0, 2.5
#: Groups of fewer rows are not compared, and neither are more groups than this.
_FEWEST_ROWS, _MOST_GROUPS = 10, 12


def section(a: Analysis) -> Section | None:
    """The section; None if there are fewer than two components."""
    if a.n_mapped < 2:
        return None
    seen = a.seen
    of_groups = _groups(a)
    sentences = [*_variance(a), *of_groups, *_farthest(a), *_sample(a), *_supplementary(a)]
    blocks: list[Block] = [Prose(" ".join(sentences))] if sentences else []
    blocks.append(_widget(a, seen))
    names = a.mapped.component_names_
    lead = (
        f"Each point is a row of the table, placed by its scores on two components, at first {names[0]} and "
        f"{names[1]}. Rows that lie close together are alike in what these components describe. Choose other axes, or "
        "colour and size by any column; draw a box or a lasso around points to list their rows."
    )
    return Section("map", "The map", lead, blocks, of_groups[0] if of_groups else "")


def _widget(a: Analysis, seen: Seen) -> Widget:
    rows, further = seen.rows, a.further
    shown = rows if further is None else SomeRows.joined([rows, further])
    names = a.mapped.component_names_[: a.n_mapped]
    columns, note = _columns(a, shown)
    codes = [np.append(g.codes[rows.numbers], np.full(len(shown) - len(rows), -1)) for g in a.groupings]
    values: dict[str, Any] = {
        "rows": seen.n,
        "components": [
            {
                "name": name,
                "title": component_title(a, k),
                "scores": compact(shown.scores[:, k]),
            }
            for k, name in enumerate(names)
        ],
        "columns": columns,
        "groups": [
            {
                "name": brief(group.name, LONGEST),
                "levels": [brief(level, LONGEST) for level in group.levels],
                "codes": found.astype(np.int32),
                "ellipses": [_ellipse(spread) for spread in spreads],
            }
            for group, found, spreads in zip(a.groupings, codes, seen.groups, strict=True)
        ],
        "ids": _ids(a, rows, further),
        "numbers": shown.numbers.astype(np.int32),
        "supplementary": None if further is None else (np.arange(len(shown)) >= len(rows)).astype(np.uint8),
        "densities": None
        if seen.densities is None
        else [
            {
                "x": d.x,
                "y": d.y,
                "x_edges": compact(d.x_edges),
                "y_edges": compact(d.y_edges),
                "counts": compact(d.counts.ravel()),
            }
            for d in seen.densities
        ],
        "radius": ellipse_radius(_LEVEL),
        "note": note,
    }
    return Widget(
        key="map",
        kind="map",
        title="Scores of the rows",
        alt=f"A scatter plot of {count(len(shown), 'row')} by their scores on {names[0]} and {names[1]}.",
        values=values,
        table=_table(a, rows),
        caption=(
            (f"Ellipses hold {_LEVEL:.0%} of a Gaussian with the mean and covariance of the group. " if codes else "")
            + "Rows are counted from 0."
        ),
    )


def _columns(a: Analysis, shown: SomeRows) -> tuple[list[dict[str, Any]], str]:
    """The columns by which points can be coloured, and a remark if these are not all of them."""
    most = min(a.p, max(1, _ENTRIES // len(shown)))
    if a.image_shape is not None:
        most = min(most, _PIXELS)
    order, note = np.arange(a.p), ""
    if most < a.p:
        order = np.argsort(-column_weights(a), kind="stable")[:most]
        what = "pixels" if a.image_shape is not None else "columns"
        note = f"Of {a.p:,} {what}, the {most:,} with most weight in the components are offered for colour and size."
    columns = [{"name": brief(a.names[j], LONGEST), "values": compact(shown.entries[:, j])} for j in order]
    beside = len(shown) - len(a.seen.rows)
    for name, values in measures(a.opened.groups).items():
        of_rows = np.append(values[a.seen.rows.numbers], np.full(beside, np.nan))
        columns.append({"name": brief(name, LONGEST), "values": compact(of_rows)})
    return columns, note


def column_weights(a: Analysis) -> np.ndarray:
    """The weight of each column in the components together: its shares in them, by the variance that they explain."""
    found = a.meaning
    shares = np.ones(len(found.names)) if found.shares is None else found.shares
    return np.asarray(found.weights @ shares)


def _ellipse(spread: Spread) -> dict[str, Any] | None:
    if spread.covariance is None or spread.mean is None or spread.rows < 3:
        return None
    return {"mean": spread.mean, "covariance": spread.covariance.ravel(), "rows": spread.rows}


def _ids(a: Analysis, rows: SomeRows, further: SomeRows | None) -> list[str] | None:
    if a.opened.ids is None:
        return None
    return [
        *(brief(a.opened.ids[i], LONGEST) for i in rows.numbers),
        *(f"supplementary {i}" for i in _numbers(further)),
    ]


def _numbers(rows: SomeRows | None) -> list[int]:
    return [] if rows is None else rows.numbers.tolist()


def _table(a: Analysis, rows: SomeRows) -> Table:
    """The scores of the first points."""
    some = rows.take(np.arange(min(len(rows), _TABLE_ROWS)))
    labels = [brief(a.row_name(i), LONGEST) for i in some.numbers]
    columns: dict[str, Any] = {}
    for group in a.groupings:
        # The code -1, of rows without a group, stands for the last one.
        columns[group.name] = np.array([*group.levels, ""], dtype=object)[group.codes[some.numbers]]
    for name, scores in zip(a.mapped.component_names_, some.scores.T, strict=False):
        columns[name] = scores
    title = "Scores" if len(some) == a.seen.n else f"Scores of {len(some):,} of {a.seen.n:,} rows"
    return Table(columns, labels, title=title, row_name="row")


def _variance(a: Analysis) -> list[str]:
    """What the axes hold together."""
    shares, names = a.variance_shares, a.mapped.component_names_
    if shares is None:
        return []
    both = float(shares[0] + shares[1])
    what = "the variance, as the kernel measures it" if hasattr(a.mapped, "kernel") else "the variance"
    text = f"{names[0]} and {names[1]} together hold {share(both)} of {what}"
    if both >= 0.8:
        return [f"{text}, so that the map shows most of how the rows differ."]
    if both >= 0.4:
        return [f"{text}; further axes show the rest."]
    return [f"{text}, so that much of how the rows differ is not on this map: look at other axes, too."]


def _groups(a: Analysis) -> list[str]:
    """Whether the groups separate, and along which component."""
    sentences = []
    names = a.mapped.component_names_
    for g, group in enumerate(a.groupings[:3]):
        sizes = np.array([spread.rows for spread in a.seen.groups[g]])
        n, levels = int(sizes.sum()), int((sizes > 0).sum())
        if levels < 2 or n <= levels + 1:
            continue
        between = a.seen.between(g)
        # Groups that were formed at random have eta squared (levels - 1) / (n - 1) on average.
        beyond_chance = 1 - (1 - between) * (n - 1) / (n - levels)
        k = int(np.argmax(between))
        held = f"{share(between[k])} of its variance is between them"
        what = f"The groups by {brief(group.name)}"
        if beyond_chance[k] >= 0.5:
            sentences.append(f"{what} differ most along {names[k]}: {held}.")
        elif beyond_chance[k] >= 0.1:
            sentences.append(f"{what} differ in part along {names[k]}: {held}, and the rest within them.")
        else:
            sentences.append(f"{what} hardly differ along any of these components (at most {held.split(' of ')[0]}).")
            continue
        sentences += _apart(a.seen.groups[g], group, f"{names[0]} and {names[1]}")
    return sentences


def _apart(spreads: list[Spread], group: Grouping, plane: str) -> list[str]:
    """Which groups are apart from all others in the plane of the first two components, and which overlap."""
    found = [i for i, spread in enumerate(spreads) if spread.rows >= _FEWEST_ROWS and spread.covariance is not None]
    if not 2 <= len(found) <= _MOST_GROUPS:
        return []
    distances = {pair: _distance(spreads[pair[0]], spreads[pair[1]]) for pair in combinations(found, 2)}
    nearest = {i: min(d for pair, d in distances.items() if i in pair) for i in found}
    names = [brief(level) for level in group.levels]
    apart = [names[i] for i in found if nearest[i] >= _APART]
    overlap = [pair for pair, d in sorted(distances.items(), key=lambda item: item[1]) if d < _OVERLAP]
    sentences = []
    if len(apart) == len(found):
        sentences.append(f"In the plane of {plane} all groups are apart from each other.")
    elif apart:
        verb = "lies" if len(apart) == 1 else "lie"
        sentences.append(f"In the plane of {plane}, {listed(apart)} {verb} apart from all others.")
    where = "There" if apart else f"In the plane of {plane}"
    if len(overlap) == len(distances):
        sentences.append(f"{where}, {'both' if len(found) == 2 else 'all'} groups overlap.")
    elif len(overlap) == 1:
        sentences.append(f"{where}, {names[overlap[0][0]]} and {names[overlap[0][1]]} overlap.")
    elif overlap:
        pairs = [f"{names[i]} with {names[j]}" for i, j in overlap[:3]]
        more = f", and {count(len(overlap) - 3, 'more pair')}" if len(overlap) > 3 else ""
        sentences.append(f"{where}, some overlap: {', '.join(pairs)}{more}.")
    return sentences


def _distance(one: Spread, other: Spread) -> float:
    """The distance of two group means in the first two components, in deviations within the groups."""
    assert one.mean is not None and other.mean is not None
    assert one.covariance is not None and other.covariance is not None
    away = (one.mean - other.mean)[:2]
    within = ((one.weight - 1) * one.covariance + (other.weight - 1) * other.covariance)[:2, :2]
    within = within / (one.weight + other.weight - 2)
    return float(np.sqrt(away @ np.linalg.pinv(within) @ away))


def _farthest(a: Analysis) -> list[str]:
    """The rows farthest out, if they are farther than the farthest of as many Gaussian rows would be."""
    rows, spread = a.seen.rows, a.seen.spread
    if spread.covariance is None or spread.mean is None:
        return []
    away = (rows.scores - spread.mean)[:, :2]
    squares = np.einsum("ni,ij,nj->n", away, np.linalg.pinv(spread.covariance[:2, :2]), away)
    # Less than 1 of as many Gaussian rows in 20 tables is beyond this.
    limit = special.chdtri(2, 0.05 / a.seen.n)
    far = largest(squares, 3, rows.numbers)
    far = far[squares[far] > limit]
    if len(far) == 0:
        return []
    total = int((squares > limit).sum())
    named = [f"{called(a, rows.numbers[i])}, {number(float(np.sqrt(squares[i])), 2)} deviations away" for i in far]
    more = f"; {count(total - len(far), 'more row')} {'is' if total - len(far) == 1 else 'are'} unusually far out"
    return [f"Farthest from the middle: {'; '.join(named)}{more if total > len(far) else ''}."]


def _sample(a: Analysis) -> list[str]:
    seen = a.seen
    if not seen.is_sample:
        return []
    kept = " that keeps the shares of the groups and at least 30 rows of each," if a.groupings else ""
    ends = len(seen.rows) - int(seen.chosen.sum())
    return [
        f"The points are {len(seen.rows):,} of the {seen.n:,} rows: a random sample of {int(seen.chosen.sum()):,}"
        f"{kept} and {ends:,} more rows at the ends of the components and among those that fit worst. The density, the "
        "ellipses and all numbers in this report are of all rows."
    ]


def _supplementary(a: Analysis) -> list[str]:
    if a.opened.supplementary is None:
        return []
    marked = 0 if a.further is None else len(a.further)
    given = a.opened.supplementary.shape[0] or marked
    later = max(given - MOST_FURTHER, 0)
    incomplete = given - later - marked
    sentences = []
    if marked:
        verb = "is" if marked == 1 else "are"
        sentences.append(f"{count(marked, 'supplementary row')} that took no part in the fit {verb} marked.")
    if incomplete:
        verb = "is not shown, since it has" if incomplete == 1 else "are not shown, since they have"
        sentences.append(f"{count(incomplete, 'supplementary row')} {verb} entries that are missing or infinite.")
    if later:
        sentences.append(f"Of {given:,} supplementary rows, only the first {MOST_FURTHER:,} are looked at.")
    return sentences
