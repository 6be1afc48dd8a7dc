"""The result of kernel PCA: the record that all its solvers return."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..._xp import Array, asarray_like, astype, is_sparse
from ...kernels import Kernel
from ..results import Status, count_to_reach
from .map_error import MapError


@dataclass(frozen=True)
class Components:
    """Components of kernel PCA: the scores of x are (phi(x) - offset) projection."""

    phi: Any
    projection: Array
    offset: Array
    #: Positive eigenvalues of the centred kernel matrix, descending, and the sum of all positive ones.
    values: np.ndarray
    total: float
    negative_mass: float
    status: Status
    residual: float
    #: Number of passes over the rows, or over pairs of rows.
    passes: int
    n_rows: int
    weight: float
    #: The rows with which kernels are computed, and a matrix B and a vector c: the point with scores z is the sum of
    #: the features of these rows with weights z B + c.
    basis: Any = None
    expansion: tuple[Array, Array] | None = None
    #: Unit eigenvectors of the centred kernel matrix, as columns.
    eigenvectors: Array | None = None
    error: MapError = MapError(0.0, 0.0, 0.0)  # noqa: RUF009 (frozen)
    #: The kernel, with a value for each of its parameters; None if the kernel matrix was precomputed.
    kernel: Kernel | None = None
    #: Distinct rows of the fit, from which a map from scores to rows can be learned; None if not available.
    examples: Any = None

    def keep_share(self, share: float) -> Components:
        """The fewest components that reach this share of the variance."""
        k = count_to_reach(self, share)
        return replace(
            self,
            values=self.values[:k],
            projection=self.projection[:, :k],
            expansion=None if self.expansion is None else (self.expansion[0][:k, :], self.expansion[1]),
            eigenvectors=None if self.eigenvectors is None else self.eigenvectors[:, :k],
        )

    def with_signs(self, signs: Array) -> Components:
        """The components multiplied by `signs`, +1 or -1 each."""
        turn = astype(signs, self.projection.dtype)
        return replace(
            self,
            projection=self.projection * turn,
            expansion=None if self.expansion is None else (self.expansion[0] * turn[:, None], self.expansion[1]),
            eigenvectors=None if self.eigenvectors is None else self.eigenvectors * turn,
        )


def array_like(rows: Any, like: Array) -> Any:
    """A NumPy array as an array of the library, device and dtype of `like`; sparse rows and None are unchanged."""
    return rows if rows is None or is_sparse(rows) else asarray_like(rows, like, dtype=like.dtype)
