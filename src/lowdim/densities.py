"""Densities of independent sources: small parameter objects with -ln p(u), its derivative and the derivative of that.

A density is symmetric about zero, smooth, and of no particular scale: the scale of a source is part of the unmixing
matrix. `DENSITIES` names them.
"""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import cached_property, lru_cache
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from scipy import integrate, special

from ._xp import Array, asarray_like, astype, namespace, to_numpy
from .errors import choice

#: Where the functions of an own density are looked at.
_PROBES = np.array([-3.1, -1.7, -0.9, -0.35, 0.2, 0.6, 1.3, 2.4, 4.2])


class Density(ABC):
    """p(u), normalised; `energy` is -ln p, `score` its derivative psi, `slope` the derivative of psi."""

    #: Shorthand.
    name: ClassVar[str]
    #: The largest slope of the score, or None where there is none: what `flipped` needs.
    bound: float | None = None
    #: Whether the score never falls.
    convex: bool = True
    #: Whether FastICA's rotations, which look for sources far from Gaussian, lead towards likely ones.
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

    def terms(self, Y: Array, weights: Array | None, room: list[np.ndarray] | None) -> tuple[Array, Array, Array]:
        """psi, psi' and the (weighted) sums of -ln p over the rows of `Y`. `room` holds three arrays of the shape of
        `Y` that may be used for the answers, or is None."""
        energy = self.energy(Y)
        xp = namespace(Y)
        total = xp.sum(energy, axis=0) if weights is None else weights @ energy
        return self.score(Y), self.slope(Y), total

    @cached_property
    def flipped(self) -> Flipped | None:
        """q with -ln q(u) = c u^2 / 2 + ln p(u) + constant, for sources on the other side of the Gaussian, where c is
        `bound`; None where there is none."""
        return None if self.bound is None else Flipped(self)

    def __str__(self) -> str:
        known = [(f.name, getattr(self, f.name)) for f in fields(self)]  # type: ignore[arg-type] # dataclasses
        return f"{type(self).__name__}({', '.join(f'{name}={value}' for name, value in known)})"


@dataclass(frozen=True)
class Sech(Density):
    """p(u) = 1 / (pi cosh u): psi = tanh u. Heavier tails than a Gaussian."""

    name = "sech"
    bound = 1.0

    def energy(self, Y: Array) -> Array:
        return _log_cosh(Y) + math.log(math.pi)

    def score(self, Y: Array) -> Array:
        return namespace(Y).tanh(Y)

    def slope(self, Y: Array) -> Array:
        t = namespace(Y).tanh(Y)
        return 1.0 - t * t

    def terms(self, Y: Array, weights: Array | None, room: list[np.ndarray] | None) -> tuple[Array, Array, Array]:
        if room is None or weights is not None:
            return super().terms(Y, weights, room)
        energy = _tanh_terms(Y, *room)
        return room[0], room[1], energy + len(Y) * math.log(math.pi)


@dataclass(frozen=True)
class Infomax(Density):
    """p(u) proportional to exp(-u^2 / 2) / cosh u: psi = u + tanh u. Tails a little heavier than a Gaussian's; flipped,
    psi = u - tanh u. The pair of extended infomax [1].

    References
    ----------
    [1] Lee, Girolami, Sejnowski (1999), Independent component analysis using an extended infomax algorithm.
    """

    name = "infomax"
    bound = 2.0
    prefers_rotations = False

    @cached_property
    def _log_normaliser(self) -> float:
        return _log_integral(lambda u: 0.5 * u * u + math.log(math.cosh(u)) if abs(u) < 300 else math.inf)

    def energy(self, Y: Array) -> Array:
        return 0.5 * Y * Y + _log_cosh(Y) + self._log_normaliser

    def score(self, Y: Array) -> Array:
        return Y + namespace(Y).tanh(Y)

    def slope(self, Y: Array) -> Array:
        t = namespace(Y).tanh(Y)
        return 2.0 - t * t

    def terms(self, Y: Array, weights: Array | None, room: list[np.ndarray] | None) -> tuple[Array, Array, Array]:
        if room is None or weights is not None:
            return super().terms(Y, weights, room)
        psi, slope, spare = room
        energy = _tanh_terms(Y, psi, slope, spare)
        psi += Y
        slope += 1.0
        np.multiply(Y, Y, out=spare)
        return psi, slope, energy + 0.5 * _column_sums(spare) + len(Y) * self._log_normaliser


