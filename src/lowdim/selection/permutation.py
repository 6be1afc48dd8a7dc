"""Permutation tests for the number of significant components."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone

from .._core.coded import Coded
from .._core.schema import Flag, Maybe, Numbers, Real, Sometimes, Text
from .._core.threads import available, check_stop, run_in_parallel, swap_entries
from .._core.types import Estimator, RandomState, VectorLike
from ..errors import (
    LowdimWarning,
    SmallSampleWarning,
    warn_user,
    what_instead,
    with_present_names,
    without_warnings,
)
from ..linalg import FLOAT64_EPS, column_lengths, divisor, is_constant, rank_cut, svd_thin
from ..reading.summarizing import check_weights
from ..sources.base import Source
from ..sources.derived import with_known_length
from ..sources.opening import TableLike, by_name
from ..summaries.moments import Moments
from ..table import Table, Tabular, numbered
from .fold_methods import UsedRows
from .folds import check_whole, is_wide, rows_and_counts
from .parallel_analysis import check_count, check_probability, reduced_spectrum, seed_of

#: Tables with fewer rows are shuffled several times in one call, up to _AT_A_TIME numbers, since a call for each column
#: would cost more than the shuffling.
_SHORT, _AT_A_TIME = 4096, 1 << 16
#: Entries are numbered by 32-bit integers if there are fewer than this.
_LONG = 1 << 31
#: From this many numbers on, the columns are shuffled by several threads.
_PARALLEL_FROM = 1 << 18


def shuffled_products(Z: np.ndarray, n_shuffles: int, seed: int) -> Iterator[np.ndarray]:
    """The products Z_b^T Z_b, where the columns of Z_b are those of `Z`, each in a random order of its own.

    All n!^p choices of orders are equally likely, and the shuffles b are independent of each other.

    Notes
    -----
    The order of the rows does not matter for the products: Z^T Z = (Q Z)^T (Q Z) for each permutation Q. If Q undoes
    the order of the first column, the other columns are in orders that are still uniform and independent. So the first
    column is left as it is. A column is shuffled where shuffle b - 1 has left it, which makes no difference to the
    distribution either, and needs no copy of all columns. Each column has its own random numbers, so that the results
    do not depend on the number of threads.

    Each shuffle costs n (p - 1) random numbers and n p^2 multiplications; memory is needed for n p numbers, and for
    about four vectors of n numbers in each thread.
    """
    n, p = Z.shape
    if not _SHORT <= n < _LONG:
        yield from _products_of_many(Z, n_shuffles, seed)
        return
    columns = np.ascontiguousarray(Z.T)
    generators = [np.random.Generator(np.random.SFC64(each)) for each in np.random.SeedSequence(seed).spawn(p)]
    n_threads = max(1, min(available(), p - 1)) if n * p >= _PARALLEL_FROM else 1
    shares = [range(1 + i, p, n_threads) for i in range(n_threads)]
    tasks = [partial(_shuffle, columns, generators, share, Shuffler(n)) for share in shares]
    with ThreadPoolExecutor(n_threads) as pool:
        for _ in range(n_shuffles):
            if n_threads == 1:
                tasks[0]()
            else:
                list(run_in_parallel(tasks, pool=pool))
            yield columns @ columns.T


class Shuffler:
    """Shuffles vectors of length n, which must be less than 2^31: all n! orders are equally likely.

    Notes
    -----
    Fisher and Yates' algorithm: for i = 1, 2, ..., n, entry i is swapped with an entry whose number r is drawn from
    1, ..., i. Such a number is 1 + floor(u i / 2^32) for a random integer u of 32 bits, if u is drawn again whenever
    u i mod 2^32 < 2^32 mod i; each r then belongs to the same number of integers u [1]_. All numbers are computed at
    once, and LAPACK swaps the entries: this takes half of the time of NumPy's `shuffle`.

    References
    ----------
    .. [1] Lemire (2019), Fast random integer generation in an interval, algorithm 5.
    """

    def __init__(self, n: int) -> None:
        self._sizes = np.arange(1, n + 1, dtype=np.uint64)
        self._excess = ((1 << 32) % self._sizes).astype(np.uint32)
        self._products = np.empty(n, np.uint64)
        self._low = np.empty(n, np.uint32)
        self._others = np.empty(n, np.int32)
        self._room = np.empty(n)

    def shuffle(self, x: np.ndarray, generator: Any) -> None:
        """Shuffle `x` in place. The swaps are made in memory that stays in cache, even if `x` has left it."""
        words = generator.bit_generator.random_raw((len(x) + 1) // 2).view(np.uint32)
        others = self.partners(words[: len(x)], generator)
        self._room[:] = x
        swap_entries(self._room, others)
        x[:] = self._room

    def partners(self, words: np.ndarray, generator: Any) -> np.ndarray:
        """The numbers r for random integers `words` of 32 bits; those that have to be drawn again are drawn from
        `generator`. The result is overwritten by the next call."""
        products = np.multiply(words, self._sizes, out=self._products)
        np.copyto(self._low, products, casting="unsafe")
        again = np.flatnonzero(self._low < self._excess)
        np.right_shift(products, np.uint64(32), out=products)
        np.add(products, np.uint64(1), out=self._others, casting="unsafe")
        for i in again:
            self._others[i] = generator.integers(1, i + 2)
        return self._others


def _shuffle(columns: np.ndarray, generators: list[Any], which: range, shuffler: Shuffler, tick: Any = None) -> None:
    """Shuffle some of the columns, each with its own generator."""
    for j in which:
        shuffler.shuffle(columns[j], generators[j])
        if tick is not None:
            tick()


def _products_of_many(Z: np.ndarray, n_shuffles: int, seed: int) -> Iterator[np.ndarray]:
    """As `shuffled_products`, for tables with few rows: several shuffles are made at a time."""
    n, p = Z.shape
    generator = np.random.default_rng(seed)
    at_a_time = max(1, min(n_shuffles, _AT_A_TIME // (n * p)))
    columns = np.repeat(Z.T[None], at_a_time, axis=0)
    for start in range(0, n_shuffles, at_a_time):
        some = columns[: min(at_a_time, n_shuffles - start)]
        generator.permuted(some[:, 1:], axis=2, out=some[:, 1:])
        yield from some @ some.transpose(0, 2, 1)


#: The number of components that are printed beyond those that are significant.
_SHOWN = 3


@dataclass(frozen=True, repr=False, eq=False)
class PermutationTest(Tabular):
    """A test of each component against the components of shuffled rows, in which nothing is related.

    Attributes
    ----------
    statistic : array of shape (n_components,)
        For PCA, the proportion of variance; for MCA, FAMD and MFA, that of the inertia. For FactorAnalysis, the k-th
        eigenvalue of the correlation matrix with squared multiple correlations on its diagonal. For CCA, -ln of Wilks'
        lambda of the k-th and all later correlations; with regularization, the k-th of the `singular_values_`.
    null : array of shape (n_resamples, n_components)
        The same statistics for shuffled rows.
    p_values : array of shape (n_components,)
        The fraction of shuffles whose statistic is at least as large, counting the unshuffled rows as one of them. The
        p-value of a component is never smaller than that of the component before it.
    n_components : int
        The number of components before the first one whose p-value is above `alpha`.
    strength : array of shape (n_components,)
        How strong each component is, for pictures: for PCA the proportion of variance, for CCA the correlation of the
        k-th pair; with regularization, the k-th of the `singular_values_`.
    null_strength : array of shape (n_resamples, n_components)
        The same for shuffled rows: for CCA, the largest correlation that is left after the earlier pairs.
    are_correlations : bool
        Whether strengths are correlations.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from lowdim import PCA, permutation_test
    >>> found = permutation_test(PCA(), load_iris().data, n_resamples=99, random_state=0)
    >>> type(found).__name__, found.n_components, found.p_values.round(2)
    ('PermutationTest', 1, array([0.01, 1.  , 1.  , 1.  ]))
    """

    estimator: str
    statistic: np.ndarray = field(metadata={"kind": Numbers("k", host=True, finite=False)})
    null: np.ndarray = field(metadata={"kind": Numbers("*", "k", host=True, finite=False)})
    alpha: float = field(metadata={"kind": Real("positive", most=1.0)})
    # Files of version 1.0 of the format may not have the following.
    strength: Any = field(default=None, metadata={"kind": Sometimes(Maybe(Numbers("k", host=True, finite=False)))})
    null_strength: Any = field(
        default=None, metadata={"kind": Sometimes(Maybe(Numbers("*", "k", host=True, finite=False)))}
    )
    are_correlations: bool = field(default=False, metadata={"kind": Sometimes(Flag())})
    #: The name of a component, which a number follows.
    component_name: str = field(default="component ", metadata={"kind": Sometimes(Text())})

    @property
    def p_values(self) -> np.ndarray:
        """The p-value of each component; they never decrease."""
        # The tolerance makes a shuffle that changes nothing count as equal, despite rounding.
        reached = np.count_nonzero(self.null >= self.statistic * (1 - 1e-10), axis=0)
        return np.maximum.accumulate((1.0 + reached) / (1.0 + len(self.null)))

    @property
    def n_components(self) -> int:
        """The number of significant components."""
        above = np.flatnonzero(self.p_values > self.alpha)
        return int(above[0]) if len(above) else len(self.statistic)

    def table(self) -> Table:
        """A row for each component: its statistic, the average statistic of shuffled rows, and its p-value."""
        columns = {
            "statistic": self.statistic,
            "by chance": np.mean(self.null, axis=0),
            "p": self.p_values,
            "significant": np.arange(len(self.statistic)) < self.n_components,
        }
        found = f"components with p <= {self.alpha:g}: {self.n_components}"
        title = f"{self.estimator}: {len(self.null)} shuffles; {found}"
        names = numbered(self.component_name, len(self.statistic))
        return Table(columns, names, title=title, row_name="component")

    def __repr__(self) -> str:
        return f"PermutationTest({self.estimator}, n_components={self.n_components}, {len(self.null)} shuffles)"

    def __str__(self) -> str:
        return self.table().text(max_rows=self.n_components + _SHOWN)


@with_present_names
def permutation_test(
    estimator: Estimator,
    X: TableLike,
    y: TableLike | None = None,
    *,
    n_resamples: int = 999,
    alpha: float = 0.05,
    n_components: int | None = None,
    sample_weight: VectorLike | None = None,
    random_state: RandomState = None,
) -> PermutationTest:
    """Test how many components of PCA, MCA, FAMD or MFA, factors of FactorAnalysis, or pairs of variates of CCA are
    significant.

    Parameters
    ----------
    estimator : PCA, FactorAnalysis, MCA, FAMD, MFA or CCA
        Its options (scale, regularization) are used, except for n_components. It is not changed.
    X : rows
    y : rows, default=None
        All of them have to fit into memory.
    n_resamples : int, default=999
        Number of shuffles. The smallest possible p-value is 1 / (1 + n_resamples).
    alpha : float, default=0.05
        Components with p-values up to this one are significant.
    n_components : int, default=None
        Test only this many of the first components, which takes less time for CCA; None tests all.
    sample_weight : array of whole numbers, shape (n_samples,), or str, default=None
        Frequencies, or the name of a column of X that holds them: a row of weight 2 is shuffled as two rows.
    random_state : int, RandomState or None, default=None

    Notes
    -----
    PCA: each column is shuffled independently, which keeps its values and removes all relations between columns [1]_.
    The proportion of variance of component k is compared with that of component k of the shuffled columns. This is
    parallel analysis without the assumption that columns are Gaussian. Strong components leave a smaller proportion for
    later components than there is by chance, so that weak components after strong ones may be missed. Components that
    do not exist are rarely found.

    FactorAnalysis: columns are shuffled in the same way. The k-th eigenvalue of the correlation matrix with squared
    multiple correlations on its diagonal is compared with that of the shuffled columns: the rule "parallel-factors"
    without the assumption that columns are Gaussian. More rows than columns are needed.

    MCA and FAMD: each column of the table is shuffled independently, with all levels of a category together, so that
    the frequencies of the levels stay what they are. The statistic is the proportion of the inertia, as for PCA. MFA:
    each group of columns is shuffled as a whole, so that its weights stay what they are, and what is tested is whether
    groups have dimensions in common. Each shuffle costs n P^2 multiplications for P coded columns.

    CCA: rows of y are shuffled against those of X. For pair k, only the parts of both tables that are orthogonal to the
    earlier pairs are shuffled, since the correlations of those pairs have been tested already [2]_. Both parts are
    orthogonal to the same k - 1 variates, and shuffling must keep that: the earlier variates of X are removed from the
    shuffled part of y, whose covariance is then restored. Otherwise later pairs would be significant too often after
    several strong ones. Without regularization the statistic is Wilks', -sum_{j >= k} ln(1 - r_j^2). With
    regularization the maximised values s_k (`singular_values_`) are covariances of variates w and v with w^T D_x w =
    v^T D_y v = 1. They are not correlations and may exceed 1, so that no function of 1 - s^2 makes sense [3]_. The
    statistic is then s_k itself: the largest value that is left after the earlier pairs, as in Roy's test [4]_ and in
    permutation tests of PLS [5]_, which is CCA with regularization 1. The test of the first pair has exactly the level
    `alpha`, whatever the regularization.

    The test needs memory for n (p + q) numbers. Each shuffle costs n p^2 (CCA: n p q) multiplications.

    References
    ----------
    .. [1] Buja, Eyuboglu (1992), Remarks on parallel analysis.
    .. [2] Winkler, Renaud, Smith, Nichols (2020), Permutation inference for canonical correlation analysis.
    .. [3] Vinod (1976), Canonical ridge and econometrics of joint production.
    .. [4] Roy (1953), On a heuristic method of test construction and its use in multivariate analysis.
    .. [5] McIntosh, Bookstein, Haxby, Grady (1996), Spatial pattern analysis of functional brain images using partial
       least squares.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from lowdim import CCA, permutation_test
    >>> X = load_iris().data
    >>> permutation_test(CCA(), X[:, :2], X[:, 2:], n_resamples=199, random_state=0)
    PermutationTest(CCA, n_components=1, 199 shuffles)
    """
    if not (hasattr(estimator, "open_rows") and hasattr(estimator, "permutation_options")):
        raise TypeError(
            f"{type(estimator).__name__} has no permutation test; PCA, FactorAnalysis, MCA, FAMD, MFA and CCA do."
            f"{what_instead(estimator, 'permutation_test')}"
        )
    n_resamples = check_count("n_resamples", n_resamples)
    check_probability("alpha", alpha)
    if n_components is not None and (isinstance(n_components, bool) or n_components < 1):
        raise ValueError(f"n_components={n_components!r} must be a whole number of at least 1, or None to test all.")
    if 1.0 / (1 + n_resamples) > alpha:
        raise ValueError(
            f"the smallest p-value of n_resamples={n_resamples} is {1 / (1 + n_resamples):.3g}, above "
            f"alpha={alpha:g}; use at least {math.ceil(1 / alpha) - 1}."
        )
    model = clone(estimator)
    options = model.permutation_options()
    X, y, sample_weight = by_name(X, y, of_any_kind=options.coded, sample_weight=sample_weight)
    source = model.open_rows(X, y)
    random = np.random.RandomState(seed_of(random_state))
    tables: list[tuple[np.ndarray, float]] = []
    if not options.coded:
        source = with_known_length(source, "for the permutation test")
        members = source.members
        tables = [
            (_centre_coordinates if len(members) > 1 and is_wide(s) else _centre_rows)(s, scaled, sample_weight)
            for s, scaled in zip(members, options.scaled, strict=True)
        ]
    if options.coded:
        strength, null = _test_inertias(
            model, model.coded_rows(source, sample_weight), sample_weight, n_resamples, random
        )
        statistic, null_strength, are_correlations = strength, null, False
    elif len(tables) > 1:
        strength, null_strength, null = _test_correlations(
            tables, options.regularization, n_resamples, random, n_components
        )
        are_correlations = all(c == 0.0 for c in options.regularization)
        statistic = _log_wilks(strength) if are_correlations else strength
    else:
        test = _test_factors if options.factors else _test_variances
        strength, null = test(tables[0][0], n_resamples, random)
        statistic, null_strength, are_correlations = strength, null, False
    return PermutationTest(
        type(model).__name__,
        statistic[:n_components],
        null[:, :n_components],
        alpha,
        strength[:n_components],
        null_strength[:, :n_components],
        are_correlations,
        getattr(model, "component_name", PermutationTest.component_name),
    )


def _centre_rows(source: Source, scaled: bool, sample_weight: Any) -> tuple[np.ndarray, float]:
    """All rows, repeated by their weights, dense and centred, and the unit by which they were divided.

    If `scaled`, each column is divided by its standard deviation, and the unit is 1; otherwise the unit is the largest
    standard deviation.
    """
    if source.shape[0] is None:
        raise TypeError(f"a permutation test needs all rows of {source.table} at once: pass an array or a table.")
    Z = np.repeat(*rows_and_counts(source, sample_weight), axis=0)
    n = len(Z)
    _require_three_rows(n)
    # Centred twice, since the first mean has a rounding error if the rows are far from zero.
    mean = Z.mean(axis=0)
    Z -= mean
    Z -= Z.mean(axis=0)
    deviation = column_lengths(Z) / math.sqrt(divisor(n, 1))
    deviation = np.where(is_constant(deviation, mean), 0.0, deviation)
    _require_variance(bool(np.any(deviation > 0)), source)
    unit = 1.0 if scaled else float(deviation.max())
    units = np.where(deviation > 0, deviation, 1.0) if scaled else unit
    return np.where(deviation > 0, Z / units, 0.0), unit


def _centre_coordinates(source: Source, scaled: bool, sample_weight: Any) -> tuple[np.ndarray, float]:
    """As `_centre_rows`, for fewer rows than columns: coordinates of the rows, with the same inner products.

    A test of canonical correlations needs no more. The unit is the largest standard deviation of a coordinate.
    """
    n = int(source.shape[0] or 0)
    counts = np.ones(n, dtype=np.int64) if sample_weight is None else check_whole(check_weights(sample_weight, source))
    _require_three_rows(int(counts.sum()))
    used = counts > 0
    rows = UsedRows(source, used)
    if scaled:
        A, _ = next(rows.standardized(counts[used][None, :].astype(np.float64), 1, 1, fine=True))
    else:
        A = rows.coordinates(1, fine=True)
    A = np.repeat(A, counts[used], axis=0)
    A -= A.mean(axis=0)
    largest = float(column_lengths(A).max()) / math.sqrt(divisor(len(A), 1))
    _require_variance(largest > 0.0, source)
    unit = 1.0 if scaled else largest
    return A / unit, unit


def _require_three_rows(n: int) -> None:
    if n < 3:
        raise ValueError(f"n_samples={n} is too few for a permutation test: at least 3 are needed.")


def _require_variance(varies: bool, source: Source) -> None:
    if not varies:
        raise ValueError(f"all columns of {source.table} are constant, so there is nothing to test.")


def _test_variances(Z: np.ndarray, n_resamples: int, random: Any) -> tuple[np.ndarray, np.ndarray]:
    """Proportions of variance of the rows, and of independently shuffled columns."""
    m = min(Z.shape[0] - 1, int(np.count_nonzero(np.any(Z != 0, axis=0))))
    seed = random.randint(2**31 - 1)
    if Z.shape[1] <= Z.shape[0]:
        null = np.stack([_shares(S, m) for S in shuffled_products(Z, n_resamples, seed)])
        return _shares(Z.T @ Z, m), null
    generator = np.random.default_rng(seed)
    shuffled = (generator.permuted(Z, axis=0) for _ in range(n_resamples))
    return _shares(Z @ Z.T, m), np.stack([_shares(Y @ Y.T, m) for Y in shuffled])


#: Coded rows whose products are added up at a time.
_ROWS_AT_A_TIME = 1 << 16


def _test_inertias(
    model: Any, source: Source, sample_weight: Any, n_resamples: int, random: Any
) -> tuple[np.ndarray, np.ndarray]:
    """Proportions of the inertia of a model of coded rows, and of its fits to independently shuffled columns."""
    model.set_params(n_components=None)
    blocks = list(source.blocks(int(source.shape[0] or 1)))
    numbers, codes = (np.concatenate([getattr(b, name) for b in blocks]) for name in ("numbers", "codes"))
    if sample_weight is not None:
        counts = check_whole(check_weights(sample_weight, source))
        numbers, codes = np.repeat(numbers, counts, axis=0), np.repeat(codes, counts, axis=0)
    _require_three_rows(len(numbers))
    generator = np.random.default_rng(random.randint(2**31 - 1))
    parts = [np.array(part) for part in model.shuffled_together()]

    def shares() -> np.ndarray:
        """Those of the columns in their present order."""
        moments = Moments(source.shape[1])
        moments.names = source.names
        for i in range(0, len(codes), _ROWS_AT_A_TIME):
            part = slice(i, i + _ROWS_AT_A_TIME)
            moments.update(Coded(numbers[part], codes[part], blocks[0].widths))
        return np.asarray(clone(model).fit_summary(moments).explained_variance_ratio_)

    with without_warnings(LowdimWarning):
        first = shares()
        null = np.zeros((n_resamples, len(first)))
        for row in null:
            check_stop()
            for part in parts:
                order, a = generator.permutation(len(codes)), numbers.shape[1]
                for table, columns in ((numbers, part[part < a]), (codes, part[part >= a] - a)):
                    table[:, columns] = table[:, columns][order]
            found = shares()[: len(row)]
            row[: len(found)] = found
    return first, null


def _test_factors(Z: np.ndarray, n_resamples: int, random: Any) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues of the reduced correlation matrix of standardized columns, and of independently shuffled ones."""
    Z = Z[:, np.any(Z != 0.0, axis=0)]
    n, p = Z.shape
    R = Z.T @ Z / divisor(n, 1)
    if p < 2 or n - 1 <= p or np.linalg.matrix_rank(R, hermitian=True) < p:
        raise ValueError(
            f"squared multiple correlations of {p} columns that vary need at least 2 columns, more rows (got {n}) and "
            "no column that depends on others. Drop columns, or test PCA."
        )
    seed = random.randint(2**31 - 1)
    null = np.stack([reduced_spectrum(S / divisor(n, 1)) for S in shuffled_products(Z, n_resamples, seed)])
    return reduced_spectrum(R), null


