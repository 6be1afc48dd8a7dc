"""Independent sources of whitened rows: the problem behind ICA.

`solve(rows, request, asked)` is the entry point. `make_whitener` computes the whitening matrix from the spectrum of the
rows. `non_gaussianity` and `gaussian_sources` find the sources that cannot be distinguished from Gaussian ones. Each
solver has its own file and is listed in the table `ICA_SOLVERS`.
"""

from __future__ import annotations

from dataclasses import replace

from ..._blas import single_threaded_blas
from ..._devices import free_device_bytes
from ...errors import choice
from ..base import Plan, RowsLike
from ..plan import make_plan
from .answer import IcaFit, sort_sources
from .diagnosis import agreement, gaussian_sources, non_gaussianity
from .fixed_point import FixedPointICA
from .ica_job import IcaJob, IcaRequest
from .ica_solver import IcaSolver
from .objective import Objective
from .quasi_newton import QuasiNewtonICA
from .starts import Unmixer, check_start, random_rotations
from .whitener import Whitener, make_whitener, whiten_rows

__all__ = [
    "ICA_SOLVERS",
    "FixedPointICA",
    "IcaFit",
    "IcaJob",
    "IcaRequest",
    "IcaSolver",
    "Objective",
    "QuasiNewtonICA",
    "Whitener",
    "check_start",
    "gaussian_sources",
    "make_whitener",
    "non_gaussianity",
    "plan",
    "solve",
]

#: Solvers by shorthand.
ICA_SOLVERS: dict[str, type[IcaSolver]] = {cls.name: cls for cls in (QuasiNewtonICA, FixedPointICA)}


def plan(rows: RowsLike, request: IcaRequest, asked: str | IcaSolver = "quasi-newton") -> Plan:
    """The plan for these rows, before any is read. The cost of whitening is not included."""
    return _plan(_job(rows, request), asked)


def solve(rows: RowsLike, request: IcaRequest, asked: str | IcaSolver = "quasi-newton") -> tuple[IcaFit, Plan]:
    """The result of highest likelihood from all starts, with its sources in order of their variance in the rows.

    Each step from a start is one pass over the rows, or over the whitened rows if those are kept; `IcaSolver.cost`
    states the cost.
    """
    whitener = request.whitener
    if whitener is None:
        raise TypeError("a request without a whitener can be planned but not solved; create one by make_whitener.")
    k = int(whitener.matrix.shape[0])
    job = _job(rows, replace(request, k=k), whitener.n_rows)
    the_plan = _plan(job, asked)
    solver: IcaSolver = the_plan.solver
    if request.start is None:
        starts = random_rotations(k, request.n_init, request.seed)
    else:
        starts = [check_start(request.start, k, solver.ortho)]
    mean, matrix = whitener.mean, whitener.matrix
    if job.keeps_white_rows:
        rows, mean, matrix = whiten_rows(rows, whitener)
    unmixer = Unmixer(rows, mean, matrix, request.density, request.extended, solver, job, request.seed)
    with single_threaded_blas():
        answers, passes = unmixer.run(starts)
    best = min(answers, key=unmixer.loss)
    stability = None if len(answers) == 1 else agreement(best, answers)
    return sort_sources(best, stability, passes, whitener.lift), replace(the_plan, passes=passes)


def _plan(job: IcaJob, asked: str | IcaSolver) -> Plan:
    # There is no "auto", because the better solver does not depend on the shape of the rows.
    if isinstance(asked, str) and asked not in ICA_SOLVERS:
        raise choice("solver", asked, tuple(ICA_SOLVERS))
    return make_plan(job, asked, ICA_SOLVERS, IcaSolver, what="a solver object such as QuasiNewtonICA()")


def _job(rows: RowsLike, request: IcaRequest, n_rows: int | None = None) -> IcaJob:
    n, p = rows.shape
    search = request.start is None
    free = free_device_bytes(rows.empty(0))
    return IcaJob(n if n_rows is None else n_rows, p, request.k, rows.traits, request.n_init, search, free)
