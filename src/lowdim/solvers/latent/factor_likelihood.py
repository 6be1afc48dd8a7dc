"""The likelihood of a factor model as a function of the uniquenesses alone, with its first and second derivatives.

For given uniquenesses the best loadings have a closed form. What remains is a function of y = ln psi. `OfCovariance`
computes it from a correlation matrix, and `OfRows` from standardized rows, if these are fewer than the columns.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import lapack

from ..._core.arrays import Array, asarray_like, device, namespace, to_host, to_numpy, wide_dtype
from ..._core.threads import check_stop, largest_eigenpairs
from ...linalg import eigh_descending, leading_eigenpairs

#: The exact second derivatives of a covariance cost k p^3 operations; if these are more, their leading part is used
#: until the iteration is near the end.
_EXACT_UP_TO = 1e8
#: How many times as long as a step with the leading part a step with exact second derivatives takes, without factors
#: and for each of them.
_EXACT_COST, _EXACT_COST_PER_FACTOR = 2.5, 0.2
#: Second derivatives are summed up in pieces of so many numbers.
_PAIRS = 1 << 20
#: From this many columns on, a device finds eigenpairs faster than the host does.
_ON_DEVICE_FROM = 192
#: The largest eigenpairs are computed alone, on a device, if there are at least so many times as many columns.
_FEW = 8
#: Negative curvatures are replaced by their absolute values, and small ones are raised to this share of the largest.
_LEAST_CURVATURE = 1e-3
#: Maximal number of steps of conjugate gradients.
_CG_STEPS = 50


class Step(NamedTuple):
    """A step of Newton's method, and whether it leads to a minimum of the quadratic model of the objective."""

    move: np.ndarray
    convex: bool


class Point(ABC):
    """The objective and its derivatives at one vector of log-uniquenesses y.

    Notes
    -----
    With theta_1 >= ... the eigenvalues of S* = Psi^{-1/2} S Psi^{-1/2}, omega_j its vectors, and sums over those
    j <= k with theta_j > 1 (the others have no loadings) [1]_,

        L(y) = sum y + tr S* + sum_j (ln theta_j - theta_j + 1),
        dL/dy = g = 1 + sum_j (theta_j - 1) omega_j^2 - diag S*,
        d2L/dy2 = diag(1 - g) - (Omega Omega^T) o (Omega Omega^T)
                  - 2 sum_j (theta_j - 1) (omega_j omega_j^T) o (sum_m theta_m / (theta_j - theta_m) omega_m omega_m^T),

    where m runs over all other eigenvectors and o is the product entry by entry. This equals the second derivatives
    of [2]_; a form without a sum over vectors of eigenvalue zero is used here.

    References
    ----------
    .. [1] Joreskog (1967), Some contributions to maximum likelihood factor analysis.
    .. [2] Clarke (1970), A rapidly convergent method for maximum-likelihood factor analysis.
    """

    def __init__(self, y: np.ndarray, k: int, theta: np.ndarray, omega: np.ndarray, diagonal: np.ndarray) -> None:
        self.y, self.k, self.theta, self.omega, self.diagonal = y, k, theta, omega, diagonal
        trace = float(diagonal.sum())
        self.value = float(y.sum()) + trace + float((np.log(theta) - theta).sum()) + len(theta)
        self.gradient = 1.0 + (omega * omega) @ (theta - 1.0) - diagonal
        #: Rounding error of value and gradient, which comes from subtracting the eigenvalues from the trace.
        self.rounding = 1e-14 * (float(np.abs(y).sum()) + trace)

    @property
    def loadings(self) -> np.ndarray:
        """The optimal loadings, (k, p)."""
        W = np.zeros((self.k, len(self.y)))
        W[: len(self.theta)] = (self.omega * np.exp(0.5 * self.y)[:, None] * np.sqrt(self.theta - 1.0)).T
        return W

    #: Whether the steps use exact second derivatives, so that each doubles the number of correct digits.
    exact: bool

    @property
    def stretch(self) -> float:
        """ln c of the factor c for all uniquenesses at which the objective is smallest.

        The eigenvalues of S* are then divided by c, and dL/d ln c = p - j - (tr S* - sum_j theta_j) / c.
        """
        left = float(self.diagonal.sum() - self.theta.sum())
        return math.log(max(left, 1e-300) / max(len(self.y) - len(self.theta), 1))

    @abstractmethod
    def newton_step(self, free: np.ndarray, gradient: np.ndarray | None = None) -> Step:
        """The step of Newton's method in the coordinates that are `free`, a direction in which the objective falls; for
        another vector in place of the gradient if one is given."""

    @property
    def unexplained(self) -> np.ndarray:
        """Where all y are zero: what k principal components of the standardized columns leave of their variances."""
        return np.clip(1.0 - self.gradient, 0.02, 1.0)


