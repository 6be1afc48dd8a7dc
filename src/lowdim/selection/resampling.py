"""Horn's parallel analysis: eigenvalues are compared with those of simulated independent columns."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable
from typing import Any

import numpy as np

from .._xp import Array
from ..linalg import quiet_blas
from .eigenvalues import Eigenvalues, Unavailable
from .noise_spectrum import NoiseSpectrum
from .picking import leading_above

#: The number of simulated columns that are drawn at a time.
_AT_A_TIME = 4096
#: Whole tables are drawn if that takes at most this many multiplications.
_WHOLE_UP_TO = 2e10
#: The number of draws that tell how many leading eigenvalues are needed.
_PILOT = 20


def parallel(e: Eigenvalues, n_draws: int = 100, quantile: float | str = 0.95, seed: int = 0) -> tuple[int, np.ndarray]:
    """The number of leading eigenvalues above those of independent Gaussian columns, up to the first that is not [1]_.

    Parameters
    ----------
    n_draws : int
        Number of simulated tables with the same n and p. Their columns have the variances of the given columns; if
        those are standardized, the eigenvalues are those of the correlation matrix of the simulated rows.
    quantile : float or "mean"
        The threshold for lambda_k is this quantile (or the mean) of the k-th eigenvalue over the simulations. Horn used
        the mean; 0.95 keeps fewer components [2]_.

    The curve consists of the thresholds for k = 1, ..., min(n - 1, p); for large tables it ends soon after the first
    threshold that is not exceeded, because the others decide nothing.

    Notes
    -----
    If there are more rows than columns, no rows are simulated: the scatter matrix of n Gaussian rows about their mean
    is distributed as L L^T, where L is lower triangular, its diagonal has chi distributions with n - 1, n - 2, ...
    degrees of freedom, and the entries below are standard normal [3]_. The cost of p^3 does not depend on n. Otherwise
    n - 1 rows are drawn, some columns at a time, which costs n^2 p.

    For large tables only the leading eigenvalues are computed, and of the simulated rows only what that needs is drawn
    (`noise_spectrum`). If there are many different variances, small ones are replaced by a few with the same sums of
    powers, and standardized columns are replaced by Gaussian ones. In simulations this changed the means of the leading
    eigenvalues by less than 1%; for standardized columns they were larger by 0.05% to 0.4%.

    References
    ----------
    .. [1] Horn (1965), A rationale and test for the number of factors in factor analysis.
    .. [2] Glorfeld (1995), An improvement on Horn's parallel analysis methodology.
    .. [3] Bartlett (1933), On the theory of statistical regression.
    """
    check_draws(n_draws, quantile)
    if e.variances is None:
        raise Unavailable("the simulated columns need the variances of the columns, which are not known here")
    unit = float(e.variances.max())
    deviations = np.sqrt(e.variances[e.variances > 0.0] / unit)
    # `unit` is a variance with divisor n - ddof; the simulated scatter matrices have `free` degrees of freedom.
    scale = unit if e.standardize else unit / e.free

    def thresholds_of(draws: np.ndarray) -> np.ndarray:
        return threshold_over(draws, quantile) * scale

    noise = _noise_spectrum(e.free, deviations, e.standardize, int(n_draws))
    if noise is None:
        thresholds = thresholds_of(_all_eigenvalues(e, deviations, int(n_draws), seed))
    else:
        thresholds = as_far_as_needed(e.values, noise, int(n_draws), seed, thresholds_of)
    return leading_above(e.values[: len(thresholds)], thresholds), thresholds


def check_draws(n_draws: Any, quantile: Any) -> None:
    """Refuse numbers of simulations and quantiles that make no sense."""
    if isinstance(n_draws, bool) or not isinstance(n_draws, numbers.Integral) or n_draws < 1:
        raise ValueError(f"n_draws={n_draws!r} must be a whole number of at least 1.")
    if quantile != "mean" and not (isinstance(quantile, numbers.Real) and 0.0 < float(quantile) < 1.0):
        raise ValueError(f"quantile={quantile!r} must lie strictly between 0 and 1, or be 'mean'.")


def threshold_over(draws: np.ndarray, quantile: float | str) -> np.ndarray:
    """The quantile of each simulated eigenvalue over the draws, or its mean."""
    return np.asarray(draws.mean(axis=0) if quantile == "mean" else np.quantile(draws, float(quantile), axis=0))


def _all_eigenvalues(e: Eigenvalues, deviations: np.ndarray, n_draws: int, seed: int) -> np.ndarray:
    """All eigenvalues of each simulated table, (draws, min(n - 1, p))."""
    rng = np.random.default_rng(seed)
    m = len(e.values)
    draws = np.zeros((n_draws, m))
    with quiet_blas(min(m, len(deviations))):
        for draw in draws:
            values = simulate_eigenvalues(rng, e.free + 1.0, deviations, e.standardize)[:m]
            draw[: len(values)] = values
    return draws


def _noise_spectrum(free: float, deviations: np.ndarray, standardize: bool, n_draws: int) -> NoiseSpectrum | None:
    """What leading eigenvalues are simulated with, or None if whole tables are simulated, because that is quick."""
    p = len(deviations)
    if n_draws * min(free, float(p)) ** 2 * p < _WHOLE_UP_TO:
        return None
    return NoiseSpectrum.of_standardized(p, free) if standardize else NoiseSpectrum.of_columns(deviations**2, free)


def as_far_as_needed(
    values: np.ndarray, noise: NoiseSpectrum, n_draws: int, seed: int, thresholds_of: Callable[[np.ndarray], np.ndarray]
) -> np.ndarray:
    """The thresholds for k = 1, 2, ..., at least up to the first that is not exceeded.

    The time increases with the cube of the largest k, which is found out with the first of the draws.
    """
    k = 8
    for some in (min(n_draws, _PILOT), n_draws):
        while True:
            draws = noise.leading(some, k, seed)
            m = min(draws.shape[1], len(values))
            thresholds = thresholds_of(draws[:, :m])
            chosen = leading_above(values[:m], thresholds)
            if m < k or chosen < m:
                break
            k *= 2
        k = min(k, chosen + 3)
    return thresholds


def simulate_eigenvalues(rng: np.random.Generator, n: float, deviations: np.ndarray, standardize: bool) -> np.ndarray:
    """Descending eigenvalues of the scatter matrix (of the correlation matrix, if `standardize`) of n Gaussian rows
    whose columns are independent and have the given standard deviations."""
    p, free = len(deviations), n - 1.0
    G = _bartlett(rng, free, deviations, standardize) if free >= p else _dual(rng, free, deviations, standardize)
    return np.clip(np.linalg.eigvalsh(G)[::-1], 0.0, None)


def simulate_correlations(rng: np.random.Generator, n: float, p: int) -> np.ndarray:
    """The correlation matrix of n Gaussian rows, more than columns, whose p columns are independent."""
    return _bartlett(rng, n - 1.0, np.ones(p), True)


def _bartlett(rng: np.random.Generator, free: float, deviations: np.ndarray, standardize: bool) -> Array:
    """The p x p scatter matrix L L^T. Row i of L belongs to column i of the table; its squared length is the sum of
    squares of that column."""
    p = len(deviations)
    L = np.tril(rng.standard_normal((p, p)), -1)
    L[np.diag_indices(p)] = np.sqrt(rng.chisquare(free - np.arange(p)))
    L *= 1.0 / np.sqrt((L * L).sum(axis=1, keepdims=True)) if standardize else deviations[:, None]
    return L @ L.T


def _dual(rng: np.random.Generator, free: float, deviations: np.ndarray, standardize: bool) -> Array:
    """Z Z^T for `free` simulated rows Z; apart from zeros it has the same eigenvalues as the scatter matrix."""
    rows = max(1, math.floor(free + 0.5))
    G = np.zeros((rows, rows))
    for start in range(0, len(deviations), _AT_A_TIME):
        some = deviations[start : start + _AT_A_TIME]
        Z = rng.standard_normal((rows, len(some)))
        Z *= 1.0 / np.sqrt((Z * Z).sum(axis=0)) if standardize else some
        G += Z @ Z.T
    return G


def check_level(level: Any) -> float:
    """`level` as a float; an error unless it is strictly between 0 and 1."""
    if not isinstance(level, numbers.Real) or not 0.0 < float(level) < 1.0:
        raise ValueError(f"level={level!r} must lie strictly between 0 and 1.")
    return float(level)


def seed_of(random_state: Any) -> int:
    """`random_state` as a number; None is a fixed seed, so that the same rows give the same result."""
    if random_state is None:
        return 0
    if isinstance(random_state, numbers.Integral):
        return int(random_state)
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**31 - 1))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31 - 1))
    raise ValueError(f"random_state={random_state!r} must be None, a whole number, or a generator of numpy.random.")
