"""Correspondence analysis of a table of counts."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from typing import Any, Self, cast

import numpy as np
from scipy import stats
from sklearn.utils.validation import check_is_fitted

from .._core.arrays import Array, dense, is_array, is_sparse, to_numpy
from .._core.schema import ListOf, Numbers, Real, Sometimes, Text
from .._core.types import VectorLike
from ..coding import coding_of
from ..errors import list_names
from ..linalg import most_components
from ..reading.checkpoint import Checkpoint
from ..reading.rows import Rows
from ..reading.summarizing import check_weights
from ..selection.folds import FoldsLike
from ..solvers import spectra
from ..solvers.problem import Plan, Request, leading_count
from ..solvers.spectra.covariance import Covariance
from ..sources.base import Source
from ..sources.categories import CategorySource, CodedSource
from ..sources.frame import is_spark
from ..sources.opening import TableLike, is_stream, named_table, open_source
from ..sources.scan import Contents, scan
from ..summaries.levels import Levels
from ..summaries.moments import Moments
from .base import count_components
from .spectral import SpectralModel

#: The scatter matrix of up to so many columns is computed.
_COLUMNS_UP_TO = 4000


class CA(SpectralModel):
    """Correspondence analysis: the directions in which the rows of a table of counts differ most in their profiles.

    The first dimension gives scores to rows and columns whose correlation, over all that is counted, is largest.

    Parameters
    ----------
    n_components : int, float or None, default=None
        Number of dimensions. A number in (0, 1) keeps the fewest whose proportion of the inertia reaches it; None keeps
        all min(rows, columns) - 1.
    supplementary : list of str or int, default=None
        Columns that do not take part in the fit: their names, or numbers if the columns have no names. Their
        coordinates are computed in the same pass.

    Attributes
    ----------
    components_ : array of shape (n_components, n_columns)
        Unit eigenvectors in the profiles, after a division by `scale_`.
    explained_variance_ : array of shape (n_components,)
        The eigenvalues (principal inertias), at most 1.
    explained_variance_ratio_ : array of shape (n_components,)
        Their shares of the total inertia.
    mean_ : array of shape (n_columns,)
        The masses of the columns, which are the average profile.
    scale_ : array of shape (n_columns,)
        Their square roots.
    total_ : float
        The sum of all counts.
    total_inertia_ : float
        The sum of all eigenvalues: the chi-square of the table over the sum of its counts.
    chi_square_, dof_, p_value_
        The test that rows and columns are independent, without a correction. It supposes that the entries are counts.
    singular_values_, n_components_, n_features_in_, feature_names_in_, n_samples_, summary_

    Notes
    -----
    With r_i and c_j the shares of row i and of column j of all counts n_ij, it is the PCA of the profiles
    n_ij / n_i over sqrt(c_j), with the weights r_i of the rows [1]_. Two passes, and p^2 numbers for p columns: a table
    may have any number of rows.

    References
    ----------
    .. [1] Greenacre (2017), Correspondence analysis in practice, 3rd edition.

    Examples
    --------
    >>> import numpy as np
    >>> from lowdim import CA
    >>> ca = CA(2).fit(np.array([[10, 5, 2], [3, 8, 6], [1, 4, 12]]))
    >>> ca.explained_variance_.round(4), round(ca.chi_square_, 3)
    (array([0.3224, 0.0443]), 18.701)
    """

    component_name = "dim"
    _fixed_ddof = True
    ddof = 0
    solver = "auto"
    #: Advice for those who would draw, shuffle or leave out rows.
    _instead_of_resampling = (
        " The rows of a table of counts are no sample. Pass MCA and the two columns that were counted instead: its "
        "levels have the coordinates of the rows and columns of CA. A fitted CA tests the whole table by p_value_."
    )
    components_: np.ndarray
    explained_variance_: np.ndarray
    explained_variance_ratio_: np.ndarray
    singular_values_: np.ndarray
    scale_: np.ndarray
    total_: float
    total_inertia_: float
    fitted_attributes = {
        "components_": Numbers("k", "c", host=True, orthonormal="rows"),
        "mean_": Numbers("c", host=True, sign="positive"),
        "scale_": Numbers("c", host=True, sign="positive"),
        "explained_variance_": Numbers("k", host=True, sign="nonnegative", order="descending"),
        "explained_variance_ratio_": Numbers("k", host=True, sign="nonnegative", order="descending", most=1.0),
        "singular_values_": Numbers("k", host=True, sign="nonnegative", order="descending"),
        "total_": Real("positive"),
        "total_inertia_": Real("nonnegative"),
        # Of two columns of categories, the table of counts, and the levels of the first.
        "counts_": Sometimes(Numbers("*", "*", host=True, sign="nonnegative")),
        "row_names_": Sometimes(ListOf(Text())),
        "column_names_": ListOf(Text(), length="c"),
        "supplementary_names_": ListOf(Text(), length="s"),
        # The numbers of the active and of the supplementary columns, and their squared distances to the origin. For
        # each of the latter the sums of its counts, and of its counts times the scores.
        "_active": Numbers("c", host=True, dtype="int"),
        "_aside": Numbers("s", host=True, dtype="int"),
        "_distances": Numbers("c", host=True, sign="nonnegative"),
        "_aside_distances": Numbers("s", host=True, sign="nonnegative"),
        "_aside_total": Numbers("s", host=True, sign="nonnegative"),
        "_aside_scores": Numbers("s", "k", host=True),
    }

    def __init__(
        self, n_components: int | float | None = None, *, supplementary: Sequence[str | int] | None = None
    ) -> None:
        self.n_components = n_components
        self.supplementary = supplementary

    def _check_parameters(self) -> None:
        if isinstance(self.n_components, str):
            raise ValueError(
                f"n_components={self.n_components!r}: rules for the number of components are not available for CA, "
                "whose rows are no sample. Pass a number."
            )

    def _check_fitted(self) -> None:
        columns = np.sort(np.concatenate([self._active, self._aside]))
        if not np.array_equal(columns, np.arange(self.n_features_in_)):
            raise ValueError(f"the columns of the model are not those of a table of {self.n_features_in_}")

    def fit(
        self,
        X: TableLike,
        y: TableLike | None = None,
        sample_weight: VectorLike | None = None,
        *,
        checkpoint: Checkpoint | str | PathLike[str] | None = None,
    ) -> Self:
        """Fit to a table of counts, or to two columns of categories, of which the table is made.

        Parameters
        ----------
        X : array, sparse matrix, data frame, file, or iterable of blocks, of shape (n_rows, n_columns)
            The counts. Or a table with two columns of categories: `counts_` is then the table of their levels, and
            `row_names_` are those of the first.
        y : ignored, default=None
        sample_weight : array of shape (n_rows,), or str, default=None
            Weights by which the rows are multiplied.
        checkpoint : not available, default=None

        Returns
        -------
        self
        """
        counted = contingency(X, sample_weight)
        if counted is None:
            super().fit(X, y, sample_weight, checkpoint=checkpoint)
            self.__dict__.pop("counts_", None)
            self.__dict__.pop("row_names_", None)
        else:
            counts, rows, columns = counted
            super().fit(open_source(counts, names=columns), checkpoint=checkpoint)
            self.counts_, self.row_names_ = counts, rows
        return self

    def plan(
        self,
        X: TableLike,
        y: TableLike | None = None,
        sample_weight: VectorLike | None = None,
        *,
        cv: FoldsLike | None = None,
    ) -> Plan:
        if cv is None and two_categories(X) is not None:
            why = f"one pass finds the levels, one counts; {_LEVELS_ASSUMED} levels of each column are assumed"
            return Plan(Covariance(), 2, 8 * _LEVELS_ASSUMED**2, why)
        return super().plan(X, y, sample_weight, cv=cv)

    def _plan_rows(self, rows: Rows) -> Plan:
        p = rows.shape[1]
        return Plan(Covariance(), 2, 8 * p * (4 * p + 2048), "one pass for the sums of the rows, and one for products")

    def _columns(self) -> tuple[np.ndarray, np.ndarray]:
        """The numbers of the active and of the supplementary columns."""
        names, p = self._column_names(), self.n_features_in_
        given = [self.supplementary] if isinstance(self.supplementary, str | int) else list(self.supplementary or [])
        places = []
        for name in given:
            if isinstance(name, str) and name in names:
                places.append(names.index(name))
            elif not isinstance(name, str) and 0 <= int(name) < p:
                places.append(int(name))
            else:
                raise ValueError(
                    f"supplementary: there is no column {name!r}; the columns are {list_names(names, 20)}."
                )
        aside = np.array(places, dtype=np.int64)
        return np.setdiff1d(np.arange(p), aside), aside

    def _fit_rows(self, rows: Rows) -> None:
        if rows.shape[1] > _COLUMNS_UP_TO:
            raise ValueError(
                f"the table has {rows.shape[1]} columns, and at most {_COLUMNS_UP_TO} are taken, while it may have any "
                "number of rows. Rows and columns play the same part: pass the transpose, or leave out rare columns."
            )
        self._active, self._aside = self._columns()
        summary = self._summed(rows.source, rows.weights, rows)
        self._solve(summary, self._plan_rows(rows))
        self.summary_, self._dtype = summary, np.float64

    def _summed(self, source: Source, sample_weight: Any, rows: Rows) -> Moments:
        """The moments of the profiles of the rows, which weigh as much as the sums of their counts."""
        sums = to_numpy(rows.map(Sums(self._active)))
        weights = sums if sample_weight is None else sums * to_numpy(sample_weight)
        if not np.any(weights > 0):
            raise ValueError("the table has no counts: all entries are zero.")
        mapped = Rows(source, weights, rows.progress).mapped(Profiles(self._active))
        return mapped.summarize(Moments(source.shape[1]))

    def _solve(self, summary: Moments, plan: Plan) -> None:
        """Set the fitted attributes from the moments of the profiles."""
        own, aside, names = self._active, self._aside, self._column_names()
        active = Moments(len(own))
        active.n_rows, active.weight, active.product_eps = summary.n_rows, summary.weight, summary.product_eps
        active.mean, active.rest = summary.mean[own], summary.rest[own]
        active.scatter = summary.scatter[np.ix_(own, own)]
        if active.n_rows < 2 or len(own) < 2:
            raise ValueError(
                f"n_samples={active.n_rows} rows with counts, and n_features={len(own)} columns: correspondence "
                "analysis needs at least 2 of both."
            )
        if empty := [names[j] for j, mass in zip(own, active.mean, strict=True) if mass <= 0]:
            raise ValueError(f"column {list_names(empty)} has no counts. Leave it out, or make it supplementary.")
        most = min(most_components(active.n_rows, active.weight, len(own)), len(own)) - 1
        count_components(self.n_components, None, len(own), upper=most)
        request = Request(k=most, ddof=0, fixed_ddof=True, feature_weight=1.0 / active.mean, most=most)
        found = spectra.solve_summary(active, request, Covariance())[0]
        found = found.accepted(found.rank_cut)
        self.total_inertia_ = found.total / found.weight
        if isinstance(self.n_components, float):
            found = found.truncated(leading_count(found.values, found.total, self.n_components))
        else:
            found = found.truncated(max(found.rank, 1) if self.n_components is None else int(self.n_components))
        self.components_, self.mean_, self.scale_ = found.vectors, found.mean, np.sqrt(found.mean)
        self.n_components_, self.total_ = len(found.values), found.weight
        self.explained_variance_ = found.values / found.weight
        self.explained_variance_ratio_ = found.values / (found.total or 1.0)
        self.singular_values_ = np.sqrt(self.explained_variance_)
        self.column_names_, self.supplementary_names_ = [names[j] for j in own], [names[j] for j in aside]
        # sum_i r_i (x_ij / mean_j - 1)^2 for the profiles x_i.
        with np.errstate(divide="ignore", invalid="ignore"):
            distances = np.diagonal(summary.scatter) / summary.weight / summary.mean**2
        distances = np.where(summary.mean > 0, distances, 0.0)
        self._distances, self._aside_distances = distances[own], distances[aside]
        self._aside_total = summary.mean[aside] * summary.weight
        self._aside_scores = summary.scatter[np.ix_(aside, own)] @ (self.components_ / self.scale_).T
        self.n_samples_, self.plan_, self.solver_ = active.n_rows, plan, plan.solver.name
        self.status_, self.residual_ = found.status, found.residual

    def _unpack(self, spectrum: Any, dtype: Any) -> None:
        raise NotImplementedError  # `_solve` sets the attributes

    def partial_fit(self, X: TableLike, y: TableLike | None = None, sample_weight: VectorLike | None = None) -> Self:
        """Update the model with further rows of the table. The result is exact: the same as a fit to all rows."""
        self._check_parameters()
        with self._restore_on_error():
            first = not hasattr(self, "summary_")
            X, y, sample_weight = self._by_name(X, y, fitted=not first, sample_weight=sample_weight)
            source = self._open(X, reset=first)
            if first:
                self._active, self._aside = self._columns()
            rows = self._rows(source, sample_weight)
            summary = self._summed(source, rows.weights, rows)
            if not first:
                summary.merge(cast(Moments, self.summary_))
            self.summary_, self._dtype = summary, np.float64
            if summary.n_rows >= 2:
                self._solve(summary, Plan(Covariance(), 2, 0, "from a summary"))
        return self

    def fit_summary(self, summary: Any) -> Self:
        """Fit to `summary_` of another CA of a table with the same columns."""
        self._check_parameters()
        with self._restore_on_error():
            self._take_names(summary)
            self.n_features_in_ = summary.n_features
            self._active, self._aside = self._columns()
            self._solve(summary, Plan(Covariance(), 0, 0, "from a summary"))
            self.summary_, self._dtype = summary.snapshot(), np.float64
        return self

    @property
    def chi_square_(self) -> float:
        """The chi-square statistic of the table: the total inertia times the sum of all counts."""
        check_is_fitted(self)
        return self.total_inertia_ * self.total_

    @property
    def dof_(self) -> int:
        """The degrees of freedom of the chi-square, (rows - 1) (columns - 1)."""
        check_is_fitted(self)
        return (self.n_samples_ - 1) * (len(self.mean_) - 1)

    @property
    def p_value_(self) -> float:
        """The probability of such a chi-square, or a larger one, if rows and columns are independent."""
        return float(stats.chi2.sf(self.chi_square_, self.dof_))

    def _scoring(self) -> Any:
        profiles, A = Profiles(self._active, only=True), (self.components_ / self.scale_).T
        mean = self.mean_

        def scores(block: Array) -> Array:
            rows, known = profiles(block), np.asarray(Sums(self._active)(block) > 0)
            # A row without counts has no profile, and is at the mean.
            return (rows - mean) @ A * known[:, None]

        return scores

    def scores(self, X: TableLike) -> np.ndarray:
        """The coordinates of the rows of `X`; always an array, regardless of `set_output`."""
        check_is_fitted(self)
        return self._map(X, self._scoring(), "scores")

    def squared_distances(self, X: TableLike) -> np.ndarray:
        """The chi-square distance of the profile of each row of `X` from the average profile, squared; zero for a row
        without counts."""
        check_is_fitted(self)
        profiles, sums, mean = Profiles(self._active, only=True), Sums(self._active), self.mean_

        def squares(block: Array) -> Array:
            return ((profiles(block) - mean) ** 2 / mean).sum(axis=1) * (sums(block) > 0)

        return self._map(X, squares, "squared_distances")

    def row_totals(self, X: TableLike) -> np.ndarray:
        """The sum of the counts of each row of `X` in the active columns."""
        check_is_fitted(self)
        return self._map(X, Sums(self._active), "row_totals")

    def _lift(self) -> Array:
        return self.components_ * self.scale_

    def _row_names(self) -> list[str]:
        return self.column_names_

    def _describe_columns(self) -> str:
        return f"{len(self.mean_)} columns, {self.total_:g} counts"

    def _importance(self) -> list[tuple[str, Array]]:
        ratio = self.explained_variance_ratio_
        return [("inertia", self.explained_variance_), ("proportion", ratio), ("cumulative", np.cumsum(ratio))]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        tags.array_api_support = False
        tags.transformer_tags.preserves_dtype = ["float64"]
        return tags


class Sums:
    """The sum of the counts of each row, over some columns; an error for counts below zero."""

    def __init__(self, columns: np.ndarray) -> None:
        self._columns = columns

    def __call__(self, block: Array) -> np.ndarray:
        block = block.tocsc() if is_sparse(block) else block
        counts = block[:, self._columns]
        least = counts.min() if counts.shape[0] else 0.0
        if least < 0:
            raise ValueError(f"Negative values in data passed to CA: the table has the entry {least:g}.")
        return np.asarray(counts.sum(axis=1), dtype=np.float64).ravel()


class Profiles:
    """Each row over the sum of its counts in some columns, or zeros; with `only`, without the other columns."""

    def __init__(self, columns: np.ndarray, only: bool = False) -> None:
        self._columns, self._only, self._sums = columns, only, Sums(columns)

    def __call__(self, block: Array) -> np.ndarray:
        sums = self._sums(block)
        rows = dense(block).astype(np.float64)
        rows = rows[:, self._columns] if self._only else rows
        return rows / np.where(sums > 0, sums, 1.0)[:, None]


#: A plan assumes so many levels of a column.
_LEVELS_ASSUMED = 8


def two_categories(X: Any, sample_weight: Any = None) -> tuple[Contents, list[str]] | None:
    """A table that consists of two columns of categories, beside one of weights if that is named, and their names; None
    for any other."""
    if is_array(X) or is_sparse(X) or isinstance(X, Source | list | tuple) or is_stream(X):
        return None
    # By default, the rows of a data frame of Spark are its columns of numbers.
    table = named_table(scan(X, "*") if is_spark(X) else X)
    names = [] if table is None else list(table.names if table.chosen is None else table.chosen)
    names = [name for name in names if not (isinstance(sample_weight, str) and name == sample_weight)]
    if table is None or len(names) != 2 or any(table.kind_of(name) != "category" for name in names):
        return None
    return table, names


def contingency(X: Any, sample_weight: Any = None) -> tuple[np.ndarray, list[str], list[str]] | None:
    """The table of counts of two columns of categories, and the levels of both; None if X is another table."""
    found = two_categories(X, sample_weight)
    if found is None:
        return None
    table, names = found
    sample_weight = table.column(sample_weight) if isinstance(sample_weight, str) else sample_weight
    source = CategorySource(table.keeping([], names), names, table.blanks)
    rows = Rows(source, None if sample_weight is None else check_weights(sample_weight, source))
    coding = coding_of([], rows.summarize(Levels(names)), with_missing=False)
    moments = Rows(CodedSource(source, coding), rows.weights).summarize(Moments(coding.width)).about_zero()
    first, second = coding.columns.values()
    return np.round(moments.scatter[first, second], 9), coding.levels[0], coding.levels[1]
