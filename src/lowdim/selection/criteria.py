"""The eigenvalues of a covariance, and the rules that need nothing else: variance, noise, evidence, BIC, Velicer's."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

import numpy as np
from scipy import optimize, special

from .._core.arrays import to_numpy
from .._core.schema import Flag, Maybe, Numbers, Real, Sometimes, Whole
from ..errors import no_variance, too_few_rows
from ..linalg import (
    FLOAT64_EPS,
    RESOLUTION,
    divisor,
    eigh_descending,
    is_constant,
    most_components,
    quiet_blas,
    rank_cut,
    require_size,
    svd_thin,
)
from ..solvers.problem import Spectrum
from ..summaries.base import require_nonempty
from ..summaries.gram import Gram, GramRoot
from ..summaries.moments import Columns, Moments
from ..summaries.triangle import Triangle


class Unavailable(ValueError):
    """The rule is not available for these rows; the message says why.

    Examples
    --------
    >>> import numpy as np
    >>> from lowdim.summaries import Moments
    >>> from lowdim.selection import Eigenvalues, Unavailable, rule_of
    >>> one_column = Eigenvalues.from_summary(Moments.from_covariance(np.eye(1), n_samples=50))
    >>> try:
    ...     rule_of("map").function(one_column)
    ... except Unavailable as error:
    ...     print(error)
    partial correlations need at least 2 columns that are not constant
    """


@dataclass(frozen=True, eq=False)
class Eigenvalues:
    """The input of the rules, as float64 NumPy arrays.

    Rules ignore columns that are constant up to the rounding of their entries. The p of the formulas is therefore
    `n_varying`, the number of the other columns, if it is known which columns are constant.

    Examples
    --------
    >>> import numpy as np
    >>> from lowdim.summaries import Moments
    >>> from lowdim.selection import Eigenvalues
    >>> e = Eigenvalues.from_summary(Moments.from_covariance(np.diag([3.0, 1.0, 0.0]), n_samples=50))
    >>> e.values, e.total, e.rank
    (array([3., 1.]), 4.0, 2)
    """

    #: lambda_1 >= lambda_2 >= ..., with divisor n - ddof: the min(n - 1, n_varying) that can be nonzero, or
    #: min(n, n_varying) if the mean was not subtracted.
    values: np.ndarray = field(metadata={"kind": Numbers("*", host=True, sign="nonnegative", order="descending")})
    #: Number of rows, counted with their weights.
    n: float = field(metadata={"kind": Real("positive")})
    #: Number of columns, including constant ones.
    p: int = field(metadata={"kind": Whole(1)})
    ddof: int = field(metadata={"kind": Whole()})
    #: Sum of all eigenvalues (the trace).
    total: float = field(metadata={"kind": Real("nonnegative")})
    #: Variances of the columns (1 after standardizing, 0 for constant ones), shape (p,), or None if unknown.
    variances: np.ndarray | None = field(metadata={"kind": Maybe(Numbers("p", host=True, sign="nonnegative"))})
    #: Covariance matrix, or correlation matrix after standardizing, shape (p, p), or None if it was not computed.
    matrix: np.ndarray | None = field(metadata={"kind": Maybe(Numbers("p", "p", host=True, symmetric=True))})
    scale: bool
    #: Which columns are not constant, shape (p,), or None if unknown.
    varying: np.ndarray | None = field(default=None, metadata={"kind": Maybe(Numbers("p", host=True, dtype="bool"))})
    #: Rounding error of the eigenvalues, in units of lambda_1.
    epsilon: float = field(default=FLOAT64_EPS, metadata={"kind": Real("nonnegative")})
    #: Whether the mean was subtracted. If not, second moments about zero take the place of (co)variances.
    center: bool = field(default=True, metadata={"kind": Sometimes(Flag())})

    @classmethod
    def from_summary(
        cls, summary: Moments | Triangle, scale: bool = False, ddof: int = 1, center: bool = True
    ) -> Eigenvalues:
        """The eigenvalues of a summary: those of the scatter matrix of a Moments, or the squared singular values of the
        root of a Triangle, which are accurate also if they are small. Constant columns become zero."""
        require_nonempty(summary)
        mean = _to_float64(summary.mean)
        summary = summary if center else summary.about_zero()
        n = float(summary.weight)
        _require_two_rows(summary.n_rows, n)
        per = divisor(n, ddof)
        # R of a Triangle, or the scatter matrix.
        is_root = isinstance(summary, Triangle)
        A = _to_float64(summary.root if isinstance(summary, Triangle) else summary.scatter)
        squares = (A * A).sum(axis=0) if is_root else np.diagonal(A)
        require_size(squares, mean, n, each=scale)
        deviation = np.sqrt(squares / per)
        varying = ~is_constant(deviation, _to_float64(summary.mean))
        if not varying.any():
            raise no_variance("choosing how many components to keep")
        if scale or not varying.all():
            # Divide rows and columns separately, since the product of two deviations may overflow or underflow.
            unit = np.where(varying, deviation if scale else 1.0, np.inf)
            A = A / unit if is_root else A / unit[:, None] / unit
        values = _squared_singular_values(A) if is_root else _eigenvalues(A)
        matrix = A.T @ A if is_root else A
        if scale:
            np.fill_diagonal(matrix, np.where(varying, per, 0.0))
        matrix /= per
        variances = np.diagonal(matrix).copy()
        return cls._from_values(
            values / per,
            summary,
            summary.n_features,
            ddof,
            total=float(variances.sum()),
            variances=variances,
            matrix=matrix,
            scale=bool(scale),
            varying=varying,
            epsilon=summary.product_eps if isinstance(summary, Moments) else FLOAT64_EPS,
            center=center,
        )

    @classmethod
    def from_gram(cls, gram: Gram, columns: Columns, scale: bool = False, ddof: int = 1) -> Eigenvalues:
        """The eigenvalues of the inner products of the rows (the squared singular values of their root, for a
        GramRoot), and the variances of the columns; both about zero if the products are."""
        _require_two_rows(columns.n_rows, columns.weight)
        columns = columns if gram.center else columns.about_zero()
        per = divisor(columns.weight, ddof)
        squares, mean = _to_float64(columns.squares), _to_float64(columns.mean)
        varying = ~is_constant(np.sqrt(squares / per), mean)
        if not varying.any():
            raise no_variance("choosing how many components to keep")
        if isinstance(gram, GramRoot):
            values = _squared_singular_values(_to_float64(gram.product))
        else:
            values = _eigenvalues(_to_float64(gram.centred()))
        require_size(values[:1], mean, columns.weight)
        values = values / per
        return cls._from_values(
            values,
            columns,
            columns.n_features,
            ddof,
            total=float(values.sum()),
            variances=np.where(varying, 1.0 if scale else squares / per, 0.0),
            matrix=None,
            scale=bool(scale),
            varying=varying,
            center=gram.center,
        )

    @classmethod
    def from_spectrum(
        cls,
        spectrum: Spectrum,
        p: int,
        ddof: int = 1,
        *,
        variances: Any = None,
        varying: Any = None,
        scale: bool | None = None,
    ) -> Eigenvalues:
        """The eigenvalues of a spectrum with all min(n, p) eigenpairs; `variances` and `varying` are those of the
        columns, if known. The columns are standardised if they are divided by anything, unless `scale` says."""
        _require_two_rows(spectrum.n_rows, spectrum.weight)
        per = divisor(spectrum.weight, ddof)
        found = cls._from_values(
            np.clip(spectrum.values.astype(np.float64), 0.0, None) / per,
            spectrum,
            p,
            ddof,
            total=spectrum.total / per,
            variances=None if variances is None else _to_float64(variances),
            matrix=None,
            scale=spectrum.scale is not None if scale is None else scale,
            varying=None if varying is None else np.asarray(varying, dtype=bool),
            epsilon=spectrum.epsilon,
            center=spectrum.center,
        )
        if len(spectrum.values) < len(found.values):
            raise ValueError(
                f"the spectrum holds {len(spectrum.values)} of {len(found.values)} eigenvalues, and rules need all of "
                "them: solve for k=None."
            )
        if found.n_varying == 0 or not found.values[:1].any():
            raise no_variance("choosing how many components to keep")
        return found

    @classmethod
    def _from_values(
        cls, values: np.ndarray, rows: Any, p: int, ddof: int, *, center: bool, **more: Any
    ) -> Eigenvalues:
        """The eigenvalues of `rows`, a summary or a spectrum, of which at most min(n - 1, p) can be nonzero, since
        centring removes one direction; otherwise min(n, p). A row of weight 2 counts as two."""
        found = cls(values=values, n=float(rows.weight), p=p, ddof=ddof, center=center, **more)
        m = max(1, min(most_components(rows.n_rows, rows.weight, found.n_varying + 1) - center, found.n_varying))
        # Zeros are appended, or values beyond m, which are rounding errors, are dropped.
        return replace(found, values=np.concatenate([values, np.zeros(max(0, m - len(values)))])[:m])

    @property
    def free(self) -> float:
        """The degrees of freedom of the scatter matrix: n - 1, or n if the mean was not subtracted."""
        return self.n - 1.0 if self.center else self.n

    @property
    def cut(self) -> float:
        """The value, in units of lambda_1, at or below which eigenvalues count as zero."""
        return rank_cut(1.0, self.p, self.epsilon)

    @property
    def relative(self) -> np.ndarray:
        """lambda_k / lambda_1, or zero if it is at or below `cut`; squares of these do not overflow or underflow."""
        shares = self.values / self.values[0]
        return np.where(shares > self.cut, shares, 0.0)

    @property
    def rank(self) -> int:
        """The number of nonzero eigenvalues."""
        return int(np.count_nonzero(self.relative))

    @property
    def n_varying(self) -> int:
        """The number of columns that are not constant, or of all columns if that is unknown."""
        return self.p if self.varying is None else int(np.count_nonzero(self.varying))


def _require_two_rows(n_rows: int, weight: float) -> None:
    """Refuse a single row, which has no variance whatever the divisor."""
    if (n_rows < 2 and weight <= n_rows) or divisor(weight, 1) <= 0:
        raise too_few_rows(n_rows, weight, 1, fixed=True)


def _eigenvalues(S: Any) -> np.ndarray:
    """Eigenvalues of a scatter matrix, descending."""
    unit = float(np.diagonal(S).max()) or 1.0
    with quiet_blas(len(S)):
        values = np.linalg.eigvalsh(S / unit)[::-1]
    return np.clip(values, 0.0, None) * unit


def _squared_singular_values(root: np.ndarray) -> np.ndarray:
    """The same for R^T R, from the singular values of R."""
    unit = float(np.abs(root).max()) or 1.0
    return (svd_thin(root / unit)[1] * unit) ** 2


def _to_float64(x: Any) -> np.ndarray:
    return np.array(to_numpy(x), dtype=np.float64)


#: Without a bound on the likelihood, the curve ends after so many entries that are no better than the best.
_NO_BETTER = 3


def penalised_curve(
    name: str,
    n: float,
    loglike_of: Callable[[int], float | None],
    n_parameters: Callable[[int], int],
    most: int,
    bound: float | None,
    ahead: Callable[[int], np.ndarray] | None = None,
) -> np.ndarray:
    """price * (number of parameters) - 2 ln L for k = 0, 1, ... components; the price is 2 (`name` "aic") or ln n.

    `loglike_of(k)` fits k components, or returns None if that cannot be done, which ends the curve. It also ends after
    `most` components, and where further components cost more than they could gain: if `bound` is an upper bound of all
    log-likelihoods, that is certain; otherwise when the last three were no better than the best, and no larger number
    of components is seen to be. `ahead(k)` are lower bounds of the log-likelihoods of 0, 1, ... components that are
    known after the fit of k components; there may be fewer.
    """
    price = 2.0 if name == "aic" else math.log(n)
    curve: list[float] = []

    def last_seen_better(k: int) -> int:
        """The largest number of components, k or more, that is seen to be better than the best so far; or k - 1."""
        known = np.zeros(0) if ahead is None else ahead(k - 1)[k : most + 1]
        better = [price * n_parameters(k + i) - 2.0 * reached < min(curve) for i, reached in enumerate(known)]
        return max((k + i for i, each in enumerate(better) if each), default=k - 1)

    # What was seen to be better, and than which number of components: it stays so until that is no longer the best.
    seen, seen_from = 0, -1
    for k in range(most + 1):
        if bound is not None and curve and price * n_parameters(k) - 2.0 * bound > min(curve):
            break
        best = int(np.argmin(curve or [0.0]))
        if bound is None and k > best + _NO_BETTER and not (k <= seen and best == seen_from):
            seen, seen_from = last_seen_better(k), best
            if seen < k:
                break
        loglike = loglike_of(k)
        if loglike is None:
            break
        curve.append(price * n_parameters(k) - 2.0 * loglike)
    return np.array(curve)


# From a curve to a number of components. Ties go to the smaller number, so that rounding errors decide nothing.


#: Relative differences up to which an eigenvalue equals its threshold, and two entries of a curve are equal.
_ON, _SAME = 1e-10, 1e-12


def leading_above(values: np.ndarray, thresholds: np.ndarray) -> int:
    """The number of leading `values` above their thresholds, up to the first one that is not."""
    below = values <= thresholds * (1.0 + _ON)
    return int(below.argmax()) if below.any() else len(values)


def first_best(curve: np.ndarray) -> int:
    """The index of the maximum of `curve`, up to rounding; the first one on a tie."""
    best = float(curve.max())
    return int((curve >= best - _SAME * max(1.0, abs(best))).argmax())


def proportion_of_variance(e: Eigenvalues, proportion: float = 0.9) -> tuple[int, np.ndarray]:
    """The smallest K with (lambda_1 + ... + lambda_K) / trace >= `proportion`.

    The curve is this proportion for K = 1, 2, ..., min(n - 1, p).
    """
    if not 0.0 < proportion <= 1.0:
        raise ValueError(f"proportion={proportion!r} of the variance must be above 0 and at most 1.")
    reached = np.cumsum(e.values / e.total)
    short = int(np.count_nonzero(reached < proportion - 1e-12))
    return min(short + 1, len(reached)), reached


def kaiser(e: Eigenvalues) -> tuple[int, np.ndarray]:
    """The number of eigenvalues above their average [1]_, which is 1 for a correlation matrix.

    The curve is the average, repeated for each eigenvalue.

    References
    ----------
    .. [1] Kaiser (1960), The application of electronic computers to factor analysis.
    """
    thresholds = np.full(len(e.values), e.total / e.n_varying)
    return leading_above(e.values, thresholds), thresholds


def broken_stick(e: Eigenvalues) -> tuple[int, np.ndarray]:
    """The number of leading eigenvalues above those expected from a broken stick [1]_ [2]_.

    If a stick as long as the trace is broken at random into m = min(n - 1, p) pieces, the expected length of the k-th
    longest piece is trace (1/k + 1/(k+1) + ... + 1/m) / m. These lengths are the curve.

    References
    ----------
    .. [1] Frontier (1976), Etude de la decroissance des valeurs propres dans une analyse en composantes principales.
    .. [2] Jackson (1993), Stopping rules in principal components analysis.
    """
    m = len(e.values)
    pieces = np.cumsum(1.0 / np.arange(m, 0, -1))[::-1] / m
    thresholds = pieces * e.total
    return leading_above(e.values, thresholds), thresholds


def elbow(e: Eigenvalues) -> tuple[int, np.ndarray]:
    """The K that maximises the profile likelihood of two groups of eigenvalues [1]_.

    The first K eigenvalues are modelled by one Gaussian, the m - K others by a second one with the same variance
    s2 = (sum of squares within the groups) / (m - 2). The curve is the log-likelihood for K = 1, ..., m - 1, of
    eigenvalues in units of lambda_1.

    References
    ----------
    .. [1] Zhu, Ghodsi (2006), Automatic dimensionality selection from the scree plot via the use of profile likelihood.
    """
    d = e.relative
    m = len(d)
    if m < 2:
        raise Unavailable("one eigenvalue has no elbow: at least 2 columns and 3 rows are needed")
    K = np.arange(1, m)
    within = _squares_about_mean(d)[:-1] + _squares_about_mean(d[::-1])[::-1][1:]
    # If there is no variation within the groups, their variance is replaced by the rounding error.
    s2 = np.maximum(within / max(m - 2, 1), e.cut**2)
    curve = -0.5 * m * np.log(2 * np.pi * s2) - 0.5 * within / s2
    return int(K[first_best(curve)]), curve


def _squares_about_mean(d: np.ndarray) -> np.ndarray:
    """sum_{i<=q} (d_i - mean of d_1..d_q)^2 for q = 1, 2, ..., by Welford's update, which has no cancellation."""
    q = np.arange(1, len(d) + 1)
    means = np.cumsum(d) / q
    steps = d[1:] - means[:-1]
    return np.concatenate([[0.0], np.cumsum(steps * steps * (q[:-1] / q[1:]))])


