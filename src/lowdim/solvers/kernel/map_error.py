"""The approximation error of a feature map of a kernel, estimated from rows that the map was not constructed from."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._xp import to_numpy
from ...kernels import Kernel
from ...summaries import Moments
from .feature_map import KernelFeatureMap
from .kernel_job import PAIRS

#: Half the width of the confidence interval in standard errors. Errors of rows are skewed, so 2.6 would give a coverage
#: of only 98 %.
_DEVIATIONS = 3.3


@dataclass(frozen=True)
class MapError:
    """The error of a feature map: an estimate, and a 99 % confidence interval of the error for all rows."""

    value: float
    low: float
    high: float


def omitted_variance(
    phi: KernelFeatureMap, kernel: Kernel, sample: Any, weights: np.ndarray, total: float, n: float
) -> MapError:
    """The variance that the map leaves out, as a share of the total variance in the feature space.

    With r(x, y) = k(x, y) - phi(x) . phi(y), which is zero for landmarks, it is
    sum_i r(x_i, x_i) - sum_ij r(x_i, x_j) / n over all `n` rows; `total` is the variance of phi, summed over them. For
    the candidates that did not become landmarks r is computed. They are not random rows, so for all other rows r is
    estimated from those rows of the sample that were not candidates.
    """
    rejected = phi.rejected
    held_out = np.setdiff1d(np.arange(sample.shape[0]), np.concatenate([phi.chosen, rejected]))
    if len(rejected) + len(held_out) == 0:
        return MapError(0.0, 0.0, 0.0)
    shift = getattr(phi.raw, "shift", None)
    residual = np.zeros(sample.shape[0])
    for start in range(0, sample.shape[0], 256):
        rows = sample[start : start + 256]
        exact = np.diagonal(to_numpy(kernel(rows if shift is None else rows - shift))).astype(np.float64)
        residual[start : start + 256] = np.abs(exact - (phi.features(rows) ** 2).sum(axis=1))
    w = weights[held_out]
    known, observed = float(weights[rejected].sum()), float(w.sum())
    rest = max(0.0, n - float(weights[phi.chosen].sum()) - known)
    scale = rest / observed if observed else 0.0
    mean = float(w @ residual[held_out]) / observed if observed else 0.0
    unseen = max(0.0, 1.0 - 1.0 / max(scale, 1.0))
    spread = _DEVIATIONS * scale * math.sqrt(unseen * float((w * w) @ (residual[held_out] - mean) ** 2))
    diagonal = float(weights[rejected] @ residual[rejected]) + rest * mean
    # The number of rows that each row of the sample represents.
    some = np.concatenate([held_out, rejected])[:PAIRS]
    times = np.concatenate([scale * w, weights[rejected]])[:PAIRS]
    times = times * ((rest + known) / (float(times.sum()) or 1.0))
    pairs = _sum_over_pairs(phi, kernel, sample[some], times, weights[some], shift) / n
    sums = [max(0.0, s - pairs) for s in (diagonal, diagonal - spread, diagonal + spread)]
    return MapError(*(s / (total + s) if total + s > 0.0 else 0.0 for s in sums))


def _sum_over_pairs(
    phi: KernelFeatureMap, kernel: Kernel, rows: Any, times: np.ndarray, weights: np.ndarray, shift: Any
) -> float:
    """sum_ij r(x_i, x_j) over all rows, from some that represent `times` rows each and occur `weights` times."""
    values = phi.features(rows)
    rest = to_numpy(kernel(rows if shift is None else rows - shift)).astype(np.float64) - values @ values.T
    # There are times * weights pairs of equal rows; the product times * times would count more.
    return float(times @ rest @ times) - float((times * times - times * weights) @ np.diagonal(rest))


def error_bound(kernel: Kernel, moments: Moments) -> MapError:
    """An upper bound on the error for a kernel of x - y, from the moments of phi.

    The variance left out is at most sum_i k(x_i, x_i) - |phi(x_i)|^2; it is less if the features left out have a mean.
    """
    diagonal = float(kernel(np.zeros((1, 1)))[0, 0])
    mean = to_numpy(moments.mean)
    variance = float(np.trace(to_numpy(moments.scatter)))
    left = max(0.0, moments.weight * (diagonal - float(mean @ mean)) - variance)
    share = left / (variance + left) if variance + left > 0.0 else 0.0
    return MapError(share, 0.0, share)


def kernel_difference(feature_map: KernelFeatureMap, kernel: Kernel, sample: Any) -> MapError:
    """Root mean square of phi(x) . phi(y) - k(x, y) over pairs of rows, relative to that of k(x, y)."""
    phi = feature_map.features(sample)
    K = to_numpy(kernel(sample, sample)).astype(np.float64)
    error = float(np.sqrt(np.mean((phi @ phi.T - K) ** 2) / (np.mean(K * K) or 1.0)))
    return MapError(error, error, error)
