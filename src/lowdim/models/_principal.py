"""Principal components of rows for PCA, Whitening and ICA: how many to compute, with the checks and warnings."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np

from ..errors import (
    ConvergenceWarning,
    RankWarning,
    ResolutionWarning,
    n_components_out_of_range,
    no_variance,
    warn_user,
)
from ..linalg import most_components, require_rows
from ..reading import Rows
from ..selection.likelihood import SpectralScorer
from ..solvers import Plan, Request, Spectrum, Status, spectra
from ..solvers.base import counted_rows, repeated_rows, total_weight, with_passes
from ..solvers.results import count_to_reach
from ._rule_choice import apply_cv_rule, apply_rule, at_least_one, check_rule, eigenvalues_for

#: Variances are divided by n: whitened rows have E[z z^T] = I.
_DDOF = 0


def count_rows(rows: Rows, ddof: int, fixed: bool = False) -> int | None:
    """The number of rows, each counted with its weight; None if unknown. An error if there are too few for `ddof`; it
    advises to change that unless it is `fixed`."""
    n = counted_rows(rows)
    if n is not None:
        require_rows(n, total_weight(rows) or 0.0, ddof, fixed)
    return repeated_rows(rows)


def count_pairs(n_components: Any, n: int | None, p: int, *, of_rows: bool = False) -> int | None:
    """The number of eigenpairs that `n_components` needs for n rows and p columns; None means all, which a fraction of
    variance needs too. With `of_rows` the number of components is not limited by the number of columns."""
    k = n_components
    if k is None:
        return None
    upper: Any = p if n is None else min(n, p)
    if of_rows:
        upper = float("inf") if n is None else n
    if isinstance(k, numbers.Real) and not isinstance(k, bool | np.bool_):
        if isinstance(k, numbers.Integral) and 1 <= int(k) <= upper:
            return int(k)
        if not isinstance(k, numbers.Integral) and 0.0 < float(k) < 1.0:
            return None
    raise n_components_out_of_range(k, upper, n, p, of_rows=of_rows)


def share_of(n_components: Any) -> float | None:
    """The share of the variance that `n_components` asks for; None if it is a number of components, a rule or None."""
    is_share = isinstance(n_components, numbers.Real) and not isinstance(n_components, numbers.Integral)
    return float(n_components) if is_share else None


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


def warn_of_status(spectrum: Spectrum, the_plan: Plan, last_chance: bool = False) -> None:
    """Warn if eigenpairs are inaccurate. Eigenvalues at or below the rank cut count as zero and need no warning, unless
    the rows cannot be read again (`last_chance`)."""
    if spectrum.status is Status.NOT_CONVERGED:
        warn_user(
            f"solver={the_plan.solver.name!r} stopped after {spectrum.passes} passes at residual "
            f"{spectrum.residual:.1e} lambda_1, above its tolerance {the_plan.solver.tol:g}. Raise max_steps or block, "
            "or ask for fewer components.",
            ConvergenceWarning,
        )
    elif spectrum.status is Status.UNRESOLVED:
        largest, smallest = float(spectrum.values[0]), float(spectrum.values[-1])
        if last_chance or smallest > spectrum.rank_cut:
            warn_user(
                f"the smallest eigenvalue kept is {smallest / largest:.1e} of the largest, and "
                f"solver={the_plan.solver.name!r} loses its digits. Use solver='triangle', or keep fewer components.",
                ResolutionWarning,
            )


# ---- For the whitening step of ICA: components, checks and warnings of PCA(n_components, whiten=True, ddof=0)


def principal_request(rows: Rows, n_components: Any) -> Request:
    """The request to the solver of eigenpairs; an error if the rows do not allow it.

    If all components are kept, the result does not depend on the units of the columns. They are then standardized
    first, since their scales may be very different.
    """
    n, p = count_rows(rows, _DDOF), rows.shape[1]
    if isinstance(n_components, str):
        check_rule(n_components)
        k = None
    else:
        k = count_pairs(n_components, n, p)
    standardize = n_components is None or n_components == p
    return Request(k=k, share=share_of(n_components), ddof=_DDOF, standardize=standardize)


def principal_spectrum(rows: Rows, n_components: Any) -> tuple[Spectrum, Plan]:
    """The leading eigenpairs with positive variance, as many as `n_components` says, and the plan of the solver.

    It takes one pass over the rows, or as many as `plan_.passes` of PCA says.
    """
    request = principal_request(rows, n_components)
    if isinstance(n_components, str):
        spectrum, the_plan, k = _solve_by_rule(rows, request, n_components)
    else:
        spectrum, the_plan = spectra.solve(rows, request)
        share = share_of(n_components)
        k = int(spectrum.values.shape[0]) if share is None else count_to_reach(spectrum, share)
    n, p = spectrum.n_rows, rows.shape[1]
    most = most_components(n, spectrum.weight, p)
    if spectrum.values.shape[0] > most:
        raise n_components_out_of_range(n_components, most, n, p)
    warn_of_status(spectrum, the_plan)
    return spectrum.truncated(with_variance(spectrum, k)), the_plan


def _solve_by_rule(rows: Rows, request: Request, name: str) -> tuple[Spectrum, Plan, int]:
    """All eigenpairs, the plan, and the number of components that a rule chooses."""
    if name == "cv":
        choice, total = apply_cv_rule(SpectralScorer(request.standardize), rows.source, rows.weights, request.seed)
        assert choice.k is not None and choice.cross_validation is not None
        # The spectrum is computed from the merged summaries of the folds, if there are any.
        spectrum, the_plan = spectra.solve(rows, request) if total is None else spectra.solve_summary(total, request)
        passes = choice.cross_validation.n_passes + spectrum.passes
        return with_passes(spectrum, passes), with_passes(the_plan, passes), at_least_one(choice.k, name)
    spectrum, the_plan = spectra.solve(rows, request)
    rule = check_rule(name)
    _, k = apply_rule(rule, eigenvalues_for(rule, spectrum, rows.shape[1], request.ddof), request.seed)
    return spectrum, the_plan, k
