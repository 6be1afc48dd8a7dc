"""Symmetric matrices that are a multiple of the identity outside a small subspace."""

from __future__ import annotations

from dataclasses import dataclass

from .._memory import memory_bytes
from .._xp import Array, astype, device, namespace
from ..errors import needs_memory


@dataclass(frozen=True)
class SymmetricFactors:
    """V^T diag(along) V + beyond (I - V^T V), with r orthonormal rows V of length p.

    A product with it costs 2 p r multiplications a row, and it takes p r numbers instead of p^2.
    """

    #: Orthonormal rows V, (r, p).
    vectors: Array
    #: Eigenvalues along these, (r,), and in all other directions.
    along: Array
    beyond: float

    def times(self, coordinates: Array, rows: Array | None) -> Array:
        """The products of `rows` with the matrix, given their coordinates x V^T; rows may be None if `beyond` is zero,
        because nothing else of them is needed then."""
        V = astype(self.vectors, coordinates.dtype)
        found = (coordinates * astype(self.along - self.beyond, coordinates.dtype)) @ V
        return found if rows is None or self.beyond == 0.0 else found + self.beyond * rows

    def dense(self, what: str = "a symmetric matrix") -> Array:
        """The p x p matrix; a MemoryError that says how large `what` is if it does not fit into memory."""
        V, p = self.vectors, int(self.vectors.shape[1])
        require_square(what, p, V.dtype.itemsize if hasattr(V.dtype, "itemsize") else 8)
        xp = namespace(V)
        identity = xp.eye(p, dtype=V.dtype, device=device(V))
        return (V.T * astype(self.along - self.beyond, V.dtype)[None, :]) @ V + self.beyond * identity


def require_square(what: str, p: int, itemsize: int = 8, n_matrices: int = 3) -> None:
    """Raise a MemoryError if `n_matrices` of size p x p, which computing `what` takes, do not fit into memory."""
    needed, have = n_matrices * itemsize * p * p, memory_bytes()
    if have and needed > have:
        raise needs_memory(f"{what} of {p} x {p} numbers", needed, have, "Use transform and inverse_transform instead.")
