"""Lifts, which map vectors in coordinates back to the columns of a table."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..._xp import Array, asarray_like, astype, namespace
from ...linalg import is_constant
from ...summaries.feature_products import FeatureProducts
from ..base import RowsLike
from .views import LiftedVectors


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
    """The map of combinations v of the rows to Z^T v, in one pass over the columns.

    Z are the centred (and scaled) rows times the square roots of their weights.
    """

    rows: RowsLike
    scaled: bool
    ddof: int

    def __call__(self, vectors: np.ndarray) -> LiftedVectors:
        rows = self.rows
        like = rows.empty(0)
        xp = namespace(like)
        right = asarray_like(np.ascontiguousarray(vectors), like, dtype=xp.float64)
        if rows.weights is not None:
            right = right * astype(xp.sqrt(rows.weights), xp.float64)[:, None]
        products = FeatureProducts(rows.weights, self.ddof, right)
        lifted = rows.map_features(products)
        k = vectors.shape[1]
        moved = lifted[:, :k]
        mean, deviation = (xp.asarray(lifted[:, k + i], copy=True) for i in (0, 1))
        deviation = xp.where(is_constant(deviation, mean), xp.zeros_like(deviation), deviation)
        scale = divisors(deviation, self.scaled)
        return LiftedVectors(moved / scale[:, None] if self.scaled else moved, mean, deviation, scale)
