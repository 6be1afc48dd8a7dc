"""The results of solvers, as frozen records."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

import numpy as np

from .._xp import Array, count_true, cumulative_sum, to_numpy
from ..linalg import FLOAT64_EPS, divisor, rank_cut


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

    total: float = 0.0
    squares: float | None = 0.0
    cubes: float | None = 0.0

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
    >>> from lowdim import open_source
    >>> from lowdim.reading import Rows
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
        tail = self.tail.plus(self.values[k:])
        return replace(self, values=self.values[:k], vectors=self.vectors[:k, :], tail=tail)

    def variances(self, ddof: int) -> np.ndarray:
        """Eigenvalues of the covariance with divisor weight - ddof."""
        return self.values / divisor(self.weight, ddof)


@dataclass(frozen=True)
class Misfit:
    """How far the covariance of a latent Gaussian model is from the covariance of the rows.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from lowdim import FactorAnalysis
    >>> found = FactorAnalysis(2).fit(load_wine().data).misfit()
    >>> type(found).__name__, round(found.discrepancy, 3)
    ('Misfit', 1.64)
    """

    #: Total weight of the rows.
    weight: float
    #: 2 / n times the log-likelihood of the saturated model minus that of this one. The saturated model has the
    #: covariance of the rows; None if that is singular.
    discrepancy: float | None
    #: The same for the model of independent columns.
    null_discrepancy: float | None
    #: Sums of squares of the residual correlations, which are the differences of the two covariances in units of the
    #: standard deviations of the columns: over all pairs of different columns, and over the columns (the diagonal).
    residual_squares: tuple[float, float] | None
    #: Whether no entry of the rows is missing. Otherwise likelihoods are those of the observed entries, and the
    #: covariance of the rows is its estimate of maximum likelihood.
    complete: bool = True


@dataclass(frozen=True)
class LatentFit:
    """A latent Gaussian model x = mean + W^T u + e of rows."""

    #: Mean of the rows, (p,).
    mean: Array
    #: Divisors of the columns in the iteration, (p,): `loadings`, `noise` and `spread` are in these units.
    scale: Array
    #: W, (k, p).
    loadings: Array
    #: Variances of e, (p,).
    noise: Array
    #: Packed covariance of (w_d, mean_d), (q, p), if W has a prior; otherwise None.
    spread: Array | None
    #: Total weight and number of the rows.
    weight: float
    n_rows: int
    #: Log-likelihood of the observed entries before each step and at the end.
    loglike: list[float]
    status: Status
    #: Largest change of a parameter in one more step, in units of the noise.
    residual: float
    #: Passes over the rows.
    passes: int
    #: Why the iteration ended before it converged, and what to do then.
    advice: str = "Raise max_iter, or ask for fewer components."
    #: Unit vectors along the rows of `loadings` if these are orthogonal, (k, p); otherwise None.
    axes: Array | None = None
    #: How far the covariance of the model is from that of complete rows, if each column has its own noise variance.
    misfit: Misfit | None = None


@dataclass(frozen=True)
class PairFit:
    """Components of two tables, in the coordinates of `Views`."""

    #: Weights for the deflated tables, and loadings, (r, k).
    x_weights: Array
    x_loadings: Array
    y_weights: Array
    y_loadings: Array
    #: Weights for the table Y itself, (r_y, k); and the matrix T with which `x_weights` T are those for X, (k, k).
    y_rotations: Array
    x_turn: Array
    #: Coefficients of the regression of Y on the scores of X, (r_y, k).
    y_on_x: Array
    #: Lengths of the scores of X, and the maximised singular values, (k,).
    x_lengths: Array
    values: Array
    status: Status
    #: Sums of the eigenvalues of X^T X after these components are removed.
    tail: Tail = Tail()


@dataclass(frozen=True)
class CanonicalFit:
    """Canonical directions of two or more tables, in the coordinates of `Views`."""

    #: Weights of each table, with variates of unit variance, (r_i, k).
    rotations: tuple[Array, ...]
    #: The variates, of length one: the `Combinations` of the columns of each table.
    variates: Any
    #: The values of the maximised criterion, descending: all of them, or with regularization at least k.
    values: Array
    #: Correlations between the variates of tables i and j, (k, v, v).
    correlations: Array
    #: Numerical ranks of the tables.
    ranks: tuple[int, ...]
    status: Status


@dataclass(frozen=True)
class KernelFit:
    """Leading eigenpairs of the centred kernel matrix G of rows."""

    #: Positive eigenvalues of G, descending, (k,), as a NumPy array.
    values: np.ndarray
    #: Unit eigenvectors as columns, (n, k); with weights, sqrt(w_i) times those of the rows repeated w_i times.
    vectors: Array
    #: Sum of all positive eigenvalues, and the share of the negative eigenvalues in sum |lambda|.
    total: float
    negative_mass: float
    status: Status
    #: max_k ||G v_k - gamma_k v_k|| / gamma_1.
    residual: float
    #: Passes over pairs of rows.
    passes: int


@dataclass(frozen=True)
class Unmixing:
    """An unmixing matrix y = W z of whitened rows z."""

    #: W, (k, k), as a NumPy array.
    W: np.ndarray
    #: Which sources have the flipped density, (k,).
    flipped: np.ndarray
    #: Minus the log-likelihood per whitened row, before each step and at the end.
    loss: list[float]
    #: Largest absolute entry of the relative gradient (of its skew part, if W is orthogonal).
    gradient_norm: float
    #: E[psi'(y_i)] E[y_i^2] - E[psi(y_i) y_i] for the density that is not flipped, zero for Gaussian sources, (k,).
    stability: np.ndarray
    kurtosis: np.ndarray
    status: Status
    n_iter: int


def count_to_reach(spectrum: Any, proportion: float) -> int:
    """The smallest number of pairs whose proportion of variance reaches `proportion` (up to rounding)."""
    return leading_count(spectrum.values, spectrum.total, proportion)


def leading_count(values: Array, total: float, proportion: float) -> int:
    """The smallest number of leading `values` whose proportion of `total` reaches `proportion` (up to rounding)."""
    if total <= 0.0:
        return 1
    reached = cumulative_sum(values / total) >= proportion - 1e-12
    return min(count_true(~reached) + 1, int(values.shape[0]))
