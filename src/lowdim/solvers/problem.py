"""What all problems share: a job is planned by its cost and solved from rows, again if it has to be; the results."""

from __future__ import annotations

import numbers
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import lru_cache
from typing import Any, ClassVar, Generic, Protocol, TypeVar

import numpy as np

from .._core.arrays import Array, count_true, cumulative_sum, to_numpy
from .._core.schema import Instance, Maybe, Real, Sometimes, Text, Whole
from .._core.threads import Progress, in_words, memory_bytes
from ..errors import choice, needs_memory, read_once
from ..linalg import FLOAT64_EPS, accuracy, divisor, rank_cut
from ..sources.base import Traits
from ..sources.derived import count_positive, sum_of
from ..summaries.base import Summary
from ..summaries.moments import Columns, Moments
from ..summaries.triangle import Triangle


class Status(Enum):
    """How a solve ended; the value describes it in words.

    Examples
    --------
    >>> from lowdim import PCA
    >>> PCA(1).fit([[1.0, 2.0], [3.0, 3.0], [3.0, 5.0]]).status_
    <Status.EXACT: 'solved directly, to rounding'>
    """

    EXACT = "solved directly, to rounding"
    CONVERGED = "iterated until the residual was below the tolerance"
    FIXED_STEPS = "stopped after the number of steps asked for"
    UNRESOLVED = "the smallest eigenvalues kept are too small beside the largest for this solver to resolve"
    NOT_CONVERGED = "stopped before the residual was below the tolerance"
    UNDETERMINED = "stopped early, because the rows do not determine what was to be found"
    HELD_OUT = "stopped when rows that were held out were no longer described better"
    INTERRUPTED = "stopped by Ctrl-C, with the best state so far"

    def __str__(self) -> str:
        return f"{self.name.lower()}: {self.value}"


@dataclass(frozen=True)
class Tail:
    """The eigenvalues that were not kept: their sum, and the sums of their squares and cubes.

    The latter are divided by the square and the cube of the sum, and are None if the solver does not know them.

    Examples
    --------
    >>> from lowdim import PCA
    >>> pca = PCA(1, ddof=0).fit([[1.0, 2.0, 0.0], [3.0, 3.0, 1.0], [3.0, 5.0, 0.0], [1.0, 4.0, 2.0]])
    >>> type(pca.tail_).__name__, round(pca.tail_.total / 4, 3), round(2 * pca.noise_variance_, 3)
    ('Tail', 1.294, 1.294)
    """

    total: float = field(default=0.0, metadata={"kind": Real("nonnegative")})
    squares: float | None = field(default=0.0, metadata={"kind": Maybe(Real("nonnegative"))})
    cubes: float | None = field(default=0.0, metadata={"kind": Maybe(Real("nonnegative"))})

    def plus(self, values: Array) -> Tail:
        """The tail with further eigenvalues `values` added."""
        values = to_numpy(values)
        total = self.total + float(values.sum())
        if total <= 0.0:
            return Tail()
        shares, old = values / total, self.total / total
        squares = None if self.squares is None else self.squares * old**2 + float((shares**2).sum())
        cubes = None if self.cubes is None else self.cubes * old**3 + float((shares**3).sum())
        return Tail(total, squares, cubes)


