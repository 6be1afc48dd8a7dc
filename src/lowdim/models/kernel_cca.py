"""Kernel canonical correlation analysis of two tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from os import PathLike
from typing import Any, ClassVar, Literal, NoReturn, Self, overload

import numpy as np
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from .._core.arrays import all_finite, is_sparse
from .._core.schema import Instance, Maybe, Names, Numbers, Sometimes, Text, TupleOf, Whole
from .._core.types import VectorLike
from ..errors import RankWarning, ResolutionWarning, warn_user
from ..kernels import Kernel, KernelLike, as_kernel, refuse_parameters
from ..linalg import signs
from ..reading.checkpoint import Checkpoint
from ..reading.map import RowMap
from ..reading.rows import Rows
from ..reading.summarizing import check_weights
from ..solvers.kernel.exact import require_symmetric
from ..solvers.pairs.cca import KernelReduction, MappedTable, pair_correlations, solve_canonical
from ..solvers.pairs.reductions import PairProblem, Tables, TablesRequest
from ..solvers.problem import Plan, Status
from ..sources.base import Source
from ..sources.beside import BesideSource
from ..sources.derived import MappedSource
from ..sources.opening import TableLike, open_target
from .base import Model
from .kernel_pca import is_precomputed
from .output import Maps, framed_results, results
from .pairs import PairModel, check_count, check_regularization, check_table_names, check_target, warn_if_forced

#: If a larger fraction of a spectrum is negative, there is a warning.
_NEGATIVE = 1e-6


def _refuse_inverse(model: Any) -> NoReturn:
    """Raise an AttributeError, since KernelCCA has no `inverse_transform`."""
    raise AttributeError("variates are nonlinear functions of the rows, so there is no linear map back to the rows.")


class KernelCCA(Model):
    """Kernel canonical correlation analysis: CCA of features of X and y that are defined by kernels.

    Parameters
    ----------
    n_components : int or None, default=None
        Number of pairs of variates; None takes all of them.
    kernel : str, Kernel or callable, or a pair of them, default="linear"
        A name ("linear", "gaussian" or "rbf", "polynomial" or "poly", "laplacian", "matern", ...), an object from
        `lowdim.kernels` with its options, a function of two rows, or "precomputed" if X and y are kernel matrices.
    gamma, degree, coef0 : float, or pairs of floats, default=None
        Parameters of kernels given by name. `gamma=None` is 1 / n_features for kernels of inner products; the width of
        a kernel of distances is then found by the median rule. Columns are not scaled; if they have different units,
        use `sklearn.preprocessing.StandardScaler` first.
    regularization : float or pair of floats, default=0.1
        From 0 (none) to 1 (full). Without regularization, kernels of full rank find correlations of 1 in any data.

    Attributes
    ----------
    correlations_ : array of shape (n_components_,)
        Correlations of the pairs of variates over the rows of the fit, in the order of `singular_values_`.
    singular_values_ : array of shape (n_components_,)
        The regularized correlations that were maximised, descending.
    x_dual_coef_, y_dual_coef_ : arrays of shape (n_samples, n_components_)
        Coefficients of the centred kernels with the rows of the fit.
    x_kernel_, y_kernel_ : Kernel or None
        The kernels with all their parameters; None for precomputed kernel matrices.
    x_fit_, y_fit_ : arrays or None
        The rows of the fit, for `transform`; None for precomputed kernel matrices, which are not kept.
    rank_ : tuple of int
        Numerical ranks of the kernel matrices.
    n_components_, n_samples_, n_features_in_, feature_names_in_
    solver_, plan_, status_
        The solver that ran ("gram"), its plan, and its final status.

    Notes
    -----
    This is CCA of features phi(x), psi(y) with kernels such as k(x, x') = phi(x)^T phi(x'). The directions are
    sum_i a_i (phi(x_i) - mean), so only the centred kernel matrices are needed, and the equations are those of CCA with
    D = (1 - c) S + c I [1]_, [2]_. With the linear kernel it is regularized CCA. It needs n^2 numbers for each table,
    and solves eigenproblems of size n.

    References
    ----------
    .. [1] Bach, Jordan (2002), Kernel independent component analysis, section 3.
    .. [2] Hardoon, Szedmak, Shawe-Taylor (2004), Canonical correlation analysis.

    Examples
    --------
    >>> import numpy as np
    >>> from lowdim import CCA, KernelCCA
    >>> angle = np.linspace(0, 6.0, 60)[:, None]
    >>> X, y = np.hstack([np.cos(angle), np.sin(angle)]), np.cos(2 * angle)
    >>> round(float(CCA(1).fit(X, y).correlations_[0]), 2)
    0.06
    >>> round(float(KernelCCA(1, kernel="poly", degree=2).fit(X, y).correlations_[0]), 2)
    1.0
    """

    component_name = "pair"
    target_names_in_: np.ndarray
    rank_: tuple[int, ...]
    correlations_: np.ndarray
    singular_values_: np.ndarray
    x_dual_coef_: np.ndarray
    y_dual_coef_: np.ndarray
    x_fit_: np.ndarray | None
    y_fit_: np.ndarray | None
    x_kernel_: Kernel | None
    y_kernel_: Kernel | None
    #: In shapes, q is the number of columns of y, and m the number of rows of positive weight.
    fitted_attributes = {
        "target_names_in_": Sometimes(Names("q")),
        "rank_": TupleOf(Whole()),
        "correlations_": Numbers("k", host=True),
        "singular_values_": Numbers("k", host=True, sign="nonnegative", order="descending"),
        "x_dual_coef_": Numbers("m", "k", host=True, rows=True),
        "y_dual_coef_": Numbers("m", "k", host=True, rows=True),
        "x_fit_": Maybe(Numbers("m", "p", host=True, rows=True, sparse=True)),
        "y_fit_": Maybe(Numbers("m", "q", host=True, rows=True, sparse=True)),
        "x_kernel_": Maybe(Instance("kernels.*")),
        "y_kernel_": Maybe(Instance("kernels.*")),
        "_mapped": TupleOf(Instance("models.MappedTable", shares="m")),
    }
    _mapped: tuple[MappedTable, ...]
    _relates_y = True

    def __init__(
        self,
        n_components: int | None = None,
        *,
        kernel: KernelLike | Literal["precomputed"] | Sequence[KernelLike | Literal["precomputed"]] = "linear",
        gamma: float | Sequence[float | None] | None = None,
        degree: float | Sequence[float | None] | None = None,
        coef0: float | Sequence[float | None] | None = None,
        regularization: float | Sequence[float] = 0.1,
    ) -> None:
        self.n_components = n_components
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.regularization = regularization

    def fit(
        self,
        X: TableLike,
        y: TableLike | None = None,
        sample_weight: VectorLike | None = None,
        *,
        checkpoint: Checkpoint | str | PathLike[str] | None = None,
    ) -> Self:
        """Fit to rows of two tables (or to two kernel matrices).

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
        y : array of shape (n_samples, n_targets) or (n_samples,), default=None
        sample_weight : array of shape (n_samples,), default=None
            Frequency weights: weight 2 equals repeating the row.
        checkpoint : None, default=None
            A file for the state of one pass over the rows is refused: all rows are needed at once.
        """
        self._fit(X, y, sample_weight, checkpoint=checkpoint)
        return self

    def fit_transform(
        self, X: TableLike, y: TableLike | None = None, sample_weight: VectorLike | None = None
    ) -> np.ndarray:
        """Fit to `X` and `y`, then return the variates of `X`."""
        source = self._fit(X, y, sample_weight, twice=True)
        return self._variates_map(source.members[0], 0).result()

    @overload
    def transform(self, X: TableLike, y: None = None, *, n_components: int | None = None) -> np.ndarray: ...
    @overload
    def transform(
        self, X: TableLike, y: TableLike, *, n_components: int | None = None
    ) -> tuple[np.ndarray, np.ndarray]: ...
    def transform(self, X: TableLike, y: TableLike | None = None, *, n_components: int | None = None) -> Any:
        """Scores of the rows of `X`; if `y` is given, a pair with the scores of both tables.

        With `n_components`, those of the first components only; the model is not fitted again.
        """
        check_is_fitted(self)
        maps = self._transform_maps(X, y)
        return results(maps) if len(maps) == 1 else framed_results(self, maps, X, y)

    transform_to: Any = PairModel.transform_to

    def _transform_maps(self, X: Any, y: Any = None) -> Maps:
        X, y = self._by_name(X, y, fitted=True)
        maps = [self._variates_map(self._open(X, reset=False), 0)]
        if y is None:
            return maps
        other = open_target(y, wanted=self._known_names(1))
        check_table_names(self, other, 1, "y")
        width = self._mapped[1].rows.shape[1]
        if other.shape[1] != width:
            raise ValueError(f"y has {other.shape[1]} columns, the model was fitted on {width}.")
        return [*maps, self._variates_map(other, 1)]

    def _variates_map(self, source: Source, i: int) -> RowMap:
        """The map from rows of table i to their variates, in the dtype of the rows."""
        _require_host(source)
        kernels = MappedSource(source, partial(_centred_kernels, self._mapped[i]))
        variates = partial(_variates, self.y_dual_coef_ if i else self.x_dual_coef_, dtype=source.dtype)
        return RowMap(kernels, variates, self._score_names)

    inverse_transform = available_if(_refuse_inverse)(Model.inverse_transform)

    def score(self, X: TableLike, y: TableLike) -> float:
        """Average correlation of the pairs of variates on these rows.

        On rows that were not in the fit it can be used to choose kernels, their parameters and `regularization`.
        """
        check_is_fitted(self)
        return float(np.mean(list(pair_correlations(results(self._transform_maps(X, y))))))

    def _check_parameters(self) -> None:
        check_regularization(self.regularization, 2)
        self._kernels()

    def _check_fitted(self) -> None:
        width = self._mapped[0].rows.shape[1]
        if width != self.n_features_in_:
            raise ValueError(f"n_features_in_ is {self.n_features_in_}, and X has {width} columns")

    def _open_tables(self, X: Any, y: Any, *, reset: bool = True) -> BesideSource:
        if y is None:
            raise ValueError("KernelCCA requires y to be passed, but the target y is None: it relates two tables.")
        x = self._open(X, reset=reset)
        other = open_target(y, stream=not x.traits.whole, wanted=None if reset else self._known_names(1))
        for source in (x, other):
            _require_host(source)
        check_target(self, other, reset)
        return BesideSource([x, other])

    def _rows(self, source: Source, sample_weight: Any, progress: Any = None) -> Tables:
        weights = None
        if sample_weight is not None:
            weights = np.asarray(check_weights(sample_weight, source.members[0]), dtype=np.float64)
        joint, *each = (Rows(s, weights, progress) for s in (source, *source.members))
        return Tables(joint, each, ("X", "y"))

    def _request(self, widths: tuple[int, ...]) -> TablesRequest:
        """The request to the solver; there are no more pairs than rows, whatever their weights."""

        def count(n: int | None, weight: float | None) -> int:
            # Where the number of rows is not known, the fit is refused, and they are gathered.
            return 1 if n is None else check_count(self.n_components, n, n, widths)

        solve = partial(solve_canonical, regularization=check_regularization(self.regularization, 2))
        return TablesRequest((False, False), count, solve)

    def _problem(self, rows: Tables) -> PairProblem:
        """The problem with the only reduction from kernels to coordinates."""
        weights = rows.joint.weights
        kernels = self._kernels(None if weights is None else np.flatnonzero(weights > 0))
        for kernel, table in zip(kernels, rows.each, strict=True):
            if isinstance(kernel, PrecomputedKernel) and table.shape[0] != table.shape[1]:
                raise ValueError(f"kernel='precomputed' needs square matrices, {kernel.table} has shape {table.shape}.")
        return PairProblem({KernelReduction.name: KernelReduction(kernels)}, cached=False)

    def _plan_rows(self, rows: Tables) -> Plan:
        return self._problem(rows).plan(rows, self._request(rows.widths))

    def _fit_rows(self, rows: Tables) -> None:
        solution, self.plan_ = self._problem(rows).solve(rows, self._request(rows.widths))
        views: Any = solution.views
        fit: Any = solution.fit
        self.solver_, self.status_ = self.plan_.solver.name, solution.status
        k = fit.rotations[0].shape[1]
        self.n_components_, self.rank_, self.n_samples_ = k, fit.ranks, views.n_rows
        self.correlations_ = fit.correlations[:k, 0, 1]
        self.singular_values_ = fit.values[:k]
        coefs = [view.lift(R[:, :k]).vectors for view, R in zip(views.tables, fit.rotations, strict=True)]
        weights = rows.joint.weights
        # The variate of largest magnitude is made positive, which does not depend on whether rows are repeated or
        # weighted.
        root = 1.0 if weights is None else np.sqrt(weights[weights > 0])[:, None]
        sign = signs((fit.variates.coordinates(0)[:, :k] / root).T)
        self.x_dual_coef_, self.y_dual_coef_ = (coef * sign for coef in coefs)
        # Of a kernel matrix only the number of columns is kept: the kernels of new rows are given to `transform`.
        each = [(view.mapped, isinstance(view.mapped.kernel, PrecomputedKernel)) for view in views.tables]
        self._mapped = tuple(replace(t, rows=t.rows[:0].copy()) if given else t for t, given in each)
        self.x_fit_, self.y_fit_ = (None if given else t.rows for t, given in each)
        self.x_kernel_, self.y_kernel_ = (None if given else t.kernel for t, given in each)
        self._warn(views, fit)

    def _warn(self, views: Any, fit: Any) -> None:
        """Warn of negative eigenvalues, of fewer components than requested, and of directions lost to rounding."""
        ridges = check_regularization(self.regularization, 2)
        warn_if_forced(views, fit, ridges)
        for name, view in zip(views.names, views.tables, strict=True):
            if view.negative > _NEGATIVE:
                warn_user(
                    f"the kernel of {name} is not positive semidefinite: {view.negative:.1%} of its spectrum is "
                    "negative and was left out.",
                    RankWarning,
                )
        ranks = f"the ranks of the kernel matrices are {fit.ranks[0]} and {fit.ranks[1]}"
        if self.n_components is not None and self.n_components_ < self.n_components:
            only = f"only {self.n_components_} of n_components={self.n_components} could be computed"
            warn_user(f"{only}: {ranks}.", RankWarning)
        elif fit.status is Status.UNRESOLVED:
            warn_user(
                f"the smallest directions of the kernel matrices cannot be distinguished from rounding ({ranks}), and "
                f"what depends on them is lost. Use {'' if 0.0 in ridges else 'more '}regularization.",
                ResolutionWarning,
            )

    def _kernels(self, counted: np.ndarray | None = None) -> tuple[Any, ...]:
        """One kernel for each table; `counted` are the numbers of the rows of positive weight, or None for all."""
        for name in ("kernel", "gamma", "degree", "coef0"):
            value = getattr(self, name)
            if isinstance(value, list | tuple) and len(value) != 2:
                raise ValueError(f"{name}={value!r} must be one value for both tables, or a pair of values.")
        kernels: list[Any] = []
        for i in (0, 1):
            given = _value_for_table(self.kernel, i)
            options = {n: _value_for_table(getattr(self, n), i) for n in ("gamma", "degree", "coef0")}
            if is_precomputed(given):
                refuse_parameters(options, "the kernel matrix is given, so leave it at None")
                kernels.append(PrecomputedKernel("Xy"[i], counted))
            else:
                kernels.append(as_kernel(given, **options))
        return tuple(kernels)

    def _importance(self) -> list[tuple[str, Any]]:
        return [("correlation", self.correlations_), ("singular value", self.singular_values_)]

    def _widths(self) -> Sequence[int]:
        return [int(table.rows.shape[1]) for table in self._mapped]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = is_precomputed(_value_for_table(self.kernel, 0))
        # Kernel matrices are computed and solved in host memory.
        tags.array_api_support = False
        return tags


@dataclass(frozen=True, eq=False)
class PrecomputedKernel:
    """Takes the place of a kernel if the given table is already a kernel matrix."""

    #: The name of the matrix in messages.
    table: str = field(metadata={"kind": Text(("X", "y"))})
    #: The columns that belong to rows of positive weight; None for all.
    columns: np.ndarray | None = field(
        default=None, metadata={"kind": Maybe(Numbers("*", dtype="int", host=True, below="w"))}
    )
    shift_free: ClassVar[bool] = False

    def fitted(self, X: TableLike, weights: VectorLike | None = None) -> PrecomputedKernel:
        """This object itself, since it has no parameters."""
        return self

    def __call__(self, A: Any, B: Any = None) -> np.ndarray:
        """The kernel matrix A; without B it is the matrix of the fit, which must be symmetric."""
        K = np.asarray(A.toarray() if is_sparse(A) else A, dtype=np.float64)
        K = K if self.columns is None else K[:, self.columns]
        if B is None:
            require_symmetric(K, self.table)
        return K


def _value_for_table(value: Any, i: int) -> Any:
    """The value of a parameter for table i: one value for both tables, or one for each."""
    return value[i] if isinstance(value, list | tuple) else value


def _centred_kernels(table: MappedTable, block: Any) -> np.ndarray:
    """Kernels of new rows of this table with those of the fit, centred; NaN if a row is not finite."""
    if not all_finite(block):
        return np.full((block.shape[0], table.means.shape[0]), np.nan)
    return table.centred_kernels(block)


def _variates(coef: np.ndarray, kernels: np.ndarray, dtype: Any) -> np.ndarray:
    """Variates of rows with these centred kernels."""
    return (kernels @ coef).astype(dtype, copy=False)


def _require_host(source: Source) -> None:
    """Refuse rows that are not in host memory, since kernels are computed there."""
    if not source.traits.host or source.traits.to_device is not None:
        raise TypeError(
            f"KernelCCA computes kernels on the host, from all rows of {source.table} at once: pass a NumPy array, "
            "a table or a matrix, without on_device."
        )
