"""What all reductions of tables share."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

from ...errors import needs_memory
from ...summaries.base import Summary
from ..base import AnySolver
from .problem import Tables
from .views import Views


class Reduction(AnySolver):
    """One way to reduce the rows of tables to few coordinates that keep all inner products between columns.

    A reduction that needs one summary of the tables side by side names its class as `starts_from`; it can then also
    start from that summary alone, and rows can be added to it.
    """

    #: The class of summaries that is all it needs of the rows, or None.
    starts_from: ClassVar[type[Summary] | None] = None
    #: Passes over the rows.
    passes: ClassVar[int] = 1

    @abstractmethod
    def views(self, tables: Tables, standardize: Sequence[bool], ddof: int) -> Views:
        """Read the rows. Tables that are standardized have their columns divided by their standard deviation."""

    def views_of_summary(self, summary: Any, names: tuple[str, ...], standardize: Sequence[bool], ddof: int) -> Views:
        """Coordinates from a summary of the tables side by side, without rows."""
        raise TypeError(f"solver={self.name!r} keeps no summary of the rows.")

    def too_large(self, job: Any, n_bytes: int) -> MemoryError:
        advice = "Keep fewer columns, or reduce each table by PCA first."
        return needs_memory(f"solver={self.name!r} on tables of {job.p} columns", n_bytes, job.memory, advice)
