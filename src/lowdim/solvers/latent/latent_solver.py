"""What solvers of latent Gaussian models share: what is asked of them, and what they offer."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from ...errors import n_components_out_of_range, one_row
from ...linalg import most_components
from ...summaries.moments import Moments
from ..base import AnySolver, Job, Plan, RowsLike, SpectraLike
from ..results import LatentFit
from .reference_fits import saturated_loglike


@dataclass(frozen=True)
class LatentRequest:
    """What is asked of a latent Gaussian model."""

    k: int
    #: One noise variance for all columns, or one each.
    tied: bool
    #: Noise variances are kept above this, in units of the variance of the column (of all, where they share a unit).
    floor: float
    #: Columns are measured by their own deviations, rather than all by one.
    by_column: bool = True
    #: A prior on the loadings, by variational Bayes.
    bayes: bool = False
    #: Entries that sparse rows do not store are holes.
    unstored: bool = False
    seed: int = 0


class LatentSolver(AnySolver):
    """One way from rows, or from their moments, to a latent Gaussian model."""

    #: Whether it can fit one noise variance for all columns, as PPCA has it.
    ties_noise: ClassVar[bool] = True

    def plan_rows(self, rows: RowsLike, request: LatentRequest, spectra: SpectraLike) -> Plan:
        """What `fit_rows` would do."""
        job = job_of(rows, request)
        refusal = self.refusal(job)
        if refusal is not None:
            raise refusal
        return self.plan(job)

    @abstractmethod
    def fit_rows(self, rows: RowsLike, request: LatentRequest, spectra: SpectraLike) -> tuple[LatentFit, Plan]:
        """Fit complete rows. The signal `MissingValues` is raised where they turn out to have holes."""

    @abstractmethod
    def fit_moments(self, moments: Moments, request: LatentRequest, spectra: SpectraLike) -> LatentFit:
        """Fit complete rows of which the moments are known."""

    def fit_summary(self, summary: Any, request: LatentRequest, spectra: SpectraLike) -> tuple[LatentFit, Plan]:
        """Fit a summary of complete rows."""
        if not isinstance(summary, Moments):
            raise TypeError(f"solver={self.name!r} needs a Moments, got {type(summary).__name__}.")
        job = Job(summary.n_rows, summary.n_features, request.k)
        fit = with_discrepancy(self.fit_moments(summary, request, spectra), summary, request)
        return fit, replace(self.plan(job, "from a summary"), passes=0)


def with_discrepancy(fit: LatentFit, moments: Moments, request: LatentRequest) -> LatentFit:
    """A factor model beside the saturated one, which has the sample covariance itself."""
    best = None if request.tied else saturated_loglike(moments)
    return fit if best is None else replace(fit, discrepancy=2.0 / moments.weight * (best - fit.loglike[-1]))


def job_of(rows: RowsLike, request: LatentRequest) -> Job:
    """What a plan is made for."""
    return Job(*rows.shape, request.k, rows.traits)


def check_components(k: int, n_rows: int, weight: float, p: int) -> None:
    """k components need as many rows, and the length of a stream is known only at its end."""
    most = most_components(n_rows, weight, p)
    if most < 2 and n_rows < 2:
        raise one_row()
    if k > most:
        raise n_components_out_of_range(k, most, n_rows, p, fractions=False)
