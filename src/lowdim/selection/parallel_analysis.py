"""Horn's parallel analysis: eigenvalues are compared with those of simulated independent columns."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
from scipy import linalg, optimize

from .._core.arrays import Array
from .._core.coded import Coded
from .._core.threads import check_stop
from ..linalg import quiet_blas
from ..summaries.moments import Moments
from ..summaries.patterns import Patterns
from .criteria import Eigenvalues, Unavailable, covariance_of_varying, leading_above

#: The number of simulated columns that are drawn at a time.
_AT_A_TIME = 4096
#: Whole tables are drawn if that takes at most this many multiplications, for components and for factors.
_WHOLE_UP_TO, _FACTORS_WHOLE_UP_TO = 2e10, 2e9
#: The number of draws that tell how many leading eigenvalues are needed.
_PILOT = 20


def parallel(
    e: Eigenvalues,
    n_resamples: int = 100,
    quantile: float | str = 0.95,
    seed: int = 0,
    patterns: Patterns | None = None,
    simulate: Callable[[int, int], np.ndarray] | None = None,
) -> tuple[int, np.ndarray]:
    """The number of leading eigenvalues above those of independent Gaussian columns, up to the first that is not [1]_.

    Parameters
    ----------
    n_resamples : int
        Number of simulated tables with the same n and p. Their columns have the variances of the given columns; if
        those are standardized, the eigenvalues are those of the correlation matrix of the simulated rows.
    quantile : float or "mean"
        The threshold for lambda_k is this quantile (or the mean) of the k-th eigenvalue over the simulations. Horn used
        the mean; 0.95 keeps fewer components [2]_.
    patterns : Patterns, optional
        The rows, if entries are missing and `e` are eigenvalues of the covariance of maximum likelihood.
    simulate : callable, optional
        (n_resamples, seed) -> the eigenvalues of simulated tables, one row for each, if columns are not Gaussian: those
        of tables with categories, see `UnrelatedColumns`.

    The curve consists of the thresholds for k = 1, ..., min(n - 1, p); for large tables it ends soon after the first
    threshold that is not exceeded, because the others decide nothing.

    Notes
    -----
    If there are more rows than columns, no rows are simulated: the scatter matrix of n Gaussian rows about their mean
    is distributed as L L^T, where L is lower triangular, its diagonal has chi distributions with n - 1, n - 2, ...
    degrees of freedom, and the entries below are standard normal [3]_. The cost of p^3 does not depend on n. Otherwise
    n - 1 rows are drawn, some columns at a time, which costs n^2 p.

    For large tables only the leading eigenvalues are computed, and of the simulated rows only what that needs is drawn
    (`NoiseSpectrum`). If there are many different variances, small ones are replaced by a few with the same sums of
    powers, and standardized columns are replaced by Gaussian ones. In simulations this changed the means of the leading
    eigenvalues by less than 1%; for standardized columns they were larger by 0.05% to 0.4%.

    With missing entries, simulated rows have the same entries missing, see `simulate_with_missing`.

    References
    ----------
    .. [1] Horn (1965), A rationale and test for the number of factors in factor analysis.
    .. [2] Glorfeld (1995), An improvement on Horn's parallel analysis methodology.
    .. [3] Bartlett (1933), On the theory of statistical regression.
    """
    check_draws(n_resamples, quantile)
    if simulate is not None:
        thresholds = threshold_over(simulate(int(n_resamples), seed)[:, : len(e.values)], quantile)
        return leading_above(e.values[: len(thresholds)], thresholds), thresholds
    if e.variances is None:
        raise Unavailable("the simulated columns need the variances of the columns, which are not known here")
    unit = float(e.variances.max())
    deviations = np.sqrt(e.variances[e.variances > 0.0] / unit)
    # `unit` is a variance with divisor n - ddof; the simulated scatter matrices have `free` degrees of freedom.
    scale = unit if e.scale else unit / e.free

    p, n_resamples = len(deviations), int(n_resamples)
    if patterns is not None and len(patterns.weights):
        simulated = simulate_with_missing(patterns, n_resamples, seed)
        with quiet_blas(p):
            scaled = (_correlations(C) if e.scale else C * deviations * deviations[:, None] for C in simulated)
            values = np.stack([np.clip(np.linalg.eigvalsh(C)[::-1], 0.0, None) for C in scaled])
        thresholds = threshold_over(values[:, : len(e.values)], quantile) * unit
        return leading_above(e.values[: len(thresholds)], thresholds), thresholds
    if n_resamples * min(e.free, float(p)) ** 2 * p < _WHOLE_UP_TO:
        # All eigenvalues of whole tables, because that is quick.
        rng = np.random.default_rng(seed)
        draws = np.zeros((n_resamples, len(e.values)))
        with quiet_blas(min(len(e.values), p)):
            for draw in draws:
                values = simulate_eigenvalues(rng, e.free + 1.0, deviations, e.scale)[: len(draw)]
                draw[: len(values)] = values
        thresholds = threshold_over(draws, quantile) * scale
    else:
        columns = NoiseSpectrum.of_columns
        noise = NoiseSpectrum.of_standardized(p, e.free) if e.scale else columns(deviations**2, e.free)
        thresholds = as_far_as_needed(e.values, noise, n_resamples, seed, quantile, scale, minus=0.0)
    return leading_above(e.values[: len(thresholds)], thresholds), thresholds


def parallel_factors(
    e: Eigenvalues,
    n_resamples: int = 100,
    quantile: float | str = 0.95,
    seed: int = 0,
    patterns: Patterns | None = None,
) -> tuple[int, np.ndarray]:
    """The number of leading eigenvalues of the reduced correlation matrix above those of independent columns [1]_.

    In the reduced correlation matrix, squared multiple correlations take the place of ones on the diagonal: they are
    lower bounds of the communalities. Its eigenvalues are the variances that factors explain, without the variance that
    is particular to each column. Factors are counted up to the first eigenvalue that is not above its threshold.

    Parameters
    ----------
    n_resamples : int
        Number of simulated tables of independent Gaussian columns with the same n and p.
    quantile : float or "mean"
        The threshold for the k-th eigenvalue is this quantile (or the mean) of the simulated ones.
    patterns : Patterns, optional
        The rows, if entries are missing; simulated rows have the same ones missing, as for `parallel`.

    Notes
    -----
    The correlation matrices of the simulations are drawn by Bartlett's decomposition, without rows: p^3 operations for
    each. For large p only the leading eigenvalues of the correlation matrices are drawn, see `parallel`, and the
    expected 1 - SMC of independent columns, (n - p) / (n - 1), is subtracted from them. In simulations this changed the
    means of the leading eigenvalues by less than 1%. More rows than columns are needed.

    References
    ----------
    .. [1] Humphreys, Ilgen (1969), Note on a criterion for the number of common factors; Montanelli, Humphreys (1976),
       Latent roots of random data correlation matrices with squared multiple correlations on the diagonal.
    """
    check_draws(n_resamples, quantile)
    values = reduced_eigenvalues(e)
    p, free = len(values), e.free
    if patterns is not None and len(patterns.weights):
        with quiet_blas(p):
            simulated = simulate_with_missing(patterns, int(n_resamples), seed)
            draws = [reduced_spectrum(_correlations(C)) for C in simulated]
        thresholds = threshold_over(np.stack(draws), quantile)
    elif n_resamples * float(p) ** 3 < _FACTORS_WHOLE_UP_TO:
        rng = np.random.default_rng(seed)
        with quiet_blas(p):
            draws = [reduced_spectrum(_bartlett(rng, e.n - 1.0, np.ones(p), True)) for _ in range(int(n_resamples))]
        thresholds = threshold_over(np.stack(draws), quantile)
    else:
        noise, unique = NoiseSpectrum.of_standardized(p, free), (e.n - p) / free
        thresholds = as_far_as_needed(values, noise, int(n_resamples), seed, quantile, scale=1.0, minus=unique)
    return leading_above(values[: len(thresholds)], thresholds), thresholds


#: Tables with categories are drawn row by row if that takes at most this many multiplications.
_ROWS_UP_TO = 2e10
#: Blocks of coded rows are sparse if they have at least this many columns for each column of the table.
_SPARSE_FROM = 20
#: With at most this many rows for each variable, the rows are drawn, and not their covariance.
_DRAWN_UP_TO = 2


class UnrelatedColumns:
    """Simulated tables of numbers and categories in which no column is related to another.

    The frequencies of the levels and the variances of the numbers are the same in all of them, as if each column of a
    table was shuffled. A category is known from its frequencies, so that this is what shuffling does; numbers are not,
    and are taken to be Gaussian.

    Parameters
    ----------
    deviations : array
        The standard deviations of the numbers, with divisor n.
    shares : sequence of arrays
        For each category the shares of its levels.
    weight : float
        The number of rows.
    """

    def __init__(self, deviations: np.ndarray, shares: Sequence[np.ndarray], weight: float) -> None:
        self._deviations, self._shares, self._n = deviations, shares, _whole_rows(weight)
        if self._n < max((np.count_nonzero(each) for each in shares), default=0):
            raise Unavailable(_few_rows(weight))
        self._widths = [len(each) for each in shares]
        self._n_columns, self._p = len(deviations) + len(shares), len(deviations) + sum(self._widths)
        self._sparse = self._n_columns * _SPARSE_FROM <= self._p

    def are_quick(self, n_resamples: int) -> bool:
        """Whether so many tables can be drawn in little time."""
        each = _SPARSE_FROM * self._n_columns**2 if self._sparse else self._p**2
        return n_resamples * self._n * each <= _ROWS_UP_TO

    def draw(self, n_resamples: int, seed: int) -> Iterator[Moments]:
        """The moments of the coded columns of so many tables."""
        levels = [np.repeat(np.arange(len(p), dtype=np.int32), _frequencies(p, self._n)) for p in self._shares]
        for random in np.random.default_rng(seed).spawn(n_resamples):
            check_stop()
            Z = random.standard_normal((self._n, len(self._deviations)))
            Z -= Z.mean(axis=0)
            Z *= self._deviations / np.sqrt(np.mean(Z * Z, axis=0))
            codes = np.empty((self._n, len(levels)), dtype=np.int32, order="F")
            for j, of_rows in enumerate(levels):
                codes[:, j] = random.permutation(of_rows)
            moments = Moments(self._p)
            moments.update(Coded(Z, codes, self._widths))
            yield moments


def inertias_of_unrelated(inertias: Sequence[np.ndarray], weight: float, n_resamples: int, seed: int) -> np.ndarray:
    """Eigenvalues, descending, of simulated tables that consist of unrelated parts; one row for each table.

    Parameters
    ----------
    inertias : sequence of arrays
        For each part, the eigenvalues of its own weighted covariance that are not zero: for a category of m levels
        m - 1 of them, which are equal.
    weight : float
        The number of rows.

    Notes
    -----
    Each part is replaced by as many standard normal variables, which are made uncorrelated in each table and get these
    variances, so that the part has the same eigenvalues in all tables: as if its rows were shuffled as a whole. What
    parts have in common by chance is then that of independent columns in the limit for large n, up to terms of the
    order of 1 / n p_i p_j for two levels of shares p_i and p_j. With many rows, only the covariance of these variables
    is drawn, by Bartlett's decomposition: P^3 multiplications for P variables, whatever the number of rows.
    """
    n, sizes = _whole_rows(weight), [len(each) for each in inertias]
    if n <= max(sizes):
        raise Unavailable(_few_rows(weight))
    places = [slice(i, j) for i, j in pairwise(accumulate(sizes, initial=0))]
    deviations, d = np.sqrt(np.concatenate(inertias)), sum(sizes)
    found = []
    with quiet_blas(d):
        for random in np.random.default_rng(seed).spawn(n_resamples):
            check_stop()
            if n <= _DRAWN_UP_TO * d:
                Z = random.standard_normal((n - 1, d))
                for place in places:
                    Z[:, place] = np.linalg.qr(Z[:, place])[0]
                R = Z.T @ Z
            else:
                R = _bartlett(random, n - 1.0, np.ones(d), False)
                for place in places:
                    L = np.linalg.cholesky(R[place, place])
                    R[place] = linalg.solve_triangular(L, R[place], lower=True)
                    R[:, place] = R[place].T
                    R[place, place] = np.eye(len(L))
            found.append(np.clip(np.linalg.eigvalsh(R * deviations * deviations[:, None])[::-1], 0.0, None))
    return np.array(found)


def _whole_rows(weight: float) -> int:
    """The number of rows of simulated tables."""
    if round(weight) < 3:
        raise Unavailable(_few_rows(weight))
    return round(weight)


def _few_rows(weight: float) -> str:
    return (
        f"the weights of the rows add up to {weight:g} and are taken for frequencies, and tables of so few rows cannot "
        "be simulated"
    )


def _frequencies(shares: np.ndarray, n: int) -> np.ndarray:
    """Whole numbers with the sum n and nearly these shares; each share that is not zero has one at least."""
    exact = shares * n
    counts = np.maximum(np.floor(exact + 1e-9), shares > 0)
    while left := n - int(counts.sum()):
        change = np.sign(left)
        able = shares > 0 if left > 0 else counts > 1
        # Those that are farthest from their exact number change first.
        order = np.argsort(np.where(able, change * (counts - exact), np.inf))
        counts[order[: min(abs(left), int(np.count_nonzero(able)))]] += change
    return counts.astype(np.int64)


def simulate_with_missing(patterns: Patterns, n_resamples: int, seed: int) -> Iterator[np.ndarray]:
    """Covariances of simulated independent standard normal columns, with the entries missing that rows have missing.

    Notes
    -----
    With x_ij centred by the mean of the observed entries of column j and zero where missing, and n_jk rows in which
    both j and k are observed, the covariances are c_jk = sum_i x_ij x_ik / (n_jk - 1). If columns are independent, the
    information about c_jk is that of these n_jk rows alone, and none about any other entry. So this is what one step of
    Fisher's scoring from independence leads to, and differs from the estimate of maximum likelihood by terms of order
    1 / n [1]_, while both have errors of order 1 / sqrt(n). Without missing entries, both are the sample covariance.

    The complete rows are not drawn: their scatter matrix has Bartlett's decomposition, and their mean is independent of
    it. Rows of weight w are drawn w times, rounded. With m rows with missing entries, 2 m p^2 operations for a draw.

    References
    ----------
    .. [1] Lehmann, Casella (1998), Theory of point estimation, section 6.4, on one-step estimators.
    """
    p, n_whole = patterns.n_features, round(float(patterns.complete.weight))
    known = np.repeat(patterns.known, np.maximum(np.round(patterns.weights), 1.0).astype(int), axis=0).astype(
        np.float64
    )
    pairs = n_whole + known.T @ known
    if float(pairs.min()) < 2.0:
        raise Unavailable("some two columns have less than two rows in which both are observed")
    for random in np.random.default_rng(seed).spawn(n_resamples):
        check_stop()
        X = random.standard_normal(known.shape) * known
        second, sums = X.T @ X, X.T @ known
        if n_whole:
            total = math.sqrt(n_whole) * random.standard_normal(p)
            second = second + total[:, None] * total / n_whole
            sums = sums + total[:, None]
            if n_whole > p:
                second = second + _bartlett(random, n_whole - 1.0, np.ones(p), False)
            else:
                Z = random.standard_normal((n_whole - 1, p))
                second = second + Z.T @ Z
        # sums_jk is the sum of column j over the rows in which column k is observed as well.
        mean = np.diagonal(sums) / np.diagonal(pairs)
        centred = second - sums * mean - (sums * mean).T + pairs * mean[:, None] * mean
        yield centred / (pairs - 1.0)


def _correlations(C: np.ndarray) -> np.ndarray:
    sd = np.sqrt(np.diagonal(C))
    return C / sd / sd[:, None]


def reduced_eigenvalues(e: Eigenvalues) -> np.ndarray:
    """The eigenvalues of the reduced correlation matrix of the columns that vary, descending; some are negative."""
    R = covariance_of_varying(e, "squared multiple correlations", "here")
    if e.rank < len(R):
        raise Unavailable(
            "squared multiple correlations need a regular correlation matrix: more rows than columns, and no column "
            "that depends on others"
        )
    sd = np.sqrt(np.diagonal(R))
    return reduced_spectrum(R / sd / sd[:, None])


def reduced_spectrum(R: np.ndarray) -> np.ndarray:
    """The eigenvalues of a correlation matrix with squared multiple correlations on its diagonal, descending."""
    unique = 1.0 / np.diagonal(np.linalg.inv(R))
    return np.linalg.eigvalsh(R - np.diag(unique))[::-1]


def check_draws(n_resamples: Any, quantile: Any) -> None:
    """Refuse numbers of simulations and quantiles that make no sense."""
    check_count("n_resamples", n_resamples)
    if quantile != "mean" and not (isinstance(quantile, numbers.Real) and 0.0 < float(quantile) < 1.0):
        raise ValueError(f"quantile={quantile!r} must lie strictly between 0 and 1, or be 'mean'.")


def threshold_over(draws: np.ndarray, quantile: float | str) -> np.ndarray:
    """The quantile of each simulated eigenvalue over the draws, or its mean."""
    return np.asarray(draws.mean(axis=0) if quantile == "mean" else np.quantile(draws, float(quantile), axis=0))


def as_far_as_needed(
    values: np.ndarray,
    noise: NoiseSpectrum,
    n_resamples: int,
    seed: int,
    quantile: float | str,
    scale: float,
    minus: float,
) -> np.ndarray:
    """The thresholds for k = 1, 2, ..., times `scale` and less `minus`, at least up to the first that is not exceeded.

    The time increases with the cube of the largest k, which is found out with the first of the draws.
    """
    k = 8
    for some in (min(n_resamples, _PILOT), n_resamples):
        while True:
            draws = noise.leading(some, k, seed)
            m = min(draws.shape[1], len(values))
            thresholds = threshold_over(draws[:, :m], quantile) * scale - minus
            chosen = leading_above(values[:m], thresholds)
            if m < k or chosen < m:
                break
            k *= 2
        k = min(k, chosen + 3)
    return thresholds


def simulate_eigenvalues(rng: np.random.Generator, n: float, deviations: np.ndarray, scale: bool) -> np.ndarray:
    """Descending eigenvalues of the scatter matrix (of the correlation matrix, if `scale`) of n Gaussian rows
    whose columns are independent and have the given standard deviations."""
    p, free = len(deviations), n - 1.0
    G = _bartlett(rng, free, deviations, scale) if free >= p else _dual(rng, free, deviations, scale)
    return np.clip(np.linalg.eigvalsh(G)[::-1], 0.0, None)


def _bartlett(rng: np.random.Generator, free: float, deviations: np.ndarray, scale: bool) -> Array:
    """The p x p scatter matrix L L^T. Row i of L belongs to column i of the table; its squared length is the sum of
    squares of that column."""
    p = len(deviations)
    L = np.tril(rng.standard_normal((p, p)), -1)
    L[np.diag_indices(p)] = np.sqrt(rng.chisquare(free - np.arange(p)))
    L *= 1.0 / np.sqrt((L * L).sum(axis=1, keepdims=True)) if scale else deviations[:, None]
    return L @ L.T


def _dual(rng: np.random.Generator, free: float, deviations: np.ndarray, scale: bool) -> Array:
    """Z Z^T for `free` simulated rows Z; apart from zeros it has the same eigenvalues as the scatter matrix."""
    rows = max(1, math.floor(free + 0.5))
    G = np.zeros((rows, rows))
    for start in range(0, len(deviations), _AT_A_TIME):
        some = deviations[start : start + _AT_A_TIME]
        Z = rng.standard_normal((rows, len(some)))
        Z *= 1.0 / np.sqrt((Z * Z).sum(axis=0)) if scale else some
        G += Z @ Z.T
    return G


# The leading eigenvalues of the scatter matrix of noise, for tables that are too large to draw all their entries.
#
# The scatter matrix of n Gaussian rows about their mean has, apart from zeros, the eigenvalues of G = Y Y^T with
# Y = Z diag(t)^(1/2), where Z has f = n - 1 rows of independent standard normal entries, and t_j is the variance of
# column j. Golub and Kahan's iteration finds the leading ones from Y v_j = a_j u_j + b_j u_{j+1} and
# Y^T u_j = b_{j-1} v_{j-1} + a_j v_j [1]_. Since Z is Gaussian, it need not be known: what the iteration asks of it is
# drawn when it is asked [2]_. Let w_j = diag(t)^(1/2) v_j, let r_j be the distance of w_j from the span of the earlier
# ones, and q_j the unit vector of that direction.
#
# - The part of Z w_j orthogonal to u_1, ..., u_j has the length b_j = r_j c_j, where c_j has a chi distribution with
#   f - j degrees of freedom; its direction is u_{j+1} by definition.
# - The row u_{j+1}^T Z is c_j q_j plus a standard normal vector orthogonal to w_1, ..., w_j.
# - Columns of equal variance may be rotated among one another. In a group of g of them, all rows so far lie in as many
#   coordinates as there are rows, and the next one adds a coordinate, which has a chi distribution with g - j degrees
#   of freedom.
#
# So the iteration is exact, and its cost depends on the number of different variances rather than on n and p.
#
# References
# ----------
# .. [1] Golub, Kahan (1965), Calculating the singular values and pseudo-inverse of a matrix.
# .. [2] Dumitriu, Edelman (2002), Matrix models for beta ensembles: the case of equal variances.


#: Up to so many different variances are simulated as they are.
_GROUPS = 4
#: The relative accuracy of the quadrature that replaces many variances by a few.
_ACCURACY = 1e-3
#: A variance t is small if t m is at most this number, for the m of the upper edge of the eigenvalues, and if its share
#: of the sum of the (t_j m / (1 - t_j m))^2, which is f, is at most the second number.
_SMALL = 0.8, 0.0125
#: The numbers of columns that may be simulated with their own variances.
_SINGLE = (0, *(2**i for i in range(12)))
#: Eigenvalues are computed with at most this relative error; usually it is far smaller, since it is the square of the
#: residual divided by the distance to the next eigenvalue.
_TOL = 1e-3
#: If more than this share of the eigenvalues is wanted, all are computed.
_FEW = 0.125
#: Draws that are iterated together.
_COLUMNS_AT_A_TIME = 20


@dataclass(frozen=True)
class NoiseSpectrum:
    """Noise of `free` rows in groups of `counts` columns (not always whole numbers), each of one of `variances`."""

    free: float
    variances: np.ndarray
    counts: np.ndarray

    @classmethod
    def of_columns(cls, variances: np.ndarray, free: float) -> NoiseSpectrum:
        """The noise of columns with these variances.

        If there are many different ones, the small ones are replaced by the r nodes t_b of a Gauss quadrature, in
        numbers g_b with sum_b g_b t_b^s = sum_j t_j^s for s = 1, ..., 2 r. The upper edge of the eigenvalues is the
        minimum over m of f / m + sum_j t_j / (1 - t_j m) [1]_. These functions of t have a pole at 1 / m, so that the
        error of the quadrature decreases as x^(-2r), where x = y + sqrt(y^2 - 1) and y = 2 / (m max t) - 1.

        References
        ----------
        .. [1] Silverstein, Choi (1995), Analysis of the limiting spectral distribution of large dimensional random
           matrices.
        """
        t, counts = np.unique(variances, return_counts=True)
        if len(t) <= _GROUPS:
            return cls(free, t, counts.astype(float))
        t = np.sort(variances)[::-1]
        single, size = _count_single(t, free)
        y = 2.0 / size - 1.0
        r = math.ceil(-0.5 * math.log(_ACCURACY) / math.log(y + math.sqrt(y * y - 1.0)))
        nodes, numbers = _quadrature(t[single:], r)
        return cls(free, np.concatenate([t[:single], nodes]), np.concatenate([np.ones(single), numbers]))

    @classmethod
    def of_standardized(cls, p: int, free: float) -> NoiseSpectrum:
        """The noise of p standardized columns, unit vectors u_j of random direction.

        Gaussian columns of one variance take their place, whose lengths vary. The matrix sum_j u_j u_j^T has the
        expected trace and sum of squares of that of p (f + 1) / (f - 1) such columns, and the matrix of the u_i^T u_j
        that of f (p + 1) / (p - 1) rows; the smaller of f and p is left as it is.
        """
        if free < p:
            count = p * (free + 1.0) / (free - 1.0)
            return cls(free, np.array([p / (count * free)]), np.array([count]))
        rows = free * (p + 1.0) / (p - 1.0)
        return cls(rows, np.array([1.0 / rows]), np.array([float(p)]))

    def leading(self, n_resamples: int, k: int, seed: int) -> np.ndarray:
        """The k largest eigenvalues (or all that can be positive, if they are fewer) of independent draws of G."""
        if k > _FEW * self.rank:
            return np.stack([self._all(np.random.default_rng([seed, i])) for i in range(n_resamples)])[:, :k]
        sizes = [min(_COLUMNS_AT_A_TIME, n_resamples - i) for i in range(0, n_resamples, _COLUMNS_AT_A_TIME)]
        return np.concatenate([_iterate(self, np.random.default_rng([seed, i]), n, k) for i, n in enumerate(sizes)])

    def _all(self, rng: np.random.Generator) -> np.ndarray:
        """All eigenvalues of one draw of G, the sum of t L L^T over the groups, by Bartlett's decomposition: L is lower
        triangular, with chi distributions of g - i degrees of freedom on the diagonal and normal entries below it."""
        check_stop()
        f = int(np.floor(self.free + 0.5))
        single = self.counts == 1.0
        Y = rng.standard_normal((f, int(single.sum()))) * np.sqrt(self.variances[single])
        G = Y @ Y.T
        for t, g in zip(self.variances[~single], self.counts[~single], strict=True):
            i = np.arange(min(f, int(np.ceil(g))))
            L = np.tril(rng.standard_normal((f, len(i))), -1)
            L[i, i] = np.sqrt(rng.chisquare(g - i))
            G += t * (L @ L.T)
        return np.clip(np.linalg.eigvalsh(G)[::-1], 0.0, None)[: self.rank]

    @property
    def rank(self) -> int:
        """The number of eigenvalues that can be positive."""
        return int(np.floor(min(self.free, float(self.counts.sum())) + 1e-9))


def _iterate(noise: NoiseSpectrum, rng: np.random.Generator, n: int, k: int) -> np.ndarray:
    """The k largest eigenvalues of n draws at once: iterate until their residuals, which bound their errors, are small.

    Vectors are rows, of which the first index is that of the draw. They are in float32, since their products are
    limited by the speed of memory.
    """
    rank = noise.rank
    k, look = min(k, rank), min(rank, 4 * k + 32)
    a, b = (np.zeros((n, rank)) for _ in range(2))
    roots, known = np.zeros(0, dtype=np.float32), np.zeros((n, 0), dtype=np.float32)
    all_V, all_Q = (np.zeros((n, 0, 0), dtype=np.float32) for _ in range(2))
    for j in range(rank):
        check_stop()
        # Compute v_j and q_j, given the row u_j^T Z in the coordinates so far, `known`, and draw the next row.
        new = noise.counts > j
        roots = np.concatenate([roots, np.sqrt(noise.variances[new]).astype(np.float32)])
        if j + 1 > all_V.shape[1] or len(roots) > all_V.shape[2]:
            # Memory for more vectors with all their coordinates.
            more = 2 * j + 18
            width = len(roots) + sum(int(np.count_nonzero(noise.counts > i)) for i in range(j + 1, more))
            room = ((0, 0), (0, more - all_V.shape[1]), (0, width - all_V.shape[2]))
            all_V, all_Q = np.pad(all_V, room), np.pad(all_Q, room)
        V, Q = all_V[:, :, : len(roots)], all_Q[:, :, : len(roots)]
        added = np.sqrt(rng.chisquare(noise.counts[new] - j, (n, int(new.sum()))))
        v = np.concatenate([known, added.astype(np.float32)], axis=1) * roots
        a[:, j], V[:, j] = _normalized((v[:, None] - _projections(v[:, None], V[:, :j]))[:, 0])
        both = np.empty((n, 2, len(roots)), dtype=np.float32)
        both[:, 0] = V[:, j] * roots
        both[:, 1] = rng.standard_normal(v.shape, dtype=np.float32)
        both -= _projections(both, Q[:, :j])
        distance, q = _normalized(both[:, 0])
        Q[:, j] = q
        c = np.sqrt(rng.chisquare(max(noise.free - j - 1, 1e-300), n))
        b[:, j] = distance * c
        known = both[:, 1] + (c - np.einsum("dn,dn->d", both[:, 1], q)).astype(np.float32)[:, None] * q
        if j + 1 == look:
            values, residuals = _ritz(a[:, :look], b[:, :look])
            if look == rank or np.all(residuals[:, -k:] <= _TOL * values[:, -k:]):
                return np.clip(values[:, ::-1][:, :k], 0.0, None)
            look = min(rank, look + max(16, look // 4))
    return np.zeros((n, 0))


def _ritz(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Ascending eigenvalues of U^T G U = B B^T, B lower bidiagonal, and their residuals."""
    n, m = a.shape
    T = np.zeros((n, m, m))
    i = np.arange(m)
    T[:, i, i] = a**2
    T[:, i[1:], i[1:]] += b[:, :-1] ** 2
    T[:, i[1:], i[:-1]] = a[:, :-1] * b[:, :-1]
    values, vectors = np.linalg.eigh(T)
    return values, np.abs(vectors[:, -1]) * (a[:, -1] * b[:, -1])[:, None]


