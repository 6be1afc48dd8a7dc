"""Independent sources by a preconditioned quasi-Newton method on the relative gradient."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np

from ...errors import no_maximum
from ..results import Status, Unmixing
from .ica_solver import IcaSolver
from .objective import NARROW_ABOVE, Flips, Objective, Point

#: Second derivatives are taken to be at least this.
_LEAST_CURVATURE = 0.01
#: No entry of a step is larger.
_LARGEST_STEP = {False: 0.7, True: 1.5}
#: A step that does not go downhill is halved so often, then cut to a fifth; after so many tries the gradient itself is
#: tried, and then it is given up.
_HALVINGS, _TRIES = 3, 15
#: No source of whitened rows is so large where the likelihood has a maximum.
_LARGEST_VARIANCE = 1e10
#: While a diagonal entry of the gradient is larger, only the scales of sources are changed.
_FAR_SCALE = 0.1
#: Losses that differ by less than so many roundings are the same.
_ROUNDINGS = 16
#: Steps without a smaller gradient at a loss that is level: rounding is all that is left.
_IDLE = 10


@dataclass(frozen=True)
class QuasiNewtonICA(IcaSolver):
    """Minimise -ln |det W| + sum_i E[-ln p_i(y_i)] over W, or over rotations.

    Parameters
    ----------
    tol : float
        Iterate until no entry of the relative gradient (of its skew part for rotations) is larger.
    max_iter : int
        Give up after so many steps.
    ortho : bool
        W is a rotation of the whitened rows: sources are uncorrelated exactly.
    memory : int
        Steps that L-BFGS remembers; with 0 the first guess of the second derivatives is all there is.

    Notes
    -----
    W becomes (I + M) W, or for rotations (I - M/2)^{-1} (I + M/2) W with skew M. M is the direction of L-BFGS whose
    first guess of the second derivatives is exact for independent sources [1]_ [2]_: pairs (M_ij, M_ji) apart from each
    other. Scales of sources that are far off come first. Each step is one pass over the rows, a further one where it
    has to be halved: loss and gradient come from one `ScoreMoments`. As long as the gradient is far from the tolerance,
    float32 is enough for that; the last steps are float64.

    References
    ----------
    .. [1] Ablin, Cardoso, Gramfort (2018), Faster independent component analysis by preconditioning with Hessian
       approximations.
    .. [2] Ablin, Cardoso, Gramfort (2018), Faster ICA under orthogonal constraint.
    """

    name = "quasi-newton"
    _stuck = "No step led further up: try ortho=True, another density, or another random_state."
    memory: int = 10

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_whole("memory", least=0)

    def run(
        self,
        objective: Objective,
        W: np.ndarray,
        flipped: np.ndarray,
        extended: bool,
        *,
        spent: int = 0,
        rough: bool = False,
    ) -> Unmixing:
        """As of any solver; a `rough` answer comes from float32 alone."""
        flips = Flips(flipped, objective.density, extended)
        history = _History(self.memory)
        base = objective.at(W, curved=not self.ortho, narrow=True)
        losses: list[float] = []
        best, idle, steps, all_wide = np.inf, 0, 0, False
        while True:
            if flips.update(base):
                # Another function: what was learnt of its second derivatives is no longer true.
                history.clear()
                best, idle = np.inf, 0
            point = flips.apply(base)
            gradient = point.gradient(self.ortho)
            norm = float(np.abs(gradient).max())
            idle = 0 if norm < best or not _is_level([*losses[-1:], point.loss], base.epsilon) else idle + 1
            best = min(best, norm)
            taken = None
            doubtful = steps == 0 and norm <= NARROW_ABOVE and base.narrow
            if norm > self.tol and steps < self.max_iter - spent and idle <= _IDLE and (rough or not doubtful):
                history.learn(gradient)
                taken = self._step(
                    objective, flips, point, gradient, history, rough or not (all_wide or norm <= NARROW_ABOVE)
                )
            if taken is not None:
                losses.append(point.loss)
                base, step = taken
                history.took(gradient, step)
                steps += 1
            elif rough or not base.narrow:
                break
            else:
                # As far as float32 goes: look again, and go on from there.
                all_wide = True
                base = objective.at(point.W, curved=not self.ortho, narrow=False)
                best, idle = np.inf, 0
        status = Status.CONVERGED if norm <= self.tol else Status.NOT_CONVERGED
        return Unmixing(
            point.W, flips.flipped, [*losses, point.loss], norm, base.stability, base.kurtosis, status, steps
        )

    def _step(
        self,
        objective: Objective,
        flips: Flips,
        point: Point,
        gradient: np.ndarray,
        history: _History,
        narrow: bool,
    ) -> tuple[Point, np.ndarray] | None:
        """The next point, not above this one, and how it was reached; None where there is none."""
        preconditioner = self._preconditioner(point)
        if not self.ortho and np.abs(np.diagonal(gradient)).max() > _FAR_SCALE:
            # At scales that are far off, second derivatives between sources say little.
            history.clear()
            gradient = np.diag(np.diagonal(gradient))
        direction = self._shorten(-history.direction(gradient, preconditioner))
        if np.sum(direction * gradient) >= 0.0:
            direction = self._downhill(gradient, history)
        loss = point.loss
        for attempt in range(2 * _TRIES):
            base = objective.at(self._move(point.W, direction), curved=not self.ortho, narrow=narrow)
            if flips.apply(base).loss <= loss + _rounding(loss, max(base.epsilon, point.epsilon)):
                if base.variances.max() > _LARGEST_VARIANCE:
                    raise no_maximum()
                return base, direction
            if attempt == _TRIES:
                direction = self._downhill(gradient, history)
            else:
                direction = direction * (0.5 if attempt % _TRIES < _HALVINGS else 0.2)
        return None

    def _downhill(self, gradient: np.ndarray, history: _History) -> np.ndarray:
        """Minus the gradient, where the second derivatives led nowhere; they are forgotten."""
        history.clear()
        return self._shorten(-gradient)

    def _shorten(self, direction: np.ndarray) -> np.ndarray:
        """The direction, shortened where an entry is too large for a step."""
        most = float(np.abs(direction).max())
        limit = _LARGEST_STEP[self.ortho]
        return direction * (limit / most) if most > limit else direction

    def _move(self, W: np.ndarray, M: np.ndarray) -> np.ndarray:
        """W after the step M."""
        identity = np.eye(len(W))
        if self.ortho:
            return np.asarray(np.linalg.solve(identity - 0.5 * M, (identity + 0.5 * M) @ W))
        return (identity + M) @ W

    def _preconditioner(self, point: Point) -> _Rotations | _Pairs:
        return _Rotations(point) if self.ortho else _Pairs(point)


class _Rotations:
    """For skew M: (1/2) (E[psi'(y_i)] + E[psi'(y_j)] - E[psi(y_i) y_i] - E[psi(y_j) y_j]) M_ij, and its inverse."""

    def __init__(self, point: Point) -> None:
        stability = point.slopes - np.diagonal(point.products)
        self._h = np.maximum(0.5 * (stability[:, None] + stability[None, :]), _LEAST_CURVATURE)

    def solve(self, G: np.ndarray) -> np.ndarray:
        """M with H M = G."""
        return G / self._h


class _Pairs:
    """For any M: E[psi'(y_i) y_j^2] M_ij + M_ji, and its inverse, pairs of small curvature raised."""

    def __init__(self, point: Point) -> None:
        h = point.curvature
        assert h is not None, "asked for without ortho"
        smallest = 0.5 * (h + h.T - np.sqrt((h - h.T) ** 2 + 4.0))
        raised = h + np.maximum(_LEAST_CURVATURE - smallest, 0.0)
        np.fill_diagonal(raised, np.maximum(np.diagonal(h) + 1.0, _LEAST_CURVATURE))
        self._h = raised
        # The diagonal stands alone: (h_ii + 1) M_ii.
        self._other = 1.0 - np.eye(len(h))

    def solve(self, G: np.ndarray) -> np.ndarray:
        """M with H M = G."""
        h, other = self._h, self._other
        determinant = np.where(other > 0.0, h * h.T - 1.0, h)
        return np.where(other > 0.0, h.T * G - G.T, G) / determinant


class _History:
    """The steps that L-BFGS remembers, and its two loops over them."""

    def __init__(self, memory: int) -> None:
        self._pairs: deque[tuple[np.ndarray, np.ndarray, float]] = deque(maxlen=memory)
        self._last: tuple[np.ndarray, np.ndarray] | None = None

    def clear(self) -> None:
        """Forget everything."""
        self._pairs.clear()
        self._last = None

    def took(self, gradient: np.ndarray, step: np.ndarray) -> None:
        """A step was taken from where the gradient was this."""
        self._last = gradient, step

    def learn(self, gradient: np.ndarray) -> None:
        """How the gradient changed along the step before."""
        if self._last is None:
            return
        change, step = gradient - self._last[0], self._last[1]
        product = float(np.sum(change * step))
        if product > 1e-10 * np.linalg.norm(change) * np.linalg.norm(step):
            self._pairs.append((step, change, product))

    def direction(self, gradient: np.ndarray, preconditioner: _Rotations | _Pairs) -> np.ndarray:
        """What the inverse of the second derivatives makes of the gradient."""
        q, factors = gradient.copy(), []
        for step, change, product in reversed(self._pairs):
            factors.append(float(np.sum(step * q)) / product)
            q -= factors[-1] * change
        z = preconditioner.solve(q)
        for (step, change, product), factor in zip(self._pairs, reversed(factors), strict=True):
            z += (factor - float(np.sum(change * z)) / product) * step
        return z


def _rounding(loss: float, epsilon: float) -> float:
    return _ROUNDINGS * epsilon * max(1.0, abs(loss))


def _is_level(losses: list[float], epsilon: float) -> bool:
    """Whether the last step lowered the loss by no more than rounding."""
    if len(losses) < 2:
        return False
    return losses[-2] - losses[-1] <= _rounding(losses[-1], epsilon)
