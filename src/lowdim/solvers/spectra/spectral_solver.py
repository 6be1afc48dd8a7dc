"""What solvers of spectra share: rows or a summary in, a `Spectrum` out."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

from ..._xp import Array, astype, namespace
from ...linalg import divisor, is_constant, resolution
from ...summaries.base import Summary
from ..base import AnySolver, Request, RowsLike
from ..results import Spectrum


class Solver(AnySolver):
    """One way from rows to the eigenpairs of their covariance.

    A solver that needs one summary of the rows names its class as `starts_from`; it can then also start from that
    summary alone, and rows can be added to it.
    """

    #: The class of summaries that is all it needs of the rows, or None.
    starts_from: ClassVar[type[Summary] | None] = None
    #: Whether it reads the table by columns: for fewer rows than columns.
    reads_columns: ClassVar[bool] = False
    #: Whether it can find all eigenpairs, or leading ones only.
    finds_all: ClassVar[bool] = True

    @abstractmethod
    def solve(self, rows: RowsLike, request: Request) -> Spectrum:
        """Read `rows` and solve."""

    def empty_summary(self, p: int) -> Any:
        """An empty summary of rows of p columns for `solve_summary`."""
        raise TypeError(f"solver={self.name!r} keeps no summary of the rows.")

    def solve_summary(self, summary: Any, request: Request) -> Spectrum:
        """Solve without rows."""
        raise TypeError(f"solver={self.name!r} keeps no summary of the rows.")


def scales(squares: Array, mean: Array, weight: float, request: Request) -> Array | None:
    """Standard deviations to divide columns by (one for columns that are constant, or vary by their rounding only), or
    None."""
    if not request.standardize:
        return None
    xp = namespace(squares)
    sd = xp.sqrt(squares / divisor(weight, request.ddof))
    return xp.where(is_constant(sd, astype(mean, sd.dtype)), xp.ones_like(sd), sd)


def is_resolved(values: Array, n_free: int, product_eps: float) -> bool:
    """Whether products with rounding `product_eps` can tell the first `n_free` of `values` from rounding.

    The others are zero for a plain reason (constant columns, fewer rows than columns).
    """
    last = min(values.shape[0], n_free)
    if last <= 0:
        return True
    return float(values[last - 1]) >= resolution(product_eps) * float(values[0])
