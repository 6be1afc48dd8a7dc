"""The base classes of models of two or more tables."""

from __future__ import annotations

import numbers
from abc import abstractmethod
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from os import PathLike
from typing import Any, Self, overload

import numpy as np
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from .._core.arrays import Array, asarray_like, dense, device, dtype_like, in_range, namespace
from .._core.schema import Dtype, Flag, Instance, Names, Numbers, Real, Sometimes, TupleOf, Whole
from .._core.types import VectorLike
from ..errors import (
    NoVariance,
    RankWarning,
    ResolutionWarning,
    SmallSampleWarning,
    other_names,
    rule_needs_rows,
    warn_user,
    without_warnings,
)
from ..features import affine
from ..linalg import divisor, signs
from ..reading.checkpoint import Checkpoint
from ..reading.map import RowMap
from ..reading.rows import Rows
from ..reading.summarizing import check_weights, weights_for
from ..selection.rules import Choice
from ..solvers import pairs
from ..solvers.pairs.reductions import (
    REDUCTIONS,
    ComponentsFunction,
    CovarianceReduction,
    Reduction,
    Tables,
    TablesJob,
    TablesRequest,
    TablesSolution,
)
from ..solvers.pairs.views import CanonicalFit, LiftedVectors, PairFit, View, Views
from ..solvers.problem import Plan, Status, with_passes
from ..sources.array import ArraySource
from ..sources.base import Source
from ..sources.beside import BesideSource, require_one_device
from ..sources.opening import TableLike, can_be_opened, open_source, open_target
from ..summaries.base import names_of_tables, require_nonempty
from ..summaries.moments import Moments, ScatterSummary
from ..summaries.triangle import Triangle
from .base import (
    Model,
    add_rows,
    can_partial_fit,
    check_namespace,
    copy_of,
    count_components,
    first_components,
    is_cv,
    unpack_to,
)
from .n_components import apply_cv_rule, check_cv_rows, check_rule, makes_summary
from .output import Maps, framed_results, results

# Parameters of models of several tables: one value for all of them, or one for each.


def check_count(k: Any, upper: int, n: int | None, widths: Sequence[int]) -> int:
    """`n_components` for tables of these widths as a number of at most `upper`; None stands for `upper`."""
    found = count_components(k, n, tuple(widths), upper=upper, fractions=False)
    return upper if found is None else found


def check_scale(scale: Any, n_tables: int) -> list[bool]:
    """`scale` as one flag for each table."""
    flags = list(scale) if isinstance(scale, list | tuple) else [scale] * n_tables
    if len(flags) != n_tables or not all(isinstance(flag, bool | np.bool_) for flag in flags):
        raise ValueError(
            f"scale={scale!r} must be True or False, or one of them for each of {n_tables} tables: (True, False), say."
        )
    return [bool(flag) for flag in flags]


def check_regularization(c: Any, n_tables: int) -> list[float]:
    """`regularization` as one number for each table."""
    values = list(c) if isinstance(c, list | tuple | np.ndarray) else [c] * n_tables
    real = all(isinstance(v, numbers.Real) and not isinstance(v, bool | np.bool_) for v in values)
    if len(values) != n_tables or not real or not all(0.0 <= float(v) <= 1.0 for v in values):
        raise ValueError(
            f"regularization={c!r} must be a number from 0 (none) to 1 (full), or one for each of {n_tables} tables."
        )
    return [float(v) for v in values]


# The base class of models of two or more tables.


#: The dtypes of several tables.
Dtypes = tuple[Any, ...]
#: What a fit of two tables sets; in shapes, q is the number of columns of y.
PAIR_ATTRIBUTES = {
    "target_names_in_": Sometimes(Names("q")),
    "x_mean_": Numbers("p"),
    "x_scale_": Numbers("p", sign="positive"),
    "x_rotations_": Numbers("p", "k"),
    "x_loadings_": Numbers("p", "k"),
    "y_mean_": Numbers("q"),
    "y_scale_": Numbers("q", sign="positive"),
    "y_rotations_": Numbers("q", "k"),
    "y_loadings_": Numbers("q", "k"),
    "_one_dimensional": Flag(),
}


