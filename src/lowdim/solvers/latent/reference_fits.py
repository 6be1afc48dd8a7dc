"""Log-likelihoods of reference models for factor analysis: independent columns, and the sample covariance."""

from __future__ import annotations

import math

import numpy as np

from ..._xp import to_numpy
from ...summaries.moments import Moments
from ...summaries.triangle import Triangle


def independent_loglike(summary: Moments | Triangle) -> float:
    """The log-likelihood of the model without factors, in which columns are independent; without constant columns."""
    if isinstance(summary, Triangle):
        root = to_numpy(summary.root)
        squares = np.einsum("ij,ij->j", root, root)
    else:
        squares = np.diagonal(to_numpy(summary.scatter))
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
