"""Coordinates of tables: a few numbers per column that keep all inner products, from which components are computed.

PLS, CCA and regression on components need centred tables Z_1, Z_2, ... only through their products Z_i^T Z_j. The n
rows may therefore be replaced by fewer: any A_1, A_2, ... with A_i^T A_j = Z_i^T Z_j give the same weights and
loadings. A table with more columns than rows may also be replaced by one with as many columns as rows, Z_i = A_i Q_i^T;
vectors found there are mapped back ("lifted") by Q_i. The coordinates are small NumPy arrays, whatever the rows are.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from scipy.linalg import lapack

from ..._core.arrays import Array, asarray_like, namespace, to_numpy
from ..._core.threads import cholesky_factor
from ...errors import no_variance
from ...linalg import RESOLUTION, divisor, eigh_descending, rank_cut, resolution, svd_thin
from ..problem import Status, Tail

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
class PairFit:
    """Components of two tables, in the coordinates of `Views`."""

    #: Weights for the deflated tables, and loadings, (r, k).
    x_weights: Array
    x_loadings: Array
    y_weights: Array
    y_loadings: Array
    #: Weights for the table Y itself, (r_y, k); and the matrix T with which `x_weights` T are those for X, (k, k).
    y_rotations: Array
    x_turn: Array
    #: Coefficients of the regression of Y on the scores of X, (r_y, k).
    y_on_x: Array
    #: Lengths of the scores of X, and the maximised singular values, (k,).
    x_lengths: Array
    values: Array
    status: Status
    #: Sums of the eigenvalues of X^T X after these components are removed.
    tail: Tail = Tail()  # noqa: RUF009 (frozen)


@dataclass(frozen=True)
class CanonicalFit:
    """Canonical directions of two or more tables, in the coordinates of `Views`."""

    #: Weights of each table, with variates of unit variance, (r_i, k).
    rotations: tuple[Array, ...]
    #: The variates, of length one: the `Combinations` of the columns of each table.
    variates: Any
    #: The values of the maximised criterion, descending: all of them, or with regularization at least k.
    values: Array
    #: Correlations between the variates of tables i and j, (k, v, v).
    correlations: Array
    #: Numerical ranks of the tables.
    ranks: tuple[int, ...]
    status: Status


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

    def products(self, i: int, j: int) -> Any:
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
        A = view.table
        if view.factors is not None:
            U, s, Vt = view.factors
        elif self.squared:
            # By the eigenvectors of A^T A, since the coordinates were computed from products.
            values, Vt = eigh_descending(A.T @ A if view.products is None else view.products)
            s = np.sqrt(np.clip(values, 0.0, None))
            with np.errstate(divide="ignore", invalid="ignore"):
                U = np.where(s > 0, (A @ Vt.T) / s, 0.0)
        else:
            U, s, Vt = svd_thin(A)
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


# Coordinates of a table in a part of the space of its columns, if that is all that some components need.


#: Coordinates with fewer columns than this are small enough as they are.
LARGE = 256
#: A part of the space may have at most this share of its dimensions.
SHARE = 0.125


def within_rows(views: Views, B: np.ndarray, A: np.ndarray) -> Views:
    """Coordinates A = G B = X Q of the first table, for Q = X^T B with orthonormal columns; those of Y stay."""
    x, y = views.tables
    G, lift, unit = x.gram, x.lift_samples, x.unit
    assert G is not None and lift is not None

    def lifted(vectors: np.ndarray) -> object:
        return lift(B @ vectors / unit)

    return replace(views, tables=(View.of(A, unit, lifted, extent=_extent(G), is_lifted=True), y))


def within_columns(views: Views, Q: np.ndarray, SQ: np.ndarray) -> Views:
    """Coordinates of X Q and Y, for orthonormal columns of Q and SQ = X^T X Q, from a root of their products."""
    x, y = views.tables
    S, Syy = x.products, y.products
    assert S is not None and Syy is not None and y.cross is not None
    d, cross = Q.shape[1], Q.T @ y.cross(0)
    joint = np.block([[Q.T @ SQ, cross], [cross.T, Syy]])
    lengths = np.sqrt(np.clip(np.diagonal(joint), 0.0, None))
    unit = np.where(lengths > 0, lengths, 1.0)
    root = root_of_products(0.5 * (joint + joint.T) / unit / unit[:, None]) * lengths
    narrow = View.of(root[:, :d], x.unit, lambda vectors: x.lift(Q @ vectors), extent=_extent(S))
    return replace(views, tables=(narrow, View.of(root[:, d:], y.unit, y.lift, products=Syy)))


def principal_views(views: Views, k: int) -> Views:
    """Coordinates of the first table along its k leading principal components, from the k leading eigenvectors of its
    products. The views are returned as they are if there is nothing to be gained, or if a direction has no variance."""
    x, y = views.tables
    if x.dimension < LARGE or k > SHARE * x.dimension:
        return views
    by_rows = x.gram is not None and y.gram is None
    by_columns = x.products is not None and y.cross is not None and y.products is not None
    if not (by_rows or by_columns):
        return views
    values, vectors = eigh_descending(x.gram if by_rows else x.products, at_least=k)
    values, V = values[:k], vectors[:k].T
    if not values[-1] > views.cut**2 * values[0]:
        return views
    s = np.sqrt(values)
    return within_rows(views, V / s, V * s) if by_rows else within_columns(views, V, V * values)


def _extent(S: np.ndarray) -> Extent:
    """The sizes of a table with products S, of its rows or of its columns."""
    return Extent(float(np.trace(S)), float(np.sum(S * S)), largest_singular_value(lambda v: S @ v, len(S)), len(S))


def largest_singular_value(times: Callable[[np.ndarray], np.ndarray], n: int) -> float:
    """The square root of the largest eigenvalue of an n x n matrix S, slightly underestimated by a few steps of power
    iteration; `times` multiplies by S."""
    v = np.asarray(np.random.default_rng(0).standard_normal(n))
    for _ in range(6):
        size = float(np.linalg.norm(v))
        if size == 0.0:
            return 0.0
        v = times(v / size)
    return math.sqrt(float(np.linalg.norm(v)))


# Coordinates in the Krylov space of a regression: all that its first components need of a large table.


#: A direction is lost if, after orthogonalisation, less than this share of its square is left.
_LOST = 1e-13


def krylov_views(views: Views, k: int) -> Views:
    """Coordinates of X and Y in which the first k components of the regression of Y on X by PLS are the same.

    Notes
    -----
    The weights of these components lie in the span of C, S C, ..., S^(k-1) C with S = X^T X and C = X^T Y, and their
    loadings in that of one more power [1]_. X Q has the same components, if the columns of Q are an orthonormal basis
    of this span. It is found without a decomposition of S, by products with S. For fewer rows than columns these are
    products with G = X X^T: for Q = X^T B, X Q = G B and Q^T Q = B^T G B.

    The views are returned as they are if there is nothing to be gained, or if directions of the span are lost to
    rounding.

    References
    ----------
    .. [1] Helland (1988), On the structure of partial least squares regression.
    """
    x, y = views.tables
    if x.dimension < LARGE or (k + 1) * y.dimension > SHARE * x.dimension:
        return views
    if x.gram is not None and y.gram is None:
        G = x.gram
        found = _basis(y.table, lambda B: G @ B, k + 1, by_image=True)
        return views if found is None else within_rows(views, *found)
    if x.products is not None and y.cross is not None and y.products is not None:
        S = x.products
        found = _basis(y.cross(0), lambda Q: S @ Q, k + 1, by_image=False)
        return views if found is None else within_columns(views, *found)
    return views


def _basis(
    start: np.ndarray, times: Callable[[np.ndarray], np.ndarray], n_blocks: int, *, by_image: bool
) -> tuple[np.ndarray, np.ndarray] | None:
    """A basis B of the span of `start`, S start, ..., and its image S B, where `times` multiplies by S.

    B^T B = I, or B^T S B = I if `by_image`. Blocks are orthogonalised against all earlier ones, twice. None if a
    direction is lost to rounding before all blocks are found.
    """
    B = A = np.empty((len(start), 0))
    block = start
    for _ in range(n_blocks):
        lengths = np.linalg.norm(block, axis=0)
        if not np.all(lengths > 0.0):
            return None
        block = block / lengths
        image = times(block)
        before = np.einsum("ij,ij->j", block, image if by_image else block)
        for _ in range(2):
            along = (A if by_image else B).T @ block
            block, image = block - B @ along, image - A @ along
        M = block.T @ (image if by_image else block)
        values, V = np.linalg.eigh(0.5 * (M + M.T))
        if not values[0] > _LOST * float(before.max()):
            return None
        block = block @ (V / np.sqrt(values))
        image = times(block)
        B, A = np.hstack([B, block]), np.hstack([A, image])
        block = image
    return B, A


# Combinations of the columns of tables: by coordinates, or, where these are not needed, by products of columns.


#: Products of variates that differ by no more than this from the unit matrix differ from it by rounding: its square is
#: below the rounding of float64.
_NEARLY_ORTHONORMAL = 1e-8


class Combinations:
    """For each table with coordinates A_i, combinations V_i of its columns, (m, k_i).

    They are given by their `coordinates` V_i, or by `weights` W_i with V_i = A_i W_i: then coordinates are computed
    only if they are asked for, and all else follows from the products A_i^T A_j, which must be known.
    """

    def __init__(
        self,
        views: Views,
        coordinates: Sequence[np.ndarray] | None = None,
        weights: Sequence[np.ndarray] | None = None,
    ) -> None:
        self._views, self._coordinates, self.weights = views, coordinates, weights
        #: Products with the columns that were computed so far: each is asked for several times.
        self._with_columns: dict[tuple[int, int], np.ndarray] = {}

    def coordinates(self, i: int) -> np.ndarray:
        """V_i."""
        if self._coordinates is None:
            return self._views.tables[i].table @ self.weights[i]  # type: ignore[index] # one of both is given
        return self._coordinates[i]

    def inner(self, i: int, j: int) -> np.ndarray:
        """V_i^T V_j."""
        if self.weights is None:
            return self.coordinates(i).T @ self.coordinates(j)
        return self.weights[i].T @ self.with_columns(i, j)

    def with_columns(self, i: int, j: int) -> np.ndarray:
        """A_i^T V_j."""
        if self.weights is None:
            return self._views.tables[i].table.T @ self.coordinates(j)
        if (i, j) not in self._with_columns:
            self._with_columns[i, j] = self._views.products(i, j) @ self.weights[j]
        return self._with_columns[i, j]

    def times(self, factors: Sequence[np.ndarray]) -> Combinations:
        """The combinations V_i F_i."""
        given = self._coordinates if self.weights is None else self.weights
        new = [V @ F for V, F in zip(given or (), factors, strict=True)]
        return Combinations(self._views, new) if self.weights is None else Combinations(self._views, weights=new)

    def regression(self, j: int, i: int) -> np.ndarray:
        """The coefficients B of the least squares regression of the columns of table j on V_i, A_j = V_i B.

        If V_i is orthonormal up to rounding, V_i^T V_i = I + E, this is B = (I - E) V_i^T A_j up to E^2.
        """
        E = self.inner(i, i)
        E = E - np.eye(len(E))
        if np.abs(E).max(initial=0.0) > _NEARLY_ORTHONORMAL:
            return np.linalg.lstsq(self.coordinates(i), self._views.tables[j].table, rcond=None)[0]
        products = self.with_columns(j, i).T
        return products - E @ products
