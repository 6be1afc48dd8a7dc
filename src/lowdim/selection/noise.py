"""Rules from random matrix theory: which singular values are larger than those of white noise.

The n rows are centred, which leaves n - 1 degrees of freedom: the noise is an m x N matrix of independent entries of
variance sigma2, m = min(n - 1, p), N = max(n - 1, p), beta = m / N. Its singular values s = sqrt(lambda (n - ddof)),
squared and divided by N sigma2, follow the Marchenko-Pastur law on [(1 - sqrt(beta))^2, (1 + sqrt(beta))^2] as m grows.
If sigma2 is unknown, it is estimated by comparing the median of the m singular values with that of the law. Both rules
compare all eigenvalues with one threshold; their curve is this threshold, repeated for each eigenvalue.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np
from scipy import optimize

from ..linalg import divisor
from .eigenvalues import Eigenvalues
from .picking import leading_above


def gavish_donoho(e: Eigenvalues, noise_variance: float | None = None) -> tuple[int, np.ndarray]:
    """The number of singular values above the hard threshold with the smallest asymptotic mean squared error [1]_.

    The threshold is hard_threshold(beta) sqrt(N sigma2) for a known sigma2 = `noise_variance`, and omega(beta) times
    the median singular value for an unknown sigma2, with
    omega = hard_threshold(beta) / sqrt(median of the Marchenko-Pastur law).

    References
    ----------
    .. [1] Gavish, Donoho (2014), The optimal hard threshold for singular values is 4/sqrt(3).
    """
    return _above(e, hard_threshold(_beta(e)) ** 2, noise_variance)


def marchenko_pastur(e: Eigenvalues, noise_variance: float | None = None) -> tuple[int, np.ndarray]:
    """The number of eigenvalues above sigma2 N (1 + sqrt(beta))^2 / (n - ddof), the upper edge of those of noise [1]_.

    References
    ----------
    .. [1] Marchenko, Pastur (1967), Distribution of eigenvalues for some sets of random matrices.
    """
    return _above(e, (1.0 + math.sqrt(_beta(e))) ** 2, noise_variance)


def hard_threshold(beta: float) -> float:
    """The threshold in units of sqrt(N sigma2), sqrt(2 (b + 1) + 8 b / (b + 1 + sqrt(b^2 + 14 b + 1))) with b = beta.

    For beta = 1 it is 4/sqrt(3).
    """
    return math.sqrt(2 * (beta + 1) + 8 * beta / (beta + 1 + math.sqrt(beta * beta + 14 * beta + 1)))


def omega(beta: float) -> float:
    """The hard threshold in units of the median singular value."""
    return hard_threshold(beta) / math.sqrt(median_of_law(beta))


@lru_cache(maxsize=256)
def median_of_law(beta: float) -> float:
    """The median of the Marchenko-Pastur law with ratio 0 < beta <= 1 and variance 1.

    With x(t) = 1 + beta + 2 sqrt(beta) cos t the mass above x(t) is (2 / pi) int_0^t sin(u)^2 / x(u) du. The integrand
    is smooth up to the median for every beta, so that Gauss-Legendre quadrature with 64 nodes is exact up to rounding.
    """
    nodes, weights = np.polynomial.legendre.leggauss(64)
    a, b = 1.0 + beta, 2.0 * math.sqrt(beta)

    def mass_above(t: float) -> float:
        u = 0.5 * t * (nodes + 1.0)
        return t / math.pi * float(weights @ (np.sin(u) ** 2 / (a + b * np.cos(u))))

    # The median lies at t = pi/2 for beta -> 0 and near 2.31 for beta = 1.
    t = optimize.brentq(lambda t: mass_above(t) - 0.5, 1.0, 2.6, xtol=1e-14)
    return a + b * math.cos(t)


def _larger_side(e: Eigenvalues) -> float:
    return max(float(e.n_varying), e.free)


def _beta(e: Eigenvalues) -> float:
    return len(e.values) / _larger_side(e)


def _above(e: Eigenvalues, factor: float, noise_variance: Any) -> tuple[int, np.ndarray]:
    """The number of eigenvalues above the threshold `factor` N sigma2 / (n - ddof), and the curve of thresholds."""
    if noise_variance is None:
        # In units of lambda_1, so that nothing overflows or underflows.
        median = float(np.median(np.sqrt(e.relative))) ** 2
        threshold = factor / median_of_law(_beta(e)) * median
    else:
        sigma2 = float(noise_variance)
        if not 0.0 < sigma2 < math.inf:
            raise ValueError(f"noise_variance={noise_variance!r} must be a positive number, or None if it is unknown.")
        threshold = factor * _larger_side(e) / divisor(e.n, e.ddof) * (sigma2 / e.values[0])
    thresholds = np.full(len(e.values), threshold)
    return leading_above(e.relative, thresholds), thresholds * e.values[0]
