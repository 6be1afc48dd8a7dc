"""Maximum likelihood factor analysis by Newton's method: from a covariance matrix, or from fewer rows than columns."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import numpy as np

from ..._core.arrays import asarray_like, to_numpy
from ...errors import no_variance
from ...linalg import quiet_blas, require_size
from ...summaries.moments import Moments
from ...summaries.triangle import Triangle
from ..iteration import LimitedMemory
from ..problem import EIGH_WORK, Cost, SpectraLike, Status, check_share, check_whole
from .base import LatentFit, LatentJob, LatentRequest, LatentSolver, check_components, column_squares
from .factor_likelihood import Objective, OfCovariance, OfRows, Point, Step

#: Number of steps, and of products with the second derivatives in each, that the estimated work assumes.
_CG_STEPS, _PRODUCTS = 12, 4
#: Uniquenesses to start from are at least this: it takes more steps to leave the floor than to get there.
_LEAST_START = 0.05


@dataclass(frozen=True)
class Newton(LatentSolver):
    """Minimise -2 log-likelihood / n over the logarithms of the uniquenesses, with the optimal loadings for each.

    Parameters
    ----------
    tol : float, default=1e-08
        Stop when no derivative with respect to a log-uniqueness is larger in magnitude, after one more step if second
        derivatives are exact. Derivatives are per row and do not depend on units.
    max_iter : int, default=200
        Maximal number of steps; with 0, the model is the start.
    floor : float, default=1e-06
        Lower bound on the uniquenesses, as a fraction of the variance of their column. A uniqueness that ends there is
        a Heywood case. R's factanal uses 0.005.
    n_init : int, default=None
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
    >>> fa = FactorAnalysis(2, scale=True, solver=Newton(floor=0.005)).fit(load_wine().data)
    >>> fa.uniquenesses_[:3].round(3)
    array([0.466, 0.763, 0.895])
    """

    name = "newton"
    on_host = "the solve (for many columns, all of it except eigenpairs and second derivatives)"
    ties_noise = False
    tol: float = 1e-8
    max_iter: int = 200
    floor: float = 1e-6
    n_init: int | None = None

    def __post_init__(self) -> None:
        check_share(self, "tol")
        check_share(self, "floor")
        check_whole(self, "max_iter", 0)
        if self.n_init is not None:
            check_whole(self, "n_init", 0)

    def cost(self, job: LatentJob) -> Cost:
        p = float(job.p)
        why = "Newton's method needs the covariance alone and few steps"
        return Cost(job.rows * p**2 + _CG_STEPS * 3 * p**3, 1, int(8 * 8 * p**2), why)

    def fit_moments(self, moments: Moments | Triangle, request: LatentRequest, spectra: SpectraLike) -> LatentFit:
        """Fit complete rows, given their moments; the loadings of constant columns are zero."""
        squares = column_squares(moments)
        k, n, p = request.k, moments.weight, moments.n_features
        check_components(k, moments.n_rows, n, p)
        require_size(squares, to_numpy(moments.mean), n, each=True)
        variances = squares / n
        varies = variances > 0.0
        if not np.any(varies):
            raise no_variance("factor analysis")
        # Constant columns get the scale of a typical column.
        sd = np.sqrt(np.where(varies, variances, np.mean(variances)))
        index = np.flatnonzero(varies)
        start = None if request.start is None else np.clip(request.start[index], _LEAST_START, 1.0)
        objective = self._objective(moments, index, sd[index])
        found = self.minimise(objective, min(k, len(index)), request.seed, start, near=request.near)
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

    def _objective(self, summary: Any, index: np.ndarray, sd: np.ndarray) -> Objective:
        """The objective, from a summary of the rows, for columns that vary and have these standard deviations."""
        S = summary.scatter
        R = S if len(index) == S.shape[0] else asarray_like(to_numpy(S)[np.ix_(index, index)], S)
        unit = asarray_like(sd, S, dtype=S.dtype)
        return OfCovariance(R / summary.weight / unit / unit[:, None])

    def minimise(
        self, objective: Objective, k: int, seed: int = 0, start: np.ndarray | None = None, *, near: bool = False
    ) -> FactorSolution:
        """The best minimum of `objective` from several starts.

        If `start` is given, it is the first of them, unless their number is fixed by `n_init`. If the solution is
        expected `near` it, there is one other start at most.
        """
        descent = Descent(objective, k, self)
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


@dataclass(frozen=True)
class NewtonCG(Newton):
    """The same minimum from the rows themselves, without a matrix of size p x p: for fewer rows than columns.

    Parameters
    ----------
    tol : float, default=1e-08
        As that of `Newton`.
    max_iter : int, default=200
        As that of `Newton`.
    floor : float, default=1e-06
        As that of `Newton`.
    n_init : int, default=None
        As that of `Newton`.

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
    on_host = "the solve (of min(n, p) combined rows)"
    starts_from = Triangle

    def cost(self, job: LatentJob) -> Cost:
        n, p, k = float(min(job.rows, job.p)), float(job.p), float(job.k or 1)
        first = job.rows * p * n if job.rows > n else 0.0
        steps = _CG_STEPS * (n * n * p + EIGH_WORK * n**3 + 4 * _PRODUCTS * n * p * k)
        why = f"{job.rows} rows of {job.p} columns need no matrix of all pairs of columns"
        return Cost(first + steps, 1, int(8 * p * (5 * n + 6 * k)), why)

    def is_sensible(self, job: LatentJob) -> bool:
        # A root of a known scatter would take as long as Newton's method.
        return not job.squared and super().is_sensible(job)

    def fit_moments(self, moments: Moments | Triangle, request: LatentRequest, spectra: SpectraLike) -> LatentFit:
        triangle = moments if isinstance(moments, Triangle) else _triangle(moments)
        return super().fit_moments(triangle, request, spectra)

    def _objective(self, summary: Triangle, index: np.ndarray, sd: np.ndarray) -> Objective:
        root = to_numpy(summary.root)
        Z = root if len(index) == root.shape[1] else root[:, index]
        Z = Z / (sd * math.sqrt(summary.weight))
        if len(Z) > summary.n_rows:
            # Blocks of rows that were merged leave more rows than the rank needs; fewer have the same inner products.
            values, U = np.linalg.eigh(Z @ Z.T)
            Z = U[:, values > len(Z) * np.finfo(np.float64).eps * values[-1]].T @ Z
        return OfRows(Z)


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


