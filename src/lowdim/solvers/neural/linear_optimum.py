"""The auto-encoder without hidden layers, which needs no training: its optimum is the solution of PCA."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

from ..base import Cost, RowsLike
from ..results import Status
from .neural_solver import NeuralFit, NeuralJob, NeuralRequest, NeuralSolver


@dataclass(frozen=True)
class LinearOptimum(NeuralSolver):
    """The optimum of an auto-encoder without hidden layers, by PCA or, if it is variational, by probabilistic PCA.

    With linear maps and squared errors, every local minimum is a global one, and is reached on the principal subspace
    [1]_. The evidence bound of a linear decoder reaches the likelihood of probabilistic PCA [2]_. The rows are read as
    PCA reads them, and torch is not needed.

    References
    ----------
    .. [1] Baldi, Hornik (1989), Neural networks and principal component analysis: learning from examples without local
       minima.
    .. [2] Lucas, Tucker, Grosse, Norouzi (2019), Don't blame the ELBO! A linear VAE perspective on posterior collapse.

    Examples
    --------
    >>> import numpy as np
    >>> from lowdim import AutoEncoder
    >>> model = AutoEncoder(1, hidden=(), solver="linear").fit([[1.0, 2.0], [3.0, 3.0], [3.0, 5.0]])
    >>> model.solver_
    'linear'
    """

    name: ClassVar[str] = "linear"
    on_host = "the solve of PCA"

    def refusal(self, job: NeuralJob) -> Exception | None:
        if not job.design.is_linear:
            return ValueError(
                "solver='linear' is for networks without hidden layers: pass hidden=() and no modules, or use "
                "solver='adam'."
            )
        return None

    def is_sensible(self, job: NeuralJob) -> bool:
        return job.design.is_linear

    def cost(self, job: NeuralJob) -> Cost:
        n_bytes = job.parameters_bytes + job.scores_bytes
        return Cost(0.0, 0, n_bytes, "without hidden layers the optimum is the solution of PCA")

    def train(self, rows: RowsLike, request: NeuralRequest, later: Iterable[Any] | None = None) -> NeuralFit:
        assert request.start is not None, "a request without a start can be planned but not solved"
        return NeuralFit(request.start, [], [], Status.EXACT, 0, 0)