def covariance_of_varying(e: Eigenvalues, what: str, where: str) -> np.ndarray:
    """The covariance matrix of the columns that are not constant, of which there are at least two. Otherwise `what` is
    not available; `where` the matrix is not computed."""
    if e.matrix is None or e.varying is None:
        raise Unavailable(f"{what} need the p x p matrix, which is not computed {where}")
    keep = np.flatnonzero(e.varying)
    if len(keep) < 2:
        raise Unavailable(f"{what} need at least 2 columns that are not constant")
    return np.asarray(e.matrix[np.ix_(keep, keep)])


def velicer(e: Eigenvalues) -> tuple[int, np.ndarray]:
    """The K that minimises the average squared partial correlation of the columns given the first K components [1]_.

    With the correlation matrix R = sum_k l_k v_k v_k^T and C = R - sum_{k<=K} l_k v_k v_k^T,

        f_K = (1 / (p (p - 1))) sum_{i != j} C_ij^2 / (C_ii C_jj).

    The curve is f_0, f_1, ...; it ends before the K at which some column has no variance left. Constant columns are
    left out. Covariances are converted to correlations first, so the result does not depend on units.

    Notes
    -----
    The cost is p^2 operations for each K, p^3 in total.

    References
    ----------
    .. [1] Velicer (1976), Determining the number of components from the matrix of partial correlations.
    """
    C = covariance_of_varying(e, "partial correlations", "for so many columns")
    p = len(C)
    deviations = np.sqrt(np.diagonal(C))
    C = C / deviations[:, None] / deviations
    np.fill_diagonal(C, 1.0)
    values, vectors = eigh_descending(C)
    curve = []
    for value, v in zip(values[: min(p, len(e.values))], vectors, strict=False):
        left = np.diagonal(C)
        if left.min() <= RESOLUTION:
            break
        # sum_ij C_ij^2 / (C_ii C_jj), without the diagonal, whose entries are 1.
        inverse = 1.0 / left
        curve.append(max(float(inverse @ (C * C) @ inverse) - p, 0.0) / (p * (p - 1)))
        C -= value * v[:, None] * v
    f = np.array(curve)
    return first_best(-f), f


