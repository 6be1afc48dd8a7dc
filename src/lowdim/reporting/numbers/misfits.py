"""The columns that are responsible for T2 and Q of a row.

With x the centred and scaled row, W the components, l their variances and z = W x,

    T2 = sum_k z_k^2 / l_k = sum_j x_j (W^T diag(l)^(-1) z)_j,   Q = sum_j (x - W^T z)_j^2,

and the contribution of column j is its term of the sum [1]_. A column contributes to T2 by its entry in this row:
nothing if the entry is at the mean, and a negative amount if it makes the row less extreme.

References
----------
.. [1] Westerhuis, Gurden, Smilde (2000), Generalized contribution plots in multivariate statistical process monitoring,
   Chemometrics and Intelligent Laboratory Systems 51.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .arrays import floats

#: The share of usual rows beyond the limits of T2 and Q.
ALPHA = 0.05


class Contributions(NamedTuple):
    """What each column contributes to T2 and Q of each row, shape (m, p), and where entries are above the mean, or
    above what the components predict."""

    t2: np.ndarray
    q: np.ndarray
    above_mean: np.ndarray
    above_predicted: np.ndarray


def contributions(model: Any, X: np.ndarray) -> Contributions:
    """The contributions of the columns to T2 and Q of the rows of `X`, for a fitted PCA."""
    mean, W, variances = (floats(a) for a in (model.mean_, model.components_, model.explained_variance_))
    centred = X - mean
    if model.scale_ is not None:
        centred = centred / floats(model.scale_)
    Z = centred @ W.T
    # Components without variance are no part of T2.
    rank = int(model.rank_)
    residuals = centred - Z @ W
    t2 = centred * ((Z[:, :rank] / variances[:rank]) @ W[:rank])
    return Contributions(t2, residuals**2, centred > 0, residuals > 0)