class OfCovariance:
    """The objective of factor analysis for standardized columns, from their correlation matrix R.

    Parameters
    ----------
    R : array of shape (p, p)
        In the memory of a device, the eigenpairs and the second derivatives are computed there if that is faster.
        Everything else is computed on the host.
    """

    def __init__(self, R: Array) -> None:
        xp, large = namespace(R), R.shape[0] >= _ON_DEVICE_FROM
        # A device that computes in float64 finds eigenpairs of large matrices faster than the host.
        faster = large and not isinstance(R, np.ndarray) and wide_dtype(R) == xp.float64
        self._on_device = R if faster else None
        self.R, self.p = to_numpy(R), R.shape[0]

    def at(self, y: np.ndarray, k: int, *, near: bool = False) -> Point:
        """The objective with k factors at the log-uniquenesses `y`. If that is `near` the end of the iteration, second
        derivatives are exact whatever they cost."""
        check_stop()
        d = np.exp(-0.5 * y)
        if self._on_device is None:
            exact = near or k * float(self.p) ** 3 <= _EXACT_UP_TO
            scaled = self.R * d * d[:, None]
            return _CovariancePoint(scaled, y, k, np.diagonal(scaled), exact)
        there = asarray_like(d, self._on_device)
        scaled = self._on_device * there * there[:, None]
        return _CovariancePoint(scaled, y, k, np.diagonal(self.R) * d * d, near)

    def price(self, k: int) -> float:
        """How many times as long an exact step takes as the usual one."""
        return 1.0 if self._on_device is not None else _EXACT_COST + _EXACT_COST_PER_FACTOR * k

    def work(self, k: int) -> float:
        """Multiplications of one step, approximately."""
        return float(self.p) ** 2 * (10 * self.p + k * max(self.p - k, 0))

    def correlations(self, column: int) -> np.ndarray:
        """The correlations of all columns with one of them."""
        return self.R[column]

    def starts(self, k: int) -> Iterator[np.ndarray]:
        """Uniquenesses to start from; the first start is the standard one."""
        yield self._given_the_others(k)
        yield np.ones(self.p)
        yield np.full(self.p, 0.5)
        yield self.at(np.zeros(self.p), k).unexplained

    def _given_the_others(self, k: int) -> np.ndarray:
        """(1 - k / 2p) / diag(R^{-1}), from the variance of each column given the others [Joreskog].

        Nearly singular matrices are first shrunk towards the identity.
        """
        p = self.p
        start = np.full(p, 0.5)
        for ridge in (0.0, 1e-3, 1e-2, 0.1):
            factor, failed = lapack.dpotrf((self.R + ridge * np.eye(p)) / (1.0 + ridge), lower=1)
            if failed:
                continue
            inverse = np.diagonal(lapack.dpotri(factor, lower=1)[0])
            if np.all(np.isfinite(inverse)) and inverse.min() >= 1.0 - 1e-6 and inverse.max() < 1e8:
                start = (1.0 - 0.5 * k / p) / inverse
                break
        return np.clip(start, 0.005, 0.995)


