"""Count, mean and sum of squares of the observed entries of each column of a table with missing entries."""

from __future__ import annotations

from typing import Any, Self

from .._xp import Array, namespace
from .base import Changes, Layout, Summary, check_columns, check_squares, row_weights, total_weight
from .entries import observed_entries
from .means import merged_mean, two_sum


class Observed(Summary):
    """Per column: `count` = sum w m, `mean` and `squares` = sum w m (x - mean)^2 over the observed entries (m = 1).

    If `components` is given, also `surplus` = sum_i w_i max(o_i - components, 0), where o_i is the number of observed
    entries of row i: the entries that remain when each row has been fitted exactly by so many components.

    Parameters
    ----------
    n_features : int
    unstored : bool
        Treat entries that sparse rows do not store as missing, not as zero.
    components : int, optional
        Number of components.

    Notes
    -----
    One pass, 3 p numbers. Summaries are merged by Chan's formula, with a separate count for each column.

    Examples
    --------
    >>> import numpy as np
    >>> from lowdim import summarize
    >>> from lowdim.summaries import Observed
    >>> found = summarize(np.array([[1.0, np.nan], [3.0, 4.0]]), Observed)
    >>> found.count, found.mean
    (array([2., 1.]), array([2., 4.]))
    """

    parameters = ("n_features", "unstored", "components")
    state = (*parameters, "n_rows", "weight", "surplus", "count", "mean", "rest", "squares")
    optional = ("components",)
    nonnegative = ("components", "weight", "surplus", "count", "squares")
    takes_nan = True

    def __init__(self, n_features: int, *, unstored: bool = False, components: int | None = None) -> None:
        self.n_features = int(n_features)
        self.unstored = bool(unstored)
        self.components = None if components is None else int(components)
        self.n_rows = 0
        self.weight = 0.0
        self.surplus = None if components is None else 0.0
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
        sums: Changes = {"n_rows": int(block.shape[0]), "weight": total_weight(block, weights)}
        if self.components is not None:
            lengths = entries.across(xp.ones_like(count)[None, :])[0, :]
            sums["surplus"] = float(w @ xp.clip(lengths - self.components, 0.0, None))
        return self._plus(sums) | self._with_entries(count, base, step, squares)

    def _merged(self, other: Self) -> Changes:
        if other.count is None:
            return {}
        sums = {name: getattr(other, name) for name in self._numbers()}
        return self._plus(sums) | self._with_entries(other.count, other.mean, other.rest, other.squares)

    def _layout(self) -> Layout:
        options = ("n_features", "unstored") if self.components is None else self.parameters
        numbers: Layout = dict.fromkeys((*options, *self._numbers()), ())
        return numbers | dict.fromkeys(("count", "mean", "rest", "squares"), (self.n_features,))

    def _numbers(self) -> tuple[str, ...]:
        """The names of the sums that are numbers."""
        return ("n_rows", "weight") if self.components is None else ("n_rows", "weight", "surplus")

    def _with_entries(self, count: Array, shift: Array, step: Array, squares: Array) -> Changes:
        """What changes with entries of mean `shift + step` and sums of squares `squares` about it."""
        if self.count is None:
            mean, rest = two_sum(shift, step)
            return {"count": count, "mean": mean, "rest": rest, "squares": squares}
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
        return {"count": both, "mean": mean, "rest": rest, "squares": squares}
