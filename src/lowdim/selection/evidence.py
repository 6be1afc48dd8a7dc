"""Rules that compare probabilistic PCA models: Minka's evidence, BIC, AIC.

In all of them v_K is the average of the p - K discarded eigenvalues, including those that are zero. With fewer rows
than columns most of the p eigenvalues are zero; they are counted but not computed. If the rows lie exactly in K
dimensions there is no noise; v_K is then the rounding error p eps lambda_1, as in PPCA.
"""

from __future__ import annotations

import numpy as np
from scipy import special

from ..linalg import divisor
from .eigenvalues import Eigenvalues, Unavailable
from .picking import first_best

#: Eigenvalues that differ by less than this, relative to the larger one, are tied.
_TIED = 1e-8


def minka(e: Eigenvalues) -> tuple[int, np.ndarray]:
    """The K that maximises Laplace's approximation of the evidence p(X | K) of probabilistic PCA [1]_.

    ln p(X | K) = ln p(U) - (n/2) sum_{j<=K} ln lambda_j - (n (p - K) / 2) ln v_K
                  + ((m + K) / 2) ln 2 pi - (1/2) ln |A| - (K/2) ln n,        m = p K - K (K + 1) / 2,
    ln p(U)     = -K ln 2 + sum_{i<=K} [ln Gamma((p - i + 1) / 2) - ((p - i + 1) / 2) ln pi],
    ln |A|      = sum_{i<=K} sum_{i<j<=p} ln[n (1/h_j - 1/h_i) (lambda_i - lambda_j)],

    with h_j = lambda_j for j <= K and h_j = v_K for j > K. The curve is ln p(X | K) for K = 1, ..., min(n - 1, p) - 1,
    with eigenvalues in units of lambda_1 (which adds the same constant for all K), and -inf beyond the rank.

    Notes
    -----
    The double sum takes r^2 operations for all K together, where r is the number of nonzero eigenvalues:
    ln(lambda_i - lambda_j) does not depend on K, ln(1/lambda_j - 1/lambda_i) is a cumulative sum, and the rest is one
    r x r table. A rotation between two equal eigenvalues changes nothing. Its curvature is zero, so that Laplace's
    approximation would be infinite; such pairs are left out.

    References
    ----------
    .. [1] Minka (2000), Automatic choice of dimensionality for PCA.
    """
    most = len(e.values) - 1
    if most < 1:
        raise Unavailable(
            "the evidence compares K = 1, ..., min(n - 1, p) - 1: at least 2 columns and 3 rows are needed"
        )
    n, p, r = e.n, e.n_varying, e.rank
    d = e.relative[:r]
    K = np.arange(1, min(most, r) + 1)
    v = np.maximum(_tails(e.relative)[K] / (p - K), e.cut)
    i = np.arange(1, K[-1] + 1)
    sphere = special.gammaln((p - i + 1) / 2) - (p - i + 1) / 2 * np.log(np.pi) - np.log(2.0)
    m = p * K - K * (K + 1) / 2
    curve = np.full(most, -np.inf)
    curve[: len(K)] = (
        np.cumsum(sphere)
        - n / 2 * np.cumsum(np.log(d))[K - 1]
        - n * (p - K) / 2 * np.log(v)
        + (m + K) / 2 * np.log(2 * np.pi)
        - 0.5 * _log_curvature(d, v, K, n, p)
        - K / 2 * np.log(n)
    )
    return int(K[first_best(curve[: len(K)])]), curve


def bic(e: Eigenvalues) -> tuple[int, np.ndarray]:
    """The K that minimises BIC = -2 ln L + ln(n) f of probabilistic PCA [1]_, f = p K - K (K - 1) / 2 + 1 + p.

    Here -2 ln L = n [p ln 2 pi + sum_{k<=K} ln lambda_k + (p - K) ln v_K + p], with eigenvalues of divisor n [2]_. The
    curve is BIC for K = 0, 1, ..., min(n - 1, p) - 1.

    References
    ----------
    .. [1] Schwarz (1978), Estimating the dimension of a model.
    .. [2] Tipping, Bishop (1999), Probabilistic principal component analysis.
    """
    return _penalise(e, float(np.log(e.n)))


