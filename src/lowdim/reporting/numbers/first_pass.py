"""The first pass over the rows: counts, means, deviations and ranges of the columns, and moments of pieces of the rows.

Rows in memory can be read as often as is wanted. Of all others, this pass keeps what the report needs beside the map:
the moments of about a hundred pieces of the rows. Merged, they give the components and all rules for their
number; merged in folds, the cross-validation; drawn with replacement, the bootstrap.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._xp import to_numpy
from ...errors import MissingValues, too_large
from ...reading import summarize
from ...sources import ArraySource, BesideSource, Source
from ...summaries import Labelled, Moments, Observed, Summary
from ...summaries.base import union
from .looking import Chosen, Ranges, Together

#: The number of pieces, the number below which there are too few of them, and the memory that they may take.
_PIECES, _FEWEST, _BYTES = 100, 20, 1 << 30
#: The number of runs of rows that the pieces consist of, and the largest number of rows of one.
_RUNS, _RUN = 10_000, 250
#: The size of the sample of rows that are not in memory: this many rows, in at most so many bytes, but not fewer rows
#: than the last number.
_SAMPLED, _SAMPLE_BYTES, _FEWEST_SAMPLED = 20_000, 64 << 20, 500


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
    #: Whether all observed entries of a column are whole numbers, and whether it grows by one from row to row.
    whole: np.ndarray
    numbering: np.ndarray
    #: A random sample of the rows, in the order of the table; all rows if they are in memory.
    sample: np.ndarray
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
        return _of_array(rows, weights)
    n, p = rows.shape
    passes = 1
    if n is None:
        n = summarize(rows, Observed(p)).n_rows
        passes = 2
    look = [Ranges(p, numbered=True), Chosen(p, _sampled(n, p, seed))]
    count = min(_PIECES, _BYTES // (16 * p * p))
    if count < _FEWEST:
        return _without_pieces(rows, n, weights, look, passes)
    try:
        pieces, ranges, sample = _read(rows, n, [_empty_pieces(n, p, count, seed), *look], weights)
    except MissingValues:
        return _without_pieces(rows, n, weights, look, passes + 1)
    found = [part for part in pieces.parts[0] if part.weight > 0]
    total = union(found)
    squares = np.diagonal(to_numpy(total.scatter))
    return FirstPass(
        n=n,
        observed=np.full(p, n),
        mean=to_numpy(total.mean),
        deviation=np.sqrt(squares / max(total.weight - 1, 1)),
        low=ranges.low,
        high=ranges.high,
        whole=ranges.whole,
        numbering=ranges.numbering(n),
        sample=sample.rows(),
        pieces=found,
        passes=passes,
    )


def pieces_of(rows: Source, n: int, weights: np.ndarray | None, seed: int) -> list[Moments] | None:
    """Moments of the pieces of complete rows, from a pass of its own; None if there are too many columns."""
    p = rows.shape[1]
    count = min(_PIECES, _BYTES // (16 * p * p))
    if count < _FEWEST:
        return None
    (pieces,) = _read(rows, n, [_empty_pieces(n, p, count, seed)], weights)
    return [part for part in pieces.parts[0] if part.weight > 0]


class NumberedPieces(Labelled[Moments]):
    """Moments of pieces of the rows, whose numbers are in the last column: row i belongs to piece `labels[i]`."""

    options = ("labels",)

    def __init__(self, like: Moments, counts: Sequence[int], labels: np.ndarray) -> None:
        super().__init__(like, counts)
        self.labels = labels

    def _split(self, block: Any) -> tuple[Any, np.ndarray]:
        rows, numbers = super()._split(block)
        return rows, self.labels[numbers]


def _empty_pieces(n: int, p: int, count: int, seed: int) -> NumberedPieces:
    labels = _labels(n, count, seed)
    return NumberedPieces(Moments(p, wide=True), [count], labels)


def _sampled(n: int, p: int, seed: int) -> np.ndarray:
    """The numbers of the rows of the sample."""
    size = min(n, max(min(_SAMPLED, _SAMPLE_BYTES // (8 * p)), _FEWEST_SAMPLED))
    # Not the random numbers that cut the rows into pieces.
    return np.sort(np.random.default_rng([seed, 1]).choice(n, size, replace=False, shuffle=False))


def _read(rows: Source, n: int, parts: Sequence[Summary], weights: np.ndarray | None) -> Any:
    """The summaries after one pass over the rows, which come with their numbers in a last column."""
    numbers = ArraySource(np.arange(n, dtype=np.float64)[:, None])
    numbers.table = "the numbers of the rows"
    return summarize(BesideSource([rows, numbers]), Together(parts), weights=weights).parts


def _labels(n: int, count: int, seed: int) -> np.ndarray:
    """The piece of each row. Pieces consist of runs of consecutive rows, at most `_RUN` long, from all over the table.

    Short runs of few rows would be random, but a product of many rows takes less time than many products of few.
    """
    run = min(max(1, n // _RUNS), _RUN)
    order = np.random.default_rng(seed).permutation(count)
    return np.asarray(order[(np.arange(n) // run) % count])


def _of_array(rows: Source, weights: np.ndarray | None) -> FirstPass:
    (X,) = rows.blocks(int(rows.shape[0] or 1))
    (ranges,) = _read(rows, len(X), [Ranges(X.shape[1], numbered=True)], None)
    known = ~np.isnan(X)
    each = np.ones(len(X)) if weights is None else weights
    observed = known.sum(axis=0)
    weight = each @ known
    some = np.where(weight > 0, weight, 1.0)
    with np.errstate(over="ignore", invalid="ignore"):
        mean = each @ np.where(known, X, 0.0) / some
        # A second sum about the mean: an offset costs no digits.
        mean = mean + each @ np.where(known, X - mean, 0.0) / some
        squares = each @ np.where(known, X - mean, 0.0) ** 2
    if not np.isfinite(squares).all():
        j = int(np.argmin(np.isfinite(squares)))
        row = int(np.nanargmax(np.abs(X[:, j])))
        raise too_large(f"row {row}", j, X[row, j], rows.names)
    nothing = observed == 0
    return FirstPass(
        n=len(X),
        observed=observed,
        mean=np.where(nothing, np.nan, mean),
        deviation=np.where(nothing, np.nan, np.sqrt(squares / np.maximum(weight - 1, 1))),
        low=np.where(nothing, np.nan, ranges.low),
        high=np.where(nothing, np.nan, ranges.high),
        whole=ranges.whole,
        numbering=ranges.numbering(len(X)),
        sample=X,
        pieces=None,
        passes=1,
    )


def _without_pieces(
    rows: Source, n: int, weights: np.ndarray | None, look: Sequence[Summary], passes: int
) -> FirstPass:
    """From one pass for the columns alone, in which entries may be missing."""
    p = rows.shape[1]
    observed, ranges, sample = _read(rows, n, [Observed(p + 1), *look], weights)
    count, squares = to_numpy(observed.count)[:p], to_numpy(observed.squares)[:p]
    nothing = count == 0
    return FirstPass(
        n=observed.n_rows,
        observed=ranges.count,
        mean=np.where(nothing, np.nan, to_numpy(observed.mean)[:p]),
        deviation=np.where(nothing, np.nan, np.sqrt(squares / np.maximum(count - 1, 1))),
        low=np.where(nothing, np.nan, ranges.low),
        high=np.where(nothing, np.nan, ranges.high),
        whole=ranges.whole,
        numbering=ranges.numbering(n),
        sample=sample.rows(),
        pieces=None,
        passes=passes,
    )


def moments_of(moments: Moments, columns: np.ndarray, names: Sequence[str] | None = None) -> Moments:
    """The moments of some of the columns."""
    found = Moments(len(columns), wide=True)
    found.n_rows, found.weight = moments.n_rows, moments.weight
    found.mean, found.rest = to_numpy(moments.mean)[columns], to_numpy(moments.rest)[columns]
    found.scatter = to_numpy(moments.scatter)[np.ix_(columns, columns)]
    found.names = names
    return found