@dataclass(frozen=True)
class Student(Density):
    """p(u) of Student's t with `freedom` degrees: psi = (nu + 1) u / (nu + u^2). Tails as heavy as one likes."""

    name = "student"
    convex = False
    freedom: float = 4.0

    def __post_init__(self) -> None:
        _check_positive("freedom", self.freedom)

    @property
    def bound(self) -> float:  # type: ignore[override] # depends on the parameter
        return (self.freedom + 1.0) / self.freedom

    def energy(self, Y: Array) -> Array:
        nu = self.freedom
        constant = 0.5 * math.log(math.pi * nu) + float(special.gammaln(nu / 2) - special.gammaln((nu + 1) / 2))
        return 0.5 * (nu + 1.0) * namespace(Y).log1p(Y * Y / nu) + constant

    def score(self, Y: Array) -> Array:
        return (self.freedom + 1.0) * Y / (self.freedom + Y * Y)

    def slope(self, Y: Array) -> Array:
        squares = Y * Y
        return (self.freedom + 1.0) * (self.freedom - squares) / (self.freedom + squares) ** 2


@dataclass(frozen=True)
class GeneralizedGaussian(Density):
    """p(u) proportional to exp(-(u^2 + e^2)^(shape/2)): shape 1 is Laplace's density, 2 the Gaussian, and above that
    tails are lighter than a Gaussian's.

    `smoothing` e rounds the cusp at zero that shapes below 2 have, where a likelihood would have no derivative; it is
    not used from shape 2 on.
    """

    name = "generalized-gaussian"
    shape: float = 1.0
    smoothing: float = 0.1

    def __post_init__(self) -> None:
        _check_positive("shape", self.shape)
        _check_positive("smoothing", self.smoothing)
        if self.shape == 2.0:
            raise ValueError("shape=2.0 is the Gaussian, under which sources cannot be told apart.")

    @property
    def bound(self) -> float | None:  # type: ignore[override] # depends on the parameters
        return self.shape * self.smoothing ** (self.shape - 2.0) if self.shape < 2.0 else None

    @property
    def convex(self) -> bool:  # type: ignore[override] # depends on the parameter
        return self.shape >= 1.0

    @property
    def _e2(self) -> float:
        return self.smoothing**2 if self.shape < 2.0 else 0.0

    @cached_property
    def _log_normaliser(self) -> float:
        if self._e2 == 0.0:
            return math.log(2.0 / self.shape) + float(special.gammaln(1.0 / self.shape))
        return _log_integral(lambda u: (u * u + self._e2) ** (self.shape / 2))

    def energy(self, Y: Array) -> Array:
        return (Y * Y + self._e2) ** (self.shape / 2) + self._log_normaliser

    def score(self, Y: Array) -> Array:
        if self._e2 == 0.0:
            xp = namespace(Y)
            return self.shape * xp.sign(Y) * xp.abs(Y) ** (self.shape - 1.0)
        return self.shape * Y * (Y * Y + self._e2) ** (self.shape / 2 - 1.0)

    def slope(self, Y: Array) -> Array:
        a, squares = self.shape, Y * Y
        if self._e2 == 0.0:
            return a * (a - 1.0) * namespace(Y).abs(Y) ** (a - 2.0)
        r2 = squares + self._e2
        return a * r2 ** (a / 2 - 1.0) * (1.0 + (a - 2.0) * squares / r2)