@dataclass(frozen=True)
class Spectrum:
    """Leading eigenpairs of a scatter matrix, which is a covariance matrix times its divisor.

    Examples
    --------
    >>> import numpy as np
    >>> from lowdim.sources import open_source
    >>> from lowdim.reading.rows import Rows
    >>> from lowdim.solvers import Covariance, Request
    >>> rows = Rows(open_source(np.array([[1.0, 2.0], [3.0, 3.0], [3.0, 5.0], [5.0, 6.0]])))
    >>> found = Covariance().solve(rows, Request(k=1))
    >>> type(found).__name__, found.values.round(3), found.mean
    ('Spectrum', array([17.062]), array([3., 4.]))
    """

    #: Eigenvalues of the scatter, descending, (k,): a NumPy array, since single numbers of it are looked at.
    values: np.ndarray
    #: Unit eigenvectors as rows, (k, p).
    vectors: Array
    #: Mean of the rows, or zero if it was not subtracted, (p,).
    mean: Array
    #: Divisors of the columns, (p,), or None if they were not scaled.
    scale: Array | None
    #: Sums of the eigenvalues that are not in `values`.
    tail: Tail
    #: Total weight and number of the rows.
    weight: float
    n_rows: int
    status: Status
    #: max_k ||S w_k - lambda_k w_k|| / lambda_1.
    residual: float
    #: Rounding error of the products from which the eigenvalues were computed, relative to lambda_1.
    epsilon: float = FLOAT64_EPS
    #: Passes over the rows.
    passes: int = 1
    #: Whether the mean was subtracted; if not, `mean` is zero.
    center: bool = True
    #: Estimated relative errors of the `values` that may have lost their digits, and zeros for the others; or None.
    errors: np.ndarray | None = None
    #: The status if no eigenvalue has lost its digits.
    ended: Status = Status.EXACT
    #: Estimated relative error of the sum of the other eigenvalues, if it may have lost its digits, or zero.
    tail_error: float = 0.0
    #: The number of eigenvalues that may be above zero, if it is known: no more than there are columns that vary.
    n_free: int | None = None

    @property
    def total(self) -> float:
        """Sum of all eigenvalues."""
        return float(self.values.sum()) + self.tail.total

    @property
    def rank_cut(self) -> float:
        """Eigenvalues at or below this cannot be distinguished from zero."""
        return rank_cut(float(self.values[0]), int(self.vectors.shape[1]), self.epsilon)

    @property
    def rank(self) -> int:
        """The number of eigenvalues above `rank_cut`."""
        return int(np.count_nonzero(self.values > self.rank_cut))

    def truncated(self, k: int) -> Spectrum:
        """The first `k` pairs; the others are added to the tail."""
        if k >= self.values.shape[0]:
            return self
        tail, errors, tail_error = self.tail.plus(self.values[k:]), self.errors, self.tail_error
        if errors is not None and tail.total > 0.0:
            wrong = sum_error(self.values[k:], errors[k:], self.rank_cut)
            tail_error = (tail_error * self.tail.total + wrong) / tail.total
        errors = None if errors is None else errors[:k]
        kept = replace(self, values=self.values[:k], vectors=self.vectors[:k, :], tail=tail, errors=errors)
        return replace(kept, tail_error=tail_error).judged()

    @property
    def lost(self) -> tuple[str, float, float]:
        """What has lost most digits, its share of the largest eigenvalue, and its relative error."""
        errors = np.zeros(1) if self.errors is None else self.errors
        j = int(errors.argmax())
        if self.tail_error > errors[j]:
            return "variance beside the components", self.tail.total / float(self.values[0]), self.tail_error
        return "smallest eigenvalue kept", float(self.values[j] / self.values[0]), float(errors[j])

    def judged(self) -> Spectrum:
        """The spectrum with the status that its errors lead to: UNRESOLVED if digits may have been lost."""
        tail_lost = self.tail_error > accuracy(self.epsilon)
        if (self.errors is None and not tail_lost) or self.status is Status.NOT_CONVERGED:
            return self
        lost = tail_lost or bool(np.any(self.errors > 0.0))  # type: ignore[operator] # None only if the tail is lost
        return replace(self, status=Status.UNRESOLVED if lost else self.ended)

    def accepted(self, zero: float | None = None) -> Spectrum:
        """The spectrum for users: without errors that are small, or of eigenvalues at or below `zero`, if it is given.

        "auto" does not ask for this: it takes a more accurate solver wherever digits may be lost.
        """
        if self.errors is None:
            return self
        harmless = self.errors <= accuracy(self.epsilon)
        if zero is not None:
            harmless |= self.values <= zero
        return replace(self, errors=np.where(harmless, 0.0, self.errors)).judged()

    def variances(self, ddof: int) -> np.ndarray:
        """Eigenvalues of the covariance with divisor weight - ddof."""
        return self.values / divisor(self.weight, ddof)


