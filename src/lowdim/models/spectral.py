"""Principal components of rows: the base class of PCA and Whitening, and what ICA and they share."""

from __future__ import annotations

import numbers
from abc import abstractmethod
from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.utils.metaestimators import available_if

from .._core.arrays import numpy_dtype
from .._core.schema import Dtype, Instance, Numbers, Real, Sometimes
from .._core.types import VectorLike
from ..errors import (
    ConvergenceWarning,
    RankWarning,
    ResolutionWarning,
    n_components_out_of_range,
    no_variance,
    unresolved,
    warn_user,
)
from ..linalg import NOISE, divisor, most_components, require_rows
from ..reading.rows import Rows
from ..solvers import spectra
from ..solvers.problem import Plan, Request, Spectrum, Status, counted_rows, total_weight
from ..solvers.spectra.covariance import Solver
from ..sources.opening import TableLike
from ..summaries.base import Summary, require_nonempty
from ..summaries.moments import ScatterSummary
from .base import Model, add_rows, can_partial_fit, copy_of, count_components, is_cv
from .n_components import check_cv_rows

#: The attributes of models with a density that are bootstrapped, and the meaning of their axes.
DENSITY_AXES = {
    "explained_variance": ("components",),
    "explained_variance_ratio": ("components",),
    "noise_variance": ("features",),
    "loadings": ("features", "components"),
}