class PairModel(Model):
    """Base class of models of two or more tables with the same rows.

    A subclass defines how components are computed from the coordinates of the tables (`_components`), and how the
    fitted attributes are set (`_unpack`). How the tables are reduced to coordinates is the task of `solvers.pairs`.

    Two tables are centred by `x_mean_`, `y_mean_` and divided by `x_scale_`, `y_scale_`. The scores of X are then X
    `x_rotations_`, and X is reconstructed from them with `x_loadings_`; the same holds for y. (A model of more tables
    than two defines all this itself.)
    """

    _relates_y = True
    solver: Any
    scale: Any
    rank_: Any
    #: The dtype of each table, which is that of its means, scales, loadings and predictions. What belongs to several
    #: tables, such as correlations and coefficients, has the dtype of the first one.
    _dtypes: Dtypes
    n_passes_: int
    total_weight_: float
    choice_: Choice
    summary_: ScatterSummary
    target_names_in_: np.ndarray
    x_mean_: np.ndarray
    x_scale_: np.ndarray
    x_rotations_: np.ndarray
    x_loadings_: np.ndarray
    y_mean_: np.ndarray
    y_scale_: np.ndarray
    y_rotations_: np.ndarray
    y_loadings_: np.ndarray
    fitted_attributes = {
        "n_passes_": Whole(),
        "total_weight_": Real("positive"),
        "choice_": Sometimes(Instance("selection.Choice")),
        "summary_": Sometimes(Instance("summaries.*")),
        "_dtypes": Sometimes(TupleOf(Dtype())),
        "_one_dimensional": Sometimes(Flag()),
    }
    #: Standard deviations have the divisor n - 1, as in scikit-learn and R.
    ddof = 1

    @abstractmethod
    def _components(self, n_tables: int) -> ComponentsFunction:
        """The function that computes the components of `n_tables` tables from their coordinates."""

    def _narrowing(self) -> Callable[[Views, int], Views] | None:
        """The function that reduces coordinates to those that so many components need, if there is one."""
        return None

    @abstractmethod
    def _unpack(self, views: Views, fit: Any, dtypes: Dtypes) -> None:
        """Set the fitted attributes; `dtypes` holds the dtype of each table."""

    def _most(self, widths: Sequence[int]) -> int:
        """The largest number of components for tables of these widths."""
        return min(widths)

    def fit(
        self,
        X: TableLike,
        y: TableLike | None = None,
        sample_weight: VectorLike | None = None,
        *,
        checkpoint: Checkpoint | str | PathLike[str] | None = None,
    ) -> Self:
        """Fit to the rows of two tables.

        Parameters
        ----------
        X : array, sparse matrix, data frame, file, or iterable of blocks, of shape (n_samples, n_features)
        y : the same, of shape (n_samples, n_targets) or (n_samples,); or str, or list of str, default=None
            Row i belongs to row i of `X`. If X is an iterable of blocks, so is y. Or the name of a column of `X`, or a
            list of names: X is then all other columns.
        sample_weight : array of shape (n_samples,), or str, default=None
            Frequency weights: weight 2 equals repeating the row. Or the name of a column of `X` that holds them.
        checkpoint : Checkpoint, str or path, default=None
            A file that keeps the state of the pass over the rows: if the process is killed, the same call goes on where
            it was. Only for fits that need one pass (see `plan`).

        Returns
        -------
        self
        """
        self._fit(X, y, sample_weight, checkpoint=checkpoint)
        return self

    def fit_summary(self, summary: Moments | Triangle) -> Self:
        """Fit to a Moments or Triangle summary of the tables side by side.

        The summary knows which columns belong to which table: `Moments(p + q, widths=(p, q))`, or
        `Moments.from_covariance(cov, n_samples, widths=(p, q))`. `partial_fit` can continue from it.
        """
        self._check_parameters()
        try:
            reduction = pairs.reduction_for(summary, self.solver)
        except TypeError as error:
            raise TypeError(
                f"fit_summary needs a Moments or a Triangle of the tables side by side, got {type(summary).__name__}. "
                "For a covariance matrix, pass Moments.from_covariance(cov, n_samples, widths=(p, q))."
            ) from error
        with self._restore_on_error():
            for name in [name for name in self.__dict__ if name.endswith("_") and not name.startswith("_")]:
                del self.__dict__[name]
            self._one_dimensional = False
            require_nonempty(summary)
            self._dtypes = (summary.mean.dtype,) * len(summary.widths)
            self._fit_from(summary, self._dtypes, reduction)
            self._take_names(summary)
            self.summary_ = copy_of(summary)
        return self

    @available_if(lambda self: self._can_partial_fit())
    def partial_fit(self, X: TableLike, y: TableLike | None = None, sample_weight: VectorLike | None = None) -> Self:
        """Update the model with further rows. The result is exact: the same as a fit to all rows at once.

        A summary of all rows so far is kept as `summary_`, and the model is solved from it after each block. `fit`
        forgets all earlier rows. It keeps its own summary if it was solved from one and has at most 256 columns in all;
        then `partial_fit` goes on from it, and otherwise `partial_fit` after `fit` is an error. The model stays
        unfitted until there are enough rows for `n_components`. A block that raises an error does not change the model.
        """
        self._check_parameters()
        with self._restore_on_error():
            first = self._starts_summary()
            X, y, sample_weight = self._by_name(X, y, fitted=not first, sample_weight=sample_weight)
            source = self._open_tables(X, y, reset=first)
            self._k(None, source.widths)
            if not first and source.widths != self.summary_.widths:
                raise ValueError(
                    f"the tables have {source.widths} columns, the earlier rows had {self.summary_.widths}: all blocks "
                    "must have the same columns."
                )
            reduction = pairs.streaming_reduction(self.solver)
            summary: Any = reduction.empty_summary(source.widths) if first else copy_of(self.summary_)
            if not isinstance(summary, reduction.starts_from or ()):
                reduction = pairs.reduction_for(summary)
            # Raise an error if the summary does not fit into memory.
            pairs.plan_job(TablesJob.of(self._rows(source, None)), pairs.reduction_for(summary))
            add_rows(summary, source, sample_weight)
            self.summary_, self._dtypes = summary, (dtypes_of(source.members) if first else self._dtypes)
            asked = 1 if self.n_components is None else self._k(None, source.widths)
            if divisor(summary.weight, self.ddof) > 0 and max(summary.n_rows, int(summary.weight)) >= max(asked, 2):
                # Further rows may follow, so it is too early to warn of too few rows or a small rank.
                early = summary.n_rows <= 2 * sum(source.widths)
                unwanted = (RankWarning, SmallSampleWarning) if early else ()
                # If all rows are the same so far, others may follow.
                with without_warnings(*unwanted), suppress(NoVariance):
                    self._fit_from(summary, self._dtypes, reduction)
        return self

    def fit_transform(  # type: ignore[override] # both tables
        self, X: TableLike, y: TableLike | None = None, sample_weight: VectorLike | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Fit to `X` and `y`, then return the scores of both, as scikit-learn does."""
        source = self._fit(X, y, sample_weight, twice=True)
        maps = [RowMap(table, self._scoring(i), self._score_names) for i, table in enumerate(source.members)]
        return framed_results(self, maps, X, y)

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
        # scikit-learn makes the data frame of a single result.
        return results(maps) if len(maps) == 1 else framed_results(self, maps, X, y)

    def transform_to(
        self,
        X: TableLike,
        path: str | PathLike[str],
        *,
        y: TableLike | None = None,
        n_components: int | None = None,
        keep: Sequence[str] = (),
        overwrite: bool = False,
    ) -> str:
        """Write the scores of the rows of `X`, and beside them those of `y` if it is given, to a file.

        For the other arguments see `PCA.transform_to`. The columns of both have the names `component_names_`, after
        "X_" and "y_" if `y` is given.
        """
        maps = partial(first_components(self, n_components)._transform_maps, y=y)
        return self._write(maps, X, path, "transform_to", keep, overwrite, self._wanted(), y)

    @overload
    def inverse_transform(self, X: TableLike, y: None = None) -> np.ndarray: ...
    @overload
    def inverse_transform(self, X: TableLike, y: TableLike) -> tuple[np.ndarray, np.ndarray]: ...
    def inverse_transform(self, X: TableLike, y: TableLike | None = None) -> Any:
        """Rows of X reconstructed from scores, mean + z P^T; if scores `y` are given, a pair for both tables.

        Scores of the first components only are allowed, too; those of the others are taken to be zero.
        """
        check_is_fitted(self)
        return framed_results(self, self._inverse_maps(X, y), X, y)

    def inverse_transform_to(
        self,
        X: TableLike,
        path: str | PathLike[str],
        *,
        y: TableLike | None = None,
        keep: Sequence[str] = (),
        overwrite: bool = False,
    ) -> str:
        """Write the rows of X that belong to the scores `X`, and those of y if scores `y` are given, to a file.

        For the other arguments see `PCA.transform_to`.
        """
        return self._write(partial(self._inverse_maps, y=y), X, path, "inverse_transform_to", keep, overwrite)

    # ---- The fit

    def _check_parameters(self) -> None:
        pairs.check_asked(self.solver)
        check_scale(self.scale, 2)

    def _scaled_tables(self, n_tables: int) -> Sequence[bool]:
        """For each table, whether columns are divided by their standard deviation before the solve."""
        flags = check_scale(self.scale, n_tables)
        if not hasattr(self, "regularization"):
            return flags
        # Without regularization the units of columns do not matter, and standardized columns are best conditioned.
        ridges = check_regularization(self.regularization, n_tables)
        return [flag or c == 0.0 for flag, c in zip(flags, ridges, strict=True)]

    def _k(self, n: int | None, widths: Sequence[int]) -> int:
        """`n_components` as a number, which cross-validation may have chosen; None stands for the largest possible
        one."""
        upper = self._most(widths) if n is None else min(n, self._most(widths))
        if is_cv(self.n_components) and hasattr(self, "choice_"):
            return check_count(self.choice_.k, upper, n, widths)
        if hasattr(self, "held_out_scorer") and isinstance(self.n_components, str):
            check_rule(self.n_components, ("cv",))
            raise rule_needs_rows(self.n_components)
        return check_count(self.n_components, upper, n, widths)

    def _request(self, widths: Sequence[int]) -> TablesRequest:
        """The request to the solver, for tables of these widths."""

        def count(n: int | None, weight: float | None) -> int:
            return self._k(n if n is None or weight is None else max(n, int(weight)), widths)

        scale = tuple(self._scaled_tables(len(widths)))
        return TablesRequest(scale, count, self._components(len(widths)), self.ddof, self._narrowing())

    def _is_cross_validated(self) -> bool:
        return is_cv(self.n_components) and hasattr(self, "held_out_scorer")

    def _rows(self, source: Source, sample_weight: Any, progress: Any = None) -> Tables:
        weights = None if sample_weight is None else check_weights(sample_weight, source)
        each = [Rows(s, None if weights is None else weights_for(s, weights), progress) for s in source.members]
        return Tables(Rows(source, weights, progress), each, tuple(s.table for s in source.members))

    def _plan_rows(self, rows: Tables) -> Plan:
        if not self._is_cross_validated():
            return pairs.plan(rows, self._request(rows.widths), self.solver)
        check_cv_rows(rows.joint.shape[0])
        job = TablesJob.of(rows)
        # Models with this rule have a scorer.
        able: Any = self
        joint: Any = rows.joint
        wide = job.is_wide and job.allows_gram
        if self.solver == "auto" and (not wide or makes_summary(able.held_out_scorer(), joint.source, joint.weights)):
            return CovarianceReduction().plan(job, "the merged summaries of the folds are all that it needs")
        return pairs.plan_job(job, self.solver)

    def _fit_rows(self, rows: Tables) -> None:
        able: Any = self
        joint: Any = rows.joint
        dtypes = dtypes_of(rows.each)
        self.__dict__.pop("choice_", None)
        passes = 0
        if self._is_cross_validated():
            self.choice_, total, passes = apply_cv_rule(able.held_out_scorer(), joint.source, joint.weights)
            if self.solver == "auto" and total is not None:
                # The model is fitted to the merged summaries of the folds.
                self._fit_from(total, dtypes, passes=passes)
                return
        solution, the_plan = pairs.solve(rows, self._request(rows.widths), self.solver)
        passes += solution.passes
        self._finish(with_passes(solution, passes), with_passes(the_plan, passes), dtypes)

    def _fit_from(self, summary: Any, dtypes: Dtypes, asked: Any = "auto", passes: int = 0) -> None:
        """Fit to a summary that was made in `passes` passes over the rows."""
        self._check_widths(summary.widths)
        self.n_features_in_ = summary.widths[0]
        solution, the_plan = pairs.solve_summary(summary, self._request(summary.widths), asked)
        self._finish(replace(solution, passes=passes), replace(the_plan, passes=passes), dtypes)

    def _check_widths(self, widths: Sequence[int]) -> None:
        """Refuse a summary of the wrong number of tables."""
        if len(widths) != 2:
            raise ValueError(
                f"the summary is of {len(widths)} table(s), {type(self).__name__} needs two: make it with "
                "widths=(p, q), the numbers of columns of X and y."
            )

    def _finish(self, solution: TablesSolution, the_plan: Plan, dtypes: Dtypes) -> None:
        """Set the fitted attributes, and warn if components are missing or inaccurate."""
        views, fit = solution.views, solution.fit
        self.plan_, self.solver_ = the_plan, the_plan.solver.name
        self.status_, self.n_passes_ = solution.status, solution.passes
        self.n_samples_ = views.n_rows
        self.total_weight_ = views.weight
        unpack_to(views.there, self, partial(self._unpack, views, fit), dtypes)
        self._warn(views, fit)

    def _warn(self, views: Views, fit: Any) -> None:
        """Warn of directions lost to rounding, and of fewer components than requested."""
        if hasattr(self, "_ridges"):
            warn_if_forced(views, fit, self._ridges)
        asked = self.choice_.k if is_cv(self.n_components) and hasattr(self, "choice_") else self.n_components
        unsure = fit.status is Status.UNRESOLVED
        lost = (
            f"solver={self.solver_!r} cannot distinguish the smallest directions of the tables from rounding, and what "
            "depends on them is lost. Use solver='triangle', or drop columns that nearly depend on others."
        )
        if asked is not None and self.n_components_ < asked:
            why = lost if unsure else f"{self._describe_limit()}."
            warn_user(f"only {self.n_components_} of n_components={asked} could be computed: {why}", RankWarning)
        elif unsure:
            warn_user(lost, ResolutionWarning)
        elif dropped := self._describe_dropped(views):
            warn_user(f"{dropped} and were left out.", RankWarning)

    def _describe_dropped(self, views: Views) -> str:
        """A text with the directions that were left out because a division by their variance was needed, which is zero;
        empty if there are none."""
        if not hasattr(self, "_ridges"):
            return ""
        lost = []
        for name, view, rank, c in zip(views.names, views.tables, self.rank_, self._ridges, strict=True):
            if c > 0.0 or rank >= min(view.dimension, views.n_rows - 1):
                continue
            # Coordinates may have fewer columns than their upper bound says; they are made if they are asked for.
            expected = min(view.table.shape[1], views.n_rows - 1)
            if rank < expected:
                lost.append(f"{expected - rank} of {expected} directions of {name} have no variance")
        return ", ".join(lost)

    def _describe_limit(self) -> str:
        """A text that says why there are no more components."""
        return "up to rounding, nothing that the tables have in common is left after them"

    def _unpack_pair(self, views: Views, fit: PairFit, dtypes: Dtypes) -> None:
        """Set the weights, loadings and rotations of both tables."""
        x, y = views.tables
        k = self.n_components_ = fit.x_weights.shape[1]
        lifted_x, (weights, loadings) = _lift_together(x, [fit.x_weights, fit.x_loadings])
        of_y = [fit.y_weights, fit.y_loadings, fit.y_rotations, fit.y_on_x]
        lifted_y, (y_weights, y_loadings, y_rotations, y_on_x) = _lift_together(y, of_y)
        for name, lifted, scaled, dtype in zip(
            "xy", (lifted_x, lifted_y), check_scale(self.scale, 2), dtypes, strict=True
        ):
            setattr(self, f"{name}_mean_", cast(lifted.mean, lifted_x.mean, dtype))
            ones = namespace(lifted.mean).ones_like(lifted.deviation)
            setattr(self, f"{name}_scale_", cast(lifted.scale if scaled else ones, lifted_x.mean, dtype))
        sign = signs(weights.T) if k else weights[0, :]
        found = {
            "x_weights_": weights,
            "x_loadings_": loadings,
            "x_rotations_": weights @ asarray_like(fit.x_turn, weights, dtype=weights.dtype),
            "y_weights_": y_weights,
            "y_loadings_": y_loadings,
            "y_rotations_": y_rotations,
            "_y_on_x": y_on_x,
        }
        for name, value in found.items():
            dtype = dtypes[0] if name.startswith("x_") else dtypes[1]
            setattr(self, name, cast(value * asarray_like(sign, value, dtype=value.dtype)[None, :], weights, dtype))

    # ---- Summaries

    def _keep_summary(self, rows: Tables) -> None:
        if (found := getattr(rows.joint, "small_summary", None)) is not None:
            self.summary_, self._dtypes = found, dtypes_of(rows.each)

    def _can_partial_fit(self) -> bool:
        # What is no reduction at all is for `fit` to refuse.
        known = REDUCTIONS.get(self.solver) if isinstance(self.solver, str) else None
        return can_partial_fit(self, self.solver if isinstance(self.solver, Reduction) else known)

    def _take_names(self, summary: Any) -> None:
        names = names_of_tables(summary.names, summary.widths)
        if names[0] is not None:
            self.feature_names_in_ = np.asarray(names[0], dtype=object)
        if len(names) == 2 and names[1] is not None:
            self.target_names_in_ = np.asarray(names[1], dtype=object)

    # ---- Tables, scores and reconstructions

    def _open_tables(self, X: Any, y: Any, *, reset: bool = True) -> BesideSource:
        """X and y as tables side by side; y is converted to the namespace of X."""
        if y is None:
            streams = " Pass two streams, one for each table; or call partial_fit(X, y) for each block."
            hint = streams if callable(X) or hasattr(X, "__next__") else ""
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None: it relates two tables.{hint}"
            )
        x = self._open(X, reset=reset)
        other = open_target(y, stream=not x.traits.whole, wanted=None if reset else self._known_names(1))
        other = in_namespace_of(x, other)
        pair = BesideSource([x, other])
        if reset:
            self._one_dimensional = other.vector
        check_target(self, other, reset)
        return pair

    def _transform_maps(self, X: Any, y: Any = None) -> Maps:
        X, y = self._by_name(X, y, fitted=True)
        maps = super()._transform_maps(X)
        if y is None:
            return maps
        source = open_further(self, y, self.y_mean_, "y", self._known_names(1))
        return [*maps, RowMap(source, self._scoring(1), self._score_names)]

    def _inverse_maps(self, X: Any, y: Any = None) -> Maps:
        maps = super()._inverse_maps(X)
        if y is None:
            return maps
        return [*maps, self._reconstruction(y, self._lift(1), self.y_mean_, partial(self._column_names, 1), "y")]

    def _scoring(self, table: int = 0) -> Any:
        if table:
            return affine(self.y_rotations_ / self.y_scale_[:, None], self.y_mean_, 0.0)
        return affine(self.x_rotations_ / self.x_scale_[:, None], self.x_mean_, self._x_deviation())

    def _lift(self, table: int = 0) -> Array:
        loadings, scale = (self.y_loadings_, self.y_scale_) if table else (self.x_loadings_, self.x_scale_)
        return (loadings * scale[:, None]).T

    def _x_deviation(self) -> float:
        """The largest standard deviation of the scores of X."""
        return 1.0

    def _centre(self) -> Any:
        return getattr(self, "x_mean_", None)

    def _widths(self) -> Sequence[int]:
        return self.n_features_in_, int(self.y_mean_.shape[0])


def dtypes_of(tables: Sequence[Any]) -> Dtypes:
    """The dtype of each table, in the namespace of the first one."""
    like = tables[0].empty(0)
    return tuple(dtype_like(table.dtype, like) for table in tables)


def cast(value: Any, like: Array, dtype: Any) -> Array:
    """`value` as an array of the namespace and device of `like` in `dtype`, or wider if it would overflow there."""
    return in_range(asarray_like(value, like), dtype)


# Tables beside the first one, such as y: how they are opened, and the names of their columns.


def open_further(model: Any, X: TableLike, mean: Array, table: str, wanted: Sequence[str] | None) -> Source:
    """The source of a further table of new rows, whose width must be that of the fit, for `transform`. Of files, the
    columns `wanted` are read."""
    source = open_target(X, table=table, wanted=wanted)
    if source.shape[1] != mean.shape[0]:
        raise ValueError(f"{table} has {source.shape[1]} columns, the model was fitted on {mean.shape[0]}.")
    if table == "y":
        check_table_names(model, source, 1, "y")
    source = in_namespace_of(open_source(model._centre()[None, :]), source)
    check_namespace(model, source, "transform")
    return source


def in_namespace_of(x: Source, other: Source) -> Source:
    """A further table, converted to the namespace and device of the first one. An array of another library follows the
    first table, as scikit-learn asks; one on another device of the same library, or on a device while the first table
    is in main memory, is an error."""
    like, mine = x.empty(0), other.empty(0)
    if namespace(like) is namespace(mine) and device(like) == device(mine):
        return other
    if x.traits.host or namespace(like) is namespace(mine):
        require_one_device([x, other])
    if not other.traits.whole:
        return other
    moved = ArraySource(asarray_like(dense(next(other.blocks(int(other.shape[0] or 0)))), like))
    moved.table, moved.vector, moved.names = other.table, other.vector, other.names
    return moved


def check_target(model: Any, source: Source, reset: bool) -> None:
    """Record the names of the columns of y, if they have any and `reset`; otherwise compare them with those of the
    fit."""
    if not reset:
        check_table_names(model, source, 1, "y")
        return
    model.__dict__.pop("target_names_in_", None)
    if source.names is not None:
        model.target_names_in_ = np.asarray(source.names, dtype=object)


def check_table_names(model: Any, source: Source, table: int, what: str) -> None:
    """Refuse columns of a table whose names are not those of the fit."""
    known = model._known_names(table)
    if known and source.names is not None and list(source.names) != known:
        raise other_names(None, source.names, known, what)


def is_list_of_tables(X: TableLike) -> bool:
    """True for a list of arrays, sparse matrices, data frames or streams; a list of lists of numbers is one table."""
    return isinstance(X, list | tuple) and any(_is_table(A) for A in X)


def _is_table(A: Any) -> bool:
    if isinstance(A, list | tuple):
        return len(A) > 0 and (hasattr(A[0], "__len__") or hasattr(A[0], "shape"))
    return getattr(A, "ndim", 2) == 2 and can_be_opened(A)


def _lift_together(view: View, arrays: list[np.ndarray]) -> tuple[LiftedVectors, list[Array]]:
    """Lift arrays of coordinates to columns of the table in one call; arrays that occur twice are lifted once."""
    unique = list({id(a): a for a in arrays}.values())
    lifted = view.lift(np.hstack(unique))
    k = arrays[0].shape[1]
    parts = {id(a): lifted.vectors[:, i * k : (i + 1) * k] for i, a in enumerate(unique)}
    return lifted, [parts[id(a)] for a in arrays]


def warn_if_forced(views: Views, fit: CanonicalFit, regularization: Sequence[float]) -> None:
    """Warn if two tables have correlations of 1 for any data, because their ranks add up to more than n - 1."""
    free = [rank for rank, c in zip(fit.ranks, regularization, strict=True) if c == 0.0]
    if len(free) > 1 and sum(sorted(free)[-2:]) > views.n_rows - 1:
        warn_user(
            f"the tables have ranks {', '.join(str(r) for r in fit.ranks)} but only {views.n_rows} rows: correlations "
            "of 1 can be found in any data. Use regularization, fewer columns, or more rows.",
            SmallSampleWarning,
        )
