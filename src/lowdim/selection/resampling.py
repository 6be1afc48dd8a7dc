"""Horn's parallel analysis: eigenvalues beside those of simulated columns that have nothing to do with each other."""

from __future__ import annotations

import math
import numbers
from typing import Any

import numpy as np

from .._xp import Array
from ..linalg import quiet_blas
from .eigenvalues import Eigenvalues, Unavailable
from .picking import leading_above

#: Columns of simulated rows that are drawn at a time.
_AT_A_TIME = 4096


def parallel(e: Eigenvalues, n_draws: int = 100, quantile: float | str = 0.95, seed: int = 0) -> tuple[int, np.ndarray]:
    """The number of leading eigenvalues above those of independent Gaussian columns, up to the first that is not [1]_.

    Parameters
    ----------
    n_draws : int
        Simulated tables of the same n and p. Their columns have the variances of the columns at hand; where those are
        standardized, the eigenvalues are those of the correlation matrix of the simulated rows.
    quantile : float or "mean"
        Of the k-th eigenvalue over the draws: the threshold for lambda_k. Horn took the mean; 0.95 keeps fewer [2]_.

    The curve is the thresholds, k = 1, ..., min(n - 1, p).

    Notes
    -----
    No rows are simulated where there are more than columns: the scatter of n Gaussian rows about their mean is
    distributed as L L^T, L lower triangular with chi-distributed diagonal of n - 1, n - 2, ... degrees of freedom and
    standard normal entries below [3]_. A draw costs p^3 whatever n. Otherwise n - 1 rows are drawn, some columns at a
    time, and it costs n^2 p.

    References
    ----------
    .. [1] Horn (1965), A rationale and test for the number of factors in factor analysis.
    .. [2] Glorfeld (1995), An improvement on Horn's parallel analysis methodology.
    .. [3] Bartlett (1933), On the theory of statistical regression.
    """
    if isinstance(n_draws, bool) or not isinstance(n_draws, numbers.Integral) or n_draws < 1:
        raise ValueError(f"n_draws={n_draws!r} must be a whole number of at least 1.")
    if quantile != "mean" and not (isinstance(quantile, numbers.Real) and 0.0 < quantile < 1.0):
        raise ValueError(f"quantile={quantile!r} must lie strictly between 0 and 1, or be 'mean'.")
    if e.variances is None:
        raise Unavailable("the variances of the columns are not known here, and simulated columns need them")
    unit = float(e.variances.max())
    deviations = np.sqrt(e.variances[e.variances > 0.0] / unit)
    rng = np.random.default_rng(seed)
    m = len(e.values)
    draws = np.zeros((int(n_draws), m))
    with quiet_blas(min(m, len(deviations))):
        for draw in draws:
            values = simulated(rng, e.n, deviations, e.standardize)[:m]
            draw[: len(values)] = values
    over = draws.mean(axis=0) if quantile == "mean" else np.quantile(draws, float(quantile), axis=0)
    # Variances have the divisor n - ddof already; n - 1 is what scatter matrices are worth.
    thresholds = over * (unit if e.standardize else unit / (e.n - 1.0))
    return leading_above(e.values, thresholds), thresholds


def simulated(rng: np.random.Generator, n: float, deviations: np.ndarray, standardize: bool) -> np.ndarray:
    """Eigenvalues, descending, of the scatter matrix (`standardize`: of the correlation matrix) of n Gaussian rows
    whose columns are independent with these deviations."""
    p, free = len(deviations), n - 1.0
    G = _bartlett(rng, free, deviations, standardize) if free >= p else _dual(rng, free, deviations, standardize)
    return np.clip(np.linalg.eigvalsh(G)[::-1], 0.0, None)


def _bartlett(rng: np.random.Generator, free: float, deviations: np.ndarray, standardize: bool) -> Array:
    """The p x p scatter L L^T. Row i of L belongs to column i of the table, and its length is the root of the sum of
    squares of that column."""
    p = len(deviations)
    L = np.tril(rng.standard_normal((p, p)), -1)
    L[np.diag_indices(p)] = np.sqrt(rng.chisquare(free - np.arange(p)))
    L *= 1.0 / np.sqrt((L * L).sum(axis=1, keepdims=True)) if standardize else deviations[:, None]
    return L @ L.T


def _dual(rng: np.random.Generator, free: float, deviations: np.ndarray, standardize: bool) -> Array:
    """Z Z^T for the free rows Z, which has the same eigenvalues but for zeros."""
    rows = max(1, math.floor(free + 0.5))
    G = np.zeros((rows, rows))
    for start in range(0, len(deviations), _AT_A_TIME):
        some = deviations[start : start + _AT_A_TIME]
        Z = rng.standard_normal((rows, len(some)))
        Z *= 1.0 / np.sqrt((Z * Z).sum(axis=0)) if standardize else some
        G += Z @ Z.T
    return G


def check_level(level: Any) -> float:
    """A share, strictly between 0 and 1."""
    if not isinstance(level, numbers.Real) or not 0.0 < float(level) < 1.0:
        raise ValueError(f"level={level!r} must lie between 0 and 1, strictly.")
    return float(level)


def seed_of(random_state: Any) -> int:
    """`random_state` as a number; None is a fixed one, so that the same rows give the same answer."""
    if random_state is None:
        return 0
    if isinstance(random_state, numbers.Integral):
        return int(random_state)
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**31 - 1))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31 - 1))
    raise ValueError(f"random_state={random_state!r} must be None, a whole number, or a generator of numpy.random.")
