"""Latent Gaussian models x = mean + W^T u + e of rows: the problem behind PPCA and factor analysis.

`solve(rows, request, asked, spectra)` is the entry point. Complete rows are fitted by the closed form, by Newton's
method or by EM; rows with holes (missing entries) are fitted by EM.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ...errors import MissingValues
from ..base import Plan, RowsLike, SpectraLike, with_passes
from ..plan import is_auto, make_solver
from ..results import LatentFit
from .by_eigenpairs import ClosedForm, closed_form
from .em import EM
from .latent_solver import LatentRequest, LatentSolver, check_components
from .newton import Newton
from .reference_fits import independent_loglike, saturated_loglike
from .rotation import ROTATIONS, Equamax, Oblimin, Promax, Quartimax, Rotation, Varimax, rotation_of

#: Solvers by shorthand. The closed form is requested by the name of a solver of spectra.
LATENT_SOLVERS: dict[str, type[LatentSolver]] = {cls.name: cls for cls in (Newton, EM)}


def plan(rows: RowsLike, request: LatentRequest, asked: Any, spectra: SpectraLike) -> Plan:
    """The plan for these rows, before any is read. They are assumed to be complete unless they surely have holes."""
    if request.unstored and rows.traits.sparse:
        return em_of(asked).plan_holes(rows, request)
    complete = solver_of(request, asked).plan_rows(rows, request, spectra)
    return replace(complete, why=f"{complete.why} (rows with holes: em, one pass per step)")


def solve(rows: RowsLike, request: LatentRequest, asked: Any, spectra: SpectraLike) -> tuple[LatentFit, Plan]:
    """The model of maximum likelihood for the rows.

    Holes may be found only when the rows are read. Reading then raises `MissingValues`, and the rows are fitted by EM.
    """
    if not (request.unstored and rows.traits.sparse) and not rows.shows_holes():
        try:
            fit, the_plan = solver_of(request, asked).fit_rows(rows, request, spectra)
            return fit, with_passes(the_plan, fit.passes)
        except MissingValues:
            pass
    return em_of(asked).fit_holes(rows, request, spectra)


def solve_summary(summary: Any, request: LatentRequest, asked: Any, spectra: SpectraLike) -> tuple[LatentFit, Plan]:
    """The model of maximum likelihood from a summary of complete rows, without a pass over them."""
    return solver_of(request, asked).fit_summary(summary, request, spectra)


def solver_of(request: LatentRequest, asked: Any) -> LatentSolver:
    """The solver for complete rows."""
    if isinstance(asked, LatentSolver):
        return asked
    if isinstance(asked, str) and asked in LATENT_SOLVERS:
        return make_solver(LATENT_SOLVERS[asked])
    if is_auto(asked) and not request.tied:
        return Newton()
    if is_auto(asked) and request.bayes:
        return EM()
    return ClosedForm(asked)


def em_of(asked: Any) -> EM:
    """The solver for rows with holes: EM, with the options of `asked` if that is an EM."""
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
