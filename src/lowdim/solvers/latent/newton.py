"""Maximum likelihood factor analysis by Newton's method: from a covariance matrix, or from fewer rows than columns."""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np

from ..._xp import asarray_like, namespace, to_numpy
from ...errors import no_variance
from ...linalg import quiet_blas, require_size
from ...summaries.moments import Moments
from ...summaries.triangle import Triangle
from ..base import EIGH_WORK, Cost, SpectraLike
from ..results import LatentFit
from .concentrated import Objective, OfCovariance, OfRows
from .descent import Descent, FactorSolution
from .latent_solver import LatentJob, LatentRequest, LatentSolver, check_components

#: Number of steps, and of products with the second derivatives in each, that the estimated work assumes.
_STEPS, _PRODUCTS = 12, 4
#: Uniquenesses to start from are at least this: it takes more steps to leave the floor than to get there.
_LEAST_START = 0.05


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
        Number of random starts in addition to the standard one; the best result is kept. By default there are no random
        starts, but a few chosen ones, some with a small uniqueness in one column: for up to 30 columns, or if the first
        result is a Heywood case, until three of them end at the best result.

    Notes
    -----
    With S the covariance, y = ln psi, and theta_1 >= ... the eigenvalues of S* = Psi^{-1/2} S Psi^{-1/2} with vectors
    omega_j, the loadings Psi^{1/2} omega_j (theta_j - 1)^{1/2} are optimal for given psi [1]_, and

        L(y) = sum y + tr S* + sum_{j <= k} (ln theta_j - theta_j + 1),
        dL/dy = 1 + sum_{j <= k} (theta_j - 1) omega_j^2 - diag S*.

    The second derivatives [2]_ are exact if they are affordable. With many columns and factors, only their leading part
    is used, corrected by what the last steps have shown, until the iteration is so near the end that a few exact steps
    take less time. Where the second derivatives are not positive definite, curvatures are replaced by their absolute
    values. The method takes p^2 numbers of memory and does not need the rows. For the moments of rows on a device, it
    finds eigenpairs and second derivatives there if there are many columns.

    References
    ----------
    .. [1] Joreskog (1967), Some contributions to maximum likelihood factor analysis.
    .. [2] Clarke (1970), A rapidly convergent method for maximum-likelihood factor analysis.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from lowdim import FactorAnalysis
    >>> from lowdim.solvers import Newton
    >>> fa = FactorAnalysis(2, standardize=True, solver=Newton(floor=0.005)).fit(load_wine().data)
    >>> fa.uniquenesses_[:3].round(3)
    array([0.466, 0.763, 0.895])
    """

    name = "newton"
    on_host = "the solve, of many columns all but eigenpairs and second derivatives,"
    ties_noise = False
    tol: float = 1e-8
    max_iter: int = 200
    floor: float = 1e-6
    n_init: int | None = None

    def __post_init__(self) -> None:
        for name in ("tol", "floor"):
            value = getattr(self, name)
            if not isinstance(value, Real) or not 0.0 < float(value) < 1.0:
                raise ValueError(f"{type(self).__name__}({name}={value!r}): a number between 0 and 1 is needed.")
        for name, least in (("max_iter", 1), ("n_init", 0)):
            value = getattr(self, name)
            if name == "n_init" and value is None:
                continue
            if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
                message = f"{type(self).__name__}({name}={value!r}): a whole number of at least {least} is needed."
                raise ValueError(message)

    def cost(self, job: LatentJob) -> Cost:
        p = float(job.p)
        why = "Newton's method needs the covariance alone and few steps"
        return Cost(job.rows * p**2 + _STEPS * 3 * p**3, 1, int(8 * 8 * p**2), why)

    def fit_moments(self, moments: Moments, request: LatentRequest, spectra: SpectraLike) -> LatentFit:
        """Fit complete rows, given their moments; the loadings of constant columns are zero."""
        S = moments.scatter
        squares = to_numpy(namespace(S).linalg.diagonal(S))

        def objective(index: np.ndarray, sd: np.ndarray) -> Objective:
            R = S if len(index) == len(squares) else asarray_like(to_numpy(S)[np.ix_(index, index)], S)
            unit = asarray_like(sd, S, dtype=S.dtype)
            return OfCovariance(R / moments.weight / unit / unit[:, None])

        return self._fit(moments, squares, objective, request)

    def _fit(self, summary: Any, squares: np.ndarray, objective: Any, request: LatentRequest) -> LatentFit:
        """Fit rows, given a summary of them, the sums of squares of the centred columns, and a function from the
        numbers and deviations of the columns that vary to the objective."""
        k, n, p = request.k, summary.weight, summary.n_features
        check_components(k, summary.n_rows, n, p)
        require_size(squares, to_numpy(summary.mean), n, each=True)
        variances = squares / n
        varies = variances > 0.0
        if not np.any(varies):
            raise no_variance("factor analysis")
        # Constant columns get the scale of a typical column.
        sd = np.sqrt(np.where(varies, variances, np.mean(variances)))
        index = np.flatnonzero(varies)
        start = None if request.start is None else np.clip(request.start[index], _LEAST_START, 1.0)
        found = self.minimise(objective(index, sd[index]), min(k, len(index)), request.seed, start, near=request.near)
        W, psi = np.zeros((k, p)), np.full(p, self.floor)
        W[: len(found.loadings), index], psi[index] = found.loadings, found.psi
        constant = p * math.log(2 * math.pi) + 2.0 * float(np.sum(np.log(sd))) + np.sum(~varies) * math.log(self.floor)
        like, dtype = summary.mean, summary.mean.dtype
        return LatentFit(
            mean=summary.mean,
            scale=asarray_like(sd, like, dtype=dtype),
            loadings=asarray_like(W, like, dtype=dtype),
            noise=asarray_like(psi, like, dtype=dtype),
            spread=None,
            weight=n,
            n_rows=summary.n_rows,
            loglike=[-0.5 * n * (constant + value) for value in found.history],
            status=found.status,
            residual=found.residual,
            passes=1,
        )

    def minimise(
        self, objective: Objective, k: int, seed: int = 0, start: np.ndarray | None = None, *, near: bool = False
    ) -> FactorSolution:
        """The best minimum of `objective` from several starts.

        If `start` is given, it is the first of them, unless their number is fixed by `n_init`. If the solution is
        expected `near` it, there is one other start at most.
        """
        descent = Descent(objective, k, self.tol, self.max_iter, self.floor)
        with quiet_blas(objective.p):
            if start is not None and near:
                return descent.search_near(start)
            if self.n_init is None:
                return descent.search(start)
            first = descent.run(next(objective.starts(k)))
            random = np.random.default_rng(seed)
            starts = (random.uniform(0.05, 0.95, objective.p) for _ in range(self.n_init))
            return descent.best(first, starts, agreeing=self.n_init + 2)

    def solve(self, R: np.ndarray, k: int, seed: int = 0) -> FactorSolution:
        """Uniquenesses and loadings for a correlation matrix `R` without constant columns."""
        return self.minimise(OfCovariance(R), k, seed)

    def descend(self, R: np.ndarray, k: int, start: np.ndarray) -> FactorSolution:
        """The local minimum found from the uniquenesses `start`."""
        return Descent(OfCovariance(R), k, self.tol, self.max_iter, self.floor).run(start)


@dataclass(frozen=True)
class NewtonCG(Newton):
    """The same minimum from the rows themselves, without a matrix of size p x p: for fewer rows than columns.

    Parameters
    ----------
    tol, max_iter, floor, n_init
        As those of `Newton`.

    Notes
    -----
    S has rank n at most, so the eigenpairs of S* are those of an n x n matrix of inner products, and products with the
    second derivatives need only the rows. Newton's equations are solved by conjugate gradients. One pass over the rows;
    n^2 p + 40 n p k operations for a step, and 5 n p numbers of memory. If there are more rows than columns, their R
    factor takes their place.

    With fewer rows than columns the likelihood has many local optima, some of them Heywood cases; if there are so many
    factors that they explain the rows completely, it is bounded only by `floor`.

    Examples
    --------
    >>> import numpy as np
    >>> from lowdim import FactorAnalysis
    >>> from lowdim.solvers import NewtonCG
    >>> random = np.random.default_rng(0)
    >>> wide = random.standard_normal((30, 1)) @ random.standard_normal((1, 200)) + random.standard_normal((30, 200))
    >>> FactorAnalysis(1, solver=NewtonCG()).fit(wide).loadings_.shape
    (200, 1)
    """

    name = "newton-cg"
    on_host = "the solve, of min(n, p) rows,"
    starts_from = Triangle

    def cost(self, job: LatentJob) -> Cost:
        n, p, k = float(min(job.rows, job.p)), float(job.p), float(job.k or 1)
        first = job.rows * p * n if job.rows > n else 0.0
        steps = _STEPS * (n * n * p + EIGH_WORK * n**3 + 4 * _PRODUCTS * n * p * k)
        why = f"{job.rows} rows of {job.p} columns need no matrix of all pairs of columns"
        return Cost(first + steps, 1, int(8 * p * (5 * n + 6 * k)), why)

    def is_sensible(self, job: LatentJob) -> bool:
        # A root of a known scatter would take as long as Newton's method.
        return not job.squared and super().is_sensible(job)

    def fit_moments(self, moments: Moments, request: LatentRequest, spectra: SpectraLike) -> LatentFit:
        return self.fit_triangle(_triangle(moments), request)

    def fit_triangle(self, triangle: Triangle, request: LatentRequest) -> LatentFit:
        """Fit complete rows, given a root of their scatter matrix."""
        root = to_numpy(triangle.root)

        def objective(index: np.ndarray, sd: np.ndarray) -> Objective:
            Z = root if len(index) == root.shape[1] else root[:, index]
            Z = Z / (sd * math.sqrt(triangle.weight))
            return OfRows(Z if len(Z) <= triangle.n_rows else _compressed(Z))

        return self._fit(triangle, np.einsum("ij,ij->j", root, root), objective, request)


def _triangle(moments: Moments) -> Triangle:
    """A summary of the same rows that holds a root of their scatter matrix."""
    out = Triangle(moments.n_features)
    out.n_rows, out.weight, out.mean, out.rest = moments.n_rows, moments.weight, moments.mean, moments.rest
    S = to_numpy(moments.scatter)
    sd = np.sqrt(np.where(np.diagonal(S) > 0.0, np.diagonal(S), 1.0))
    values, vectors = np.linalg.eigh(S / sd / sd[:, None])
    root = (vectors * np.sqrt(np.clip(values, 0.0, None))).T * sd
    out.rows = asarray_like(root, moments.mean, dtype=moments.mean.dtype)
    return out


def _compressed(Z: np.ndarray) -> np.ndarray:
    """Fewer rows with the same inner products of columns: blocks of rows that were merged leave more rows than the rank
    needs."""
    values, U = np.linalg.eigh(Z @ Z.T)
    return U[:, values > len(Z) * np.finfo(np.float64).eps * values[-1]].T @ Z
