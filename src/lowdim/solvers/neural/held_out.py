"""The rows that are held out from training, chosen by a digest of their numbers.

So the choice depends neither on the order of the rows nor on blocks, passes or weights: a row is held out with all rows
that are equal to it, and a row of weight 2 is treated as two rows are.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._xp import Array, dtype_like, is_sparse, namespace, to_numpy
from ...summaries.sample import mixed_bits


class HeldOut:
    """Chooses about a share of the rows."""

    def __init__(self, share: float, p: int, seed: int) -> None:
        self.share = share
        random = np.random.default_rng((seed, 2))
        #: Odd numbers, one for each column.
        self._factors = random.integers(-(2**63), 2**63 - 1, p, dtype=np.int64) | 1
        #: The digest of a row of zeros, which would always be held out if it were zero.
        self._first = random.integers(0, 2**64 - 1, dtype=np.uint64)

    def chosen(self, X: Array) -> np.ndarray:
        """Which rows of X, dense or sparse, are held out."""
        return self._uniform(X) < self.share

    def _uniform(self, X: Any) -> np.ndarray:
        """A number in [0, 1) for each row."""
        with np.errstate(over="ignore"):
            digest = mixed_bits(self._digest(X).view(np.uint64) + self._first)
        return (digest >> np.uint64(11)).astype(np.float64) * 2.0**-53

    def _digest(self, X: Any) -> np.ndarray:
        """sum_d (bits of x_d) factor_d modulo 2^64, to which zeros add nothing."""
        if is_sparse(X):
            products = _bits(X.data) * self._factors[X.indices]
            sums = np.concatenate([[0], np.cumsum(products)])
            return sums[X.indptr[1:]] - sums[X.indptr[:-1]]
        xp = namespace(X)
        if xp is np or not hasattr(X, "view"):
            return np.sum(_bits(to_numpy(X)) * self._factors, axis=1)
        # Rows on a device: only the sums are copied to the host.
        factors = xp.asarray(self._factors, device=X.device)
        whole = dtype_like(np.int32 if X.dtype == xp.float32 else np.int64, X)
        bits = xp.astype((X + 0.0).view(whole), xp.int64)
        bits = bits ^ ((bits >> 32) & 0xFFFFFFFF)
        return to_numpy(xp.sum(bits * factors, axis=1))


def _bits(values: np.ndarray) -> np.ndarray:
    """The bits of floats as whole numbers; those of -0.0 are those of 0.0. The upper half is added to the lower one,
    which is zero for small whole numbers."""
    values = np.ascontiguousarray(values + 0.0)
    bits = values.view(np.int32 if values.dtype == np.float32 else np.int64).astype(np.int64)
    return bits ^ ((bits >> 32) & 0xFFFFFFFF)
