"""What is asked of a solver of independent component analysis, and what a plan looks at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..._memory import free_bytes
from ...densities import Density
from ..base import Job
from .whitener import Whitener

#: Rows of the sample: at least this many, and this many for each pair of sources; a sample is drawn where all rows are
#: this many times as many.
_SAMPLE_ROWS = 5000
_SAMPLE_PER_PAIR = 6
_SAMPLE_SHARE = 8
#: Whitened rows are kept where rows have this many columns for each source, if a multiple of their size is free.
_WIDE = 4
_FREE = 4


@dataclass(frozen=True, eq=False)
class IcaRequest:
    """Which sources to look for, and from where."""

    #: The density of every source.
    density: Density
    #: How many sources; None for as many as the rows allow.
    k: int | None = None
    #: Whether sources may have the flipped density.
    extended: bool = True
    #: Random starts, their seed, and a start that is given instead of them.
    n_init: int = 1
    seed: int = 0
    start: Any = None
    #: What makes the rows white; None before they are read, when a plan is all that can be had.
    whitener: Whitener | None = None


@dataclass(frozen=True)
class IcaJob(Job):
    """Sources of n rows of p columns."""

    n_init: int = 1
    #: Whether the sources are to be searched from afar; otherwise a start near them was given.
    search: bool = True

    @property
    def sources(self) -> int:
        """How many sources, or a bound where that is unknown."""
        return min(self.rows, self.p) if self.k is None else self.k

    @property
    def sample_rows(self) -> int:
        """How many rows are enough to find the sources roughly."""
        return max(_SAMPLE_ROWS, _SAMPLE_PER_PAIR * self.sources**2)

    @property
    def draws_sample(self) -> bool:
        """Whether most steps are taken on a sample. On a device they are not: passes are quick there, and a sample
        would have to be brought to the host."""
        return self.search and self.traits.host and self.rows >= _SAMPLE_SHARE * self.sample_rows

    @property
    def white_bytes(self) -> int:
        """Bytes of all whitened rows."""
        return self.rows * self.sources * self.traits.itemsize

    @property
    def keeps_white_rows(self) -> bool:
        """Whether whitened rows are kept: where rows lie in memory, each pass over them costs much more than one over
        the whitened ones, and there is room."""
        costly = self.traits.sparse or self.p > _WIDE * self.sources
        return costly and self.traits.n_bytes > 0 and _FREE * self.white_bytes <= free_bytes()
