"""The ways to score the rows that are left out of a cross-validation, and their table.

`SummaryFolds` merges summaries of the folds, which have p x p numbers. `GramFolds` starts from the inner products of
the rows, which are n x n, and scores coordinates of the rows (`coordinates.py`). `RefitFolds` fits the rows of each
split. They are chosen like solvers, by their cost.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from .._memory import memory_bytes
from ..errors import LowdimWarning, NonFiniteBlock, needs_memory, needs_second_reading, no_order, without_warnings
from ..solvers.base import EIGH_WORK, AnySolver, Cost
from ..summaries.base import union
from .coordinate_folds import CoordinateFolds
from .fold_run import FoldJob, FoldResult, FoldRun, Scores, score_pairs
from .folds import split_summaries, tables_in
from .protocol import HeldOutScores

#: Fits to rows are considered if there are at least this many times as many columns as rows.
_WIDE = 2.0


class FoldScores(AnySolver):
    """A way to score held-out rows."""

    #: Whether a summary of all rows is made by the way, from which a model can be fitted.
    makes_summary: ClassVar[bool] = False

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
    makes_summary = True
    fine: bool = False

    def score(self, run: FoldRun) -> FoldResult:
        like = run.scorers[0].summary(run.source, self.fine)
        parts = run.folds.summarize(run.source, like, run.weights)
        return FoldResult(_score_parts(run, parts), union(parts[0]) if run.folds.uses_all(run.weights) else None)

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
            each = CoordinateFolds(some, self.fine or narrow).scores()
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
        if job.traits.engine is not None and not job.traits.engine.ordered:
            return no_order("inner products of rows")
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
            for train, test in run.folds.split_weights(run.weights):
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


def _score_parts(run: FoldRun, parts: list[list[Any]]) -> Scores:
    """Scores of each split and setting, from the summaries of all cells."""
    try:
        pairs = [(run.scorers, *pair) for pair in split_summaries(parts, run.folds)]
    except NonFiniteBlock as error:
        # The sums of squares of each fold are finite, but their total overflows.
        raise ValueError(str(error)) from None
    return score_pairs(pairs, run)
