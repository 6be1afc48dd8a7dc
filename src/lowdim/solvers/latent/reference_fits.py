"""Reference models for factor analysis of complete rows: independent columns, and the sample covariance (saturated).

`saturated_fit.py` has the same for rows with holes.
"""

from __future__ import annotations

import math

import numpy as np

from ..._xp import to_numpy
from ...summaries.moments import Moments
from ...summaries.triangle import Triangle
from ..results import LatentFit, Misfit


def independent_loglike(summary: Moments | Triangle) -> float:
    """The log-likelihood of the model without factors, in which columns are independent; without constant columns."""
    squares = _squares(summary)
    n, varying = summary.weight, squares[squares > 0.0] / summary.weight
    return -0.5 * n * (len(varying) * (math.log(2 * math.pi) + 1.0) + float(np.sum(np.log(varying))))


def saturated_loglike(summary: Moments | Triangle) -> float | None:
    """The log-likelihood of the Gaussian with the sample covariance; None if that is singular."""
    n, p = summary.weight, summary.n_features
    if isinstance(summary, Triangle) and summary.root.shape[0] < p:
        return None
    S = to_numpy(summary.scatter)
    squares = np.diagonal(S)
    if np.any(squares <= 0.0):
        return None
    sd = np.sqrt(squares)
    sign, log_determinant = np.linalg.slogdet(S / sd / sd[:, None])
    if sign <= 0 or log_determinant < -30.0 * p:
        return None
    return -0.5 * n * (p * (math.log(2 * math.pi / n) + 1.0) + log_determinant + 2.0 * float(np.sum(np.log(sd))))


def misfit_of(summary: Moments | Triangle, fit: LatentFit) -> Misfit:
    """How far a model of complete rows is from the covariance of these rows, given their summary.

    p^2 k operations beside those of a determinant; for fewer rows than columns, n^2 p and no matrix of size p x p.
    """
    n, saturated = summary.weight, saturated_loglike(summary)
    discrepancy = null = None
    if saturated is not None:
        discrepancy = 2.0 / n * (saturated - float(fit.loglike[-1]))
        null = 2.0 / n * (saturated - independent_loglike(summary))
    varying = np.flatnonzero(_squares(summary) > 0.0)
    sd = np.sqrt(_squares(summary)[varying] / n)
    unit = to_numpy(fit.scale)[varying] / sd
    W, psi = to_numpy(fit.loadings)[:, varying] * unit, to_numpy(fit.noise)[varying] * unit**2
    if isinstance(summary, Triangle) and summary.root.shape[0] < summary.n_features:
        residuals = residuals_of_rows(to_numpy(summary.root)[:, varying] / sd / math.sqrt(n), W, psi)
    else:
        S = to_numpy(summary.scatter)
        S = S if len(varying) == len(S) else S[np.ix_(varying, varying)]
        residuals = residuals_of_correlation(S / n / sd / sd[:, None], W, psi)
    return Misfit(n, discrepancy, null, residuals)


def residuals_of_correlation(R: np.ndarray, W: np.ndarray, psi: np.ndarray) -> tuple[float, float]:
    """Sums of squares of R - W^T W - diag(psi), over pairs of different columns and over the diagonal."""
    D = R - W.T @ W
    own = np.diagonal(D)
    return 0.5 * max(float(np.sum(D * D)) - float(own @ own), 0.0), float(np.sum((own - psi) ** 2))


def residuals_of_rows(Z: np.ndarray, W: np.ndarray, psi: np.ndarray) -> tuple[float, float]:
    """The same for R = Z^T Z, of which Z has fewer rows than columns: the squares of Z^T Z - W^T W add up to
    |Z Z^T|^2 - 2 |Z W^T|^2 + |W W^T|^2."""
    own = np.einsum("ij,ij->j", Z, Z) - np.einsum("ij,ij->j", W, W)
    total = float(np.sum((Z @ Z.T) ** 2) - 2.0 * np.sum((Z @ W.T) ** 2) + np.sum((W @ W.T) ** 2))
    return 0.5 * max(total - float(own @ own), 0.0), float(np.sum((own - psi) ** 2))


def _squares(summary: Moments | Triangle) -> np.ndarray:
    """The sum of squares of each centred column."""
    if isinstance(summary, Triangle):
        root = to_numpy(summary.root)
        return np.asarray(np.einsum("ij,ij->j", root, root))
    return np.diagonal(to_numpy(summary.scatter))