def sum_error(values: np.ndarray, errors: np.ndarray, cut: float) -> float:
    """The error of a sum of eigenvalues with these relative errors, none of them wrong by more than the rank cut."""
    with np.errstate(invalid="ignore"):
        return float(np.fmin(errors * values, np.where(errors > 0.0, cut, 0.0)).sum())


def leading_count(values: Array, total: float, proportion: float) -> int:
    """The smallest number of leading `values` whose proportion of `total` reaches `proportion` (up to rounding)."""
    if total <= 0.0:
        return 1
    reached = cumulative_sum(values / total) >= proportion - 1e-12
    return min(count_true(~reached) + 1, int(values.shape[0]))


# The interface of all solvers: a job is planned by its cost, and then solved from rows.
#
# A solver is a small frozen object that holds its options. Before it runs, it reports what a job would cost and whether
# it can do the job at all. To solve, it gets a request and `RowsLike`, through which it reads the rows without knowing
# their source.


S = TypeVar("S", bound=Summary)
#: Summaries of means and second moments.
C = TypeVar("C", Moments, Triangle, Columns)

#: A symmetric eigenproblem of size p costs about this many times p^3 multiplications of a matrix product.
EIGH_WORK = 4.0
#: Products of stored entries with one another cost about this many times those of a matrix product; the product of rows
#: that store more is computed as a dense one.
_SPARSE_WORK = 250.0
#: `Plan.where` of rows in main memory.
ON_HOST = "all on the host"


@dataclass(frozen=True)
class Request:
    """The request to a solver of spectra.

    Examples
    --------
    >>> import numpy as np
    >>> from lowdim.sources import open_source
    >>> from lowdim.reading.rows import Rows
    >>> from lowdim.solvers import Covariance, Request
    >>> rows = Rows(open_source(np.array([[1.0, 2.0], [3.0, 3.0], [3.0, 5.0], [5.0, 6.0]])))
    >>> Covariance().solve(rows, Request(k=1, scale=True)).scale.round(3)
    array([1.633, 1.826])
    """

    #: Number of leading eigenpairs; None for all min(n, p).
    k: int | None = None
    #: With k = None: the share of the variance that the leading eigenpairs have to reach. Solvers return as many as
    #: reach it and one more, and the sums over the others.
    share: float | None = None
    #: Standard deviations have the divisor weight - ddof; columns are divided by them if `scale`.
    ddof: int = 1
    scale: bool = False
    #: Columns are multiplied by the square roots of these weights, after they were scaled; None stands for ones.
    feature_weight: np.ndarray | None = None
    #: The largest rank that the columns allow, if it is known to be less than their number.
    most: int | None = None
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
        free = n_rows - 1 if self.center else n_rows
        return free if self.most is None else min(free, self.most)


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

    def product_work(self, n: int, p: int) -> float:
        """Multiplications for all products of p columns with one another, or of p rows, of n entries each."""
        stored = self.traits.stored if self.traits.sparse else 1.0
        return n * p * p * min(1.0, _SPARSE_WORK * stored**2)

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

    solver: Any = field(metadata={"kind": Instance("solvers.*", "selection.*", "sklearn.*")})
    #: Lower bound on the passes over the rows.
    passes: int = field(metadata={"kind": Whole()})
    #: Approximate number of bytes in addition to the rows.
    n_bytes: int = field(metadata={"kind": Whole()})
    why: str
    #: Which work runs on a device, on the workers of an engine, and on the host; empty if no rows are known. Plans are
    #: equal wherever they run.
    where: str = field(default="", compare=False, metadata={"kind": Sometimes(Text())})

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
    >>> from lowdim.sources import open_source
    >>> from lowdim.reading.rows import Rows
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

    def summarize_once(self, summary: S) -> tuple[S, int]:
        """A summary that is kept for those who ask for it again, and the passes that it took, one or none."""

    def summarize_features(self, summary: S) -> S:
        """Summarize the columns in one pass over them."""

    def map_features(self, function: Callable[[Array], Array]) -> Array:
        """Apply a function to blocks of columns in one pass; the result, one row per column, is in memory."""

    def map(self, function: Callable[[Array], Array]) -> Array:
        """Apply a function to blocks of rows in one pass; the result has one row per row."""

    def first_block(self) -> RowsLike | None:
        """The first rows of a stream, without removing them from it; None if they are not available."""

    def shows_missing(self) -> bool:
        """Whether the first rows contain a NaN, if that can be determined at no cost."""

    def narrowed(self) -> RowsLike | None:
        """The same rows in float32 if a copy is cheap to keep, otherwise None."""

    def windows(self, size: int, random: np.random.Generator | None = None) -> Iterator[Any]:
        """The rows in windows of about `size`, each with an array `X` and `weights`, in one pass; with `random`, from
        random places where that is possible."""

    def filled(self, mean: Array, scale: Array, unstored: bool) -> RowsLike:
        """(x - mean) / scale, with zeros for entries of x that were not observed."""

    def scaled(self, factor: Array) -> RowsLike:
        """The rows with each column multiplied by a number."""

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