# Rules from random matrix theory: which singular values are larger than those of white noise.
#
# The n rows are centred, which leaves n - 1 degrees of freedom: the noise is an m x N matrix of independent entries of
# variance sigma2, m = min(n - 1, p), N = max(n - 1, p), beta = m / N. Its singular values s = sqrt(lambda (n - ddof)),
# squared and divided by N sigma2, follow the Marchenko-Pastur law on [(1 - sqrt(beta))^2, (1 + sqrt(beta))^2] as m
# grows. If sigma2 is unknown, it is estimated by comparing the median of the m singular values with that of the law.
# Both rules compare all eigenvalues with one threshold; their curve is this threshold, repeated for each eigenvalue.


def gavish_donoho(e: Eigenvalues, noise_variance: float | None = None) -> tuple[int, np.ndarray]:
    """The number of singular values above the hard threshold with the smallest asymptotic mean squared error [1]_.

    The threshold is hard_threshold(beta) sqrt(N sigma2) for a known sigma2 = `noise_variance`, and omega(beta) times
    the median singular value for an unknown sigma2, with
    omega = hard_threshold(beta) / sqrt(median of the Marchenko-Pastur law).

    References
    ----------
    .. [1] Gavish, Donoho (2014), The optimal hard threshold for singular values is 4/sqrt(3).
    """
    return _above(e, lambda beta: hard_threshold(beta) ** 2, noise_variance)


