"""Probabilistic PCA of complete rows, in closed form from their eigenpairs."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from ..._xp import to_device, to_numpy
from ...errors import no_variance
from ...linalg import rank_cut
from ...summaries.moments import Moments
from ..base import Cost, Job, Plan, Request, RowsLike, SpectraLike
from ..results import LatentFit, Spectrum
from .latent_solver import LatentJob, LatentRequest, LatentSolver, check_components


@dataclass(frozen=True)
class ClosedForm(LatentSolver):
    """Maximum likelihood with one noise variance for all columns, from the eigenpairs of their covariance.

    Parameters
    ----------
    by : str or Solver
        The solver of spectra: "auto", a name, or an object. The plan of the fit is that of this solver.
    """

    name: ClassVar[str] = "closed-form"
    separates_noise = False
    by: Any = "auto"

    def cost(self, job: LatentJob) -> Cost:
        eigenpairs = _eigenpairs(job)
        cost: Cost = self.plan(job).solver.cost(eigenpairs)
        return cost

    def plan(self, job: LatentJob, why: str = "") -> Plan:
        """The plan of the solver of spectra, whose work is nearly all of it."""
        assert job.spectra is not None, "the job of the closed form needs a way to find eigenpairs"
        plan = job.spectra.plan_job(_eigenpairs(job), self.by)
        return replace(plan, why=why) if why else plan

    def fit_rows(self, rows: RowsLike, request: LatentRequest, spectra: SpectraLike) -> tuple[LatentFit, Plan]:
        spectrum, plan = spectra.solve(rows, _spectral(request), self.by)
        return closed_form(spectrum, rows.shape[1]), plan

    def fit_moments(self, moments: Moments, request: LatentRequest, spectra: SpectraLike) -> LatentFit:
        return self.fit_summary(moments, request, spectra)[0]

    def fit_summary(self, summary: Any, request: LatentRequest, spectra: SpectraLike) -> tuple[LatentFit, Plan]:
        spectrum, plan = spectra.solve_summary(summary, _spectral(request))
        return closed_form(replace(spectrum, passes=1), summary.n_features), plan


def _eigenpairs(job: LatentJob) -> Job:
    """The job of finding the eigenpairs."""
    return Job(job.n, job.p, job.k, job.traits)


def _spectral(request: LatentRequest) -> Request:
    return Request(k=request.k, ddof=0, standardize=request.by_column, seed=request.seed)


def closed_form(spectrum: Spectrum, p: int) -> LatentFit:
    """The maximum likelihood fit from the eigenpairs of the covariance with divisor n ([1], eqs. 7, 8)."""
    k, n = spectrum.values.shape[0], spectrum.weight
    check_components(k, spectrum.n_rows, n, p)
    largest = float(spectrum.values[0])
    if largest <= 0.0:
        raise no_variance("a model with noise")
    # The unit is a standard deviation instead of a variance, so that no square overflows.
    unit = math.sqrt(largest / n)
    values = spectrum.values / largest
    noise = spectrum.tail.total / largest / (p - k) if k < p else 0.0
    # Rows that lie in a k-dimensional subspace have no noise; it is set to the level of rounding.
    noise = max(noise, rank_cut(1.0, p, spectrum.epsilon))
    lengths = np.sqrt(np.clip(values - noise, 0.0, None))
    kept = np.clip(values, noise, None)
    log_likelihood = (
        -0.5
        * n
        * (
            p * math.log(2 * math.pi)
            + 2 * p * math.log(unit)
            + float(np.sum(np.log(kept)))
            + (p - k) * math.log(noise)
            + float(np.sum(values / kept))
            + (spectrum.tail.total / largest / noise if k < p else 0.0)
        )
    )
    if spectrum.scale is not None:
        # Standardized columns have a size of about one, and their standard deviations remain the units.
        log_likelihood -= n * float(np.sum(np.log(to_numpy(spectrum.scale))))
        lengths, noise = lengths * unit, noise * unit**2
    lengths, units, noises = to_device([lengths, np.full(p, unit), np.full(p, noise)], spectrum.vectors)
    return LatentFit(
        mean=spectrum.mean,
        scale=units if spectrum.scale is None else spectrum.scale,
        loadings=spectrum.vectors * lengths[:, None],
        noise=noises,
        spread=None,
        weight=n,
        n_rows=spectrum.n_rows,
        loglike=[log_likelihood],
        status=spectrum.status,
        residual=spectrum.residual,
        passes=spectrum.passes,
        axes=spectrum.vectors,
    )