class OfRows:
    """The same objective from a thin root Z of the correlation matrix Z^T Z, (m, p) with m < p.

    The non-zero eigenvalues of S* are those of the m x m matrix A A^T with A = Z Psi^{-1/2}, and its vectors are
    A^T u / theta^{1/2}. Nothing of size p x p is formed: a point costs m^2 p operations, and a product with the second
    derivatives 4 m p k.
    """

    def __init__(self, Z: np.ndarray) -> None:
        self.Z, self.p = Z, Z.shape[1]

    def at(self, y: np.ndarray, k: int, *, near: bool = False) -> Point:
        return _RowsPoint(self.Z, y, k)

    def price(self, k: int) -> float:
        return 1.0

    def work(self, k: int) -> float:
        m = float(len(self.Z))
        return m * m * (self.p + 10 * m) + 12 * m * self.p * k

    def correlations(self, column: int) -> np.ndarray:
        product: np.ndarray = self.Z[:, column] @ self.Z
        return product

    def starts(self, k: int) -> Iterator[np.ndarray]:
        yield self.at(np.zeros(self.p), k).unexplained


Objective = OfCovariance | OfRows


class _CovariancePoint(Point):
    """A point of `OfCovariance`, from S*: with all eigenpairs and second derivatives if it is `exact`, otherwise with
    the largest pairs and the leading part of the derivatives, which is all of them if the model fits."""

    def __init__(self, scaled: Array, y: np.ndarray, k: int, diagonal: np.ndarray, exact: bool) -> None:
        self.exact, self._scaled = exact, scaled
        xp = namespace(scaled)
        if isinstance(scaled, np.ndarray):
            values, vectors = np.linalg.eigh(scaled) if exact else largest_eigenpairs(scaled, k)
            self._values, self._vectors = values[::-1], vectors[:, ::-1]
            omega = self._vectors
        elif not exact and _FEW * k <= len(y) and (found := leading_eigenpairs(scaled, k)) is not None:
            self._values, omega = found[0], np.ascontiguousarray(found[1].T)
            self._vectors = asarray_like(omega, scaled)
        else:
            values, vectors = xp.linalg.eigh(scaled)
            self._vectors = xp.flip(vectors, axis=1)
            self._values, omega = to_host([xp.flip(values), self._vectors[:, :k]])
        used = int(np.count_nonzero(self._values[:k] > 1.0))
        super().__init__(y, k, self._values[:used], omega[:, :used], diagonal)

    def hessian(self) -> np.ndarray:
        """The second derivatives, or their leading part, (I - Omega Omega^T) o (S* - Omega diag(theta) Omega^T), which
        is positive definite; computed where S* is."""
        V, j = self._vectors, len(self.theta)
        omega = V[:, :j]
        if not self.exact:
            theta = asarray_like(self.theta, V)
            identity = namespace(V).eye(V.shape[0], dtype=V.dtype, device=device(V))
            return to_numpy((identity - omega @ omega.T) * (self._scaled - (omega * theta) @ omega.T))
        # For each factor j and each vector m: 2 (theta_j - 1) theta_m / (theta_j - theta_m), or 1 for the factors.
        rest = self._values[j:]
        gap = np.maximum(self.theta[:, None] - rest, 1e-8 * self.theta[:, None])
        factors = np.ones((j, len(self._values)))
        factors[:, j:] = 2.0 * (self.theta[:, None] - 1.0) * rest / gap
        H = -to_numpy(_pairs(omega, V, asarray_like(factors, V)))
        H.flat[:: len(H) + 1] += 1.0 - self.gradient
        return H

    def newton_step(self, free: np.ndarray, gradient: np.ndarray | None = None) -> Step:
        """-H^{-1} g, where H is first scaled to a diagonal of about one: the uniqueness of a Heywood case has a small
        derivative. If H is not positive definite, curvatures are replaced by their absolute values."""
        d = np.zeros(len(free))
        index = np.flatnonzero(free)
        H = self.hessian()
        H = H if len(index) == len(d) else H[np.ix_(index, index)]
        unit = 1.0 / np.sqrt(np.maximum(np.abs(np.diagonal(H)), 1e-10))
        H = H * unit * unit[:, None]
        g = (self.gradient if gradient is None else gradient)[index] * unit
        factor, failed = lapack.dpotrf(H, lower=1)
        if not failed and np.diagonal(factor).min() > 1e-4:
            d[index] = -unit * lapack.dpotrs(factor, g, lower=1)[0]
            return Step(d, True)
        curvatures, V = np.linalg.eigh(H)
        curvatures = np.abs(curvatures)
        d[index] = -unit * ((V / np.maximum(curvatures, _LEAST_CURVATURE * curvatures.max())) @ (V.T @ g))
        return Step(d, False)


