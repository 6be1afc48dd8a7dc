"""The iteration of expectation maximisation, with Anderson acceleration and several starts."""

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

#: Tolerance and maximal number of steps of the short runs from several starts.
_SHORT_TOL, _SHORT_STEPS = 1e-2, 100
#: The iteration has converged after this many consecutive steps that improve the likelihood by no more than rounding.
_IDLE = 20
#: Number of steps that are combined into one (the memory of Anderson acceleration).
_MEMORY = 10
#: Lower bound, as a fraction of the variance of the column, on the noise variance that changes are measured in.
_LEAST_UNIT = 0.01
#: Noise variances below this fraction of the variance of their column may be converging to zero.
_SMALL = 0.05
#: Number of plain steps before the first combined one.
_PLAIN = 2


@dataclass(frozen=True)
class Iterate:
    """A model, and the prior variances of its loadings if they have a prior."""

    model: LatentGaussian
    relevance: np.ndarray | None = None


class Expectation(Protocol):
    """The expected statistics of the rows under a model, from one pass over them."""

    loglike: float


class Limits(Protocol):
    """The options of `EM`: when the iteration ends, and whether steps are combined."""

    @property
    def tol(self) -> float: ...
    @property
    def max_iter(self) -> int: ...
    @property
    def accelerate(self) -> bool: ...


E = TypeVar("E", bound=Expectation)


@dataclass(frozen=True)
class Outcome:
    """The result of an iteration."""

    at: Iterate
    loglike: list[float]
    status: Status
    residual: float
    passes: int


def iterate(
    em: Limits,
    start: Iterate,
    expect: Callable[[LatentGaussian], E],
    maximise: Callable[[E, Iterate], Iterate],
    *,
    tied: bool,
    floor: float,
    prior_term: Callable[[Iterate], float] = lambda at: 0.0,
) -> Outcome:
    """Repeat `maximise(expect(...))` until the parameters no longer change.

    There is one noise variance for all columns if `tied`, otherwise one per column; they stay above `floor`.
    `prior_term` is the contribution of a prior to the objective.
    """
    at, best, coordinates = start, start, _Coordinates(start.model, floor)
    expected = expect(at.model)
    value = expected.loglike + prior_term(at)
    history, passes = [value], 1
    # With a prior, steps also update the posterior of the loadings, which cannot be combined.
    memory = _Anderson(_MEMORY if em.accelerate and start.relevance is None else 0)
    status, residual, idle = Status.NOT_CONVERGED, math.inf, 0
    for _ in range(em.max_iter):
        check_stop()
        plain = maximise(expected, at)
        residual = _largest_change(at, plain, tied)
        small = residual <= em.tol
        if small:
            proposal = None if tied else _set_to_floor(at, plain, floor)
        else:
            proposal = memory.combine(coordinates, at, plain)
        if small and proposal is None:
            status = Status.CONVERGED
            break
        following = plain if proposal is None else proposal
        trial = expect(following.model)
        passes += 1
        reached = trial.loglike + prior_term(following)
        if proposal is not None and not reached >= value:
            if small:
                status = Status.CONVERGED
                break
            proposal, following = None, plain
            trial = expect(following.model)
            passes += 1
            reached = trial.loglike + prior_term(following)
            memory.clear()
        elif small:
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
    return Outcome(best, history, status, residual, passes)


class _Anderson:
    """Anderson acceleration: the combination of the last steps g(x) whose residual g(x) - x is smallest."""

    def __init__(self, memory: int) -> None:
        self._memory = memory
        self.clear()

    def clear(self) -> None:
        """Forget all steps."""
        self._n_steps = 0
        self._last: tuple[np.ndarray, np.ndarray] | None = None
        self._dr: list[np.ndarray] = []
        self._dg: list[np.ndarray] = []

    def combine(self, coordinates: _Coordinates, at: Iterate, plain: Iterate) -> Iterate | None:
        """The combination, or None if there are too few steps to combine."""
        if not self._memory:
            return None
        x, g = coordinates.of(at), coordinates.of(plain)
        r = g - x
        if self._last is not None:
            self._dr.append(r - self._last[0])
            self._dg.append(g - self._last[1])
            del self._dr[: -self._memory], self._dg[: -self._memory]
        self._last = (r, g)
        self._n_steps += 1
        if self._n_steps <= _PLAIN:
            return None
        R = np.stack(self._dr)
        gram = R @ R.T
        gram[np.diag_indices_from(gram)] *= 1.0 + 1e-10
        if not np.all(np.isfinite(gram)):
            self.clear()
            return None
        weights = np.linalg.lstsq(gram, R @ r, rcond=1e-14)[0]
        return coordinates.model_at(g - weights @ np.stack(self._dg), plain)


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


class _Coordinates:
    """Models as vectors, in units of the noise at the start, with the logarithms of prior variances.

    Noise variances are included without a logarithm: one that converges to zero then gets there in a few steps, which
    it never would with its logarithm.
    """

    def __init__(self, start: LatentGaussian, floor: float) -> None:
        self._origin, self._scale, self._floor = start.mean, start.scale, floor
        self._noise, self._sd = start.noise, namespace(start.noise).sqrt(start.noise)

    def of(self, at: Iterate) -> np.ndarray:
        """The vector of a model."""
        model = at.model
        xp = namespace(model.noise)
        mean = (model.mean - self._origin) / self._scale / self._sd
        vector = to_numpy(xp.concat([xp.reshape(model.loadings / self._sd, (-1,)), mean, model.noise / self._noise]))
        return vector if at.relevance is None else np.concatenate([vector, np.log(at.relevance)])

    def model_at(self, vector: np.ndarray, like: Iterate) -> Iterate:
        """The model of a vector; quantities that the vector does not include are taken from `like`."""
        model = like.model
        xp, (k, p) = namespace(model.noise), model.loadings.shape
        x = asarray_like(vector[: (k + 2) * p], model.noise, dtype=model.noise.dtype)
        noise = xp.clip(x[(k + 1) * p :] * self._noise, self._floor, None)
        loadings = xp.reshape(x[: k * p], (k, p)) * self._sd
        mean = self._origin + x[k * p : (k + 1) * p] * self._scale * self._sd
        relevance = None if like.relevance is None else np.exp(np.clip(vector[(k + 2) * p :], -100.0, 100.0))
        return Iterate(LatentGaussian(mean, self._scale, loadings, noise, model.spread), relevance)
