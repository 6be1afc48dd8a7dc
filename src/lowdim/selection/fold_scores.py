"""The ways to score the rows that are left out of a cross-validation, and their table.

`SummaryFolds` merges summaries of the folds, which have p x p numbers. `GramFolds` starts from the inner products of
the rows, which are n x n, and scores coordinates of the rows (`coordinates.py`). `RefitFolds` fits the rows of each
split. They are chosen like solvers, by their cost.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from .._blas import available
from .._memory import memory_bytes
from .._threads import check_stop, run_in_parallel
from .._xp import to_numpy
from ..errors import LowdimWarning, NonFiniteBlock, needs_memory, needs_second_reading, without_warnings
from ..reading import summarize
from ..solvers.base import EIGH_WORK, AnySolver, Cost, Job
from ..sources import ArraySource, BesideSource, Source
from ..summaries import Moments
from ..summaries.base import union
from .coordinates import Frame, UsedRows
from .folds import Folds, split_summaries, summarize_by_label, tables_in
from .protocol import HeldOutScorer, HeldOutScores

#: The fraction of memory that the summaries of all folds, and merges of them, may take.
_SHARE = 0.5
#: Fits to rows are considered if there are at least this many times as many columns as rows.
_WIDE = 2.0

#: Products of rows about a point have lost too many digits if less than this share of the squares is variance.
_NEAR = 1e-6

Scores = list[list[HeldOutScores]]


@dataclass(frozen=True)
class FoldResult:
    """Scores of each split and setting, and a summary of all rows, if one was made."""

    scores: Scores
    total: Any = None

    @property
    def resolved(self) -> bool:
        """Whether all scores are accurate."""
        return all(each.resolved for row in self.scores for each in row)


@dataclass(frozen=True)
class FoldJob(Job):
    """The job of scoring held-out rows: `p` counts the columns of all tables."""

    widths: tuple[int, ...] = ()
    #: The width of each table if columns are replaced by coordinates where the scorer allows it; None if nothing is.
    reduced: tuple[int, ...] | None = None
    #: The number of cells, of splits, and of models that are solved for each split.
    cells: int = 1
    splits: int = 1
    n_fits: int = 1
    #: The columns of reduced tables are divided by their standard deviations over the training rows.
    scaled: bool = False
    #: Whether held-out rows can be scored from summaries, and from finer ones.
    from_summaries: tuple[bool, bool] = (True, True)
    #: Whether models can be fitted to the rows of each split.
    refits: bool = True

    @property
    def memory(self) -> int:
        have = memory_bytes()
        return max(1, int(_SHARE * have)) if have else 0


@dataclass(frozen=True)
class FoldRun:
    """What is scored: the models, the rows, the folds, the weights of the rows, and the numbers of components."""

    scorers: list[HeldOutScorer]
    source: Source
    folds: Folds
    weights: Any
    counts: np.ndarray
    #: X and y, for fits to rows.
    tables: tuple[Any, Any]

    def job(self) -> FoldJob:
        """The job that a plan is made for."""
        n, p = self.source.shape
        scorer, members = self.scorers[0], tables_in(self.source)
        able = [] if n is None else [_turns(m, n, t) for m, t in zip(members, scorer.rotates, strict=False)]
        reduced = [min(n or 0, m.shape[1]) if t else m.shape[1] for m, t in zip(members, able, strict=False)]
        scaled = any(t and s for each in self.scorers for t, s in zip(able, each.scaled, strict=False))
        return FoldJob(
            n=n,
            p=p,
            k=None,
            traits=self.source.traits,
            widths=tuple(m.shape[1] for m in members),
            reduced=tuple(reduced) if any(able) else None,
            cells=sum(self.folds.counts),
            splits=len(self.folds.splits),
            n_fits=len(self.counts) if scorer.fits_each_count else 1,
            scaled=scaled,
            from_summaries=(
                scorer.summary(self.source, False) is not None,
                scorer.summary(self.source, True) is not None,
            ),
            refits=scorer.refits,
        )

    def split_weights(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """For each split the weights of the training rows and those of the held-out rows."""
        weights = np.ones(len(self.folds.labels)) if self.weights is None else to_numpy(self.weights).astype(np.float64)
        for split in self.folds.splits:
            column = self.folds.labels[:, split.labelling]
            yield weights * np.isin(column, split.train), weights * np.isin(column, split.test)


def _turns(member: Source, n: int, rotates: bool) -> bool:
    """Whether the columns of a table are replaced by coordinates."""
    return rotates and n < member.shape[1]


class FoldScores(AnySolver):
    """A way to score held-out rows."""

    @abstractmethod
    def score(self, run: FoldRun) -> FoldResult:
        """The scores of each split and setting."""

    def passes(self, run: FoldRun) -> int:
        """How often `score` reads the rows."""
        return 1

    def too_large(self, job: FoldJob, n_bytes: int) -> MemoryError:
        advice = "Pass rows that can be read again, such as an array, or use fewer columns."
        return needs_memory(f"a cross-validation of {job.p} columns", n_bytes, memory_bytes(), advice)


@dataclass(frozen=True)
class SummaryFolds(FoldScores):
    """From one summary for each fold, of p x p numbers: the model without a fold is solved from the merged others.

    With `fine`, the summaries are triangles, which do not square the entries.
    """

    name = "summaries"
    fine: bool = False

    def score(self, run: FoldRun) -> FoldResult:
        like = run.scorers[0].summary(run.source, self.fine)
        parts = summarize_by_label(run.source, like, run.folds.labels, run.folds.counts, run.weights)
        left_out = run.folds.labels[:, 0] < 0
        missing = left_out if run.weights is None else left_out & (to_numpy(run.weights) > 0)
        return FoldResult(_score_parts(run, parts), None if np.any(missing) else union(parts[0]))

    def cost(self, job: FoldJob) -> Cost:
        n, p = job.rows, job.p
        work = n * p * p + job.splits * job.n_fits * EIGH_WORK * p**3
        why = "one pass over the rows gives summaries of all folds"
        return Cost(work, 1, 8 * p * p * (2 * job.cells + 4), why)

    def refusal(self, job: FoldJob) -> Exception | None:
        if not job.from_summaries[self.fine]:
            return ValueError("the held-out rows of this model cannot be scored from summaries.")
        return super().refusal(job)

    def finer(self, job: FoldJob) -> FoldScores | None:
        return None if self.fine else SummaryFolds(fine=True)


@dataclass(frozen=True)
class GramFolds(FoldScores):
    """From the inner products of all rows: each split is a choice of rows of n x n coordinates.

    One pass over the columns, n^2 p multiplications. If columns are divided by the standard deviations of the training
    rows, each split has its own products: n^2 p multiplications for each, still in one pass. With `fine`, the
    coordinates come from QR decompositions, so that nothing is squared.
    """

    name = "gram"
    one_pass = False
    fine: bool = False

    def score(self, run: FoldRun) -> FoldResult:
        found: dict[int, list[HeldOutScores]] = {}
        groups: dict[tuple[bool, ...], list[int]] = {}
        for i, scorer in enumerate(run.scorers):
            groups.setdefault(tuple(scorer.scaled), []).append(i)
        for which in groups.values():
            some = replace(run, scorers=[run.scorers[i] for i in which])
            # Products of float32 rows would be no more accurate than the rows.
            narrow = any(member.traits.itemsize < 8 for member in tables_in(run.source))
            each = _CoordinateFolds(some, self.fine or narrow).scores()
            for j, i in enumerate(which):
                found[i] = [row[j] for row in each]
        return FoldResult([list(row) for row in zip(*(found[i] for i in range(len(run.scorers))), strict=True)])

    def cost(self, job: FoldJob) -> Cost:
        n = job.rows
        widths = job.widths if job.reduced is None else job.reduced
        replaced = sum(p for p, r in zip(job.widths, widths, strict=True) if r < p)
        width = sum(widths)
        # Streams, which cannot be read by columns, are gathered.
        gathered = 0 if job.traits.whole else 8 * n * job.p
        products = n * n * replaced * (job.splits if job.scaled else 1)
        why = f"inner products are cheapest for {n} rows of {job.p} columns"
        return Cost(
            products + n * width**2 + job.splits * job.n_fits * EIGH_WORK * width**3,
            1,
            8 * width * width * (2 * job.cells + 4) + gathered,
            why,
        )

    def refusal(self, job: FoldJob) -> Exception | None:
        if job.reduced is None or not job.from_summaries[self.fine]:
            return ValueError("the held-out rows cannot be scored from inner products.")
        return super().refusal(job)

    def finer(self, job: FoldJob) -> FoldScores | None:
        return None if self.fine else GramFolds(fine=True)


@dataclass(frozen=True)
class RefitFolds(FoldScores):
    """From fits to the rows of each split, in which held-out rows have weight zero."""

    name = "refit"
    one_pass = False

    def score(self, run: FoldRun) -> FoldResult:
        found = []
        with without_warnings(LowdimWarning), np.errstate(all="ignore"):
            for train, test in run.split_weights():
                each = [scorer.refit_scores(*run.tables, train, test, run.counts) for scorer in run.scorers]
                found.append([HeldOutScores(scores, True) for scores in each])
        return FoldResult(found)

    def passes(self, run: FoldRun) -> int:
        return len(run.folds.splits) * len(run.scorers)

    def cost(self, job: FoldJob) -> Cost:
        n, p = job.rows, job.p
        why = "the rows of each split are fitted, since summaries of the folds would cost more"
        return Cost(job.splits * job.n_fits * EIGH_WORK * n * n * p, job.splits, 0, why)

    def refusal(self, job: FoldJob) -> Exception | None:
        if not job.refits:
            return ValueError("these scores come from summaries only.")
        return None if job.traits.rereadable else needs_second_reading("for fits without a part of the rows")

    def is_sensible(self, job: FoldJob) -> bool:
        widths = job.widths if job.reduced is None else job.reduced
        return job.n is not None and sum(widths) >= _WIDE * job.n * len(widths)


#: The ways to score held-out rows, by name.
FOLD_SCORES: dict[str, type[FoldScores]] = {cls.name: cls for cls in (SummaryFolds, GramFolds, RefitFolds)}


class _CoordinateFolds:
    """Scores of scorers that standardize the same tables, in coordinates of the rows."""

    def __init__(self, run: FoldRun, fine: bool) -> None:
        self._run, self._fine = run, fine
        labels = run.folds.labels
        used = np.any(labels >= 0, axis=1)
        if run.weights is not None:
            used &= to_numpy(run.weights) > 0
        self._labels = labels[used]
        self._weights = None if run.weights is None else to_numpy(run.weights).astype(np.float64)[used]
        self._tables = [UsedRows(member, used) for member in tables_in(run.source)]
        scorer, n = run.scorers[0], len(labels)
        self._replaced = tuple(_turns(t.source, n, r) for t, r in zip(self._tables, scorer.rotates, strict=True))
        self._scaled = [r and s for r, s in zip(self._replaced, scorer.scaled, strict=True)]
        self._width = max(int(run.counts[-1]), 1)
        self._splits = [(train[used], test[used]) for train, test in run.split_weights()]

    def scores(self) -> Scores:
        frames = self._frames()
        fixed = [None if scaled else self._columns(i) for i, scaled in enumerate(self._scaled)]
        like = None if any(self._scaled) else self._scorers(frames[0])[0].summary(_beside(fixed), self._fine)
        if isinstance(like, Moments):
            parts = summarize_by_label(_beside(fixed), like, self._labels, self._run.folds.counts, self._weights)
            pairs = split_summaries(parts, self._run.folds)
            all_pairs: Any = [(self._scorers(f), *pair) for f, pair in zip(frames, pairs, strict=True)]
        else:
            all_pairs = self._pairs(fixed, frames)
        found = _score_pairs(all_pairs, self._run)
        shared = [A for A, r in zip(fixed, self._replaced, strict=True) if r and A is not None]
        if self._fine or all(self._is_near(A) for A in shared):
            return found
        return [[replace(each, resolved=False) for each in row] for row in found]

    def _is_near(self, A: np.ndarray) -> bool:
        """Whether the training rows of each split are near the mean of all rows, about which the products were taken.

        If the held-out rows lie far away from the training rows, the differences between the latter lose digits.
        """
        squares = np.einsum("ij,ij->i", A, A)
        for train, _ in self._splits:
            mean, total = train @ A, float(train @ squares)
            if total - float(mean @ mean) / float(train.sum()) < _NEAR * total:
                return False
        return True

    def _pairs(self, fixed: list[np.ndarray | None], frames: list[Frame]) -> Iterator[Any]:
        """The scorers and the summaries of each split, whose coordinates are its own if columns are standardized."""
        training = np.stack([train for train, _ in self._splits])
        ddof = self._run.scorers[0].ddof
        own = {
            i: self._tables[i].standardized(training, ddof, self._width, self._fine)
            for i, scaled in enumerate(self._scaled)
            if scaled
        }
        for (train, test), frame in zip(self._splits, frames, strict=True):
            tables = list(fixed)
            for i, coordinates in own.items():
                tables[i], log_scale = next(coordinates)
                if i == 0:
                    frame = replace(frame, log_scale=log_scale)
            source, scorers = _beside(tables), self._scorers(frame)
            like = scorers[0].summary(source, self._fine)
            yield scorers, summarize(source, like.fresh(), weights=train), summarize(source, like, weights=test)

    def _scorers(self, frame: Frame) -> list[HeldOutScorer]:
        return [scorer.in_coordinates(frame) for scorer in self._run.scorers]

    def _columns(self, i: int) -> np.ndarray:
        """The coordinates of table i, or its columns, if they are not replaced."""
        table = self._tables[i]
        return table.coordinates(self._width, self._fine) if self._replaced[i] else table.dense()

    def _frames(self) -> list[Frame]:
        """What the scorers of each split need to know about the columns of the first table."""
        first = self._tables[0]
        if not self._run.scorers[0].leaves_out_constant:
            return [Frame(self._replaced, first.p)] * len(self._splits)
        groups = [(train > 0) | (test > 0) for train, test in self._splits]
        distinct = {group.tobytes(): group for group in groups}
        counts = dict(zip(distinct, first.count_varying(list(distinct.values())), strict=True))
        return [Frame(self._replaced, counts[group.tobytes()]) for group in groups]


def _beside(tables: Any) -> BesideSource:
    """Tables in memory, side by side."""
    return BesideSource([ArraySource(np.ascontiguousarray(A)) for A in tables])


def _score_parts(run: FoldRun, parts: list[list[Any]]) -> Scores:
    """Scores of each split and setting, from the summaries of all cells."""
    try:
        pairs = [(run.scorers, *pair) for pair in split_summaries(parts, run.folds)]
    except NonFiniteBlock as error:
        # The sums of squares of each fold are finite, but their total overflows.
        raise ValueError(str(error)) from None
    return _score_pairs(pairs, run)


def _score_pairs(pairs: Any, run: FoldRun) -> Scores:
    """Scores of each split and setting; each split runs in its own thread with a single-threaded BLAS."""

    def score(pair: tuple[list[HeldOutScorer], Any, Any], tick: Any) -> list[HeldOutScores]:
        tick()
        scorers, train, test = pair
        return [scorer.scores(train, test, run.counts) for scorer in scorers]

    # The same warning for each fold would not be helpful.
    with without_warnings(LowdimWarning), np.errstate(all="ignore"):
        if available() == 1:
            return [score(pair, check_stop) for pair in pairs]
        return list(run_in_parallel([partial(score, pair) for pair in pairs], n_threads=available()))