# Minimisation of the objective of factor analysis over bounded log-uniquenesses: from one start, and from several.


#: Maximal change of the logarithm of a uniqueness in a step.
_LONGEST_STEP = 3.0
#: The iteration has converged after this many consecutive steps that improve the objective by no more than rounding.
_IDLE = 3
#: Log-uniquenesses below this may be on their way to zero. Of many columns, all may have small ones.
_VANISHING, _VANISHING_OF_MANY = math.log(0.05), math.log(0.002)
#: Constant of the sufficient decrease condition of the line search.
_ARMIJO = 1e-4
#: A descent is on its way to a known optimum if no uniqueness differs by more than this.
_NEAR = 0.02
#: A descent cannot reach an objective that is below its own by this many times what Newton's step promises.
_HOPE = 4.0
#: A start whose uniquenesses should all be larger or smaller by more than this factor is moved there first.
_STRETCHED = 4.0
#: Exact steps, if they are not the usual ones, begin when no derivative is larger than this; so many of them then lead
#: to the end.
_CLOSE, _LAST_STEPS = 0.1, 4
#: Beyond this many columns, an optimum that is not a Heywood case is final.
_CLEAR_FROM = 30
#: Maximal numbers of further starts, and the numbers of columns up to which they hold.
_MANY, _MANY_UP_TO = 11, 30
_SOME, _SOME_UP_TO = 3, 100
#: Beyond these, further starts may take this many multiplications in all, with so many steps for each of them.
_FURTHER_WORK, _STEPS = 5e7, 20
#: Least number of further starts, and the number of starts that have to end at the best optimum.
_LEAST, _AGREEING = 3, 3
#: Maximal number of columns in which a Heywood case is tried, and the uniqueness that it starts with.
_COLUMNS, _SMALL = 40, 0.01


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


