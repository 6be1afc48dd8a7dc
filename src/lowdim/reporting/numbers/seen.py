"""The second pass over the rows: the points of the map, the rows at the ends, and what is known of all rows of a group.

The statistics are those of all rows. The points of the map are all rows of a small table; of a large one, they are a
random sample that keeps the groups, and the rows at the ends.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Self

import numpy as np

from ..._xp import dense, to_numpy
from ...errors import NonFiniteBlock
from ...inspect.limits import has_scores
from ...reading import summarize
from ...sources import ArraySource, BesideSource, Source
from ...summaries import Labelled, Moments, Summary
from ...summaries.base import Changes, Layout, check_columns
from .arrays import floats
from .groupings import Grouping
from .scoring import Scoring, SomeRows

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
        for column, count in zip(codes.T, self.counts, strict=True):
            found += np.bincount(column[outside & (column >= 0)], minlength=count).tolist()
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
