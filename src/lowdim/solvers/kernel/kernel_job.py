"""The job of kernel PCA, and the base class of its solvers."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ..._xp import Array
from ...errors import over_budget, read_once
from ...kernels import Gaussian, Kernel
from ...summaries import Sample
from ..base import AnySolver, Cost, Job, Plan, RowsLike, SpectraLike
from .memory import memory_allowed

if TYPE_CHECKING:
    from .components import Components

#: Number of rows of a tile of the kernel matrix: a float64 tile and its products fit into the cache of a core.
TILE = 512
#: On a device tiles are larger, because each tile costs several kernel launches, and the host waits for it.
_DEVICE_TILE = 8192
#: Number of rows whose pairs are used to estimate the error of a map.
PAIRS = 2000
#: Number of rows that a plan assumes if it is unknown.
_UNKNOWN_ROWS = 100_000
#: "auto" uses explicit features if there are at most this many, and enough rows.
_FEW_FEATURES = 1000


def tile_rows(n: int, host: bool) -> int:
    """The number of rows of a tile of an n x n kernel matrix. On a device, all tiles have about the same size, so that
    no memory is left unused in the last ones."""
    return min(TILE, n) if host else -(-n // -(-n // _DEVICE_TILE))


@dataclass(frozen=True)
class KernelJob(Job):
    """The job of kernel PCA; `k` is None for all components with a positive eigenvalue."""

    #: None if the kernel matrix is precomputed.
    kernel: Kernel | None = None
    #: Bytes that may be used in addition to the rows; 0 if there is no limit.
    allowed: int = 0
    #: Whether rows are objects that only the kernel can interpret, not numbers.
    objects: bool = False

    @property
    def rows(self) -> int:
        return _UNKNOWN_ROWS if self.n is None else self.n

    @property
    def memory(self) -> int:
        return self.allowed

    @property
    def triangle_bytes(self) -> int:
        """Bytes of one half of the kernel matrix, in tiles."""
        size = tile_rows(self.rows, self.traits.host)
        tiles = -(-self.rows // size)
        return self.traits.itemsize * size**2 * tiles * (tiles + 1) // 2

    @property
    def draws_sample(self) -> bool:
        """Whether a sample is drawn in a first pass; it needs rows of numbers that can be read again.

        Widths, landmarks, signs and examples come from it.
        """
        return self.kernel is not None and not self.objects and self.traits.rereadable

    @cached_property
    def explicit_features(self) -> tuple[Callable[[Array], Array], int] | None:
        """The explicit feature map of the kernel and its number of features, or None if there is none."""
        return None if self.kernel is None else self.kernel.explicit_features(self.p)

    @cached_property
    def has_few_features(self) -> bool:
        """Whether the kernel has explicit features, and so few that PCA of these is faster than using pairs of rows."""
        found = self.explicit_features
        if found is None or found[1] > _FEW_FEATURES:
            return False
        return not self.traits.whole or self.rows > max(1000, 4 * found[1])


class KernelSolver(AnySolver):
    """A solver that computes components from rows and a kernel.

    "auto" takes the one solver that is sensible for a job (`is_sensible`): PCA of explicit features if there are few,
    landmarks if rows come in blocks, and otherwise the eigenpairs of the kernel matrix.

    Examples
    --------
    >>> from lowdim.solvers import KERNEL_SOLVERS, KernelSolver, Nystrom
    >>> isinstance(Nystrom(landmarks=100), KernelSolver), sorted(KERNEL_SOLVERS)
    (True, ['dense', 'features', 'fourier', 'krylov', 'matrix-free', 'nystrom'])
    """

    def job_of(self, sources: Sequence[Any], k: int | None) -> KernelJob:
        """The job for a Gaussian kernel, in half of the free memory."""
        n, p = sources[0].shape
        return KernelJob(n, p, k, sources[0].traits, Gaussian(), memory_allowed(None))

    @property
    def sample_size(self) -> int:
        """The number of distinct rows that the solver needs in the sample."""
        return 0

    def final_cost(self, job: KernelJob) -> Cost:
        """The cost if the solver runs, where it may use more memory than `cost`, which is its least."""
        return self.cost(job)

    def plan(self, job: KernelJob, why: str = "") -> Plan:
        """The plan for this solver to do `job`; the sample of the rows is one of its passes."""
        cost = self.final_cost(job)
        return Plan(self, cost.passes + job.draws_sample, cost.n_bytes, why or cost.why)

    @abstractmethod
    def n_bytes(self, job: KernelJob) -> int:
        """The approximate minimal number of bytes that the solver needs in addition to the rows."""

    @abstractmethod
    def components(
        self, rows: RowsLike, job: KernelJob, sample: Sample | None, seed: int, spectra: SpectraLike
    ) -> Components:
        """Components of the rows, for a job whose kernel has values for all its parameters.

        `sample` is None if the rows are not numbers or can be read only once.
        """

    @abstractmethod
    def memory_advice(self, job: KernelJob) -> str:
        """Advice for a job that does not fit into the allowed memory."""

    def unknowns(self, job: KernelJob) -> list[str]:
        """Descriptions of what has to be estimated from the rows in a first pass."""
        return [] if job.kernel is None or job.kernel.is_complete else ["the width of the kernel"]

    def refusal(self, job: KernelJob) -> Exception | None:
        unknowns = self.unknowns(job)
        if unknowns and not job.traits.rereadable:
            return read_once(self.name, f"give what a first reading would find: {' and '.join(unknowns)}")
        needed = self.n_bytes(job)
        return None if job.fits(needed) else self.too_large(job, needed)

    def too_large(self, job: KernelJob, n_bytes: int) -> MemoryError:
        return over_budget(f"solver={self.name!r} on {job.rows} rows", n_bytes, job.memory, self.memory_advice(job))
