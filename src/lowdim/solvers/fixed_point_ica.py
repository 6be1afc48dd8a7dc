"""Independent sources by the fixed point iteration of FastICA, all sources side by side."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from .results import Status, Unmixing
from .unmixing import Flips, Objective, symmetric_root


@dataclass(frozen=True)
class FixedPointICA:
    """W becomes the rotation nearest to E[psi(y) z^T] - diag(E[psi'(y)]) W.

    Parameters
    ----------
    tol : float
        Iterate until no entry of the skew part of the relative gradient is larger.
    max_iter : int

    Notes
    -----
    In sources the map is B W with B = E[psi(y) y^T] - diag(E[psi'(y)]), which `ScoreMoments` holds: one pass a step.
    Rotations where B has no skew part stay where they are. Quick where sources are independent and far from Gaussian;
    nothing sees to it that the iteration ends [1]_.

    References
    ----------
    .. [1] Hyvarinen (1999), Fast and robust fixed-point algorithms for independent component analysis.
    """

    tol: float = 1e-6
    max_iter: int = 1000
    ortho: ClassVar[bool] = True

    def run(self, objective: Objective, W: np.ndarray, flipped: np.ndarray, extended: bool) -> Unmixing:
        """From W, a rotation, with the other density for sources that are `flipped`; if `extended`, that may change."""
        flips = Flips(flipped, objective.density, extended)
        losses, steps = [], 0
        while True:
            base = objective.at(W, curved=False)
            flips.update(base)
            point = flips.seen(base)
            norm = float(np.abs(point.gradient(ortho=True)).max())
            losses.append(point.loss)
            if norm <= self.tol or steps >= self.max_iter:
                break
            # The sign of a source is of no matter to the iteration, but to the gradient of the next step it is.
            B = base.products - np.diag(base.slopes)
            W = symmetric_root(np.copysign(1.0, np.diagonal(B))[:, None] * B) @ W
            steps += 1
        status = Status.CONVERGED if norm <= self.tol else Status.NOT_CONVERGED
        return Unmixing(W, flips.flipped, losses, norm, base.stability, status, steps)