def _projections(X: np.ndarray, basis: np.ndarray) -> np.ndarray:
    """The projections of the vectors of each draw, the rows of X, on the span of its orthonormal vectors."""
    return np.matmul(np.matmul(X, basis.transpose(0, 2, 1)), basis)


def _normalized(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Lengths, and vectors of unit length (zero if the length is)."""
    lengths = np.linalg.norm(x, axis=1)
    return lengths, x / np.where(lengths > 0.0, lengths, 1.0)[:, None]


def _edge(t: np.ndarray, free: float) -> float:
    """The m that minimises f / m + sum_j t_j / (1 - t_j m) between 0 and 1 / max t."""
    top = float(t.max())

    def slope(share: float) -> float:
        return float(np.sum((t / top * share / (1.0 - t / top * share)) ** 2)) - free

    return float(optimize.brentq(slope, 0.0, 1.0 - 1e-9)) / top


def _count_single(t: np.ndarray, free: float) -> tuple[int, float]:
    """How many of the descending variances are not small, and t m for the largest of the others. Without the large ones
    the edge is another one."""
    able = [h for h in _SINGLE if h < len(t)]
    most = min(_SMALL[0], 1.0 / (1.0 + 1.0 / math.sqrt(_SMALL[1] * free)))
    for h in able:
        size = float(t[h]) * _edge(t[h:], free)
        if size <= most:
            break
    return h, size


def _quadrature(t: np.ndarray, r: int) -> tuple[np.ndarray, np.ndarray]:
    """At most r nodes t_b and numbers g_b with sum_b g_b t_b^s = sum_j t_j^s for s = 1, ..., 2 r, by Lanczos' iteration
    with diag(t) from the vector of the sqrt(t_j)."""
    top = float(t.max())
    t = t / top
    total = float(t.sum())
    basis = np.sqrt(t / total)[None, :]
    J = np.zeros((r, r))
    for i in range(r):
        w = t * basis[i]
        J[i, : i + 1] = J[: i + 1, i] = basis @ w
        for _ in range(2):
            w = w - basis.T @ (basis @ w)
        length = float(np.linalg.norm(w))
        if length < 1e-12:
            J = J[: i + 1, : i + 1]
            break
        basis = np.vstack([basis, w / length])
    nodes, vectors = np.linalg.eigh(J)
    return nodes * top, total * vectors[0] ** 2 / nodes


def check_count(name: str, value: Any, least: int = 1) -> int:
    """`value` as an int; an error unless it is a whole number of at least `least`."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or value < least:
        raise ValueError(f"{name}={value!r} must be a whole number of at least {least}.")
    return int(value)


def check_probability(name: str, value: Any) -> float:
    """`value` as a float; an error unless it is strictly between 0 and 1."""
    if not isinstance(value, numbers.Real) or not 0.0 < float(value) < 1.0:
        raise ValueError(f"{name}={value!r} must lie strictly between 0 and 1.")
    return float(value)


def seed_of(random_state: Any) -> int:
    """`random_state` as a number; None is a fixed seed, so that the same rows give the same result."""
    if random_state is None:
        return 0
    if isinstance(random_state, numbers.Integral):
        return int(random_state)
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**31 - 1))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31 - 1))
    raise ValueError(f"random_state={random_state!r} must be None, a whole number, or a generator of numpy.random.")