def marchenko_pastur(e: Eigenvalues, noise_variance: float | None = None) -> tuple[int, np.ndarray]:
    """The number of eigenvalues above sigma2 N (1 + sqrt(beta))^2 / (n - ddof), the upper edge of those of noise [1]_.

    References
    ----------
    .. [1] Marchenko, Pastur (1967), Distribution of eigenvalues for some sets of random matrices.
    """
    return _above(e, lambda beta: (1.0 + math.sqrt(beta)) ** 2, noise_variance)


def hard_threshold(beta: float) -> float:
    """The threshold in units of sqrt(N sigma2), sqrt(2 (b + 1) + 8 b / (b + 1 + sqrt(b^2 + 14 b + 1))) with b = beta.

    For beta = 1 it is 4/sqrt(3).
    """
    return math.sqrt(2 * (beta + 1) + 8 * beta / (beta + 1 + math.sqrt(beta * beta + 14 * beta + 1)))


@lru_cache(maxsize=256)
def median_of_law(beta: float) -> float:
    """The median of the Marchenko-Pastur law with ratio 0 < beta <= 1 and variance 1.

    With x(t) = 1 + beta + 2 sqrt(beta) cos t the mass above x(t) is (2 / pi) int_0^t sin(u)^2 / x(u) du. The integrand
    is smooth up to the median for every beta, so that Gauss-Legendre quadrature with 64 nodes is exact up to rounding.
    """
    nodes, weights = np.polynomial.legendre.leggauss(64)
    a, b = 1.0 + beta, 2.0 * math.sqrt(beta)

    def mass_above(t: float) -> float:
        u = 0.5 * t * (nodes + 1.0)
        return t / math.pi * float(weights @ (np.sin(u) ** 2 / (a + b * np.cos(u))))

    # The median lies at t = pi/2 for beta -> 0 and near 2.31 for beta = 1.
    t = optimize.brentq(lambda t: mass_above(t) - 0.5, 1.0, 2.6, xtol=1e-14)
    return a + b * math.cos(t)


