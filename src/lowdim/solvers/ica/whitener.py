"""The matrix that makes rows white, from their spectrum."""

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

#: Whitening is repeated where rounding leaves more than this of a covariance, in units of the tolerance.
_WHITE = 1e-2


@dataclass(frozen=True, eq=False)
class Whitener:
    """z = K (x - mean), with E[z z^T] = I over the rows x (divisor n)."""

    #: (p,), and K, (k, p), in the widest dtype there is.
    mean: Array
    matrix: Array
    #: The inverse of K on the space that the components span, (k, p): rows are mean + z lift, up to what is left out.
    lift: Array
    #: What columns were divided by before their components were computed, (p,), or None.
    scale: Array | None
    #: Number of the rows.
    n_rows: int

    @cached_property
    def host_lift(self) -> np.ndarray:
        """The lift on the host."""
        return to_numpy(self.lift)

    def log_volume(self, K: np.ndarray) -> float:
        """ln of the factor by which `K`, the matrix in the dtype of the rows, changes volumes in the space that the
        components span."""
        k, p = K.shape
        if self.scale is None or k < p:
            return -float(np.log(np.linalg.svd(self.host_lift, compute_uv=False)).sum())
        # Units that are far apart are divided out first.
        units = to_numpy(self.scale).astype(float)
        return float(np.log(np.linalg.svd(K * units, compute_uv=False)).sum() - np.log(units).sum())


def make_whitener(rows: RowsLike, spectrum: Spectrum, tol: float) -> Whitener:
    """What makes `rows` white, from the components in `spectrum`, all of which have variance.

    K = diag(lambda)^{-1/2} V S^{-1}, with V the components as rows and S the diagonal matrix of scales. No pass over
    the rows, or one, where the smallest eigenvalue is so small that rounding may leave a covariance that differs from I
    by more than a fraction of `tol`: then K is corrected by C^{-1/2}, C the covariance of its z.
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
        # Small variances have few digits, so K is corrected by the covariance that it leads to.
        moments = rows.mapped(affine(K.T, mean, 1.0)).summarize(Moments(K.shape[0], wide=True))
        C = to_numpy(moments.covariance(ddof=0))
        root, inverse = (asarray_like(symmetric_power(C, power), K, dtype=wide) for power in (-0.5, 0.5))
        K, lift = root @ K, inverse @ lift
    return Whitener(mean, K, lift, scale, spectrum.n_rows)


def whiten_rows(rows: RowsLike, whitener: Whitener) -> tuple[RowsLike, Array, Array]:
    """All whitened rows as an array in memory, and the mean and the matrix with which they are white: zero and I."""
    white = rows.of(rows.map(affine(whitener.matrix.T, whitener.mean, 1.0)), rows.weights, rows.progress)
    like = whitener.matrix
    xp, dev, k = namespace(like), device(like), like.shape[0]
    return white, xp.zeros((k,), dtype=like.dtype, device=dev), xp.eye(k, dtype=like.dtype, device=dev)


def symmetric_power(C: np.ndarray, power: float) -> np.ndarray:
    """C^power for a covariance that is near to the identity."""
    values, V = np.linalg.eigh(C)
    return (V * values**power) @ V.T