def _shares(S: np.ndarray, m: int) -> np.ndarray:
    """The m largest lambda_k / (lambda_1 + lambda_2 + ...) of a matrix of products."""
    values = np.clip(np.linalg.eigvalsh(S)[::-1], 0.0, None)
    return values[:m] / values.sum()


def _test_correlations(
    tables: list[tuple[np.ndarray, float]],
    ridges: Sequence[float],
    n_resamples: int,
    random: Any,
    n_components: int | None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The singular values of the rows, those of rows of which one table was shuffled, and the statistics of the latter:
    of the first `n_components`, if that is not None.

    In the basis U diag(g) of a table with singular vectors U, the regularised problem is a singular value
    decomposition; g = 1 without regularization.
    """
    n = len(tables[0][0])
    bases = []
    for (Z, unit), c in zip(tables, ridges, strict=True):
        U, s, _ = svd_thin(Z)
        keep = s > rank_cut(float(s[0]), max(Z.shape), FLOAT64_EPS)
        variances = s[keep] ** 2 / divisor(n, 1)
        bases.append(U[:, keep] * np.sqrt(variances / ((1.0 - c) * variances + c / unit**2)))
    for basis, c in zip(bases, ridges, strict=True):
        if c == 0.0 and n - 1 <= basis.shape[1]:
            raise ValueError(
                f"with {n} rows, tables of ranks {bases[0].shape[1]} and {bases[1].shape[1]} are always perfectly "
                "correlated; use fewer columns, or CCA(regularization=...) for both tables."
            )
    ranks = [basis.shape[1] for basis in bases]
    if all(c == 0.0 for c in ridges) and sum(ranks) > n - 1:
        warn_user(
            f"the tables have ranks {ranks[0]} and {ranks[1]} but only {n} rows: correlations of 1 are found in any "
            "data, and the test hardly finds others. Use regularization, fewer columns, or more rows.",
            SmallSampleWarning,
        )
    statistic_from = _log_wilks if all(c == 0.0 for c in ridges) else np.asarray
    L, s, Rt = np.linalg.svd(bases[0].T @ bases[1], full_matrices=True)
    A, B = bases[0] @ L, bases[1] @ Rt.T
    k = len(s) if n_components is None else min(len(s), n_components)
    values, null = np.empty((n_resamples, k)), np.empty((n_resamples, k))
    # The first j columns of Q span the first j variates of X; the first columns of P span the last variates of y.
    (Q, T), (P, R) = np.linalg.qr(A), np.linalg.qr(B[:, ::-1])
    for i in range(n_resamples):
        K = Q.T @ P[random.permutation(n)]
        for j in range(k):
            found = np.linalg.svd(_products_of_rests(K, T, R, j), compute_uv=False)
            values[i, j], null[i, j] = found[0], statistic_from(found)[0]
    return s, values, null


def _products_of_rests(K: np.ndarray, T: np.ndarray, R: np.ndarray, j: int) -> np.ndarray:
    """Products of the variates Q T of X after the first j with the variates P R of y after the first j, whose rows are
    shuffled; K = Q^T P for the shuffled rows of P.

    The latter are orthogonal to the first j variates of X, also if the tables are unrelated otherwise. Shuffled rows
    are not, which would make them look less related than they are by chance, since n - 1 - j dimensions are left for
    both tables. So the first j variates of X are removed from the shuffled variates of y, and their covariance is then
    made what it was. This has no effect on the first pair.

    With N the rows of K that belong to the first j variates, the columns of P without these variates have the products
    I - N^T N. Multiplied by its inverse square root they are orthonormal again.
    """
    m = K.shape[1] - j
    rest = K[j:, :m]
    if j > 0:
        _, sines, Vt = np.linalg.svd(K[:j, :m], full_matrices=False)
        lengths = np.sqrt(np.clip(1.0 - sines * sines, FLOAT64_EPS, None))
        rest = rest + (rest @ Vt.T) * (1.0 / lengths - 1.0) @ Vt
    return np.asarray(T[j:, j:].T @ rest @ R[:m, :m])


def _log_wilks(r: np.ndarray) -> np.ndarray:
    """-sum_{j >= k} ln(1 - r_j^2) for each k."""
    squares = np.clip(r * r, 0.0, 1.0 - 1e-15)
    return np.cumsum(-np.log1p(-squares)[::-1])[::-1]
