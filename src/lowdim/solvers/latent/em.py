"""Latent Gaussian models by expectation maximisation, from rows with or without holes, or from moments."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from numbers import Integral, Real
from typing import Any, Protocol, TypeVar

import numpy as np

from ..._core.arrays import Array, asarray_like, namespace, to_numpy
from ..._core.threads import check_stop
from ...errors import choice, never_observed, no_variance, read_once
from ...linalg import require_size
from ...summaries.latent import Completed, Latent, LatentGaussian, Observed, pack, unpack
from ...summaries.moments import Moments
from ..problem import Cost, LatentFit, Plan, Request, RowsLike, SpectraLike, Spectrum, Status, checked_plan, with_passes
from .base import (
    LatentJob,
    LatentRequest,
    LatentSolver,
    check_components,
    few_steps,
    is_undetermined,
    rows_job,
    too_few_entries,
)
from .em_acceleration import Acceleration, Anderson, AndersonThenQuasiNewton, Iterate, steps_left
from .newton import Newton

# The maximisation half of an EM step, in which every column is regressed on the expected latent variables.


@dataclass(frozen=True)
class MaximumLikelihood:
    """argmax over W, mean and noise of the expected log-likelihood.

    With A_d = sum_i m_id E[v v^T] and c_d = sum_i m_id z_id E[v], v = (u, 1): (w_d, step of mean_d) = A_d^{-1} c_d, and
    the noise is the remaining variance, (sum z^2 - c_d^T A_d^{-1} c_d) / sum_i m_id.

    Parameters
    ----------
    tied : bool
        One noise variance for all columns (PPCA), or one per column (factor analysis).
    floor : float
        Lower bound on the noise variances.
    """

    tied: bool
    floor: float

    def __call__(self, latent: Latent, at: Iterate) -> Iterate:
        model = at.model
        xp, k = namespace(model.noise), model.k
        A = _by_column(latent.second, k + 1)
        c = latent.cross.T
        theta = xp.linalg.solve(A, c[:, :, None])[:, :, 0]
        rest = xp.clip(latent.squares - xp.sum(c * theta, axis=1), 0.0, None)
        noise = noise_variances(rest, latent.second[-1, :], self.tied, self.floor)
        W, step = theta[:, :k].T, theta[:, k]
        # Parameter expansion: W and the mean absorb the mean and covariance that the latent variables have now.
        centre, root = (asarray_like(a, W, dtype=W.dtype) for a in latent_root(latent, k))
        step = step + centre @ W
        return Iterate(LatentGaussian(model.mean + step * model.scale, model.scale, root @ W, noise))


@dataclass(frozen=True)
class CompletedFactors:
    """argmax over W, mean and noise of the expected log-likelihood of the completed rows.

    This is a factor analysis of their moments, by `Newton` from the current uniquenesses. Only the holes are treated as
    unobserved, not the factors, so small uniquenesses do not slow down the iteration.
    """

    newton: Newton

    def __call__(self, completed: Completed, at: Iterate) -> Iterate:
        model = at.model
        total = to_numpy(completed.total) / completed.weight
        S = to_numpy(completed.second) / completed.weight - total * total[:, None]
        variance, floor = np.diagonal(S), self.newton.floor
        # Columns whose observed entries are constant are left out of the factor analysis.
        varies = np.flatnonzero(variance > 10 * floor)
        sd = np.sqrt(variance[varies])
        R = S[np.ix_(varies, varies)] / sd / sd[:, None]
        before = np.clip(to_numpy(model.noise)[varies] / sd**2, floor, 1.0)
        found = self.newton.descend(R, min(model.k, len(varies)), before)
        loadings, psi = np.zeros(model.loadings.shape), np.full(len(S), floor)
        loadings[: len(found.loadings), varies], psi[varies] = found.loadings * sd, np.maximum(found.psi * sd**2, floor)
        like, dtype = model.noise, model.noise.dtype
        W, noise = (asarray_like(a, like, dtype=dtype) for a in (loadings, psi))
        mean = model.mean + asarray_like(total, like, dtype=dtype) * model.scale
        return Iterate(LatentGaussian(mean, model.scale, _align(W, model.loadings), noise))


@dataclass(frozen=True)
class VariationalBayes:
    """The posterior of (w_d, mean_d) under w_dk ~ N(0, v_k), then the v_k and the noise that maximise the bound [1].

    References
    ----------
    [1] Ilin, Raiko (2010), Practical approaches to principal component analysis in the presence of missing values,
        section 3.
    """

    floor: float

    def __call__(self, latent: Latent, at: Iterate) -> Iterate:
        model = at.model
        assert at.relevance is not None
        xp, k = namespace(model.noise), model.k
        noise = model.noise[0]
        A = _by_column(latent.second, k + 1)
        c = latent.cross.T
        prior = asarray_like(np.diag(np.append(1.0 / at.relevance, 0.0)), A, dtype=A.dtype)
        spread = xp.linalg.inv(A / noise + prior[None, :, :])
        theta = (spread @ c[:, :, None])[:, :, 0] / noise
        second = spread + theta[:, :, None] * theta[:, None, :]
        rest = latent.squares - 2 * xp.sum(c * theta, axis=1) + xp.sum(xp.sum(A * second, axis=2), axis=1)
        noise = noise_variances(rest, latent.second[-1, :], True, self.floor)
        T, relevance = self._expansion(latent, to_numpy(xp.sum(second[:, :k, :k], axis=0)), k)
        T = asarray_like(T, theta, dtype=theta.dtype)
        theta, spread = theta @ T.T, T @ spread @ T.T
        mean = model.mean + theta[:, k] * model.scale
        packed = pack(xp.permute_dims(spread, (1, 2, 0)))
        relevance = np.maximum(relevance / theta.shape[0], self.floor)
        return Iterate(LatentGaussian(mean, model.scale, theta[:, :k].T, noise, packed), relevance)

    @staticmethod
    def _expansion(latent: Latent, second: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        """The change of coordinates of (w_d, mean_d) that increases the bound most [2], and the diagonal it leads to.

        The latent variables get mean zero and covariance I, and sum_d E[w_d w_d^T], here `second`, becomes diagonal.

        References
        ----------
        [2] Luttinen, Ilin (2010), Transformations in variational Bayesian factor analysis to speed up learning.
        """
        centre, root = latent_root(latent, k)
        values, vectors = np.linalg.eigh(root @ second @ root)
        values, vectors = values[::-1], vectors[:, ::-1]
        # Close to convergence the rotation is nearly I up to signs, which are chosen such that no axis is reversed.
        vectors = vectors * np.where(np.diagonal(vectors) < 0, -1.0, 1.0)
        T = np.eye(k + 1)
        T[:k, :k] = vectors.T @ root
        T[k, :k] = centre
        return T, values

    @staticmethod
    def prior_term(at: Iterate) -> float:
        """Minus the Kullback-Leibler divergence of the posterior of W from its prior; the prior of the mean is flat."""
        model = at.model
        assert at.relevance is not None
        if model.spread is None:
            return -np.inf
        k, p = model.loadings.shape
        spread = _host_by_column(model.spread, k + 1)
        second = np.sum(to_numpy(model.loadings) ** 2, axis=1) + np.sum(
            np.diagonal(spread, axis1=1, axis2=2)[:, :k], axis=0
        )
        log_determinants = float(np.sum(np.linalg.slogdet(spread)[1]))
        return 0.5 * (log_determinants + p * k - float(np.sum(p * np.log(at.relevance) + second / at.relevance)))


def _align(W: Array, before: Array) -> Array:
    """W rotated to be as close as possible to `before`, so that steps can be combined."""
    U, _, Vt = np.linalg.svd(to_numpy(before) @ to_numpy(W).T)
    return asarray_like(U @ Vt, W, dtype=W.dtype) @ W


def noise_variances(rest: Array, count: Array, tied: bool, floor: float) -> Array:
    """Noise variances from residual sums of squares and numbers of entries."""
    xp = namespace(rest)
    if tied:
        return xp.clip(xp.zeros_like(rest) + xp.sum(rest) / xp.sum(count), floor, None)
    return xp.clip(rest / count, floor, None)


def _by_column(packed: Array, k: int) -> Array:
    """Unpack symmetric matrices: (k(k+1)/2, p) -> (p, k, k)."""
    return namespace(packed).permute_dims(unpack(packed, k), (2, 0, 1))


def _host_by_column(packed: Array, k: int) -> np.ndarray:
    """The same as a NumPy array."""
    return np.ascontiguousarray(_by_column(to_numpy(packed), k))


def latent_root(latent: Latent, k: int) -> tuple[np.ndarray, np.ndarray]:
    """The mean of the expected latent variables over the rows, and the symmetric root of their covariance."""
    scores = to_numpy(latent.scores) / float(latent.scores[-1])
    centre = scores[-1 - k : -1]
    second = unpack(scores[: k * (k + 1) // 2, None], k)[:, :, 0]
    values, vectors = np.linalg.eigh(second - centre[:, None] * centre)
    return centre, (vectors * np.sqrt(np.clip(values, 0.0, None))) @ vectors.T


# The iteration of expectation maximisation, with an acceleration and several starts.


#: Tolerance and maximal number of steps of the short runs from several starts.
_SHORT_TOL, _SHORT_STEPS = 1e-2, 100
#: The iteration has converged after this many consecutive steps that improve the likelihood by no more than rounding.
_IDLE = 20
#: Lower bound, as a fraction of the variance of the column, on the noise variance that changes are measured in.
_LEAST_UNIT = 0.01
#: Noise variances below this fraction of the variance of their column may be converging to zero.
_SMALL = 0.05
#: Whether the tolerance can be reached is predicted from so many of the last steps, if these increased the
#: log-likelihood by less than this in all. (A difference of one half is the size of the sampling error.)
_OBSERVED_STEPS, _LITTLE = 100, 0.01
#: The prediction is trusted if it is this many times what `max_iter` leaves.
_CERTAINLY = 3


class Expectation(Protocol):
    """The expected statistics of the rows under a model, from one pass over them."""

    loglike: float


class Limits(Protocol):
    """The options of `EM` that say when the iteration ends."""

    @property
    def tol(self) -> float: ...
    @property
    def max_iter(self) -> int: ...


E = TypeVar("E", bound=Expectation)


@dataclass(frozen=True)
class Outcome:
    """The result of an iteration."""

    at: Iterate
    loglike: list[float]
    status: Status
    residual: float
    passes: int
    #: Number of steps that the tolerance would take at the rate of the last steps, if that ended the iteration.
    needed: float | None = None


def iterate(
    em: Limits,
    start: Iterate,
    expect: Callable[[LatentGaussian], E],
    maximise: Callable[[E, Iterate], Iterate],
    *,
    tied: bool,
    floor: float,
    accelerate: Callable[[Iterate], Acceleration] | None = None,
    prior_term: Callable[[Iterate], float] = lambda at: 0.0,
) -> Outcome:
    """Repeat `maximise(expect(...))` until the parameters no longer change.

    There is one noise variance for all columns if `tied`, otherwise one per column; they stay above `floor`. The
    models that an acceleration proposes are kept only if the likelihood does not decrease. `prior_term` is the
    contribution of a prior to the objective.
    """
    at, best = start, start
    expected = expect(at.model)
    value = expected.loglike + prior_term(at)
    history, passes = [value], 1
    memory = None if accelerate is None else accelerate(start)
    status, residual, idle, needed = Status.NOT_CONVERGED, math.inf, 0, None
    residuals: list[float] = []
    for _ in range(em.max_iter):
        check_stop()
        plain = maximise(expected, at)
        residual = _largest_change(at, plain, tied)
        residuals.append(residual)
        small = residual <= em.tol
        if small:
            proposal = None if tied else _set_to_floor(at, plain, floor)
        else:
            proposal = None if memory is None else memory.propose(expected, at, plain, residual)
        if small and proposal is None:
            status = Status.CONVERGED
            break
        needed = None if small else _too_many_steps(residuals, history, em)
        if needed is not None:
            break
        following = plain if proposal is None else proposal
        trial = expect(following.model)
        passes += 1
        reached = trial.loglike + prior_term(following)
        if proposal is not None and not reached >= value:
            if small:
                status = Status.CONVERGED
                break
            while proposal is not None and not reached >= value:
                proposal = None if memory is None else memory.retry(reached - value)
                following = plain if proposal is None else proposal
                trial = expect(following.model)
                passes += 1
                reached = trial.loglike + prior_term(following)
            if proposal is None and memory is not None:
                memory.clear()
        elif small and memory is not None:
            memory.clear()
        rounding = _rounding(value, following)
        idle = idle + 1 if reached <= history[-1] + 1e-3 * rounding else 0
        if (proposal is None and not reached >= value - rounding) or idle > _IDLE:
            # A step of EM cannot decrease the likelihood, so only rounding is left.
            status = Status.CONVERGED
            break
        at, expected, value = following, trial, reached
        # A step may decrease the likelihood within its rounding error: the iteration continues, but the best is kept.
        if value >= history[-1] - 1e-11 * abs(value):
            best = at
            history.append(value)
    return Outcome(best, history, status, residual, passes, needed)


def _too_many_steps(residuals: list[float], history: list[float], em: Limits) -> float | None:
    """The number of steps until the residual is below the tolerance, if `max_iter` is far too small; otherwise None.

    There is no answer as long as the likelihood still increases noticeably, or if the number is not certain to be
    larger: if there are not several times more steps left than `max_iter` allows.
    """
    done = len(residuals)
    if done % _OBSERVED_STEPS or len(history) <= _OBSERVED_STEPS:
        return None
    if history[-1] - history[-1 - _OBSERVED_STEPS] > _LITTLE:
        return None
    left = steps_left(residuals[-_OBSERVED_STEPS:], em.tol)
    return done + left if left > _CERTAINLY * (em.max_iter - done) else None


def _rounding(value: float, at: Iterate) -> float:
    """The rounding error of a log-likelihood, which grows as the noise variances become smaller."""
    return abs(value) * (1e-11 + 1e-15 / float(namespace(at.model.noise).min(at.model.noise)))


def run_from_best(em: Any, starts: list[Iterate], run: Callable[[Any, Iterate], Outcome]) -> Outcome:
    """Take a few steps from each of several starts, and continue from the best."""
    if len(starts) == 1:
        return run(em, starts[0])
    short = replace(em, tol=max(em.tol, _SHORT_TOL), max_iter=min(em.max_iter, _SHORT_STEPS))
    tried = [run(short, start) for start in starts]
    first = max(tried, key=lambda outcome: outcome.loglike[-1])
    left = em.max_iter - (len(first.loglike) - 1)
    if (first.status is Status.CONVERGED and short.tol == em.tol) or left < 1:
        return replace(first, passes=sum(outcome.passes for outcome in tried))
    last = run(replace(em, max_iter=left), first.at)
    passes = last.passes + sum(outcome.passes for outcome in tried)
    return replace(last, loglike=first.loglike[:-1] + last.loglike, passes=passes)


def _largest_change(at: Iterate, to: Iterate, tied: bool) -> float:
    """The largest change of a loading or mean in standard deviations of the noise, or relative change of the noise.

    If columns have separate noise variances, a very small one is replaced by a fraction of the variance of its column.
    """
    a, b = at.model, to.model
    xp = namespace(a.noise)
    unit = a.noise if tied else xp.clip(a.noise, _LEAST_UNIT, None)
    sd = xp.sqrt(unit)
    changes = (
        xp.max(xp.abs(b.loadings - a.loadings) / sd),
        xp.max(xp.abs(b.mean - a.mean) / a.scale / sd),
        xp.max(xp.abs(b.noise - a.noise) / unit),
    )
    return max(float(change) for change in changes)


def _set_to_floor(at: Iterate, plain: Iterate, floor: float) -> Iterate | None:
    """The model with the smallest noise variance that is still decreasing set to its floor; None if there is none.

    EM converges to the floor ever more slowly.
    """
    model = at.model
    noise = to_numpy(model.noise)
    falling = (noise < _SMALL) & (noise > 1.01 * floor) & (to_numpy(plain.model.noise) < noise)
    if at.relevance is not None or not np.any(falling):
        return None
    lowered = noise.copy()
    lowered[np.argmin(np.where(falling, noise, np.inf))] = floor
    noise = asarray_like(lowered, model.noise, dtype=model.noise.dtype)
    return Iterate(LatentGaussian(model.mean, model.scale, model.loadings, noise))


#: Maximal share of the variance of a column that a start explains.
_START_SHARE = 0.9
#: Up to this many columns, factor analysis starts from a factor model.
_FACTORS_UP_TO = 1000
#: Lower bound on the uniquenesses of a start, if small uniquenesses would make the iteration slow.
_START_FLOOR = 0.005
#: Default number of additional random starts, and the maximal number of entries of a table for which they are used.
_STARTS, _SEVERAL_STARTS_UP_TO = 4, 20_000
#: Number of steps that the estimated work assumes.
_STEPS = 20
#: Maximal number of operations for a step on completed rows.
_COMPLETED_WORK = 1e11


@dataclass(frozen=True)
class EM(LatentSolver):
    """Maximise the likelihood of the observed entries by expectation maximisation.

    Parameters
    ----------
    tol : float
        Stop when one more step would change no loading and no mean by more than `tol` standard deviations of the noise,
        and no noise variance by more than `tol` times itself (or, if larger, `tol` times a hundredth of the variance of
        its column). For loadings and means this is the gradient of the log-likelihood per row.
    max_iter : int
        Maximal number of steps.
    accelerate : bool
        Whether to replace steps by longer ones, which are kept only if the likelihood does not decrease. Not used with
        a prior.
    start : {"spectrum", "random"}
        Start from the leading directions of the rows with their holes filled, or from random loadings.
    n_init : int, optional
        Number of additional random starts; each takes a few steps, and the iteration continues from the best. By
        default four for tables of up to 20,000 entries, otherwise none. With holes there can be several local optima.

    Notes
    -----
    A step computes one `Latent` summary of the rows (of their moments, if they are complete), and regresses each column
    on the expected latent variables and a constant. Parameter expansion [1]_ lets the latent variables have any mean
    and covariance within the step, which are then absorbed into the loadings and means; this costs nothing and saves
    steps. Anderson acceleration [2]_, which combines the last steps, saves many more. Where it would still take many
    steps, a quasi-Newton method [3]_ takes over: the same summary gives the gradient of the likelihood, and an
    approximation of the information that the observed entries hold.

    Rows of o_i observed entries are fitted exactly, without noise, by K components if sum_i max(o_i - K, 0) is at most
    (K + 1) (p - K), the number of parameters of a K-dimensional plane. The likelihood then increases without end as the
    noise decreases. Only a few steps are taken in this case (60 for a large table), and if they miss the tolerance, the
    status is UNDETERMINED.

    If the likelihood has hardly increased during a hundred steps, and the tolerance is far out of reach of `max_iter`
    at the rate of these steps, the iteration ends there.

    References
    ----------
    .. [1] Liu, Rubin, Wu (1998), Parameter expansion to accelerate EM: the PX-EM algorithm.
    .. [2] Henderson, Varadhan (2019), Damped Anderson acceleration with restarts and monotonicity control for
       accelerating EM and EM-like algorithms.
    .. [3] Jamshidian, Jennrich (1997), Acceleration of the EM algorithm by using quasi-Newton methods.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from lowdim import PPCA
    >>> from lowdim.solvers import EM
    >>> rows = load_iris().data.copy()
    >>> rows[::10, 0] = np.nan
    >>> ppca = PPCA(2, solver=EM(tol=1e-8)).fit(rows)
    >>> bool(np.all(np.diff(ppca.loglike_) > -1e-9))
    True
    """

    name = "em"
    on_host = "the start and small vectors of the iteration"
    takes_prior = True
    takes_holes = True
    tol: float = 1e-5
    max_iter: int = 1000
    accelerate: bool = True
    start: str = "spectrum"
    n_init: int | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.tol, Real) or not 0.0 < self.tol < 1.0:
            raise ValueError(f"EM(tol={self.tol!r}): a number between 0 and 1 is needed.")
        if isinstance(self.max_iter, bool) or not isinstance(self.max_iter, Integral) or self.max_iter < 1:
            raise ValueError(f"EM(max_iter={self.max_iter!r}): a whole number of at least 1 is needed.")
        if not isinstance(self.accelerate, bool | np.bool_):
            raise ValueError(f"EM(accelerate={self.accelerate!r}): True or False is needed.")
        if self.n_init is not None and (
            isinstance(self.n_init, bool) or not isinstance(self.n_init, Integral) or self.n_init < 0
        ):
            raise ValueError(f"EM(n_init={self.n_init!r}): a whole number of at least 0 is needed, or None.")
        if self.start not in ("spectrum", "random"):
            raise choice("EM start", self.start, ("spectrum", "random"))

    def cost(self, job: LatentJob) -> Cost:
        k, p = job.k or 1, job.p
        step = 8 * p * (k + 1) * (k + 4)
        if not job.complete:
            # The first look, the start and a step are three passes at least.
            return Cost(_STEPS * job.rows * p * k * k, 3, step, "rows with holes are fitted by EM, one pass per step")
        why = "iterates on the moments of complete rows"
        return Cost(job.rows * p * p + _STEPS * k * p * p, 1, step + 32 * p * p, why)

    def refusal(self, job: LatentJob) -> Exception | None:
        once = not job.complete and not job.traits.rereadable
        return read_once(self.name, "fill the holes first") if once else super().refusal(job)

    def is_sensible(self, job: LatentJob) -> bool:
        # Without a prior, complete rows have a closed form or are fitted by Newton's method in far fewer steps.
        return job.bayes or not job.complete

    def fit_moments(self, moments: Moments, request: LatentRequest, spectra: SpectraLike) -> LatentFit:
        check_components(request.k, moments.n_rows, moments.weight, moments.n_features)
        return fit_moments(moments, self, request, spectra)

    def fit_holes(self, rows: RowsLike, request: LatentRequest, spectra: SpectraLike) -> tuple[LatentFit, Plan]:
        """Fit rows with missing entries; each step takes one pass over the rows."""
        plan = checked_plan(self, replace(rows_job(rows, request, spectra), complete=False))
        observed = rows.summarize(Observed(rows.shape[1], unstored=request.unstored, components=request.k))
        empty = np.flatnonzero(to_numpy(observed.count) == 0)
        if len(empty):
            raise never_observed([int(j) for j in empty], rows.names)
        check_components(request.k, observed.n_rows, observed.weight, rows.shape[1])
        fit = fit_rows(rows, self, request, observed, spectra)
        return fit, with_passes(plan, fit.passes)


def fit_rows(rows: RowsLike, em: EM, request: LatentRequest, observed: Observed, spectra: SpectraLike) -> LatentFit:
    """Maximise the likelihood (or its variational bound) of the observed entries over mean, loadings and noise.

    `observed` took one pass over the rows; the start takes one or a few, and each step takes one.
    """
    scale = column_units(observed, request.by_column)
    start, passes = _start(rows, observed, scale, em, request, spectra)
    by_completion = not request.tied and _use_completed_rows(observed, request.k)
    # A start from factors is already the best of several.
    enough = by_completion and em.start == "spectrum" and em.n_init is None
    further = [] if enough else _further_starts(em, observed, scale, request)
    starts = [start, *further]
    # A prior keeps the noise from being fitted away.
    undetermined = not request.bayes and is_undetermined(observed, request.k)
    limited = replace(em, max_iter=min(em.max_iter, few_steps(observed, request.k))) if undetermined else em
    if by_completion:

        def complete(model: LatentGaussian) -> Completed:
            return rows.summarize(Completed(model, unstored=request.unstored))

        step = CompletedFactors(Newton(floor=request.floor))
        accelerate = partial(Anderson, floor=request.floor) if em.accelerate else None
        run = partial(iterate, expect=complete, maximise=step, tied=False, floor=request.floor, accelerate=accelerate)
        outcome = run_from_best(limited, [Iterate(start) for start in starts], run)
    else:

        def expect(model: LatentGaussian) -> Latent:
            return rows.summarize(Latent(model, unstored=request.unstored, informed=not request.bayes))

        outcome = run_em(limited, starts, expect, request)
    fit = as_fit(outcome, observed.weight, observed.n_rows, 1 + passes + outcome.passes)
    if undetermined and fit.residual > em.tol:
        # Whether the steps ran out, or noise at its floor left only rounding to gain: there is no maximum.
        return replace(fit, status=Status.UNDETERMINED, advice=too_few_entries(observed, request.k))
    return fit


def fit_moments(moments: Moments, em: EM, request: LatentRequest, spectra: SpectraLike) -> LatentFit:
    """Maximise the likelihood (or its variational bound) given the moments of complete rows, without a pass."""
    observed = _observed_of(moments)
    scale = column_units(observed, request.by_column)
    if em.start == "random":
        start = _random_start(observed, scale, request, request.seed)
    else:
        spectrum, _ = spectra.solve_summary(moments, Request(request.k, ddof=0, standardize=request.by_column))
        unit = 1.0 if request.by_column else float(scale[0])
        start = _spectral_start(spectrum, observed, scale, request, unit)
    starts = [start, *_further_starts(em, observed, scale, request)]
    outcome = run_em(em, starts, lambda model: Latent.from_moments(moments, model), request)
    return as_fit(outcome, moments.weight, moments.n_rows, 1)


def _use_completed_rows(observed: Observed, k: int) -> bool:
    """Whether to use steps on completed rows: if they are affordable, and most entries and enough rows are known."""
    n, p = observed.weight, observed.n_features
    known = float(namespace(observed.count).sum(observed.count)) / (n * p)
    return p <= _FACTORS_UP_TO and n * k * float(p) ** 2 <= _COMPLETED_WORK and known >= 0.5 and n >= 2 * p


def _further_starts(em: EM, observed: Observed, scale: Array, request: LatentRequest) -> list[LatentGaussian]:
    """The additional random starts."""
    n_init = em.n_init
    if n_init is None:
        n_init = _STARTS if observed.weight * observed.n_features <= _SEVERAL_STARTS_UP_TO else 0
    return [_random_start(observed, scale, request, request.seed + i) for i in range(1, n_init + 1)]


def run_em(
    em: EM, starts: list[LatentGaussian], expect: Callable[[LatentGaussian], Latent], request: LatentRequest
) -> Outcome:
    """EM from the best of `starts`, by maximum likelihood or with a prior on the loadings."""
    if not request.bayes:
        tied, floor = request.tied, request.floor
        accelerate = partial(AndersonThenQuasiNewton, tied=tied, floor=floor, tol=em.tol) if em.accelerate else None
        step = MaximumLikelihood(tied, floor)
        run = partial(iterate, expect=expect, maximise=step, tied=tied, floor=floor, accelerate=accelerate)
        return run_from_best(em, [Iterate(start) for start in starts], run)
    bayes = VariationalBayes(request.floor)
    run = partial(iterate, expect=expect, maximise=bayes, tied=True, floor=request.floor, prior_term=bayes.prior_term)
    outcome = run_from_best(em, [_with_prior(start, expect, bayes) for start in starts], run)
    return replace(outcome, passes=outcome.passes + len(starts))


def _with_prior(start: LatentGaussian, expect: Callable[[LatentGaussian], Latent], bayes: VariationalBayes) -> Iterate:
    """The start with an initial posterior of the loadings."""
    relevance = np.maximum(np.mean(to_numpy(start.loadings) ** 2, axis=1), 1e-3)
    return bayes(expect(start), Iterate(start, relevance))


def as_fit(outcome: Outcome, weight: float, n_rows: int, passes: int) -> LatentFit:
    """The record of the fit."""
    model = outcome.at.model
    fit = LatentFit(
        mean=model.mean,
        scale=model.scale,
        loadings=model.loadings,
        noise=model.noise,
        spread=model.spread,
        weight=weight,
        n_rows=n_rows,
        loglike=outcome.loglike,
        status=outcome.status,
        residual=outcome.residual,
        passes=passes,
    )
    if outcome.needed is None:
        return fit
    steps = f"about {outcome.needed:.0f} steps" if math.isfinite(outcome.needed) else "an unknown number of steps"
    advice = (
        f"The likelihood hardly increases, and the tolerance would take {steps}, more than max_iter. Raise tol, or ask "
        "for fewer components."
    )
    return replace(fit, advice=advice)


def column_units(observed: Observed, by_column: bool) -> Array:
    """The standard deviation of each column if `by_column`, otherwise the root mean square over all columns.

    Constant columns always get the latter. Raises an error if no column varies, or too little.
    """
    xp = namespace(observed.mean)
    require_size(observed.squares, observed.mean, observed.weight, each=by_column)
    if not bool(xp.any(observed.squares > 0)):
        raise no_variance("a model with noise")
    variance = observed.squares / observed.count
    typical = xp.sqrt(xp.mean(variance))
    return xp.where((variance > 0) & by_column, xp.sqrt(variance), xp.zeros_like(variance) + typical)


def _start(
    rows: RowsLike, observed: Observed, scale: Array, em: EM, request: LatentRequest, spectra: SpectraLike
) -> tuple[LatentGaussian, int]:
    """A start with loadings along the leading directions of the filled rows, or random ones; and its passes."""
    if em.start == "random":
        return _random_start(observed, scale, request, request.seed), 0
    filled = rows.filled(observed.mean, scale, request.unstored)
    p = observed.n_features
    if not request.tied and p <= _FACTORS_UP_TO:
        return _factor_start(filled.summarize(Moments(p)), observed, scale, request), 1
    asked = Request(k=request.k, ddof=0, seed=request.seed)
    # A start need not be accurate, so the planned solver runs, and no more accurate one follows.
    spectrum, _ = spectra.solve(filled, asked, spectra.plan(filled, asked).solver)
    return _spectral_start(spectrum, observed, scale, request), spectrum.passes


def _random_start(observed: Observed, scale: Array, request: LatentRequest, seed: int) -> LatentGaussian:
    """A start with random loadings, which explain half of the variance of each column on average."""
    variance = to_numpy(observed.squares / observed.count / scale**2)
    random = np.random.default_rng(seed)
    W = random.standard_normal((request.k, len(variance))) * np.sqrt(0.5 * variance / request.k + 1e-6)
    return _start_from(W, variance, observed, scale, request)


def _spectral_start(
    spectrum: Spectrum, observed: Observed, scale: Array, request: LatentRequest, unit: float = 1.0
) -> LatentGaussian:
    """A start from the principal loadings of the filled rows (divided by `unit`).

    Filled holes make loadings smaller, which is corrected.
    """
    variance = to_numpy(observed.squares / observed.count / scale**2)
    share = to_numpy(observed.count) / observed.weight
    lengths = np.sqrt(np.clip(spectrum.values, 0.0, None) / observed.weight) / unit
    W = to_numpy(spectrum.vectors) * lengths[:, None] / share
    explained = np.sum(W * W, axis=0)
    W = W * np.sqrt(np.minimum(1.0, _START_SHARE * variance / np.where(explained > 0, explained, 1.0)))
    # The noise is added because a loading of zero would stay zero.
    W += 1e-3 * np.random.default_rng(request.seed).standard_normal(W.shape)
    return _start_from(W, variance, observed, scale, request)


def _factor_start(filled: Moments, observed: Observed, scale: Array, request: LatentRequest) -> LatentGaussian:
    """A start from a factor analysis of the correlations of the filled rows, corrected for the holes.

    It is the best of several local optima.
    """
    share = to_numpy(observed.count) / observed.weight
    variance = to_numpy(observed.squares / observed.count / scale**2)
    R = to_numpy(filled.scatter) / filled.weight / share / share[:, None]
    np.fill_diagonal(R, np.where(variance > 0, 1.0, 1e-3))
    values, vectors = np.linalg.eigh(R)
    # With holes the matrix may have negative eigenvalues; they are raised to give a valid covariance matrix.
    R = (vectors * np.maximum(values, 1e-6)) @ vectors.T
    sd = np.sqrt(np.diagonal(R))
    floor = request.floor if _use_completed_rows(observed, request.k) else max(request.floor, _START_FLOOR)
    found = Newton(floor=floor).solve(R / sd / sd[:, None], request.k, request.seed)
    like, dtype = observed.mean, observed.mean.dtype
    W, psi = (asarray_like(a, like, dtype=dtype) for a in (found.loadings, found.psi))
    return LatentGaussian(like, scale, W, psi)


def _start_from(
    W: np.ndarray, variance: np.ndarray, observed: Observed, scale: Array, request: LatentRequest
) -> LatentGaussian:
    """A model with these loadings, whose noise is the variance that they leave unexplained."""
    rest = np.maximum(variance - np.sum(W * W, axis=0), (1.0 - _START_SHARE) * np.maximum(variance, 1e-3))
    noise = np.full(len(rest), rest.mean()) if request.tied else rest
    like, dtype = observed.mean, observed.mean.dtype
    return LatentGaussian(like, scale, asarray_like(W, like, dtype=dtype), asarray_like(noise, like, dtype=dtype))


def _observed_of(moments: Moments) -> Observed:
    """The summary `Observed` of complete rows, from their moments."""
    observed = Observed(moments.n_features)
    xp = namespace(moments.mean)
    observed.n_rows, observed.weight = moments.n_rows, moments.weight
    observed.count = xp.zeros_like(moments.mean) + moments.weight
    observed.mean, observed.rest = moments.mean, moments.rest
    observed.squares = xp.linalg.diagonal(moments.scatter)
    return observed