def _above(e: Eigenvalues, factor: Callable[[float], float], noise_variance: Any) -> tuple[int, np.ndarray]:
    """The number of eigenvalues above the threshold factor(beta) N sigma2 / (n - ddof), and the curve of thresholds."""
    N = max(float(e.n_varying), e.free)
    beta = len(e.values) / N
    if noise_variance is None:
        # In units of lambda_1, so that nothing overflows or underflows.
        median = float(np.median(np.sqrt(e.relative))) ** 2
        threshold = factor(beta) / median_of_law(beta) * median
    else:
        sigma2 = float(noise_variance)
        if not 0.0 < sigma2 < math.inf:
            raise ValueError(f"noise_variance={noise_variance!r} must be a positive number, or None if it is unknown.")
        threshold = factor(beta) * N / divisor(e.n, e.ddof) * (sigma2 / e.values[0])
    thresholds = np.full(len(e.values), threshold)
    return leading_above(e.relative, thresholds), thresholds * e.values[0]


# Rules that compare probabilistic PCA models: Minka's evidence, BIC, AIC.
#
# In all of them v_K is the average of the p - K discarded eigenvalues, including those that are zero. With fewer rows
# than columns most of the p eigenvalues are zero; they are counted but not computed. If the rows lie exactly in K
# dimensions there is no noise; v_K is then the rounding error p eps lambda_1, as in PPCA.


