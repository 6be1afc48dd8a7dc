"""Lifts, which map vectors in coordinates back to the columns of a table."""

from __future__ import annotations

import threading
from dataclasses import dataclass

import numpy as np

from ..._xp import Array, Scratch, asarray_like, astype, dense, device, namespace, to_numpy
from ...linalg import FLOAT32_SQUARES, divisor, is_constant
from ...summaries.gram import feature_means
from ..base import RowsLike
from .views import LiftedVectors

#: A feature is near zero if its variance is more than this share of its mean square.
_NEAR = 1e-4


def divisors(deviation: Array, scaled: bool) -> Array:
    """The divisors of the columns: their standard deviations if `scaled`, and one for others and constant columns."""
    xp = namespace(deviation)
    return xp.where(deviation > 0, deviation, xp.ones_like(deviation)) if scaled else xp.ones_like(deviation)


@dataclass(frozen=True)
class IdentityLift:
    """The lift for coordinates that are the columns themselves."""

    mean: Array
    deviation: np.ndarray
    scaled: bool

    def __call__(self, vectors: np.ndarray) -> LiftedVectors:
        like = self.mean
        deviation = asarray_like(self.deviation, like, dtype=like.dtype)
        lifted = asarray_like(np.ascontiguousarray(vectors), like, dtype=like.dtype)
        return LiftedVectors(lifted, self.mean, deviation, divisors(deviation, self.scaled))


@dataclass(frozen=True)
class GramLift:
    """The lift Z^T M v of vectors v, in one pass over the columns.

    Z are the centred (and scaled) rows times the square roots of their weights.
    """

    rows: RowsLike
    M: np.ndarray
    scaled: bool
    ddof: int

    def __call__(self, vectors: np.ndarray) -> LiftedVectors:
        rows = self.rows
        like = rows.empty(0)
        xp = namespace(like)
        right = asarray_like(self.M @ vectors, like, dtype=xp.float64)
        if rows.weights is not None:
            right = right * astype(xp.sqrt(rows.weights), xp.float64)[:, None]
        products = _FeatureProducts(rows.weights, self.ddof, right)
        lifted = rows.map_features(products)
        k = vectors.shape[1]
        moved = lifted[:, :k]
        mean, deviation = (xp.asarray(lifted[:, k + i], copy=True) for i in (0, 1))
        deviation = xp.where(is_constant(deviation, mean), xp.zeros_like(deviation), deviation)
        scale = divisors(deviation, self.scaled)
        return LiftedVectors(moved / scale[:, None] if self.scaled else moved, mean, deviation, scale)


class _FeatureProducts:
    """Maps a block of features to (centred features times `right`, their means, their standard deviations).

    The columns of `right` sum to nearly zero, so features near zero need not be centred first: the contribution of
    their means is subtracted from the products. Features far from zero are centred before the product.
    """

    def __init__(self, weights: Array | None, ddof: int, right: Array) -> None:
        xp = namespace(right)
        n = right.shape[0]
        self._local, self._weights = threading.local(), weights
        ones = xp.ones(n, dtype=right.dtype, device=device(right))
        w = ones if weights is None else astype(weights, right.dtype)
        self.total_weight_ = float(n) if weights is None else float(xp.sum(w))
        self._by, self._w, self._sums = xp.concat([right, w[:, None]], axis=1), w, xp.sum(right, axis=0)
        self._divisor = divisor(self.total_weight_, ddof)

    def __call__(self, block: Array) -> Array:
        block = dense(block)
        xp = namespace(block)
        products, squares = self._sums_of(block)
        mean = products[:, -1] / self.total_weight_
        left = squares - self._squares_of(mean, squares)
        shift = xp.zeros_like(mean)
        if not bool(xp.all(left > _NEAR * squares)):
            if not hasattr(self._local, "scratch"):
                self._local.scratch = Scratch()
            shift = feature_means(block, self._weights, self._local.scratch)[:, 0]
            products, squares = self._sums_of(self._local.scratch.difference(block, shift[:, None]))
            mean = products[:, -1] / self.total_weight_
            left = xp.clip(squares - self._squares_of(mean, squares), 0.0, None)
        moved = products[:, :-1] - mean[:, None] * astype(self._sums, block.dtype)[None, :]
        deviation = astype(xp.sqrt(left / self._divisor), block.dtype)
        return xp.concat([moved, (shift + mean)[:, None], deviation[:, None]], axis=1)

    def _sums_of(self, Z: Array) -> tuple[Array, Array]:
        """Products and weighted sums of squares of features."""
        # In this form the product is almost twice as fast for a block of columns of a table in memory.
        products = (astype(self._by, Z.dtype).T @ Z.T).T
        if isinstance(Z, np.ndarray) and self._weights is None:
            squares = np.einsum("ij,ij->i", Z, Z)
        else:
            squares = (Z * Z) @ astype(self._w, Z.dtype)
        return products, self._in_range(squares, Z)

    def _squares_of(self, mean: Array, like: Array) -> Array:
        """The sums of squares of constant features with these means, in the dtype of `like`."""
        mean = astype(mean, like.dtype)
        return self.total_weight_ * mean * mean

    def _in_range(self, squares: Array, Z: Array) -> Array:
        """Sums of squares of features; in float64 if some of them are out of the range of float32."""
        xp = namespace(Z)
        low, high = FLOAT32_SQUARES
        fits = (squares > low) & (squares < high)
        if Z.dtype != xp.float32 or bool(xp.all(fits)):
            return squares
        # Only these features are computed again, since many may be zero.
        again = xp.nonzero(~fits)[0]
        some = astype(xp.take(Z, again, axis=0), self._w.dtype)
        wide = to_numpy(squares).astype(np.float64)
        wide[to_numpy(again)] = to_numpy((some * some) @ self._w)
        return asarray_like(wide, squares, dtype=self._w.dtype)
