"""What the problem of tables side by side is made of: the tables, what is asked, the job to plan for, the solution."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ..base import Job, RowsLike, total_weight
from ..results import CanonicalFit, PairFit, Status
from .views import Views

#: From coordinates and a number of components to the components.
ComponentsFunction = Callable[[Views, int], PairFit | CanonicalFit]


@dataclass(frozen=True)
class Tables:
    """The rows of all tables side by side, and those of each table alone."""

    joint: RowsLike
    each: Sequence[RowsLike]
    #: What the tables are called in messages.
    names: tuple[str, ...]

    @property
    def widths(self) -> tuple[int, ...]:
        """Numbers of columns."""
        return tuple(rows.shape[1] for rows in self.each)


@dataclass(frozen=True)
class TablesRequest:
    """What is asked of a solver of tables."""

    #: Which tables have their columns divided by their standard deviation.
    standardize: tuple[bool, ...]
    #: The number of components for n rows of this total weight (both None while they are unknown). It may refuse.
    count: Callable[[int | None, float | None], int]
    #: Solves from coordinates.
    components: ComponentsFunction
    #: Divisor of variances: weight - ddof.
    ddof: int = 1


@dataclass(frozen=True)
class TablesJob(Job):
    """The job of a reduction: `n` and `p` are the rows and all columns, `traits` those of the tables side by side."""

    #: Numbers of columns of the tables.
    widths: tuple[int, ...] = ()
    #: Whether single columns can be read, table by table.
    by_feature: tuple[bool, ...] = ()

    @classmethod
    def of(cls, tables: Tables, request: TablesRequest | None = None) -> TablesJob:
        """The job of reducing these tables; a request may refuse so few rows for so many components."""
        n, p = tables.joint.shape
        k = None if request is None else request.count(n, None if n is None else total_weight(tables.joint))
        columns = tuple(rows.shape[0] is not None and rows.traits.by_feature for rows in tables.each)
        return cls(n, p, k, tables.joint.traits, tables.widths, columns)

    @classmethod
    def of_summary(cls, n_rows: int, widths: Sequence[int]) -> TablesJob:
        """The job of reducing a summary of so many rows of tables side by side."""
        return cls(n_rows, sum(widths), None, widths=tuple(widths))

    @property
    def is_wide(self) -> bool:
        """Whether there are fewer rows than columns of the widest table."""
        return self.n is not None and self.n < max(self.widths)

    @property
    def gram_bytes(self) -> int:
        """Bytes of the inner products of the rows of each table, and of what is made of them."""
        return 8 * 5 * len(self.widths) * self.rows**2

    @property
    def allows_gram(self) -> bool:
        """Whether the columns can be read and the inner products of the rows fit into memory."""
        return all(self.by_feature) and self.fits(self.gram_bytes)


@dataclass(frozen=True)
class TablesSolution:
    """Components of tables, and the coordinates that they were found in."""

    views: Views
    fit: PairFit | CanonicalFit
    #: Passes over the rows.
    passes: int

    @property
    def status(self) -> Status:
        """How the solve ended."""
        return self.fit.status
