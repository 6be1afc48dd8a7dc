"""The whitening matrix of rows, from their spectrum."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._xp import asarray_like, in_range, numpy_dtype, to_numpy
from ...features import affine
from ...linalg import divisor
from ...summaries import Moments
from ..base import RowsLike
from ..results import Spectrum

#: The whitening is corrected if rounding may change the covariance of whitened rows by more than this, in units of the
#: tolerance.
_WHITE = 1e-2


@dataclass(frozen=True, eq=False)
class Whitener:
    """z = K (x - mean), with E[z z^T] = I over the rows x (divisor n); all arrays are NumPy's."""

    #: Mean, (p,), and K, (k, p), in float64.
    mean: np.ndarray
    matrix: np.ndarray
    #: The inverse of K on the space spanned by the components, (k, p): rows are approximately mean + z lift.
    lift: np.ndarray
    #: Divisors of the columns before their components were computed, (p,), or None.
    scale: np.ndarray | None
    #: Number of rows.
    n_rows: int

    def log_volume(self, K: np.ndarray) -> float:
        """The logarithm of the factor by which `K` changes volumes in the space spanned by the components.

        `K` is the whitening matrix in the dtype of the rows.
        """
        k, p = K.shape
        if self.scale is None or k < p:
            return -float(np.log(np.linalg.svd(self.lift, compute_uv=False)).sum())
        # The units of the columns, which may differ by orders of magnitude, are divided out first.
        units = self.scale.astype(float)
        return float(np.log(np.linalg.svd(K * units, compute_uv=False)).sum() - np.log(units).sum())


def make_whitener(rows: RowsLike, spectrum: Spectrum, tol: float) -> Whitener:
    """The whitening of `rows`, from the components in `spectrum`, which all have positive variance.

    K = diag(lambda)^{-1/2} V S^{-1}, with V the components as rows and S the diagonal matrix of scales. This takes no
    pass over the rows. If the smallest eigenvalue is so small that rounding may change the covariance of z by more than
    a fraction of `tol`, K is multiplied by C^{-1/2}, with C the covariance of z, which takes one pass.
    """
    dtype, n = numpy_dtype(rows.dtype), divisor(spectrum.weight, 0)
    mean = to_numpy(spectrum.mean).astype(np.float64)
    scale = None if spectrum.scale is None else to_numpy(spectrum.scale).astype(dtype)
    V, variances = to_numpy(spectrum.vectors).astype(dtype), in_range(spectrum.values / n, dtype)
    deviations = np.sqrt(variances)[:, None]
    K = V / deviations if scale is None else V / scale / deviations
    lift = V * deviations if scale is None else V * deviations * scale
    K, lift = K.astype(np.float64), lift.astype(np.float64)
    if spectrum.rank_cut / n > _WHITE * tol * float(variances[-1]):
        # Small variances have few correct digits, so K is corrected by the covariance of the rows that it whitens.
        white = rows.mapped(whitening_map(K, mean, rows))
        C = to_numpy(white.summarize(Moments(len(K), wide=True)).covariance(ddof=0))
        K, lift = symmetric_power(C, -0.5) @ K, symmetric_power(C, 0.5) @ lift
    return Whitener(mean, K, lift, scale, spectrum.n_rows)


def whitening_map(K: np.ndarray, mean: np.ndarray, rows: RowsLike) -> Any:
    """The function block -> (block - mean) K^T for blocks of these rows, on their device."""
    like = rows.empty(0)
    return affine(asarray_like(K.T, like), asarray_like(mean, like), 1.0)


def whiten_rows(rows: RowsLike, whitener: Whitener) -> tuple[RowsLike, np.ndarray, np.ndarray]:
    """All whitened rows as an array in memory, and their mean and whitening matrix, which are zero and I."""
    white = rows.of(rows.map(whitening_map(whitener.matrix, whitener.mean, rows)), rows.weights, rows.progress)
    k = len(whitener.matrix)
    return white, np.zeros(k), np.eye(k)


def symmetric_power(C: np.ndarray, power: float) -> np.ndarray:
    """The power C^power of a covariance matrix C close to the identity."""
    values, V = np.linalg.eigh(C)
    return (V * values**power) @ V.T
