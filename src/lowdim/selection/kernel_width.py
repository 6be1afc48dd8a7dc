"""`choose_width`: the width of a kernel at which kernel PCA shows groups of rows, without labels."""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from .._core.arrays import dense, to_numpy
from .._core.schema import Instance, Numbers, TupleOf, Whole
from .._core.threads import check_stop
from .._core.types import RandomState, VectorLike
from ..errors import with_present_names
from ..kernels import Kernel, KernelLike, as_kernel, no_width
from ..linalg import eigh_descending, quiet_blas
from ..reading.summarizing import check_weights, summarize
from ..sources.opening import TableLike, by_name, open_source
from ..summaries.sample import Sample
from ..table import Table, Tabular
from .parallel_analysis import check_count, seed_of

#: Widths that are compared, in units of the median distance: from twice as wide to a sixteenth.
_FACTORS = tuple(2.0 ** (-j / 2) for j in range(-2, 9))
#: The number of rows in the sample with which widths are compared.
SAMPLED_ROWS = 400
#: Parts of the rows, each of which is left out in turn, and starts of the search for centres.
_FOLDS, _STARTS = 5, 4


@dataclass(frozen=True, eq=False, repr=False)
class WidthChoice(Tabular):
    """Kernels of several widths, and how well K components show groups of rows with each of them.

    Attributes
    ----------
    kernels : tuple of Kernel
        One kernel for each width, from wide to narrow.
    share, held_out : arrays
        The share of the variance in the feature space that K components explain: of the rows of the fit, and of rows
        that were left out.
    chance : array
        `held_out` for rows whose columns were shuffled independently.
    grouped : array
        The share of the squared scores of rows that were left out which the nearest of K + 1 centres explains.

    Examples
    --------
    >>> from sklearn.datasets import make_circles
    >>> from lowdim.selection import choose_width
    >>> circles, _ = make_circles(100, factor=0.3, noise=0.05, random_state=0)
    >>> found = choose_width(circles, 2, factors=(1, 0.35))
    >>> type(found).__name__, found.best  # the smaller width
    ('WidthChoice', 1)
    """

    kernels: tuple[Kernel, ...] = field(metadata={"kind": TupleOf(Instance("kernels.*"), length="w")})
    share: np.ndarray = field(metadata={"kind": Numbers("w", host=True, sign="nonnegative")})
    held_out: np.ndarray = field(metadata={"kind": Numbers("w", host=True, sign="nonnegative")})
    chance: np.ndarray = field(metadata={"kind": Numbers("w", host=True, sign="nonnegative")})
    grouped: np.ndarray = field(metadata={"kind": Numbers("w", host=True, most=1.0)})
    n_components: int = field(metadata={"kind": Whole(1)})
    n_rows: int = field(metadata={"kind": Whole(1)})

    @property
    def score(self) -> np.ndarray:
        """grouped (1 - chance) sqrt(held_out / share), the criterion that is maximised; each factor is in [0, 1]."""
        shorter = np.sqrt(np.clip(self.held_out / np.where(self.share > 0.0, self.share, 1.0), 0.0, 1.0))
        return np.clip(self.grouped, 0.0, 1.0) * (1.0 - np.clip(self.chance, 0.0, 1.0)) * shorter

    @property
    def best(self) -> int:
        """The index of the width with the largest score."""
        return int(np.argmax(self.score))

    @property
    def kernel(self) -> Kernel:
        """The kernel of the best width."""
        return self.kernels[self.best]

    def table(self) -> Table:
        """A row for each width; the best one is marked."""
        columns: dict[str, Any] = {
            "share": self.share,
            "left out": self.held_out,
            "by chance": self.chance,
            "grouped": self.grouped,
            "score": self.score,
            "best": ["*" if i == self.best else "" for i in range(len(self.kernels))],
        }
        notes = []
        if self.held_out[self.best] <= self.chance[self.best]:
            notes.append("At the best width, shuffled columns are explained as well: no structure was found.")
        title = f"Widths for {self.n_components} components, from {self.n_rows} rows"
        return Table(columns, [str(kernel) for kernel in self.kernels], title=title, notes=notes, row_name="kernel")

    def __repr__(self) -> str:
        return f"WidthChoice({self.kernel}, of {len(self.kernels)} widths)"


