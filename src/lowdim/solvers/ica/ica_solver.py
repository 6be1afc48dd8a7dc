"""Base class of the solvers of independent component analysis: options, cost, and advice if they do not converge."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, fields
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np

from ...errors import read_once
from ..base import AnySolver, Cost
from ..results import Status, Unmixing
from .gaussian_block import GaussianBlock
from .ica_job import IcaJob
from .objective import Objective

#: Minimal number of passes of a search (including the one that draws a sample), of a search for a single source, and
#: from a given start.
_PASSES, _PASSES_OF_ONE, _PASSES_FROM_START = 5, 2, 1
#: Rows in a block of `ScoreMoments`, and the number of arrays of sources that it holds at once.
_BLOCK_ROWS, _BLOCK_ARRAYS = 2048, 6
#: An iteration that makes no progress is stuck if the gradient is larger than this; otherwise it is limited by
#: rounding.
_STALLED = 1e-6


@dataclass(frozen=True)
class IcaSolver(AnySolver):
    """A solver that finds an unmixing matrix from an `Objective` and a start.

    Examples
    --------
    >>> from lowdim.solvers import ICA_SOLVERS, IcaSolver
    >>> {name: issubclass(solver, IcaSolver) for name, solver in ICA_SOLVERS.items()}
    {'quasi-newton': True, 'fixed-point': True}
    """

    one_pass = False
    on_host = "the whitening and matrices of K x K"
    #: Advice: what to do instead of raising `max_iter` if it was too small, and what to do if no step makes progress.
    _instead: ClassVar[str] = ""
    _stuck: ClassVar[str]
    #: Whether sources are found only if their tails are on the same side of the Gaussian as those of their density.
    needs_matching_tails: ClassVar[bool] = True

    tol: float = 1e-6
    max_iter: int = 1000
    ortho: bool = False

    def __post_init__(self) -> None:
        if isinstance(self.tol, bool) or not isinstance(self.tol, Real) or not 0.0 < self.tol < math.inf:
            raise self._refuse("tol", "a positive number")
        self._check_whole("max_iter", least=1)
        if not isinstance(self.ortho, bool | np.bool_):
            raise self._refuse("ortho", "True or False")

    def job_of(self, sources: Sequence[Any], k: int | None) -> IcaJob:
        n, p = sources[0].shape
        return IcaJob(n, p, k, sources[0].traits)

    @classmethod
    def options(cls) -> list[str]:
        """The names of the options."""
        return [option.name for option in fields(cls) if option.init]

    def _check_whole(self, name: str, least: int) -> None:
        value: Any = getattr(self, name)
        if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
            raise self._refuse(name, f"a whole number of at least {least}")

    def _refuse(self, name: str, needed: str) -> ValueError:
        return ValueError(f"{type(self).__name__}({name}={getattr(self, name)!r}): {needed} is needed.")

    @abstractmethod
    def run(
        self, objective: Objective, W: np.ndarray, flipped: np.ndarray, extended: bool, *, spent: int = 0
    ) -> Unmixing:
        """Iterate from W.

        Sources that are `flipped` have the flipped density; if `extended`, the iteration may change which these are.
        The number of earlier steps, `spent`, counts towards `max_iter`.
        """

    def refusal(self, job: IcaJob) -> Exception | None:
        return None if job.traits.rereadable else read_once(self.name, "keep the rows in memory")

    def cost(self, job: IcaJob) -> Cost:
        """A pass takes p k + k^2 multiplications per row (p k + 2 k^2 if W is not restricted to rotations).

        The memory holds 2 k (k + 1) sums, a few arrays of the sources of a block, and, if they are used, the sample and
        the whitened rows, also in float32.
        """
        n, p, k = job.rows, job.p, job.sources
        least = (_PASSES if k > 1 else _PASSES_OF_ONE) if job.search else _PASSES_FROM_START
        passes = job.n_init * min(least, 1 + self.max_iter)
        n_bytes = 16 * k * (k + 1) + 8 * _BLOCK_ARRAYS * min(n, _BLOCK_ROWS) * k
        if job.draws_sample:
            # The rows of the sample, and the whitened rows of the sample in float64 and float32.
            n_bytes += job.sample_rows * (job.traits.itemsize * p + 12 * k)
        n_bytes += job.narrow_bytes
        width = p
        if job.keeps_white_rows:
            n_bytes += job.white_bytes
            width = k
        work = float(passes) * n * (width * k + (1 if self.ortho else 2) * k * k)
        return Cost(work, passes, n_bytes, "each step is a pass over the rows")

    def advice(self, answer: Unmixing) -> str:
        """Advice for an iteration that stopped before it reached `tol`."""
        if answer.n_iter >= self.max_iter:
            return f"Raise max_iter or tol{self._instead}."
        return self._stuck if answer.gradient_norm > _STALLED else "Raise tol: rounding allows no higher accuracy."


def status_of_end(converged: bool, block: GaussianBlock) -> Status:
    """The status of an iteration, which may have left out rotations among the sources of a block."""
    if not converged:
        return Status.NOT_CONVERGED
    return Status.UNDETERMINED if block else Status.CONVERGED