#: Eigenvalues that differ by less than this, relative to the larger one, are tied.
_TIED = 1e-8


def minka(e: Eigenvalues) -> tuple[int, np.ndarray]:
    """The K that maximises Laplace's approximation of the evidence p(X | K) of probabilistic PCA [1]_.

    ln p(X | K) = ln p(U) - (n/2) sum_{j<=K} ln lambda_j - (n (p - K) / 2) ln v_K
                  + ((m + K) / 2) ln 2 pi - (1/2) ln |A| - (K/2) ln n,        m = p K - K (K + 1) / 2,
    ln p(U)     = -K ln 2 + sum_{i<=K} [ln Gamma((p - i + 1) / 2) - ((p - i + 1) / 2) ln pi],
    ln |A|      = sum_{i<=K} sum_{i<j<=p} ln[n (1/h_j - 1/h_i) (lambda_i - lambda_j)],

    with h_j = lambda_j for j <= K and h_j = v_K for j > K. The curve is ln p(X | K) for K = 1, ..., min(n - 1, p) - 1,
    with eigenvalues in units of lambda_1 (which adds the same constant for all K), and -inf beyond the rank.

    Notes
    -----
    The double sum takes r^2 operations for all K together, where r is the number of nonzero eigenvalues:
    ln(lambda_i - lambda_j) does not depend on K, ln(1/lambda_j - 1/lambda_i) is a cumulative sum, and the rest is one
    r x r table. A rotation between two equal eigenvalues changes nothing. Its curvature is zero, so that Laplace's
    approximation would be infinite; such pairs are left out.

    References
    ----------
    .. [1] Minka (2000), Automatic choice of dimensionality for PCA.
    """
    most = len(e.values) - 1
    if most < 1:
        raise Unavailable(
            "the evidence compares K = 1, ..., min(n - 1, p) - 1: at least 2 columns and 3 rows are needed"
        )
    n, p, r = e.n, e.n_varying, e.rank
    d = e.relative[:r]
    K = np.arange(1, min(most, r) + 1)
    v = np.maximum(_tails(e.relative)[K] / (p - K), e.cut)
    i = np.arange(1, K[-1] + 1)
    sphere = special.gammaln((p - i + 1) / 2) - (p - i + 1) / 2 * np.log(np.pi) - np.log(2.0)
    m = p * K - K * (K + 1) / 2
    curve = np.full(most, -np.inf)
    curve[: len(K)] = (
        np.cumsum(sphere)
        - n / 2 * np.cumsum(np.log(d))[K - 1]
        - n * (p - K) / 2 * np.log(v)
        + (m + K) / 2 * np.log(2 * np.pi)
        - 0.5 * _log_curvature(d, v, K, n, p)
        - K / 2 * np.log(n)
    )
    return int(K[first_best(curve[: len(K)])]), curve


