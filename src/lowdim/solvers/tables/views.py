"""Coordinates of tables: a few numbers per column that keep all inner products, from which components are computed.

PLS, CCA and regression on components need centred tables Z_1, Z_2, ... only through their products Z_i^T Z_j. The n
rows may therefore be replaced by fewer: any A_1, A_2, ... with A_i^T A_j = Z_i^T Z_j give the same weights and
loadings. A table with more columns than rows may also be replaced by one with as many columns as rows, Z_i = A_i Q_i^T;
vectors found there are mapped back ("lifted") by Q_i. The coordinates are small NumPy arrays, whatever the rows are.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from scipy.linalg import lapack

from ..._lapack import cholesky_factor
from ..._xp import Array, asarray_like, namespace, to_numpy
from ...errors import no_variance
from ...linalg import RESOLUTION, divisor, eigh_descending, rank_cut, resolution, svd_thin

#: Smallest share of the largest square at which lifted vectors are accurate: their scores have an error of eps divided
#: by the share.
_LIFTED_RESOLUTION = 1e-8
#: Columns are clearly linearly independent if the smallest eigenvalue of their products is at least this share of the
#: largest: combinations by the Cholesky factor are then orthonormal up to eps divided by the share.
_INDEPENDENT = 1e-8
#: From this many columns on, a Cholesky factor is computed on a device in less time than on the host.
_ON_DEVICE_FROM = 400

Factors = tuple[np.ndarray, np.ndarray, np.ndarray]


@dataclass(frozen=True)
class LiftedVectors:
    """Vectors in the space of the columns of a table, and the means and scales of the columns."""

    #: Vectors, (p, k).
    vectors: Array
    #: Mean, standard deviation and divisor (one if not scaled) of each column, (p,).
    mean: Array
    deviation: Array
    scale: Array


@dataclass(frozen=True)
class Extent:
    """Sizes of a table that coordinates in a part of its space do not tell."""

    #: The sum of the eigenvalues of X^T X, and of their squares.
    total: float
    squares: float
    #: The largest singular value of X, and the larger dimension of its coordinates.
    largest: float
    width: int


@dataclass(frozen=True)
class View:
    """The coordinates of one table. They are computed when they are first needed."""

    #: Computes the coordinates, and their singular value decomposition if that is known (otherwise None).
    make: Callable[[], tuple[np.ndarray, Factors | None]]
    unit: float
    #: Maps (r, k) coordinates to vectors in the space of the columns of the table.
    lift: Callable[[np.ndarray], LiftedVectors]
    #: The number of columns of the coordinates, or an upper bound.
    dimension: int
    #: table^T table, if it is known.
    products: np.ndarray | None = None
    #: Computes the products of the coordinates of table i with these, if they are known without coordinates.
    cross: Callable[[int], np.ndarray] | None = None
    #: table table^T, if the coordinates are computed from it; and the map of (n, k) combinations of the rows to vectors
    #: in the space of the columns.
    gram: np.ndarray | None = None
    lift_samples: Callable[[np.ndarray], LiftedVectors] | None = None
    #: The sizes of the table, if the coordinates are only a part of it.
    extent: Extent | None = None
    #: Whether lifting divides by lengths of coordinates.
    is_lifted: bool = False

    @classmethod
    def of(
        cls,
        table: np.ndarray,
        unit: float,
        lift: Callable[[np.ndarray], Any],
        factors: Factors | None = None,
        **more: Any,
    ) -> Self:
        """The view of known coordinates."""
        return cls(lambda: (table, factors), unit, lift, table.shape[1], **more)

    @cached_property
    def _made(self) -> tuple[np.ndarray, Factors | None]:
        return self.make()

    @property
    def table(self) -> np.ndarray:
        """The coordinates, (m, r), centred and divided by `unit`: the largest length of a column is about one."""
        return self._made[0]

    @property
    def factors(self) -> Factors | None:
        """Singular value decomposition of `table`, if it is known."""
        return self._made[1]

    def total(self) -> float:
        """Sum of the eigenvalues of X^T X for the whole table X, in units of `unit`."""
        return float(np.sum(self.table**2)) if self.extent is None else self.extent.total

    def square_sum(self) -> float:
        """Sum of the squared eigenvalues of X^T X for the whole table X, in units of `unit`."""
        if self.extent is not None:
            return self.extent.squares
        if self.factors is not None:
            return float(np.sum(self.factors[1] ** 4))
        if self.products is not None:
            return float(np.sum(self.products**2))
        A = self.table
        return float(np.sum((A.T @ A if A.shape[1] <= A.shape[0] else A @ A.T) ** 2))


@dataclass(frozen=True)
class Views:
    """The coordinates of all tables, and their accuracy."""

    tables: tuple[View, ...]
    #: Names of the tables in messages.
    names: tuple[str, ...]
    weight: float
    n_rows: int
    ddof: int
    #: Number of columns of all tables.
    n_columns: int
    #: Rounding error of the numbers that the coordinates were computed from, and whether these were products of rows.
    epsilon: float
    squared: bool
    #: Name of the reduction that computed the coordinates.
    reduction: str
    #: An array on the device of the rows, if what is lifted is on the host though the rows are not; otherwise None.
    there: Any = None

    @property
    def divisor(self) -> float:
        """The divisor of variances."""
        return divisor(self.weight, self.ddof)

    @property
    def cut(self) -> float:
        """Lengths at or below this share of the largest singular value cannot be distinguished from zero."""
        share = rank_cut(1.0, self.n_columns, self.epsilon)
        return math.sqrt(share) if self.squared else share

    @property
    def resolution(self) -> float:
        """Squares below this share of the largest have lost too many digits, in the products or in the lift."""
        if not self.squared:
            return 0.0
        lifted = any(view.is_lifted for view in self.tables)
        needed = _LIFTED_RESOLUTION if lifted else RESOLUTION
        return resolution(self.epsilon, needed)

    @property
    def knows_products(self) -> bool:
        """Whether the products of the coordinates of all pairs of tables are known without coordinates."""
        return all(view.products is not None and view.cross is not None for view in self.tables)

    def products(self, i: int, j: int) -> np.ndarray | None:
        """The products A_i^T A_j of the coordinates of two tables, if they are known without coordinates."""
        view = self.tables[j]
        return view.products if i == j else None if view.cross is None else view.cross(i)

    def full_rank(self, i: int) -> int:
        """The rank of table i if its columns are linearly independent."""
        return min(int(np.count_nonzero(np.any(self.tables[i].table != 0, axis=0))), self.n_rows - 1)

    def orthonormal(self, i: int) -> np.ndarray | None:
        """B such that the combinations A B of the columns of table i are orthonormal, from the Cholesky factor of
        A^T A = L L^T: B = L^{-T}. None unless the columns are clearly linearly independent.

        The smallest eigenvalue of A^T A is at least 1 / |B|^2, and the largest at most |L|^2.
        """
        view = self.tables[i]
        if not self.squared or view.products is None:
            return None
        try:
            L = cholesky_factor(view.products)
        except np.linalg.LinAlgError:
            return None
        B = lapack.dtrtri(L, lower=1)[0].T
        share = 1.0 / (float(np.sum(L * L)) * float(np.sum(B * B)))
        return B if share >= max(self.resolution, _INDEPENDENT) else None

    def svd(self, i: int) -> Factors:
        """Table i as U diag(s) Vt with s above the cut; raises an error if the table has no variance."""
        view = self.tables[i]
        U, s, Vt = view.factors or (_svd_by_products(view) if self.squared else svd_thin(view.table))
        rank = int(np.count_nonzero(s > self.cut * (s[0] if len(s) else 0.0)))
        if rank == 0:
            raise no_variance("this model", self.names[i])
        return U[:, :rank], s[:rank], Vt[:rank]


def root_of_products(C: np.ndarray, there: Any = None) -> np.ndarray:
    """The root R with R^T R = C, for C with a unit diagonal (zero for constant columns); for many columns, computed on
    the device of `there`, if that is not None."""
    if there is not None and len(C) >= _ON_DEVICE_FROM:
        # Libraries report a matrix that is not positive definite by errors of their own, or by NaN.
        with suppress(RuntimeError, np.linalg.LinAlgError):
            root = to_numpy(namespace(there).linalg.cholesky(asarray_like(C, there))).T
            if root.dtype == np.float64 and np.isfinite(root).all():
                return root
    try:
        return cholesky_factor(C).T
    except np.linalg.LinAlgError:
        values, vectors = eigh_descending(C)
        return np.sqrt(np.clip(values, 0.0, None))[:, None] * vectors


def _svd_by_products(view: View) -> Factors:
    """Singular value decomposition of A by the eigenvectors of A^T A, for coordinates computed from products."""
    A = view.table
    values, Vt = eigh_descending(A.T @ A if view.products is None else view.products)
    s = np.sqrt(np.clip(values, 0.0, None))
    with np.errstate(divide="ignore", invalid="ignore"):
        U = np.where(s > 0, (A @ Vt.T) / s, 0.0)
    return U, s, Vt
