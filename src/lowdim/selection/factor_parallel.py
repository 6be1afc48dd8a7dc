"""Parallel analysis for factors: eigenvalues of the reduced correlation matrix, compared with those of simulations."""

from __future__ import annotations

import numpy as np

from ..linalg import quiet_blas
from .eigenvalues import Eigenvalues, Unavailable
from .noise_spectrum import NoiseSpectrum
from .picking import leading_above
from .resampling import as_far_as_needed, check_draws, simulate_correlations, threshold_over

#: Whole tables are drawn if that takes at most this many multiplications.
_WHOLE_UP_TO = 2e9


def parallel_factors(
    e: Eigenvalues, n_draws: int = 100, quantile: float | str = 0.95, seed: int = 0
) -> tuple[int, np.ndarray]:
    """The number of leading eigenvalues of the reduced correlation matrix above those of independent columns [1]_.

    In the reduced correlation matrix, squared multiple correlations take the place of ones on the diagonal: they are
    lower bounds of the communalities. Its eigenvalues are the variances that factors explain, without the variance that
    is particular to each column. Factors are counted up to the first eigenvalue that is not above its threshold.

    Parameters
    ----------
    n_draws : int
        Number of simulated tables of independent Gaussian columns with the same n and p.
    quantile : float or "mean"
        The threshold for the k-th eigenvalue is this quantile (or the mean) of the simulated ones.

    Notes
    -----
    The correlation matrices of the simulations are drawn by Bartlett's decomposition, without rows: p^3 operations for
    each. For large p only the leading eigenvalues of the correlation matrices are drawn, see `parallel`, and the
    expected 1 - SMC of independent columns, (n - p) / (n - 1), is subtracted from them. In simulations this changed the
    means of the leading eigenvalues by less than 1%. More rows than columns are needed.

    References
    ----------
    .. [1] Humphreys, Ilgen (1969), Note on a criterion for the number of common factors; Montanelli, Humphreys (1976),
       Latent roots of random data correlation matrices with squared multiple correlations on the diagonal.
    """
    check_draws(n_draws, quantile)
    values = reduced_eigenvalues(e)
    p, free = len(values), e.free
    if n_draws * float(p) ** 3 < _WHOLE_UP_TO:
        rng = np.random.default_rng(seed)
        with quiet_blas(p):
            draws = [reduced_spectrum(simulate_correlations(rng, e.n, p)) for _ in range(int(n_draws))]
        thresholds = threshold_over(np.stack(draws), quantile)
    else:
        unique = (e.n - p) / free
        thresholds = as_far_as_needed(
            values,
            NoiseSpectrum.of_standardized(p, free),
            int(n_draws),
            seed,
            lambda draws: threshold_over(draws, quantile) - unique,
        )
    return leading_above(values[: len(thresholds)], thresholds), thresholds


def reduced_eigenvalues(e: Eigenvalues) -> np.ndarray:
    """The eigenvalues of the reduced correlation matrix of the columns that vary, descending; some are negative."""
    if e.matrix is None or e.varying is None:
        raise Unavailable("squared multiple correlations need the p x p matrix, which is not computed here")
    keep = np.flatnonzero(e.varying)
    p = len(keep)
    if p < 2:
        raise Unavailable("squared multiple correlations need at least 2 columns that are not constant")
    if e.rank < p:
        raise Unavailable(
            "squared multiple correlations need a regular correlation matrix: more rows than columns, and no column "
            "that depends on others"
        )
    R = e.matrix[np.ix_(keep, keep)]
    sd = np.sqrt(np.diagonal(R))
    return reduced_spectrum(R / sd / sd[:, None])


def reduced_spectrum(R: np.ndarray) -> np.ndarray:
    """The eigenvalues of a correlation matrix with squared multiple correlations on its diagonal, descending."""
    unique = 1.0 / np.diagonal(np.linalg.inv(R))
    return np.linalg.eigvalsh(R - np.diag(unique))[::-1]
