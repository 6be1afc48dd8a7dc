"""Moments with sums of third and fourth order, from which Ledoit and Wolf's shrinkage estimates the sampling error of
the covariance."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Self

from .._xp import Array, astype, dense, namespace
from ..errors import NonFiniteBlock
from .base import Changes, Layout
from .moments import Moments


class FourthMoments(Moments):
    """Moments with `third` = sum w ||z||^2 z and `fourth` = sum w ||z||^4, z = x - mean.

    Notes
    -----
    When the mean moves by d (z becomes z - d), with S the scatter and W the weight about the old mean,

        fourth += 4 d^T S d + 2 |d|^2 tr S + W |d|^4 - 4 d^T third
        third  -= 2 S d + d tr S + W |d|^2 d

    so two summaries are merged as Moments are: both are moved to the common mean and added. One pass, p^2 + p numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from lowdim import FourthMoments, Whitening, summarize
    >>> rows = np.array([[1.0, 2.0], [3.0, 3.0], [3.0, 5.0], [5.0, 6.0]])
    >>> kept = summarize(rows, FourthMoments)
    >>> distances = np.linalg.norm(rows - rows.mean(axis=0), axis=1)
    >>> bool(np.isclose(kept.fourth, np.sum(distances**4)))
    True
    >>> round(Whitening(regularization="ledoit-wolf").fit_summary(kept).shrinkage_, 3)
    0.438
    """

    takes_pieces = False
    slices_on_device = False
    powers = "fourth powers"
    nonnegative = (*Moments.nonnegative, "fourth")
    state = (*Moments.state, "third", "fourth")

    def __init__(self, n_features: int, *, groups: Sequence[int] | None = None, wide: bool = False) -> None:
        super().__init__(n_features, groups=groups, wide=wide)
        self.third: Any = None
        self.fourth: Any = 0.0

    def _layout(self) -> Layout:
        return super()._layout() | {"third": (self.n_features,), "fourth": ()}

    def _updated(self, block: Array, weights: Array | None) -> Changes:
        one = self.fresh()
        one._change(Moments._updated(one, block, weights))
        xp = namespace(one.mean)
        Z = astype(dense(block), one.mean.dtype) - one.mean
        q = xp.sum(Z * Z, axis=1)
        wq = q if weights is None else q * astype(weights, q.dtype)
        one.third, one.fourth = wq @ Z, float(xp.sum(wq * q))
        return self._merged(one)

    def _merged(self, other: Self) -> Changes:
        changes = super()._merged(other)
        if other.weight == 0.0:
            return changes
        third, fourth = _moved(other, changes["mean"])
        if self.weight:
            third_mine, fourth_mine = _moved(self, changes["mean"])
            third, fourth = third + third_mine, fourth + fourth_mine
        if not math.isfinite(fourth):
            raise NonFiniteBlock
        return changes | {"third": third, "fourth": fourth}


def _moved(moments: FourthMoments, to: Array) -> tuple[Array, float]:
    """`third` and `fourth` about the point `to` instead of the mean."""
    xp = namespace(to)
    scatter, weight, third = moments.scatter, moments.weight, moments.third
    d = to - moments.mean
    size = float(d @ d)
    trace = float(xp.sum(xp.linalg.diagonal(scatter)))
    Sd = scatter @ d
    fourth = moments.fourth + 4 * float(d @ Sd) + 2 * size * trace + weight * size * size - 4 * float(d @ third)
    return third - 2 * Sd - d * (trace + weight * size), fourth
