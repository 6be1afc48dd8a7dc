"""The interface of all solvers: a job is planned by its cost, and then solved from rows.

A solver is a small frozen object that holds its options. Before it runs, it reports what a job would cost and whether
it can do the job at all. To solve, it gets a request and `RowsLike`, through which it reads the rows without knowing
their source.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from numbers import Integral
from typing import Any, ClassVar, Protocol, TypeVar

import numpy as np

from .._memory import in_words, memory_bytes
from .._progress import Progress
from .._xp import Array
from ..errors import needs_memory, read_once
from ..sources.base import Traits
from ..sources.carried import count_positive, sum_of
from ..summaries import Columns, Moments, Triangle
from ..summaries.base import Summary
from .results import Spectrum

S = TypeVar("S", bound=Summary)
#: Summaries of means and second moments.
C = TypeVar("C", Moments, Triangle, Columns)

#: A symmetric eigenproblem of size p costs about this many times p^3 multiplications of a matrix product.
EIGH_WORK = 4.0
#: `Plan.where` of rows in main memory.
ON_HOST = "all on the host"


@dataclass(frozen=True)
class Request:
    """The request to a solver of spectra.

    Examples
    --------
    >>> import numpy as np
    >>> from lowdim import open_source
    >>> from lowdim.reading import Rows
    >>> from lowdim.solvers import Covariance, Request
    >>> rows = Rows(open_source(np.array([[1.0, 2.0], [3.0, 3.0], [3.0, 5.0], [5.0, 6.0]])))
    >>> Covariance().solve(rows, Request(k=1, standardize=True)).scale.round(3)
    array([1.633, 1.826])
    """

    #: Number of leading eigenpairs; None for all min(n, p).
    k: int | None = None
    #: With k = None: the share of the variance that the leading eigenpairs have to reach. Solvers return as many as
    #: reach it and one more, and the sums over the others.
    share: float | None = None
    #: Standard deviations have the divisor weight - ddof; columns are divided by them if `standardize`.
    ddof: int = 1
    standardize: bool = False
    #: Whether the mean is subtracted. If not, second moments about zero take the place of (co)variances.
    center: bool = True
    #: Whether the user cannot choose ddof, so that messages do not advise to.
    fixed_ddof: bool = False
    #: Seed of random starts.
    seed: int = 0

    def about(self, summary: C) -> C:
        """The summary with its second moments about the mean, or about zero."""
        return summary if self.center else summary.about_zero()

    def free(self, n_rows: int) -> int:
        """The largest rank of so many rows: subtracting the mean takes one direction away."""
        return n_rows - 1 if self.center else n_rows


@dataclass(frozen=True)
class Job:
    """The job that a plan is made for: the shape of the rows, the number of components, the traits of the source.

    Examples
    --------
    >>> from lowdim.solvers import Gram, Job
    >>> Gram().cost(Job(n=50, p=10_000, k=3)).passes
    2
    """

    n: int | None
    p: int
    k: int | None
    traits: Traits = Traits()  # noqa: RUF009 (frozen)

    @property
    def rows(self) -> int:
        """The number of rows n, or a guess if it is unknown."""
        return 10 * self.p if self.n is None else self.n

    @property
    def memory(self) -> int:
        """Bytes that may be used in addition to the rows; 0 if there is no limit."""
        return memory_bytes()

    def fits(self, n_bytes: int) -> bool:
        """Whether `n_bytes` fit into the memory."""
        return not self.memory or n_bytes <= self.memory


@dataclass(frozen=True)
class Cost:
    """The estimated cost of a job.

    Examples
    --------
    >>> from lowdim.solvers import Covariance, Job
    >>> cost = Covariance().cost(Job(n=1000, p=20, k=3))
    >>> type(cost).__name__, cost.passes
    ('Cost', 1)
    """

    #: Multiplications, at the speed of a large matrix product.
    work: float
    #: Passes over the rows.
    passes: int
    #: Bytes in addition to the rows.
    n_bytes: int
    #: The reason for choosing this solver.
    why: str


@dataclass(frozen=True)
class Plan:
    """The solver that will run, its cost, and the reason for choosing it.

    Examples
    --------
    >>> from lowdim import PCA, plan
    >>> found = plan(PCA(3), (1000, 20))
    >>> type(found).__name__, found.solver.name, found.passes, found.why
    ('Plan', 'covariance', 1, 'one product of the rows is cheapest for 20 columns')
    """

    solver: Any
    #: Lower bound on the passes over the rows.
    passes: int
    #: Approximate number of bytes in addition to the rows.
    n_bytes: int
    why: str
    #: Which work runs on a device, on the workers of an engine, and on the host; empty if no rows are known. Plans are
    #: equal wherever they run.
    where: str = field(default="", compare=False)

    @property
    def fits_memory(self) -> bool:
        """Whether the bytes fit into the memory of this machine (True if its memory is unknown)."""
        have = memory_bytes()
        return not have or self.n_bytes <= have

    def __str__(self) -> str:
        often = {0: "no pass", 1: "1 pass"}.get(self.passes, f"{self.passes} passes") + " over the rows"
        # That all runs on the host is the usual case.
        where = "" if self.where in ("", ON_HOST) else f"; {self.where}"
        return f"{self.solver.name}: {often}, about {in_words(self.n_bytes)} beside them; {self.why}{where}"


class RowsLike(Protocol):
    """What a solver may do with rows; implemented by `lowdim.reading.Rows`.

    Examples
    --------
    >>> import numpy as np
    >>> from lowdim import open_source
    >>> from lowdim.reading import Rows
    >>> from lowdim.solvers import Covariance, Request, RowsLike
    >>> rows: RowsLike = Rows(open_source(np.array([[1.0, 2.0], [3.0, 3.0], [3.0, 5.0], [5.0, 6.0]])))
    >>> Covariance().solve(rows, Request(k=1)).values.round(3)
    array([17.062])
    """

    shape: tuple[int | None, int]
    weights: Array | None
    dtype: Any
    traits: Traits
    progress: Progress | None
    #: Names of the columns, or None.
    names: Sequence[str] | None

    def summarize(self, summary: S) -> S:
        """Summarize the rows in one pass over them."""

    def summarize_features(self, summary: S) -> S:
        """Summarize the columns in one pass over them."""

    def map_features(self, function: Callable[[Array], Array]) -> Array:
        """Apply a function to blocks of columns in one pass; the result, one row per column, is in memory."""

    def map(self, function: Callable[[Array], Array]) -> Array:
        """Apply a function to blocks of rows in one pass; the result has one row per row."""

    def first_block(self) -> RowsLike | None:
        """The first rows of a stream, without removing them from it; None if they are not available."""

    def shows_holes(self) -> bool:
        """Whether the first rows contain a NaN, if that can be determined at no cost."""

    def narrowed(self) -> RowsLike | None:
        """The same rows in float32 if a copy is cheap to keep, otherwise None."""

    def windows(self, size: int, random: np.random.Generator | None = None) -> Iterator[Any]:
        """The rows in windows of about `size`, each with an array `X` and `weights`, in one pass; with `random`, from
        random places where that is possible."""

    def filled(self, mean: Array, scale: Array, unstored: bool) -> RowsLike:
        """(x - mean) / scale, with zeros for entries of x that were not observed."""

    def counted(self) -> RowsLike:
        """The rows of positive weight, for reading by columns."""

    def mapped(self, function: Callable[[Array], Array], *, widen: bool = False) -> RowsLike:
        """The rows after a feature map, which is applied block by block whenever they are read; with `widen`, features
        that overflow in float32 are computed in float64."""

    def of(self, X: Array, weights: Array | None = None, progress: Progress | None = None) -> RowsLike:
        """Rows of another array in memory."""

    def whole(self, model: str) -> tuple[Array, Array | None]:
        """All rows of positive weight as one array of finite entries, and their weights."""

    def empty(self, *shape: int) -> Array:
        """An uninitialised array of the same library, device and dtype as the rows."""


class AnySolver(ABC):
    """Base class of all solvers: a name, a cost, the jobs that are refused, and the next more accurate solver.

    Examples
    --------
    >>> from lowdim.solvers import SOLVERS, AnySolver
    >>> all(issubclass(solver, AnySolver) for solver in SOLVERS.values())
    True
    >>> sorted(SOLVERS)
    ['covariance', 'gram', 'krylov', 'triangle']
    """

    #: The shorthand, which `plan_` and `solver_` show.
    name: ClassVar[str]
    #: Whether a single pass over the rows is enough.
    one_pass: ClassVar[bool] = True
    #: What is computed on the host if rows are on a device, such as "the solve"; empty if the device does all.
    on_host: ClassVar[str] = ""

    @abstractmethod
    def cost(self, job: Any) -> Cost:
        """The cost of solving `job`."""

    def refusal(self, job: Any) -> Exception | None:
        """The error to raise if this solver cannot do `job`, or None if it can."""
        return None if self.one_pass or job.traits.rereadable else read_once(self.name)

    def is_sensible(self, job: Any) -> bool:
        """Whether "auto" should consider this solver for `job`."""
        return True

    def finer(self, job: Any) -> AnySolver | None:
        """The next more accurate solver, to run if this one does not resolve the result; or None."""
        return None

    def too_large(self, job: Any, n_bytes: int) -> MemoryError:
        """The error for a job that needs more memory than there is."""
        advice = "Pass n_components as a small whole number, so that few directions are looked for."
        return needs_memory(f"solver={self.name!r} on {job.p} columns", n_bytes, job.memory, advice)

    def job_of(self, sources: Sequence[Any], k: int | None) -> Any:
        """The job of solving the rows of these sources (one source, or several tables side by side)."""
        n, p = sources[0].shape
        return Job(n, p, k, sources[0].traits)

    def plan_sources(self, sources: Sequence[Any], k: int | None = None) -> Plan:
        """The plan for the rows of these sources; raises an error if this solver cannot do the job."""
        if k is not None and (isinstance(k, bool) or not isinstance(k, Integral) or k < 1):
            raise ValueError(f"k={k!r} must be a whole number of at least 1, or None for all.")
        job = self.job_of(sources, k)
        refusal = self.refusal(job)
        if refusal is not None:
            raise refusal
        return self.plan(job, "as requested")

    def plan(self, job: Any, why: str = "") -> Plan:
        """The plan for this solver to do `job`; `why` is the reason for choosing it, by default that of its cost."""
        cost = self.cost(job)
        return Plan(self, cost.passes, cost.n_bytes, why or cost.why)


class SpectraLike(Protocol):
    """The interface of `lowdim.solvers.spectra`.

    Other problems build on the eigenpairs of a covariance. They get the module as an argument and do not import it.
    """

    def plan(self, rows: RowsLike, request: Request, asked: Any = "auto") -> Plan:
        """The plan for finding the eigenpairs of the covariance of the rows."""

    def plan_job(self, job: Job, asked: Any = "auto") -> Plan:
        """The same plan, for rows that are known by their shape and traits."""

    def solve(self, rows: RowsLike, request: Request, asked: Any = "auto") -> tuple[Spectrum, Plan]:
        """Eigenpairs of the covariance of the rows."""

    def solve_summary(self, summary: Any, request: Request, asked: Any = "auto") -> tuple[Spectrum, Plan]:
        """Eigenpairs of the covariance of the rows that were summarized."""


R = TypeVar("R")


def with_passes(record: R, passes: int) -> R:
    """The record (or plan) with this number of passes; the same object if it has that number already."""
    return record if record.passes == passes else replace(record, passes=passes)  # type: ignore[attr-defined, type-var]


def total_weight(rows: RowsLike) -> float | None:
    """The sum of the weights, or the number of rows if there are no weights; None if that is unknown."""
    if rows.weights is not None:
        return sum_of(rows.weights)
    return None if rows.shape[0] is None else float(rows.shape[0])


def counted_rows(rows: RowsLike) -> int | None:
    """The number of rows of positive weight, since the others are as if they were absent; None if it is unknown."""
    if rows.shape[0] is None or rows.weights is None:
        return rows.shape[0]
    return count_positive(rows.weights)


def repeated_rows(rows: RowsLike) -> int | None:
    """The number of rows, each repeated as often as its weight says; None if it is unknown."""
    n = counted_rows(rows)
    return None if n is None else max(n, int(total_weight(rows) or 0.0))
