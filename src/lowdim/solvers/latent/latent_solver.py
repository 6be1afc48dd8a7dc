"""The request to a solver of latent Gaussian models, its job, and the base class of these solvers."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from ...errors import n_components_out_of_range, needs_memory, one_row
from ...linalg import most_components
from ...summaries.moments import Moments
from ...summaries.triangle import Triangle
from ..base import AnySolver, Job, Plan, RowsLike, SpectraLike
from ..plan import checked_plan
from ..results import LatentFit
from .reference_fits import misfit_of


@dataclass(frozen=True)
class LatentRequest:
    """The request for a latent Gaussian model."""

    k: int
    #: Whether all columns have the same noise variance.
    tied: bool
    #: Lower bound on the noise variances, in units of the variance of the column (of the mean variance, if not
    #: `by_column`).
    floor: float
    #: Whether each column is divided by its standard deviation; otherwise all are divided by the same number.
    by_column: bool = True
    #: Whether the loadings have a prior (variational Bayes).
    bayes: bool = False
    #: Whether entries that sparse rows do not store are missing.
    unstored: bool = False
    seed: int = 0
    #: Noise variances near those of the solution, (p,), as fractions of the variances of their columns; or None.
    start: np.ndarray | None = field(default=None, compare=False)
    #: Whether the solution is expected near `start`, so that few other starts are tried.
    near: bool = False


@dataclass(frozen=True)
class LatentJob(Job):
    """The job of fitting a latent Gaussian model, of which the request tells more than the number of components."""

    #: Whether all columns have the same noise variance, and whether the loadings have a prior.
    tied: bool = False
    bayes: bool = False
    #: Whether no entry is known to be missing.
    complete: bool = True
    #: Finds eigenpairs for the solvers that need them.
    spectra: SpectraLike | None = None
    #: Whether only products of rows are known, and not the rows or a root of their scatter.
    squared: bool = False


class LatentSolver(AnySolver):
    """A solver that fits a latent Gaussian model to rows, or to a summary of them.

    Examples
    --------
    >>> from lowdim.solvers import LATENT_SOLVERS, LatentSolver
    >>> {name: issubclass(solver, LatentSolver) for name, solver in LATENT_SOLVERS.items()}
    {'newton': True, 'em': True, 'newton-cg': True}
    """

    #: Whether it can fit one noise variance for all columns, as PPCA has it.
    ties_noise: ClassVar[bool] = True
    #: Whether it can fit one noise variance per column, as factor analysis has it.
    separates_noise: ClassVar[bool] = True
    #: Whether the loadings may have a prior.
    takes_prior: ClassVar[bool] = False
    #: Whether entries may be missing; such rows are passed to `fit_holes`.
    takes_holes: ClassVar[bool] = False
    #: The summary of rows that it starts from: Moments, or a Triangle, which is passed to `fit_triangle`.
    starts_from: ClassVar[type[Moments] | type[Triangle]] = Moments
    #: Lower bound on the noise variances of factor analysis, as a fraction of the variance of their column.
    floor: float = 1e-6

    def refusal(self, job: LatentJob) -> Exception | None:
        lacking = self._lacking(job)
        if lacking is not None:
            return ValueError(f"solver={self.name!r} cannot fit a model with {lacking}.")
        return super().refusal(job)

    def is_sensible(self, job: LatentJob) -> bool:
        return self._lacking(job) is None

    def _lacking(self, job: LatentJob) -> str | None:
        """What the job has that this solver cannot do, or None."""
        abilities = (
            (job.tied, self.ties_noise, "one noise variance for all columns"),
            (not job.tied, self.separates_noise, "one noise variance per column"),
            (job.bayes, self.takes_prior, "a prior"),
            (not job.complete, self.takes_holes, "missing values"),
        )
        return next((what for needed, able, what in abilities if needed and not able), None)

    def job_of(self, sources: Sequence[Any], k: int | None) -> LatentJob:
        n, p = sources[0].shape
        return LatentJob(n, p, k, sources[0].traits, tied=not self.separates_noise)

    def plan_rows(self, rows: RowsLike, request: LatentRequest, spectra: SpectraLike) -> Plan:
        """The plan of `fit_rows`."""
        return checked_plan(self, rows_job(rows, request, spectra))

    def too_large(self, job: Job, n_bytes: int) -> MemoryError:
        what = f"solver={self.name!r} on {job.p} columns"
        return needs_memory(what, n_bytes, job.memory, "Keep fewer columns.")

    def fit_rows(self, rows: RowsLike, request: LatentRequest, spectra: SpectraLike) -> tuple[LatentFit, Plan]:
        """Fit complete rows by a summary of them; raises `MissingValues` if they turn out to have holes."""
        plan = self.plan_rows(rows, request, spectra)
        summary = rows.summarize(self.empty_summary(rows.shape[1], request))
        return self._fit_scatter(summary, request, spectra), plan

    def empty_summary(self, p: int, request: LatentRequest) -> Moments | Triangle:
        """An empty summary of the kind that complete rows are fitted by."""
        # With one noise variance per column, columns may have any scale, so their squares could overflow in float32.
        return Moments(p, wide=not request.tied) if self.starts_from is Moments else self.starts_from(p)

    def fit_holes(self, rows: RowsLike, request: LatentRequest, spectra: SpectraLike) -> tuple[LatentFit, Plan]:
        """Fit rows with missing entries, if the solver `takes_holes`."""
        raise NotImplementedError(f"{type(self).__name__} takes complete rows only.")

    @abstractmethod
    def fit_moments(self, moments: Moments, request: LatentRequest, spectra: SpectraLike) -> LatentFit:
        """Fit complete rows, given their moments."""

    def fit_triangle(self, triangle: Triangle, request: LatentRequest) -> LatentFit:
        """Fit complete rows, given a root of their scatter matrix, if the solver starts from a Triangle."""
        raise NotImplementedError(f"{type(self).__name__} starts from moments.")

    def fit_summary(self, summary: Any, request: LatentRequest, spectra: SpectraLike) -> tuple[LatentFit, Plan]:
        """Fit a summary of complete rows: their moments, or a Triangle, from which these follow."""
        if not isinstance(summary, Moments | Triangle):
            raise TypeError(f"solver={self.name!r} needs a Moments or a Triangle, got {type(summary).__name__}.")
        fit = self._fit_scatter(summary, request, spectra)
        return fit, replace(self.plan(summary_job(summary, request, spectra), "from a summary"), passes=0)

    def _fit_scatter(self, summary: Moments | Triangle, request: LatentRequest, spectra: SpectraLike) -> LatentFit:
        """Fit a summary of complete rows; with one noise variance per column, tell how far the model is from it."""
        if isinstance(summary, Triangle) and self.starts_from is Triangle:
            fit = self.fit_triangle(summary, request)
        else:
            summary = summary.moments() if isinstance(summary, Triangle) else summary
            fit = self.fit_moments(summary, request, spectra)
        return fit if request.tied else replace(fit, misfit=misfit_of(summary, fit))


def rows_job(rows: RowsLike, request: LatentRequest, spectra: SpectraLike) -> LatentJob:
    """The job of fitting these rows. They are assumed to be complete unless they surely have holes."""
    complete = not (request.unstored and rows.traits.sparse)
    return LatentJob(*rows.shape, request.k, rows.traits, request.tied, request.bayes, complete, spectra)


def summary_job(summary: Any, request: LatentRequest, spectra: SpectraLike) -> LatentJob:
    """The job of fitting rows that were summarized."""
    n, p, squared = summary.n_rows, summary.n_features, isinstance(summary, Moments)
    return LatentJob(n, p, request.k, tied=request.tied, bayes=request.bayes, squared=squared, spectra=spectra)


def check_components(k: int, n_rows: int, weight: float, p: int) -> None:
    """Raise an error if there are too few rows for k components; the length of a stream is known only at its end."""
    most = most_components(n_rows, weight, p)
    if most < 2 and n_rows < 2:
        raise one_row()
    if k > most:
        raise n_components_out_of_range(k, most, n_rows, p, fractions=False)
