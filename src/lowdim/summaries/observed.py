"""Count, mean and sum of squares of the observed entries of each column of a table with missing entries."""

from __future__ import annotations

from typing import Any, Self

from .._xp import Array, namespace
from .base import Summary, check_columns, check_squares, row_weights, total_weight
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

    def _update(self, block: Array, weights: Array | None) -> None:
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
        self._absorb(int(block.shape[0]), total_weight(block, weights), count, base, step, squares)

    def _merge(self, other: Self) -> None:
        if other.count is not None:
            self._absorb(other.n_rows, other.weight, other.count, other.mean, other.rest, other.squares)

    def _absorb(self, n: int, weight: float, count: Array, shift: Array, step: Array, squares: Array) -> None:
        """Merge entries of mean `shift + step` and sums of squares `squares` about it."""
        self.n_rows += n
        self.weight += weight
        if self.count is None:
            self.count, self.squares = count, squares
            self.mean, self.rest = two_sum(shift, step)
            return
        xp = namespace(count)
        both = self.count + count
        # If one side has no observed entry in a column, it is given the mean of the other side.
        first, last = self.count == 0, count == 0
        mean, rest = xp.where(first, shift, self.mean), xp.where(first, step, self.rest)
        shift, step = xp.where(last, mean, shift), xp.where(last, rest, step)
        some = xp.where(both > 0, both, xp.ones_like(both))
        mean, rest, d, share = merged_mean(self.count, mean, rest, count, shift, step, some)
        self.squares = self.squares + squares + d * d * self.count * share
        check_squares(self.squares)
        self.mean, self.rest = mean, rest
        self.count = both
