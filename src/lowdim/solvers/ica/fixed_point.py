"""Independent sources by the fixed point iteration of FastICA, all sources side by side."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ..results import Status, Unmixing
from .ica_solver import IcaSolver
from .objective import NARROW_ABOVE, Objective, Point, symmetric_root

#: After so many steps without a smaller gradient there is no end to be hoped for.
_IDLE = 100


@dataclass(frozen=True)
class FixedPointICA(IcaSolver):
    """W becomes the rotation nearest to E[psi(y) z^T] - diag(E[psi'(y)]) W.

    Parameters
    ----------
    tol : float
        Iterate until no entry of the skew part of the relative gradient is larger.
    max_iter : int
        Give up after so many steps.

    Notes
    -----
    In sources the map is B W with B = E[psi(y) y^T] - diag(E[psi'(y)]), which `ScoreMoments` holds: one pass a step.
    Rotations where diag(s) B has no skew part stay where they are, s the signs of the diagonal of B: for sources that
    the density is not for, this is the gradient of the flipped one, whether that is asked for or not. Quick where
    sources are independent and far from Gaussian; nothing sees to it that the iteration ends [1]_.

    References
    ----------
    .. [1] Hyvarinen (1999), Fast and robust fixed-point algorithms for independent component analysis.
    """

    name = "fixed-point"
    _instead = ", or use solver='quasi-newton'"
    _stuck = "It goes in circles: use solver='quasi-newton'."
    minds_tails = False
    #: This is not an option: W is always a rotation.
    ortho: bool = field(default=True, init=False, repr=False)

    def run(
        self, objective: Objective, W: np.ndarray, flipped: np.ndarray, extended: bool, *, spent: int = 0
    ) -> Unmixing:
        density = objective.density
        can_flip = extended and density.flipped is not None
        losses, steps, norm = [], 0, np.inf
        best, idle = np.inf, 0
        while True:
            base = objective.at(W, curved=False, narrow=norm > NARROW_ABOVE)
            if can_flip:
                flipped = _signs(base) > 0.0
            point = base.with_flips(flipped, density)
            norm = _skew_part(base)
            idle = 0 if norm < best else idle + 1
            best = min(best, norm)
            if norm <= self.tol or steps >= self.max_iter - spent or idle > _IDLE:
                if not base.narrow:
                    break
                norm, best, idle = 0.0, np.inf, 0
                continue
            losses.append(point.loss)
            W = _next(base)
            steps += 1
        status = Status.CONVERGED if norm <= self.tol else Status.NOT_CONVERGED
        return Unmixing(W, flipped, [*losses, point.loss], norm, base.stability, base.kurtosis, status, steps)


def first_steps(
    objective: Objective, W: np.ndarray, flipped: np.ndarray, extended: bool, tol: float, steps: int
) -> tuple[np.ndarray, np.ndarray, int]:
    """A rotation nearer to the sources, which of them look flipped, and the steps that were taken, `steps` at most:
    from afar this is the quickest way. In float32, and no likelihood is looked at."""
    for step in range(steps):
        base = objective.at(W, curved=False, narrow=True, measured=False)
        if extended and objective.density.flipped is not None:
            flipped = _signs(base) > 0.0
        if _skew_part(base) <= tol:
            return W, flipped, step
        W = _next(base)
    return W, flipped, steps


def _next(point: Point) -> np.ndarray:
    """The rotation that follows."""
    return symmetric_root(_signs(point)[:, None] * (point.products - np.diag(point.slopes))) @ point.W


def _signs(point: Point) -> np.ndarray:
    """With them, a step does not turn sources round."""
    return np.copysign(1.0, np.diagonal(point.products) - point.slopes)


def _skew_part(point: Point) -> float:
    G = _signs(point)[:, None] * point.products
    return 0.5 * float(np.abs(G - G.T).max())
