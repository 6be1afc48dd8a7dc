"""Corrections of approximate second derivatives by what the last steps have shown of them."""

from __future__ import annotations

from collections import deque

import numpy as np

from .concentrated import Point, Step

#: How many steps are remembered.
_REMEMBERED = 5
#: A step shows a curvature if s^T z is more than this share of |s| |z|.
_LEAST_CURVATURE = 1e-8
#: Corrections that make the largest entry of a step larger than this, and than so many times that of the plain step,
#: are forgotten.
_LONGEST, _LONGER = 1.0, 4.0


class Corrections:
    """Newton's steps with second derivatives that are corrected by those of Broyden, Fletcher, Goldfarb and Shanno.

    Notes
    -----
    With steps s and differences z of gradients, the inverse H of the second derivatives is replaced in turn by

        (I - s z^T / z^T s) H (I - z s^T / z^T s) + s s^T / z^T s,

    which maps z to s. It is applied to a vector by the two loops of [1]_, and is exact where the approximation is.

    References
    ----------
    .. [1] Nocedal (1980), Updating quasi-Newton matrices with limited storage.
    """

    def __init__(self) -> None:
        self._pairs: deque[tuple[np.ndarray, np.ndarray]] = deque(maxlen=_REMEMBERED)
        self._free: np.ndarray | None = None

    def step(self, at: Point, free: np.ndarray) -> Step:
        """The corrected step in the coordinates that are `free`; the plain one if these are others than before."""
        if self._free is None or not np.array_equal(free, self._free):
            self._pairs.clear()
            self._free = free.copy()
        if not self._pairs:
            return at.newton_step(free)
        q, shares = np.where(free, at.gradient, 0.0), []
        for s, z in reversed(self._pairs):
            shares.append(float(s @ q) / float(s @ z))
            q = q - shares[-1] * z
        plain = at.newton_step(free, q)
        move = -plain.move
        for (s, z), share in zip(self._pairs, reversed(shares), strict=True):
            move = move + s * (share - float(z @ move) / float(s @ z))
        if np.abs(move).max() > max(_LONGEST, _LONGER * np.abs(plain.move).max()):
            self._pairs.clear()
            return at.newton_step(free)
        return Step(-move, plain.convex)

    def note(self, before: Point, after: Point) -> None:
        """Remember a step."""
        assert self._free is not None
        s, z = (np.where(self._free, b - a, 0.0) for a, b in ((before.y, after.y), (before.gradient, after.gradient)))
        if float(s @ z) > _LEAST_CURVATURE * float(np.linalg.norm(s) * np.linalg.norm(z)):
            self._pairs.append((s, z))
