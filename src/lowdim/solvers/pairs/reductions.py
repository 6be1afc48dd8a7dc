"""Reductions of tables side by side to coordinates with the same inner products: covariance, triangle, gram."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import accumulate, pairwise
from typing import Any, ClassVar, Literal

import numpy as np

from ..._core.arrays import Array, asarray_like, astype, dense, namespace, smallest_normal, to_numpy
from ..._core.devices import moved_to_host
from ...errors import choice, needs_columns, needs_memory
from ...linalg import (
    FLOAT32_EPS,
    FLOAT64_EPS,
    column_lengths,
    divisor,
    eigh_descending,
    is_constant,
    numerical_rank,
    quiet_blas,
    require_rows,
    require_size,
)
from ...sources.beside import BesideSource
from ...summaries.base import check_squares, require_nonempty
from ...summaries.gram import FeatureProducts, Gram, centred_features, feature_means
from ...summaries.moments import Moments
from ...summaries.triangle import Triangle
from ..problem import EIGH_WORK, AnySolver, Cost, Job, Problem, RowsLike, Status, counted_rows, is_auto, total_weight
from .views import CanonicalFit, Factors, LiftedVectors, PairFit, View, Views, root_of_products

# The problem of tables side by side: the tables, the request, the job to plan for, and the solution.


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
    scale: tuple[bool, ...]
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
    #: Passes over the rows.
    passes: ClassVar[int] = 1

    def views(self, tables: Tables, scale: Sequence[bool], ddof: int) -> Views:
        """Coordinates of the tables. Columns of tables to `scale` are divided by their standard deviations."""
        summary = tables.joint.summarize(self.empty_summary(tables.widths))
        return self.views_of_summary(summary, tables.names, scale, ddof)

    def solve(self, tables: Tables, request: TablesRequest) -> TablesSolution:
        """The components of the tables."""
        return self._components(self.views(tables, request.scale, request.ddof), request)

    def solve_summary(self, summary: Any, request: TablesRequest) -> TablesSolution:
        """The components from a Moments or Triangle summary of the tables side by side."""
        require_nonempty(summary)
        n = len(summary.widths)
        names = ("X", "y") if n == 2 else tuple(f"table {i}" for i in range(n))
        return self._components(self.views_of_summary(summary, names, request.scale, request.ddof), request)

    def _components(self, views: Views, request: TablesRequest) -> TablesSolution:
        """The components of tables with these coordinates."""
        k = request.count(views.n_rows, views.weight)
        with quiet_blas(views.n_columns):
            if request.narrow is not None:
                views = request.narrow(views, k)
            return TablesSolution(views, request.components(views, k), self.passes)

    def empty_summary(self, widths: Sequence[int]) -> Any:
        """An empty summary of tables of these widths side by side, for `views_of_summary`."""
        if self.starts_from is None:
            raise TypeError(f"solver={self.name!r} keeps no summary of the rows.")
        kind: Any = self.starts_from
        return kind(sum(widths), widths=widths)

    def views_of_summary(self, summary: Any, names: tuple[str, ...], scale: Sequence[bool], ddof: int) -> Views:
        """Coordinates from a summary of the tables side by side, without their rows."""
        raise TypeError(f"solver={self.name!r} keeps no summary of the rows.")

    def job_of(self, sources: Sequence[Any], k: int | None) -> TablesJob:
        """The job of these tables side by side."""
        joint = BesideSource(sources)
        n, p = joint.shape
        columns = tuple(source.shape[0] is not None and source.traits.by_feature for source in sources)
        return TablesJob(n, p, k, joint.traits, joint.widths, columns)

    def too_large(self, job: Any, n_bytes: int) -> MemoryError:
        advice = "Keep fewer columns, or reduce each table by PCA first."
        return needs_memory(f"solver={self.name!r} on tables of {job.p} columns", n_bytes, job.memory, advice)


def _on_host(summary: Any) -> tuple[Any, Any]:
    """A summary with NumPy arrays, and an array on the device on which it was; None if it was on the host."""
    there = summary.mean
    return (summary, None) if isinstance(there, np.ndarray) else (moved_to_host(summary), there)


# Lifts, which map vectors in coordinates back to the columns of a table.


def divisors(deviation: Array, scaled: bool) -> Array:
    """The divisors of the columns: their standard deviations if `scaled`, and one for others and constant columns."""
    xp = namespace(deviation)
    return xp.where(deviation > 0, deviation, xp.ones_like(deviation)) if scaled else xp.ones_like(deviation)


@dataclass(frozen=True)
class IdentityLift:
    """The lift for coordinates that are the columns themselves."""

    mean: Array
    deviation: np.ndarray
    scaled: bool

    def __call__(self, vectors: np.ndarray) -> LiftedVectors:
        like = self.mean
        deviation = asarray_like(self.deviation, like, dtype=like.dtype)
        lifted = asarray_like(np.ascontiguousarray(vectors), like, dtype=like.dtype)
        return LiftedVectors(lifted, self.mean, deviation, divisors(deviation, self.scaled))


@dataclass(frozen=True)
class GramLift:
    """The map of combinations v of the rows to Z^T v, in one pass over the columns.

    Z are the centred (and scaled) rows times the square roots of their weights.
    """

    rows: RowsLike
    scaled: bool
    ddof: int

    def __call__(self, vectors: np.ndarray) -> LiftedVectors:
        rows = self.rows
        like = rows.empty(0)
        xp = namespace(like)
        right = asarray_like(np.ascontiguousarray(vectors), like, dtype=xp.float64)
        if rows.weights is not None:
            right = right * astype(xp.sqrt(rows.weights), xp.float64)[:, None]
        products = FeatureProducts(rows.weights, self.ddof, right)
        lifted = rows.map_features(products)
        k = vectors.shape[1]
        moved = lifted[:, :k]
        mean, deviation = (xp.asarray(lifted[:, k + i], copy=True) for i in (0, 1))
        deviation = xp.where(is_constant(deviation, mean), xp.zeros_like(deviation), deviation)
        scale = divisors(deviation, self.scaled)
        return LiftedVectors(moved / scale[:, None] if self.scaled else moved, mean, deviation, scale)


# Coordinates of tables side by side, from one root of their scatter matrix.


def views_of_root(
    root: np.ndarray | Callable[[], np.ndarray],
    lengths: np.ndarray,
    summary: Moments | Triangle,
    names: Sequence[str],
    scale: Sequence[bool],
    ddof: int,
    S: np.ndarray | None = None,
) -> tuple[View, ...]:
    """The views of tables whose joint scatter matrix S has a root.

    `root` has columns of unit length (zero for constant columns), and `lengths` are their original lengths. It may be a
    function that computes the matrix when it is needed.
    """
    views: list[View] = []
    #: What the columns of S are multiplied by, table by table.
    shrinkages: list[np.ndarray] = []
    parts = [slice(i, j) for i, j in pairwise(accumulate(summary.widths, initial=0))]

    def columns(part: slice, scale: np.ndarray) -> tuple[np.ndarray, None]:
        """Some columns of the root, multiplied by numbers; their decomposition is not known."""
        R = root() if callable(root) else root
        return R[:, part] * scale, None

    def products(i: int, j: int) -> np.ndarray:
        """The products of the coordinates of tables i and j."""
        assert S is not None
        P = S[parts[i], parts[j]] * shrinkages[j]
        P *= shrinkages[i][:, None]
        return P

    for t, (part, name, scaled) in enumerate(zip(parts, names, scale, strict=True)):
        mean, length = summary.mean[part], lengths[part]
        require_size(length**2, mean, summary.weight, each=scaled, table=name)
        deviation = length / math.sqrt(divisor(summary.weight, ddof))
        # A column that varies only by rounding is constant.
        deviation = np.where(is_constant(deviation, mean), 0.0, deviation)
        length = np.where(deviation > 0, length, 0.0)
        units = np.where(length > 0, math.sqrt(divisor(summary.weight, ddof)), 1.0) if scaled else length
        unit = float(units.max()) or 1.0
        shrinkages.append(np.where(length > 0, units / unit / np.where(length > 0, length, 1.0), 0.0))
        make = partial(columns, part, np.where(length > 0, units / unit, 0.0))
        lift = IdentityLift(mean, deviation, scaled)
        known: Any = {} if S is None else {"products": products(t, t), "cross": partial(products, j=t)}
        views.append(View(make, unit, lift, len(length), **known))
    return tuple(views)


@dataclass(frozen=True)
class TriangleReduction(Reduction):
    """Coordinates A = R, the triangular factor of the QR decomposition of all tables side by side: nothing is squared.

    One pass over the rows and p min(n, p) numbers of memory; p counts the columns of all tables. It takes several times
    the work of `covariance`.

    Examples
    --------
    >>> from sklearn.datasets import load_linnerud
    >>> from lowdim import CCA
    >>> from lowdim.solvers import TriangleReduction
    >>> CCA(1, solver=TriangleReduction()).fit(*load_linnerud(return_X_y=True)).correlations_.round(4)
    array([0.7956])
    """

    name = "triangle"
    starts_from = Triangle

    def views_of_summary(self, summary: Triangle, names: tuple[str, ...], scale: Sequence[bool], ddof: int) -> Views:
        require_rows(summary.n_rows, summary.weight, ddof, fixed=True)
        here, there = _on_host(summary)
        R = here.root.astype(np.float64)
        lengths = column_lengths(R)
        tables = views_of_root(R / np.where(lengths > 0, lengths, 1.0), lengths, here, names, scale, ddof)
        size = (here.weight, here.n_rows, ddof, here.n_features)
        return Views(tables, names, *size, FLOAT64_EPS, here.squared, self.name, there)

    def cost(self, job: TablesJob) -> Cost:
        n, p = job.rows, job.p
        short = min(n, p)
        n_bytes = 8 * 5 * p * (p if job.n is None else short)
        # With fewer rows than columns the rows themselves are the coordinates.
        few = job.n is not None and job.n < p
        why = "the rows are few and their columns cannot be read" if few else "nothing is squared"
        return Cost(6 * n * p * short + 20 * short**3, self.passes, n_bytes, why)

    def is_sensible(self, job: TablesJob) -> bool:
        """If rows are few, and their inner products, which are cheaper, cannot be computed."""
        return job.is_wide and not job.allows_gram


@dataclass(frozen=True)
class CovarianceReduction(Reduction):
    """Coordinates A = R, with R^T R the scatter matrix of all tables side by side.

    Parameters
    ----------
    wide : bool, default=False
        Compute and sum the products of float32 rows in float64.

    Notes
    -----
    One pass over the rows, n p^2 multiplications and p^2 numbers of memory, then a Cholesky decomposition; p counts the
    columns of all tables.

    Examples
    --------
    >>> from sklearn.datasets import load_linnerud
    >>> from lowdim import CCA
    >>> from lowdim.solvers import CovarianceReduction
    >>> CCA(1, solver=CovarianceReduction()).fit(*load_linnerud(return_X_y=True)).correlations_.round(4)
    array([0.7956])
    """

    name = "covariance"
    starts_from = Moments
    wide: bool = False

    def views(self, tables: Tables, scale: Sequence[bool], ddof: int) -> Views:
        # Columns that will be standardized may have any scale, so their squares could overflow in float32.
        summary = replace(self, wide=self.wide or any(scale)).empty_summary(tables.widths)
        return self.views_of_summary(tables.joint.summarize(summary), tables.names, scale, ddof)

    def empty_summary(self, widths: Sequence[int]) -> Moments:
        return Moments(sum(widths), widths=widths, wide=self.wide)

    def views_of_summary(self, summary: Moments, names: tuple[str, ...], scale: Sequence[bool], ddof: int) -> Views:
        require_rows(summary.n_rows, summary.weight, ddof, fixed=True)
        here, there = _on_host(summary)
        S = here.scatter.astype(np.float64)
        lengths = np.sqrt(np.clip(np.diagonal(S), 0.0, None))
        unit = np.where(lengths > 0, lengths, 1.0)

        @cache
        def root() -> np.ndarray:
            with quiet_blas(len(S)):
                return root_of_products(S / unit / unit[:, None], there)

        tables = views_of_root(root, lengths, here, names, scale, ddof, S)
        size = (here.weight, here.n_rows, ddof, here.n_features)
        return Views(tables, names, *size, here.product_eps, True, self.name, there)

    def cost(self, job: TablesJob) -> Cost:
        n, p = job.rows, job.p
        why = (
            f"products of columns are cheapest for {p} columns in all"
            if job.traits.rereadable
            else "the stream can be read only once"
        )
        return Cost(n * p * p + p**3, self.passes, 8 * 5 * p * p, why)

    def is_sensible(self, job: TablesJob) -> bool:
        """Unless rows are few and their inner products cannot be computed: then the rows themselves are smaller."""
        return not job.is_wide or job.allows_gram

    def finer(self, job: TablesJob) -> Reduction | None:
        if not self.wide and job.traits.itemsize < 8:
            return CovarianceReduction(wide=True)
        return TriangleReduction()


@dataclass(frozen=True)
class GramReduction(Reduction):
    """A_i = U diag(s) from the inner products of the rows of table i, U diag(s^2) U^T; Q_i = Z_i^T U diag(1/s).

    For fewer rows than columns. It takes two passes over the columns and n^2 numbers for each table. The centred
    columns of a table with at most n columns are used as coordinates directly. Multiplying by Q_i loses digits in
    directions of small variance.

    Examples
    --------
    >>> import numpy as np
    >>> from lowdim import PLSRegression
    >>> from lowdim.solvers import GramReduction
    >>> wide = np.random.default_rng(0).standard_normal((20, 500))
    >>> PLSRegression(2, solver=GramReduction()).fit(wide, wide[:, 0]).solver_
    'gram'
    """

    name = "gram"
    one_pass = False
    passes = 2

    def views(self, tables: Tables, scale: Sequence[bool], ddof: int) -> Views:
        views = []
        weight, n_used = 0.0, 0
        for every, scaled, name in zip(tables.each, scale, tables.names, strict=True):
            rows = every.counted()
            assert rows.shape[0] is not None, "refusal() rejects rows of unknown number"
            n_used = rows.shape[0]
            weight = float(n_used) if rows.weights is None else float(namespace(rows.weights).sum(rows.weights))
            require_rows(n_used, weight, ddof, fixed=True)
            wider = rows.shape[1] > n_used
            views.append((_view_of_wide if wider else _view_of_narrow)(rows, scaled, ddof, weight, name))
        narrow = any(r.traits.itemsize < 8 and not s for r, s in zip(tables.each, scale, strict=True))
        return Views(
            tables=tuple(views),
            names=tables.names,
            weight=weight,
            n_rows=n_used,
            ddof=ddof,
            n_columns=sum(tables.widths),
            epsilon=FLOAT32_EPS if narrow else FLOAT64_EPS,
            squared=True,
            reduction=self.name,
        )

    def cost(self, job: TablesJob) -> Cost:
        n, p = job.rows, job.p
        known = job.traits.known_products
        state = "known" if known else f"cheapest for {n} rows of {p} columns in all"
        products, why = 0 if known else n * n * p, f"inner products are {state}"
        return Cost(products + len(job.widths) * EIGH_WORK * n**3, self.passes, job.gram_bytes, why)

    def refusal(self, job: TablesJob) -> Exception | None:
        refusal = super().refusal(job)
        if refusal is None and not all(job.by_feature):
            return needs_columns(self.name)
        return refusal

    def is_sensible(self, job: TablesJob) -> bool:
        return job.is_wide and job.allows_gram

    def finer(self, job: TablesJob) -> Reduction | None:
        return TriangleReduction()


def _view_of_wide(rows: RowsLike, scaled: bool, ddof: int, weight: float, name: str) -> View:
    """Coordinates of a table with more columns than rows."""
    n = int(rows.shape[0] or 0)
    gram = rows.summarize_features(Gram(n, sample_weight=rows.weights, ddof=ddof if scaled else None))
    G = to_numpy(gram.centred()).astype(np.float64, copy=False)
    squares = float(np.abs(G).max()) or 1.0
    G /= squares
    # The largest eigenvalue is at least the largest entry of the diagonal, and that is the largest entry of all.
    size = np.array([squares if G.any() else 0.0])
    if not size[0] >= smallest_normal(size, weight):
        # The means are needed only to tell columns that are too small from constant ones.
        means = rows.map_features(lambda block: feature_means(dense(block), rows.weights))
        require_size(size, to_numpy(means)[:, 0].astype(np.float64), weight, table=name)
    unit = math.sqrt(squares)
    lift_samples = GramLift(rows, scaled, ddof)

    def make() -> tuple[np.ndarray, Factors]:
        values, Ut = eigh_descending(G)
        s = np.sqrt(np.clip(values, 0.0, None))
        # Lifting divides by these lengths, but the lifted vectors contain them as factors: only zeros have to go.
        rank = numerical_rank(s, 1, FLOAT64_EPS)
        U, s = Ut[:rank].T, s[:rank]
        return U * s, (U, s, np.eye(rank))

    def lift(vectors: np.ndarray) -> LiftedVectors:
        assert view.factors is not None
        U, s, _ = view.factors
        return lift_samples((U / (s * unit)) @ vectors)

    view = View(make, unit, lift, n, gram=G, lift_samples=lift_samples, is_lifted=True)
    return view


def _view_of_narrow(rows: RowsLike, scaled: bool, ddof: int, weight: float, name: str) -> View:
    """Coordinates of a table with few columns: its columns, centred and times the square roots of the weights."""
    like = rows.empty(0)
    xp = namespace(like)

    def centre(block: Array) -> Array:
        Z, mean, _ = centred_features(astype(dense(block), xp.float64), rows.weights, None)
        check_squares(xp.sum(Z * Z, axis=1))
        return xp.concat([Z, mean[:, None]], axis=1)

    centred = to_numpy(rows.map_features(centre)).astype(np.float64)
    table, mean = centred[:, :-1].T, centred[:, -1]
    if rows.weights is not None:
        table = table * np.sqrt(to_numpy(rows.weights).astype(np.float64))[:, None]
    lengths = column_lengths(table)
    require_size(lengths**2, mean, weight, each=scaled, table=name)
    deviation = lengths / math.sqrt(divisor(weight, ddof))
    deviation = np.where(is_constant(deviation, mean), 0.0, deviation)
    lift = IdentityLift(asarray_like(mean, like, dtype=xp.float64), deviation, scaled)
    table = np.where(deviation > 0, table / divisors(deviation, scaled), 0.0)
    unit = float(np.abs(table).max()) or 1.0
    return View.of(table / unit, unit, lift)


#: Reductions by shorthand.
REDUCTIONS: dict[str, type[Reduction]] = {
    cls.name: cls for cls in (CovarianceReduction, TriangleReduction, GramReduction)
}
#: The names of these, for type checkers.
ReductionName = Literal["auto", "covariance", "triangle", "gram"]


@dataclass(frozen=True)
class PairProblem(Problem[TablesSolution]):
    """The components of tables by one of several reductions."""

    kind: Any = Reduction
    what: str = "a reduction"

    def job(self, rows: Tables, request: TablesRequest) -> TablesJob:
        return TablesJob.of(rows, request)

    def summary_job(self, summary: Any, request: TablesRequest) -> TablesJob:
        return TablesJob(summary.n_rows, summary.n_features, None, widths=tuple(summary.widths))

    def check(self, asked: Any) -> None:
        """Raise an error unless `asked` is "auto", the name of a reduction, or a reduction."""
        if not isinstance(asked, Reduction) and not (isinstance(asked, str) and asked in ("auto", *self.solvers)):
            raise choice("solver", asked, ["auto", *self.solvers], self.advice(asked))

    def streaming(self, asked: str | Reduction = "auto") -> Reduction:
        """The reduction for rows that arrive in blocks: it starts repeatedly from one growing summary."""
        reduction: Reduction = CovarianceReduction() if is_auto(asked) else self.find(asked)
        return reduction
