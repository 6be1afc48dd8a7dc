"""What all models of one spectrum share: rows or a summary in, a Spectrum solved, attributes unpacked.

A subclass says what it wants (`_request`) and what it makes of the answer (`_unpack`); where rows live, how they are
read and which solver runs is none of its business.
"""

from __future__ import annotations

import numbers
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.utils.metaestimators import available_if

from .._xp import Array, namespace
from ..errors import ConvergenceWarning, ResolutionWarning, n_components_out_of_range, too_few_rows, warn_user
from ..linalg import divisor, most_components, quiet_blas
from ..solvers import SOLVERS, Covariance, Plan, Request, Solver, Spectrum, Status, Triangular, plan
from ..sources import Source, StreamSource, Traits
from ..summaries import Moments, Triangle
from ..summarize import Rows, check_weights, summarize
from ._base import Model, affine
from ._by_rule import no_partial_fit

#: Which solver starts from which summary.
_FROM_SUMMARY: list[tuple[Any, type[Covariance] | type[Triangular]]] = [(Moments, Covariance), (Triangle, Triangular)]


class SpectralModel(Model):
    """Base of the models that are read off the eigenpairs of a covariance."""

    n_components: Any
    solver: Any
    ddof: int
    summary_: Any
    _dtype: Any
    random_state: Any

    @abstractmethod
    def _unpack(self, spectrum: Spectrum, dtype: Any) -> None:
        """Set the fitted attributes; may use fewer pairs than there are."""

    @abstractmethod
    def _projection(self) -> Array:
        """The matrix A that takes centred rows to what `transform` returns."""

    @abstractmethod
    def _deviation(self) -> float:
        """The largest standard deviation of what `transform` returns."""

    def _scoring(self) -> Any:
        """block -> (block - mean) A."""
        return affine(self._projection(), self.mean_, self._deviation())

    def _solver(self) -> str | Solver:
        """The solver asked for: a name or an object."""
        return self.solver

    def _standardize(self) -> bool:
        return False

    def _check_parameters(self) -> None:
        if isinstance(self.ddof, bool) or not isinstance(self.ddof, numbers.Integral) or self.ddof not in (0, 1):
            raise ValueError(f"ddof={self.ddof!r} must be 0 (divide by n) or 1 (divide by n - 1).")

    def fit_summary(self, summary: Any) -> Self:
        """Fit without rows, from a Moments or Triangle summary of them; `partial_fit` can go on from there.

        Examples
        --------
        >>> from lowdim import PCA, Moments
        >>> PCA().fit_summary(Moments.from_covariance([[2.0, 0.0], [0.0, 1.0]], n_samples=100)).explained_variance_
        array([2., 1.])
        """
        self._check_parameters()
        asked = self._solver()
        mean: Any = getattr(summary, "mean", None)
        for kind, solver in _FROM_SUMMARY:
            if isinstance(summary, kind):
                if asked != "auto" and asked != solver.name and not isinstance(asked, solver):
                    allowed = f"use 'auto' or {solver.name!r}"
                    raise ValueError(f"solver={asked!r} cannot start from a {kind.__name__}; {allowed}.")
                with self._all_or_nothing():
                    self.__dict__.pop("feature_names_in_", None)
                    self._fit_from(
                        summary, asked if isinstance(asked, solver) else solver(), getattr(mean, "dtype", None)
                    )
                    # A copy, for partial_fit to go on from.
                    self.summary_, self._dtype = summary.fresh(), getattr(mean, "dtype", None)
                    self.summary_.merge(summary)
                    return self
        raise TypeError(
            f"fit_summary needs a Moments or a Triangle, got {type(summary).__name__}. A covariance matrix becomes one "
            "by Moments.from_covariance(cov, n_samples)."
        )

    @available_if(lambda self: self._streams())
    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Take in further rows, exactly: after all blocks the model is that of all rows at once.

        The rows seen since the first `partial_fit` (or `fit_summary`; `fit` begins anew) are kept as `summary_`, and
        the model is solved from it after each block. Until there are enough rows for `n_components` it stays unfitted.
        A block that is refused leaves everything as it was. Solvers that keep no summary (gram, krylov) do not have
        this method.
        """
        self._check_parameters()
        solver = self._streaming_solver()
        with self._all_or_nothing():
            first = not hasattr(self, "summary_")
            if first:
                self._forget()
            source = self._open(X, reset=first)
            self._k(None, source.shape[1])
            seen: Any = self._new_summary(solver, source.shape[1]) if first else self.summary_.fresh()
            if not first:
                seen.merge(self.summary_)
                solver = Triangular() if isinstance(seen, Triangle) else solver
            weights = None if sample_weight is None else check_weights(sample_weight, source)
            seen.merge(summarize(source, seen.fresh(), weights=weights))
            self.summary_, self._dtype = seen, (source.dtype if first else self._dtype)
            if divisor(seen.weight, self.ddof) > 0 and seen.n_rows >= self._least_rows(seen.n_features):
                self._fit_from(seen, solver, self._dtype)
        return self

    def _streams(self) -> bool:
        """Whether the solver asked for keeps a summary; what is no solver at all is for `fit` to refuse."""
        if isinstance(self.n_components, str) and self.n_components == "cv":
            raise no_partial_fit("cv")
        try:
            asked = self._solver()
        except ValueError:
            return True
        solver = asked if isinstance(asked, Solver) else SOLVERS.get(asked)
        if solver is not None and not solver.one_pass:
            raise AttributeError(
                f"solver={solver.name!r} keeps no summary, so there is no partial_fit; use 'auto', 'covariance' or "
                "'triangle'."
            )
        return True

    def _least_rows(self, p: int) -> int:
        """Rows from which on a model can be had."""
        return int(self.n_components) if isinstance(self.n_components, numbers.Integral) else 2

    def _streaming_solver(self) -> Covariance | Triangular:
        """The solver whose summary `partial_fit` keeps."""
        asked = self._solver()
        if isinstance(asked, Covariance | Triangular):
            return asked
        the_plan = plan((None, 1), solver=asked, traits=Traits(rereadable=False, by_feature=False))
        assert isinstance(the_plan.solver, Covariance | Triangular)
        return the_plan.solver

    def _new_summary(self, solver: Covariance | Triangular, p: int) -> Moments | Triangle:
        return Triangle(p) if isinstance(solver, Triangular) else Moments(p, wide=solver.wide)

    def _k(self, n: int | None, p: int) -> int | None:
        """n_components as a number of pairs to solve for: None means all."""
        upper = p if n is None else min(n, p)
        return pairs_wanted(self.n_components, upper, lambda: n_components_out_of_range(self.n_components, upper, n, p))

    def _fit_source(self, source: Source, sample_weight: Any, progress: Any = None) -> None:
        weights = None if sample_weight is None else check_weights(sample_weight, source)
        n, p = source.shape
        if n is not None:
            weight = float(n) if weights is None else float(namespace(weights).sum(weights))
            if divisor(weight, self.ddof) <= 0:
                raise too_few_rows(n, weight, self.ddof)
            n = max(n, int(weight))
        request = self._request(self._k(n, p))
        spectrum, the_plan = solve_spectrum(source, Rows(source, weights, progress), request, self._solver())
        self._finish(spectrum, the_plan, source.dtype, last_chance=not source.traits.rereadable)

    def _request(self, k: int | None) -> Request:
        return Request(k=k, ddof=self.ddof, standardize=self._standardize(), seed=self._seed())

    def _fit_from(self, summary: Any, solver: Covariance | Triangular, dtype: Any, passes: int = 0) -> Self:
        self.n_features_in_ = summary.n_features
        if summary.mean is None:
            raise ValueError("the summary is empty: it has seen no rows. Update it, or merge others into it, first.")
        k = self._k(most_components(summary.n_rows, summary.weight, summary.n_features), summary.n_features)
        spectrum = replace(solver.from_summary(summary, self._request(k)), passes=passes)
        shape = (summary.n_rows, summary.n_features)
        self._finish(spectrum, replace(plan(shape, k, solver=solver), why="from a summary"), dtype)
        return self

    def _finish(self, spectrum: Spectrum, the_plan: Plan, dtype: Any, last_chance: bool = False) -> None:
        n, p = spectrum.n_rows, self.n_features_in_
        most = most_components(n, spectrum.weight, p)
        if spectrum.values.shape[0] > most:
            raise n_components_out_of_range(self.n_components, most, n, p)
        self.plan_ = replace(the_plan, passes=spectrum.passes)
        self.solver_ = the_plan.solver.name
        self.status_ = spectrum.status
        self.residual_ = spectrum.residual
        self.n_samples_ = n
        self._warn(spectrum, last_chance)
        self._unpack(spectrum, dtype)

    def _warn(self, spectrum: Spectrum, last_chance: bool) -> None:
        """Say what the status says. An eigenvalue at or below the rank cut is zero and worth no word, unless the rows
        are gone and cannot be asked again."""
        if spectrum.status is Status.NOT_CONVERGED:
            solver: Any = self.plan_.solver
            warn_user(
                f"solver={self.solver_!r} stopped after {spectrum.passes} passes at residual "
                f"{spectrum.residual:.1e} lambda_1, above its tolerance {solver.tol:g}. Raise max_steps or block, or "
                "ask for fewer components.",
                ConvergenceWarning,
            )
        elif spectrum.status is Status.UNRESOLVED:
            values = spectrum.values
            largest, smallest = float(values[0]), float(values[-1])
            if last_chance or smallest > spectrum.rank_cut:
                warn_user(
                    f"the smallest eigenvalue kept is {smallest / largest:.1e} of the largest, and "
                    f"solver={self.solver_!r} loses its digits. Use solver='triangle', or keep fewer components.",
                    ResolutionWarning,
                )


def solve_spectrum(source: Source, rows: Rows, request: Request, asked: str | Solver) -> tuple[Spectrum, Plan]:
    """Eigenpairs of the rows by the solver asked for; "auto" goes on to finer ones until they are resolved."""
    the_plan = plan(source.shape, request.k, solver=asked, traits=source.traits)
    if asked == "auto":
        the_plan = _pilot(source, the_plan, request)
    spectrum = the_plan.solver.solve(rows, request)
    while asked == "auto" and source.traits.rereadable and spectrum.status in (Status.UNRESOLVED, Status.NOT_CONVERGED):
        finer = the_plan.solver.finer(rows)
        if finer is None:
            break
        why = f"{the_plan.solver.name} ended {spectrum.status.name.lower()}, so it was solved again"
        next_plan = replace(plan(source.shape, request.k, solver=finer, traits=source.traits), why=why)
        if not next_plan.fits_memory:
            break
        the_plan = next_plan
        before = spectrum.passes
        spectrum = finer.solve(rows, request)
        spectrum = replace(spectrum, passes=before + spectrum.passes)
    return spectrum, the_plan


def _pilot(source: Source, the_plan: Plan, request: Request) -> Plan:
    """For a stream that cannot be read again, look at its first block: if the covariance of that cannot resolve
    what is asked, keep the triangle of the stream instead."""
    if source.traits.rereadable or not isinstance(source, StreamSource):
        return the_plan
    first = source.first_block
    n, p = first.shape
    k = min(p if request.k is None else request.k, (n or 1) - 1)
    if k < 1:
        return the_plan
    with quiet_blas(p):
        pilot = Covariance(wide=True).solve(Rows(first), replace(request, k=k))
    if pilot.status is Status.EXACT:
        return the_plan
    why = "the stream can be read once, and the covariance of its first block loses the small eigenvalues"
    return replace(plan(source.shape, request.k, solver=Triangular(), traits=source.traits), why=why)


def pairs_wanted(k: Any, upper: float, refusal: Callable[[], Exception]) -> int | None:
    """`n_components` as a number of pairs to solve for: None means all, and so does a share of variance."""
    if k is None:
        return None
    if isinstance(k, numbers.Real) and not isinstance(k, bool | np.bool_):
        if isinstance(k, numbers.Integral) and 1 <= int(k) <= upper:
            return int(k)
        if not isinstance(k, numbers.Integral) and 0.0 < float(k) < 1.0:
            return None
    raise refusal()


def reaching(spectrum: Any, proportion: float) -> int:
    """The fewest pairs whose proportion of variance reaches `proportion` (to rounding)."""
    xp = namespace(spectrum.values)
    total = spectrum.total
    if total <= 0.0:
        return 1
    reached = xp.cumulative_sum(spectrum.values / total) >= proportion - 1e-12
    return min(int(xp.count_nonzero(~reached)) + 1, int(spectrum.values.shape[0]))
