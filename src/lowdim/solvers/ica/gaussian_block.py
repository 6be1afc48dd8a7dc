"""Sources that look Gaussian while an iteration runs: rotations among them cannot be found, and are left out."""

from __future__ import annotations

import numpy as np

from ...densities import Density
from .diagnosis import deviations_from_gaussian, gaussian_sources
from .objective import Point

#: Sources are compared with Gaussian ones for the first time after this many steps, and then every so many. Sources
#: that can be found at all are distinguishable from Gaussian ones long before.
_FIRST, _EVERY = 50, 10


class GaussianBlock:
    """Two or more sources that could not be distinguished from Gaussian ones twice in succession.

    A rotation among Gaussian sources does not change the likelihood, so that an iteration follows the sampling error
    there and needs hundreds of steps. Only the space that such sources span can be found, so rotations of them are left
    out from then on. While the other sources are found, this space may turn, and its sources need not look Gaussian any
    more: that is looked at in the end (`release`).

    Parameters
    ----------
    density : Density
        The density of the sources.
    """

    def __init__(self, density: Density) -> None:
        self._density = density
        self._before: np.ndarray | None = None
        self._was_released = False
        #: Indices of the sources; empty as long as there are none.
        self.members = np.empty(0, dtype=int)

    def __bool__(self) -> bool:
        return len(self.members) > 0

    def find(self, point: Point, n: float, steps: int) -> bool:
        """Look for the sources at `point`, after so many steps on `n` rows; returns whether they were found now."""
        if self or self._was_released or steps < _FIRST or steps % _EVERY or len(point.W) < 2:
            return False
        now = self._gaussian(point, n)
        both = now if self._before is None else np.intersect1d(now, self._before)
        found = self._before is not None and len(both) > 1
        self._before = now
        if found:
            self.members = both
        return found

    def release(self, point: Point, n: float) -> np.ndarray:
        """Let the members go, for good, unless all of them look Gaussian at `point`, where an iteration would end;
        returns those that were let go."""
        if not self or np.isin(self.members, self._gaussian(point, n)).all():
            return np.empty(0, dtype=int)
        released, self.members, self._was_released = self.members, np.empty(0, dtype=int), True
        return released

    def _gaussian(self, point: Point, n: float) -> np.ndarray:
        """The sources that look Gaussian at `point`."""
        return gaussian_sources(deviations_from_gaussian(point.W, point.stability, self._density, n))

    def without_rotations(self, G: np.ndarray, scales: np.ndarray | float = 1.0) -> np.ndarray:
        """The relative gradient G without its part along rotations of the members.

        With D the diagonal matrix of the standard deviations of the sources, `scales`, a rotation of sources y is the
        relative step D S D^{-1} with skew S, and the part left out is the skew part of D G D^{-1}. For a step, the
        scales are the reciprocals, and the part left out is the rotation that it contains.
        """
        if not self:
            return G
        inside = np.ix_(self.members, self.members)
        d = np.broadcast_to(scales, len(G))[self.members]
        ratios = d[:, None] / d
        symmetric = ratios * G[inside]
        symmetric = 0.5 * (symmetric + symmetric.T)
        G = G.copy()
        G[inside] = symmetric / ratios
        return G

    def holds(self, i: int, j: int) -> bool:
        """Whether two sources are both members."""
        return bool(np.isin((i, j), self.members).all())
