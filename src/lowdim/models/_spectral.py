"""The base class of PCA and Whitening: fits from summaries, `partial_fit`, and warnings."""

from __future__ import annotations

import numbers
from abc import abstractmethod
from dataclasses import replace
from functools import partial
from typing import Any, Self

from sklearn.utils.metaestimators import available_if

from .._xp import Array
from ..attributes import Dtype, Instance, Numbers, Real, Sometimes
from ..errors import n_components_out_of_range, no_partial_fit
from ..features import affine
from ..linalg import divisor, most_components
from ..reading import Rows, check_weights, summarize
from ..solvers import Plan, Request, Solver, Spectrum, spectra
from ..summaries.base import require_seen
from ._base import Model
from ._devices import unpack_to
from ._principal import count_pairs, count_rows, share_of, warn_of_status
from ._rule_choice import check_cv_rows, is_cv


class SpectralModel(Model):
    """Base class of models that follow from the eigenpairs of a covariance matrix."""

    n_components: Any
    solver: Any
    ddof: int
    #: Whether `ddof` is not a parameter of the class.
    _fixed_ddof = False
    summary_: Any
    _dtype: Any
    random_state: Any
    fitted_attributes = {
        "residual_": Real("nonnegative"),
        "mean_": Numbers("p"),
        "summary_": Sometimes(Instance("summaries.*")),
        "_dtype": Sometimes(Dtype()),
    }

    @abstractmethod
    def _unpack(self, spectrum: Spectrum, dtype: Any) -> None:
        """Set the fitted attributes, from all eigenpairs or from some of them."""

    @abstractmethod
    def _projection(self) -> Array:
        """The matrix A that maps centred rows to the result of `transform`."""

    @abstractmethod
    def _deviation(self) -> float:
        """The largest standard deviation of the result of `transform`."""

    def _scoring(self) -> Any:
        """The function block -> (block - mean) A."""
        return affine(self._projection(), self.mean_, self._deviation())

    def _solver(self) -> str | Solver:
        """The solver that the parameters select, as a name or an object."""
        return self.solver

    def _standardize(self) -> bool:
        return False

    def _subtracts_mean(self) -> bool:
        return True

    def _check_parameters(self) -> None:
        if isinstance(self.ddof, bool) or not isinstance(self.ddof, numbers.Integral) or self.ddof not in (0, 1):
            raise ValueError(f"ddof={self.ddof!r} must be 0 (divide by n) or 1 (divide by n - 1).")

    def _request(self, rows: Rows) -> Request:
        """The request to the solver; an error if there are too few rows."""
        return self._request_of(self._k(count_rows(rows, self.ddof, self._fixed_ddof), rows.shape[1]))

    def _request_of(self, k: int | None) -> Request:
        return Request(
            k=k,
            share=share_of(self.n_components),
            ddof=self.ddof,
            standardize=self._standardize(),
            center=self._subtracts_mean(),
            fixed_ddof=self._fixed_ddof,
            seed=self._seed(),
        )

    def _k(self, n: int | None, p: int) -> int | None:
        """The number of eigenpairs that `n_components` needs; None means all."""
        return count_pairs(self.n_components, n, p)

    def _plan_rows(self, rows: Rows) -> Plan:
        if is_cv(self.n_components):
            check_cv_rows(rows.shape[0])
        return spectra.plan(rows, self._request(rows), self._solver())

    def fit_summary(self, summary: Any) -> Self:
        """Fit to a Moments or Triangle summary of rows; `partial_fit` can continue from it.

        Examples
        --------
        >>> from lowdim import PCA, Moments
        >>> PCA().fit_summary(Moments.from_covariance([[2.0, 0.0], [0.0, 1.0]], n_samples=100)).explained_variance_
        array([2., 1.])
        """
        self._check_parameters()
        try:
            solver = spectra.solver_for(summary, self._solver())
        except TypeError as error:
            raise TypeError(
                f"fit_summary needs a Moments or a Triangle, got {type(summary).__name__}. For a covariance matrix, "
                "pass Moments.from_covariance(cov, n_samples)."
            ) from error
        dtype = getattr(getattr(summary, "mean", None), "dtype", None)
        with self._restore_on_error():
            self._take_names(summary)
            self._fit_summary(summary, solver, dtype)
            # Keep a copy, from which partial_fit can continue.
            self.summary_, self._dtype = summary.fresh(), dtype
            self.summary_.merge(summary)
        return self

    @available_if(lambda self: self._can_partial_fit())
    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Update the model with further rows. The result is exact: the same as a fit to all rows at once.

        A summary of all rows so far is kept as `summary_`, and the model is solved from it after each block. `fit`
        forgets all earlier rows. It keeps its own summary if it was solved from one and there are at most 256 columns;
        then `partial_fit` goes on from it, and otherwise `partial_fit` after `fit` is an error. The model stays
        unfitted until there are enough rows for `n_components`. A block that raises an error does not change the model.
        The method is not available with solvers that do not work from a summary (gram, krylov).
        """
        self._check_parameters()
        solver = spectra.streaming_solver(self._solver())
        with self._restore_on_error():
            first = self._starts_summary()
            X, y, sample_weight = self._by_name(X, y, fitted=not first, sample_weight=sample_weight)
            source = self._open(X, reset=first)
            self._k(None, source.shape[1])
            seen: Any = self._empty_summary(solver, source.shape[1]) if first else self.summary_.fresh()
            if not first:
                seen.merge(self.summary_)
                solver = spectra.solver_for(seen, solver if isinstance(seen, solver.starts_from or ()) else "auto")
            weights = None if sample_weight is None else check_weights(sample_weight, source)
            seen.merge(summarize(source, seen.fresh(), weights=weights))
            self.summary_, self._dtype = seen, (source.dtype if first else self._dtype)
            if divisor(seen.weight, self.ddof) > 0 and seen.n_rows >= self._least_rows(seen.n_features):
                self._fit_summary(seen, solver, self._dtype)
        return self

    def _keep_summary(self, rows: Rows) -> None:
        if rows.small_summary is not None:
            self.summary_, self._dtype = rows.small_summary, rows.dtype

    def _can_partial_fit(self) -> bool:
        """Whether the solver works from a summary, an AttributeError if not; invalid solvers are refused by `fit`."""
        if is_cv(self.n_components):
            raise no_partial_fit("cv")
        try:
            asked = self._solver()
        except ValueError:
            return True
        solver = spectra.solver_of(asked)
        if solver is not None and solver.starts_from is None:
            raise AttributeError(
                f"solver={solver.name!r} keeps no summary, so there is no partial_fit; use 'auto', 'covariance' or "
                "'triangle'."
            )
        return True

    def _least_rows(self, p: int) -> int:
        """The smallest number of rows to which the model can be fitted."""
        return int(self.n_components) if isinstance(self.n_components, numbers.Integral) else 2

    def _empty_summary(self, solver: Solver, p: int) -> Any:
        """The empty summary with which `partial_fit` starts."""
        return solver.empty_summary(p)

    def _fit_summary(self, summary: Any, solver: Solver, dtype: Any, passes: int = 0) -> None:
        """Fit to a summary that was made in `passes` passes over the rows."""
        self.n_features_in_ = summary.n_features
        require_seen(summary)
        k = self._k(most_components(summary.n_rows, summary.weight, summary.n_features), summary.n_features)
        spectrum, the_plan = spectra.solve_summary(summary, self._request_of(k), solver)
        self._finish(replace(spectrum, passes=passes), replace(the_plan, passes=passes), dtype)

    def _finish(self, spectrum: Spectrum, the_plan: Plan, dtype: Any, last_chance: bool = False) -> None:
        """Set the fitted attributes, and warn if eigenpairs are inaccurate."""
        n, p = spectrum.n_rows, self.n_features_in_
        most = most_components(n, spectrum.weight, p)
        if spectrum.values.shape[0] > most:
            raise n_components_out_of_range(self.n_components, most, n, p)
        self.plan_, self.solver_ = the_plan, the_plan.solver.name
        self.status_, self.residual_ = spectrum.status, spectrum.residual
        self.n_samples_ = n
        warn_of_status(spectrum, the_plan, last_chance)
        unpack_to(spectrum.there, self, partial(self._unpack, spectrum), dtype)