def bic(e: Eigenvalues) -> tuple[int, np.ndarray]:
    """The K that minimises BIC = -2 ln L + ln(n) f of probabilistic PCA [1]_, f = p K - K (K - 1) / 2 + 1 + p.

    Here -2 ln L = n [p ln 2 pi + sum_{k<=K} ln lambda_k + (p - K) ln v_K + p], with eigenvalues of divisor n [2]_. The
    curve is BIC for K = 0, 1, ..., min(n - 1, p) - 1.

    References
    ----------
    .. [1] Schwarz (1978), Estimating the dimension of a model.
    .. [2] Tipping, Bishop (1999), Probabilistic principal component analysis.
    """
    return _penalise(e, float(np.log(e.n)))


def aic(e: Eigenvalues) -> tuple[int, np.ndarray]:
    """The K that minimises AIC = -2 ln L + 2 f of probabilistic PCA [1]_, with L and f as in `bic`.

    References
    ----------
    .. [1] Akaike (1974), A new look at the statistical model identification.
    """
    return _penalise(e, 2.0)


def _penalise(e: Eigenvalues, price: float) -> tuple[int, np.ndarray]:
    """The K that minimises -2 ln L + price * (number of free parameters), and that curve for K = 0, 1, ..."""
    K, p = np.arange(len(e.values)), e.n_varying
    curve = deviance(e) + price * (p * K - K * (K - 1) / 2 + 1 + p)
    return int(K[first_best(-curve)]), curve


