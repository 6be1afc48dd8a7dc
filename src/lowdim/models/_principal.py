"""The principal components for the whitening step of ICA.

The components, checks and warnings are those of PCA(n_components, whiten=True, ddof=0).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ..errors import (
    ConvergenceWarning,
    RankWarning,
    ResolutionWarning,
    n_components_out_of_range,
    no_variance,
    too_few_rows,
    warn_user,
)
from ..linalg import divisor, most_components
from ..reading import Rows
from ..selection.likelihood import SpectralScorer
from ..solvers import Plan, Request, Spectrum, Status, spectra
from ..solvers.base import total_weight
from ..solvers.results import reaching
from ._rule_choice import apply_cv_rule, apply_rule, at_least_one, check_rule, eigenvalues_for
from ._spectral import count_pairs

#: Variances are divided by n: whitened rows have E[z z^T] = I.
_DDOF = 0


def principal_request(rows: Rows, n_components: Any) -> Request:
    """The request to the solver of eigenpairs; an error if the rows do not allow it.

    If all components are kept, the result does not depend on the units of the columns. They are then standardized
    first, since their scales may be very different.
    """
    n, p = rows.shape
    if n is not None:
        weight = total_weight(rows) or 0.0
        if divisor(weight, _DDOF) <= 0:
            raise too_few_rows(n, weight, _DDOF)
        n = max(n, int(weight))
    if isinstance(n_components, str):
        check_rule(n_components)
        k = None
    else:
        upper = p if n is None else min(n, p)
        k = count_pairs(n_components, upper, lambda: n_components_out_of_range(n_components, upper, n, p))
    return Request(k=k, ddof=_DDOF, standardize=n_components is None or n_components == p)


def principal_spectrum(rows: Rows, n_components: Any) -> tuple[Spectrum, Plan]:
    """The leading eigenpairs with positive variance, as many as `n_components` says, and the plan of the solver.

    It takes one pass over the rows, or as many as `plan_.passes` of PCA says.
    """
    request = principal_request(rows, n_components)
    if isinstance(n_components, str):
        spectrum, the_plan, k = _solve_by_rule(rows, request, n_components)
    else:
        spectrum, the_plan = spectra.solve(rows, request)
        is_share = n_components is not None and 0.0 < n_components < 1.0
        k = reaching(spectrum, float(n_components)) if is_share else int(spectrum.values.shape[0])
    n, p = spectrum.n_rows, rows.shape[1]
    most = most_components(n, spectrum.weight, p)
    if spectrum.values.shape[0] > most:
        raise n_components_out_of_range(n_components, most, n, p)
    _warn_of_status(spectrum, the_plan)
    rank = min(spectrum.rank, k)
    if rank == 0:
        raise no_variance("whitening")
    if rank < k:
        warn_user(
            f"{k - rank} of {k} components have no variance and were dropped, since whitening divides by it; "
            f"{rank} are left.",
            RankWarning,
        )
    return spectrum.truncated(rank), the_plan


def _solve_by_rule(rows: Rows, request: Request, name: str) -> tuple[Spectrum, Plan, int]:
    """All eigenpairs, the plan, and the number of components that a rule chooses."""
    if name == "cv":
        choice, total = apply_cv_rule(SpectralScorer(request.standardize), rows.source, rows.weights, request.seed)
        # The spectrum is computed from the merged summaries of the folds.
        spectrum, the_plan = spectra.solve_summary(total, request)
        assert choice.k is not None and choice.cross_validation is not None
        passes = choice.cross_validation.n_passes
        return replace(spectrum, passes=passes), replace(the_plan, passes=passes), at_least_one(choice.k, name)
    spectrum, the_plan = spectra.solve(rows, request)
    rule = check_rule(name)
    _, k = apply_rule(rule, eigenvalues_for(rule, spectrum, rows.shape[1], request.ddof), request.seed)
    return spectrum, the_plan, k


def _warn_of_status(spectrum: Spectrum, the_plan: Plan) -> None:
    """Warn if eigenpairs are inaccurate. Eigenvalues at or below the rank cut count as zero and need no warning, since
    their components are dropped."""
    if spectrum.status is Status.NOT_CONVERGED:
        warn_user(
            f"solver={the_plan.solver.name!r} stopped after {spectrum.passes} passes at residual "
            f"{spectrum.residual:.1e} lambda_1, above its tolerance {the_plan.solver.tol:g}. Raise max_steps or block, "
            "or ask for fewer components.",
            ConvergenceWarning,
        )
    elif spectrum.status is Status.UNRESOLVED:
        largest, smallest = float(spectrum.values[0]), float(spectrum.values[-1])
        if smallest > spectrum.rank_cut:
            warn_user(
                f"the smallest eigenvalue kept is {smallest / largest:.1e} of the largest, and "
                f"solver={the_plan.solver.name!r} loses its digits. Use solver='triangle', or keep fewer components.",
                ResolutionWarning,
            )