def check_whole(options: Any, name: str, least: int = 1, instead: str = "") -> None:
    """Refuse an option that is not a whole number of at least `least`; the message adds what is allowed `instead`."""
    value = getattr(options, name)
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or value < least:
        kind = type(options).__name__
        raise ValueError(f"{kind}({name}={value!r}): a whole number of at least {least} is needed{instead}.")


def check_share(options: Any, name: str) -> None:
    """Refuse an option that is not a number between 0 and 1."""
    value = getattr(options, name)
    if not isinstance(value, numbers.Real) or not 0.0 < float(value) < 1.0:
        raise ValueError(f"{type(options).__name__}({name}={value!r}): a number between 0 and 1 is needed.")


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
    #: The class of the one summary that the solver computes from the rows, or None if it needs more than that.
    starts_from: ClassVar[type[Summary] | None] = None

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

    def _confirmed(self, found: Any, rows: Any, request: Any) -> Any:
        """The result, if it is unresolved, after a closer look at the rows: it may be exact nevertheless."""
        return found

    def _finished(self, found: Any, rows: Any, request: Any) -> Any:
        """The result as it is returned, after all solvers that ran."""
        return found

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
        if k is not None and (isinstance(k, bool) or not isinstance(k, numbers.Integral) or k < 1):
            raise ValueError(f"k={k!r} must be a whole number of at least 1, or None for all.")
        job = self.job_of(sources, k)
        refusal = self.refusal(job)
        if refusal is not None:
            raise refusal
        return self.plan(job, "as requested")

    def plan(self, job: Any, why: str = "") -> Plan:
        """The plan for this solver to do `job`; `why` is the reason for choosing it, by default that of its cost."""
        cost, traits = self.cost(job), job.traits
        readers = traits.n_readers if traits.part_bytes else 1
        return Plan(self, cost.passes, cost.n_bytes + readers * traits.reading_bytes, why or cost.why)


R = TypeVar("R")
#: The module `lowdim.solvers.spectra`, as solvers of other problems are given it.
SpectraLike = Any


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


def is_auto(asked: Any) -> bool:
    """Whether the solver is to be chosen automatically."""
    return isinstance(asked, str) and asked == "auto"


