"""Scores of held-out rows, computed from their summary.

The log-likelihood, the squared error and the correlations of held-out rows depend only on their weight, mean and
scatter, so the rows are not read again.
"""

from __future__ import annotations

import math

import numpy as np

from .._xp import to_numpy
from ..summaries import Columns, Moments, Triangle
from .protocol import HeldOutScores

#: Variances below this fraction of the largest have lost too many digits in products of rows.
_RESOLVED = 1e-6
#: Rows lie in a subspace, up to rounding, if this fraction or less of their second moment is outside it.
_NOTHING = 1e-12


class HeldOutMoments:
    """Second moments of held-out rows about any centre. With a Triangle, rows are projected before they are squared."""

    def __init__(self, summary: Moments | Triangle) -> None:
        self.weight = float(summary.weight)
        mean: np.ndarray = to_numpy(summary.mean)
        self._mean = mean.astype(np.float64)
        rest = getattr(summary, "rest", None)
        self._rest = np.zeros_like(self._mean) if rest is None else to_numpy(rest)
        self._groups = summary.groups
        self.squared = isinstance(summary, Moments)
        self._lossy = self.squared or summary.squared  # type: ignore[union-attr] # only a Triangle is asked
        if isinstance(summary, Moments):
            self._scatter = to_numpy(summary.scatter)
        else:
            self._root = to_numpy(summary.root)

    def shift(self, centre: np.ndarray) -> np.ndarray:
        """mean - centre."""
        return (self._mean - centre) + self._rest

    def within(self, A: np.ndarray, B: np.ndarray | None = None) -> np.ndarray:
        """A^T S B, where S is the scatter matrix about the mean of these rows; B is A by default."""
        if self.squared:
            return A.T @ self._scatter @ (A if B is None else B)
        left = self._root @ A
        return left.T @ (left if B is None else self._root @ B)

    def lengths(self, A: np.ndarray) -> np.ndarray:
        """The diagonal of A^T S A: sums of squares of the centred rows along the columns of A."""
        if self.squared:
            return np.asarray(np.einsum("ij,ij->j", A, self._scatter @ A))
        return np.asarray(np.sum((self._root @ A) ** 2, axis=0))

    def beyond(self, centre: np.ndarray, divisors: np.ndarray, vectors: np.ndarray) -> float:
        """Second moment about `centre` of the part of the rows (over `divisors`) outside the span of `vectors`."""
        d = self.shift(centre) / divisors
        rest = d - (d @ vectors.T) @ vectors
        if self.squared:
            A = (vectors / divisors).T
            within = float(np.sum(self.columns() / divisors**2)) - float(self.lengths(A).sum())
        else:
            root = self._root / divisors
            within = float(np.sum((root - (root @ vectors.T) @ vectors) ** 2))
        return max(within, 0.0) / self.weight + float(rest @ rest)

    def columns(self) -> np.ndarray:
        """The diagonal of S: the sum of squares of each centred column."""
        return np.diagonal(self._scatter) if self.squared else np.sum(self._root**2, axis=0)

    def resolves(self, squares: np.ndarray, largest: np.ndarray) -> bool:
        """Whether sums of squares are accurate, beside the largest ones that they were computed from."""
        return not self._lossy or bool(np.all(squares >= _RESOLVED * largest))

    def group(self, i: int) -> slice:
        """The columns of table i."""
        start = sum(self._groups[:i])
        return slice(start, start + self._groups[i])


def spectral_densities(
    held_out: HeldOutMoments,
    centre: np.ndarray,
    scale: np.ndarray | None,
    vectors: np.ndarray,
    variances: np.ndarray,
    outside: float,
    counts: np.ndarray,
    p: int,
    log_scale: float = 0.0,
) -> HeldOutScores:
    """Average log-density of the held-out rows under N(centre, C_K), for each K in `counts`, of p columns.

    Parameters
    ----------
    vectors, variances : arrays of shape (r, p), (r,)
        All eigenpairs with nonzero eigenvalues of the covariance of the training rows (divided by `scale`, if given).
    outside : float
        Sum of the other eigenvalues.
    log_scale : float
        Sum of the logarithms of further divisors, by which the columns were divided before.

    Notes
    -----
    C_K has the variances lambda_1 ... lambda_K along the first K vectors and the average sigma2_K of all other
    eigenvalues in all other directions. With q_k the second moment of the held-out rows along vector k, and q_0 that
    outside all vectors, the average log-density is

        -(1/2) [p ln 2 pi + sum_{k<=K} (ln lambda_k + q_k / lambda_k) + (p - K) ln sigma2_K
                + (q_0 + sum_{k>K} q_k) / sigma2_K].

    Cumulative sums give all K at once. If sigma2_K is zero, the density is concentrated in the span of the vectors: the
    result is infinity if the held-out rows lie there too, up to rounding, and minus infinity if they do not.
    """
    r = len(vectors)
    if r == 0:
        return HeldOutScores(np.full(len(counts), -math.inf), True)
    d = held_out.shift(centre)
    divisors = np.ones(vectors.shape[1]) if scale is None else scale
    A = (vectors / divisors).T
    along = held_out.lengths(A) / held_out.weight + (d @ A) ** 2
    beyond = held_out.beyond(centre, divisors, vectors) if r < len(divisors) else 0.0
    left = beyond + np.concatenate([np.cumsum(along[::-1])[::-1], [0.0]])
    sums = outside + np.concatenate([np.cumsum(variances[::-1])[::-1], [0.0]])
    constant = p * math.log(2 * math.pi) + 2.0 * (float(np.sum(np.log(divisors))) + log_scale)
    scores = np.full(len(counts), -math.inf)
    resolved = True
    for i, k in enumerate(counts):
        if k > r:
            continue
        noise, kept = (sums[k] / (p - k) if k < p else math.inf), variances[:k]
        smallest = min(float(kept.min(initial=math.inf)), noise)
        if smallest <= 0.0:
            # The model has no variance outside a subspace, in which the density is concentrated.
            scores[i] = math.inf if left[k] <= _NOTHING * (left[0] or 1.0) else -math.inf
            continue
        resolved &= smallest >= _RESOLVED * float(variances[0])
        terms = float(np.sum(np.log(kept) + along[:k] / kept))
        if k < p:
            terms += (p - k) * math.log(noise) + left[k] / noise
        scores[i] = -0.5 * (constant + terms)
    return HeldOutScores(scores, resolved or not held_out.squared)


