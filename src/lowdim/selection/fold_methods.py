"""The ways to score the rows that are left out of a cross-validation, and what they need of a model."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from itertools import islice
from typing import Any, ClassVar

import numpy as np
from scipy.linalg import lapack
from sklearn.base import clone

from .._core.arrays import Array, asarray_like, dense, namespace, to_numpy
from .._core.threads import available, check_stop, memory_bytes, run_in_parallel
from ..errors import LowdimWarning, needs_memory, needs_second_reading, no_order, without_warnings
from ..reading.rows import Rows
from ..reading.summarizing import summarize
from ..solvers.problem import EIGH_WORK, AnySolver, Cost, Job
from ..sources.array import ArraySource
from ..sources.base import Source
from ..sources.beside import BesideSource
from ..sources.derived import KnownSource, gather, in_order
from ..summaries.base import union
from ..summaries.gram import Gram, GramRoot, StandardizedGrams, centred_products
from ..summaries.moments import Moments
from ..summaries.triangle import Triangle
from .folds import Folds, dense_rows, split_summaries, summarize_by_label

# A user's model with the methods `open_rows` and `held_out_scorer` can be cross-validated. With `fit_summary` and the
# class attribute `bootstrap_axes` it can be bootstrapped, and with `permutation_options` it can be tested against
# shuffled rows. If it has `start_at(fitted, near=False)`, fits to similar rows start at the solution of a fitted model.
# If it has `coded_rows(source, sample_weight)`, these are the rows whose moments `fit_summary` takes.


@dataclass(frozen=True)
class HeldOutScores:
    """Scores of held-out rows, one for each model that was tried; there may be a further axis for the responses."""

    scores: np.ndarray
    #: Whether the scores are accurate; if not, the rows are read again for a finer summary.
    resolved: bool
    #: For regressions, the mean residuals: measured minus predicted responses, of the same shape.
    mean_residuals: np.ndarray | None = None


class HeldOutScorer(ABC):
    """Base class of scorers, which score copies of a model with different numbers of components by held-out rows."""

    #: The names of the model and of the score in tables.
    estimator: str
    what: str = "log-likelihood"
    greater_is_better = True
    #: Whether rows with NaN can be fitted.
    takes_nan = False
    #: Whether a rule may choose a model without components.
    from_zero = False
    #: Whether predictions are compared with those by the means, the model without components, for R2.
    compares_with_means = False
    #: Whether there is `refit_scores`.
    refits = True
    #: Whether each number of components needs its own fit.
    fits_each_count = False
    #: For each table, whether the scores stay the same if all of its rows are rotated.
    rotates: tuple[bool, ...] = (False,)
    #: For each table, whether its columns are divided by their standard deviations over the training rows, and the
    #: divisor of these, which is weight - ddof.
    scaled: tuple[bool, ...] = (False,)
    ddof = 1
    #: Whether columns that are constant in the training rows and the held-out rows are left out.
    leaves_out_constant = False

    def __init__(self, model: Any) -> None:
        self.model, self.estimator = model, type(model).__name__

    def copy(self, k: int, near: Any = None, **parameters: Any) -> Any:
        """An unfitted copy of the model with `k` components, whose fit starts at the fitted model `near` if it can."""
        return started_copy(self.model, near, n_components=int(k), **parameters)

    def in_coordinates(self, frame: Frame) -> HeldOutScorer:
        """The scorer for rows of which some tables are replaced by coordinates; only for tables that `rotates` names.
        Their columns are already divided by their standard deviations."""
        raise TypeError(f"the scores of {self.estimator} depend on the columns, so coordinates are not enough.")

    def summary(self, source: Source, fine: bool) -> Any:
        """An empty summary for the rows of a fold; one that does not square the entries if `fine`. None if held-out
        rows cannot be scored from a summary."""
        return None

    @abstractmethod
    def counts(self, asked: Any, n_train: float, source: Source) -> np.ndarray:
        """The numbers of components to try: `asked`, which is checked, or a default range if `asked` is None."""

    def scores(self, train: Any, test: Any, counts: np.ndarray) -> HeldOutScores:
        """Scores for each count, from the summary of the training rows and that of the held-out rows."""
        raise TypeError(f"{self.estimator} is scored by fits to the rows.")

    @abstractmethod
    def refit_scores(self, X: Any, y: Any, weights: np.ndarray, test: np.ndarray, counts: np.ndarray) -> HeldOutScores:
        """The same from rows: `weights` are those of the training rows, `test` those of the held-out rows."""


@dataclass(frozen=True)
class PermutationOptions:
    """Options of a permutation test."""

    #: For each table, whether columns are divided by their standard deviation.
    scaled: tuple[bool, ...]
    #: For canonical correlations, the regularization of each table.
    regularization: tuple[float, ...] = ()
    #: For one table: whether factors are tested, by the eigenvalues of the reduced correlation matrix, and not
    #: components.
    factors: bool = False
    #: For one table: whether its rows are coded, and the model is fitted to the moments of shuffled columns.
    coded: bool = False


def started_copy(model: Any, fitted: Any, *, near: bool = False, **parameters: Any) -> Any:
    """An unfitted copy of the model with other parameters, whose fit starts at a fitted model, if there is one and it
    can; if the solution is expected `near` that one, other starts may be left out."""
    copy = clone(model).set_params(**parameters)
    return copy if fitted is None or not hasattr(copy, "start_at") else copy.start_at(fitted, near=near)


# The ways to score the rows that are left out of a cross-validation, and their table.
#
# `SummaryFolds` merges summaries of the folds, which have p x p numbers. `GramFolds` starts from the inner products of
# the rows, which are n x n, and scores coordinates of the rows. `RefitFolds` fits the rows of each split. They are
# chosen like solvers, by their cost.


#: Fits to rows are considered if there are at least this many times as many columns as rows.
_WIDE = 2.0
#: The fraction of memory that the summaries of all folds, and merges of them, may take.
_SHARE = 0.5
#: Splits that are scored at a time, for each thread.
_AT_A_TIME = 8

#: Scores of each split and setting.
Scores = list[list[HeldOutScores]]


@dataclass(frozen=True)
class FoldJob(Job):
    """The job of scoring held-out rows: models, rows, folds, and numbers of components. `p` counts all columns."""

    _: KW_ONLY
    scorers: list[HeldOutScorer]
    source: Source
    folds: Folds
    weights: Any
    #: The numbers of components that were asked for, and those that are scored: a model without components as well, if
    #: predictions are compared with it.
    asked: np.ndarray
    counts: np.ndarray
    #: The weight of the held-out rows of each split.
    held_out: np.ndarray
    #: X and y, for fits to rows.
    tables: tuple[Any, Any]

    @property
    def memory(self) -> int:
        have = memory_bytes()
        return max(1, int(_SHARE * have)) if have else 0

    @property
    def replaced(self) -> tuple[bool, ...]:
        """For each table, whether its columns can be replaced by coordinates of the rows, which are fewer."""
        pairs = zip(self.source.members, self.scorers[0].rotates, strict=False)
        return tuple(rotates and self.n is not None and self.n < m.shape[1] for m, rotates in pairs)

    @property
    def reduced(self) -> list[int]:
        """The width of each table after this replacement."""
        pairs = zip(self.source.members, self.replaced, strict=False)
        return [int(self.n or 0) if replaced else m.shape[1] for m, replaced in pairs]

    @property
    def n_fits(self) -> int:
        """The number of models that are solved for all splits."""
        return len(self.folds.splits) * (len(self.counts) if self.scorers[0].fits_each_count else 1)

    @property
    def n_summaries(self) -> int:
        """The number of summaries in memory, for all cells and for merges of them."""
        return 2 * sum(self.folds.counts) + 4

    def from_summaries(self, fine: bool) -> bool:
        """Whether held-out rows can be scored from summaries, or from finer ones."""
        return self.scorers[0].summary(self.source, fine) is not None


def score_pairs(pairs: Any, counts: np.ndarray) -> Scores:
    """Scores of each split and setting; each split runs in its own thread with a single-threaded BLAS."""

    def score(pair: tuple[list[HeldOutScorer], Any, Any], tick: Any) -> list[HeldOutScores]:
        tick()
        scorers, train, test = pair
        return [scorer.scores(train, test, counts) for scorer in scorers]

    # The same warning for each fold would not be helpful.
    with without_warnings(LowdimWarning), np.errstate(all="ignore"):
        threads = available()
        if threads == 1:
            return [score(pair, check_stop) for pair in pairs]
        found: Scores = []
        waiting = iter(pairs)
        # Summaries of many splits need not be in memory at the same time.
        while some := list(islice(waiting, _AT_A_TIME * threads)):
            found += run_in_parallel([partial(score, pair) for pair in some], n_threads=threads)
        return found


class FoldMethod(AnySolver):
    """A way to score held-out rows."""

    #: Whether a summary of all rows is made by the way, from which a model can be fitted.
    makes_summary: ClassVar[bool] = False

    @abstractmethod
    def score(self, job: FoldJob) -> tuple[Scores, Any]:
        """The scores, and a summary of all rows, if one was made."""

    def passes(self, job: FoldJob) -> int:
        """How often `score` reads the rows."""
        return 1

    def too_large(self, job: FoldJob, n_bytes: int) -> MemoryError:
        advice = "Pass rows that can be read again, such as an array, or use fewer columns."
        return needs_memory(f"a cross-validation of {job.p} columns", n_bytes, memory_bytes(), advice)


@dataclass(frozen=True)
class SummaryFolds(FoldMethod):
    """From one summary for each fold, of p x p numbers: the model without a fold is solved from the merged others.

    With `fine`, the summaries are triangles, which do not square the entries.
    """

    name = "summaries"
    makes_summary = True
    fine: bool = False

    def score(self, job: FoldJob) -> tuple[Scores, Any]:
        like = job.scorers[0].summary(job.source, self.fine)
        parts = job.folds.summarize(job.source, like, job.weights)
        pairs = [(job.scorers, *pair) for pair in split_summaries(parts, job.folds)]
        return score_pairs(pairs, job.counts), union(parts[0]) if job.folds.uses_all(job.weights) else None

    def cost(self, job: FoldJob) -> Cost:
        work = job.rows * job.p * job.p + job.n_fits * EIGH_WORK * job.p**3
        why = "one pass over the rows gives summaries of all folds"
        return Cost(work, 1, 8 * job.p * job.p * job.n_summaries, why)

    def refusal(self, job: FoldJob) -> Exception | None:
        if not job.from_summaries(self.fine):
            return ValueError("the held-out rows of this model cannot be scored from summaries.")
        return super().refusal(job)

    def finer(self, job: FoldJob) -> FoldMethod | None:
        return None if self.fine else SummaryFolds(fine=True)


@dataclass(frozen=True)
class GramFolds(FoldMethod):
    """From the inner products of all rows: each split is a choice of rows of n x n coordinates.

    One pass over the columns, n^2 p multiplications. If columns are divided by the standard deviations of the training
    rows, each split has its own products: n^2 p multiplications for each, still in one pass. With `fine`, the
    coordinates come from QR decompositions, so that nothing is squared.
    """

    name = "gram"
    one_pass = False
    fine: bool = False

    def score(self, job: FoldJob) -> tuple[Scores, Any]:
        # Products of float32 rows would be no more accurate than the rows.
        narrow = any(member.traits.itemsize < 8 for member in job.source.members)
        found: dict[int, list[HeldOutScores]] = {}
        for scaled in dict.fromkeys(scorer.scaled for scorer in job.scorers):
            which = [i for i, scorer in enumerate(job.scorers) if scorer.scaled == scaled]
            some = replace(job, scorers=[job.scorers[i] for i in which])
            each = score_coordinates(some, self.fine or narrow)
            found |= {i: [row[j] for row in each] for j, i in enumerate(which)}
        return [list(row) for row in zip(*(found[i] for i in range(len(job.scorers))), strict=True)], None

    def cost(self, job: FoldJob) -> Cost:
        n, width = job.rows, sum(job.reduced)
        replaced = sum(m.shape[1] for m, r in zip(job.source.members, job.replaced, strict=True) if r)
        scaled = any(r and s for each in job.scorers for r, s in zip(job.replaced, each.scaled, strict=False))
        products = n * n * replaced * (len(job.folds.splits) if scaled else 1)
        # Streams, which cannot be read by columns, are gathered.
        gathered = 0 if job.traits.whole else 8 * n * job.p
        why = f"inner products are cheapest for {n} rows of {job.p} columns"
        work = products + n * width**2 + job.n_fits * EIGH_WORK * width**3
        return Cost(work, 1, 8 * width * width * job.n_summaries + gathered, why)

    def refusal(self, job: FoldJob) -> Exception | None:
        if not any(job.replaced) or not job.from_summaries(self.fine):
            return ValueError("the held-out rows cannot be scored from inner products.")
        if job.traits.engine is not None and not job.traits.engine.ordered:
            return no_order("inner products of rows")
        return super().refusal(job)

    def finer(self, job: FoldJob) -> FoldMethod | None:
        return None if self.fine else GramFolds(fine=True)


@dataclass(frozen=True)
class RefitFolds(FoldMethod):
    """From fits to the rows of each split, in which held-out rows have weight zero."""

    name = "refit"
    one_pass = False

    def score(self, job: FoldJob) -> tuple[Scores, Any]:
        found = []
        with without_warnings(LowdimWarning), np.errstate(all="ignore"):
            for train, test in job.folds.split_weights(job.weights):
                found.append([scorer.refit_scores(*job.tables, train, test, job.counts) for scorer in job.scorers])
        return found, None

    def passes(self, job: FoldJob) -> int:
        return len(job.folds.splits) * len(job.scorers)

    def cost(self, job: FoldJob) -> Cost:
        why = "the rows of each split are fitted, since summaries of the folds would cost more"
        return Cost(job.n_fits * EIGH_WORK * job.rows * job.rows * job.p, len(job.folds.splits), 0, why)

    def refusal(self, job: FoldJob) -> Exception | None:
        # Scores of models that do not take NaN compare arrays, which have an order.
        if not job.scorers[0].refits or not (in_order(job.source) or job.scorers[0].takes_nan):
            return ValueError("these scores come from summaries only.")
        return None if job.traits.rereadable else needs_second_reading("for fits without a part of the rows")

    def is_sensible(self, job: FoldJob) -> bool:
        return job.n is not None and sum(job.reduced) >= _WIDE * job.n * len(job.reduced)


#: The ways to score held-out rows, by name.
FOLD_METHODS: dict[str, type[FoldMethod]] = {cls.name: cls for cls in (SummaryFolds, GramFolds, RefitFolds)}


# Rows of wide tables as coordinates in the space that the rows span, from their inner products.
#
# A table with n rows and p > n columns is Z = A Q^T, with an n x n table A of coordinates and orthonormal columns of Q.
# All that depends on the rows only through their inner products Z Z^T = A A^T is the same for A: principal variances,
# fits of PLS and CCA, distances between rows. So rows can be left out, drawn or shuffled in A, which has n columns
# instead of p. If columns are divided by the standard deviations of training rows, each set of training rows has its
# own A.


#: Bytes of the inner products that are held at a time, if each set of training rows has its own.
_BYTES_AT_A_TIME = 1 << 28
#: Products of rows about a point have lost too many digits if less than this share of the squares is variance.
_NEAR = 1e-6


@dataclass(frozen=True)
class Frame:
    """What coordinates do not tell about the columns that they replace."""

    #: For each table, whether its columns were replaced by coordinates.
    replaced: tuple[bool, ...]
    #: The number of columns of the first table.
    n_columns: int
    #: The sum of the logarithms of the standard deviations by which the columns of the first table were divided.
    log_scale: float = 0.0


class CoordinateRows(Triangle):
    """The centred rows themselves, or their R factor, where these are coordinates from inner products."""

    squared = True


class UsedRows:
    """Some rows of a table that is read by columns; a stream of known length is gathered in memory first."""

    def __init__(self, source: Source, used: np.ndarray) -> None:
        source = source if source.traits.by_feature else gather(source, "to read it by columns")
        self.source, self.used = source, used
        mask = None if np.all(used) else asarray_like(used.astype(np.float64), source.empty(0), dtype=source.dtype)
        self.rows = Rows(source, mask).counted()
        self.n, self.p = int(np.count_nonzero(used)), source.shape[1]

    def dense(self) -> np.ndarray:
        """The rows themselves, as a dense float64 array."""
        return dense_rows(self.source).astype(np.float64)[self.used]

    def coordinates(self, width: int, fine: bool) -> np.ndarray:
        """Coordinates of the centred rows, with at least `width` columns, of which the last ones may be zero.

        If `fine`, they come from a QR decomposition and not from inner products, so that nothing is squared.
        """
        if fine:
            return _at_least(to_numpy(self.rows.summarize_features(GramRoot(self.n)).product).T, width)
        return _at_least(root_of(to_numpy(self.rows.summarize_features(Gram(self.n)).centred())), width)

    def standardized(
        self, training: np.ndarray, ddof: int, width: int, fine: bool
    ) -> Iterator[tuple[np.ndarray, float]]:
        """For each set of training rows (rows of `training` hold their weights) the coordinates of all rows, divided by
        the standard deviations of that set, and the sum of the logarithms of these deviations."""
        chunk = max(1, _BYTES_AT_A_TIME // (8 * self.n**2))
        for i in range(0, len(training), chunk):
            some = training[i : i + chunk]
            found = self.rows.summarize_features(StandardizedGrams(some, ddof, root=fine))
            for product, log_scale, weights in zip(found.product, found.log_scale, some, strict=True):
                A = product.T if fine else root_of(centred_products(product, weights))
                yield _at_least(A, width), float(log_scale)

    def count_varying(self, groups: Sequence[np.ndarray]) -> list[int]:
        """For each group of these rows (a mask), the number of columns that are not constant in it."""

        def varies(block: Array) -> Array:
            A = dense(block)
            xp = namespace(A)
            each = [xp.take(A, asarray_like(np.flatnonzero(g), A), axis=1) for g in groups]
            return xp.stack([xp.astype(xp.any(a != a[:, :1], axis=1), A.dtype) for a in each], axis=1)

        return [int(c) for c in to_numpy(self.rows.map_features(varies)).sum(axis=0)]


def with_known_products(model: Any, source: Source) -> tuple[Any, Any]:
    """The tables of a source, for fits of a model to many choices of their rows.

    Tables with fewer rows than columns keep their inner products, which are computed here, if the model uses them: not
    if it divides columns by standard deviations, which are others for each choice of rows.
    """
    scorer, members = model.held_out_scorer(), source.members
    tables: list[Any] = []
    for member, rotates, scaled in zip(members, scorer.rotates, scorer.scaled, strict=True):
        n = member.shape[0]
        wide = n is not None and n < member.shape[1]
        member = gather(member, "to read it by columns") if wide and not member.traits.by_feature else member
        if n is not None and wide and rotates and not scaled:
            member = KnownSource(member, Rows(member).summarize_features(Gram(n)))
        tables.append(member)
    return tables_of(tables)


def tables_of(tables: Sequence[Any]) -> tuple[Any, Any]:
    """X and y, to which a model is fitted; y is None if there is one table."""
    return tables[0], tables[1] if len(tables) > 1 else None


def root_of(G: np.ndarray) -> np.ndarray:
    """A lower triangular matrix A, up to the order of its rows, with A A^T = G, for a positive semi-definite G.

    Cholesky's decomposition with pivoting [1]_ ends where the rest of G is zero up to rounding; the other columns of A
    are zero.

    References
    ----------
    .. [1] Higham (1990), Analysis of the Cholesky decomposition of a semi-definite matrix.
    """
    unit = float(np.abs(np.diagonal(G)).max()) or 1.0
    L, pivots, rank, _ = lapack.dpstrf(G / unit, lower=1)
    A = np.zeros_like(L)
    A[pivots - 1, :rank] = np.tril(L)[:, :rank]
    return A * np.sqrt(unit)


def _at_least(A: np.ndarray, width: int) -> np.ndarray:
    """`A` with columns of zeros up to this width."""
    missing = width - A.shape[1]
    return A if missing <= 0 else np.concatenate([A, np.zeros((len(A), missing))], axis=1)


def score_coordinates(job: FoldJob, fine: bool) -> Scores:
    """Scores of scorers that standardize the same tables, in coordinates of the rows."""
    used = np.any(job.folds.labels >= 0, axis=1)
    if job.weights is not None:
        used &= to_numpy(job.weights) > 0
    tables = [UsedRows(member, used) for member in job.source.members]
    scaled = [r and s for r, s in zip(job.replaced, job.scorers[0].scaled, strict=True)]
    width = max(int(job.counts[-1]), 1)
    splits = [(train[used], test[used]) for train, test in job.folds.split_weights(job.weights)]
    frames = _frames(job, tables[0], splits)
    # The coordinates of each table, or its columns if they are not replaced; None if each split has its own.
    fixed = [
        None if own else table.coordinates(width, fine) if replaced else table.dense()
        for table, own, replaced in zip(tables, scaled, job.replaced, strict=True)
    ]

    def scorers_in(frame: Frame) -> list[HeldOutScorer]:
        return [scorer.in_coordinates(frame) for scorer in job.scorers]

    def pairs_of_splits() -> Iterator[Any]:
        """The scorers and the summaries of each split, whose coordinates are its own if columns are standardized."""
        training, ddof = np.stack([train for train, _ in splits]), job.scorers[0].ddof
        own = {i: tables[i].standardized(training, ddof, width, fine) for i in np.flatnonzero(scaled)}
        for (train, test), frame in zip(splits, frames, strict=True):
            both = list(fixed)
            for i, coordinates in own.items():
                both[i], log_scale = next(coordinates)
                if i == 0:
                    frame = replace(frame, log_scale=log_scale)
            source, scorers = _beside(both), scorers_in(frame)
            like = scorers[0].summary(source, fine)
            yield scorers, summarize(source, like.fresh(), weights=train), summarize(source, like, weights=test)

    like = None if any(scaled) else scorers_in(frames[0])[0].summary(_beside(fixed), fine)
    all_pairs: Any = pairs_of_splits()
    if isinstance(like, Moments):
        weights = None if job.weights is None else to_numpy(job.weights).astype(np.float64)[used]
        parts = summarize_by_label(_beside(fixed), like, job.folds.labels[used], job.folds.counts, weights)
        pairs = split_summaries(parts, job.folds)
        all_pairs = [(scorers_in(f), *pair) for f, pair in zip(frames, pairs, strict=True)]
    found = score_pairs(all_pairs, job.counts)
    shared = [A for A, r in zip(fixed, job.replaced, strict=True) if r and A is not None]
    if fine or all(_is_near(A, splits) for A in shared):
        return found
    return [[replace(each, resolved=False) for each in row] for row in found]


def _is_near(A: np.ndarray, splits: Sequence[tuple[np.ndarray, np.ndarray]]) -> bool:
    """Whether the training rows of each split are near the mean of all rows, about which the products were taken.

    If the held-out rows lie far away from the training rows, the differences between the latter lose digits.
    """
    squares = np.einsum("ij,ij->i", A, A)
    for train, _ in splits:
        mean, total = train @ A, float(train @ squares)
        if total - float(mean @ mean) / float(train.sum()) < _NEAR * total:
            return False
    return True


def _frames(job: FoldJob, first: UsedRows, splits: Sequence[tuple[np.ndarray, np.ndarray]]) -> list[Frame]:
    """What the scorers of each split need to know about the columns of the first table."""
    if not job.scorers[0].leaves_out_constant:
        return [Frame(job.replaced, first.p)] * len(splits)
    groups = [(train > 0) | (test > 0) for train, test in splits]
    distinct = {group.tobytes(): group for group in groups}
    counts = dict(zip(distinct, first.count_varying(list(distinct.values())), strict=True))
    return [Frame(job.replaced, counts[group.tobytes()]) for group in groups]


def _beside(tables: Any) -> BesideSource:
    """Tables in memory, side by side."""
    return BesideSource([ArraySource(np.ascontiguousarray(A)) for A in tables])
