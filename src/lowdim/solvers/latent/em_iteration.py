"""The iteration of expectation maximisation: guarded and combined steps, and several starts."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeVar

import numpy as np

from ..._xp import asarray_like, namespace, to_numpy
from ...summaries.latent import LatentGaussian
from ..results import Status

#: Where the short runs from several starts end.
_SHORT_TOL, _SHORT_STEPS = 1e-2, 100
#: After so many steps that gain nothing but rounding there is nothing to gain.
_IDLE = 20
#: Steps whose residuals are combined into one (Anderson's memory).
_MEMORY = 10
#: Noise variances below this fraction of the variance of their column count as so much.
_LEAST_UNIT = 0.01
#: And below this one may be on its way to zero.
_SMALL = 0.05
#: Plain steps before the first combined one.
_PLAIN = 2


@dataclass(frozen=True)
class Iterate:
    """A model, and the prior variances of its loadings where there is a prior."""

    model: LatentGaussian
    relevance: np.ndarray | None = None


class Expected(Protocol):
    """What a pass over the rows expects of them under a model."""

    loglike: float


class Limits(Protocol):
    """When the iteration ends, and whether steps are combined: the options of `EM`."""

    @property
    def tol(self) -> float: ...
    @property
    def max_iter(self) -> int: ...
    @property
    def accelerate(self) -> bool: ...


E = TypeVar("E", bound=Expected)


@dataclass(frozen=True)
class Ended:
    """Where an iteration ended."""

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
    bonus: Callable[[Iterate], float] = lambda at: 0.0,
) -> Ended:
    """Repeat `maximise(expect(...))` until it moves nothing; noise variances, one or (not `tied`) many, stay above
    `floor`. `bonus` is what a prior adds to the log-likelihood."""
    at, best, coordinates = start, start, _Coordinates(start.model, floor)
    expected = expect(at.model)
    value = expected.loglike + bonus(at)
    history, passes = [value], 1
    # With a prior, steps have a posterior of the loadings beside them, which cannot be combined.
    memory = _Anderson(_MEMORY if em.accelerate and start.relevance is None else 0)
    status, residual, idle = Status.NOT_CONVERGED, math.inf, 0
    for _ in range(em.max_iter):
        plain = maximise(expected, at)
        residual = _moved(at, plain, tied)
        settled = residual <= em.tol
        proposal = (None if tied else _sunk(at, plain, floor)) if settled else memory.combine(coordinates, at, plain)
        if settled and proposal is None:
            status = Status.CONVERGED
            break
        following = plain if proposal is None else proposal
        trial = expect(following.model)
        passes += 1
        reached = trial.loglike + bonus(following)
        if proposal is not None and not reached >= value:
            if settled:
                status = Status.CONVERGED
                break
            proposal, following = None, plain
            trial = expect(following.model)
            passes += 1
            reached = trial.loglike + bonus(following)
            memory.forget()
        elif settled:
            memory.forget()
        rounding = _rounding(value, following)
        idle = idle + 1 if reached <= history[-1] + 1e-3 * rounding else 0
        if (proposal is None and not reached >= value - rounding) or idle > _IDLE:
            # A step of EM cannot go down: what is left to gain is rounding.
            status = Status.CONVERGED
            break
        at, expected, value = following, trial, reached
        # Where rounding is coarse a step may fall within it; the way goes on, but only what is best counts.
        if value >= history[-1] - 1e-11 * abs(value):
            best = at
            history.append(value)
    return Ended(best, history, status, residual, passes)


class _Anderson:
    """A combination of the last steps g(x) whose residuals g(x) - x all but cancel."""

    def __init__(self, memory: int) -> None:
        self._memory = memory
        self.forget()

    def forget(self) -> None:
        self._seen = 0
        self._last: tuple[np.ndarray, np.ndarray] | None = None
        self._dr: list[np.ndarray] = []
        self._dg: list[np.ndarray] = []

    def combine(self, coordinates: _Coordinates, at: Iterate, plain: Iterate) -> Iterate | None:
        """The combination, or None while there is too little to combine."""
        if not self._memory:
            return None
        x, g = coordinates.of(at), coordinates.of(plain)
        r = g - x
        if self._last is not None:
            self._dr.append(r - self._last[0])
            self._dg.append(g - self._last[1])
            del self._dr[: -self._memory], self._dg[: -self._memory]
        self._last = (r, g)
        self._seen += 1
        if self._seen <= _PLAIN:
            return None
        R = np.stack(self._dr)
        gram = R @ R.T
        gram[np.diag_indices_from(gram)] *= 1.0 + 1e-10
        if not np.all(np.isfinite(gram)):
            self.forget()
            return None
        weights = np.linalg.lstsq(gram, R @ r, rcond=1e-14)[0]
        return coordinates.back(g - weights @ np.stack(self._dg), plain)


def _rounding(value: float, at: Iterate) -> float:
    """What a log-likelihood can be off by: distances are divided by the noise, and lose as many digits."""
    return abs(value) * (1e-11 + 1e-15 / float(namespace(at.model.noise).min(at.model.noise)))


def best_of(em: Any, starts: list[Iterate], run: Callable[[Any, Iterate], Ended]) -> Ended:
    """Run from the best of several starts, as a few steps from each show it."""
    if len(starts) == 1:
        return run(em, starts[0])
    short = replace(em, tol=max(em.tol, _SHORT_TOL), max_iter=min(em.max_iter, _SHORT_STEPS))
    tried = [run(short, start) for start in starts]
    first = max(tried, key=lambda ended: ended.loglike[-1])
    left = em.max_iter - (len(first.loglike) - 1)
    if (first.status is Status.CONVERGED and short.tol == em.tol) or left < 1:
        return replace(first, passes=sum(ended.passes for ended in tried))
    last = run(replace(em, max_iter=left), first.at)
    passes = last.passes + sum(ended.passes for ended in tried)
    return replace(last, loglike=first.loglike[:-1] + last.loglike, passes=passes)


def _moved(at: Iterate, to: Iterate, tied: bool) -> float:
    """The largest change of a loading or mean in deviations of the noise, or of a noise variance in units of itself.

    A noise variance of its own that is next to nothing beside the variance of its column is no unit to measure with.
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


