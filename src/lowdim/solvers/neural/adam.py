"""Training of an auto-encoder by stochastic gradients."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar

from ..base import Cost, RowsLike
from .neural_solver import NeuralFit, NeuralJob, NeuralRequest, NeuralSolver

#: The window of rows that are shuffled together has at most this many bytes, unless its size is given.
_WINDOW_BYTES = 256 << 20


@dataclass(frozen=True)
class Adam(NeuralSolver):
    """Stochastic gradients with the steps of Adam [1]_, from the solution of PCA.

    Parameters
    ----------
    rate : float
        The size of the first steps. Whenever the loss of held-out rows has not decreased for `patience` epochs,
        training goes back to the best state, with 0.3 times the rate; when that has happened three times, it ends.
    batch : int
        Rows of a step; all rows if there are at most twice as many.
    max_epochs : int
        The most passes over the training rows. (Of few rows, an epoch is several steps.)
    patience : int
        See `rate`.
    held_out : float
        The share of rows that are held out to decide when to stop, at most 10,000. They are chosen by a digest of their
        numbers. With 0, the training rows decide; if there would be fewer than five of them, 20 epochs are enough.
    window : int, optional
        Rows that are in memory and shuffled together. The default is as many as fit into 256 MiB. If there are more,
        each epoch reads all rows again, window by window; rows that can be read only once are trained on for
        `epochs_per_window` epochs of each window.
    epochs_per_window : int
        See `window`.

    Notes
    -----
    The best state is kept: that of the lowest loss of held-out rows, or the start, should the error of all rows be
    larger than there. So the error of the rows of the fit never exceeds that of PCA. If the loss becomes NaN, training
    goes back to the best state with a tenth of the rate; after five times this is an error. Ctrl-C ends training with
    the best state so far.

    References
    ----------
    .. [1] Kingma, Ba (2015), Adam: a method for stochastic optimization.

    Examples
    --------
    >>> from lowdim import AutoEncoder, plan
    >>> from lowdim.solvers import Adam
    >>> plan(AutoEncoder(2, hidden=(32,), solver=Adam(max_epochs=20)), (1000, 10)).solver.max_epochs
    20
    """

    name: ClassVar[str] = "adam"
    on_host = "the solve of PCA and a digest of each row"
    rate: float = 1e-3
    batch: int = 128
    max_epochs: int = 300
    patience: int = 5
    held_out: float = 0.1
    window: int | None = None
    epochs_per_window: int = 10

    def __post_init__(self) -> None:
        for name in ("batch", "max_epochs", "patience", "epochs_per_window"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, Integral) or value < 1:
                raise ValueError(f"{name}={value!r} must be a whole number of at least 1.")
        if self.window is not None and (
            isinstance(self.window, bool) or not isinstance(self.window, Integral) or self.window < 2
        ):
            raise ValueError(f"window={self.window!r} must be a whole number of at least 2, or None.")
        if isinstance(self.rate, bool) or not isinstance(self.rate, Real) or not 0.0 < self.rate < math.inf:
            raise ValueError(f"rate={self.rate!r} must be a positive number.")
        if not isinstance(self.held_out, Real) or not 0.0 <= self.held_out < 1.0:
            raise ValueError(f"held_out={self.held_out!r} must be at least 0 and less than 1.")

    @property
    def few_rows(self) -> int:
        """The largest number of rows of which each step uses all."""
        return 2 * int(self.batch)

    def window_rows(self, job: NeuralJob) -> int:
        """The number of rows of a window."""
        return self.window or max(2 * self.batch, int(_WINDOW_BYTES / job.row_bytes))

    def keeps_rows(self, job: NeuralJob) -> bool:
        """Whether all rows are in one window, so that they are read once."""
        return job.n is not None and job.n <= self.window_rows(job)

    def cost(self, job: NeuralJob) -> Cost:
        rows = self.window_rows(job) if job.n is None else min(job.n, self.window_rows(job))
        # Adam keeps two numbers for each parameter, and the best state and a gradient are kept too.
        n_bytes = int(rows * job.row_bytes) + 5 * job.parameters_bytes + job.scores_bytes
        if not job.traits.rereadable:
            passes, why = 1, f"rows that are read once are shuffled in windows of {rows}"
        elif self.keeps_rows(job):
            passes, why = 2, "all rows are kept in memory and shuffled in each epoch"
        else:
            passes, why = 4, f"each epoch reads the rows again and shuffles windows of {rows}"
        return Cost(6.0 * job.rows * job.design.count(job.p) * self.max_epochs, passes, n_bytes, why)

    def train(self, rows: RowsLike, request: NeuralRequest, later: Iterable[Any] | None = None) -> NeuralFit:
        from .optional_torch import require_torch

        require_torch()
        from .training import train

        job = NeuralJob(*rows.shape, request.design.k, rows.traits, request.design)
        # The first window of a stream is one window, whatever its size is.
        size = self.window_rows(job) if later is None else int(rows.shape[0] or 0)
        return train(rows, request, self, size, () if later is None else later)
