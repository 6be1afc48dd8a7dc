"""The request to a solver of latent Gaussian models, and the base class of these solvers."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from ...errors import n_components_out_of_range, needs_memory, one_row
from ...linalg import most_components
from ...summaries.moments import Moments
from ..base import AnySolver, Job, Plan, RowsLike, SpectraLike
from ..plan import checked_plan
from ..results import LatentFit
from .reference_fits import saturated_loglike


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


class LatentSolver(AnySolver):
    """A solver that fits a latent Gaussian model to rows, or to their moments."""

    #: Whether it can fit one noise variance for all columns, as PPCA has it.
    ties_noise: ClassVar[bool] = True

    def plan_rows(self, rows: RowsLike, request: LatentRequest, spectra: SpectraLike) -> Plan:
        """The plan of `fit_rows`."""
        return checked_plan(self, job_of(rows, request))

    def too_large(self, job: Job, n_bytes: int) -> MemoryError:
        what = f"solver={self.name!r} on {job.p} columns"
        return needs_memory(what, n_bytes, job.memory, "Keep fewer columns.")

    @abstractmethod
    def fit_rows(self, rows: RowsLike, request: LatentRequest, spectra: SpectraLike) -> tuple[LatentFit, Plan]:
        """Fit complete rows; raises `MissingValues` if they turn out to have holes."""

    @abstractmethod
    def fit_moments(self, moments: Moments, request: LatentRequest, spectra: SpectraLike) -> LatentFit:
        """Fit complete rows, given their moments."""

    def fit_summary(self, summary: Any, request: LatentRequest, spectra: SpectraLike) -> tuple[LatentFit, Plan]:
        """Fit a summary of complete rows."""
        if not isinstance(summary, Moments):
            raise TypeError(f"solver={self.name!r} needs a Moments, got {type(summary).__name__}.")
        job = Job(summary.n_rows, summary.n_features, request.k)
        fit = with_discrepancy(self.fit_moments(summary, request, spectra), summary, request)
        return fit, replace(self.plan(job, "from a summary"), passes=0)


def with_discrepancy(fit: LatentFit, moments: Moments, request: LatentRequest) -> LatentFit:
    """The fit of a factor model with its discrepancy from the saturated model, which has the sample covariance."""
    best = None if request.tied else saturated_loglike(moments)
    return fit if best is None else replace(fit, discrepancy=2.0 / moments.weight * (best - fit.loglike[-1]))


def job_of(rows: RowsLike, request: LatentRequest) -> Job:
    """The job of fitting these rows."""
    return Job(*rows.shape, request.k, rows.traits)


def check_components(k: int, n_rows: int, weight: float, p: int) -> None:
    """Raise an error if there are too few rows for k components; the length of a stream is known only at its end."""
    most = most_components(n_rows, weight, p)
    if most < 2 and n_rows < 2:
        raise one_row()
    if k > most:
        raise n_components_out_of_range(k, most, n_rows, p, fractions=False)
