"""Eigenpairs of the covariance of rows: the problem behind PCA, whitening and PPCA.

`solve(rows, request, asked)` is the entry point. Each solver has its own file and is listed in the table `SOLVERS`.
"""

from dataclasses import replace
from typing import Any, cast

from ...errors import choice
from ...linalg import quiet_blas
from ...sources.base import Traits
from ..problem import (
    Job,
    Plan,
    Request,
    RowsLike,
    Spectrum,
    Status,
    cached_choice,
    escalate,
    find_solver,
    is_auto,
    make_plan,
    with_passes,
)
from .base import Solver
from .covariance import Covariance, Triangle, with_certain_zeros
from .gram import Gram
from .krylov import Krylov

#: Solvers by shorthand.
SOLVERS: dict[str, type[Solver]] = {cls.name: cls for cls in (Covariance, Triangle, Gram, Krylov)}

#: The solver for each of scikit-learn's svd_solver strings.
SKLEARN_SOLVERS = {
    "auto": "auto",
    "full": "triangle",
    "covariance_eigh": "covariance",
    "arpack": "krylov",
    "randomized": "krylov",
}


def solve(rows: RowsLike, request: Request, asked: str | Solver = "auto") -> tuple[Spectrum, Plan]:
    """Eigenpairs by the solver `asked` for; with "auto", more accurate solvers follow until they are resolved."""
    job = _job(rows, request)
    the_plan = plan_job(job, asked)
    auto = is_auto(asked)
    if auto and loses_digits(rows, request):
        why = "the stream can be read only once, and the covariance of its first block loses the small eigenvalues"
        the_plan = Triangle().plan(job, why)

    def run(solver: Solver) -> Spectrum:
        found = solver.solve(rows, request)
        doubtful = auto and found.status is Status.UNRESOLVED and rows.traits.rereadable
        return with_certain_zeros(found, rows, request) if doubtful and isinstance(solver, Covariance) else found

    spectrum, the_plan, passes = escalate(the_plan, run, job, allowed=auto)
    return with_passes(spectrum, passes), with_passes(the_plan, passes)


def solve_summary(summary: Any, request: Request, asked: str | Solver = "auto") -> tuple[Spectrum, Plan]:
    """Eigenpairs from a summary of the rows, without a pass over them."""
    solver = solver_for(summary, asked)
    spectrum = replace(solver.solve_summary(summary, request), passes=0)
    job = Job(summary.n_rows, summary.n_features, request.k)
    return spectrum, replace(solver.plan(job, "from a summary"), passes=0)


def plan(rows: RowsLike, request: Request, asked: str | Solver = "auto") -> Plan:
    """The plan for these rows, before any is read."""
    return plan_job(_job(rows, request), asked)


def plan_shape(
    shape: tuple[int | None, int], k: int | None = None, *, solver: str | Solver = "auto", traits: Traits | None = None
) -> Plan:
    """The plan for rows of this shape."""
    if not isinstance(shape, tuple) or len(shape) != 2:
        raise TypeError(f"shape must be a pair (n, p), got {type(shape).__name__}; for rows pass X.shape.")
    if shape[1] < 1 or (shape[0] is not None and shape[0] < 1):
        raise ValueError(f"shape={shape} must hold a positive number of rows (or None) and of columns.")
    if k is not None and not 1 <= k <= shape[1]:
        raise ValueError(f"k={k} must be between 1 and p={shape[1]}, or None for all.")
    return plan_job(Job(*shape, k, traits or Traits()), solver)


def plan_job(job: Job, asked: str | Solver = "auto") -> Plan:
    """The plan for a job."""
    if is_auto(asked):
        return cached_choice(job, SOLVERS)[1]
    return make_plan(job, asked, SOLVERS, Solver, advice=_advice)


def solver_for(summary: Any, asked: str | Solver = "auto") -> Solver:
    """The solver that starts from a summary of this class: the one `asked` for, or the first such in the table."""
    able = [cls for cls in SOLVERS.values() if cls.starts_from is not None and isinstance(summary, cls.starts_from)]
    if not able:
        known = " or a ".join(cls.starts_from.__name__ for cls in SOLVERS.values() if cls.starts_from is not None)
        raise TypeError(f"a {known} is needed, got {type(summary).__name__}.")
    if is_auto(asked):
        return able[0]()
    solver = find_solver(asked, SOLVERS, Solver, advice=_advice)
    if solver.starts_from is not None and isinstance(summary, solver.starts_from):
        return cast(Solver, solver)
    raise ValueError(
        f"solver={asked!r} cannot start from a {able[0].starts_from.__name__}; use 'auto' or {able[0].name!r}."  # type: ignore[union-attr]
    )


def streaming_solver(asked: str | Solver = "auto") -> Solver:
    """The solver for rows that arrive in blocks: it solves repeatedly from one growing summary."""
    job = Job(None, 1, None, Traits(rereadable=False, by_feature=False))
    solver: Solver = plan_job(job, asked).solver
    return solver


def solver_of(asked: Any) -> Solver | None:
    """The solver of this name, or the solver object itself.

    None for "auto", and for anything that is not a solver, for which `solve` raises the error.
    """
    if isinstance(asked, str):
        return SOLVERS[asked]() if asked in SOLVERS else None
    return asked if isinstance(asked, Solver) else None


def loses_digits(rows: RowsLike, request: Request, least_rows: int = 2) -> bool:
    """Whether a stream that can be read only once needs a solver that is more accurate than the covariance.

    A more accurate solver cannot follow later, so the covariance of the first block is examined: it must resolve the
    requested eigenvalues. A first block of fewer than `least_rows` rows is not examined.
    """
    first = None if rows.traits.rereadable else rows.first_block()
    if first is None:
        return False
    n, p = first.shape[0] or 1, first.shape[1]
    k = min(p if request.k is None else request.k, n - 1)
    if k < 1 or n < least_rows:
        return False
    with quiet_blas(p):
        pilot = Covariance(wide=True).solve(first, replace(request, k=k))
    return pilot.status is not Status.EXACT


def sklearn_solver(svd_solver: Any) -> str:
    """The name of the solver for scikit-learn's `svd_solver` string."""
    if svd_solver not in SKLEARN_SOLVERS:
        raise choice(
            "svd_solver", svd_solver, list(SKLEARN_SOLVERS), "Options of a solver go into solver=..., e.g. Krylov()."
        )
    return SKLEARN_SOLVERS[svd_solver]


def _advice(name: str) -> str:
    return f"scikit-learn's names go into svd_solver={name!r}." if name in SKLEARN_SOLVERS else ""


def _job(rows: RowsLike, request: Request) -> Job:
    return Job(*rows.shape, request.k, rows.traits)
