"""How far a feature map is from its kernel, from rows that did not shape it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._xp import to_numpy
from ...kernels import Kernel
from ...summaries import Moments
from .kernel_job import PAIRS
from .made_map import MadeMap

#: Half the interval of the error, in standard errors: rows have skewed errors, and 2.6 would hold 98 times in 100 only.
_DEVIATIONS = 3.3


@dataclass(frozen=True)
class MapError:
    """How far a map is from its kernel: an estimate, and an interval that should hold the error of all rows 99 times in
    100."""

    value: float
    low: float
    high: float


def left_out(made: MadeMap, kernel: Kernel, sample: Any, weights: np.ndarray, total: float, n: float) -> MapError:
    """The variance that the map leaves out, as a share of all there is in the feature space.

    With r(x, y) = k(x, y) - phi(x) . phi(y), which is zero for landmarks, it is
    sum_i r(x_i, x_i) - sum_ij r(x_i, x_j) / n over all `n` rows; `total` is the variance of phi, summed over them. Of
    candidates that were passed over r is known. They are no random rows: the rest is estimated from those of the sample
    that never were candidates.
    """
    over = made.passed_over
    held = np.setdiff1d(np.arange(sample.shape[0]), np.concatenate([made.chosen, over]))
    if len(over) + len(held) == 0:
        return MapError(0.0, 0.0, 0.0)
    shift = getattr(made.raw, "shift", None)
    own = np.zeros(sample.shape[0])
    for start in range(0, sample.shape[0], 256):
        rows = sample[start : start + 256]
        exact = np.diagonal(to_numpy(kernel(rows if shift is None else rows - shift))).astype(np.float64)
        own[start : start + 256] = np.abs(exact - (made.of(rows) ** 2).sum(axis=1))
    w = weights[held]
    known, looked_at = float(weights[over].sum()), float(w.sum())
    rest = max(0.0, n - float(weights[made.chosen].sum()) - known)
    scale = rest / looked_at if looked_at else 0.0
    mean = float(w @ own[held]) / looked_at if looked_at else 0.0
    unseen = max(0.0, 1.0 - 1.0 / max(scale, 1.0))
    spread = _DEVIATIONS * scale * math.sqrt(unseen * float((w * w) @ (own[held] - mean) ** 2))
    alone = float(weights[over] @ own[over]) + rest * mean
    # How often each row of the sample stands for itself and others like it.
    some = np.concatenate([held, over])[:PAIRS]
    times = np.concatenate([scale * w, weights[over]])[:PAIRS]
    times = times * ((rest + known) / (float(times.sum()) or 1.0))
    together = _of_pairs(made, kernel, sample[some], times, weights[some], shift) / n
    sums = [max(0.0, s - together) for s in (alone, alone - spread, alone + spread)]
    return MapError(*(s / (total + s) if total + s > 0.0 else 0.0 for s in sums))


def _of_pairs(made: MadeMap, kernel: Kernel, rows: Any, times: np.ndarray, weights: np.ndarray, shift: Any) -> float:
    """sum_ij r(x_i, x_j) over all rows, from some that stand for `times` each and are there `weights` times."""
    phi = made.of(rows)
    rest = to_numpy(kernel(rows if shift is None else rows - shift)).astype(np.float64) - phi @ phi.T
    # Pairs of a row with itself are as many as such rows, other pairs as many as the product.
    return float(times @ rest @ times) - float((times * times - times * weights) @ np.diagonal(rest))


def at_most(kernel: Kernel, moments: Moments) -> MapError:
    """The error for a kernel of x - y alone from the moments of phi: sum_i k(x_i, x_i) - |phi(x_i)|^2 is left out, or
    less, since the mean of what is left is no variance."""
    own = float(kernel(np.zeros((1, 1)))[0, 0])
    mean = to_numpy(moments.mean)
    phi = float(np.trace(to_numpy(moments.scatter)))
    left = max(0.0, moments.weight * (own - float(mean @ mean)) - phi)
    share = left / (phi + left) if phi + left > 0.0 else 0.0
    return MapError(share, 0.0, share)


def kernel_difference(made: MadeMap, kernel: Kernel, sample: Any) -> MapError:
    """Root mean square of phi(x) . phi(y) - k(x, y) over pairs of rows, beside that of k(x, y)."""
    phi = made.of(sample)
    K = to_numpy(kernel(sample, sample)).astype(np.float64)
    error = float(np.sqrt(np.mean((phi @ phi.T - K) ** 2) / (np.mean(K * K) or 1.0)))
    return MapError(error, error, error)
