"""What iterations of several problems share: checks of their options, and the memory of quasi-Newton methods."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from numbers import Integral, Real
from typing import Any

import numpy as np


def check_whole(options: Any, name: str, least: int = 1, instead: str = "") -> None:
    """Refuse an option that is not a whole number of at least `least`; the message adds what is allowed `instead`."""
    value = getattr(options, name)
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        kind = type(options).__name__
        raise ValueError(f"{kind}({name}={value!r}): a whole number of at least {least} is needed{instead}.")


def check_share(options: Any, name: str) -> None:
    """Refuse an option that is not a number between 0 and 1."""
    value = getattr(options, name)
    if not isinstance(value, Real) or not 0.0 < float(value) < 1.0:
        raise ValueError(f"{type(options).__name__}({name}={value!r}): a number between 0 and 1 is needed.")


class LimitedMemory:
    """The correction of approximate second derivatives by Broyden, Fletcher, Goldfarb and Shanno, for the last steps.

    Parameters
    ----------
    size : int
        Number of steps that are remembered.
    least : float
        A step s with the difference z of gradients shows a curvature if s^T z is more than this share of |s| |z|.

    Notes
    -----
    The inverse H of the second derivatives is replaced in turn by

        (I - s z^T / z^T s) H (I - z s^T / z^T s) + s s^T / z^T s,

    which maps z to s. It is applied to a vector by the two loops of [1]_, and is exact where the approximation is.

    References
    ----------
    .. [1] Nocedal (1980), Updating quasi-Newton matrices with limited storage.
    """

    def __init__(self, size: int, least: float = 1e-10) -> None:
        self._steps: deque[tuple[np.ndarray, np.ndarray, float]] = deque(maxlen=size)
        self._least = least

    def clear(self) -> None:
        """Forget all steps."""
        self._steps.clear()

    def add(self, step: np.ndarray, change: np.ndarray) -> None:
        """Remember a step, and the change of the gradient along it."""
        product = _inner(step, change)
        if product > self._least * float(np.linalg.norm(step) * np.linalg.norm(change)):
            self._steps.append((step, change, product))

    def direction(self, gradient: np.ndarray, solve: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        """The corrected inverse times the gradient; `solve` multiplies by the inverse that is corrected."""
        q, factors = gradient.copy(), []
        for step, change, product in reversed(self._steps):
            factors.append(_inner(step, q) / product)
            q -= factors[-1] * change
        z = solve(q)
        for (step, change, product), factor in zip(self._steps, reversed(factors), strict=True):
            z += (factor - _inner(change, z) / product) * step
        return z


def _inner(a: np.ndarray, b: np.ndarray) -> float:
    return float(a @ b) if a.ndim == 1 else float(np.sum(a * b))
