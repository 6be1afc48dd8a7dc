"""The problem of tables side by side: the tables, the request, the job to plan for, and the solution."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ..base import Job, RowsLike, counted_rows, total_weight
from ..results import CanonicalFit, PairFit, Status
from .views import Views

#: Computes components from coordinates and a number of components.
ComponentsFunction = Callable[[Views, int], PairFit | CanonicalFit]


@dataclass(frozen=True)
class Tables:
    """The rows of all tables side by side, and those of each table."""

    joint: RowsLike
    each: Sequence[RowsLike]
    #: Names of the tables in messages.
    names: tuple[str, ...]

    @property
    def widths(self) -> tuple[int, ...]:
        """The number of columns of each table."""
        return tuple(rows.shape[1] for rows in self.each)


@dataclass(frozen=True)
class TablesRequest:
    """The request to a solver of tables."""

    #: The tables whose columns are divided by their standard deviations.
    standardize: tuple[bool, ...]
    #: The number of components for n rows of this total weight (both None if unknown); may raise an error.
    count: Callable[[int | None, float | None], int]
    #: Computes the components from coordinates.
    components: ComponentsFunction
    #: Variances have the divisor weight - ddof.
    ddof: int = 1
    #: Reduces the coordinates further, to those that so many components need.
    narrow: Callable[[Views, int], Views] | None = None


@dataclass(frozen=True)
class TablesJob(Job):
    """The job of a reduction: `p` counts the columns of all tables, `traits` are those of the tables side by side."""

    #: The number of columns of each table.
    widths: tuple[int, ...] = ()
    #: For each table, whether it can be read by columns.
    by_feature: tuple[bool, ...] = ()

    @classmethod
    def of(cls, tables: Tables, request: TablesRequest | None = None) -> TablesJob:
        """The job of reducing these tables; raises an error if the request has too many components for the rows."""
        n, p = tables.joint.shape
        count, weight = counted_rows(tables.joint), None if n is None else total_weight(tables.joint)
        k = None if request is None else request.count(count, weight)
        columns = tuple(rows.shape[0] is not None and rows.traits.by_feature for rows in tables.each)
        return cls(n, p, k, tables.joint.traits, tables.widths, columns)

    @classmethod
    def of_summary(cls, n_rows: int, widths: Sequence[int]) -> TablesJob:
        """The job of reducing a summary of `n_rows` rows of tables side by side."""
        return cls(n_rows, sum(widths), None, widths=tuple(widths))

    @property
    def is_wide(self) -> bool:
        """Whether the widest table has more columns than rows."""
        return self.n is not None and self.n < max(self.widths)

    @property
    def gram_bytes(self) -> int:
        """Bytes of the inner products of the rows of each table, and of the arrays computed from them."""
        return 8 * 5 * len(self.widths) * self.rows**2

    @property
    def allows_gram(self) -> bool:
        """Whether the columns can be read and the inner products of the rows fit into memory."""
        return all(self.by_feature) and self.fits(self.gram_bytes)


@dataclass(frozen=True)
class TablesSolution:
    """Components of tables, and the coordinates from which they were computed."""

    views: Views
    fit: PairFit | CanonicalFit
    #: Passes over the rows.
    passes: int

    @property
    def status(self) -> Status:
        """How the solve ended."""
        return self.fit.status
