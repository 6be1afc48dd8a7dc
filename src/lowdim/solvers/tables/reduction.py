"""Base class of the reductions of tables."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

from ...errors import needs_memory
from ...sources import BesideSource
from ...summaries.base import Summary
from ..base import AnySolver
from .problem import Tables, TablesJob
from .views import Views


class Reduction(AnySolver):
    """A solver that reduces the rows of tables to few coordinates that keep all inner products between columns.

    A reduction that needs only one summary of the tables side by side names the class of this summary as `starts_from`.
    It can then also start from such a summary without the rows, and rows can be added to the summary.

    Examples
    --------
    >>> from lowdim.solvers import REDUCTIONS, Reduction
    >>> {name: issubclass(solver, Reduction) for name, solver in REDUCTIONS.items()}
    {'covariance': True, 'triangle': True, 'gram': True}
    """

    on_host = "the solve"
    #: The class of the summary that the reduction computes from the rows, or None if it needs more than one.
    starts_from: ClassVar[type[Summary] | None] = None
    #: Passes over the rows.
    passes: ClassVar[int] = 1

    @abstractmethod
    def views(self, tables: Tables, standardize: Sequence[bool], ddof: int) -> Views:
        """Coordinates of the tables. Columns of tables to `standardize` are divided by their standard deviations."""

    def empty_summary(self, groups: Sequence[int]) -> Any:
        """An empty summary of tables of these widths side by side, for `views_of_summary`."""
        if self.starts_from is None:
            raise TypeError(f"solver={self.name!r} keeps no summary of the rows.")
        kind: Any = self.starts_from
        return kind(sum(groups), groups=groups)

    def views_of_summary(self, summary: Any, names: tuple[str, ...], standardize: Sequence[bool], ddof: int) -> Views:
        """Coordinates from a summary of the tables side by side, without their rows."""
        raise TypeError(f"solver={self.name!r} keeps no summary of the rows.")

    def job_of(self, sources: Sequence[Any], k: int | None) -> TablesJob:
        """The job of these tables side by side."""
        joint = BesideSource(sources)
        n, p = joint.shape
        columns = tuple(source.shape[0] is not None and source.traits.by_feature for source in sources)
        return TablesJob(n, p, k, joint.traits, joint.groups, columns)

    def too_large(self, job: Any, n_bytes: int) -> MemoryError:
        advice = "Keep fewer columns, or reduce each table by PCA first."
        return needs_memory(f"solver={self.name!r} on tables of {job.p} columns", n_bytes, job.memory, advice)
