"""Latent Gaussian models x = mean + W^T u + e of rows: the problem behind PPCA and factor analysis.

`solve(rows, request, asked, spectra)` is the entry point. Complete rows are fitted by the closed form, by Newton's
method or by EM; rows with holes (missing entries) are fitted by EM.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ...errors import MissingValues, holes_after_reading
from ...summaries.moments import Moments
from ...summaries.triangle import Triangle
from ..base import Plan, RowsLike, SpectraLike, with_passes
from ..plan import cached_choice, checked_plan, find_solver, is_auto
from ..results import LatentFit
from .by_eigenpairs import ClosedForm, closed_form
from .em import EM
from .latent_solver import LatentJob, LatentRequest, LatentSolver, check_components, rows_job, summary_job
from .newton import Newton, NewtonCG
from .reference_fits import independent_loglike, saturated_loglike
from .rotation import ROTATION_TOLERANCE, ROTATIONS, Equamax, Oblimin, Promax, Quartimax, Rotation, Varimax, rotation_of
from .saturated_fit import Saturated, saturated

#: Solvers by shorthand. The closed form is requested by the name of a solver of spectra.
LATENT_SOLVERS: dict[str, type[LatentSolver]] = {cls.name: cls for cls in (Newton, EM, NewtonCG)}


def plan(rows: RowsLike, request: LatentRequest, asked: Any, spectra: SpectraLike) -> Plan:
    """The plan for these rows, before any is read. They are assumed to be complete unless they surely have holes."""
    job = rows_job(rows, request, spectra)
    the_plan = checked_plan(solver_for(job, asked), job)
    if not job.complete:
        return the_plan
    return replace(the_plan, why=f"{the_plan.why} (rows with holes: em, one pass per step)")


def solve(rows: RowsLike, request: LatentRequest, asked: Any, spectra: SpectraLike) -> tuple[LatentFit, Plan]:
    """The model of maximum likelihood for the rows.

    Holes may be found only when the rows are read. Reading then raises `MissingValues`, and the rows are fitted by a
    solver that takes holes.
    """
    job = rows_job(rows, request, spectra)
    if job.complete and not rows.shows_holes():
        try:
            fit, the_plan = solver_for(job, asked).fit_rows(rows, request, spectra)
            return fit, with_passes(the_plan, fit.passes)
        except MissingValues as holes:
            if not rows.traits.rereadable:
                raise holes_after_reading(holes) from holes
    return solver_for(replace(job, complete=False), asked).fit_holes(rows, request, spectra)


def solve_summary(summary: Any, request: LatentRequest, asked: Any, spectra: SpectraLike) -> tuple[LatentFit, Plan]:
    """The model of maximum likelihood from a summary of complete rows, without a pass over them."""
    return solver_for(summary_job(summary, request, spectra), asked).fit_summary(summary, request, spectra)


def empty_summary(rows: RowsLike, request: LatentRequest, asked: Any, spectra: SpectraLike) -> Moments | Triangle:
    """An empty summary of the kind that `solve` would fit complete rows by, for callers that fit it several times."""
    return solver_for(rows_job(rows, request, spectra), asked).empty_summary(rows.shape[1], request)


def solver_for(job: LatentJob, asked: Any) -> LatentSolver:
    """The solver for a job: the one `asked` for, unless it takes only complete rows and there are holes.

    A solver of spectra stands for the closed form with that solver. "auto" takes the cheapest of all.
    """
    if not is_auto(asked):
        named = isinstance(asked, str) and asked in LATENT_SOLVERS
        solver = find_solver(asked, LATENT_SOLVERS, LatentSolver) if named else asked
        solver = solver if isinstance(solver, LatentSolver) else ClosedForm(asked)
        if job.complete or solver.takes_holes:
            return solver
    cheapest: LatentSolver = cached_choice(job, {**LATENT_SOLVERS, ClosedForm.name: ClosedForm})[0]
    return cheapest


__all__ = [
    "EM",
    "LATENT_SOLVERS",
    "ROTATIONS",
    "ROTATION_TOLERANCE",
    "ClosedForm",
    "Equamax",
    "LatentJob",
    "LatentRequest",
    "LatentSolver",
    "Newton",
    "NewtonCG",
    "Oblimin",
    "Promax",
    "Quartimax",
    "Rotation",
    "Saturated",
    "Varimax",
    "check_components",
    "closed_form",
    "empty_summary",
    "independent_loglike",
    "plan",
    "rotation_of",
    "saturated",
    "saturated_loglike",
    "solve",
    "solve_summary",
]
