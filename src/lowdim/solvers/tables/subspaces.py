"""Coordinates of a table in a part of the space of its columns, if that is all that some components need."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from ...linalg import eigh_descending
from .views import Extent, View, Views, root_of_products

#: Coordinates with fewer columns than this are small enough as they are.
LARGE = 256
#: A part of the space may have at most this share of its dimensions.
SHARE = 0.125


def within_rows(views: Views, B: np.ndarray, A: np.ndarray) -> Views:
    """Coordinates A = G B = X Q of the first table, for Q = X^T B with orthonormal columns; those of Y stay."""
    x, y = views.tables
    G, lift, unit = x.gram, x.lift_samples, x.unit
    assert G is not None and lift is not None

    def lifted(vectors: np.ndarray) -> object:
        return lift(B @ vectors / unit)

    return replace(views, tables=(View.of(A, unit, lifted, extent=_extent(G), is_lifted=True), y))


def within_columns(views: Views, Q: np.ndarray, SQ: np.ndarray) -> Views:
    """Coordinates of X Q and Y, for orthonormal columns of Q and SQ = X^T X Q, from a root of their products."""
    x, y = views.tables
    S, Syy = x.products, y.products
    assert S is not None and Syy is not None and y.cross is not None
    d, cross = Q.shape[1], Q.T @ y.cross(0)
    joint = np.block([[Q.T @ SQ, cross], [cross.T, Syy]])
    lengths = np.sqrt(np.clip(np.diagonal(joint), 0.0, None))
    unit = np.where(lengths > 0, lengths, 1.0)
    root = root_of_products(0.5 * (joint + joint.T) / unit / unit[:, None]) * lengths
    narrow = View.of(root[:, :d], x.unit, lambda vectors: x.lift(Q @ vectors), extent=_extent(S))
    return replace(views, tables=(narrow, View.of(root[:, d:], y.unit, y.lift, products=Syy)))


def principal_views(views: Views, k: int) -> Views:
    """Coordinates of the first table along its k leading principal components, from the k leading eigenvectors of its
    products. The views are returned as they are if there is nothing to be gained, or if a direction has no variance."""
    x, y = views.tables
    if x.dimension < LARGE or k > SHARE * x.dimension:
        return views
    by_rows = x.gram is not None and y.gram is None
    by_columns = x.products is not None and y.cross is not None and y.products is not None
    if not (by_rows or by_columns):
        return views
    values, vectors = eigh_descending(x.gram if by_rows else x.products, at_least=k)
    values, V = values[:k], vectors[:k].T
    if not values[-1] > views.cut**2 * values[0]:
        return views
    s = np.sqrt(values)
    return within_rows(views, V / s, V * s) if by_rows else within_columns(views, V, V * values)


def _extent(S: np.ndarray) -> Extent:
    """The sizes of a table with products S, of its rows or of its columns."""
    return Extent(float(np.trace(S)), float(np.sum(S * S)), _largest(S), len(S))


def _largest(S: np.ndarray) -> float:
    """The square root of the largest eigenvalue of S, slightly underestimated by a few steps of power iteration."""
    v = np.asarray(np.random.default_rng(0).standard_normal(len(S)))
    for _ in range(6):
        size = float(np.linalg.norm(v))
        if size == 0.0:
            return 0.0
        v = S @ (v / size)
    return math.sqrt(float(np.linalg.norm(v)))
