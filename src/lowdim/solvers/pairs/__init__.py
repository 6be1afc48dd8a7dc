"""Components of two or more tables side by side: the problem behind PLS, PCR, CCA, GCCA and KernelCCA.

`solve(tables, request, asked)` is the entry point. A reduction replaces the rows by a few coordinates that keep all
inner products between columns (`reductions.py`, `views.py`), and the components are computed from these coordinates
(`pls.py`, `cca.py`). Each reduction is listed in the table `REDUCTIONS`.
"""

from typing import Any

from .reductions import REDUCTIONS, PairProblem


def _advice(name: Any) -> str:
    return "Krylov iterations are for PCA." if isinstance(name, str) and name == "krylov" else ""


_PROBLEM = PairProblem(REDUCTIONS, advice=_advice)
plan, plan_job = _PROBLEM.plan, _PROBLEM.plan_job
solve, solve_summary, reduction_for = _PROBLEM.solve, _PROBLEM.solve_summary, _PROBLEM.solver_for
check_asked, streaming_reduction = _PROBLEM.check, _PROBLEM.streaming
