"""Latent Gaussian models x = mean + W^T u + e of rows: the problem behind PPCA and factor analysis.

`solve(rows, request, asked, spectra)` is the door. Complete rows are fitted by the closed form, by Newton's method or
by EM; rows with holes by EM.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ...errors import MissingValues
from ..base import Plan, RowsLike, SpectraLike
from ..plan import is_auto, made
from ..results import LatentFit
from .by_eigenpairs import ClosedForm, closed_form
from .em import EM
from .latent_solver import LatentRequest, LatentSolver, check_components
from .newton import Newton
from .reference_fits import independent_loglike, saturated_loglike
from .rotation import ROTATIONS, Equamax, Oblimin, Promax, Quartimax, Rotation, Varimax, rotation_of

#: Solvers by shorthand; solvers of spectra are asked for by their own names and give the closed form.
LATENT_SOLVERS: dict[str, type[LatentSolver]] = {cls.name: cls for cls in (Newton, EM)}


def plan(rows: RowsLike, request: LatentRequest, asked: Any, spectra: SpectraLike) -> Plan:
    """What will run for these rows, before any is read: for complete ones, unless it is known that they have holes."""
    if request.unstored and rows.traits.sparse:
        return em_of(asked).plan_rows(rows, request, spectra)
    complete = solver_of(request, asked).plan_rows(rows, request, spectra)
    return replace(complete, why=f"{complete.why} (rows with holes: em, one pass a step)")


def solve(rows: RowsLike, request: LatentRequest, asked: Any, spectra: SpectraLike) -> tuple[LatentFit, Plan]:
    """The model of greatest likelihood for the rows.

    Whether rows have holes may show only as they are read: then the reading says so by the signal `MissingValues`, and
    EM begins anew.
    """
    if not (request.unstored and rows.traits.sparse) and not rows.shows_holes():
        try:
            fit, the_plan = solver_of(request, asked).fit_rows(rows, request, spectra)
            return fit, replace(the_plan, passes=fit.passes)
        except MissingValues:
            pass
    return em_of(asked).fit_holes(rows, request, spectra)


def solve_summary(summary: Any, request: LatentRequest, asked: Any, spectra: SpectraLike) -> tuple[LatentFit, Plan]:
    """The same from a summary of complete rows: no pass."""
    return solver_of(request, asked).fit_summary(summary, request, spectra)


def solver_of(request: LatentRequest, asked: Any) -> LatentSolver:
    """What fits complete rows."""
    if isinstance(asked, LatentSolver):
        return asked
    if isinstance(asked, str) and asked in LATENT_SOLVERS:
        return made(LATENT_SOLVERS[asked])
    if is_auto(asked) and not request.tied:
        return Newton()
    if is_auto(asked) and request.bayes:
        return EM()
    return ClosedForm(asked)


def em_of(asked: Any) -> EM:
    """What fits rows with holes: EM with the options asked for."""
    return asked if isinstance(asked, EM) else EM()


__all__ = [
    "EM",
    "LATENT_SOLVERS",
    "ROTATIONS",
    "ClosedForm",
    "Equamax",
    "LatentRequest",
    "LatentSolver",
    "Newton",
    "Oblimin",
    "Promax",
    "Quartimax",
    "Rotation",
    "Varimax",
    "check_components",
    "closed_form",
    "em_of",
    "independent_loglike",
    "plan",
    "rotation_of",
    "saturated_loglike",
    "solve",
    "solve_summary",
    "solver_of",
]
