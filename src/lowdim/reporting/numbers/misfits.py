"""The columns that are responsible for T2 and Q of a row.

With x the centred and scaled row, W the components and l their variances, z = W x and

    T2 = sum_k z_k^2 / l_k = |W^T diag(l)^(-1/2) z|^2,   Q = |x - W^T z|^2,

since the rows of W are orthonormal. Both are sums of squares over the columns, and the contribution of a column is its
square: these are the complete decomposition contributions of [1]_, which are never negative and add up to T2 and Q.

References
----------
.. [1] Alcala, Qin (2009), Reconstruction-based contribution for process monitoring, Automatica 45.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .arrays import floats


class Contributions(NamedTuple):
    """Roots of the contributions of the columns, shape (m, p), with signs: positive where the entry is large, or larger
    than the components predict."""

    t2: np.ndarray
    q: np.ndarray


def contributions(model: Any, X: np.ndarray) -> Contributions:
    """The signed roots of the contributions of the columns to T2 and Q of the rows of `X`, for a fitted PCA."""
    mean, W, variances = (floats(a) for a in (model.mean_, model.components_, model.explained_variance_))
    centred = X - mean
    if model.scale_ is not None:
        centred = centred / floats(model.scale_)
    Z = centred @ W.T
    # Components without variance are no part of T2.
    rank = int(model.rank_)
    return Contributions((Z[:, :rank] / np.sqrt(variances[:rank])) @ W[:rank], centred - Z @ W)
