"""What principal components leave of rows: the squared lengths of the residuals, from sparse or dense rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._xp import Array, astype, is_sparse, namespace

#: A squared length that is less than this share of the squares it is a difference of has lost too many digits; in
#: float32, components are orthonormal to about 1e-6 only.
_LOST, _LOST_FLOAT32 = 1e-6, 1e-2


def scores_and_rest(block: Array, W: Array, mean: Array, scale: Array | None) -> tuple[Array, Array]:
    """The scores z W^T of the rows z = (x - mean) / scale, and |z - z W^T W|^2, for orthonormal rows of W.

    For sparse rows, |z|^2 = |x / scale|^2 - 2 (x / scale)^T m + |m|^2 with m = mean / scale, and the squared length of
    the residual is |z|^2 - |z W^T|^2, in float64; rows for which this loses digits are made dense.
    """
    if not is_sparse(block):
        return _of_dense(block, W, mean, scale)
    X = block.astype(np.float64)
    m, V = mean.astype(np.float64), W.astype(np.float64)
    if scale is not None:
        m = m / scale
        X = X.multiply(1.0 / scale.astype(np.float64)[None, :]).tocsr()
    scores = X @ V.T - m @ V.T
    squares = np.asarray(X.multiply(X).sum(axis=1)).ravel() + m @ m
    rest = squares - 2.0 * (X @ m) - (scores * scores).sum(axis=1)
    lost = np.flatnonzero(~(rest > (_LOST_FLOAT32 if W.dtype == np.float32 else _LOST) * squares))
    if len(lost):
        scores[lost], rest[lost] = _of_dense(block[lost].toarray().astype(np.float64), W, mean, scale)
    return scores.astype(block.dtype), rest.astype(block.dtype)


def _of_dense(block: Any, W: Array, mean: Array, scale: Array | None) -> tuple[Array, Array]:
    """The same for dense rows, from the residuals themselves."""
    scores, rest = split(block, W, mean, scale)
    return scores, namespace(rest).sum(rest * rest, axis=1)


def split(block: Array, W: Array, mean: Array, scale: Array | None) -> tuple[Array, Array]:
    """The scores of dense rows, and the centred (and scaled) rows minus their reconstruction."""
    Z = block - astype(mean, block.dtype)
    if scale is not None:
        Z = Z / astype(scale, Z.dtype)
    W = astype(W, Z.dtype)
    scores = Z @ W.T
    return scores, Z - scores @ W
