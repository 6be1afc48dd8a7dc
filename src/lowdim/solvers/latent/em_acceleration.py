"""Acceleration of expectation maximisation by the combination of its steps; what all accelerations have in common."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from ..._xp import asarray_like, namespace, to_numpy
from ...summaries.latent import LatentGaussian

#: Number of steps that are combined into one.
_MEMORY = 10
#: Number of plain steps before the first combined one.
_PLAIN = 2


@dataclass(frozen=True)
class Iterate:
    """A model, and the prior variances of its loadings if they have a prior."""

    model: LatentGaussian
    relevance: np.ndarray | None = None


class Acceleration(Protocol):
    """Proposes models of higher likelihood than the one that a plain step of EM leads to."""

    def propose(self, expected: Any, at: Iterate, plain: Iterate, residual: float) -> Iterate | None:
        """A model to try after `at`, whose expected statistics are given, and from which a plain step of size
        `residual` leads to `plain`; None if there is none yet."""

    def retry(self, change: float) -> Iterate | None:
        """Another model to try after the last one changed the likelihood by `change`; None to take the plain step."""

    def clear(self) -> None:
        """Forget all steps."""


def steps_left(residuals: list[float], tol: float) -> float:
    """The number of steps until the residual is below `tol`, if it goes on decreasing at the rate of these steps.

    A line is fitted to the logarithms. Infinite if the residual did not decrease.
    """
    rate = float(np.polyfit(np.arange(len(residuals)), np.log(residuals), 1)[0])
    return math.log(residuals[-1] / tol) / -rate if rate < 0.0 else math.inf


class Anderson:
    """Anderson acceleration: the combination of the last steps g(x) whose residual g(x) - x is smallest."""

    def __init__(self, start: Iterate, floor: float) -> None:
        self._coordinates = _Coordinates(start.model, floor)
        self.clear()

    def clear(self) -> None:
        self._n_steps = 0
        self._last: tuple[np.ndarray, np.ndarray] | None = None
        self._dr: list[np.ndarray] = []
        self._dg: list[np.ndarray] = []

    def propose(self, expected: Any, at: Iterate, plain: Iterate, residual: float) -> Iterate | None:
        coordinates = self._coordinates
        x, g = coordinates.of(at), coordinates.of(plain)
        r = g - x
        if self._last is not None:
            self._dr.append(r - self._last[0])
            self._dg.append(g - self._last[1])
            del self._dr[:-_MEMORY], self._dg[:-_MEMORY]
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

    def retry(self, change: float) -> Iterate | None:
        return None


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
