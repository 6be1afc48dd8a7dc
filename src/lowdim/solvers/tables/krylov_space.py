"""Coordinates in the Krylov space of a regression: all that its first components need of a large table."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .subspaces import LARGE, SHARE, within_columns, within_rows
from .views import Views

#: A direction is lost if, after orthogonalisation, less than this share of its square is left.
_LOST = 1e-13


def krylov_views(views: Views, k: int) -> Views:
    """Coordinates of X and Y in which the first k components of the regression of Y on X by PLS are the same.

    Notes
    -----
    The weights of these components lie in the span of C, S C, ..., S^(k-1) C with S = X^T X and C = X^T Y, and their
    loadings in that of one more power [1]_. X Q has the same components, if the columns of Q are an orthonormal basis
    of this span. It is found without a decomposition of S, by products with S. For fewer rows than columns these are
    products with G = X X^T: for Q = X^T B, X Q = G B and Q^T Q = B^T G B.

    The views are returned as they are if there is nothing to be gained, or if directions of the span are lost to
    rounding.

    References
    ----------
    .. [1] Helland (1988), On the structure of partial least squares regression.
    """
    x, y = views.tables
    if x.dimension < LARGE or (k + 1) * y.dimension > SHARE * x.dimension:
        return views
    if x.gram is not None and y.gram is None:
        G = x.gram
        found = _basis(y.table, lambda B: G @ B, k + 1, by_image=True)
        return views if found is None else within_rows(views, *found)
    if x.products is not None and y.cross is not None and y.products is not None:
        S = x.products
        found = _basis(y.cross(0), lambda Q: S @ Q, k + 1, by_image=False)
        return views if found is None else within_columns(views, *found)
    return views


def _basis(
    start: np.ndarray, times: Callable[[np.ndarray], np.ndarray], n_blocks: int, *, by_image: bool
) -> tuple[np.ndarray, np.ndarray] | None:
    """A basis B of the span of `start`, S start, ..., and its image S B, where `times` multiplies by S.

    B^T B = I, or B^T S B = I if `by_image`. Blocks are orthogonalised against all earlier ones, twice. None if a
    direction is lost to rounding before all blocks are found.
    """
    B = A = np.empty((len(start), 0))
    block = start
    for _ in range(n_blocks):
        lengths = np.linalg.norm(block, axis=0)
        if not np.all(lengths > 0.0):
            return None
        block = block / lengths
        image = times(block)
        before = np.einsum("ij,ij->j", block, image if by_image else block)
        for _ in range(2):
            along = (A if by_image else B).T @ block
            block, image = block - B @ along, image - A @ along
        M = block.T @ (image if by_image else block)
        values, V = np.linalg.eigh(0.5 * (M + M.T))
        if not values[0] > _LOST * float(before.max()):
            return None
        block = block @ (V / np.sqrt(values))
        image = times(block)
        B, A = np.hstack([B, block]), np.hstack([A, image])
        block = image
    return B, A
