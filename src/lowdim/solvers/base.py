"""What all solvers share, whatever their problem: a job is planned by its cost, and then solved from rows.

A solver is a small frozen object that holds its own options. It is handed `RowsLike`, a `summarize` bound to a source
that it never sees, and a request. It says beforehand what a job would cost and whether it can be done at all.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, TypeVar

from .._memory import in_words, memory_bytes
from .._threads import Progress
from .._xp import Array, namespace
from ..errors import needs_memory, read_once, too_few_rows
from ..linalg import divisor
from ..sources.base import Traits
from ..summaries.base import Summary
from .results import Spectrum

S = TypeVar("S", bound=Summary)

#: A symmetric eigenproblem of size p costs about as much as this many times p^3 multiplications of a product.
EIGH_WORK = 4.0


@dataclass(frozen=True)
class Request:
    """What is asked of a solver of spectra."""

    #: How many leading pairs; None for all min(n, p).
    k: int | None = None
    #: Divisor of the standard deviations, where columns are divided by them.
    ddof: int = 1
    standardize: bool = False
    #: Seed of random starts.
    seed: int = 0


@dataclass(frozen=True)
class Job:
    """What a plan is made for: the shape of the rows, how many components, and what their source allows."""

    n: int | None
    p: int
    k: int | None
    traits: Traits = Traits()  # noqa: RUF009 (frozen)

    @property
    def rows(self) -> int:
        """n, or a guess where it is unknown."""
        return 10 * self.p if self.n is None else self.n

    @property
    def memory(self) -> int:
        """Bytes that may be used beside the rows; 0 where there is no limit."""
        return memory_bytes()

    def fits(self, n_bytes: int) -> bool:
        """Whether there is room for so many bytes."""
        return not self.memory or n_bytes <= self.memory


@dataclass(frozen=True)
class Cost:
    """What a solver would cost: multiplications (in units of a large matrix product), passes, bytes beside the rows."""

    work: float
    passes: int
    n_bytes: int
    #: Why it would be chosen.
    why: str


@dataclass(frozen=True)
class Plan:
    """What will run, what it costs, and why."""

    solver: Any
    #: Passes over the rows, at least.
    passes: int
    #: Bytes beside the rows, about.
    n_bytes: int
    why: str

    @property
    def fits_memory(self) -> bool:
        """Whether this machine has the bytes (True where it does not say how many it has)."""
        have = memory_bytes()
        return not have or self.n_bytes <= have

    def __str__(self) -> str:
        often = {0: "no pass", 1: "1 pass"}.get(self.passes, f"{self.passes} passes") + " over the rows"
        return f"{self.solver.name}: {often}, about {in_words(self.n_bytes)} beside them; {self.why}"


class RowsLike(Protocol):
    """What a solver may do with rows: `lowdim.reading.Rows` is one."""

    shape: tuple[int | None, int]
    weights: Array | None
    dtype: Any
    traits: Traits
    progress: Progress | None
    #: Names of the columns, or None.
    names: Sequence[str] | None

    def summarize(self, summary: S) -> S:
        """One pass over the rows."""

    def summarize_features(self, summary: S) -> S:
        """One pass over the columns."""

    def map_features(self, function: Callable[[Array], Array]) -> Array:
        """One pass over the columns, a row of the answer for each."""

    def map(self, function: Callable[[Array], Array]) -> Array:
        """One pass over the rows, a row of the answer for each."""

    def first_block(self) -> RowsLike | None:
        """The first rows of a stream, which nothing is taken from; None where they cannot be had."""

    def shows_holes(self) -> bool:
        """Whether there is a NaN in the first rows, as far as that can be known at no cost."""

    def narrowed(self) -> RowsLike | None:
        """The same rows in float32, where that is cheap to keep; None where not."""

    def filled(self, mean: Array, scale: Array, unstored: bool) -> RowsLike:
        """(x - mean) / scale, zero where x was not observed."""

    def counted(self) -> RowsLike:
        """The rows of positive weight, as far as columns are read."""

    def mapped(self, function: Callable[[Array], Array]) -> RowsLike:
        """The rows after a feature map, which is applied block by block whenever they are read."""

    def of(self, X: Array, weights: Array | None = None, progress: Progress | None = None) -> RowsLike:
        """Rows of another array that lies in memory."""

    def whole(self, model: str) -> tuple[Array, Array | None]:
        """All rows of positive weight as one array of finite entries, and their weights."""

    def empty(self, *shape: int) -> Array:
        """An uninitialised array of the kind of the rows."""


class AnySolver(ABC):
    """What all solvers have in common: a name, a cost, a refusal, and what is finer."""

    #: The shorthand: the name of the class in lower case. `plan_` and `solver_` show it.
    name: ClassVar[str]
    #: Whether a single reading of the rows is enough.
    one_pass: ClassVar[bool] = True

    @abstractmethod
    def cost(self, job: Any) -> Cost:
        """What solving `job` would cost."""

    def refusal(self, job: Any) -> Exception | None:
        """Why this solver cannot do `job` at all, or None."""
        return None if self.one_pass or job.traits.rereadable else read_once(self.name)

    def is_sensible(self, job: Any) -> bool:
        """Whether "auto" should consider this solver for `job`."""
        return True

    def finer(self, job: Any) -> AnySolver | None:
        """The next more accurate solver for what this one could not resolve, or None."""
        return None

    def too_large(self, job: Any, n_bytes: int) -> MemoryError:
        """The error for a job that needs more memory than there is."""
        advice = "Pass n_components as a small whole number, so that few directions are looked for."
        return needs_memory(f"solver={self.name!r} on {job.p} columns", n_bytes, job.memory, advice)

    def job_of(self, sources: Sequence[Any], k: int | None) -> Any:
        """The job of rows, or of tables side by side, that these sources have."""
        n, p = sources[0].shape
        return Job(n, p, k, sources[0].traits)

    def plan_sources(self, sources: Sequence[Any], k: int | None = None) -> Plan:
        """The plan for the rows of these sources; what cannot be done is refused."""
        job = self.job_of(sources, k)
        refusal = self.refusal(job)
        if refusal is not None:
            raise refusal
        return self.plan(job, "as asked")

    def plan(self, job: Any, why: str = "") -> Plan:
        """The plan in which this solver does `job`; `why` it was chosen, where that is not for its cost."""
        cost = self.cost(job)
        return Plan(self, cost.passes, cost.n_bytes, why or cost.why)


class SpectraLike(Protocol):
    """The spectral problem as other problems see it, which build on the eigenpairs of a covariance: they are handed
    `lowdim.solvers.spectra` and do not import it."""

    def plan(self, rows: RowsLike, request: Request, asked: Any = "auto") -> Plan:
        """Which solver will run."""

    def solve(self, rows: RowsLike, request: Request, asked: Any = "auto") -> tuple[Spectrum, Plan]:
        """Eigenpairs of the rows."""

    def solve_summary(self, summary: Any, request: Request, asked: Any = "auto") -> tuple[Spectrum, Plan]:
        """Eigenpairs of the rows that a summary is of."""


def require_rows(n_rows: int, weight: float, ddof: int, fixed: bool = False) -> None:
    """A covariance needs a positive divisor."""
    if divisor(weight, ddof) <= 0:
        raise too_few_rows(n_rows, weight, ddof, fixed)


def total_weight(rows: RowsLike) -> float | None:
    """The sum of the weights, or the number of rows; None where that is unknown."""
    if rows.weights is not None:
        return float(namespace(rows.weights).sum(rows.weights))
    return None if rows.shape[0] is None else float(rows.shape[0])