@dataclass(frozen=True)
class Own(Density):
    """A density given by three functions of NumPy arrays, entry by entry: -ln p (up to a constant), its derivative, and
    the derivative of that. They are checked against each other, and -ln p is normalised."""

    name = "own"
    minus_log: Callable[[Any], Any]
    derivative: Callable[[Any], Any]
    second_derivative: Callable[[Any], Any]

    def __post_init__(self) -> None:
        functions = [getattr(self, f.name) for f in fields(self)]
        for what, function in zip(("-ln p", "its derivative", "its second derivative"), functions, strict=True):
            if not callable(function):
                raise TypeError(f"density: {what} must be a function of an array, got {type(function).__name__}.")
            _probed(function, what)
        for what, function, derivative in (
            ("the derivative of -ln p", functions[0], functions[1]),
            ("the second derivative of -ln p", functions[1], functions[2]),
        ):
            _check_derivative(what, function, derivative)
        asymmetry = np.abs(_probed(functions[0], "-ln p") - _values(functions[0], -_PROBES)).max()
        if asymmetry > 1e-6:
            raise ValueError(
                f"density: -ln p must be symmetric about zero, but -ln p(u) and -ln p(-u) differ by {asymmetry:.2g}."
            )
        with np.errstate(all="ignore"):
            near, far = _values(functions[0], np.array([1e3, 1e6]))
        # Tails as heavy as 1/u have no integral, and quadrature would not see that. What overflows is light enough.
        heavy = math.isfinite(far) and far - near <= 1.001 * math.log(1e3)
        if not math.isfinite(self._log_normaliser) or heavy:
            raise ValueError("density: the integral of p = exp(-(-ln p)) is not finite, so that p is no density.")
        if np.ptp(_probed(functions[2], "its second derivative")) < 1e-9:
            raise ValueError("density: this is the Gaussian, under which sources cannot be told apart.")

    @cached_property
    def _log_normaliser(self) -> float:
        return _log_integral(lambda u: float(_values(self.minus_log, np.array([u]))[0]))

    def energy(self, Y: Array) -> Array:
        return _through_numpy(self.minus_log, Y) + self._log_normaliser

    def score(self, Y: Array) -> Array:
        return _through_numpy(self.derivative, Y)

    def slope(self, Y: Array) -> Array:
        return _through_numpy(self.second_derivative, Y)

    def __str__(self) -> str:
        return f"Own({getattr(self.minus_log, '__name__', 'functions')})"


@dataclass(frozen=True)
class Flipped(Density):
    """-ln p(u) = c u^2 / 2 - f(u) + constant, where f is -ln of another density and c its `bound`.

    Of `Sech` this is the average of two Gaussians with variance 1 at -1 and 1: psi = u - tanh u. The score of another
    side of the Gaussian, of the same functions: moments of it follow from those of the other and from second moments.

    References
    ----------
    .. [1] Lee, Girolami, Sejnowski (1999), Independent component analysis using an extended infomax algorithm.
    """

    name = "flipped"
    other: Density

    @cached_property
    def _curvature(self) -> float:
        if self.other.bound is None:
            raise ValueError(f"{self.other} has no largest slope, so that it cannot be flipped.")
        return self.other.bound

    @property
    def constant(self) -> float:
        """What makes it a density."""
        return _flipped_constant(self.other, self._curvature)

    def energy(self, Y: Array) -> Array:
        return 0.5 * self._curvature * Y * Y - self.other.energy(Y) + self.constant

    def score(self, Y: Array) -> Array:
        return self._curvature * Y - self.other.score(Y)

    def slope(self, Y: Array) -> Array:
        return self._curvature - self.other.slope(Y)

    def __str__(self) -> str:
        return f"Flipped({self.other})"


#: Densities by shorthand.
DENSITIES: dict[str, type[Density]] = {cls.name: cls for cls in (Sech, Infomax, Student, GeneralizedGaussian)}


#: What densities are called elsewhere.
_ELSEWHERE = {
    "logcosh": "'sech'",
    "tanh": "'sech'",
    "laplace": "nearly 'generalized-gaussian', whose default shape is 1,",
    "cube": "GeneralizedGaussian(4.0), which is for light tails only,",
}


def resolved(density: Any) -> Density:
    """A density by name, as an object, or from three functions."""
    if isinstance(density, Density):
        return density
    if isinstance(density, str):
        if density not in DENSITIES:
            known = f"That is {_ELSEWHERE[density]} here." if density in _ELSEWHERE else ""
            advice = known or "Or pass an object from lowdim.densities, or three functions."
            raise choice("density", density, list(DENSITIES), advice)
        return DENSITIES[density]()
    if isinstance(density, type) and issubclass(density, Density):
        raise TypeError(f"density={density.__name__} is a class; make one: {density.__name__}().")
    if isinstance(density, tuple | list) and len(density) == 3:
        return Own(*density)
    raise TypeError(
        "density must be a name, an object from lowdim.densities, or three functions (-ln p, its derivative, its "
        f"second derivative), got {type(density).__name__}."
    )


