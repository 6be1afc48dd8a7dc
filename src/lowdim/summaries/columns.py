"""Weight, mean and sum of squares of each column alone: what a first look costs when p^2 is too much."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from .._xp import Array, astype, device, is_sparse, namespace, wide_dtype
from .base import Summary, check_columns, check_squares, column_sums, dense, is_far, total_weight, two_sum


class Columns(Summary):
    """Total weight, mean and `squares` = sum w (x - mean)^2 per column: the diagonal of Moments.

    One pass, 2 p numbers. Sparse blocks stay sparse unless a filled column lies far from zero.
    """

    parameters = ("n_features",)
    state = ("n_features", "n_rows", "weight", "mean", "rest", "squares")

    def __init__(self, n_features: int) -> None:
        self.n_features = int(n_features)
        self.n_rows = 0
        self.weight = 0.0
        self.mean: Any = None
        self.rest: Any = None
        self.squares: Any = None

    def _update(self, block: Array, weights: Array | None) -> None:
        check_columns(self.n_features, block)
        weight = total_weight(block, weights)
        shift, step, squares = (_sparse_sums if is_sparse(block) else self._dense_sums)(block, weights, weight)
        check_squares(squares)
        self._absorb(int(block.shape[0]), weight, shift, step, squares)

    def _merge(self, other: Self) -> None:
        if other.weight:
            self._absorb(other.n_rows, other.weight, other.mean, other.rest, other.squares)

    def fresh(self) -> Self:
        return type(self)(self.n_features)

    def offset_is_harmless(self, scale: Array | None = None) -> bool:
        """Whether products with the rows (their columns divided by `scale`) may be centred afterwards, instead of the
        rows before: the mean row is at most some 300 times as long as the largest spread, so that the subtraction costs
        five digits of lambda_1 at most."""
        xp = namespace(self.mean)
        mean, squares = self.mean, self.squares
        if scale is not None:
            mean, squares = mean / scale, squares / (scale * scale)
        largest = float(xp.max(squares))
        return largest > 0.0 and float(xp.sum(mean * (mean * (self.weight / largest)))) <= 1e5

    def _dense_sums(self, block: Array, weights: Array | None, weight: float) -> tuple[Array, Array, Array]:
        xp = namespace(block)
        wide = wide_dtype(xp, device(block))
        w = None if weights is None else astype(weights, wide)
        shift = block[0, :] if self.mean is None else astype(self.mean, block.dtype)
        s, squares = _sums_about(shift, block, w)
        if is_far(s, squares, weight):
            shift = shift + astype(s / weight, shift.dtype)
            s, squares = _sums_about(shift, block, w)
        step = s / weight
        return astype(shift, wide), step, xp.clip(squares - s * step, 0.0, None)

    def _absorb(self, n: int, weight: float, shift: Array, step: Array, squares: Array) -> None:
        """Merge rows of mean `shift + step` and sums of squares `squares` about it."""
        self.n_rows += n
        if self.weight == 0.0:
            self.weight, self.squares = weight, squares
            self.mean, self.rest = two_sum(shift, step)
            return
        both = self.weight + weight
        d = (shift - self.mean) + (step - self.rest)
        self.squares = self.squares + squares + d * d * (self.weight / both * weight)
        check_squares(self.squares)
        self.mean, self.rest = two_sum(self.mean, self.rest + d * (weight / both))
        self.weight = both

    @classmethod
    def _from_state(cls, state: dict[str, np.ndarray]) -> Self:
        self = cls(int(state["n_features"]))
        self.n_rows, self.weight = int(state["n_rows"]), float(state["weight"])
        self.mean, self.rest, self.squares = state.get("mean"), state.get("rest"), state.get("squares")
        return self


def _sums_about(shift: Array, block: Array, weights: Array | None) -> tuple[Array, Array]:
    """Sums and sums of squares of a dense block about the shift, in float64."""
    Z = astype(block - shift, wide_dtype(namespace(block), device(block)))
    return column_sums(Z, weights), column_sums(Z * Z, weights)


def _sparse_sums(block: Any, weights: Array | None, weight: float) -> tuple[Array, Array, Array]:
    """Shift, step to the mean, and squares about it, from the stored entries. Filled columns are ordinary dense ones
    and are shifted by their first entry, so that offsets do no harm; the others are taken about zero:
    sum_stored w (x - m)^2 + (weight not stored) m^2."""
    w = np.ones(block.shape[0]) if weights is None else np.asarray(weights, dtype=float)
    stored_weight = np.repeat(w, np.diff(block.indptr))
    p, columns = block.shape[1], block.indices
    x = block.data.astype(np.float64)
    count = np.bincount(columns, minlength=p)
    filled = count == block.shape[0]
    shift = np.zeros(p)
    if np.any(filled):
        shift[filled] = dense(block[:1])[0, filled]
        x -= shift[columns]
    step = np.bincount(columns, weights=stored_weight * x, minlength=p) / weight
    x -= step[columns]
    squares = np.bincount(columns, weights=stored_weight * x * x, minlength=p)
    unstored = np.where(
        filled, 0.0, np.clip(weight - np.bincount(columns, weights=stored_weight, minlength=p), 0.0, None)
    )
    return shift, step, squares + unstored * step * step
