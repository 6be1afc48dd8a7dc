"""The levels of categories, how many rows have each of them, and the means of the numbers beside them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._core.arrays import column_sums, to_numpy
from .._core.coded import Categories
from ..errors import bad_weights, too_many_levels
from .base import Changes, Summary, merged_mean

#: A category with more levels than this is taken for names, or for text, and refused.
MOST_LEVELS = 10_000


class Levels(Summary):
    """The levels of categories with the total weight of the rows that have each, and the means of numbers.

    Parameters
    ----------
    columns : sequence of str
        The names of the categories.
    n_numbers : int, default=0
        The number of columns of numbers.

    Attributes
    ----------
    n_rows : int
        Number of rows of positive weight.
    weight : float
        Sum of their weights.
    labels : list of lists of str
        The levels of each category, in the order in which they were found.
    weights : list of arrays
        The total weight of the rows of each level.
    ordered : list of bool
        Whether the levels of a category came in an order of their own.
    count, mean, rest : arrays of shape (n_numbers,)
        The total weight of the rows in which a number is observed, and the mean of the observed ones, as an unevaluated
        sum mean + rest; None before the first row.

    Notes
    -----
    One pass. The levels of two sets of rows are those of either, and their weights are added. Means are merged by
    Chan's formula, with a separate count for each column.

    Examples
    --------
    >>> import numpy as np
    >>> from lowdim._core.coded import Categories
    >>> from lowdim.summaries import Levels
    >>> found = Levels(["drink"], n_numbers=1)
    >>> ages = np.array([[20.0], [40.0], [np.nan]])
    >>> found.update(Categories(ages, [np.array([0, 1, 0])], [["tea", "coffee"]], [False]))
    >>> found.labels, found.weights, found.mean
    ([['tea', 'coffee']], [array([2., 1.])], array([30.]))
    """

    parameters = ("columns", "n_numbers")
    state = dict(
        columns="-",
        n_numbers="",
        n_rows="",
        weight="",
        labels="-",
        weights="-",
        ordered="-",
        count="a",
        mean="a",
        rest="a",
    )
    nonnegative = ("weight", "count")
    n_rows, weight = 0, 0.0
    count: Any = None
    mean: Any = None
    rest: Any = None

    def __init__(self, columns: Sequence[str], n_numbers: int = 0) -> None:
        self.columns, self.n_numbers = list(columns), int(n_numbers)
        self.labels: list[list[str]] = [[] for _ in self.columns]
        self.weights: list[np.ndarray] = [np.zeros(0) for _ in self.columns]
        self.ordered = [False for _ in self.columns]

    def update(self, block: Categories, weights: Any = None) -> None:  # type: ignore[override] # blocks of their own kind
        """Add the rows of a block."""
        w = None if weights is None else to_numpy(weights).astype(np.float64)
        if w is not None and w.shape != (block.shape[0],):
            raise bad_weights("must be an array with one entry per row", f"shape {w.shape}")
        one = self._empty()
        one.n_rows = block.shape[0] if w is None else int(np.count_nonzero(w))
        one.weight = float(block.shape[0]) if w is None else float(w.sum())
        one.count, one.mean = observed_means(block.numbers[:, : self.n_numbers], w, one.weight)
        one.rest = np.zeros(self.n_numbers)
        for j, (codes, labels) in enumerate(zip(block.codes, block.labels, strict=True)):
            found = np.bincount(codes + 1, weights=w, minlength=len(labels) + 1)[1:].astype(np.float64)
            there = found > 0 if not block.ordered[j] else np.ones(len(found), dtype=bool)
            one.labels[j] = [label for label, seen in zip(labels, there, strict=True) if seen]
            one.weights[j], one.ordered[j] = found[there], bool(block.ordered[j])
        self._change(self._merged(one))

    def _updated(self, block: Any, weights: Any) -> Changes:
        raise NotImplementedError  # `update` takes blocks of `Categories`

    def _merged(self, other: Levels) -> Changes:
        labels, sums = [], []
        for j, name in enumerate(self.columns):
            place = {label: i for i, label in enumerate(self.labels[j])}
            for label in other.labels[j]:
                place.setdefault(label, len(place))
            if len(place) > MOST_LEVELS:
                raise too_many_levels(name, MOST_LEVELS)
            total = np.zeros(len(place))
            total[: len(self.weights[j])] = self.weights[j]
            np.add.at(total, [place[label] for label in other.labels[j]], other.weights[j])
            labels.append(list(place))
            sums.append(total)
        return self._merged_means(other) | {
            "n_rows": self.n_rows + other.n_rows,
            "weight": self.weight + other.weight,
            "labels": labels,
            "weights": sums,
            "ordered": [a or b for a, b in zip(self.ordered, other.ordered, strict=True)],
        }

    def _merged_means(self, other: Levels) -> Changes:
        """What changes in the means."""
        if other.count is None:
            return {}
        if self.count is None:
            return {"count": other.count, "mean": other.mean, "rest": other.rest}
        both = self.count + other.count
        # If one side has no observed entry in a column, it is given the mean of the other side.
        first, last = self.count == 0, other.count == 0
        mean, rest = np.where(first, other.mean, self.mean), np.where(first, other.rest, self.rest)
        shift, step = np.where(last, mean, other.mean), np.where(last, rest, other.rest)
        some = np.where(both > 0, both, 1.0)
        mean, rest, _, _ = merged_mean(self.count, mean, rest, other.count, shift, step, some)
        return {"count": both, "mean": mean, "rest": rest}

    def numbers_missing(self) -> np.ndarray:
        """Which numbers have missing entries, in rows of positive weight."""
        return np.zeros(0, dtype=bool) if self.count is None else self.weight - self.count > 1e-9 * self.weight

    def missing(self, j: int) -> float:
        """The total weight of the rows in which category `j` is missing."""
        return max(self.weight - float(self.weights[j].sum()), 0.0)

    def block_rows(self, n_columns: int, itemsize: int, stored: float = 1.0) -> int:
        return 1 << 17

    def _sizes(self) -> dict[str, int]:
        return {"a": self.n_numbers}

    @property
    def threaded_blas(self) -> bool:
        return False


def observed_means(numbers: np.ndarray, weights: np.ndarray | None, weight: float) -> tuple[np.ndarray, np.ndarray]:
    """The weight of the observed entries of each column of a block, and their mean; zero if there is none."""
    with np.errstate(invalid="ignore", over="ignore"):
        sums = column_sums(numbers, weights)
        if np.all(np.isfinite(sums)):
            return np.full(len(sums), weight), sums / (weight or 1.0)
        known = ~np.isnan(numbers)
        w = np.ones(len(numbers)) if weights is None else weights
        # Rows of weight zero do not count, whatever they hold.
        known &= (w > 0)[:, None]
        count = w @ known
        return count, w @ np.where(known, numbers, 0.0) / np.where(count > 0, count, 1.0)
