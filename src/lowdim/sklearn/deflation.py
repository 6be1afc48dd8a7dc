"""FastICA's iteration for one source after another."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..solvers import FixedPointICA, Status, Unmixing
from ..solvers.ica import Objective


@dataclass(frozen=True)
class Deflation(FixedPointICA):
    """In each step w becomes E[psi(w z) z] - E[psi'(w z)] w, orthogonal to the sources before it, and of length one.

    Errors of the first sources are passed on to the later ones, so that the result is less accurate than that of the
    iteration for all sources together. It is kept because FastICA(algorithm="deflation") asks for it.
    """

    name = "deflation"

    def run(
        self, objective: Objective, W: np.ndarray, flipped: np.ndarray, extended: bool, *, spent: int = 0
    ) -> Unmixing:
        W, steps, worst = W.copy(), 0, 0.0
        for j in range(len(W)):
            W, taken, norm = self._find(objective, W, j)
            steps, worst = max(steps, taken), max(worst, norm)
        point = objective.at(W, curved=False, narrow=False)
        status = Status.CONVERGED if worst <= self.tol else Status.NOT_CONVERGED
        return Unmixing(W, flipped, [point.loss], worst, point.stability, point.kurtosis, status, steps)

    def _find(self, objective: Objective, W: np.ndarray, j: int) -> tuple[np.ndarray, int, float]:
        """The rotation W with source j found among those after it, the number of steps, and the last gradient."""
        for step in range(self.max_iter + 1):
            point = objective.at(W, curved=False, narrow=False)
            # E[psi(y_j) y] has no part along the later sources where source j is found.
            later = point.products[j, j + 1 :]
            norm = float(np.abs(later).max()) if later.size else 0.0
            if norm <= self.tol or step == self.max_iter:
                return W, step, norm
            direction = point.products[j].copy()
            direction[j] -= point.slopes[j]
            direction[:j] = 0.0
            W = _rotate_to(W, j, np.copysign(1.0, direction[j]) * direction)
        raise AssertionError("the loop returns")


def _rotate_to(W: np.ndarray, j: int, direction: np.ndarray) -> np.ndarray:
    """W with row j turned to `direction`, which is in the coordinates of its rows and zero before j."""
    later = direction[j:] / np.linalg.norm(direction)
    # A Householder reflection that maps the first unit vector to the direction; its other rows complete the basis.
    v = later.copy()
    v[0] += np.copysign(1.0, v[0])
    reflection = np.eye(len(v)) - 2.0 * np.outer(v, v) / (v @ v)
    reflection[0] = later
    turned = W.copy()
    turned[j:] = reflection @ W[j:]
    return turned
