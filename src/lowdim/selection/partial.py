"""Velicer's minimum average partial: components are removed until the remaining correlations are smallest."""

from __future__ import annotations

import numpy as np

from ..linalg import RESOLUTION, eigh_descending
from .eigenvalues import Eigenvalues, Unavailable
from .picking import first_best


def velicer(e: Eigenvalues) -> tuple[int, np.ndarray]:
    """The K that minimises the average squared partial correlation of the columns given the first K components [1]_.

    With the correlation matrix R = sum_k l_k v_k v_k^T and C = R - sum_{k<=K} l_k v_k v_k^T,

        f_K = (1 / (p (p - 1))) sum_{i != j} C_ij^2 / (C_ii C_jj).

    The curve is f_0, f_1, ...; it ends before the K at which some column has no variance left. Constant columns are
    left out. Covariances are converted to correlations first, so the result does not depend on units.

    Notes
    -----
    The cost is p^2 operations for each K, p^3 in total.

    References
    ----------
    .. [1] Velicer (1976), Determining the number of components from the matrix of partial correlations.
    """
    if e.matrix is None or e.varying is None:
        raise Unavailable("partial correlations need the p x p matrix, which is not computed for so many columns")
    keep = np.flatnonzero(e.varying)
    p = len(keep)
    if p < 2:
        raise Unavailable("partial correlations need at least 2 columns that are not constant")
    C = e.matrix[np.ix_(keep, keep)]
    deviations = np.sqrt(np.diagonal(C))
    C = C / deviations[:, None] / deviations
    np.fill_diagonal(C, 1.0)
    values, vectors = eigh_descending(C)
    curve = []
    for value, v in zip(values[: min(p, len(e.values))], vectors, strict=False):
        left = np.diagonal(C)
        if left.min() <= RESOLUTION:
            break
        # sum_ij C_ij^2 / (C_ii C_jj), without the diagonal, whose entries are 1.
        inverse = 1.0 / left
        curve.append(max(float(inverse @ (C * C) @ inverse) - p, 0.0) / (p * (p - 1)))
        C -= value * v[:, None] * v
    f = np.array(curve)
    return first_best(-f), f
