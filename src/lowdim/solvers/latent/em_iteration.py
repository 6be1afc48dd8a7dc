"""The iteration of expectation maximisation, with an acceleration and several starts."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeVar

import numpy as np

from ..._threads import check_stop
from ..._xp import asarray_like, namespace, to_numpy
from ...summaries.latent import LatentGaussian
from ..results import Status
from .em_acceleration import Acceleration, Iterate, steps_left

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
