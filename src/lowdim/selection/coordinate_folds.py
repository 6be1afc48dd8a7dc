"""Scores of held-out rows of tables with fewer rows than columns, in coordinates of the rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from .._xp import to_numpy
from ..reading import summarize
from ..sources import ArraySource, BesideSource
from ..summaries import Moments
from .coordinates import Frame, UsedRows
from .fold_run import FoldRun, Scores, is_replaced, score_pairs
from .folds import split_summaries, summarize_by_label, tables_in
from .protocol import HeldOutScorer

#: Products of rows about a point have lost too many digits if less than this share of the squares is variance.
_NEAR = 1e-6


class CoordinateFolds:
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
        self._replaced = tuple(is_replaced(t.source, n, r) for t, r in zip(self._tables, scorer.rotates, strict=True))
        self._scaled = [r and s for r, s in zip(self._replaced, scorer.scaled, strict=True)]
        self._width = max(int(run.counts[-1]), 1)
        self._splits = [(train[used], test[used]) for train, test in run.folds.split_weights(run.weights)]

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
        found = score_pairs(all_pairs, self._run)
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
