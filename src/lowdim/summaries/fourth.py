"""Moments with sums of third and fourth order, from which Ledoit and Wolf's shrinkage estimates the sampling error of
the covariance."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Self

from .._xp import Array, astype, dense, namespace
from ..errors import NonFiniteBlock
from .moments import Moments


class FourthMoments(Moments):
    """Moments with `third` = sum w ||z||^2 z and `fourth` = sum w ||z||^4, z = x - mean.

    Notes
    -----
    When the mean moves by d (z becomes z - d), with S the scatter and W the weight about the old mean,

        fourth += 4 d^T S d + 2 |d|^2 tr S + W |d|^4 - 4 d^T third
        third  -= 2 S d + d tr S + W |d|^2 d

    so two summaries are merged as Moments are: both are moved to the common mean and added. One pass, p^2 + p numbers.
    """

    takes_pieces = False
    powers = "fourth powers"
    state = (*Moments.state, "third", "fourth")

    def __init__(self, n_features: int, *, groups: Sequence[int] | None = None, wide: bool = False) -> None:
        super().__init__(n_features, groups=groups, wide=wide)
        self.third: Any = None
        self.fourth: Any = 0.0

    def _update(self, block: Array, weights: Array | None) -> None:
        one = self.fresh()
        Moments._update(one, block, weights)
        xp = namespace(one.mean)
        Z = astype(dense(block), one.mean.dtype) - one.mean
        q = xp.sum(Z * Z, axis=1)
        wq = q if weights is None else q * astype(weights, q.dtype)
        one.third, one.fourth = wq @ Z, float(xp.sum(wq * q))
        if not math.isfinite(one.fourth):
            raise NonFiniteBlock
        self._merge(one)

    def _merge(self, other: Self) -> None:
        if other.weight == 0.0:
            return
        mine = (self.mean, self.scatter, self.weight, self.third, self.fourth)
        if self.weight:
            mine = (self.mean, namespace(self.scatter).asarray(self.scatter, copy=True), *mine[2:])
        super()._merge(other)
        third, fourth = _moved(other.mean, other.scatter, other.weight, other.third, other.fourth, self.mean)
        if mine[2]:
            third_mine, fourth_mine = _moved(*mine, self.mean)
            third, fourth = third + third_mine, fourth + fourth_mine
        self.third, self.fourth = third, fourth


def _moved(mean: Array, scatter: Array, weight: float, third: Array, fourth: float, to: Array) -> tuple[Array, float]:
    """`third` and `fourth` about the point `to` instead of `mean`."""
    xp = namespace(mean)
    d = to - mean
    size = float(d @ d)
    trace = float(xp.sum(xp.linalg.diagonal(scatter)))
    Sd = scatter @ d
    moved = fourth + 4 * float(d @ Sd) + 2 * size * trace + weight * size * size - 4 * float(d @ third)
    return third - 2 * Sd - d * (trace + weight * size), moved
