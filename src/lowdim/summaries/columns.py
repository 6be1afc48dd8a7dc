"""Weight, mean and sum of squares of each column alone: what a first look costs when p^2 is too much."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from .._xp import Array, astype, device, is_sparse, namespace, wide_dtype
from ..errors import NonFiniteBlock
from .base import Summary, check_same_columns, column_sums, dense, require_kind, total_weight


class Columns(Summary):
    """Total weight, mean and `squares` = sum w (x - mean)^2 per column: the diagonal of Moments.

    One pass, 2 p numbers. Sparse blocks stay sparse unless a filled column lies far from zero.
    """

    state = ("n_rows", "weight", "mean", "squares")

    def __init__(self, n_features: int) -> None:
        self.n_features = int(n_features)
        self.n_rows = 0
        self.weight = 0.0
        self.mean: Any = None
        self.squares: Any = None

    def update(self, block: Array, weights: Array | None = None) -> None:
        check_same_columns(self.n_features, block.shape[1])
        if block.shape[0] == 0:
            return
        weight = total_weight(block, weights)
        mean, squares = (_sparse_sums if is_sparse(block) else self._dense_sums)(block, weights, weight)
        xp = namespace(mean)
        if not bool(xp.all(xp.isfinite(squares))):
            raise NonFiniteBlock
        self._absorb(int(block.shape[0]), weight, mean, squares)

    def merge(self, other: Self) -> None:
        require_kind(self, other)
        check_same_columns(self.n_features, other.n_features)
        if other.weight:
            self._absorb(other.n_rows, other.weight, other.mean, other.squares)

    def fresh(self) -> Self:
        return type(self)(self.n_features)

    @property
    def offset_is_harmless(self) -> bool:
        """Whether products with the rows may be centred afterwards instead of the rows before: the mean row is at most
        some 300 times as long as the largest spread, so the subtraction costs five digits of lambda_1 at most."""
        xp = namespace(self.mean)
        return float(xp.sum(self.mean * self.mean)) * self.weight <= 1e5 * float(xp.max(self.squares))

    def _dense_sums(self, block: Array, weights: Array | None, weight: float) -> tuple[Array, Array]:
        xp = namespace(block)
        wide = wide_dtype(xp, device(block))
        shift = block[0, :] if self.mean is None else astype(self.mean, block.dtype)
        Z = block - shift
        step = astype(column_sums(Z, weights), wide) / weight
        mean = astype(shift, wide) + step
        Z = astype(Z, wide)
        squares = column_sums(Z * Z, None if weights is None else astype(weights, wide))
        return mean, xp.clip(squares - weight * step * step, 0.0, None)

    def _absorb(self, n: int, weight: float, mean: Array, squares: Array) -> None:
        self.n_rows += n
        if self.weight == 0.0:
            self.weight, self.mean, self.squares = weight, mean, squares
            return
        both = self.weight + weight
        d = mean - self.mean
        self.squares = self.squares + squares + d * d * (self.weight / both * weight)
        self.mean = self.mean + d * (weight / both)
        self.weight = both

    @classmethod
    def _from_state(cls, state: dict[str, np.ndarray]) -> Self:
        self = cls(len(state["mean"]))
        self.n_rows, self.weight = int(state["n_rows"]), float(state["weight"])
        self.mean, self.squares = state["mean"], state["squares"]
        return self


def _sparse_sums(block: Any, weights: Array | None, weight: float) -> tuple[Array, Array]:
    """Mean and squares about it from the stored entries: sum_stored w (x - m)^2 + (weight not stored) m^2."""
    w = np.ones(block.shape[0]) if weights is None else np.asarray(weights, dtype=float)
    stored_weight = np.repeat(w, np.diff(block.indptr))
    p = block.shape[1]
    x = block.data.astype(np.float64, copy=False)
    mean = np.bincount(block.indices, weights=stored_weight * x, minlength=p) / weight
    full = np.bincount(block.indices, weights=stored_weight, minlength=p)
    filled = full >= weight * (1 - 1e-12)
    if np.any(filled):
        # A filled column is an ordinary dense one: take its mean about its first entry, so that offsets do no harm.
        columns = np.flatnonzero(filled)
        Z = dense(block[:, columns]).astype(np.float64, copy=False)
        mean[columns] = Z[0] + w @ (Z - Z[0]) / weight
    d = x - mean[block.indices]
    squares = np.bincount(block.indices, weights=stored_weight * d * d, minlength=p)
    return mean, squares + np.clip(weight - full, 0.0, None) * mean * mean
