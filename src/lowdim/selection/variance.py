"""Rules that use the variance of each component."""

from __future__ import annotations

import numpy as np

from .eigenvalues import Eigenvalues, Unavailable
from .picking import first_best, leading_above


def proportion_of_variance(e: Eigenvalues, proportion: float = 0.9) -> tuple[int, np.ndarray]:
    """The smallest K with (lambda_1 + ... + lambda_K) / trace >= `proportion`.

    The curve is this proportion for K = 1, 2, ..., min(n - 1, p).
    """
    if not 0.0 < proportion <= 1.0:
        raise ValueError(f"proportion={proportion!r} of the variance must be above 0 and at most 1.")
    reached = np.cumsum(e.values / e.total)
    short = int(np.count_nonzero(reached < proportion - 1e-12))
    return min(short + 1, len(reached)), reached


def kaiser(e: Eigenvalues) -> tuple[int, np.ndarray]:
    """The number of eigenvalues above their average [1]_, which is 1 for a correlation matrix.

    The curve is the average, repeated for each eigenvalue.

    References
    ----------
    .. [1] Kaiser (1960), The application of electronic computers to factor analysis.
    """
    thresholds = np.full(len(e.values), e.total / e.n_varying)
    return leading_above(e.values, thresholds), thresholds


def broken_stick(e: Eigenvalues) -> tuple[int, np.ndarray]:
    """The number of leading eigenvalues above those expected from a broken stick [1]_ [2]_.

    If a stick as long as the trace is broken at random into m = min(n - 1, p) pieces, the expected length of the k-th
    longest piece is trace (1/k + 1/(k+1) + ... + 1/m) / m. These lengths are the curve.

    References
    ----------
    .. [1] Frontier (1976), Etude de la decroissance des valeurs propres dans une analyse en composantes principales.
    .. [2] Jackson (1993), Stopping rules in principal components analysis.
    """
    m = len(e.values)
    pieces = np.cumsum(1.0 / np.arange(m, 0, -1))[::-1] / m
    thresholds = pieces * e.total
    return leading_above(e.values, thresholds), thresholds


def elbow(e: Eigenvalues) -> tuple[int, np.ndarray]:
    """The K that maximises the profile likelihood of two groups of eigenvalues [1]_.

    The first K eigenvalues are modelled by one Gaussian, the m - K others by a second one with the same variance
    s2 = (sum of squares within the groups) / (m - 2). The curve is the log-likelihood for K = 1, ..., m - 1, of
    eigenvalues in units of lambda_1.

    References
    ----------
    .. [1] Zhu, Ghodsi (2006), Automatic dimensionality selection from the scree plot via the use of profile likelihood.
    """
    d = e.relative
    m = len(d)
    if m < 2:
        raise Unavailable("one eigenvalue has no elbow: at least 2 columns and 3 rows are needed")
    K = np.arange(1, m)
    within = _squares_about_mean(d)[:-1] + _squares_about_mean(d[::-1])[::-1][1:]
    # If there is no variation within the groups, their variance is replaced by the rounding error.
    s2 = np.maximum(within / max(m - 2, 1), e.cut**2)
    curve = -0.5 * m * np.log(2 * np.pi * s2) - 0.5 * within / s2
    return int(K[first_best(curve)]), curve


def _squares_about_mean(d: np.ndarray) -> np.ndarray:
    """sum_{i<=q} (d_i - mean of d_1..d_q)^2 for q = 1, 2, ..., by Welford's update, which has no cancellation."""
    q = np.arange(1, len(d) + 1)
    means = np.cumsum(d) / q
    steps = d[1:] - means[:-1]
    return np.concatenate([[0.0], np.cumsum(steps * steps * (q[:-1] / q[1:]))])
