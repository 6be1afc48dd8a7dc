"""The base class of densities, and the flipped density for sources on the other side of the Gaussian."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import cached_property, lru_cache
from typing import ClassVar

import numpy as np
from scipy import integrate

from .._xp import Array, column_sums


class Density(ABC):
    """A normalised density p(u): `energy` is -ln p, `score` its derivative psi, and `slope` the derivative of psi.

    Examples
    --------
    >>> import numpy as np
    >>> from lowdim.densities import Density, Sech
    >>> isinstance(Sech(), Density)
    True
    >>> u = np.array([-1.0, 0.0, 1.0])
    >>> np.exp(-Sech().energy(u)).round(4)  # the density itself
    array([0.2063, 0.3183, 0.2063])
    >>> Sech().score(u).round(4), Sech().slope(u).round(4)
    (array([-0.7616,  0.    ,  0.7616]), array([0.42, 1.  , 0.42]))
    """

    #: Shorthand.
    name: ClassVar[str]
    #: The largest slope of the score, which `flipped` needs, or None if the slope is unbounded.
    bound: float | None = None
    #: Whether -ln p is convex, so that the score never decreases.
    convex: bool = True
    #: Whether FastICA's rotations, which maximise the distance from a Gaussian, also increase the likelihood.
    prefers_rotations: ClassVar[bool] = True

    @abstractmethod
    def energy(self, Y: Array) -> Array:
        """-ln p(u), entry by entry."""

    @abstractmethod
    def score(self, Y: Array) -> Array:
        """psi(u) = -d ln p(u) / du, entry by entry."""

    @abstractmethod
    def slope(self, Y: Array) -> Array:
        """psi'(u), entry by entry."""

    def terms(
        self, Y: Array, weights: Array | None, room: list[np.ndarray] | None, *, measured: bool = True
    ) -> tuple[Array, Array, Array]:
        """psi, psi' and, if `measured`, the (weighted) sums of -ln p over the rows of `Y`.

        `room` is None, or holds three arrays of the shape of `Y` that may be used for the results.
        """
        total = column_sums(self.energy(Y), weights) if measured else None
        return self.score(Y), self.slope(Y), total

    @cached_property
    def flipped(self) -> Flipped | None:
        """The density q with -ln q(u) = c u^2 / 2 + ln p(u) + constant, where c is `bound`; None without a `bound`.

        It is for sources on the other side of the Gaussian: with light tails if p has heavy ones, and vice versa.
        """
        return None if self.bound is None else Flipped(self)

    def __str__(self) -> str:
        known = [(f.name, getattr(self, f.name)) for f in fields(self)]  # type: ignore[arg-type] # dataclasses
        return f"{type(self).__name__}({', '.join(f'{name}={value}' for name, value in known)})"


@dataclass(frozen=True)
class Flipped(Density):
    """-ln p(u) = c u^2 / 2 - f(u) + constant, where f is -ln of another density and c its `bound`.

    For `Sech` this is the average of two Gaussians with variance 1 and means -1 and 1: psi = u - tanh u. Since the
    score consists of u and the score of the other density, its moments follow from the moments of that score and from
    second moments.

    References
    ----------
    .. [1] Lee, Girolami, Sejnowski (1999), Independent component analysis using an extended infomax algorithm.

    Examples
    --------
    >>> import numpy as np
    >>> from lowdim.densities import Flipped, Sech
    >>> flipped = Flipped(Sech())
    >>> np.exp(-flipped.energy(np.array([0.0, 1.0, 2.0]))).round(3)  # flatter than a Gaussian
    array([0.242, 0.226, 0.123])
    """

    name = "flipped"
    other: Density

    @cached_property
    def _curvature(self) -> float:
        if self.other.bound is None:
            raise ValueError(f"{self.other} cannot be flipped, because the slope of its score has no upper bound.")
        return self.other.bound

    @property
    def constant(self) -> float:
        """The constant that normalises the density."""
        return _flipped_constant(self.other, self._curvature)

    def energy(self, Y: Array) -> Array:
        return 0.5 * self._curvature * Y * Y - self.other.energy(Y) + self.constant

    def score(self, Y: Array) -> Array:
        return self._curvature * Y - self.other.score(Y)

    def slope(self, Y: Array) -> Array:
        return self._curvature - self.other.slope(Y)

    def __str__(self) -> str:
        return f"Flipped({self.other})"


def log_integral(energy: Callable[[float], float]) -> float:
    """ln of the integral of exp(-energy) over the real line, for an even `energy`; infinity if it diverges."""
    lowest = energy(0.0)
    with np.errstate(all="ignore"):
        value, error = integrate.quad(
            lambda u: math.exp(min(lowest - energy(u), 700.0)), 0.0, math.inf, limit=200, full_output=True
        )[:2]
    if not (0.0 < value < math.inf) or error > 1e-6 * value:
        return math.inf
    return math.log(2.0 * value) - lowest


@lru_cache(maxsize=64)
def _flipped_constant(density: Density, curvature: float) -> float:
    return log_integral(lambda u: 0.5 * curvature * u * u - float(density.energy(np.array([u]))[0]))