@with_present_names
def choose_width(
    X: TableLike,
    n_components: int,
    *,
    kernel: KernelLike = "gaussian",
    factors: Sequence[float] = _FACTORS,
    n_resamples: int = 3,
    max_rows: int = SAMPLED_ROWS,
    sample_weight: VectorLike | None = None,
    random_state: RandomState | np.random.Generator = None,
) -> WidthChoice:
    """The width of a kernel at which K components show groups of rows.

    Parameters
    ----------
    X : rows
        Anything that `open_source` reads.
    n_components : int
        K, the number of components for which the width is chosen.
    kernel : str or Kernel, default="gaussian"
        A kernel with a width: "gaussian", "laplacian", "matern", or an object from `lowdim.kernels`.
    factors : sequence of float, default=tuple(2.0 ** (-j / 2) for j in range(-2, 9))
        The widths that are compared, in units of the width of `kernel`, which is found by the median rule if it is not
        given.
    n_resamples : int, default=3
        Number of tables with shuffled columns.
    max_rows : int, default=400
        The widths are compared with a random sample of at most so many different rows.
    sample_weight : array of shape (n_samples,), or str, default=None
        Frequency weights, or the name of a column of X that holds them.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the sample, the parts and the shuffles; None is a fixed seed.

    Returns
    -------
    WidthChoice
        It prints as a table. `KernelPCA(K, kernel=choice.kernel)` takes the best width.

    Notes
    -----
    The rows are divided into five parts, and components are computed without each part in turn. The width with the
    largest product of three factors is chosen, each of them between 0 and 1:

    - `grouped`: of the squared scores of the rows left out, the share that the nearest of K + 1 centres explains, which
      were found by k-means of the scores of the other rows. K components can separate K + 1 groups; it is 1 if all rows
      of a group have the same scores.
    - 1 - `chance`: what K components leave unexplained of rows left out if the columns were shuffled. If K components
      are enough for any rows, as at large widths, they say little about these.
    - sqrt(`held_out` / `share`): how much shorter the scores of the rows left out are. At small widths components
      describe the rows of the fit only.

    This assumes that the structure of interest is groups of rows, connected or compact, about K + 1 of them or fewer.
    Where rows form one continuous cloud, or groups overlap, the result means little: compare `score` between widths,
    and `held_out` with `chance`. One pass over the rows; then, with m rows in the sample, eight eigenproblems of
    size m for each width, and memory for a few m x m matrices.

    Examples
    --------
    >>> from sklearn.datasets import make_circles
    >>> from lowdim.selection import choose_width
    >>> X, y = make_circles(300, factor=0.3, noise=0.05, random_state=0)
    >>> choice = choose_width(X, 2)
    >>> choice
    WidthChoice(Gaussian(gamma=4.827), of 11 widths)
    """
    k = check_count("n_components", n_components)
    check_count("n_resamples", n_resamples)
    seed = seed_of(random_state)
    X, _, sample_weight = by_name(X, sample_weight=sample_weight)
    source = open_source(X)
    weights = None if sample_weight is None else check_weights(sample_weight, source)
    size = check_count("max_rows", max_rows)
    sample = summarize(source, Sample(source.shape[1], size, seed=seed), weights=weights)
    return compare_widths(sample, as_kernel(kernel), k, factors=factors, n_resamples=int(n_resamples), seed=seed)