def _pairs(omega: Array, vectors: Array, factors: Array) -> Array:
    """sum_j (omega_j omega_j^T) o (sum_m f_jm v_m v_m^T), for as many j at a time as fit into _PAIRS numbers.

    The vectors times omega_j, row by row, are a matrix B_j, and the term of j is B_j diag(f_j) B_j^T.
    """
    xp = namespace(omega)
    p, k = omega.shape
    step = max(1, _PAIRS // p**2)
    total: Any = 0.0 if k else xp.zeros_like(vectors)
    for i in range(0, k, step):
        part = slice(i, min(i + step, k))
        B = xp.reshape(omega[:, part][:, :, None] * vectors[:, None, :], (p, -1))
        total = total + (B * xp.reshape(factors[part, :], (-1,))) @ B.T
    return total


class _RowsPoint(Point):
    """A point of `OfRows`."""

    exact = True

    def __init__(self, Z: np.ndarray, y: np.ndarray, k: int) -> None:
        check_stop()
        self._A = Z * np.exp(-0.5 * y)
        values, vectors = eigh_descending(self._A @ self._A.T)
        self._values, self._U = np.maximum(values, 0.0), vectors.T
        used = int(np.count_nonzero(self._values[:k] > 1.0))
        theta = self._values[:used]
        omega = (self._A.T @ self._U[:, :used]) / np.sqrt(theta)
        super().__init__(y, k, theta, omega, np.einsum("ij,ij->j", self._A, self._A))

    def curvature(self, v: np.ndarray) -> np.ndarray:
        """The product of the second derivatives with a vector.

        omega_m theta_m^{1/2} = A^T u_m, so that the sum over m is A^T (sum_m u_m u_m^T / (theta_j - theta_m)) A.
        """
        X = self.omega * v[:, None]
        C = self._U.T @ (self._A @ X)
        C[: len(self.theta)] = 0.0
        C /= np.maximum(self.theta - self._values[:, None], 1e-8 * self.theta)
        Y = self.omega @ (self.omega.T @ X) + (self._A.T @ (self._U @ C)) * (2.0 * (self.theta - 1.0))
        product: np.ndarray = (1.0 - self.gradient) * v - np.einsum("ij,ij->i", self.omega, Y)
        return product

    def newton_step(self, free: np.ndarray, gradient: np.ndarray | None = None) -> Step:
        """Conjugate gradients for H d = -g, as accurate as the size of g requires; they end where the curvature is
        negative. The preconditioner is the diagonal of H for a model that fits."""
        g = np.where(free, self.gradient if gradient is None else gradient, 0.0)
        shared = np.minimum(np.einsum("ij,ij->i", self.omega, self.omega), 1.0)
        weights = 1.0 / np.maximum((1.0 - shared) ** 2, 1e-2)
        x, r = np.zeros_like(g), -g
        z = weights * r
        d, length = z, float(r @ z)
        enough = min(0.25, float(np.abs(g).max(initial=0.0))) * length
        for step in range(_CG_STEPS):
            check_stop()
            Hd = np.where(free, self.curvature(d), 0.0)
            curvature = float(d @ Hd)
            if curvature <= 1e-10 * float(d @ d):
                return Step(x if step else d, False)
            x = x + length / curvature * d
            r = r - length / curvature * Hd
            z = weights * r
            before, length = length, float(r @ z)
            if length <= enough or not math.isfinite(length):
                break
            d = z + length / before * d
        return Step(x, True)