@dataclass(frozen=True)
class Descent:
    """Newton's method with a line search, for one objective and one number of factors.

    Parameters
    ----------
    objective : Objective
    k : int
    options : Newton
    """

    objective: Objective
    k: int
    options: Newton

    def run(self, start: np.ndarray) -> FactorSolution:
        """The local minimum found from the uniquenesses `start`."""
        found = self._run(start, None)
        assert found is not None
        return found

    def _run(self, start: np.ndarray, best: FactorSolution | None) -> FactorSolution | None:
        """The local minimum found from `start`. If one is known already, that is returned if it is found again, and
        None if no better one would be found."""
        low = math.log(self.options.floor)
        at = self._first(np.clip(np.log(start), low, 0.0), low)
        history = [at.value]
        status, size, idle, polished = Status.NOT_CONVERGED, math.inf, 0, False
        near, close, corrections = False, _CLOSE, Corrections()
        for _ in range(self.options.max_iter):
            g = at.gradient
            free = ~(((at.y <= low) & (g > 0)) | ((at.y >= 0.0) & (g < 0)))
            before, size = size, float(np.abs(g[free]).max(initial=0.0))
            if not (near or at.exact) and self._is_worth_exact_steps(before, size, close):
                near, at = True, self.objective.at(at.y, self.k, near=True)
            small = size <= max(self.options.tol, at.rounding)
            if small and (polished or not at.exact or size == 0.0):
                status = Status.CONVERGED
                break
            # A step with exact second derivatives doubles the number of correct digits, so one more is worthwhile.
            polished = small
            if best is not None and np.abs(np.exp(at.y) - best.psi).max() < _NEAR:
                return best
            step = at.newton_step(free) if at.exact else corrections.step(at, free)
            if near and not step.convex:
                # It is not that near: the usual steps go on until the derivatives are much smaller.
                near, close, at = False, 0.1 * size, self.objective.at(at.y, self.k)
                step = corrections.step(at, free)
            if best is not None and step.convex and at.value + 0.5 * _HOPE * float(g @ step.move) > best.objective:
                return None
            following = self._search(at, step.move, low, near)
            if following is None:
                following = self._search(at, np.where(free, -g, 0.0), low, near)
            if following is None:
                # No step decreases the objective: only rounding is left.
                status = Status.CONVERGED
                break
            if not at.exact:
                corrections.note(at, following)
            idle = idle + 1 if following.value > at.value - at.rounding else 0
            at = following
            history.append(at.value)
            if idle > _IDLE:
                status = Status.CONVERGED
                break
        return FactorSolution(np.exp(at.y), at.loadings, at.value, history, status, size)

    def _first(self, y: np.ndarray, low: float) -> Point:
        """The point to start from: `y`, or if all uniquenesses are much too small or too large there, y + ln c."""
        at = self.objective.at(y, self.k)
        stretch = at.stretch
        if abs(stretch) <= math.log(_STRETCHED):
            return at
        there = self.objective.at(np.clip(y + stretch, low, 0.0), self.k)
        return there if there.value < at.value else at

    def _is_worth_exact_steps(self, before: float, size: float, close: float) -> bool:
        """Whether a few exact steps take less time than the usual ones that are still to come, if the largest
        derivative goes on to fall as it did in the last step."""
        if not self.options.tol < size <= close or not size < before < math.inf:
            return False
        steps = math.log(self.options.tol / size) / math.log(size / before)
        return steps > _LAST_STEPS * self.objective.price(self.k)

    def _search(self, at: Point, d: np.ndarray, low: float, near: bool = False) -> Point | None:
        """The first of y + d, y + d/2, ... (clipped to the bounds) with a sufficient decrease, or None.

        Before that, small uniquenesses that d makes much smaller are tried at the floor: towards zero the objective is
        linear in psi, so Newton's steps in ln psi would need many steps to get there.
        """
        d = d * min(1.0, _LONGEST_STEP / max(float(np.abs(d).max()), 1e-300))
        small = _VANISHING if at.exact and not near else _VANISHING_OF_MANY
        vanishing = (at.y < small) & (d < -0.5)
        attempt = np.where(vanishing, low - at.y, d) if vanishing.any() else d
        for _ in range(30):
            trial = np.clip(at.y + attempt, low, 0.0)
            move = trial - at.y
            slope = float(at.gradient @ move)
            if not np.any(move) or slope >= 0.0:
                return None
            there = self.objective.at(trial, self.k, near=near)
            # Of the uniquenesses at the floor, only what the plain step would have gained is asked for.
            asked = slope if attempt is d else float(at.gradient @ np.maximum(d, move))
            if there.value <= at.value + _ARMIJO * asked + at.rounding:
                return there
            attempt = d = 0.5 * d if attempt is d else d
        return None

    def best(
        self, first: FactorSolution, starts: Iterator[np.ndarray], *, agreeing: int, least: int = 1
    ) -> FactorSolution:
        """The best of `first` and the ends of further starts.

        There are as many as it takes until `agreeing` ends are the best optimum, but at least `least`.
        """
        best, count = first, 1
        for tried, start in enumerate(starts, 1):
            found = self._run(start, best)
            if found is best:
                count += 1
            elif found is not None and found.objective < best.objective:
                best, count = found, 1
            if tried >= least and count >= agreeing:
                break
        return best

    def search(self, start: np.ndarray | None = None) -> FactorSolution:
        """The best of several local optima: the more a start costs and the better they agree, the fewer there are.

        If `start` is given, it is the first start. Beyond 30 columns, a first optimum that is not a Heywood case is
        taken for the best.
        """
        simple, p = self.objective.starts(self.k), self.objective.p
        first = self.run(next(simple) if start is None else start)
        if p == 1 or (self._is_clear(first) and p > _CLEAR_FROM):
            return first
        affordable = int(_FURTHER_WORK / self.objective.work(self.k) / _STEPS)
        most = _MANY if p <= _MANY_UP_TO else _SOME if p <= _SOME_UP_TO else min(_SOME, affordable)
        before = 2
        if start is not None:
            # The standard start is among the further ones, of which fewer are needed.
            most, before = min(most, _SOME) + 1, 3
        starts = islice(self._further_starts(simple, first, before), most)
        return self.best(first, starts, agreeing=_AGREEING, least=_LEAST)

    def search_near(self, start: np.ndarray) -> FactorSolution:
        """The optimum that is found from `start`; if it is a Heywood case, the better of it and that of the standard
        start."""
        first = self.run(start)
        return (
            first if self._is_clear(first) else self.best(first, islice(self.objective.starts(self.k), 1), agreeing=2)
        )

    def _is_clear(self, found: FactorSolution) -> bool:
        """Whether a descent has converged to an optimum that is not a Heywood case."""
        return found.status is Status.CONVERGED and not np.any(found.psi <= 1.01 * self.options.floor)

    def _further_starts(
        self, simple: Iterator[np.ndarray], first: FactorSolution, n_before: int
    ) -> Iterator[np.ndarray]:
        """The simple starts and those of Heywood cases, of which the best comes after `n_before` simple ones."""
        yield from islice(simple, n_before)
        # Each Heywood case is a separate local optimum, and the objective at the start foretells fairly well which is
        # the best. One column, of those with the least psi, is a factor: other columns have the variance that is left
        # given this one.
        starts, values = [], []
        for column in np.argsort(first.psi, kind="stable")[:_COLUMNS]:
            start = np.clip(1.0 - self.objective.correlations(column) ** 2, 0.1, 0.9)
            start[column] = max(_SMALL, 2 * self.options.floor)
            starts.append(start)
            values.append(self.objective.at(np.log(start), self.k).value)
        heywood = (starts[i] for i in np.argsort(values, kind="stable"))
        yield next(heywood)
        yield from simple
        yield from heywood