def _sunk(at: Iterate, plain: Iterate, floor: float) -> Iterate | None:
    """The model with the smallest noise variance that still falls put to its floor: EM nears it ever slower."""
    model = at.model
    noise = to_numpy(model.noise)
    falling = (noise < _SMALL) & (noise > 1.01 * floor) & (to_numpy(plain.model.noise) < noise)
    if at.relevance is not None or not np.any(falling):
        return None
    sunk = noise.copy()
    sunk[np.argmin(np.where(falling, noise, np.inf))] = floor
    noise = asarray_like(sunk, model.noise, dtype=model.noise.dtype)
    return Iterate(LatentGaussian(model.mean, model.scale, model.loadings, noise))


class _Coordinates:
    """Models as vectors, in units of the noise at the start; prior variances by their logarithms.

    Noise variances go in as they are: one that tends to zero gets there in a few steps this way, and never would by
    its logarithm.
    """

    def __init__(self, start: LatentGaussian, floor: float) -> None:
        self._origin, self._scale, self._floor = start.mean, start.scale, floor
        self._noise, self._sd = start.noise, namespace(start.noise).sqrt(start.noise)

    def of(self, at: Iterate) -> np.ndarray:
        model = at.model
        xp = namespace(model.noise)
        mean = (model.mean - self._origin) / self._scale / self._sd
        vector = to_numpy(xp.concat([xp.reshape(model.loadings / self._sd, (-1,)), mean, model.noise / self._noise]))
        return vector if at.relevance is None else np.concatenate([vector, np.log(at.relevance)])

    def back(self, vector: np.ndarray, like: Iterate) -> Iterate:
        """The model at `vector`; what is not in it is taken from `like`."""
        model = like.model
        xp, (k, p) = namespace(model.noise), model.loadings.shape
        x = asarray_like(vector[: (k + 2) * p], model.noise, dtype=model.noise.dtype)
        noise = xp.clip(x[(k + 1) * p :] * self._noise, self._floor, None)
        loadings = xp.reshape(x[: k * p], (k, p)) * self._sd
        mean = self._origin + x[k * p : (k + 1) * p] * self._scale * self._sd
        relevance = None if like.relevance is None else np.exp(np.clip(vector[(k + 2) * p :], -100.0, 100.0))
        return Iterate(LatentGaussian(mean, self._scale, loadings, noise, model.spread), relevance)