def deviance(e: Eigenvalues) -> np.ndarray:
    """-2 ln L of probabilistic PCA at its maximum for K = 0, ..., min(n - 1, p) - 1."""
    n, p, d = e.n, e.n_varying, e.relative
    K = np.arange(len(d))
    v = np.maximum(_tails(d)[K] / (p - K), e.cut)
    kept = np.maximum(d, e.cut)
    logs = np.concatenate([[0.0], np.cumsum(np.log(kept))])[K]
    # This is p, except where eigenvalues were replaced by the rounding error.
    fit = np.concatenate([[0.0], np.cumsum(d / kept)])[K] + _tails(d)[K] / v
    unit = np.log(e.values[0]) + np.log(divisor(n, e.ddof) / n)
    return n * (p * np.log(2 * np.pi) + p * unit + logs + (p - K) * np.log(v) + fit)


def _tails(d: np.ndarray) -> np.ndarray:
    """sum_{j>K} d_j for K = 0, ..., len(d), summed from the smallest on."""
    return np.concatenate([np.cumsum(d[::-1])[::-1], [0.0]])


def _log_curvature(d: np.ndarray, v: np.ndarray, K: np.ndarray, n: float, p: int) -> np.ndarray:
    """ln |A| for each K, from the r nonzero eigenvalues `d` and p - r zeros."""
    r, top = len(d), K[-1]
    gap = d[:top, None] - d[None, :]
    pair = np.arange(top)[:, None] < np.arange(r)[None, :]
    apart = pair & (gap > _TIED * d[:top, None])
    log_gap = np.log(np.where(apart, gap, 1.0))
    # ln(lambda_i - lambda_j) summed over all j > i, including zero eigenvalues; it does not depend on K.
    gaps = np.cumsum(log_gap.sum(axis=1) + (p - r) * np.log(d[:top]))
    # ln(1/lambda_j - 1/lambda_i) = ln((lambda_i - lambda_j) / (lambda_i lambda_j)) summed over i < j <= K.
    product = np.log(d[:top, None]) + np.log(d[None, :])
    inverse = np.cumsum(np.where(apart, log_gap - product, 0.0).sum(axis=0)[:top])
    # ln(1/v_K - 1/lambda_i) summed over i <= K, once for each j > K that is not tied with i.
    beyond = p - r + np.cumsum(apart[:, ::-1], axis=1)[:, ::-1]
    beyond = np.concatenate([beyond, np.full((top, 1), p - r)], axis=1)[:, K]
    spread = d[:top, None] - v[None, :]
    kept = (np.arange(top)[:, None] < K[None, :]) & (spread > 0.0)
    noise = np.log(np.where(kept, spread, 1.0)) - np.where(kept, np.log(d[:top, None]) + np.log(v)[None, :], 0.0)
    pairs = np.cumsum(apart.sum(axis=1) + (p - r))
    return gaps + inverse + (noise * beyond).sum(axis=0) + pairs * np.log(n)
