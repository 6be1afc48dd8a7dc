"""Auto-encoders: networks that map rows to few latent variables and back, the problem behind AutoEncoder.

`solve(rows, request, asked)` is the entry point. Networks start at the solution of PCA, which the caller
computes (`LinearSolution`). Each solver has its own file and is listed in the table `NEURAL_SOLVERS`. torch is imported
only when a network is trained, or when a module of the user is applied.
"""

from typing import Any, Literal

from ..problem import Problem, RowsLike
from .network import LinearOptimum, Network, NeuralFit, NeuralJob, NeuralRequest, NeuralSolver
from .training import Adam

#: Solvers by shorthand.
NEURAL_SOLVERS: dict[str, type[NeuralSolver]] = {cls.name: cls for cls in (LinearOptimum, Adam)}
#: The names of these, for type checkers.
NeuralSolverName = Literal["auto", "linear", "adam"]


class NeuralProblem(Problem[NeuralFit]):
    """A trained network. The cost of the linear solution is not included in plans."""

    method = "_trained"

    def job(self, rows: RowsLike, request: NeuralRequest) -> NeuralJob:
        return NeuralJob(*rows.shape, request.design.k, rows.traits, request.design)


_PROBLEM = NeuralProblem(NEURAL_SOLVERS, NeuralSolver, "a solver object such as Adam()", cached=False)
plan, solve = _PROBLEM.plan, _PROBLEM.solve


def as_modules(network: Network) -> tuple[Any, Any]:
    """Encoder and decoder as torch modules, from rows to scores and back."""
    from .training import require_torch

    require_torch()
    from .training import DecoderModule, EncoderModule

    return EncoderModule(network), DecoderModule(network)