class SpectralModel(Model):
    """Base class of models that follow from the eigenpairs of a covariance matrix."""

    #: Whether `ddof` is not a parameter of the class.
    _fixed_ddof = False
    residual_: float
    mean_: np.ndarray
    summary_: ScatterSummary
    solver: Any
    ddof: int
    fitted_attributes = {
        "residual_": Real("nonnegative"),
        "mean_": Numbers("p"),
        "summary_": Sometimes(Instance("summaries.*")),
        "_dtype": Sometimes(Dtype()),
    }

    @abstractmethod
    def _unpack(self, spectrum: Spectrum, dtype: Any) -> None:
        """Set the fitted attributes, from all eigenpairs or from some of them."""

    def _solver(self) -> str | Solver:
        """The solver that the parameters select, as a name or an object."""
        return self.solver

    def _check_parameters(self) -> None:
        ddof: Any = self.ddof
        if isinstance(ddof, bool) or not isinstance(ddof, numbers.Integral) or int(ddof) not in (0, 1):
            raise ValueError(f"ddof={self.ddof!r} must be 0 (divide by n) or 1 (divide by n - 1).")

    def _request(self, n: int | None, p: int) -> Request:
        """The request to the solver for n rows, if their number is known, and p columns."""
        k = self.n_components
        return Request(
            k=self._k(n, p),
            share=float(k) if isinstance(k, numbers.Real) and not isinstance(k, numbers.Integral) else None,
            ddof=self.ddof,
            scale=getattr(self, "scale", False),
            feature_weight=self._feature_weight(p),
            center=bool(getattr(self, "center", True)),
            fixed_ddof=self._fixed_ddof,
            seed=self._seed(),
        )

    def _feature_weight(self, p: int) -> np.ndarray | None:
        """The weights of p columns, or None for ones."""
        return None

    def _request_for(self, rows: Rows) -> Request:
        """The request to the solver; an error if there are too few rows."""
        n, weight = counted_rows(rows), total_weight(rows) or 0.0
        if n is not None:
            require_rows(n, weight, self.ddof, self._fixed_ddof)
        return self._request(None if n is None else max(n, int(weight)), rows.shape[1])

    def _k(self, n: int | None, p: int) -> int | None:
        """The number of eigenpairs that `n_components` needs; None means all."""
        return count_components(self.n_components, n, p)

    def _plan_rows(self, rows: Rows) -> Plan:
        if is_cv(self.n_components):
            check_cv_rows(rows.shape[0])
        return spectra.plan(rows, self._request_for(rows), self._solver())

    def fit_summary(self, summary: Summary) -> Self:
        """Fit to a Moments or Triangle summary of rows; `partial_fit` can continue from it.

        Examples
        --------
        >>> from lowdim import PCA
        >>> from lowdim.summaries import Moments
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
            self.summary_, self._dtype = copy_of(summary), dtype
        return self

    @available_if(lambda self: self._can_partial_fit())
    def partial_fit(self, X: TableLike, y: TableLike | None = None, sample_weight: VectorLike | None = None) -> Self:
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
            summary: Any = self._empty_summary(solver, source.shape[1]) if first else copy_of(self.summary_)
            if not isinstance(summary, solver.starts_from or ()):
                solver = spectra.solver_for(summary)
            add_rows(summary, source, sample_weight)
            self.summary_, self._dtype = summary, (source.dtype if first else self._dtype)
            if divisor(summary.weight, self.ddof) > 0 and summary.n_rows >= self._least_rows(summary.n_features):
                self._fit_summary(summary, solver, self._dtype)
        return self

    def _keep_summary(self, rows: Rows) -> None:
        if rows.small_summary is not None:
            self.summary_, self._dtype = rows.small_summary, rows.dtype

    def _can_partial_fit(self) -> bool:
        """Whether the solver works from a summary, an AttributeError if not; invalid solvers are refused by `fit`."""
        try:
            solver = spectra.solver_of(self._solver())
        except ValueError:
            solver = None
        return can_partial_fit(self, solver)

    def _least_rows(self, p: int) -> int:
        """The smallest number of rows to which the model can be fitted."""
        return int(self.n_components) if isinstance(self.n_components, numbers.Integral) else 2

    def _empty_summary(self, solver: Solver, p: int) -> Any:
        """The empty summary with which `partial_fit` starts."""
        return solver.empty_summary(p)

    def _fit_summary(self, summary: Any, solver: Solver, dtype: Any, passes: int = 0) -> None:
        """Fit to a summary that was made in `passes` passes over the rows."""
        self.n_features_in_ = summary.n_features
        require_nonempty(summary)
        most = most_components(summary.n_rows, summary.weight, summary.n_features)
        spectrum, the_plan = spectra.solve_summary(summary, self._request(most, summary.n_features), solver)
        self._finish(replace(spectrum, passes=passes), replace(the_plan, passes=passes), dtype)

    def _finish(self, spectrum: Spectrum, the_plan: Plan, dtype: Any) -> None:
        """Set the fitted attributes, and warn if eigenpairs are inaccurate."""
        spectrum = self._checked(spectrum, the_plan)
        self.plan_, self.solver_ = the_plan, the_plan.solver.name
        # The scatter was rounded, and vectors are rounded to the dtype of the rows.
        rounding = NOISE * max(spectrum.epsilon, float(np.finfo(numpy_dtype(dtype)).eps))
        self.status_, self.residual_ = spectrum.status, spectrum.residual + rounding
        self.n_samples_ = spectrum.n_rows
        self._unpack(spectrum, dtype)

    def _kept(self, spectrum: Spectrum) -> Spectrum:
        """The pairs that the parameters keep."""
        return spectrum

    def _checked(self, spectrum: Spectrum, the_plan: Plan) -> Spectrum:
        """The pairs that are kept, after a warning if they are inaccurate; more than the rows can have are refused."""
        n, p = spectrum.n_rows, spectrum.vectors.shape[1]
        most = most_components(n, spectrum.weight, p)
        if spectrum.values.shape[0] > most:
            raise n_components_out_of_range(self.n_components, most, n, p)
        spectrum = self._kept(spectrum)
        if spectrum.status is Status.NOT_CONVERGED:
            warn_user(
                f"solver={the_plan.solver.name!r} stopped after {spectrum.passes} passes at residual "
                f"{spectrum.residual:.1e} lambda_1, above its tolerance {the_plan.solver.tol:g}. Raise max_steps or "
                "block, or ask for fewer components.",
                ConvergenceWarning,
            )
        elif spectrum.status is Status.UNRESOLVED:
            warn_user(unresolved(*spectrum.lost, the_plan.solver.name), ResolutionWarning)
        return spectrum


# Principal components of rows for PCA, Whitening and ICA: how many to compute, with the checks and warnings.


def with_variance(spectrum: Spectrum, k: int) -> int:
    """The number of components with variance among the first k, for models that divide by it; warns of the others."""
    rank = min(spectrum.rank, k)
    if rank == 0:
        raise no_variance("whitening")
    if rank < k:
        warn_user(
            f"{k - rank} of {k} components have no variance and were dropped, since whitening divides by it; "
            f"{rank} are left.",
            RankWarning,
        )
    return rank


# The support of a density of rows: the components with positive variance, and the variance outside them.


def variance_outside(k: int, p: int, rank: int, noise_variance: float) -> float:
    """The variance orthogonal to `k` components of `p` columns, of which `rank` have positive variance.

    `noise_variance` is the average variance in the other directions.
    """
    return float(noise_variance) if k < p and rank == k else 0.0


def density_support(p: int, rank: int, outside: float) -> tuple[int, float]:
    """The number of components with positive variance, and the variance orthogonal to all components (may be 0).

    Warns if there are directions of zero variance, since they are left out of the density.
    """
    if rank == 0 and outside == 0.0:
        raise no_variance("a density")
    without = p - rank if outside == 0.0 else 0
    if without:
        warn_user(
            f"{without} of {p} directions have no variance and were left out of the density; keep fewer components "
            "to spread the noise over them.",
            RankWarning,
        )
    return rank, outside
