"""Inner products of rows, for tables with fewer rows than columns.

Here the rows that are summarised are the columns of the table: the Gram matrix is a sum over features, each centred
by itself, so it is a monoid over blocks of features as the scatter is one over blocks of samples.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from .._xp import Array, astype, device, namespace, wide_dtype
from ..linalg import r_factor
from .base import Summary, check_columns, check_squares, dense


def centred_features(block: Array, sample_weight: Array | None, ddof: int | None) -> tuple[Array, Array, Array]:
    """Features (rows of `block`, one entry a sample) centred over the samples, times sqrt of the sample weights.

    Returns them with their means and scales; `ddof` None leaves the scale at one, otherwise features are divided by
    their standard deviation (constant ones by one).
    """
    xp = namespace(block)
    block = dense(block)
    first = block[:, :1]
    Z = block - first
    if sample_weight is None:
        weight = float(block.shape[1])
        step = xp.mean(Z, axis=1, keepdims=True)
        Z = Z - step
    else:
        w = astype(sample_weight, Z.dtype)
        weight = float(xp.sum(w))
        step = (Z @ w)[:, None] / weight
        Z = (Z - step) * xp.sqrt(w)[None, :]
    squares = xp.sum(Z * Z, axis=1)
    check_squares(squares)
    scale = xp.ones_like(squares)
    if ddof is not None:
        scale = xp.where(squares > 0, xp.sqrt(squares / (weight - ddof)), scale)
        Z = Z / scale[:, None]
    return Z, (first + step)[:, 0], scale


class Gram(Summary):
    """`product` = Z^T Z over features: the n x n inner products of centred samples.

    Parameters
    ----------
    n_samples : int
        Length of a feature, n.
    sample_weight : array of shape (n,), optional
        Weights of the samples; entry (i, j) is then times sqrt(w_i w_j).
    ddof : int, optional
        Given, each feature is divided by its standard deviation with this ddof.

    Notes
    -----
    product = J X X^T J for J = I - 1 1^T / n, computed feature by feature, so that no offset does harm. One pass over
    the features, n^2 numbers. Weights in `update` are not weights of samples but of features, and are not used.
    """

    parameters = ("n_samples", "sample_weight", "ddof")
    state = ("n_samples", "sample_weight", "ddof", "n_rows", "product")
    threaded_blas = True

    def __init__(self, n_samples: int, *, sample_weight: Array | None = None, ddof: int | None = None) -> None:
        self.n_samples = int(n_samples)
        self.sample_weight = sample_weight
        self.ddof = ddof
        self.n_rows = 0
        self.product: Any = None

    def _update(self, block: Array, weights: Array | None) -> None:
        check_columns(self.n_samples, block)
        Z, _, _ = centred_features(block, self.sample_weight, self.ddof)
        self._absorb(Z)
        self.n_rows += block.shape[0]

    def _merge(self, other: Self) -> None:
        if other.product is not None:
            self.product = other.product if self.product is None else self.product + other.product
            self.n_rows += other.n_rows

    def fresh(self) -> Self:
        return type(self)(self.n_samples, sample_weight=self.sample_weight, ddof=self.ddof)

    def block_rows(self, n_columns: int, itemsize: int) -> int:
        return max(1024, 2 * n_columns)

    def _absorb(self, Z: Array) -> None:
        xp = namespace(Z)
        P = astype(Z.T @ Z, wide_dtype(xp, device(Z)))
        self.product = P if self.product is None else self.product + P

    @classmethod
    def _from_state(cls, state: dict[str, np.ndarray]) -> Self:
        ddof = int(state["ddof"]) if "ddof" in state else None
        self = cls(int(state["n_samples"]), sample_weight=state.get("sample_weight"), ddof=ddof)
        self.product, self.n_rows = state.get("product"), int(state["n_rows"])
        return self


class GramRoot(Gram):
    """As Gram, but `product` holds R with R^T R = Z^T Z: no digits are lost by squaring."""

    def _merge(self, other: Self) -> None:
        if other.product is not None:
            self._stack(other.product)
            self.n_rows += other.n_rows

    def _absorb(self, Z: Array) -> None:
        self._stack(astype(Z, wide_dtype(namespace(Z), device(Z))))

    def _stack(self, rows: Array) -> None:
        both = rows if self.product is None else namespace(rows).concat([self.product, rows], axis=0)
        self.product = r_factor(both) if both.shape[0] > self.n_samples else both
