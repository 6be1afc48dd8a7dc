"""The request for an auto-encoder, the job that a plan is made for, and the base class of solvers."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from ...errors import needs_memory
from ..base import AnySolver, Job, RowsLike
from ..results import Status
from .network import Network
from .start import Design


@dataclass(frozen=True, eq=False)
class NeuralRequest:
    """The network to train, and where training starts."""

    design: Design
    seed: int = 0
    #: The network at the linear solution.
    start: Network | None = None


@dataclass(frozen=True)
class NeuralJob(Job):
    """The job of training a network on n rows of p columns."""

    design: Design = Design(1)  # noqa: RUF009 (frozen)

    @property
    def row_bytes(self) -> float:
        """Bytes of a row."""
        return max(1.0, self.p * self.traits.itemsize * self.traits.stored)

    @property
    def parameters_bytes(self) -> int:
        """Bytes of the parameters."""
        return self.design.count(self.p) * self.traits.itemsize

    @property
    def scores_bytes(self) -> int:
        """Bytes of the covariance of the scores."""
        return 8 * self.design.k**2


@dataclass(frozen=True, eq=False)
class NeuralFit:
    """A trained network."""

    network: Network
    #: The loss of the rows that it is judged by, per row, at the start and after each epoch; and that of the training
    #: rows in each epoch. Both are mean squared errors in the units of the rows, or minus the evidence bound.
    loss: list[float]
    training_loss: list[float]
    status: Status
    #: Passes over the rows.
    passes: int
    #: The number of rows that were held out from training, and of rows of later windows of a stream.
    n_held_out: int
    n_later: int = 0


class NeuralSolver(AnySolver):
    """A solver that finds the parameters of an auto-encoder.

    Examples
    --------
    >>> from lowdim.solvers import NEURAL_SOLVERS, NeuralSolver
    >>> {name: issubclass(solver, NeuralSolver) for name, solver in NEURAL_SOLVERS.items()}
    {'linear': True, 'adam': True}
    """

    @abstractmethod
    def train(self, rows: RowsLike, request: NeuralRequest, later: Iterable[Any] | None = None) -> NeuralFit:
        """The network, from the one at the linear solution; `later` are further windows of a stream."""

    def too_large(self, job: NeuralJob, n_bytes: int) -> MemoryError:
        what = f"solver={self.name!r} with {job.k} components of {job.p} columns"
        return needs_memory(what, n_bytes, job.memory, "Ask for fewer components, or for narrower hidden layers.")

    @property
    def few_rows(self) -> int:
        """Up to this number, rows are put in order and equal ones are merged; see `merged`."""
        return 0

    def window_rows(self, job: NeuralJob) -> int:
        """The number of rows of a stream that are read before training begins; 0 if it need not be cut."""
        return 0