def compare_widths(
    sample: Sample, kernel: Kernel, k: int, *, factors: Sequence[float] = _FACTORS, n_resamples: int = 3, seed: int = 0
) -> WidthChoice:
    """The choice from a sample of the rows."""
    if not kernel.has_width:
        raise no_width(kernel)
    wide = kernel.fitted(sample.rows, sample.weights)
    kernels = tuple(wide.widened(factor) for factor in _checked_factors(factors))
    rows = to_numpy(dense(sample.rows)).astype(np.float64)
    weights = np.asarray(sample.weights, dtype=np.float64)
    n = len(rows)
    if n < 2 * (k + 2):
        raise ValueError(
            f"a width for n_components={k} is chosen from at least {2 * (k + 2)} different rows, and there are {n}; "
            "give a width, as in gamma=1.0."
        )
    random = np.random.default_rng(seed)
    folds = random.permutation(np.arange(n) % _FOLDS)
    shuffled = [np.column_stack([random.permutation(column) for column in rows.T]) for _ in range(n_resamples)]
    found = []
    # The limit of threads is for libraries that are loaded already. The tables of k-means are small, and threads that
    # wait for each other on busy cores take many times as long as the work itself.
    import sklearn.cluster  # noqa: F401

    with quiet_blas(n), threadpool_limits(1, user_api="openmp"):
        for each in kernels:
            check_stop()
            explained, total, inside, all_inside, grouped = np.sum(
                list(_left_out(each, rows, weights, folds, range(_FOLDS), k, n_centres=k + 1)), axis=0
            )
            # Of each shuffled table one part is left out.
            shares = [
                next(_left_out(each, other, weights, folds, [i % _FOLDS], k))[:2] for i, other in enumerate(shuffled)
            ]
            by_chance = np.mean([part / (whole or 1.0) for part, whole in shares])
            found.append((inside / all_inside, explained / total, by_chance, grouped / (explained or 1.0)))
    share, held_out, chance, grouped = (np.array(column) for column in zip(*found, strict=True))
    return WidthChoice(kernels, share, held_out, chance, np.clip(grouped, -1.0, 1.0), k, n)


def _left_out(
    kernel: Kernel,
    rows: np.ndarray,
    weights: np.ndarray,
    folds: np.ndarray,
    which: Iterable[int],
    k: int,
    n_centres: int = 0,
) -> Iterator[tuple[float, float, float, float, float]]:
    """For each of the folds `which`, from kernel PCA of the other rows: the explained and the whole variance of the
    rows left out, in the feature space, the same of the others, and what `n_centres` centres explain of the first."""
    K = np.asarray(kernel(rows), dtype=np.float64)
    for fold in which:
        out = folds == fold
        w = weights[~out]
        mean = w / w.sum()
        inner, outer = K[np.ix_(~out, ~out)], K[np.ix_(out, ~out)]
        means = inner @ mean
        whole = float(means @ mean)
        root = np.sqrt(w)
        G = (inner - means[:, None] - means[None, :] + whole) * root[:, None] * root[None, :]
        values, vectors = eigh_descending(G, at_least=k)
        # Components without variance have no scores.
        values, vectors = np.clip(values[:k], 0.0, None), vectors[:k]
        lengths = np.sqrt(values)
        some = lengths > 1e-8 * (lengths[0] or 1.0)
        projection = (vectors[some] / lengths[some, None] * root).T
        outer_means = outer @ mean
        scores = (outer - outer_means[:, None] - means[None, :] + whole) @ projection
        distances = np.diagonal(K)[out] - 2.0 * outer_means + whole
        inside = (vectors[some] * lengths[some, None] / root).T
        explained, grouped = float(weights[out] @ (scores**2).sum(axis=1)), 0.0
        if n_centres:
            centres = _centres(inside, w, n_centres)
            apart = ((scores[:, None, :] - centres[None, :, :]) ** 2).sum(axis=2).min(axis=1)
            grouped = explained - float(weights[out] @ apart)
        total = float(weights[out] @ np.clip(distances, 0.0, None))
        yield explained, total, float(w @ (inside**2).sum(axis=1)), float(np.trace(G)), grouped


def _centres(scores: np.ndarray, weights: np.ndarray, n_centres: int) -> np.ndarray:
    """The centres of k-means."""
    # Imported here, because it takes long and few users need it.
    from sklearn.cluster import KMeans

    different = len(np.unique(scores.round(12), axis=0))
    kmeans = KMeans(min(n_centres, different), n_init=_STARTS, random_state=0).fit(scores, sample_weight=weights)
    return np.asarray(kmeans.cluster_centers_)


def _checked_factors(factors: Any) -> list[float]:
    """The factors, from wide to narrow."""
    values = list(factors)
    if not values or not all(isinstance(f, numbers.Real) and 0.0 < float(f) < math.inf for f in values):
        raise ValueError(f"factors={factors!r} must be positive numbers, as in factors=(1.0, 0.5, 0.25).")
    return sorted((float(f) for f in values), reverse=True)
