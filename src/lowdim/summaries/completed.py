"""Expected moments of rows with missing entries, given their observed entries and a `LatentGaussian` model."""

from __future__ import annotations

import math
from typing import Any, Self

from .._xp import Array, astype, device, namespace
from ..errors import NonFiniteBlock
from .base import Changes, Layout, check_columns, row_weights
from .entries import observed_entries
from .latent import LatentGaussian, LatentSummary
from .packed import unpack

#: The k x p tables of a block of rows take about this many bytes.
_TABLE_BYTES = 4 << 20

#: Names of the sums.
_SUMS = ("weight", "total", "second", "loglike")


class Completed(LatentSummary):
    """Sums over the rows, given a `LatentGaussian` model of z = (x - mean) / scale:

    - `weight`, `total` (p,) and `second` (p, p): sums of w, of w E[z] and of w E[z z^T] given the observed entries
    - `loglike`: the log-likelihood of the observed entries

    Parameters
    ----------
    model : LatentGaussian
        Without `spread`: its loadings are taken as exact.
    unstored : bool
        Treat entries that sparse rows do not store as missing, not as zero.

    Notes
    -----
    E[z z^T] is the outer product of the completed row with itself, plus, for each pair of missing entries d and e of
    row i, w_d^T M_i^{-1} w_e (and the noise if d = e). With M_i^{-1} = L L^T the latter is (L^T W)^T (L^T W) over the
    missing entries: one product of a tall matrix with itself for a block of rows. One pass, p^2 numbers, n p^2 k
    operations.

    Examples
    --------
    >>> import numpy as np
    >>> from lowdim import summarize
    >>> from lowdim.summaries import Completed, LatentGaussian
    >>> model = LatentGaussian(np.zeros(3), np.ones(3), np.array([[1.0, 1.0, 0.0]]), np.array([0.5, 0.5, 1.0]))
    >>> found = summarize(np.array([[1.0, np.nan, 0.0], [2.0, 2.0, 1.0]]), Completed(model))
    >>> found.weight, round(float(found.loglike), 3)
    (2.0, -7.342)
    """

    state = (*LatentSummary.parameters, *_SUMS)
    nonnegative = (*LatentSummary.nonnegative, "weight")
    symmetric = ("second",)

    def __init__(self, model: LatentGaussian, *, unstored: bool = False) -> None:
        super().__init__(model, unstored=unstored)
        self.weight = 0.0
        self.total: Any = None
        self.second: Any = None
        self.loglike = 0.0

    def _updated(self, block: Array, weights: Array | None) -> Changes:
        check_columns(self.loadings.shape[1], block)
        entries = observed_entries(block, self.unstored)
        u, covariance, log_density = self.model.expect(entries)
        xp, k = namespace(u), self.model.k
        known = entries.known()
        guess = u.T @ self.loadings
        z = xp.where(known, (entries.values() - self.mean) / self.scale, guess)
        w = row_weights(u[0, :], weights)
        root = xp.sqrt(w)[:, None]
        holes = astype(~known, z.dtype) * root
        L = xp.linalg.cholesky(xp.permute_dims(unpack(covariance, k), (2, 0, 1)))
        spread = xp.matrix_transpose(L) @ self.loadings * holes[:, None, :]
        spread = xp.reshape(spread, (-1, z.shape[1]))
        z = z * root
        second = z.T @ z + spread.T @ spread
        identity = xp.eye(z.shape[1], dtype=z.dtype, device=device(z))
        second = second + identity * (xp.sum(holes * holes, axis=0) * self.noise)
        loglike = float(w @ log_density)
        if not math.isfinite(loglike):
            raise NonFiniteBlock
        return self._plus({"weight": float(xp.sum(w)), "total": root[:, 0] @ z, "second": second, "loglike": loglike})

    def _merged(self, other: Self) -> Changes:
        if other.second is None:
            return {}
        return self._plus({name: getattr(other, name) for name in _SUMS})

    def _layout(self) -> Layout:
        p = self.loadings.shape[1]
        return super()._layout() | {"weight": (), "total": (p,), "second": (p, p)}

    def block_rows(self, n_columns: int, itemsize: int, stored: float = 1.0) -> int:
        return max(16, _TABLE_BYTES // (8 * self.model.k * n_columns))