def checked_plan(solver: Any, job: Any, why: str = "") -> Plan:
    """The plan of this solver; raises its refusal, or a MemoryError if the job does not fit into memory."""
    refusal = solver.refusal(job)
    if refusal is not None:
        raise refusal
    plan: Plan = solver.plan(job, why)
    if not job.fits(plan.n_bytes):
        raise solver.too_large(job, plan.n_bytes)
    return plan


def cheapest_solver(job: Any, table: Mapping[str, Any]) -> Any:
    """The solver of least work among those of `table` that can do the job, fit into memory, and are sensible.

    If none can do the job, the refusal of the first sensible one is raised; if none fits into memory, the error of the
    smallest one.
    """
    refusals: dict[AnySolver, Exception | None] = {s: s.refusal(job) for s in map(_made, table.values())}
    costs: dict[AnySolver, Cost] = {s: s.cost(job) for s, refusal in refusals.items() if refusal is None}
    if not costs:
        raise refusals[max(refusals, key=lambda s: s.is_sensible(job))]  # type: ignore[misc] # none of them is None
    fitting = {s: c for s, c in costs.items() if job.fits(c.n_bytes)}
    sensible = {s: c for s, c in (fitting or costs).items() if s.is_sensible(job)} or fitting or costs
    if not fitting:
        least = min(sensible, key=lambda s: sensible[s].n_bytes)
        raise least.too_large(job, sensible[least].n_bytes)
    return min(sensible, key=lambda s: sensible[s].work)


@lru_cache(maxsize=512)
def cached_choice(job: Any, memory: int, table: tuple[tuple[str, Any], ...]) -> tuple[Any, Plan]:
    """The cheapest solver and its plan, which are cached, because choosing would take much of the time of small fits.

    The job and the entries of the table must be hashable. The memory of the job is part of the key, because the choice
    depends on it.
    """
    solver = cheapest_solver(job, dict(table))
    return solver, solver.plan(job)


def _made(entry: Any) -> Any:
    """The solver object for an entry of a table of solvers; a class is instantiated with its default options."""
    return entry() if isinstance(entry, type) else entry


#: Results of this status may be improved by a more accurate solver.
_IMPROVABLE = (Status.UNRESOLVED, Status.NOT_CONVERGED)


