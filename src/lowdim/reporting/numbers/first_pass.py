"""The first pass over the rows: counts, means, deviations and ranges of the columns, and moments of pieces of the rows.

Rows in memory can be read as often as is wanted. Of all others, this pass keeps what the report needs beside the map:
the moments of about a hundred random pieces of the rows. Merged, they give the components and all rules for their
number; merged in folds, the cross-validation; drawn with replacement, the bootstrap.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from ..._xp import dense, to_numpy
from ...errors import MissingValues, NonFiniteBlock
from ...reading import summarize
from ...sources import ArraySource, BesideSource, Source
from ...summaries import Labelled, Moments, Observed, Summary
from ...summaries.base import Changes, Layout, check_columns, union

#: The number of pieces, the number below which there are too few of them, and the memory that they may take.
_PIECES, _FEWEST, _BYTES = 100, 20, 1 << 30


@dataclass(frozen=True)
class FirstPass:
    """What is known of the columns; entries are NaN where nothing was observed."""

    n: int
    #: The number of entries of each column that are not missing.
    observed: np.ndarray
    mean: np.ndarray
    #: Standard deviations with divisor n - 1.
    deviation: np.ndarray
    low: np.ndarray
    high: np.ndarray
    #: Moments of the pieces of the rows; None if the rows are in memory, if entries are missing, or if there are too
    #: many columns.
    pieces: list[Moments] | None
    #: How often the rows were read.
    passes: int

    @property
    def missing(self) -> np.ndarray:
        """The number of missing entries of each column."""
        return self.n - self.observed


def first_pass(rows: Source, held: bool, weights: np.ndarray | None, seed: int) -> FirstPass:
    """Read the rows once; twice if their number is not known beforehand, or if entries are missing."""
    if held:
        return _of_array(next(rows.blocks(int(rows.shape[0] or 1))))
    n, p = rows.shape
    passes = 1
    if n is None:
        n = summarize(rows, Observed(p)).n_rows
        passes = 2
    count = min(_PIECES, _BYTES // (16 * p * p))
    if count < _FEWEST:
        return _without_pieces(rows, weights, passes)
    labels = np.random.default_rng(seed).integers(0, count, n)
    column = ArraySource(labels[:, None].astype(np.float64))
    column.table = "the labels"
    both = Together([Labelled(Moments(p, wide=True), [count]), Ranges(p + 1)])
    try:
        pieces, ranges = summarize(BesideSource([rows, column]), both, weights=weights).parts
    except MissingValues:
        return _without_pieces(rows, weights, passes + 1)
    found = [part for part in pieces.parts[0] if part.weight > 0]
    total = union(found)
    squares = np.diagonal(to_numpy(total.scatter))
    return FirstPass(
        n=n,
        observed=np.full(p, n),
        mean=to_numpy(total.mean),
        deviation=np.sqrt(squares / max(total.weight - 1, 1)),
        low=ranges.low[:p],
        high=ranges.high[:p],
        pieces=found,
        passes=passes,
    )


def _of_array(X: np.ndarray) -> FirstPass:
    known = ~np.isnan(X)
    observed = known.sum(axis=0)
    some = np.maximum(observed, 1)
    filled = np.where(known, X, 0.0)
    mean = filled.sum(axis=0) / some
    # A second sum about the mean: an offset costs no digits.
    mean = mean + np.where(known, X - mean, 0.0).sum(axis=0) / some
    squares = (np.where(known, X - mean, 0.0) ** 2).sum(axis=0)
    nothing = observed == 0
    return FirstPass(
        n=len(X),
        observed=observed,
        mean=np.where(nothing, np.nan, mean),
        deviation=np.where(nothing, np.nan, np.sqrt(squares / np.maximum(observed - 1, 1))),
        low=np.where(nothing, np.nan, np.where(known, X, np.inf).min(axis=0)),
        high=np.where(nothing, np.nan, np.where(known, X, -np.inf).max(axis=0)),
        pieces=None,
        passes=1,
    )


def _without_pieces(rows: Source, weights: np.ndarray | None, passes: int) -> FirstPass:
    """From one pass for the columns alone, in which entries may be missing."""
    p = rows.shape[1]
    observed, ranges = summarize(rows, Together([Observed(p), Ranges(p)]), weights=weights).parts
    count = to_numpy(observed.count)
    nothing = count == 0
    return FirstPass(
        n=observed.n_rows,
        observed=ranges.count,
        mean=np.where(nothing, np.nan, to_numpy(observed.mean)),
        deviation=np.where(nothing, np.nan, np.sqrt(to_numpy(observed.squares) / np.maximum(count - 1, 1))),
        low=np.where(nothing, np.nan, ranges.low),
        high=np.where(nothing, np.nan, ranges.high),
        pieces=None,
        passes=passes,
    )


class Ranges(Summary):
    """The smallest and largest observed entry of each column, and the number of observed entries."""

    parameters = ("n_features",)
    state = ("n_features", "low", "high", "count")
    takes_nan = True

    def __init__(self, n_features: int) -> None:
        self.n_features = int(n_features)
        self.low = np.full(self.n_features, np.inf)
        self.high = np.full(self.n_features, -np.inf)
        self.count = np.zeros(self.n_features, dtype=np.int64)

    def _updated(self, block: Any, weights: Any) -> Changes:
        check_columns(self.n_features, block)
        X = to_numpy(dense(block))
        if np.isinf(X).any():
            raise NonFiniteBlock
        known = ~np.isnan(X)
        low, high = np.where(known, X, np.inf).min(axis=0), np.where(known, X, -np.inf).max(axis=0)
        return self._with(low, high, known.sum(axis=0))

    def _merged(self, other: Self) -> Changes:
        return self._with(other.low, other.high, other.count)

    def _with(self, low: np.ndarray, high: np.ndarray, count: np.ndarray) -> Changes:
        return {
            "low": np.minimum(self.low, low),
            "high": np.maximum(self.high, high),
            "count": self.count + count,
        }

    def _layout(self) -> Layout:
        return {"n_features": (), **dict.fromkeys(("low", "high", "count"), (self.n_features,))}


class Together(Summary):
    """Several summaries of the same rows, for one pass."""

    parameters = ()
    state = ("parts",)

    def __init__(self, parts: Sequence[Summary]) -> None:
        self.parts: Any = [part.fresh() for part in parts]
        self.takes_nan = all(part.takes_nan for part in parts)  # type: ignore[misc] # depends on the parts

    def _empty(self) -> Self:
        return type(self)(self.parts)

    def _updated(self, block: Any, weights: Any) -> Changes:
        return {str(i): part._changes_from(block, weights) for i, part in enumerate(self.parts)}

    def _merged(self, other: Self) -> Changes:
        return {str(i): part._merged(other.parts[i]) for i, part in enumerate(self.parts)}

    def _change(self, changes: Changes) -> None:
        for i, of_part in changes.items():
            self.parts[int(i)]._change(of_part)

    def snapshot(self) -> Self:
        twin = super().snapshot()
        twin.parts = [part.snapshot() for part in self.parts]
        return twin

    def block_rows(self, n_columns: int, itemsize: int, stored: float = 1.0) -> int:
        return min(part.block_rows(n_columns, itemsize, stored) for part in self.parts)

    def _layout(self) -> Layout:
        return {}


def moments_of(moments: Moments, columns: np.ndarray, names: Sequence[str] | None = None) -> Moments:
    """The moments of some of the columns."""
    found = Moments(len(columns), wide=True)
    found.n_rows, found.weight = moments.n_rows, moments.weight
    found.mean, found.rest = to_numpy(moments.mean)[columns], to_numpy(moments.rest)[columns]
    found.scatter = to_numpy(moments.scatter)[np.ix_(columns, columns)]
    found.names = names
    return found
