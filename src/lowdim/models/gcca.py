"""Generalized canonical correlation analysis of two or more tables."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from os import PathLike
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._core.arrays import Array, is_sparse
from .._core.schema import ListOf, Maybe, Names, Numbers, Real, Size, Sometimes, Text, TupleOf, Whole
from .._core.types import VectorLike
from ..features import affine
from ..reading.checkpoint import Checkpoint
from ..reading.map import RowMap
from ..solvers import pairs
from ..solvers.pairs.cca import column_structure, pair_correlations, solve_canonical
from ..solvers.pairs.reductions import ComponentsFunction, Reduction, ReductionName
from ..solvers.pairs.views import CanonicalFit, Views
from ..sources.beside import BesideSource
from ..sources.opening import TableLike, check_row_labels, open_target
from ..summaries.base import names_of_tables
from .base import Model
from .output import Maps, framed_results, results
from .pairs import (
    Dtypes,
    PairModel,
    cast,
    check_regularization,
    check_scale,
    check_table_names,
    in_namespace_of,
    is_list_of_tables,
    open_further,
)


class GCCA(PairModel):
    """Generalized canonical correlation analysis (MAXVAR).

    The variates X_i w_i, one for each table, are those that a single common variate explains best.

    Parameters
    ----------
    n_components : int or None, default=None
        Number of variates of each table; None takes as many as the narrowest table has columns.
    regularization : float or sequence of floats, default=0.0
        From 0 (none) to 1 (full), for all tables or for each one.
    scale : bool or sequence of bools, default=True
        Whether to divide columns by their standard deviation first, for all tables or for each one.
    solver : str, default="auto"
        "auto", "covariance", "triangle" or "gram".

    Attributes
    ----------
    correlations_ : array of shape (n_components_,)
        Average correlation between the variates of two tables.
    pair_correlations_ : array of shape (n_components_, n_tables, n_tables)
        Correlations between the variates of each two tables.
    eigenvalues_ : array of shape (n_components_,)
        The eigenvalues mu that are maximised, descending. If all tables contribute equally, they are
        1 + (n_tables - 1) times the average correlation.
    rotations_ : list of arrays of shape (n_columns, n_components_)
        Weights of the (scaled) columns of each table, for variates of unit variance; the entry of largest magnitude in
        the first table is positive.
    loadings_, structure_ : lists of arrays of the same shapes
        Covariances and correlations of columns with the variates of their own table.
    means_, scales_ : lists of arrays
        Means of the columns of each table, and the scales they are divided by.
    rank_ : tuple of int
        Numerical ranks of the tables.
    n_components_, n_samples_, n_features_in_, solver_, plan_, status_, n_passes_

    Notes
    -----
    The weights solve the eigenproblem sum_{j != i} S_ij w_j = (mu - 1) D_i w_i with D_i = (1 - c_i) S_ii + c_i I [1]_.
    For two tables it is CCA. The solver needs one pass over the rows and p^2 numbers, where p is the number of columns
    of all tables together, or, with fewer rows than columns, two passes and n^2 numbers for each table.

    References
    ----------
    .. [1] Kettenring (1971), Canonical analysis of several sets of variables.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from lowdim import GCCA
    >>> X = load_iris().data
    >>> gcca = GCCA(1).fit([X[:, :2], X[:, 2:3], X[:, 3:]])
    >>> gcca.pair_correlations_[0].round(4)
    array([[1.    , 0.9313, 0.8617],
           [0.9313, 1.    , 0.9629],
           [0.8617, 0.9629, 1.    ]])
    """

    component_name = "comp"
    rank_: tuple[int, ...]
    rotations_: list[np.ndarray]
    loadings_: list[np.ndarray]
    structure_: list[np.ndarray]
    means_: list[np.ndarray]
    scales_: list[np.ndarray]
    correlations_: np.ndarray
    pair_correlations_: np.ndarray
    eigenvalues_: np.ndarray
    #: In shapes, t is the number of tables, and p0, p1, ... are their numbers of columns.
    fitted_attributes = {
        "n_features_in_": Size("p0"),
        "feature_names_in_": Sometimes(Names("p0")),
        "_other_names_in": Sometimes(Names("p0")),
        "rank_": TupleOf(Whole(), length="t"),
        "rotations_": ListOf(Numbers("p#", "k"), length="t"),
        "loadings_": ListOf(Numbers("p#", "k"), length="t"),
        "structure_": ListOf(Numbers("p#", "k", most=1.0), length="t"),
        "means_": ListOf(Numbers("p#"), length="t"),
        "scales_": ListOf(Numbers("p#", sign="positive"), length="t"),
        "correlations_": Numbers("k"),
        "pair_correlations_": Numbers("k", "t", "t"),
        "eigenvalues_": Numbers("k", order="descending"),
        "_ridges": ListOf(Real("nonnegative", most=1.0), length="t"),
        "_names": Sometimes(ListOf(Maybe(ListOf(Text())), length="t")),
    }

    def __init__(
        self,
        n_components: int | None = None,
        *,
        regularization: float | Sequence[float] = 0.0,
        scale: bool | Sequence[bool] = True,
        solver: ReductionName | Reduction = "auto",
    ) -> None:
        self.n_components = n_components
        self.regularization = regularization
        self.scale = scale
        self.solver = solver

    def fit(
        self,
        X: TableLike,
        y: TableLike | None = None,
        sample_weight: VectorLike | None = None,
        *,
        checkpoint: Checkpoint | str | PathLike[str] | None = None,
    ) -> Self:
        """Fit to the rows of two or more tables.

        Parameters
        ----------
        X : list of tables, or one table
            Arrays, sparse matrices, data frames or streams of blocks with one row for each sample.
        y : table, default=None
            One more table, in addition to those of `X`.
        sample_weight : array of shape (n_samples,), default=None
            Frequency weights: weight 2 equals repeating the row.
        checkpoint : Checkpoint, str or path, default=None
            A file that keeps the state of the pass over the rows: if the process is killed, the same call goes on where
            it was. Only for fits that need one pass (see `plan`).

        Returns
        -------
        self
        """
        if getattr(sample_weight, "ndim", 1) > 1:
            raise ValueError("sample_weight is a table. Pass all tables as one list: fit([A, B, C]).")
        self._fit(X, y, sample_weight, checkpoint=checkpoint)
        return self

    def fit_transform(  # type: ignore[override] # a list of tables
        self, X: TableLike, y: TableLike | None = None, sample_weight: VectorLike | None = None
    ) -> np.ndarray | tuple[np.ndarray, ...]:
        """Fit, then return the variates: a tuple for all tables if `X` is a list, otherwise those of `X`."""
        source = self._fit(X, y, sample_weight, twice=True)
        maps = [RowMap(s, self._scoring(i), self._score_names) for i, s in enumerate(source.members)]
        if not is_list_of_tables(X):
            return maps[0].result()
        tables: Any = X
        return framed_results(self, maps, tables if y is None else [*tables, y])

    def transform(self, X: TableLike, *, n_components: int | None = None) -> np.ndarray | tuple[np.ndarray, ...]:  # type: ignore[override] # a list of tables
        """Variates of new rows: a tuple for a list of all tables of the fit, or an array for the first table only.

        With `n_components`, those of the first components only; the model is not fitted again.
        """
        check_is_fitted(self)
        maps = self._transform_maps(X)
        return results(maps) if len(maps) == 1 else framed_results(self, maps, X)

    def inverse_transform(self, X: TableLike) -> np.ndarray | tuple[np.ndarray, ...]:  # type: ignore[override] # a list of tables
        """Tables reconstructed from variates, mean + z P^T: a tuple for a list of variates, or only the first table.

        Variates of the first components only are allowed, too; those of the others are taken to be zero.
        """
        check_is_fitted(self)
        return framed_results(self, self._inverse_maps(X), X)

    def score(self, X: TableLike, y: TableLike | None = None) -> float:
        """Average correlation between the variates of two tables, over components and pairs of tables, on these rows.

        On rows that were not in the fit it can be used to choose `regularization` and `n_components`.
        """
        X, y = self._by_name(X, y, fitted=True)
        given: Any = X
        tables = list(given) if is_list_of_tables(given) else [given]
        check_is_fitted(self)
        variates = results(self._transform_maps(tables if y is None else [*tables, y]))
        return float(np.mean(list(pair_correlations(variates))))

    def _transform_maps(self, X: Any) -> Maps:  # type: ignore[override]
        if not is_list_of_tables(X):
            return Model._transform_maps(self, X)
        self._check_count(X)
        maps = list(Model._transform_maps(self, _as_table(X[0])))
        maps[0].source.table = "table 0"
        for i, table in enumerate(X[1:], start=1):
            source = open_further(self, table, self.means_[i], f"table {i}", self._known_names(i))
            check_table_names(self, source, i, f"table {i}")
            maps.append(RowMap(source, self._scoring(i), self._score_names))
        return maps

    def _inverse_maps(self, X: Any) -> Maps:  # type: ignore[override]
        if not is_list_of_tables(X):
            return super()._inverse_maps(X)
        self._check_count(X)
        maps = [
            self._reconstruction(Z, self._lift(i), self.means_[i], partial(self._column_names, i))
            for i, Z in enumerate(X)
        ]
        for i, each in enumerate(maps):
            each.source.table = f"table {i}"
        return maps

    def _known_names(self, table: int) -> list[str] | None:
        known = getattr(self, "_names", [])
        return known[table] if table < len(known) else None

    def _column_name(self, table: int) -> str:
        return "x"

    def _widths(self) -> Sequence[int]:
        return [int(mean.shape[0]) for mean in self.means_]

    def _open_keeping(self, X: Any, keep: Sequence[str], wanted: Sequence[str] | None, beside: Sequence[str]) -> Any:
        # Columns of the first table are carried along.
        several = is_list_of_tables(X)
        first = super()._open_keeping(X[0] if several else X, keep, wanted, beside)
        return [first, *X[1:]] if several else first

    def _check_count(self, X: Any) -> None:
        if len(X) != len(self.means_):
            raise ValueError(f"X has {len(X)} tables, the model was fitted on {len(self.means_)}.")

    def _scoring(self, table: int = 0) -> Any:
        return affine(self.rotations_[table] / self.scales_[table][:, None], self.means_[table], 1.0)

    def _lift(self, table: int = 0) -> Array:
        return (self.loadings_[table] * self.scales_[table][:, None]).T

    def _by_name(
        self, X: Any, y: Any = None, *, fitted: bool = False, hold: bool = False, **vectors: Any
    ) -> tuple[Any, ...]:
        # Of several tables, nothing says which one has the column.
        several = is_list_of_tables(X)
        if several:
            further = {f"table {i}": table for i, table in enumerate(X[1:], start=1)}
            check_row_labels(X[0], "table 0", y=y, **further, **vectors)
        named = super()._by_name(None if several else X, y, fitted=fitted, hold=hold, **vectors)
        return (X, *named[1:]) if several else named

    def _open_tables(self, X: Any, y: Any, *, reset: bool = True) -> BesideSource:
        if isinstance(X, dict) and not is_sparse(X):
            raise TypeError("GCCA takes tables as a list, got a dict: pass list(X.values()).")
        given: Any = X
        tables = list(given) if is_list_of_tables(given) else [given]
        first = tables[0]
        sources = [self._open(_as_table(first) if is_list_of_tables(X) else first, reset=reset)]
        sources += [open_target(table, table=f"table {i}") for i, table in enumerate(tables[1:], start=1)]
        if y is not None:
            sources.append(open_target(y))
        if len(sources) < 2:
            raise ValueError(
                "GCCA needs two or more tables: fit([A, B, C]). With one table as X, it requires y to be passed, but "
                "the target y is None."
            )
        sources[0].table = "X" if len(tables) == 1 else "table 0"
        check_scale(self.scale, len(sources))
        check_regularization(self.regularization, len(sources))
        names = [None if s.names is None else list(s.names) for s in sources]
        if reset:
            self._names = names
        for i, source in enumerate(sources):
            check_table_names(self, source, i, f"table {i}")
        return BesideSource([sources[0], *(in_namespace_of(sources[0], s) for s in sources[1:])])

    def _take_names(self, summary: Any) -> None:
        self._names = names_of_tables(summary.names, summary.widths)
        if self._names[0] is not None:
            self.feature_names_in_ = np.asarray(self._names[0], dtype=object)

    def _check_parameters(self) -> None:
        # The number of tables, on which `scale` and `regularization` depend, is not known yet.
        pairs.check_asked(self.solver)

    def _check_widths(self, widths: Sequence[int]) -> None:
        if len(widths) < 2:
            raise ValueError(
                "the summary is of one table, GCCA needs two or more: make it with widths=(p_1, p_2, ...)."
            )
        check_scale(self.scale, len(widths))
        check_regularization(self.regularization, len(widths))

    def _components(self, n_tables: int) -> ComponentsFunction:
        return partial(solve_canonical, regularization=check_regularization(self.regularization, n_tables))

    def _unpack(self, views: Views, fit: CanonicalFit, dtypes: Dtypes) -> None:
        n_tables = len(views.tables)
        self._ridges = check_regularization(self.regularization, n_tables)
        flags = check_scale(self.scale, n_tables)
        k = fit.rotations[0].shape[1]
        self.n_components_, self.rank_ = k, fit.ranks
        self.rotations_, self.loadings_, self.structure_ = [], [], []
        self.means_: list[Any] = []
        self.scales_: list[Any] = []
        sign: Any = None
        each = zip(views.tables, fit.rotations, flags, dtypes, strict=True)
        for i, (view, rotations, scaled, dtype) in enumerate(each):
            covariances = fit.variates.with_columns(i, i) * (view.unit / math.sqrt(views.divisor))
            lifted = view.lift(np.hstack([rotations, covariances]))
            like = self.means_[0] if self.means_ else lifted.mean
            columns = column_structure(lifted, k, scaled=scaled, sign=sign)
            sign, own = columns.sign, columns.extra[0]
            self.rotations_.append(cast(columns.rotations, like, dtype))
            self.loadings_.append(cast(own / columns.scale[:, None], like, dtype))
            self.structure_.append(cast(own / columns.deviation[:, None], like, dtype))
            self.means_.append(cast(lifted.mean, like, dtype))
            self.scales_.append(cast(columns.scale, like, dtype))
        between = fit.correlations.sum(axis=(1, 2)) - np.trace(fit.correlations, axis1=1, axis2=2)
        like = self.means_[0]
        self.correlations_ = cast(between / (n_tables * (n_tables - 1)), like, dtypes[0])
        self.pair_correlations_ = cast(fit.correlations, like, dtypes[0])
        self.eigenvalues_ = cast(1.0 + fit.values[:k], like, dtypes[0])

    def _centre(self) -> Any:
        return self.means_[0] if hasattr(self, "means_") else None

    def _describe_columns(self) -> str:
        return f"{len(self.means_)} tables of {', '.join(map(str, self._widths()))} columns"

    def _importance(self) -> list[tuple[str, Any]]:
        return [("eigenvalue", self.eigenvalues_), ("mean correlation", self.correlations_)]

    def _describe_limit(self) -> str:
        return f"the ranks of the tables are {', '.join(str(r) for r in self.rank_)}"

    # Both write the results of all tables that are given.
    transform_to: Any = Model.transform_to
    inverse_transform_to: Any = Model.inverse_transform_to


def _as_table(A: Any) -> Any:
    """A vector as a table of one column."""
    return np.asarray(A)[:, None] if getattr(A, "ndim", 2) == 1 and hasattr(A, "__array__") else A
