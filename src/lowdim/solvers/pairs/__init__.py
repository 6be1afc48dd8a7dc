"""Components of two or more tables side by side: the problem behind PLS, PCR, CCA, GCCA and KernelCCA.

`solve(tables, request, asked)` is the entry point. A reduction replaces the rows by a few coordinates that keep all
inner products between columns (`views.py`), and the components are computed from these coordinates (`paired_scores.py`,
`canonical.py`). Each reduction has its own file and is listed in the table `REDUCTIONS`.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ...errors import choice
from ...linalg import quiet_blas
from ...summaries.base import require_seen
from ..problem import Plan, cached_choice, escalate, find_solver, is_auto, make_plan, with_passes
from .reductions import (
    CovarianceReduction,
    GramReduction,
    Reduction,
    Tables,
    TablesJob,
    TablesRequest,
    TablesSolution,
    TriangleReduction,
)
from .views import Views

#: Reductions by shorthand.
REDUCTIONS: dict[str, type[Reduction]] = {
    cls.name: cls for cls in (CovarianceReduction, TriangleReduction, GramReduction)
}


def plan(
    tables: Tables, request: TablesRequest, asked: str | Reduction = "auto", among: Mapping[str, Any] = REDUCTIONS
) -> Plan:
    """The plan for these tables, before any row is read; `among` is the table of reductions to choose from."""
    return plan_job(TablesJob.of(tables, request), asked, among)


def solve(
    tables: Tables, request: TablesRequest, asked: str | Reduction = "auto", among: Mapping[str, Any] = REDUCTIONS
) -> tuple[TablesSolution, Plan]:
    """Components by the reduction `asked` for; with "auto", more accurate ones follow until they are resolved."""
    job = TablesJob.of(tables, request)

    def run(reduction: Reduction) -> TablesSolution:
        views = reduction.views(tables, request.standardize, request.ddof)
        return replace(_components(views, request), passes=reduction.passes)

    solution, the_plan, passes = escalate(plan_job(job, asked, among), run, job, allowed=is_auto(asked))
    return with_passes(solution, passes), with_passes(the_plan, passes)


def solve_summary(
    summary: Any, names: tuple[str, ...], request: TablesRequest, asked: str | Reduction = "auto"
) -> tuple[TablesSolution, Plan]:
    """Components from a Moments or Triangle summary of the tables side by side, without a pass over the rows."""
    require_seen(summary)
    reduction = reduction_for(summary, asked)
    views = reduction.views_of_summary(summary, names, request.standardize, request.ddof)
    the_plan = reduction.plan(TablesJob.of_summary(summary.n_rows, summary.groups), "from a summary")
    return _components(views, request), replace(the_plan, passes=0)


def _components(views: Views, request: TablesRequest) -> TablesSolution:
    """The components of tables with these coordinates."""
    k = request.count(views.n_rows, views.weight)
    with quiet_blas(views.n_columns):
        if request.narrow is not None:
            views = request.narrow(views, k)
        return TablesSolution(views, request.components(views, k), 0)


def plan_job(job: TablesJob, asked: str | Reduction = "auto", among: Mapping[str, Any] = REDUCTIONS) -> Plan:
    """The plan for a job. A reduction that does not fit into memory is refused, even if it was requested."""
    if is_auto(asked) and among is REDUCTIONS:
        return cached_choice(job, REDUCTIONS)[1]
    return make_plan(job, asked, among, Reduction, what="a reduction", advice=_advice)


def check_asked(asked: Any) -> None:
    """Raise an error unless `asked` is "auto", the name of a reduction, or a reduction."""
    if not isinstance(asked, Reduction) and not (isinstance(asked, str) and asked in ("auto", *REDUCTIONS)):
        raise choice("solver", asked, ["auto", *REDUCTIONS], _advice(asked))


def reduction_for(summary: Any, asked: str | Reduction = "auto") -> Reduction:
    """The reduction that starts from a summary of this class: the one `asked` for, or the only such in the table."""
    able = [cls for cls in REDUCTIONS.values() if cls.starts_from is not None and isinstance(summary, cls.starts_from)]
    if not able:
        raise TypeError(f"a Moments or a Triangle is needed, got {type(summary).__name__}.")
    if is_auto(asked):
        return able[0]()
    reduction: Reduction = find_solver(asked, REDUCTIONS, Reduction, what="a reduction", advice=_advice)
    if reduction.starts_from is not None and isinstance(summary, reduction.starts_from):
        return reduction
    raise ValueError(f"solver={asked!r} cannot start from a {type(summary).__name__}; use 'auto' or {able[0].name!r}.")


def streaming_reduction(asked: str | Reduction = "auto") -> Reduction:
    """The reduction for rows that arrive in blocks: it starts repeatedly from one growing summary."""
    if is_auto(asked):
        return CovarianceReduction()
    reduction: Reduction = find_solver(asked, REDUCTIONS, Reduction, what="a reduction", advice=_advice)
    return reduction


def _advice(name: Any) -> str:
    return "Krylov iterations are for PCA." if isinstance(name, str) and name == "krylov" else ""
