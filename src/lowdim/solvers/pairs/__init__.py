"""Components of two or more tables side by side: the problem behind PLS, PCR, CCA, GCCA and KernelCCA.

`solve(tables, request, asked)` is the entry point. A reduction replaces the rows by a few coordinates that keep all
inner products between columns (`reductions.py`, `views.py`), and the components are computed from these coordinates
(`pls.py`, `cca.py`). Each reduction is listed in the table `REDUCTIONS`.
"""

from dataclasses import dataclass
from typing import Any

from ...errors import choice
from ..problem import Problem, is_auto
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

#: Reductions by shorthand.
REDUCTIONS: dict[str, type[Reduction]] = {
    cls.name: cls for cls in (CovarianceReduction, TriangleReduction, GramReduction)
}


@dataclass(frozen=True)
class PairProblem(Problem[TablesSolution]):
    """The components of tables by one of several reductions."""

    kind: Any = Reduction
    what: str = "a reduction"

    def job(self, rows: Tables, request: TablesRequest) -> TablesJob:
        return TablesJob.of(rows, request)

    def summary_job(self, summary: Any, request: TablesRequest) -> TablesJob:
        return TablesJob(summary.n_rows, summary.n_features, None, widths=tuple(summary.groups))


def _advice(name: Any) -> str:
    return "Krylov iterations are for PCA." if isinstance(name, str) and name == "krylov" else ""


_PROBLEM = PairProblem(REDUCTIONS, advice=_advice)
plan, plan_job = _PROBLEM.plan, _PROBLEM.plan_job
solve, solve_summary, reduction_for = _PROBLEM.solve, _PROBLEM.solve_summary, _PROBLEM.solver_for


def check_asked(asked: Any) -> None:
    """Raise an error unless `asked` is "auto", the name of a reduction, or a reduction."""
    if not isinstance(asked, Reduction) and not (isinstance(asked, str) and asked in ("auto", *REDUCTIONS)):
        raise choice("solver", asked, ["auto", *REDUCTIONS], _advice(asked))


def streaming_reduction(asked: str | Reduction = "auto") -> Reduction:
    """The reduction for rows that arrive in blocks: it starts repeatedly from one growing summary."""
    reduction: Reduction = CovarianceReduction() if is_auto(asked) else _PROBLEM.find(asked)
    return reduction
