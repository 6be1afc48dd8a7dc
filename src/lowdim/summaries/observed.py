"""Count, mean and sum of squares of the observed entries of each column of a table with missing entries."""

from __future__ import annotations

from typing import Any, Self

from .._xp import Array, namespace
from .base import Changes, Layout, Summary, check_columns, check_squares, row_weights, total_weight
from .entries import observed_entries
from .means import merged_mean, two_sum


class Observed(Summary):
    """Per column: `count` = sum w m, `mean` and `squares` = sum w m (x - mean)^2 over the observed entries (m = 1).

    Parameters
    ----------
    n_features : int
    unstored : bool
        Treat entries that sparse rows do not store as missing, not as zero.

    Notes
    -----
    One pass, 3 p numbers. Summaries are merged by Chan's formula, with a separate count for each column.
    """

    parameters = ("n_features", "unstored")
    state = ("n_features", "unstored", "n_rows", "weight", "count", "mean", "rest", "squares")
    nonnegative = ("weight", "count", "squares")
    takes_nan = True

    def __init__(self, n_features: int, *, unstored: bool = False) -> None:
        self.n_features = int(n_features)
        self.unstored = bool(unstored)
        self.n_rows = 0
        self.weight = 0.0
        self.count: Any = None
        self.mean: Any = None
        self.rest: Any = None
        self.squares: Any = None

    def _updated(self, block: Array, weights: Array | None) -> Changes:
        check_columns(self.n_features, block)
        entries = observed_entries(block, self.unstored)
        w = row_weights(entries.weights_like(), weights)
        xp = namespace(w)
        count = entries.down(w[None, :])[0, :]
        zeros = xp.zeros_like(count)
        base, step = (zeros if self.mean is None else self.mean), zeros
        some = xp.where(count > 0, count, xp.ones_like(count))
        # Twice: about the mean so far, then about the mean of the block, so that an offset costs no digits.
        for _ in range(2):
            base = base + step
            entries.centre(base, xp.ones_like(base))
            step = entries.down_values(w[None, :])[0, :] / some
        squares = entries.squares(w) - count * step * step
        check_squares(squares)
        squares = xp.clip(squares, 0.0, None)
        return self._with_rows(int(block.shape[0]), total_weight(block, weights), count, base, step, squares)

    def _merged(self, other: Self) -> Changes:
        if other.count is None:
            return {}
        return self._with_rows(other.n_rows, other.weight, other.count, other.mean, other.rest, other.squares)

    def _layout(self) -> Layout:
        numbers: Layout = dict.fromkeys(("n_features", "unstored", "n_rows", "weight"), ())
        return numbers | dict.fromkeys(("count", "mean", "rest", "squares"), (self.n_features,))

    def _with_rows(self, n: int, weight: float, count: Array, shift: Array, step: Array, squares: Array) -> Changes:
        """What changes with entries of mean `shift + step` and sums of squares `squares` about it."""
        rows = {"n_rows": self.n_rows + n, "weight": self.weight + weight}
        if self.count is None:
            mean, rest = two_sum(shift, step)
            return rows | {"count": count, "mean": mean, "rest": rest, "squares": squares}
        xp = namespace(count)
        both = self.count + count
        # If one side has no observed entry in a column, it is given the mean of the other side.
        first, last = self.count == 0, count == 0
        mean, rest = xp.where(first, shift, self.mean), xp.where(first, step, self.rest)
        shift, step = xp.where(last, mean, shift), xp.where(last, rest, step)
        some = xp.where(both > 0, both, xp.ones_like(both))
        mean, rest, d, share = merged_mean(self.count, mean, rest, count, shift, step, some)
        squares = self.squares + squares + d * d * self.count * share
        check_squares(squares)
        return rows | {"count": both, "mean": mean, "rest": rest, "squares": squares}
