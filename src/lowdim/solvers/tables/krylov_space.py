"""Coordinates in the Krylov space of a regression: all that its first components need of a large table."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from .views import Extent, View, Views, root_of_products

#: Tables whose coordinates have fewer columns are not worth the iteration.
_LARGE = 256
#: The Krylov space may have at most this share of the dimensions of the coordinates.
_SHARE = 0.125
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
    size = x.dimension
    if size < _LARGE or (k + 1) * y.dimension > _SHARE * size:
        return views
    if x.gram is not None and y.gram is None:
        return _from_gram(views, x.gram, k)
    if x.products is not None and y.products is not None and y.cross is not None:
        return _from_products(views, x.products, y.products, y.cross(), k)
    return views


def _from_gram(views: Views, G: np.ndarray, k: int) -> Views:
    """Coordinates G B of X, for a basis B with B^T G B = I; those of Y stay the same."""
    x, y = views.tables
    found = _basis(y.table, lambda B: G @ B, k + 1, by_image=True)
    if found is None:
        return views
    B, A = found
    lift = x.lift_samples
    assert lift is not None
    unit = x.unit

    def lifted(vectors: np.ndarray) -> object:
        return lift(B @ vectors / unit)

    extent = Extent(float(np.trace(G)), float(np.sum(G * G)), _largest(G), len(G))
    return replace(views, tables=(View.of(A, unit, lifted, extent=extent, is_lifted=True), y))


def _from_products(views: Views, S: np.ndarray, Syy: np.ndarray, C: np.ndarray, k: int) -> Views:
    """Coordinates from a root of the products of X Q and Y side by side."""
    x, y = views.tables
    found = _basis(C, lambda Q: S @ Q, k + 1, by_image=False)
    if found is None:
        return views
    Q, SQ = found
    d, cross = Q.shape[1], Q.T @ C
    joint = np.block([[Q.T @ SQ, cross], [cross.T, Syy]])
    lengths = np.sqrt(np.clip(np.diagonal(joint), 0.0, None))
    unit = np.where(lengths > 0, lengths, 1.0)
    root = root_of_products(0.5 * (joint + joint.T) / unit / unit[:, None]) * lengths
    extent = Extent(float(np.trace(S)), float(np.sum(S * S)), _largest(S), len(S))
    narrow = View.of(root[:, :d], x.unit, lambda vectors: x.lift(Q @ vectors), extent=extent)
    return replace(views, tables=(narrow, View.of(root[:, d:], y.unit, y.lift, products=Syy)))


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


def _largest(S: np.ndarray) -> float:
    """The square root of the largest eigenvalue of S, slightly underestimated by a few steps of power iteration."""
    v = np.asarray(np.random.default_rng(0).standard_normal(len(S)))
    for _ in range(6):
        size = float(np.linalg.norm(v))
        if size == 0.0:
            return 0.0
        v = S @ (v / size)
    return math.sqrt(float(np.linalg.norm(v)))
