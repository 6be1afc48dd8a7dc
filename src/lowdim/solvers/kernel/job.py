"""What solvers of kernel PCA share: a job, what it would cost, and whether it can be done."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

from ...kernels import Kernel

#: Rows of a tile of the kernel matrix: a float64 tile and its products stay in the cache of a core.
TILE = 512
#: On a device each tile costs launches: they are larger.
DEVICE_TILE = 2048
#: Rows whose pairs are looked at for the error of a map.
PAIRS = 2000


@dataclass(frozen=True)
class KernelJob:
    """What a plan of kernel PCA is made for."""

    #: Rows (None: unknown, a stream), columns, components (None: all that are positive).
    rows: int | None
    p: int
    k: int | None
    #: None where the matrix itself is given.
    kernel: Kernel | None
    #: Bytes that may be used beside the rows.
    memory: int
    #: Bytes of a number.
    itemsize: int = 8
    #: All rows lie in memory, as one array.
    whole: bool = True
    #: Rows can be read more than once.
    rereadable: bool = True
    #: Rows are no numbers.
    objects: bool = False
    #: Rows lie in the memory of the processor.
    host: bool = True

    @property
    def n(self) -> int:
        """Rows, or a guess where they are unknown."""
        return 100_000 if self.rows is None else self.rows

    @property
    def triangle_bytes(self) -> int:
        """One half of the kernel matrix, in tiles."""
        size = min(TILE if self.host else DEVICE_TILE, self.n)
        tiles = -(-self.n // size)
        return self.itemsize * size**2 * tiles * (tiles + 1) // 2


class KernelSolver(ABC):
    """One way from rows and a kernel to components."""

    #: Shorthand; `plan_` and `solver_` show it.
    name: ClassVar[str]

    @abstractmethod
    def n_bytes(self, job: KernelJob) -> int:
        """Bytes beside the rows that it cannot do without, about."""

    def refusal(self, job: KernelJob) -> Exception | None:
        """Why this solver cannot do `job` at all, or None."""
        return None
