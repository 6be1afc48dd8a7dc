"""Tables in a few coordinates that keep all inner products: what the solvers of two or more tables work on.

PLS, CCA and regression on components need centred tables Z_1, Z_2, ... only through their products Z_i^T Z_j. So the n
rows may be replaced by few: any A_1, A_2, ... with A_i^T A_j = Z_i^T Z_j give the same weights and loadings. And where
a table has more columns than rows, it may be turned into as many columns as it has rows, Z_i = A_i Q_i^T, and what is
found there is lifted back by Q_i. The coordinates are small and lie on the host, whatever the rows are.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..._xp import Array
from ...errors import no_variance
from ...linalg import RESOLUTION, divisor, eigh_descending, rank_cut, resolution, svd_thin

#: Scores of lifted vectors are right to eps over this share.
_LIFTED_RESOLUTION = 1e-8

Factors = tuple[np.ndarray, np.ndarray, np.ndarray]


@dataclass(frozen=True)
class Lifted:
    """Vectors in the columns of a table, and what its rows are measured from and in."""

    #: (p, k).
    vectors: Array
    #: Mean and standard deviation of each column, and what it was divided by (one where not scaled), (p,).
    mean: Array
    deviation: Array
    scale: Array


@dataclass(frozen=True)
class View:
    """One table in coordinates."""

    #: (m, r), centred, in units of `unit`: the largest length of a column is about one.
    table: np.ndarray
    unit: float
    #: Takes (r, k) coordinates to vectors in the columns of the table.
    lift: Callable[[np.ndarray], Lifted]
    #: Singular value decomposition of `table`, where it is known.
    factors: Factors | None = None
    #: table^T table, where it is known.
    products: np.ndarray | None = None

    def square_sum(self) -> float:
        """Sum of the squared eigenvalues of table^T table."""
        if self.factors is not None:
            return float(np.sum(self.factors[1] ** 4))
        if self.products is not None:
            return float(np.sum(self.products**2))
        A = self.table
        return float(np.sum((A.T @ A if A.shape[1] <= A.shape[0] else A @ A.T) ** 2))


@dataclass(frozen=True)
class Views:
    """All tables in coordinates, with how far these can be trusted."""

    tables: tuple[View, ...]
    #: What they are called in messages.
    names: tuple[str, ...]
    weight: float
    n_rows: int
    ddof: int
    #: Columns in all.
    n_columns: int
    #: Rounding of the products they come from, and whether they come from products at all.
    epsilon: float
    squared: bool
    #: Name of the reduction that they come from.
    reduction: str

    @property
    def divisor(self) -> float:
        """What squares are divided by to be variances."""
        return divisor(self.weight, self.ddof)

    @property
    def cut(self) -> float:
        """Lengths at or below this share of the largest singular value are zero, as far as arithmetic can tell."""
        share = rank_cut(1.0, self.n_columns, self.epsilon)
        return math.sqrt(share) if self.squared else share

    @property
    def resolution(self) -> float:
        """Squares below this share of the largest have lost too many digits: to the products, or, where what is found
        has to be lifted back, to the lifting."""
        if not self.squared:
            return 0.0
        lifted = any(view.factors is not None for view in self.tables)
        needed = _LIFTED_RESOLUTION if lifted else RESOLUTION
        return resolution(self.epsilon, needed)

    def free(self, i: int) -> int:
        """The rank that table i has unless its columns depend on each other."""
        return min(int(np.count_nonzero(np.any(self.tables[i].table != 0, axis=0))), self.n_rows - 1)

    def svd(self, i: int) -> Factors:
        """Table i as U diag(s) Vt with s above the cut; a table without variance is refused."""
        view = self.tables[i]
        U, s, Vt = view.factors or (_by_products(view) if self.squared else svd_thin(view.table))
        rank = int(np.count_nonzero(s > self.cut * (s[0] if len(s) else 0.0)))
        if rank == 0:
            raise no_variance("this model", self.names[i])
        return U[:, :rank], s[:rank], Vt[:rank]


def _by_products(view: View) -> Factors:
    """Singular value decomposition of A by the eigenvectors of A^T A, for what has come from products anyway."""
    A = view.table
    values, Vt = eigh_descending(A.T @ A if view.products is None else view.products)
    s = np.sqrt(np.clip(values, 0.0, None))
    with np.errstate(divide="ignore", invalid="ignore"):
        U = np.where(s > 0, (A @ Vt.T) / s, 0.0)
    return U, s, Vt
