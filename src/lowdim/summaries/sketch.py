"""The product of the scatter matrix with a block of vectors, without forming the scatter matrix."""

from __future__ import annotations

from typing import Any, Self

from .._scratch import Scratch
from .._xp import Array, astype, dense, device, namespace, wide_dtype
from ..errors import NonFiniteBlock
from .base import CACHE_BYTES, Changes, Layout, Summary, check_columns


class Sketch(Summary):
    """`product` = sum_i w_i (x_i - mean) (x_i - mean)^T V for given V: one step of a block Krylov method.

    Parameters
    ----------
    V : array of shape (p, b)
    mean : array of shape (p,)
        The mean of the rows, known from an earlier pass.
    implicit : bool
        Centre the products instead of the rows, which keeps sparse rows sparse. Only accurate if the means of the
        columns are not much larger than their standard deviations.

    Notes
    -----
    With Y = (X - 1 mean^T) V the product is (X - 1 mean^T)^T Y = X^T Y - mean (1^T Y): both products are computed
    while a block of rows is in cache, so a Krylov step reads the rows once. p b numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from lowdim import summarize
    >>> from lowdim.summaries import Sketch
    >>> X = np.array([[1.0, 2.0], [3.0, 3.0], [5.0, 7.0]])
    >>> V = np.array([[1.0], [1.0]])
    >>> summarize(X, Sketch(V, X.mean(axis=0))).product
    array([[18.],
           [24.]])
    >>> np.cov(X.T) * 2 @ V
    array([[18.],
           [24.]])
    """

    parameters = ("V", "mean", "implicit")
    state = ("V", "mean", "implicit", "product")

    def __init__(self, V: Array, mean: Array, *, implicit: bool = False) -> None:
        self.V = V
        self.mean = mean
        self.implicit = implicit
        self.product: Any = None
        self._ready: Any = None
        self._scratch = Scratch()

    def _updated(self, block: Array, weights: Array | None) -> Changes:
        check_columns(self.V.shape[0], block)
        if not self.implicit:
            block = dense(block)
        dtype = block.dtype
        V, mean, offset = self._in_dtype(dtype)
        if not self.implicit:
            block = self._scratch.difference(block, mean)
        Y = block @ V
        if self.implicit:
            Y = Y - offset
        if weights is not None:
            Y = Y * astype(weights, dtype)[:, None]
        P = block.T @ Y
        xp = namespace(P)
        if self.implicit:
            P = P - mean[:, None] * xp.sum(Y, axis=0)[None, :]
        if not bool(xp.all(xp.isfinite(xp.sum(P, axis=0)))):
            raise NonFiniteBlock
        P = astype(P, wide_dtype(xp, device(P)))
        if self.product is not None:
            P += self.product
        return {"product": P}

    def _merged(self, other: Self) -> Changes:
        if other.product is None:
            return {}
        return {"product": other.product if self.product is None else self.product + other.product}

    def block_rows(self, n_columns: int, itemsize: int, stored: float = 1.0) -> int:
        if self.implicit:
            return max(256, 2 * CACHE_BYTES // (itemsize * self.V.shape[1]))
        return max(32, CACHE_BYTES // (itemsize * n_columns))

    def _layout(self) -> Layout:
        p, b = self.V.shape
        return {"V": (p, b), "mean": (p,), "implicit": (), "product": (p, b)}

    def _in_dtype(self, dtype: Any) -> tuple[Array, Array, Array]:
        """V, mean and mean^T V in the dtype of the rows, converted once as long as the rows have the same dtype."""
        if self._ready is None or self._ready[0].dtype != dtype:
            V, mean = astype(self.V, dtype), astype(self.mean, dtype)
            self._ready = (V, mean, astype(self.mean @ self.V, dtype))
        return self._ready