#: How many steps are remembered.
_REMEMBERED = 5
#: A step shows a curvature if s^T z is more than this share of |s| |z|.
_LEAST_CURVATURE = 1e-8
#: Corrections that make the largest entry of a step larger than this, and than so many times that of the plain step,
#: are forgotten.
_LONGEST, _LONGER = 1.0, 4.0


class Corrections:
    """Newton's steps with second derivatives that are corrected by `LimitedMemory`."""

    def __init__(self) -> None:
        self._memory = LimitedMemory(_REMEMBERED, _LEAST_CURVATURE)
        self._free: np.ndarray | None = None

    def step(self, at: Point, free: np.ndarray) -> Step:
        """The corrected step in the coordinates that are `free`; the plain one if these are others than before."""
        if self._free is None or not np.array_equal(free, self._free):
            self._memory.clear()
            self._free = free.copy()
        plain = Step(np.zeros(0), False)

        def solve(q: np.ndarray) -> np.ndarray:
            nonlocal plain
            plain = at.newton_step(free, q)
            return -plain.move

        move = self._memory.direction(np.where(free, at.gradient, 0.0), solve)
        if np.abs(move).max() > max(_LONGEST, _LONGER * np.abs(plain.move).max()):
            self._memory.clear()
            return at.newton_step(free)
        return Step(-move, plain.convex)

    def note(self, before: Point, after: Point) -> None:
        """Remember a step."""
        assert self._free is not None
        s, z = (np.where(self._free, b - a, 0.0) for a, b in ((before.y, after.y), (before.gradient, after.gradient)))
        self._memory.add(s, z)
