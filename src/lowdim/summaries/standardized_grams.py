"""Inner products of rows whose columns are standardized by several sets of training rows, for cross-validation."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np

from .._xp import Array, dense, to_numpy
from ..linalg import r_factor
from .base import CACHE_BYTES, NARROW, Changes, Layout, Summary, check_columns, check_squares
from .gram import feature_means, standard_deviations

#: If less than this share of the mean square of a feature is variance, its squares are computed again about the mean.
_NEAR = 1e-4


class StandardizedGrams(Summary):
    """Inner products of all samples, with features centred and divided by the standard deviation of training samples.

    For each set of training samples, with weights w_s, mean m_s and standard deviation d_s of each feature,

        product[s] = sum over features of z z^T,   z = (x - m_s) / d_s,

    for all samples, whether they are training samples or not. `log_scale[s]` is the sum of ln d_s over the features.

    Parameters
    ----------
    training : array of shape (n_sets, n_samples)
        The weights of the samples in each set; zero for samples that are not in it.
    ddof : int
        The variances have the divisor weight - ddof. Features that are constant in a set are divided by one.
    root : bool
        Keep a root R_s of each product R_s^T R_s instead, so that no digits are lost by squaring.

    Notes
    -----
    The blocks hold features, the columns of the table. One pass over them for all sets; n^2 numbers and n^2 p
    multiplications for each set.

    Examples
    --------
    >>> import numpy as np
    >>> from lowdim import summarize
    >>> from lowdim.summaries import StandardizedGrams
    >>> X = np.random.default_rng(0).standard_normal((6, 50))
    >>> training = np.array([[1.0, 1, 1, 1, 0, 0], [0, 0, 1, 1, 1, 1]])  # two sets of four rows
    >>> summarize(X.T, StandardizedGrams(training, ddof=1)).product.shape
    (2, 6, 6)
    """

    parameters = ("training", "ddof", "root")
    state = ("training", "ddof", "root", "n_rows", "product", "log_scale")
    kinds: ClassVar[dict[str, str]] = {"training": "fiub"}
    nonnegative: ClassVar[tuple[str, ...]] = ("training",)

    def __init__(self, training: Array, ddof: int, root: bool = False) -> None:
        self.training = training
        self.ddof, self.root = ddof, bool(root)
        self.n_rows = 0
        self.product: Any = None
        self.log_scale: Any = None

    @property
    def threaded_blas(self) -> bool:
        """Whether there are enough samples for the product of a block to keep all BLAS threads busy."""
        return self.training.shape[1] > NARROW

    def block_rows(self, n_columns: int, itemsize: int, stored: float = 1.0) -> int:
        return max(CACHE_BYTES // 4 // (n_columns * 8), 4 * n_columns)

    def _updated(self, block: Array, weights: Array | None) -> Changes:
        check_columns(self.training.shape[1], block)
        X = to_numpy(dense(block)).astype(np.float64, copy=False)
        shift = feature_means(X, None)
        Z = X - shift
        means, scales = self._columns(X, Z, shift[:, 0])
        parts = []
        room = np.empty_like(Z)
        for mean, factor in zip(means.T, 1.0 / scales.T, strict=True):
            # Only roots are kept; products are done with when the next set overwrites the features.
            A = np.subtract(Z, mean[:, None], out=None if self.root else room)
            A *= factor[:, None]
            part = A if self.root else A.T @ A
            check_squares(np.einsum("ij,ij->i", A, A) if self.root else np.diagonal(part))
            parts.append(part)
        return self._joined(parts, np.log(scales).sum(axis=0)) | {"n_rows": self.n_rows + len(Z)}

    def _columns(self, X: np.ndarray, Z: np.ndarray, shift: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Means of the features of Z = X - shift, and their standard deviations, in each set: (features, sets)."""
        W = to_numpy(self.training).astype(np.float64).T
        totals = W.sum(axis=0)
        means = (Z @ W) / totals
        squares = (Z * Z) @ W
        left = squares - totals * means**2
        scales = []
        for s, total in enumerate(totals):
            places, centres = np.flatnonzero(W[:, s] > 0), shift + means[:, s]
            again = np.flatnonzero(left[:, s] <= _NEAR * squares[:, s])
            if len(again):
                # About one of the training samples, so that features that are constant in the set are so exactly.
                A, w = X[np.ix_(again, places)], W[places, s]
                first = A[:, 0]
                D = A - first[:, None]
                mean = (D @ w) / total
                left[again, s] = (D - mean[:, None]) ** 2 @ w
                means[again, s], centres[again] = (first - shift[again]) + mean, first + mean
            check_squares(left[:, s])
            scales.append(standard_deviations(left[:, s], centres, len(places), float(total), self.ddof))
        return means, np.stack(scales, axis=1)

    def _merged(self, other: Self) -> Changes:
        if other.product is None:
            return {}
        return self._joined(list(other.product), other.log_scale) | {"n_rows": self.n_rows + other.n_rows}

    def _joined(self, parts: list[np.ndarray], log_scale: np.ndarray) -> Changes:
        """The products and logarithms of the scales, together with those of further features."""
        if self.root:
            both = parts
            if self.product is not None:
                both = [np.concatenate(pair) for pair in zip(self.product, parts, strict=True)]
            product = np.stack([r_factor(A) if len(A) > A.shape[1] else A for A in both])
        else:
            product = np.stack(parts) if self.product is None else self.product + np.stack(parts)
        return {"product": product, "log_scale": log_scale if self.log_scale is None else self.log_scale + log_scale}

    def _layout(self) -> Layout:
        sets, n = self.training.shape
        rows = None if self.root else n
        return {
            "training": (sets, n),
            "ddof": (),
            "root": (),
            "n_rows": (),
            "product": (sets, rows, n),
            "log_scale": (sets,),
        }
