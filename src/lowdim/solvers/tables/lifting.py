"""From coordinates back to the columns of a table."""

from __future__ import annotations

import threading
from dataclasses import dataclass

import numpy as np

from ..._xp import Array, Scratch, asarray_like, astype, dense, device, namespace
from ...linalg import divisor, is_constant
from ...summaries.gram import feature_means
from ..base import RowsLike
from .views import Lifted

#: A feature whose variance is at least this share of its mean square lies near zero.
_NEAR = 1e-4


def divisors(deviation: Array, scaled: bool) -> Array:
    """What columns are divided by: their deviation where they are scaled and have one, else one."""
    xp = namespace(deviation)
    return xp.where(deviation > 0, deviation, xp.ones_like(deviation)) if scaled else xp.ones_like(deviation)


@dataclass(frozen=True)
class IdentityLift:
    """Coordinates that are the columns themselves."""

    mean: Array
    deviation: np.ndarray
    scaled: bool

    def __call__(self, vectors: np.ndarray) -> Lifted:
        like = self.mean
        deviation = asarray_like(self.deviation, like, dtype=like.dtype)
        lifted = asarray_like(np.ascontiguousarray(vectors), like, dtype=like.dtype)
        return Lifted(lifted, self.mean, deviation, divisors(deviation, self.scaled))


@dataclass(frozen=True)
class GramLift:
    """Z^T M v for vectors v, with Z the centred (scaled, root-weighted) rows, in one pass over the columns."""

    rows: RowsLike
    M: np.ndarray
    scaled: bool
    ddof: int

    def __call__(self, vectors: np.ndarray) -> Lifted:
        rows = self.rows
        like = rows.empty(0)
        xp = namespace(like)
        turned = asarray_like(self.M @ vectors, like, dtype=xp.float64)
        if rows.weights is not None:
            turned = turned * astype(xp.sqrt(rows.weights), xp.float64)[:, None]
        products = _FeatureProducts(rows.weights, self.ddof, turned)
        lifted = rows.map_features(products)
        k = vectors.shape[1]
        moved = lifted[:, :k]
        mean, deviation = (xp.asarray(lifted[:, k + i], copy=True) for i in (0, 1))
        deviation = xp.where(is_constant(deviation, mean), xp.zeros_like(deviation), deviation)
        scale = divisors(deviation, self.scaled)
        return Lifted(moved / scale[:, None] if self.scaled else moved, mean, deviation, scale)


class _FeatureProducts:
    """block of features -> (its centred rows times `turned`, their means, their deviations), side by side.

    `turned` is all but orthogonal to the weights, so features near zero need not be centred first: what their means add
    is taken off the products. Features far from zero are measured from their mean.
    """

    def __init__(self, weights: Array | None, ddof: int, turned: Array) -> None:
        xp = namespace(turned)
        n = turned.shape[0]
        self._local, self._weights = threading.local(), weights
        ones = xp.ones(n, dtype=turned.dtype, device=device(turned))
        w = ones if weights is None else astype(weights, turned.dtype)
        self.total_weight_ = float(n) if weights is None else float(xp.sum(w))
        self._by, self._w, self._sums = xp.concat([turned, w[:, None]], axis=1), w, xp.sum(turned, axis=0)
        self._divisor = divisor(self.total_weight_, ddof)

    def __call__(self, block: Array) -> Array:
        block = dense(block)
        xp = namespace(block)
        products, squares = self._sums_of(block)
        mean = products[:, -1] / self.total_weight_
        left = squares - self.total_weight_ * mean * mean
        shift = xp.zeros_like(mean)
        if not bool(xp.all(left > _NEAR * squares)):
            if not hasattr(self._local, "scratch"):
                self._local.scratch = Scratch()
            shift = feature_means(block, self._weights, self._local.scratch)[:, 0]
            products, squares = self._sums_of(self._local.scratch.difference(block, shift[:, None]))
            mean = products[:, -1] / self.total_weight_
            left = xp.clip(squares - self.total_weight_ * mean * mean, 0.0, None)
        moved = products[:, :-1] - mean[:, None] * astype(self._sums, block.dtype)[None, :]
        deviation = xp.sqrt(left / self._divisor)
        return xp.concat([moved, (shift + mean)[:, None], deviation[:, None]], axis=1)

    def _sums_of(self, Z: Array) -> tuple[Array, Array]:
        """Products and weighted sums of squares of features."""
        # Written so, the product of a block of columns of a table in memory is almost twice as quick.
        products = (astype(self._by, Z.dtype).T @ Z.T).T
        if isinstance(Z, np.ndarray) and self._weights is None:
            return products, np.einsum("ij,ij->i", Z, Z)
        return products, (Z * Z) @ astype(self._w, Z.dtype)
