"""What a cross-validation scores, the job that it is planned for, and its result."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any

import numpy as np

from .._blas import available
from .._memory import memory_bytes
from .._threads import check_stop, run_in_parallel
from ..errors import LowdimWarning, without_warnings
from ..solvers.base import Job
from ..sources import Source, in_order
from .folds import Folds, tables_in
from .protocol import HeldOutScorer, HeldOutScores

#: The fraction of memory that the summaries of all folds, and merges of them, may take.
_SHARE = 0.5

#: Splits that are scored at a time, for each thread.
_AT_A_TIME = 8

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
        able = [] if n is None else [is_replaced(m, n, t) for m, t in zip(members, scorer.rotates, strict=False)]
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
            # Scores of other models compare arrays, which have an order.
            refits=scorer.refits and (in_order(self.source) or scorer.takes_nan),
        )


def is_replaced(member: Source, n: int, rotates: bool) -> bool:
    """Whether the columns of a table are replaced by coordinates."""
    return rotates and n < member.shape[1]


def score_pairs(pairs: Any, run: FoldRun) -> Scores:
    """Scores of each split and setting; each split runs in its own thread with a single-threaded BLAS."""

    def score(pair: tuple[list[HeldOutScorer], Any, Any], tick: Any) -> list[HeldOutScores]:
        tick()
        scorers, train, test = pair
        return [scorer.scores(train, test, run.counts) for scorer in scorers]

    # The same warning for each fold would not be helpful.
    with without_warnings(LowdimWarning), np.errstate(all="ignore"):
        threads = available()
        if threads == 1:
            return [score(pair, check_stop) for pair in pairs]
        found: Scores = []
        waiting = iter(pairs)
        # Summaries of many splits need not be in memory at the same time.
        while some := list(islice(waiting, _AT_A_TIME * threads)):
            found += run_in_parallel([partial(score, pair) for pair in some], n_threads=threads)
        return found
