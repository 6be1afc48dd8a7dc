"""The whitening matrix of rows, from their spectrum."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..._xp import Array, asarray_like, astype, device, in_range, namespace, to_numpy, wide_dtype
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
    """z = K (x - mean), with E[z z^T] = I over the rows x (divisor n)."""

    #: Mean, (p,), and K, (k, p), in the widest dtype available.
    mean: Array
    matrix: Array
    #: The inverse of K on the space spanned by the components, (k, p): rows are approximately mean + z lift.
    lift: Array
    #: Divisors of the columns before their components were computed, (p,), or None.
    scale: Array | None
    #: Number of rows.
    n_rows: int

    @cached_property
    def host_lift(self) -> np.ndarray:
        """The lift as a NumPy array."""
        return to_numpy(self.lift)

    def log_volume(self, K: np.ndarray) -> float:
        """The logarithm of the factor by which `K` changes volumes in the space spanned by the components.

        `K` is the whitening matrix in the dtype of the rows.
        """
        k, p = K.shape
        if self.scale is None or k < p:
            return -float(np.log(np.linalg.svd(self.host_lift, compute_uv=False)).sum())
        # The units of the columns, which may differ by orders of magnitude, are divided out first.
        units = to_numpy(self.scale).astype(float)
        return float(np.log(np.linalg.svd(K * units, compute_uv=False)).sum() - np.log(units).sum())


def make_whitener(rows: RowsLike, spectrum: Spectrum, tol: float) -> Whitener:
    """The whitening of `rows`, from the components in `spectrum`, which all have positive variance.

    K = diag(lambda)^{-1/2} V S^{-1}, with V the components as rows and S the diagonal matrix of scales. This takes no
    pass over the rows. If the smallest eigenvalue is so small that rounding may change the covariance of z by more than
    a fraction of `tol`, K is multiplied by C^{-1/2}, with C the covariance of z, which takes one pass.
    """
    dtype, like = rows.dtype, spectrum.values
    xp = namespace(like)
    wide = wide_dtype(xp, device(like))
    n = divisor(spectrum.weight, 0)
    mean = asarray_like(spectrum.mean, like, dtype=wide)
    scale = None if spectrum.scale is None else asarray_like(spectrum.scale, like, dtype=dtype)
    V, variances = astype(spectrum.vectors, dtype), in_range(spectrum.variances(0), dtype)
    deviations = xp.sqrt(variances)[:, None]
    K = V / deviations if scale is None else V / scale[None, :] / deviations
    lift = V * deviations if scale is None else V * deviations * scale[None, :]
    K, lift = astype(K, wide), astype(lift, wide)
    if spectrum.rank_cut / n > _WHITE * tol * float(variances[-1]):
        # Small variances have few correct digits, so K is corrected by the covariance of the rows that it whitens.
        moments = rows.mapped(affine(K.T, mean, 1.0)).summarize(Moments(K.shape[0], wide=True))
        C = to_numpy(moments.covariance(ddof=0))
        root, inverse = (asarray_like(symmetric_power(C, power), K, dtype=wide) for power in (-0.5, 0.5))
        K, lift = root @ K, inverse @ lift
    return Whitener(mean, K, lift, scale, spectrum.n_rows)


def whiten_rows(rows: RowsLike, whitener: Whitener) -> tuple[RowsLike, Array, Array]:
    """All whitened rows as an array in memory, and their mean and whitening matrix, which are zero and I."""
    white = rows.of(rows.map(affine(whitener.matrix.T, whitener.mean, 1.0)), rows.weights, rows.progress)
    like = whitener.matrix
    xp, dev, k = namespace(like), device(like), like.shape[0]
    return white, xp.zeros((k,), dtype=like.dtype, device=dev), xp.eye(k, dtype=like.dtype, device=dev)


def symmetric_power(C: np.ndarray, power: float) -> np.ndarray:
    """The power C^power of a covariance matrix C close to the identity."""
    values, V = np.linalg.eigh(C)
    return (V * values**power) @ V.T