def gaussian_density(held_out: HeldOutMoments, centre: np.ndarray, covariance: np.ndarray) -> float:
    """Average log-density of the held-out rows under N(centre, C), where C is `covariance`:
    -(1/2) [p ln 2 pi + ln |C| + tr(C^{-1} M)] with M = S / w + d d^T."""
    unit = np.sqrt(np.diagonal(covariance))
    L = np.linalg.cholesky(covariance / unit / unit[:, None])
    # A A^T = C^{-1}: the columns of A are those of L^{-T}, divided by the standard deviations.
    A = np.linalg.inv(L).T / unit[:, None]
    d = held_out.shift(centre)
    spread = float(held_out.lengths(A).sum()) / held_out.weight + float(np.sum((d @ A) ** 2))
    log_determinant = 2.0 * float(np.sum(np.log(np.diagonal(L))) + np.sum(np.log(unit)))
    return -0.5 * (len(unit) * math.log(2 * math.pi) + log_determinant + spread)


def independent_density(held_out: Columns, centre: np.ndarray, variances: np.ndarray) -> float:
    """Average log-density of the held-out rows under N(centre, C), where C is diagonal: the sum over the columns of
    -(1/2) [ln 2 pi + ln v + (s / w + d^2) / v], with s the sum of squares of a column and d = mean - centre."""
    d = (to_numpy(held_out.mean).astype(np.float64) - centre) + to_numpy(held_out.rest)
    spread = to_numpy(held_out.squares).astype(np.float64) / held_out.weight + d * d
    return -0.5 * float(np.sum(math.log(2 * math.pi) + np.log(variances) + spread / variances))


def squared_errors(
    held_out: HeldOutMoments, x_mean: np.ndarray, y_mean: np.ndarray, R: np.ndarray, Q: np.ndarray, counts: np.ndarray
) -> HeldOutScores:
    """Mean squared error of each response of the held-out rows, predicted from the first K scores, (len(counts), q).

    Notes
    -----
    The prediction from K scores is y_mean + (x - x_mean) R_K Q_K^T. With s_ij = r_i^T S_xx r_j, h_j = r_j^T S_xy, and
    t_j the mean of score j over the held-out rows, the sum of squared errors of response c is

        S_cc - 2 sum_j Q_cj h_jc + sum_ij Q_ci s_ij Q_cj + w (d_c - sum_j Q_cj t_j)^2,

    with sums over i, j <= K; cumulative sums give all K at once. From a Triangle the residuals are computed directly,
    without differences of squares.
    """
    x, y = held_out.group(0), held_out.group(1)
    p, q = R.shape[0], Q.shape[0]
    k = R.shape[1]
    A = np.zeros((p + q, k))
    A[x] = R
    d = held_out.shift(np.concatenate([x_mean, y_mean]))
    # Mean residuals after 0, 1, ... scores, shape (k + 1, q).
    offsets = d[y] - np.concatenate([np.zeros((1, q)), np.cumsum((d @ A)[:, None] * Q.T, axis=0)])
    E = np.zeros((p + q, q))
    E[y] = np.eye(q)
    if held_out.squared:
        total = held_out.columns()[y]
        H, G = held_out.within(A, E), held_out.within(A)
        spread = np.empty((k + 1, q))
        for c in range(q):
            M = G * Q[c] * Q[c][:, None]
            steps = 2.0 * np.tril(M, -1).sum(axis=1) + np.diagonal(M) - 2.0 * Q[c] * H[:, c]
            spread[:, c] = total[c] + np.concatenate([[0.0], np.cumsum(steps)])
        resolved = held_out.resolves(spread[counts], total)
        spread = np.clip(spread, 0.0, None)
    else:
        spread = np.stack([held_out.lengths(E - A[:, :j] @ Q[:, :j].T) for j in range(k + 1)])
        resolved = held_out.resolves(spread[counts], spread[0])
    return HeldOutScores((spread / held_out.weight + offsets**2)[counts], resolved)


def correlations(held_out: HeldOutMoments, A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """Correlation of each pair of variates X a_k, Y b_k over the held-out rows."""
    x, y = held_out.group(0), held_out.group(1)
    left, right = (np.zeros((len(held_out.columns()), A.shape[1])) for _ in range(2))
    left[x], right[y] = A, B
    lengths = np.sqrt(held_out.lengths(left) * held_out.lengths(right))
    products = np.diagonal(held_out.within(left, right))
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(lengths > 0, np.clip(products / lengths, -1.0, 1.0), np.nan)
