"""The solver protocol: rows -> summary -> Spectrum.

A solver is a small frozen object that holds its own options. It is handed `Rows`, a summarize bound to a source it
never sees, and a `Request`; one that needs a single summary can also start from that summary alone.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, TypeVar

from .._xp import Array, astype, namespace
from ..errors import read_once, too_few_rows
from ..linalg import RESOLUTION, RESOLUTION_FLOAT32, divisor, is_constant
from ..sources.base import Traits
from ..summaries.base import Summary
from .results import Spectrum

S = TypeVar("S", bound=Summary)


@dataclass(frozen=True)
class Request:
    """What is asked of a solver."""

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


@dataclass(frozen=True)
class Cost:
    """What a solver would cost: multiplications (in units of a large matrix product), passes, bytes beside the rows."""

    work: float
    passes: int
    n_bytes: int
    why: str


#: A symmetric eigenproblem of size p costs about as much as this many times p^3 multiplications of a product.
EIGH_WORK = 4.0


def require_rows(n_rows: int, weight: float, ddof: int, fixed: bool = False) -> None:
    """A covariance needs a positive divisor."""
    if divisor(weight, ddof) <= 0:
        raise too_few_rows(n_rows, weight, ddof, fixed)


class RowsLike(Protocol):
    """What a solver may do with rows."""

    shape: tuple[int | None, int]
    weights: Array | None
    dtype: Any
    traits: Traits

    def summarize(self, summary: S) -> S: ...
    def summarize_features(self, summary: S) -> S: ...
    def map_features(self, function: Callable[[Array], Array]) -> Array: ...
    def narrowed(self) -> RowsLike | None: ...
    def filled(self, mean: Array, scale: Array, unstored: bool) -> RowsLike: ...
    def counted(self) -> RowsLike: ...
    def empty(self, *shape: int) -> Array: ...


class Solver(ABC):
    """One way from rows to a Spectrum."""

    #: Shorthand, `plan_` and `solver_` show it.
    name: ClassVar[str]
    #: Whether a single reading of the rows is enough.
    one_pass: ClassVar[bool] = True

    @abstractmethod
    def solve(self, rows: RowsLike, request: Request) -> Spectrum:
        """Read `rows` and solve."""

    @abstractmethod
    def cost(self, job: Job) -> Cost:
        """What `solve` would cost for `job`."""

    def refusal(self, job: Job) -> Exception | None:
        """Why this solver cannot do `job` at all, or None."""
        return None if self.one_pass or job.traits.rereadable else read_once(self.name)

    def is_sensible(self, job: Job) -> bool:
        """Whether `auto` should consider this solver for `job`."""
        return True

    def finer(self, rows: RowsLike) -> Solver | None:
        """The next more accurate solver for what this one could not resolve, if there is one."""
        return None


def scales(squares: Array, mean: Array, weight: float, request: Request) -> Array | None:
    """Standard deviations to divide columns by (one for columns that are constant, or vary by their rounding only), or
    None."""
    if not request.standardize:
        return None
    xp = namespace(squares)
    sd = xp.sqrt(squares / divisor(weight, request.ddof))
    return xp.where(is_constant(sd, astype(mean, sd.dtype)), xp.ones_like(sd), sd)


def is_resolved(values: Array, n_free: int, product_eps: float) -> bool:
    """Whether products with rounding `product_eps` can tell the first `n_free` of `values` from rounding.

    The others are zero for a plain reason (constant columns, fewer rows than columns).
    """
    last = min(values.shape[0], n_free)
    if last <= 0:
        return True
    threshold = RESOLUTION if product_eps < 1e-10 else RESOLUTION_FLOAT32
    return float(values[last - 1]) >= threshold * float(values[0])