def parsed(text: str) -> Density:
    """The density that prints itself as `text`."""
    found = re.fullmatch(r"(\w+)\((.*)\)", text)
    kinds = {cls.__name__: cls for cls in DENSITIES.values()}
    if found is None or found[1] not in kinds:
        raise ValueError(f"{text} is not one of the densities that can be stored: {', '.join(kinds)}.")
    pairs = (pair.split("=") for pair in found[2].split(", ") if pair)
    return kinds[found[1]](**{name: float(value) for name, value in pairs})


def _tanh_terms(Y: np.ndarray, psi: np.ndarray, slope: np.ndarray, spare: np.ndarray) -> np.ndarray:
    """t = tanh u, 1 - t^2, and the sums of ln cosh u = |u| - ln(1 + |t|) over the rows, which loses no digits
    anywhere."""
    np.tanh(Y, out=psi)
    np.abs(psi, out=spare)
    np.log1p(spare, out=spare)
    energy = -_column_sums(spare)
    np.abs(Y, out=spare)
    energy += _column_sums(spare)
    np.multiply(psi, psi, out=slope)
    np.subtract(1.0, slope, out=slope)
    return energy


def _log_cosh(Y: Array) -> Array:
    """ln cosh u, for any u."""
    xp = namespace(Y)
    size = xp.abs(Y)
    return size + xp.log1p(xp.exp(-2.0 * size)) - math.log(2.0)


@lru_cache(maxsize=64)
def _flipped_constant(density: Density, curvature: float) -> float:
    return _log_integral(lambda u: 0.5 * curvature * u * u - float(density.energy(np.array([u]))[0]))


def _check_positive(name: str, value: Any) -> None:
    if isinstance(value, bool) or not isinstance(value, Real) or not 0.0 < float(value) < math.inf:
        raise ValueError(f"{name}={value!r} must be a positive number.")


def _column_sums(Y: np.ndarray) -> np.ndarray:
    return np.ones(len(Y), dtype=Y.dtype) @ Y


def _log_integral(energy: Callable[[float], float]) -> float:
    """ln of the integral of exp(-energy) over the line, for an even `energy`; infinity where there is none."""
    lowest = energy(0.0)
    with np.errstate(all="ignore"):
        value, error = integrate.quad(
            lambda u: math.exp(min(lowest - energy(u), 700.0)), 0.0, math.inf, limit=200, full_output=True
        )[:2]
    if not (0.0 < value < math.inf) or error > 1e-6 * value:
        return math.inf
    return math.log(2.0 * value) - lowest


def _values(function: Callable[[Any], Any], at: np.ndarray) -> np.ndarray:
    return np.asarray(function(at), dtype=np.float64)


def _probed(function: Callable[[Any], Any], what: str) -> np.ndarray:
    """What a function gives for a few numbers: one finite number for each."""
    try:
        values = _values(function, _PROBES.copy())
    except (TypeError, ValueError) as error:
        raise TypeError(
            f"density: {what} failed on an array: {error}. It must work entry by entry: np.log, not math.log, say."
        ) from error
    if values.shape != _PROBES.shape:
        raise ValueError(
            f"density: {what} gave shape {values.shape} for an array of shape {_PROBES.shape}; it must work entry by "
            "entry."
        )
    if not np.all(np.isfinite(values)):
        raise ValueError(f"density: {what} is not finite at {_PROBES[~np.isfinite(values)][0]}.")
    return values


def _check_derivative(what: str, function: Callable[[Any], Any], derivative: Callable[[Any], Any]) -> None:
    """A derivative must be that of its function, by central differences."""
    step = 1e-5
    measured = (_values(function, _PROBES + step) - _values(function, _PROBES - step)) / (2.0 * step)
    given = _values(derivative, _PROBES.copy())
    wrong = np.abs(measured - given) > 1e-5 * (1.0 + np.abs(measured))
    if np.any(wrong):
        u = _PROBES[wrong][0]
        raise ValueError(
            f"density: {what} is given as {given[wrong][0]:.6g} at u = {u:g}, but by differences it is "
            f"{measured[wrong][0]:.6g} there. Check the sign and the order of the three functions."
        )


def _through_numpy(function: Callable[[Any], Any], Y: Array) -> Array:
    """A function of NumPy arrays, of any array; in float64, whose range it may need."""
    values = np.asarray(function(to_numpy(Y).astype(np.float64)))
    return astype(asarray_like(values, Y), Y.dtype)
