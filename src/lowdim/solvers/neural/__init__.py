"""Auto-encoders: networks that map rows to few latent variables and back, the problem behind AutoEncoder.

`solve(rows, request, asked, later)` is the entry point. Networks start at the solution of PCA, which the caller
computes (`LinearSolution`). Each solver has its own file and is listed in the table `NEURAL_SOLVERS`. torch is imported
only when a network is trained, or when a module of the user is applied.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from ..problem import Plan, RowsLike, make_plan
from .network import Design, LinearOptimum, Network, NeuralFit, NeuralJob, NeuralRequest, NeuralSolver
from .training import Adam

#: Solvers by shorthand.
NEURAL_SOLVERS: dict[str, type[NeuralSolver]] = {cls.name: cls for cls in (LinearOptimum, Adam)}


def plan(rows: RowsLike, design: Design, asked: Any = "auto") -> Plan:
    """The plan for these rows, before any is read. The cost of the linear solution is not included."""
    job = NeuralJob(*rows.shape, design.k, rows.traits, design)
    return make_plan(job, asked, NEURAL_SOLVERS, NeuralSolver, what="a solver object such as Adam()")


def solve(
    rows: RowsLike, request: NeuralRequest, asked: Any = "auto", later: Iterable[Any] | None = None
) -> tuple[NeuralFit, Plan]:
    """The trained network. If `rows` are the first window of a stream, `later` are the others."""
    the_plan = plan(rows, request.design, asked)
    fit = the_plan.solver.train(rows, request, later)
    return fit, replace(the_plan, passes=fit.passes)


def as_modules(network: Network) -> tuple[Any, Any]:
    """Encoder and decoder as torch modules, from rows to scores and back."""
    from .training import require_torch

    require_torch()
    from .training import DecoderModule, EncoderModule

    return EncoderModule(network), DecoderModule(network)