def aic(e: Eigenvalues) -> tuple[int, np.ndarray]:
    """The K that minimises AIC = -2 ln L + 2 f of probabilistic PCA [1]_, with L and f as in `bic`.

    References
    ----------
    .. [1] Akaike (1974), A new look at the statistical model identification.
    """
    return _penalise(e, 2.0)


def _penalise(e: Eigenvalues, price: float) -> tuple[int, np.ndarray]:
    """The K that minimises -2 ln L + price * (number of free parameters), and that curve for K = 0, 1, ..."""
    K, p = np.arange(len(e.values)), e.n_varying
    curve = deviance(e) + price * (p * K - K * (K - 1) / 2 + 1 + p)
    return int(K[first_best(-curve)]), curve


def deviance(e: Eigenvalues) -> np.ndarray:
    """-2 ln L of probabilistic PCA at its maximum for K = 0, ..., min(n - 1, p) - 1."""
    n, p, d = e.n, e.n_varying, e.relative
    K = np.arange(len(d))
    v = np.maximum(_tails(d)[K] / (p - K), e.cut)
    kept = np.maximum(d, e.cut)
    logs = np.concatenate([[0.0], np.cumsum(np.log(kept))])[K]
    # This is p, except where eigenvalues were replaced by the rounding error.
    fit = np.concatenate([[0.0], np.cumsum(d / kept)])[K] + _tails(d)[K] / v
    unit = np.log(e.values[0]) + np.log(divisor(n, e.ddof) / n)
    return n * (p * np.log(2 * np.pi) + p * unit + logs + (p - K) * np.log(v) + fit)


def _tails(d: np.ndarray) -> np.ndarray:
    """sum_{j>K} d_j for K = 0, ..., len(d), summed from the smallest on."""
    return np.concatenate([np.cumsum(d[::-1])[::-1], [0.0]])


def _log_curvature(d: np.ndarray, v: np.ndarray, K: np.ndarray, n: float, p: int) -> np.ndarray:
    """ln |A| for each K, from the r nonzero eigenvalues `d` and p - r zeros."""
    r, top = len(d), K[-1]
    gap = d[:top, None] - d[None, :]
    pair = np.arange(top)[:, None] < np.arange(r)[None, :]
    apart = pair & (gap > _TIED * d[:top, None])
    log_gap = np.log(np.where(apart, gap, 1.0))
    # ln(lambda_i - lambda_j) summed over all j > i, including zero eigenvalues; it does not depend on K.
    gaps = np.cumsum(log_gap.sum(axis=1) + (p - r) * np.log(d[:top]))
    # ln(1/lambda_j - 1/lambda_i) = ln((lambda_i - lambda_j) / (lambda_i lambda_j)) summed over i < j <= K.
    product = np.log(d[:top, None]) + np.log(d[None, :])
    inverse = np.cumsum(np.where(apart, log_gap - product, 0.0).sum(axis=0)[:top])
    # ln(1/v_K - 1/lambda_i) summed over i <= K, once for each j > K that is not tied with i.
    beyond = p - r + np.cumsum(apart[:, ::-1], axis=1)[:, ::-1]
    beyond = np.concatenate([beyond, np.full((top, 1), p - r)], axis=1)[:, K]
    spread = d[:top, None] - v[None, :]
    kept = (np.arange(top)[:, None] < K[None, :]) & (spread > 0.0)
    noise = np.log(np.where(kept, spread, 1.0)) - np.where(kept, np.log(d[:top, None]) + np.log(v)[None, :], 0.0)
    pairs = np.cumsum(apart.sum(axis=1) + (p - r))
    return gaps + inverse + (noise * beyond).sum(axis=0) + pairs * np.log(n)
