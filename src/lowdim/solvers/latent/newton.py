"""Maximum likelihood factor analysis from a covariance matrix."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from numbers import Integral, Real

import numpy as np
from scipy import linalg as scipy_linalg
from scipy.linalg import lapack

from ..._lapack import largest_eigenpairs
from ..._threads import check_stop
from ..._xp import asarray_like, to_numpy
from ...errors import no_variance
from ...linalg import quiet_blas, require_size
from ...summaries.moments import Moments
from ..base import Cost, Job, SpectraLike
from ..results import LatentFit, Status
from .latent_solver import LatentRequest, LatentSolver, check_components

#: The exact second derivatives cost k p^3 operations; if these are more, only their leading part is used.
_EXACT_UP_TO = 1e8
#: Maximal change of the logarithm of a uniqueness in a step.
_LONGEST_STEP = 3.0
#: The iteration has converged after this many consecutive steps that improve the objective by no more than rounding.
_IDLE = 3
#: The iteration stops if this many steps decrease the objective by less than a hundredth of the gradient.
_STALLED = 10
#: Constant of the sufficient decrease condition of the line search.
_ARMIJO = 1e-4
#: Default number of random starts, and the maximal number of columns for which they are used.
_STARTS, _RANDOM_UP_TO = 10, 30
#: Maximal number of columns in which a Heywood case is tried.
_EVERY_COLUMN = 40


@dataclass(frozen=True)
class Newton(LatentSolver):
    """Minimise -2 log-likelihood / n over the logarithms of the uniquenesses, with the optimal loadings for each.

    Parameters
    ----------
    tol : float
        Stop when no derivative with respect to a log-uniqueness is larger in magnitude, after one more step if second
        derivatives are exact. Derivatives are per row and do not depend on units.
    max_iter : int
        Maximal number of steps.
    floor : float
        Lower bound on the uniquenesses, as a fraction of the variance of their column. A uniqueness that ends there is
        a Heywood case. R's factanal uses 0.005.
    n_init : int, optional
        Number of random starts in addition to the standard one; the best result is kept. By default ten for up to 30
        columns, otherwise none. If the best result is a Heywood case, starts with small uniquenesses in other columns
        are tried as well.

    Notes
    -----
    With S the covariance, y = ln psi, and theta_1 >= ... the eigenvalues of S* = Psi^{-1/2} S Psi^{-1/2} with vectors
    omega_j, the loadings Psi^{1/2} omega_j (theta_j - 1)^{1/2} are optimal for given psi [1]_, and

        L(y) = sum y + tr S* + sum_{j <= k} (ln theta_j - theta_j + 1),
        dL/dy = 1 + sum_{j <= k} (theta_j - 1) omega_j^2 - diag S*.

    Second derivatives [2]_: (R_1 o R_theta)_{ab} plus terms in (1 - theta_m), m > k, which vanish if the model fits;
    R_1 and R_theta are I and S* without their part in the first k vectors. This leading part needs only the first k
    pairs; the exact second derivatives are used if they are affordable and positive definite. The method takes p^2
    numbers of memory and does not need the rows.

    References
    ----------
    .. [1] Joreskog (1967), Some contributions to maximum likelihood factor analysis.
    .. [2] Clarke (1970), A rapidly convergent method for maximum-likelihood factor analysis.
    """

    name = "newton"
    ties_noise = False
    tol: float = 1e-8
    max_iter: int = 200
    floor: float = 1e-6
    n_init: int | None = None

    def __post_init__(self) -> None:
        for name in ("tol", "floor"):
            value = getattr(self, name)
            if not isinstance(value, Real) or not 0.0 < float(value) < 1.0:
                raise ValueError(f"Newton({name}={value!r}): a number between 0 and 1 is needed.")
        for name, least in (("max_iter", 1), ("n_init", 0)):
            value = getattr(self, name)
            if name == "n_init" and value is None:
                continue
            if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
                raise ValueError(f"Newton({name}={value!r}): a whole number of at least {least} is needed.")

    def cost(self, job: Job) -> Cost:
        p = job.p
        why = "Newton's method needs the covariance alone and few steps"
        return Cost(job.rows * p * p + 10 * p**3, 1, 8 * 8 * p * p, why)

    def fit_moments(self, moments: Moments, request: LatentRequest, spectra: SpectraLike) -> LatentFit:
        """Fit complete rows, given their moments; the loadings of constant columns are zero."""
        k = request.k
        check_components(k, moments.n_rows, moments.weight, moments.n_features)
        n, p = moments.weight, moments.n_features
        scatter = to_numpy(moments.scatter)
        require_size(np.diagonal(scatter), to_numpy(moments.mean), n, each=True)
        S = scatter / n
        variances = np.diagonal(S)
        varies = variances > 0.0
        if not np.any(varies):
            raise no_variance("factor analysis")
        # Constant columns get the scale of a typical column.
        sd = np.sqrt(np.where(varies, variances, np.mean(variances)))
        index = np.flatnonzero(varies)
        R = S[np.ix_(index, index)] / sd[index] / sd[index, None]
        found = self.solve(R, min(k, len(index)), request.seed)
        W, psi = np.zeros((k, p)), np.full(p, self.floor)
        W[: len(found.loadings), index], psi[index] = found.loadings, found.psi
        constant = p * math.log(2 * math.pi) + 2.0 * float(np.sum(np.log(sd))) + np.sum(~varies) * math.log(self.floor)
        like, dtype = moments.mean, moments.mean.dtype
        return LatentFit(
            mean=moments.mean,
            scale=asarray_like(sd, like, dtype=dtype),
            loadings=asarray_like(W, like, dtype=dtype),
            noise=asarray_like(psi, like, dtype=dtype),
            spread=None,
            weight=n,
            n_rows=moments.n_rows,
            loglike=[-0.5 * n * (constant + value) for value in found.history],
            status=found.status,
            residual=found.residual,
            passes=1,
        )

    def solve(self, R: np.ndarray, k: int, seed: int = 0) -> FactorSolution:
        """Uniquenesses and loadings for a correlation matrix `R` without constant columns."""
        with quiet_blas(len(R)):
            first = _smc_start(R, k)
            best = self._best(R, k, [first, *self._random_starts(len(R), seed)])
            for _ in range(k):
                # Each Heywood case is a separate local optimum: try those in other columns, and with one more column.
                if len(R) == 1 or not np.any(self._at_floor(best.psi)):
                    break
                better = self._best(R, k, self._heywood_starts(first, best.psi))
                if not better.objective < best.objective - 1e-9 * abs(best.objective):
                    break
                best = better
        return best

    def _best(self, R: np.ndarray, k: int, starts: list[np.ndarray]) -> FactorSolution:
        """The best minimum from several starts."""
        return min((self.descend(R, k, start) for start in starts), key=lambda found: found.objective)

    def _random_starts(self, p: int, seed: int) -> list[np.ndarray]:
        """Random uniquenesses to start from."""
        n_init = self.n_init if self.n_init is not None else _STARTS if p <= _RANDOM_UP_TO else 0
        random = np.random.default_rng(seed)
        return [random.uniform(0.05, 0.95, p) for _ in range(n_init)]

    def _at_floor(self, psi: np.ndarray) -> np.ndarray:
        """Which uniquenesses are at the floor."""
        return psi <= 1.01 * self.floor

    def _heywood_starts(self, first: np.ndarray, psi: np.ndarray) -> list[np.ndarray]:
        """Starts with one small uniqueness, and starts with one more small uniqueness than `psi` has."""
        small = max(0.01, 2 * self.floor)
        starts = []
        for base in (np.clip(first, 0.1, 0.9), np.where(self._at_floor(psi), small, np.clip(psi, 0.1, 0.9))):
            for i in np.argsort(first)[:_EVERY_COLUMN]:
                start = base.copy()
                start[i] = small
                starts.append(start)
        return starts

    def descend(self, R: np.ndarray, k: int, start: np.ndarray) -> FactorSolution:
        """The local minimum found from the uniquenesses `start`."""
        low = math.log(self.floor)
        y = np.clip(np.log(start), low, 0.0)
        at = _Profile(R, y, k)
        history = [at.value]
        status, size, idle, polished = Status.NOT_CONVERGED, math.inf, 0, False
        for _ in range(self.max_iter):
            g = at.gradient
            free = ~(((y <= low) & (g > 0)) | ((y >= 0.0) & (g < 0)))
            size = float(np.abs(g[free]).max(initial=0.0))
            if size <= max(self.tol, at.rounding) and (polished or not at.exact or size == 0.0):
                status = Status.CONVERGED
                break
            # A step with exact second derivatives doubles the number of correct digits, so one more is worthwhile.
            polished = size <= max(self.tol, at.rounding)
            following = self._search(R, k, at, y, _direction(at, free), low)
            if following is None:
                following = self._search(R, k, at, y, np.where(free, -g, 0.0), low)
            if following is None:
                # No step decreases the objective: only rounding is left.
                status = Status.CONVERGED
                break
            idle = idle + 1 if following[1].value > at.value - at.rounding else 0
            y, at = following
            history.append(at.value)
            if idle > _IDLE:
                status = Status.CONVERGED
                break
            if len(history) > _STALLED and history[-1 - _STALLED] - at.value < 0.01 * size:
                # The objective is not smooth where eigenvalues k and k + 1 coincide; the iteration is stuck there.
                break
        return FactorSolution(np.exp(y), at.loadings, at.value, history, status, size)

    @staticmethod
    def _search(
        R: np.ndarray, k: int, at: _Profile, y: np.ndarray, d: np.ndarray, low: float
    ) -> tuple[np.ndarray, _Profile] | None:
        """The first of y + d, y + d/2, ... (clipped to the bounds) with a sufficient decrease, or None."""
        d = d * min(1.0, _LONGEST_STEP / max(float(np.abs(d).max()), 1e-300))
        for _ in range(30):
            trial = np.clip(y + d, low, 0.0)
            move = trial - y
            slope = float(at.gradient @ move)
            if not np.any(move) or slope >= 0.0:
                return None
            there = _Profile(R, trial, k)
            if there.value <= at.value + _ARMIJO * slope + at.rounding:
                return trial, there
            d = 0.5 * d
        return None


@dataclass(frozen=True)
class FactorSolution:
    """The result of a descent, in units of the standard deviations of the columns."""

    psi: np.ndarray
    #: Loadings, (k, p).
    loadings: np.ndarray
    #: -2 log-likelihood / n without the constant p ln 2 pi.
    objective: float
    history: list[float] = field(repr=False)
    status: Status
    #: The largest absolute derivative with respect to a log-uniqueness that is not at a bound.
    residual: float


class _Profile:
    """The objective and its derivatives at one vector of log-uniquenesses."""

    def __init__(self, R: np.ndarray, y: np.ndarray, k: int) -> None:
        check_stop()
        p = len(R)
        d = np.exp(-0.5 * y)
        self.k, self.scaled = k, R * d * d[:, None]
        self.exact = k * float(p) ** 3 <= _EXACT_UP_TO
        if self.exact:
            values, vectors = np.linalg.eigh(self.scaled)
        else:
            values, vectors = largest_eigenpairs(self.scaled, k)
        self.all_values, self.all_vectors = values[::-1], vectors[:, ::-1]
        # A factor whose eigenvalue is at most one has no loadings.
        used = self.all_values[:k] > 1.0
        self.theta, self.omega = self.all_values[:k][used], self.all_vectors[:, :k][:, used]
        diagonal = np.diagonal(self.scaled)
        self.value = float(np.sum(y) + np.sum(diagonal) + np.sum(np.log(self.theta) - self.theta + 1.0))
        self.gradient = 1.0 + self.omega**2 @ (self.theta - 1.0) - diagonal
        #: Rounding error of value and gradient, which comes from subtracting the eigenvalues from the trace.
        self.rounding = 1e-14 * (float(np.sum(np.abs(y))) + float(np.sum(diagonal)))
        self._sd = np.exp(0.5 * y)

    @property
    def loadings(self) -> np.ndarray:
        """The optimal loadings, (k, p)."""
        W = np.zeros((self.k, len(self._sd)))
        W[: len(self.theta)] = (self.omega * self._sd[:, None] * np.sqrt(self.theta - 1.0)).T
        return W

    def hessian(self, exact: bool) -> np.ndarray:
        """The second derivatives, or their leading part."""
        p, j = len(self._sd), len(self.theta)
        one = np.eye(p) - self.omega @ self.omega.T
        H = one * (self.scaled - (self.omega * self.theta) @ self.omega.T)
        if exact and self.exact:
            rest, V = self.all_values[j:], self.all_vectors[:, j:]
            for theta, omega in zip(self.theta, self.omega.T, strict=True):
                gap = np.maximum(theta - rest, 1e-8 * theta)
                H += omega * omega[:, None] * ((V * ((1.0 - rest) * (rest + theta) / gap)) @ V.T)
        return H


def _direction(at: _Profile, free: np.ndarray) -> np.ndarray:
    """The Newton step in the free coordinates, with the exact second derivatives or with their leading part.

    If neither is positive definite, it is minus the gradient.
    """
    d = np.zeros(len(free))
    index = np.flatnonzero(free)
    for exact in (True, False):
        H = at.hessian(exact)[np.ix_(index, index)]
        try:
            factor = scipy_linalg.cho_factor(H + 1e-12 * np.trace(H) / len(index) * np.eye(len(index)))
        except np.linalg.LinAlgError:
            continue
        step = scipy_linalg.cho_solve(factor, -at.gradient[index])
        if np.all(np.isfinite(step)):
            d[index] = step
            return d
    d[index] = -at.gradient[index]
    return d


def _smc_start(R: np.ndarray, k: int) -> np.ndarray:
    """The start (1 - k / 2p) / diag(R^{-1}), from the variance of each column given the others [Joreskog].

    Nearly singular matrices are first shrunk towards the identity.
    """
    p = len(R)
    start = np.full(p, 0.5)
    for ridge in (0.0, 1e-3, 1e-2, 0.1):
        factor, failed = lapack.dpotrf((R + ridge * np.eye(p)) / (1.0 + ridge), lower=1)
        if failed:
            continue
        inverse = np.diagonal(lapack.dpotri(factor, lower=1)[0])
        if np.all(np.isfinite(inverse)) and inverse.min() >= 1.0 - 1e-6 and inverse.max() < 1e8:
            start = (1.0 - 0.5 * k / p) / inverse
            break
    return np.clip(start, 0.005, 0.995)
