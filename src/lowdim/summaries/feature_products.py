"""Products of centred features with vectors, together with the means and standard deviations of the features."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from .._scratch import Scratch
from .._xp import Array, asarray_like, astype, device, is_sparse, namespace, to_numpy
from ..linalg import FLOAT32_SQUARES, divisor
from .base import CACHE_BYTES
from .gram import feature_means

#: A feature is near zero if its variance is more than this share of its mean square.
_NEAR = 1e-4


class FeatureProducts:
    """Maps a block of features to (centred features times `right`, their means, their standard deviations).

    The columns of `right` sum to nearly zero, so features near zero need not be centred first: the contribution of
    their means is subtracted from the products. Features far from zero are centred before the product. Sparse features
    stay sparse, except for those far from zero; they are multiplied in float64.
    """

    #: For `map_rows`: sparse blocks are not made dense, so that they may have many rows.
    keeps_sparse = True

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
        return self._of_sparse(block) if is_sparse(block) else self._of_dense(block)

    def _of_sparse(self, block: Any) -> Array:
        block = block.astype(np.float64, copy=False)
        squares = block.multiply(block) @ self._w
        # The last column makes room for the deviations, so that nothing large is copied.
        found: np.ndarray = block @ np.column_stack([self._by, np.zeros(self._by.shape[0])])
        mean = found[:, -2] / self.total_weight_
        left = squares - self._squares_of(mean, squares)
        found[:, :-2] -= mean[:, None] * self._sums
        found[:, -2] = mean
        found[:, -1] = np.sqrt(np.clip(left, 0.0, None) / self._divisor)
        far = np.flatnonzero(~(left > _NEAR * squares) & (squares != 0.0))
        step = max(1, CACHE_BYTES // (8 * block.shape[1]))
        for i in range(0, len(far), step):
            some = far[i : i + step]
            found[some] = self._of_dense(block[some].toarray())
        return found

    def _of_dense(self, block: Array) -> Array:
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
