"""The request to a solver of independent component analysis, and the job that a plan is made for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..._memory import free_bytes
from ...densities import Density
from ..base import Job
from .whitener import Whitener

#: The sample has at least this many rows, and at least this many per pair of sources. It is drawn only if there are
#: this many times as many rows in all.
_SAMPLE_ROWS = 5000
_SAMPLE_PER_PAIR = 6
_SAMPLE_SHARE = 8
#: Whitened rows are kept if this multiple of their size is free: on a device always, and elsewhere if there are more
#: than so many columns per source.
_FREE, _WIDE = 4, 4
#: A copy of the whitened rows in float32 is kept for steps that need no more digits, if it has at least so many numbers
#: (otherwise float32 is not worthwhile: its rounding could make the results of several starts look alike), and takes at
#: most so many bytes, so that it stays in the cache.
_MANY = 100_000
_NARROW_BYTES = 8 << 20


@dataclass(frozen=True, eq=False)
class IcaRequest:
    """The model of the sources, and the starts of the iteration."""

    #: The density of every source.
    density: Density
    #: Number of sources; None for as many as the rows allow.
    k: int | None = None
    #: Whether sources may have the flipped density.
    extended: bool = True
    #: Number of random starts, their seed, and a start given by the user that replaces them.
    n_init: int = 1
    seed: int = 0
    start: Any = None
    #: The whitening of the rows; None before they are read, when only a plan can be made.
    whitener: Whitener | None = None


@dataclass(frozen=True)
class IcaJob(Job):
    """The job of finding the sources of n rows of p columns."""

    n_init: int = 1
    #: Whether the iteration starts at random; otherwise a start near the solution was given.
    search: bool = True
    #: Free bytes on the device of the rows; None if they are in main memory.
    free_there: int | None = None

    @property
    def sources(self) -> int:
        """The number of sources, or an upper bound if it is unknown."""
        return min(self.rows, self.p) if self.k is None else self.k

    @property
    def sample_rows(self) -> int:
        """The number of rows that are enough to find the sources approximately."""
        return max(_SAMPLE_ROWS, _SAMPLE_PER_PAIR * self.sources**2)

    @property
    def draws_sample(self) -> bool:
        """Whether most steps use a sample of the rows.

        On a device they do not: passes are fast there, and the sample would have to be copied to the host.
        """
        return self.search and self.traits.host and self.rows >= _SAMPLE_SHARE * self.sample_rows

    @property
    def white_bytes(self) -> int:
        """Bytes of all whitened rows."""
        return self.rows * self.sources * self.traits.itemsize

    @property
    def keeps_white_rows(self) -> bool:
        """Whether the whitened rows are kept in memory.

        They are if the rows are in memory, a pass over them costs more than one over the whitened rows, and there is
        enough free memory. On a device a pass over the rows costs more, because it would centre them anew.
        """
        costly = self.traits.sparse or self.p > _WIDE * self.sources or not self.traits.host
        free = free_bytes() if self.free_there is None else self.free_there
        return costly and self.traits.n_bytes > 0 and _FREE * self.white_bytes <= free

    @property
    def may_narrow(self) -> bool:
        """Whether float32 is worthwhile for steps that need no more digits."""
        return self.rows * self.sources >= _MANY

    @property
    def narrow_bytes(self) -> int:
        """Bytes of the copy of the whitened rows in float32, 0 if none is kept.

        A copy is of no use if the rows are given in float32, unless computing the whitened rows takes longer.
        """
        n_bytes = 4 * self.rows * self.sources
        here = self.traits.host and self.traits.n_bytes > 0 and not self.traits.remote
        useful = self.may_narrow and self.search and self.traits.itemsize > 4
        return n_bytes if here and useful and n_bytes <= _NARROW_BYTES else 0
