"""Weight, mean and sum of squares of each column, for tables whose p x p scatter matrix would be too large."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from .._xp import Array, astype, column_sums, dense, device, is_sparse, namespace, wide_dtype
from .base import (
    CACHE_BYTES,
    Changes,
    Layout,
    Summary,
    check_columns,
    check_squares,
    is_far,
    row_at_mean,
    total_weight,
)
from .means import between_weight, merged_mean, two_sum


class Columns(Summary):
    """Total weight, mean and `squares` = sum w (x - mean)^2 per column: the diagonal of Moments.

    One pass, 2 p numbers. Sparse blocks stay sparse.

    Examples
    --------
    >>> import numpy as np
    >>> from lowdim import summarize
    >>> from lowdim.summaries import Columns
    >>> found = summarize(np.array([[1.0, 2.0], [3.0, 3.0], [5.0, 4.0]]), Columns)
    >>> found.mean, found.squares
    (array([3., 3.]), array([8., 2.]))
    """

    parameters = ("n_features",)
    state = ("n_features", "n_rows", "weight", "mean", "rest", "squares")
    nonnegative = ("weight", "squares")

    def __init__(self, n_features: int) -> None:
        self.n_features = int(n_features)
        self.n_rows = 0
        self.weight = 0.0
        self.mean: Any = None
        self.rest: Any = None
        self.squares: Any = None

    def _updated(self, block: Array, weights: Array | None) -> Changes:
        check_columns(self.n_features, block)
        weight = total_weight(block, weights)
        shift, step, squares = (_sparse_sums if is_sparse(block) else self._dense_sums)(block, weights, weight)
        check_squares(squares)
        return self._with_rows(int(block.shape[0]), weight, shift, step, squares)

    def _merged(self, other: Self) -> Changes:
        if other.weight == 0.0:
            return {}
        return self._with_rows(other.n_rows, other.weight, other.mean, other.rest, other.squares)

    def block_rows(self, n_columns: int, itemsize: int, stored: float = 1.0) -> int:
        return max(16, int(CACHE_BYTES / max(1.0, n_columns * itemsize * stored)))

    def offset_is_harmless(self, scale: Array | None = None) -> bool:
        """Whether products with the rows (columns divided by `scale`) may be centred instead of the rows themselves.

        This holds if the norm of the mean row is at most about 300 times the largest standard deviation: the
        subtraction then costs at most five digits of lambda_1.
        """
        xp = namespace(self.mean)
        mean, squares = self.mean, self.squares
        if scale is not None:
            mean, squares = mean / scale, squares / (scale * scale)
        largest = float(xp.max(squares))
        with np.errstate(over="ignore"):
            return largest > 0.0 and float(xp.sum(mean * (mean * (self.weight / largest)))) <= 1e5

    def about_zero(self) -> Self:
        """The sums of squares about zero, as a summary of mean zero. Further rows cannot be added to it."""
        xp = namespace(self.mean)
        out = self.snapshot()
        out.squares = self.squares + row_at_mean(self.mean, self.weight) ** 2
        out.mean, out.rest = xp.zeros_like(self.mean), xp.zeros_like(self.mean)
        return out

    def _layout(self) -> Layout:
        p = self.n_features
        return {"n_features": (), "n_rows": (), "weight": (), "mean": (p,), "rest": (p,), "squares": (p,)}

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

    def _with_rows(self, n: int, weight: float, shift: Array, step: Array, squares: Array) -> Changes:
        """What changes with rows of mean `shift + step` and sums of squares `squares` about it."""
        if self.weight == 0.0:
            mean, rest = two_sum(shift, step)
        else:
            mean, rest, d, _ = merged_mean(self.weight, self.mean, self.rest, weight, shift, step)
            squares = self.squares + squares + d * d * between_weight(self.weight, weight)
            check_squares(squares)
        return {
            "n_rows": self.n_rows + n,
            "weight": self.weight + weight,
            "mean": mean,
            "rest": rest,
            "squares": squares,
        }


def _sums_about(shift: Array, block: Array, weights: Array | None) -> tuple[Array, Array]:
    """Sums and sums of squares of a dense block about the shift, in float64."""
    Z = astype(block - shift, wide_dtype(namespace(block), device(block)))
    return column_sums(Z, weights), column_sums(Z * Z, weights)


def _sparse_sums(block: Any, weights: Array | None, weight: float) -> tuple[Array, Array, Array]:
    """Shift, step to the mean, and squares about it, from the stored entries.

    If at most half of a column is stored, (sum w x)^2 / weight is at most half of sum w x^2, so that it can be
    subtracted without loss of digits. The few other columns are summed a second time, by `_crowded_sums`.
    """
    w = np.ones(block.shape[0]) if weights is None else np.asarray(weights, dtype=float)
    x = block.data.astype(np.float64)
    stored = _column_sums(np.ones_like(x), block, w)
    step = _column_sums(x, block, w) / weight
    squares = np.clip(_column_sums(x * x, block, w) - weight * step * step, 0.0, None)
    shift = np.zeros(block.shape[1])
    crowded = stored > 0.5 * weight
    if np.any(crowded):
        _crowded_sums(block, x, w, weight, crowded, shift, step, squares)
    return shift, step, squares


def _column_sums(entries: np.ndarray, block: Any, w: np.ndarray) -> np.ndarray:
    """Weighted sums of the columns of a matrix that stores `entries` where `block` stores its entries."""
    return type(block)((entries, block.indices, block.indptr), shape=block.shape, copy=False).T @ w


def _crowded_sums(
    block: Any,
    x: np.ndarray,
    w: np.ndarray,
    weight: float,
    crowded: np.ndarray,
    shift: np.ndarray,
    step: np.ndarray,
    squares: np.ndarray,
) -> None:
    """Set shift, step and squares of columns of which more than half is stored. Columns that are stored in every row
    are shifted by their first entry, as dense columns are, so that a large offset costs no digits. The squares of the
    others are sum_stored w (x - m)^2 + (weight not stored) m^2."""
    at = np.flatnonzero(crowded[block.indices])
    names, columns = np.flatnonzero(crowded), block.indices[at]
    place = np.searchsorted(names, columns)
    w = np.repeat(w, np.diff(block.indptr))[at]
    x = x[at]
    filled = np.bincount(place, minlength=len(names)) == block.shape[0]
    base = np.where(filled, dense(block[:1])[0, names], 0.0)
    x -= base[place]
    mean = np.bincount(place, weights=w * x, minlength=len(names)) / weight
    x -= mean[place]
    unstored = np.clip(weight - np.bincount(place, weights=w, minlength=len(names)), 0.0, None)
    unstored[filled] = 0.0
    shift[names], step[names] = base, mean
    squares[names] = np.bincount(place, weights=w * x * x, minlength=len(names)) + unstored * mean * mean
