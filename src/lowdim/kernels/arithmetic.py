"""Helper functions of kernels: distances, widths by the median rule, and checks of parameters."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.spatial import distance

from .._xp import Array, asarray_like, count_true, is_sparse, namespace, to_host, to_numpy
from ..errors import too_small
from ..linalg import squared_distances

if TYPE_CHECKING:
    from .base import Kernel

#: The largest number of rows that the median rule uses.
MEDIAN_ROWS = 500


def affine(K: Array, a: float, c: float) -> Array:
    """a K + c, in place for NumPy arrays."""
    if isinstance(K, np.ndarray):
        np.multiply(K, K.dtype.type(a), out=K)
        return np.add(K, K.dtype.type(c), out=K)
    return K * a + c


def power(K: Array, degree: float) -> Array:
    """K^degree, by products if the degree is 2 or 3."""
    if degree == 1:
        return K
    if degree == 2:
        return np.multiply(K, K, out=K) if isinstance(K, np.ndarray) else K * K
    if degree == 3:
        return K * K * K
    return K**degree


def exponential(D: Array, rate: float) -> Array:
    """exp(rate D), in place for NumPy arrays."""
    if isinstance(D, np.ndarray):
        np.multiply(D, D.dtype.type(rate), out=D)
        return np.exp(D, out=D)
    return namespace(D).exp(D * rate)


def with_diagonal(K: Array, value: float) -> Array:
    """A square matrix of a device with this value on its diagonal, in place where that is possible."""
    xp, n = namespace(K), K.shape[0]
    flat = xp.reshape(K, (-1,))
    flat[:: n + 1] = value
    return xp.reshape(flat, (n, n))


def city_block(X: Array, Y: Array) -> Array:
    """City-block distances sum_d |x_d - y_d|, without an array of all differences."""
    if is_sparse(X) or is_sparse(Y):
        X, Y = (A.toarray() if is_sparse(A) else A for A in (X, Y))
    if isinstance(X, np.ndarray):
        return distance.cdist(X, Y, "cityblock").astype(X.dtype, copy=False)
    xp = namespace(X)
    D = xp.zeros_like(X[:, :1] - Y[:, 0][None, :])
    for d in range(X.shape[1]):
        D += xp.abs(X[:, d][:, None] - Y[:, d][None, :])
    return D


def median_distance(
    X: Array, weights: np.ndarray | None, seed: int, metric: Callable[[Array, Array], Array] | None = None
) -> float:
    """The median distance between different rows, from a sample of them; 1 if all rows are the same."""
    n = X.shape[0]
    rows, w = X, np.ones(n) if weights is None else np.asarray(weights, dtype=float)
    if n > MEDIAN_ROWS:
        chosen = np.sort(np.random.default_rng(seed).choice(n, MEDIAN_ROWS, replace=False))
        rows = X[chosen] if is_sparse(X) or isinstance(X, np.ndarray) else X[asarray_like(chosen, X)]
        w = w[chosen]
    D = squared_distances(rows, rows) if metric is None else metric(rows, rows)
    # In units of the largest weight, so that products of two weights do not overflow.
    w = w / w.max()
    if isinstance(D, np.ndarray) or not np.all(w == 1.0):
        median = _median_of_pairs(to_numpy(D), w)
    else:
        median = _median_on_device(D)
    if median is None:
        if metric is None and bool(namespace(rows).any(city_block(rows, rows[:1, :]) > 0)):
            raise too_small("all columns")
        return 1.0
    if not median < math.inf:
        raise ValueError("distances between rows overflow; rescale the rows (divide them by a constant).")
    if median < np.finfo(float).smallest_normal:
        raise too_small("all columns")
    return math.sqrt(median) if metric is None else median


def _median_of_pairs(D: np.ndarray, w: np.ndarray) -> float | None:
    """The median of the positive distances between two rows of weights w; None if there is none."""
    pairs = np.tri(len(D), k=-1, dtype=bool)
    pairs &= D > 0
    distances = D[pairs].astype(float)
    if len(distances) == 0:
        return None
    return _weighted_median(distances, None if np.all(w == 1.0) else (w[:, None] * w)[pairs])


def _median_on_device(D: Array) -> float | None:
    """`_median_of_pairs` for rows without weights on a device, which sorts all distances: each pair occurs twice, which
    does not change the median, and distances that are not positive come first."""
    xp = namespace(D)
    ascending = xp.sort(xp.reshape(D, (-1,)))
    positive = count_true(ascending > 0)
    if positive == 0:
        return None
    first = ascending.shape[0] - positive
    middle = to_host([ascending[first + (positive - 1) // 2], ascending[first + positive // 2], ascending[-1]])
    low, high, largest = (float(part) for part in middle)
    return math.nan if math.isnan(largest) else (low + high) / 2.0


def _weighted_median(values: np.ndarray, weights: np.ndarray | None) -> float:
    """The median of values that are each repeated `weights` times; halfway between two values, their mean."""
    if weights is None:
        return float(np.median(values))
    order = np.argsort(values)
    values, reached = values[order], np.cumsum(weights[order])
    half = reached[-1] / 2.0
    low = int(np.searchsorted(reached, half * (1.0 - 1e-12)))
    high = int(np.searchsorted(reached, half * (1.0 + 1e-12), side="right"))
    return float(values[low] + values[min(high, len(values) - 1)]) / 2.0


def require_width(value: float | None, kernel: Kernel) -> float:
    """The width `value` of a kernel; an error if it is None, that is, not known yet."""
    if value is None:
        raise ValueError(f"the width of {kernel} is not known yet; pass it, or call fitted(X) first.")
    return value


def check_positive(kernel: Any, *names: str) -> None:
    """Refuse parameters that are not positive numbers (or None)."""
    for name in names:
        value = getattr(kernel, name)
        real = isinstance(value, numbers.Real) and not isinstance(value, bool)
        if value is not None and not (real and 0.0 < float(value) < math.inf):
            rule = ", or None for the default" if type(kernel).__dataclass_fields__[name].default is None else ""
            raise ValueError(f"{type(kernel).__name__}({name}={value!r}): a positive number is needed{rule}.")


def check_finite(kernel: Any, *names: str) -> None:
    """Refuse parameters that are not finite numbers."""
    for name in names:
        value = getattr(kernel, name)
        if not isinstance(value, numbers.Real) or not math.isfinite(float(value)):
            raise ValueError(f"{type(kernel).__name__}({name}={value!r}): a finite number is needed.")