@dataclass(frozen=True)
class Problem(Generic[R]):
    """A problem that several solvers solve: which of them does a job, and what it finds.

    "auto" takes the solver of least work among those of the table that can do the job, fit into memory and are sensible
    for it; a solver requested by name or as an object is always used. In both cases a job that cannot be done is
    refused before any row is read.

    A solver has `solve(rows, request)` (or the `method` of the problem) and, if it `starts_from` a summary of the rows,
    `solve_summary(summary, request)`. Both return a record with a `status` and a number of `passes`.
    """

    #: The method of solvers that solves rows.
    method: ClassVar[str] = "solve"
    #: Solvers by shorthand, and their base class.
    solvers: Mapping[str, Any]
    kind: Any
    #: What solvers are in messages, and what is added to the message about a name that is not in the table.
    what: str = "a solver object"
    advice: Callable[[Any], str] = lambda name: ""
    #: Whether choices are kept, which takes that the job and the entries of the table can be compared.
    cached: bool = True
    #: Whether "auto" chooses a solver.
    chooses: bool = True

    def job(self, rows: Any, request: Any) -> Any:
        """The job of solving these rows."""
        n, p = rows.shape
        return Job(n, p, request.k, rows.traits)

    def summary_job(self, summary: Any, request: Any) -> Any:
        """The job of solving the rows that were summarized."""
        return Job(summary.n_rows, summary.n_features, request.k)

    def plan(self, rows: Any, request: Any, asked: Any = "auto") -> Plan:
        """The plan for these rows, before any is read."""
        return self.plan_job(self.job(rows, request), asked)

    def plan_job(self, job: Any, asked: Any = "auto") -> Plan:
        """The plan for a job. A solver that does not fit into memory is refused, even if it was requested."""
        if not (self.chooses and is_auto(asked)):
            return checked_plan(self.find(asked), job, "as requested")
        if self.cached:
            return cached_choice(job, job.memory, tuple(self.solvers.items()))[1]
        plan: Plan = cheapest_solver(job, self.solvers).plan(job)
        return plan

    def find(self, asked: Any) -> Any:
        """The solver of this name, or the solver object itself; raises an error for anything else."""
        if isinstance(asked, str):
            if asked not in self.solvers:
                allowed = ["auto", *self.solvers] if self.chooses else [*self.solvers]
                raise choice("solver", asked, allowed, self.advice(asked))
            return _made(self.solvers[asked])
        if not isinstance(asked, self.kind):
            instead = f"; make one: {asked.__name__}()" if isinstance(asked, type) else ""
            raise TypeError(f"solver must be a name or {self.what}, got {type(asked).__name__}{instead}.")
        return asked

    def plan_stream(self, plan: Plan, job: Any, rows: Any, request: Any) -> Plan:
        """The plan for rows that can be read only once, so that no more accurate solver can follow."""
        return plan

    def planned(self, rows: Any, request: Any, asked: Any) -> tuple[Any, Plan]:
        """The job of solving these rows, and its plan."""
        job = self.job(rows, request)
        return job, self.plan_job(job, asked)

    def solve(self, rows: Any, request: Any, asked: Any = "auto") -> tuple[R, Plan]:
        """The result of the solver `asked` for; with "auto", more accurate solvers follow until it is resolved."""
        (job, plan), auto, passes = self.planned(rows, request, asked), is_auto(asked), 0
        if auto and not job.traits.rereadable:
            plan = self.plan_stream(plan, job, rows, request)
        while True:
            found, finer = getattr(plan.solver, self.method)(rows, request), None
            if found.status in _IMPROVABLE and job.traits.rereadable:
                found = plan.solver._confirmed(found, rows, request)
                finer = finer_plan(plan, found.status, job) if auto else None
            passes += found.passes
            if finer is None:
                found = plan.solver._finished(replace(found, passes=passes), rows, request)
                passes = found.passes
                finer = finer_plan(plan, found.status, job) if auto and job.traits.rereadable else None
            if finer is None:
                return found, replace(plan, passes=passes)
            plan = finer

    def solve_summary(self, summary: Any, request: Any, asked: Any = "auto") -> tuple[R, Plan]:
        """The result from a summary of the rows, without a pass over them."""
        solver = self.solver_for(summary, asked)
        plan = solver.plan(self.summary_job(summary, request), "from a summary")
        return replace(solver.solve_summary(summary, request), passes=0), replace(plan, passes=0)

    def solver_for(self, summary: Any, asked: Any = "auto") -> Any:
        """The solver that starts from a summary of this class: the one `asked` for, or the first such in the table."""
        kinds = {cls: cls.starts_from for cls in self.solvers.values() if cls.starts_from is not None}
        able = [cls for cls, kind in kinds.items() if isinstance(summary, kind)]
        if not able:
            known = " or a ".join(kind.__name__ for kind in kinds.values())
            raise TypeError(f"a {known} is needed, got {type(summary).__name__}.")
        first = able[0]
        solver = first() if is_auto(asked) else self.find(asked)
        if isinstance(summary, solver.starts_from or ()):
            return solver
        raise ValueError(
            f"solver={asked!r} cannot start from a {first.starts_from.__name__}; use 'auto' or {first.name!r}."
        )


def finer_plan(plan: Plan, status: Status, job: Any) -> Plan | None:
    """The plan for the next more accurate solver, if a result of this status may be improved; or None if there is none
    that can do the job in the available memory."""
    solver = plan.solver.finer(job) if status in _IMPROVABLE else None
    if solver is None or solver.refusal(job) is not None:
        return None
    finer: Plan = solver.plan(job, f"{plan.solver.name} ended {status.name.lower()}, so a more accurate solver ran")
    return finer if job.fits(finer.n_bytes) else None
