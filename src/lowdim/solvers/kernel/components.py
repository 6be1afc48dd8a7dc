"""What kernel PCA finds: the record that all its solvers return."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from ..._xp import Array, asarray_like, astype, is_sparse
from ...kernels import Kernel
from ..results import Status, reaching
from .map_error import MapError


@dataclass(frozen=True)
class Components:
    """Scores of x are (phi(x) - offset) projection."""

    phi: Any
    projection: Array
    offset: Array
    #: Eigenvalues of the centred kernel matrix that are positive, descending; the sum of all that are.
    values: Array
    total: float
    negative_mass: float
    status: Status
    residual: float
    #: Passes over the rows, or over pairs of them, in which they were found.
    passes: int
    n_rows: int
    weight: float
    #: The rows that kernels are taken with, and the matrix B and vector c that make z B + c the weights of their
    #: features in the point with scores z.
    basis: Any = None
    expansion: tuple[Array, Array] | None = None
    #: Unit eigenvectors of the centred kernel matrix, as columns.
    eigenvectors: Array | None = None
    error: MapError = MapError(0.0, 0.0, 0.0)  # noqa: RUF009 (frozen)
    #: The kernel, with a number for each of its parameters; None where the matrix was given.
    kernel: Kernel | None = None
    #: Different rows of the fit, for maps from scores to rows to be learned from; None where there are none.
    examples: Any = None

    def reaching(self, share: float) -> Components:
        """The fewest components that reach this share of the variance."""
        k = reaching(self, share)
        return replace(
            self,
            values=self.values[:k],
            projection=self.projection[:, :k],
            expansion=None if self.expansion is None else (self.expansion[0][:k, :], self.expansion[1]),
            eigenvectors=None if self.eigenvectors is None else self.eigenvectors[:, :k],
        )

    def turned(self, signs: Array) -> Components:
        """Components times +1 or -1 each."""
        turn = astype(signs, self.projection.dtype)
        return replace(
            self,
            projection=self.projection * turn,
            expansion=None if self.expansion is None else (self.expansion[0] * turn[:, None], self.expansion[1]),
            eigenvectors=None if self.eigenvectors is None else self.eigenvectors * turn,
        )


def of_kind(rows: Any, like: Array) -> Any:
    """Rows from the host as an array of the kind of `like`; sparse ones, and None, as they are."""
    return rows if rows is None or is_sparse(rows) else asarray_like(rows, like, dtype=like.dtype)
