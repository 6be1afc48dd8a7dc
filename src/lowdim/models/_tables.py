"""The base class of models of two or more tables.

A subclass defines which tables it takes (`_open_tables`), how components are computed from the coordinates of the
tables (`_components`), and how the fitted attributes are set (`_unpack`). How the tables are reduced to coordinates is
the task of `solvers.tables`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any, Self

import numpy as np
from sklearn.utils.metaestimators import available_if

from .._xp import Array, asarray_like, dtype_like, in_range
from ..attributes import Dtype, Flag, Instance, Real, Sometimes, TupleOf, Whole
from ..errors import (
    NoVariance,
    RankWarning,
    ResolutionWarning,
    SmallSampleWarning,
    no_partial_fit,
    rule_needs_rows,
    warn_user,
    without_warnings,
)
from ..linalg import divisor
from ..reading import Rows, check_weights, summarize, weights_for
from ..solvers import Plan, Status, tables
from ..solvers.base import with_passes
from ..solvers.tables import ComponentsFunction, Tables, TablesJob, TablesRequest, TablesSolution, Views
from ..sources import BesideSource, Source
from ..summaries.base import require_seen
from ..summaries.names import names_of_tables
from ._base import Model
from ._devices import unpack_to
from ._rule_choice import (
    apply_cv_rule,
    check_cv_rows,
    check_rule,
    is_cv,
    makes_summary,
)
from ._tables_parameters import check_count

#: The dtypes of several tables.
Dtypes = tuple[Any, ...]


class TablesModel(Model):
    """Base class of models of two or more tables with the same rows."""

    _relates_y = True
    n_components: Any
    scale: Any
    solver: Any
    summary_: Any
    choice_: Any
    n_components_: int
    #: The dtype of each table, which is that of its means, scales, loadings and predictions. What belongs to several
    #: tables, such as correlations and coefficients, has the dtype of the first one.
    _dtypes: Dtypes
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

    @abstractmethod
    def _standardize_tables(self, n_tables: int) -> Sequence[bool]:
        """For each table, whether columns are divided by their standard deviation before the solve."""

    @abstractmethod
    def _most(self, groups: Sequence[int]) -> int:
        """The largest number of components for tables of these widths."""

    def fit_summary(self, summary: Any) -> Self:
        """Fit to a Moments or Triangle summary of the tables side by side.

        The summary knows which columns belong to which table: `Moments(p + q, groups=(p, q))`, or
        `Moments.from_covariance(cov, n_samples, groups=(p, q))`. `partial_fit` can continue from it.
        """
        self._check_parameters()
        try:
            reduction = tables.reduction_for(summary, self.solver)
        except TypeError as error:
            raise TypeError(
                f"fit_summary needs a Moments or a Triangle of the tables side by side, got {type(summary).__name__}. "
                "For a covariance matrix, pass Moments.from_covariance(cov, n_samples, groups=(p, q))."
            ) from error
        with self._restore_on_error():
            self._forget()
            self._one_dimensional = False
            require_seen(summary)
            self._dtypes = (summary.mean.dtype,) * len(summary.groups)
            self._fit_from(summary, self._dtypes, reduction)
            self._take_names(summary)
            # Keep a copy, from which partial_fit can continue.
            self.summary_ = summary.fresh()
            self.summary_.merge(summary)
        return self

    @available_if(lambda self: self._can_partial_fit())
    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
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
            self._k(None, source.groups)
            seen = self._merge_rows(source, sample_weight, first)
            self.summary_, self._dtypes = seen, (dtypes_of(source.members) if first else self._dtypes)
            asked = 1 if self.n_components is None else self._k(None, source.groups)
            if divisor(seen.weight, self.ddof) > 0 and max(seen.n_rows, int(seen.weight)) >= max(asked, 2):
                # Further rows may follow, so it is too early to warn of too few rows or a small rank.
                early = seen.n_rows <= 2 * sum(source.groups)
                unwanted = (RankWarning, SmallSampleWarning) if early else ()
                # If all rows are the same so far, others may follow.
                with without_warnings(*unwanted), suppress(NoVariance):
                    self._fit_from(seen, self._dtypes, self._streaming_reduction(seen))
        return self

    def _merge_rows(self, source: BesideSource, sample_weight: Any, first: bool) -> Any:
        """A new summary of the earlier rows and these rows; `summary_` is not changed."""
        groups = source.groups
        if first:
            seen: Any = self._empty_summary(groups)
        elif groups != self.summary_.groups:
            raise ValueError(
                f"the tables have {groups} columns, the earlier rows had {self.summary_.groups}: all blocks must have "
                "the same columns."
            )
        else:
            seen = self.summary_.fresh()
            seen.merge(self.summary_)
        # Raise an error if the summary does not fit into memory.
        tables.plan_job(TablesJob.of(tables_of(source, None)), tables.reduction_for(seen))
        weights = None if sample_weight is None else check_weights(sample_weight, source)
        seen.merge(summarize(source, seen.fresh(), weights=weights))
        return seen

    def _streaming_reduction(self, seen: Any) -> Any:
        """The reduction asked for, if it starts from what was kept; otherwise the one that does."""
        asked = tables.streaming_reduction(self.solver)
        return asked if isinstance(seen, asked.starts_from or ()) else tables.reduction_for(seen)

    def _empty_summary(self, groups: Sequence[int]) -> Any:
        """The empty summary with which `partial_fit` starts."""
        return tables.streaming_reduction(self.solver).empty_summary(groups)

    def _take_names(self, summary: Any) -> None:
        names = names_of_tables(summary.names, summary.groups)
        if names[0] is not None:
            self.feature_names_in_ = np.asarray(names[0], dtype=object)
        if len(names) == 2 and names[1] is not None:
            self.target_names_in_ = np.asarray(names[1], dtype=object)

    @abstractmethod
    def _open_tables(self, X: Any, y: Any, *, reset: bool = True) -> BesideSource:
        """The tables side by side; their columns are recorded if `reset`, otherwise compared with those of the fit."""

    def _rows_read(self, rows: Tables) -> Rows:
        joint: Any = rows.joint
        return joint  # type: ignore[no-any-return] # solvers see only what they may do with rows

    def _keep_summary(self, rows: Tables) -> None:
        joint: Any = rows.joint
        if joint.small_summary is not None:
            self.summary_, self._dtypes = joint.small_summary, dtypes_of(rows.each)

    def _can_partial_fit(self) -> bool:
        if is_cv(self.n_components):
            raise no_partial_fit("cv")
        # What is no reduction at all is for `fit` to refuse.
        known = tables.REDUCTIONS.get(self.solver) if isinstance(self.solver, str) else None
        reduction: Any = self.solver if isinstance(self.solver, tables.Reduction) else known
        if reduction is not None and reduction.starts_from is None:
            raise AttributeError(
                f"solver={reduction.name!r} keeps no summary, so there is no partial_fit; use 'auto', 'covariance' or "
                "'triangle'."
            )
        return True

    def _check_parameters(self) -> None:
        tables.check_asked(self.solver)

    def _k(self, n: int | None, groups: Sequence[int]) -> int:
        """`n_components` as a number; None stands for the largest possible one."""
        upper = self._most(groups) if n is None else min(n, self._most(groups))
        asked = self._n_components()
        if hasattr(self, "held_out_scorer") and isinstance(asked, str):
            check_rule(asked, ("cv",))
            raise rule_needs_rows(asked)
        return check_count(asked, upper, n, groups)

    def _n_components(self) -> Any:
        """`n_components`, or the number that cross-validation chose."""
        return self.choice_.k if is_cv(self.n_components) and hasattr(self, "choice_") else self.n_components

    def _rows(self, source: Source, sample_weight: Any, progress: Any = None) -> Tables:
        return tables_of(source, None if sample_weight is None else check_weights(sample_weight, source), progress)

    def _request(self, groups: Sequence[int]) -> TablesRequest:
        """The request to the solver, for tables of these widths."""

        def count(n: int | None, weight: float | None) -> int:
            return self._k(n if n is None or weight is None else max(n, int(weight)), groups)

        standardize = tuple(self._standardize_tables(len(groups)))
        return TablesRequest(standardize, count, self._components(len(groups)), self.ddof, self._narrowing())

    def _is_cross_validated(self) -> bool:
        return is_cv(self.n_components) and hasattr(self, "held_out_scorer")

    def _plan_rows(self, rows: Tables) -> Plan:
        if not self._is_cross_validated():
            return tables.plan(rows, self._request(rows.widths), self.solver)
        check_cv_rows(rows.joint.shape[0])
        job = TablesJob.of(rows)
        joint: Any = rows.joint
        wide = job.is_wide and job.allows_gram
        if self.solver == "auto" and (not wide or makes_summary(self.held_out_scorer(), joint.source, joint.weights)):
            return tables.CovarianceReduction().plan(job, "the merged summaries of the folds are all that it needs")
        return tables.plan_job(job, self.solver)

    def _fit_rows(self, rows: Tables) -> None:
        joint: Any = rows.joint
        dtypes = dtypes_of(rows.each)
        self.__dict__.pop("choice_", None)
        passes = 0
        if self._is_cross_validated():
            self.choice_, total = apply_cv_rule(self.held_out_scorer(), joint.source, joint.weights)
            passes = self.choice_.cross_validation.n_passes
            if self.solver == "auto" and total is not None:
                # The model is fitted to the merged summaries of the folds.
                self._fit_from(total, dtypes, passes=passes)
                return
        solution, the_plan = tables.solve(rows, self._request(rows.widths), self.solver)
        passes += solution.passes
        self._finish(with_passes(solution, passes), with_passes(the_plan, passes), dtypes)

    def _fit_from(self, summary: Any, dtypes: Dtypes, asked: Any = "auto", passes: int = 0) -> None:
        """Fit to a summary that was made in `passes` passes over the rows."""
        self._check_groups(summary.groups)
        n = len(summary.groups)
        names = ("X", "y") if n == 2 else tuple(f"table {i}" for i in range(n))
        self.n_features_in_ = summary.groups[0]
        solution, the_plan = tables.solve_summary(summary, names, self._request(summary.groups), asked)
        self._finish(replace(solution, passes=passes), replace(the_plan, passes=passes), dtypes)

    def _check_groups(self, groups: Sequence[int]) -> None:
        """Refuse a summary of the wrong number of tables."""
        if len(groups) != 2:
            raise ValueError(
                f"the summary is of {len(groups)} table(s), {type(self).__name__} needs two: make it with "
                "groups=(p, q), the numbers of columns of X and y."
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
        asked = self._n_components()
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
        """A text with the directions that were left out because they have no variance; empty if there are none."""
        return ""

    def _describe_limit(self) -> str:
        """A text that says why there are no more components."""
        return "up to rounding, nothing that the tables have in common is left after them"

    def _centre(self) -> Any:
        return getattr(self, "x_mean_", None)


def tables_of(source: Source, weights: Any, progress: Any = None) -> Tables:
    """The tables and their weights as solvers take them."""
    each = [Rows(s, None if weights is None else weights_for(s, weights), progress) for s in source.members]
    return Tables(Rows(source, weights, progress), each, tuple(s.table for s in source.members))


def dtypes_of(tables: Sequence[Any]) -> Dtypes:
    """The dtype of each table, in the namespace of the first one."""
    like = tables[0].empty(0)
    return tuple(dtype_like(table.dtype, like) for table in tables)


def cast(value: Any, like: Array, dtype: Any) -> Array:
    """`value` as an array of the namespace and device of `like` in `dtype`, or wider if it would overflow there."""
    return in_range(asarray_like(value, like), dtype)
