"""The first pass over the rows: counts, means, deviations and ranges of the columns, and samples of the rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import InitVar, dataclass
from typing import Any, Self

import numpy as np

from .._core.arrays import dense, to_numpy
from ..errors import MissingValues, NonFiniteBlock, too_large
from ..reading.summarizing import summarize
from ..sources.array import ArraySource
from ..sources.base import Source
from ..sources.beside import BesideSource
from ..summaries.base import Changes, Summary, union
from ..summaries.labelled import Labelled
from ..summaries.latent import Observed
from ..summaries.moments import Moments

# Summaries that are made for one pass over a table whose rows come with their numbers.


class PassSummary(Summary):
    """A summary that is used for one pass, and never stored."""

    state = {}

    def _sizes(self) -> dict[str, int]:
        return {}


class Ranges(PassSummary):
    """Of the observed entries of each column: how many there are, the smallest and the largest, and whether all are
    whole numbers; and the smallest and the largest difference from the numbers of the rows, which are equal for a
    column that counts the rows.

    Parameters
    ----------
    n_features : int
        The number of columns, without the last one, which holds the numbers of the rows.
    """

    #: How the facts of two parts of the rows are put together.
    _joins = {
        "low": np.minimum,
        "high": np.maximum,
        "count": np.add,
        "whole": np.logical_and,
        "least": np.minimum,
        "most": np.maximum,
    }
    parameters = ("n_features",)
    takes_nan = True

    def __init__(self, n_features: int) -> None:
        self.n_features = int(n_features)
        self.low, self.high = np.full(self.n_features, np.inf), np.full(self.n_features, -np.inf)
        self.count = np.zeros(self.n_features, dtype=np.int64)
        self.whole = np.ones(self.n_features, dtype=bool)
        self.least, self.most = self.low.copy(), self.high.copy()

    def _updated(self, block: Any, weights: Any) -> Changes:
        X, numbers = np.split(to_numpy(dense(block)), [self.n_features], axis=1)
        if np.isinf(X).any():
            raise NonFiniteBlock
        known = ~np.isnan(X)
        low, high = np.where(known, X, np.inf).min(axis=0), np.where(known, X, -np.inf).max(axis=0)
        whole = self.whole.copy()
        some = np.flatnonzero(whole)
        # Most columns are known not to be whole numbers from the first block on.
        whole[some] = np.all((np.floor(X[:, some]) == X[:, some]) | ~known[:, some], axis=0)
        least, most = self.least.copy(), self.most.copy()
        some = np.flatnonzero(self.whole & ((least == most) | (self.count == 0)))
        away = X[:, some] - numbers
        # With a missing entry, a column does not count the rows: NaN is never equal.
        least[some] = np.minimum(least[some], away.min(axis=0))
        most[some] = np.maximum(most[some], away.max(axis=0))
        found = self._empty()
        found._change(
            {"low": low, "high": high, "count": known.sum(axis=0), "whole": whole, "least": least, "most": most}
        )
        return self._merged(found)

    def _merged(self, other: Self) -> Changes:
        return {name: join(getattr(self, name), getattr(other, name)) for name, join in self._joins.items()}

    def numbering(self, n: int) -> np.ndarray:
        """Which columns grow by one from each of the n rows to the next."""
        return self.whole & (self.least == self.most) & (self.count == n) & (n > 1)


class Chosen(PassSummary):
    """The rows with certain numbers. Rows come with their numbers in the column after the last one.

    Parameters
    ----------
    n_features : int
    numbers : array of int
        The numbers of the rows to keep, in order.
    """

    parameters = ("n_features",)
    options = ("numbers",)
    takes_nan = True

    def __init__(self, n_features: int, numbers: np.ndarray) -> None:
        self.n_features, self.numbers = int(n_features), numbers
        self.kept: tuple[tuple[np.ndarray, np.ndarray], ...] = ()

    def _updated(self, block: Any, weights: Any) -> Changes:
        X = to_numpy(dense(block))
        numbers = X[:, self.n_features].astype(np.int64)
        places = np.minimum(np.searchsorted(self.numbers, numbers), len(self.numbers) - 1)
        found = np.flatnonzero(self.numbers[places] == numbers)
        rows = X[found, : self.n_features].astype(np.float64)
        return {"kept": (*self.kept, (numbers[found], rows))}

    def _merged(self, other: Self) -> Changes:
        return {"kept": self.kept + other.kept}

    def rows(self) -> np.ndarray:
        """The rows in the order of their numbers."""
        numbers = np.concatenate([numbers for numbers, _ in self.kept])
        return np.concatenate([rows for _, rows in self.kept])[np.argsort(numbers)]


class Several(PassSummary):
    """Several summaries of the same rows."""

    parameters = ()
    options = ("parts",)

    def __init__(self, parts: Sequence[Summary]) -> None:
        self.parts: Any = [part.fresh() for part in parts]
        self.takes_nan = all(part.takes_nan for part in parts)  # type: ignore[misc] # depends on the parts

    def _updated(self, block: Any, weights: Any) -> Changes:
        return {str(i): part._changes_from(block, weights) for i, part in enumerate(self.parts)}

    def _merged(self, other: Self) -> Changes:
        return {str(i): part._merged(other.parts[i]) for i, part in enumerate(self.parts)}

    def _change(self, changes: Changes) -> None:
        for i, of_part in changes.items():
            self.parts[int(i)]._change(of_part)

    def block_rows(self, n_columns: int, itemsize: int, stored: float = 1.0) -> int:
        return min(part.block_rows(n_columns, itemsize, stored) for part in self.parts)


# The first pass over the rows: counts, means, deviations and ranges of the columns, and moments of pieces of the rows.
#
# Rows in memory can be read as often as is wanted. Of all others, this pass keeps what the report needs beside the map:
# the moments of about a hundred pieces of the rows. Merged, they give the components and all rules for their
# number; merged in folds, the cross-validation; drawn with replacement, the bootstrap.


#: The number of pieces, the number below which there are too few of them, and the memory that they may take.
_PIECES, _FEWEST, _BYTES = 100, 20, 1 << 30
#: The number of runs of rows that the pieces consist of, and the largest number of rows of one.
_RUNS, _RUN = 10_000, 250
#: The size of the sample of rows that are not in memory: this many rows, in at most so many bytes, but not fewer rows
#: than the last number.
_SAMPLED, _SAMPLE_BYTES, _FEWEST_SAMPLED = 20_000, 64 << 20, 500


@dataclass
class ColumnSummary:
    """What is known of the columns; entries are NaN where nothing was observed."""

    #: The number of rows.
    n: int
    #: The number of entries of each column that are not missing.
    observed: np.ndarray
    #: The mean of each column, and its standard deviation with divisor n - 1.
    mean: np.ndarray
    deviation: np.ndarray
    ranges: InitVar[Ranges]
    #: A random sample of the rows, in the order of the table; all rows if they are in memory.
    sample: np.ndarray
    #: How often the rows were read.
    passes: int
    #: Moments of the pieces of the rows; None if the rows are in memory, if entries are missing, or if there are too
    #: many columns.
    pieces: list[Moments] | None = None

    def __post_init__(self, ranges: Ranges) -> None:
        self.mean, self.deviation, self.low, self.high = (
            np.where(self.observed == 0, np.nan, values)
            for values in (self.mean, self.deviation, ranges.low, ranges.high)
        )
        #: Whether all observed entries of a column are whole numbers, and whether it grows by one from row to row.
        self.whole, self.numbering = ranges.whole, ranges.numbering(self.n)

    @property
    def missing(self) -> np.ndarray:
        """The number of missing entries of each column."""
        return self.n - self.observed


def first_pass(rows: Source, held: bool, weights: np.ndarray | None, seed: int) -> ColumnSummary:
    """Read the rows once; twice if their number is not known beforehand, or if entries are missing."""
    if held:
        return _of_array(rows, weights)
    n, p = rows.shape
    passes = 1
    if n is None:
        n = summarize(rows, Observed(p)).n_rows
        passes = 2
    size = min(n, max(min(_SAMPLED, _SAMPLE_BYTES // (8 * p)), _FEWEST_SAMPLED))
    # Not the random numbers that cut the rows into pieces.
    sampled = np.sort(np.random.default_rng([seed, 1]).choice(n, size, replace=False, shuffle=False))
    look = [Ranges(p), Chosen(p, sampled)]
    empty = _empty_pieces(n, p, seed)
    if empty is not None:
        try:
            parts, ranges, sample = _read([rows], n, [empty, *look], weights)
        except MissingValues:
            passes += 1
        else:
            pieces = [part for part in parts.parts[0] if part.weight > 0]
            total = union(pieces)
            deviation = np.sqrt(np.diagonal(to_numpy(total.scatter)) / max(total.weight - 1, 1))
            mean, observed = to_numpy(total.mean), np.full(p, n)
            return ColumnSummary(n, observed, mean, deviation, ranges, sample.rows(), passes, pieces)
    # From one pass for the columns alone, in which entries may be missing.
    sums, ranges, sample = _read([rows], n, [Observed(p + 1), *look], weights)
    count, mean, squares = (to_numpy(each)[:p] for each in (sums.count, sums.mean, sums.squares))
    deviation = np.sqrt(squares / np.maximum(count - 1, 1))
    found = ColumnSummary(n, ranges.count, mean, deviation, ranges, sample.rows(), passes)
    # Rows without weight are not counted.
    found.n = sums.n_rows
    return found


def _of_array(rows: Source, weights: np.ndarray | None) -> ColumnSummary:
    (X,) = rows.blocks(int(rows.shape[0] or 1))
    (ranges,) = _read([rows], len(X), [Ranges(X.shape[1])], None)
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
    deviation = np.sqrt(squares / np.maximum(weight - 1, 1))
    return ColumnSummary(len(X), observed, mean, deviation, ranges, X, 1)


def pieces_of(rows: Source, n: int, weights: np.ndarray | None, seed: int) -> list[Moments] | None:
    """Moments of the pieces of complete rows, from a pass of its own; None if there are too many columns."""
    empty = _empty_pieces(n, rows.shape[1], seed)
    if empty is None:
        return None
    (pieces,) = _read([rows], n, [empty], weights)
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


def _empty_pieces(n: int, p: int, seed: int) -> NumberedPieces | None:
    """Pieces that consist of runs of consecutive rows, at most `_RUN` long, from all over the table; None if there are
    too many columns.

    Short runs of few rows would be random, but a product of many rows takes less time than many products of few.
    """
    count = min(_PIECES, _BYTES // (16 * p * p))
    if count < _FEWEST:
        return None
    run = min(max(1, n // _RUNS), _RUN)
    order = np.random.default_rng(seed).permutation(count)
    return NumberedPieces(Moments(p, wide=True), [count], np.asarray(order[(np.arange(n) // run) % count]))


def _read(sources: Sequence[Source], n: int, parts: Sequence[Summary], weights: np.ndarray | None) -> Any:
    """The summaries after one pass over the rows, which come with their numbers in a last column."""
    numbers = ArraySource(np.arange(n, dtype=np.float64)[:, None])
    numbers.table = "the numbers of the rows"
    return summarize(BesideSource([*sources, numbers]), Several(parts), weights=weights).parts


def moments_of(moments: Moments, columns: np.ndarray, names: Sequence[str] | None = None) -> Moments:
    """The moments of some of the columns."""
    found = Moments(len(columns), wide=True)
    found.n_rows, found.weight = moments.n_rows, moments.weight
    found.mean, found.rest = to_numpy(moments.mean)[columns], to_numpy(moments.rest)[columns]
    found.scatter = to_numpy(moments.scatter)[np.ix_(columns, columns)]
    found.names = names
    return found


def sampled_rows(sources: Sequence[Source], n: int, most: int, seed: int) -> tuple[np.ndarray, list[np.ndarray]]:
    """The numbers of at most `most` of the n rows, ascending, and these rows of each table as float64.

    All rows if there are no more than that. Rows in arrays are indexed; otherwise one pass over all tables together,
    which keeps the rows that were drawn. Entries may be missing.
    """
    numbers = np.arange(n)
    if n > most:
        numbers = np.sort(np.random.default_rng(seed).choice(n, most, replace=False))
    if all(isinstance(source, ArraySource) for source in sources):
        return numbers, [floats(dense(next(iter(source.blocks(n)))))[numbers] for source in sources]
    widths = [source.shape[1] for source in sources]
    (chosen,) = _read(sources, n, [Chosen(sum(widths), numbers)], None)
    return numbers, np.split(chosen.rows(), np.cumsum(widths)[:-1], axis=1)


# Arrays of any library as NumPy arrays: of float64 for computing, of float32 for the page where that is enough.


def floats(array: Any) -> np.ndarray:
    """An array of any library as a NumPy array of float64."""
    return np.asarray(to_numpy(array), dtype=np.float64)


def centred_rows(model: Any, X: np.ndarray) -> np.ndarray:
    """Rows about the mean of a PCA, in its units."""
    centred = X - floats(model.mean_)
    return centred if model.scale_ is None else centred / floats(model.scale_)


#: Values are stored in half the space if the error is at most this fraction of the range that a chart shows.
_ERROR = 1e-5


def compact(values: np.ndarray) -> np.ndarray:
    """The values as float32, unless a column would lose digits that a chart shows: values beyond the range of float32,
    and those that differ little from each other beside their size."""
    with np.errstate(over="ignore"):
        narrow = values.astype(np.float32)
    known = np.isfinite(values)
    if not np.isfinite(narrow[known]).all():
        return values
    error = np.abs(np.where(known, narrow, 0.0) - np.where(known, values, 0.0)).max(axis=0, initial=0.0)
    low = np.where(known, values, np.inf).min(axis=0, initial=np.inf)
    high = np.where(known, values, -np.inf).max(axis=0, initial=-np.inf)
    shown = np.where(low < high, high - low, np.abs(high))
    return narrow if np.all((error == 0) | (error <= _ERROR * shown)) else values
