"""What solvers of kernel PCA share: a job, what it would cost, and why it cannot be done."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from ...errors import over_budget, read_once
from ...kernels import Kernel
from ...summaries import Sample
from ..base import AnySolver, Job, RowsLike, SpectraLike
from .explicit import explicit_map

if TYPE_CHECKING:
    from .components import Components

#: Rows of a tile of the kernel matrix: a float64 tile and its products stay in the cache of a core.
TILE = 512
#: On a device each tile costs launches: they are larger.
DEVICE_TILE = 2048
#: Rows whose pairs are looked at for the error of a map.
PAIRS = 2000
#: Rows that a plan assumes where their number is unknown.
_UNKNOWN_ROWS = 100_000
#: Features up to which "auto" writes them out, where there are rows enough.
_FEW_FEATURES = 1000


@dataclass(frozen=True)
class KernelJob(Job):
    """What a plan of kernel PCA is made for; `k` is None for all components with a positive eigenvalue."""

    #: None where the kernel matrix itself is given.
    kernel: Kernel | None = None
    #: Bytes that may be used beside the rows; 0 where there is no limit.
    allowed: int = 0
    #: Rows are objects that only the kernel can read, not numbers.
    objects: bool = False

    @property
    def rows(self) -> int:
        return _UNKNOWN_ROWS if self.n is None else self.n

    @property
    def memory(self) -> int:
        return self.allowed

    @property
    def triangle_bytes(self) -> int:
        """One half of the kernel matrix, in tiles."""
        size = min(TILE if self.traits.host else DEVICE_TILE, self.rows)
        tiles = -(-self.rows // size)
        return self.traits.itemsize * size**2 * tiles * (tiles + 1) // 2

    @cached_property
    def has_few_features(self) -> bool:
        """Whether the features of the kernel can be written out, and are so few beside the rows that PCA of them is
        quicker than anything that works with pairs of rows."""
        found = explicit_map(self.kernel, self.p)
        if found is None or found[1] > _FEW_FEATURES:
            return False
        return not self.traits.whole or self.rows > max(1000, 4 * found[1])


class KernelSolver(AnySolver):
    """One way from rows and a kernel to components.

    "auto" takes the one solver that is sensible for a job (`is_sensible`): where the features of the kernel are few,
    PCA of them; where rows come in blocks, landmarks; and otherwise the eigenpairs of the kernel matrix.
    """

    @property
    def sample_size(self) -> int:
        """Different rows that it wants in a sample of them."""
        return 0

    @abstractmethod
    def n_bytes(self, job: KernelJob) -> int:
        """Bytes beside the rows that it cannot do without, about."""

    @abstractmethod
    def components(
        self, rows: RowsLike, job: KernelJob, sample: Sample | None, seed: int, spectra: SpectraLike
    ) -> Components:
        """Components of the rows, for a job whose kernel has all its parameters; `sample` is None where rows are not
        numbers, or can be read only once."""

    @abstractmethod
    def memory_advice(self, job: KernelJob) -> str:
        """What to do about a job that does not fit into the memory allowed."""

    def unknowns(self, job: KernelJob) -> list[str]:
        """What has to be found from the rows before the pass in which components are."""
        return [] if job.kernel is None or job.kernel.is_complete else ["the width of the kernel"]

    def refusal(self, job: KernelJob) -> Exception | None:
        unknowns = self.unknowns(job)
        if unknowns and not job.traits.rereadable:
            return read_once(self.name, f"give what a first reading would find: {' and '.join(unknowns)}")
        needed = self.n_bytes(job)
        return None if job.fits(needed) else self.too_large(job, needed)

    def too_large(self, job: KernelJob, n_bytes: int) -> MemoryError:
        return over_budget(f"solver={self.name!r} on {job.rows} rows", n_bytes, job.memory, self.memory_advice(job))
