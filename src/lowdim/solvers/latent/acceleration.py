"""Accelerations of EM: Anderson's, which combines steps, and a quasi-Newton method.

Each proposes models of higher likelihood than the one that a plain step leads to: `propose` a model to try after the
present one (None if there is none yet), `retry` another one after that changed the likelihood by `change` (None to take
the plain step); `clear` forgets all steps.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..._core.arrays import asarray_like, namespace, to_numpy
from ...summaries.latent import Latent, LatentGaussian, unpack
from ..iteration import LimitedMemory

#: Number of steps that are combined into one.
_MEMORY = 10
#: Number of plain steps before the first combined one.
_PLAIN = 2
#: Number of steps that the quasi-Newton method remembers.
_QUASI_NEWTON_MEMORY = 10
#: A step that decreases the likelihood is shortened this many times before a plain step of EM is taken instead.
_RETRIES = 4
#: Largest change of the logarithm of a noise variance in one step.
_LARGEST_CHANGE = 1.0
#: The information of the observed entries is not taken to be less than this share of that of complete data, so that
#: a step is at most so many times longer than one of EM.
_LEAST_SHARE = 0.05
#: Every so often, so many of the last steps of Anderson acceleration tell how many more are needed; if these are more
#: than so many, the quasi-Newton method takes over.
_LOOK_EVERY, _LOOK_BACK, _MANY_STEPS = 10, 20, 100


def steps_left(residuals: list[float], tol: float) -> float:
    """The number of steps until the residual is below `tol`, if it goes on decreasing at the rate of these steps.

    A line is fitted to the logarithms. Infinite if the residual did not decrease.
    """
    rate = float(np.polyfit(np.arange(len(residuals)), np.log(residuals), 1)[0])
    return math.log(residuals[-1] / tol) / -rate if rate < 0.0 else math.inf


class Anderson:
    """Anderson acceleration: the combination of the last steps g(x) whose residual g(x) - x is smallest.

    Models are vectors in units of the noise at the start. Noise variances are included without a logarithm: one that
    converges to zero then gets there in a few steps, which it never would with its logarithm.
    """

    def __init__(self, start: LatentGaussian, floor: float) -> None:
        self._start, self._floor = start, floor
        self._sd = namespace(start.noise).sqrt(start.noise)
        self.clear()

    def clear(self) -> None:
        self._n_steps = 0
        self._last: tuple[np.ndarray, np.ndarray] | None = None
        self._dr: list[np.ndarray] = []
        self._dg: list[np.ndarray] = []

    def propose(
        self, expected: Any, at: LatentGaussian, plain: LatentGaussian, residual: float
    ) -> LatentGaussian | None:
        x, g = self._vector(at), self._vector(plain)
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
        combined = asarray_like(g - weights @ np.stack(self._dg), at.noise, dtype=at.noise.dtype)
        start, xp, (k, p) = self._start, namespace(at.noise), at.loadings.shape
        noise = xp.clip(combined[(k + 1) * p :] * start.noise, self._floor, None)
        loadings = xp.reshape(combined[: k * p], (k, p)) * self._sd
        mean = start.mean + combined[k * p : (k + 1) * p] * start.scale * self._sd
        return LatentGaussian(mean, start.scale, loadings, noise)

    def retry(self, change: float) -> LatentGaussian | None:
        return None

    def _vector(self, model: LatentGaussian) -> np.ndarray:
        xp, start = namespace(model.noise), self._start
        mean = (model.mean - start.mean) / start.scale / self._sd
        return to_numpy(xp.concat([xp.reshape(model.loadings / self._sd, (-1,)), mean, model.noise / start.noise]))


class QuasiNewton:
    """L-BFGS on the log-likelihood l of the observed entries, over W, the mean and ln(noise).

    Parameters
    ----------
    start : LatentGaussian
    tied : bool
        One noise variance for all columns, or one per column.
    floor : float
        Lower bound on the noise variances.

    Notes
    -----
    The gradient of l is that of the expected log-likelihood of EM (Fisher's identity), which the sums of `Latent`
    give: with A_d, c_d and v = (u, 1) as in `MaximumLikelihood`, n_d observed entries, and t_d = (w_d, 0),

        dl / d(w_d, mean_d) = (c_d - A_d t_d) / noise_d
        dl / d ln(noise_d) = (R_d / noise_d - n_d) / 2,  R_d = sum_i m_id z_id^2 - 2 c_d^T t_d + t_d^T A_d t_d

    The initial approximation of the second derivatives is the block of w_d in the Fisher information. A row of
    covariance S_i = W^T W + diag(noise) over its observed entries adds (S_i^{-1})_dd W S_i^{-1} W^T to it (and a part
    of rank one, which is left out). With T_i = cov(u_i), these are (1 - w_d^T T_i w_d / noise_d) / noise_d and I - T_i,
    so that means of both over the rows follow from sum_i m_id T_i. Plain EM uses the information A_d / noise_d of
    complete data instead [1]_, which is far too large if most entries are missing or the noise is small; its steps are
    then too short.

    References
    ----------
    .. [1] Jamshidian, Jennrich (1997), Acceleration of the EM algorithm by using quasi-Newton methods.
    """

    def __init__(self, start: LatentGaussian, tied: bool, floor: float) -> None:
        self._tied, self._log_floor, self._origin = tied, float(np.log(floor)), start.mean
        self._memory = LimitedMemory(_QUASI_NEWTON_MEMORY)
        self.clear()

    def clear(self) -> None:
        self._memory.clear()
        self._last: tuple[np.ndarray, np.ndarray] | None = None

    def propose(
        self, expected: Latent, at: LatentGaussian, plain: LatentGaussian, residual: float
    ) -> LatentGaussian | None:
        x, derivatives = self._vector(at), _Derivatives(expected, self._tied)
        gradient = derivatives.gradient
        # Noise variances at their lower bound stay there as long as the likelihood increases below it.
        noise = slice(at.mean.shape[0] * (at.k + 1), None)
        fixed = np.zeros(len(x), dtype=bool)
        fixed[noise] = (x[noise] <= self._log_floor) & (gradient[noise] < 0.0)
        gradient = np.where(fixed, 0.0, gradient)
        if self._last is not None:
            self._memory.add(x - self._last[0], self._last[1] - gradient)
        self._last = x, gradient
        direction = self._memory.direction(gradient, derivatives.solve)
        if not float(direction @ gradient) > 0.0:
            self._memory.clear()
            direction = derivatives.solve(gradient)
        direction[noise] = np.clip(direction[noise], -_LARGEST_CHANGE, _LARGEST_CHANGE)
        direction[fixed] = 0.0
        slope = float(direction @ gradient)
        if not (np.all(np.isfinite(direction)) and slope > 0.0):
            self.clear()
            return None
        self._model, self._direction, self._slope, self._length, self._tries = at, direction, slope, 1.0, 0
        return self._at_length()

    def retry(self, change: float) -> LatentGaussian | None:
        self._tries += 1
        if self._tries > _RETRIES:
            return None
        # The maximum of the parabola through the value and slope at the start and the value at the end of the step.
        expected = self._slope * self._length
        share = 0.5 * expected / (expected - change) if np.isfinite(change) else 0.0
        self._length *= min(max(share, 0.1), 0.5)
        return self._at_length()

    def _at_length(self) -> LatentGaussian:
        """The model at the current length of the step."""
        model = self._model
        k, p = model.loadings.shape
        x = self._vector(model) + self._length * self._direction
        log_noise = np.maximum(x[(k + 1) * p :], self._log_floor)
        noise = np.broadcast_to(np.exp(log_noise), (p,))
        W, step, noise = (
            asarray_like(np.ascontiguousarray(a), model.noise, dtype=model.noise.dtype)
            for a in (x[: k * p].reshape(k, p), x[k * p : (k + 1) * p], noise)
        )
        return LatentGaussian(self._origin + step * model.scale, model.scale, W, noise)

    def _vector(self, model: LatentGaussian) -> np.ndarray:
        """W, the mean in units of the scale, and ln(noise), as one vector."""
        step = to_numpy((model.mean - self._origin) / model.scale)
        log_noise = np.log(to_numpy(model.noise[:1] if self._tied else model.noise))
        return np.concatenate([to_numpy(model.loadings).ravel(), step, log_noise])


class _Derivatives:
    """The gradient of the log-likelihood, and the approximate Fisher information, from the sums of a `Latent`."""

    def __init__(self, latent: Latent, tied: bool) -> None:
        model = latent.model
        k, p = model.k, latent.loadings.shape[1]
        A = np.ascontiguousarray(unpack(to_numpy(latent.second), k + 1).transpose(2, 0, 1))
        T = np.ascontiguousarray(unpack(to_numpy(latent.covariances), k).transpose(2, 0, 1))
        c, W, noise = to_numpy(latent.cross).T, to_numpy(model.loadings).T, to_numpy(model.noise)
        count = A[:, k, k]
        Aw = A[:, :, :k] @ W[:, :, None]
        rest = c - Aw[:, :, 0]
        by_columns = rest / noise[:, None]
        residual = to_numpy(latent.squares) - np.sum((c[:, :k] + rest[:, :k]) * W, axis=1)
        by_noise = 0.5 * (residual / noise - count)
        parts = by_columns[:, :k].T.ravel(), by_columns[:, k], by_noise.sum(keepdims=True) if tied else by_noise
        self.gradient = np.concatenate(parts)
        # What the observed entries leave over for the noise, n_d - sum_i m_id w_d^T T_i w_d / noise_d.
        explained = np.sum(W * (T @ W[:, :, None])[:, :, 0], axis=1) / noise
        free = np.clip(count - explained, _LEAST_SHARE * count, count)
        information = (free / count)[:, None, None] * (count[:, None, None] * np.eye(k) - T)
        self._information = (information + _LEAST_SHARE * A[:, :k, :k]) / noise[:, None, None]
        self._of_mean = free / noise
        self._of_noise = 0.5 * free.sum(keepdims=True) if tied else 0.5 * free * free / count
        self._shape = k, p

    def solve(self, gradient: np.ndarray) -> np.ndarray:
        """The inverse of the approximate information times a gradient."""
        k, p = self._shape
        by_columns = gradient[: k * p].reshape(k, p).T
        W = np.linalg.solve(self._information, by_columns[:, :, None])[:, :, 0].T
        mean = gradient[k * p : (k + 1) * p] / self._of_mean
        return np.concatenate([W.ravel(), mean, gradient[(k + 1) * p :] / self._of_noise])


class AndersonThenQuasiNewton(Anderson):
    """Anderson acceleration; `QuasiNewton` where that would take many more steps.

    Anderson acceleration combines steps with parameter expansion, and ends after a few of them unless the likelihood is
    ill-conditioned. If no step of the quasi-Newton method increases the likelihood, Anderson acceleration goes on.

    `tol` is the tolerance of the iteration.
    """

    _newton: QuasiNewton | None = None

    def __init__(self, start: LatentGaussian, tied: bool, floor: float, tol: float) -> None:
        super().__init__(start, floor)
        self._tied, self._tol = tied, tol
        self._residuals: list[float] = []

    def clear(self) -> None:
        if self._newton is None:
            super().clear()
        else:
            self._newton, self._residuals = None, []

    def propose(
        self, expected: Latent, at: LatentGaussian, plain: LatentGaussian, residual: float
    ) -> LatentGaussian | None:
        self._residuals.append(residual)
        done = len(self._residuals)
        if self._newton is None and done > _LOOK_BACK and done % _LOOK_EVERY == 0:
            many = steps_left(self._residuals[-_LOOK_BACK:], self._tol) > _MANY_STEPS
            self._newton = QuasiNewton(self._start, self._tied, self._floor) if many else None
        if self._newton is None:
            return super().propose(expected, at, plain, residual)
        return self._newton.propose(expected, at, plain, residual)

    def retry(self, change: float) -> LatentGaussian | None:
        return None if self._newton is None else self._newton.retry(change)
