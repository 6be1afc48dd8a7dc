"""The predefined densities, and the table of their names."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from functools import cached_property
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from scipy import special

from .._xp import Array, column_sums, constant_minus_square, namespace
from ..errors import choice
from .base import Density, log_integral
from .custom import CustomDensity


class _LogCosh(Density):
    """-ln p(u) = q u^2 / 2 + ln cosh u + constant: psi = q u + tanh u."""

    #: The coefficient q.
    quadratic: ClassVar[float]
    _log_normaliser: float

    def energy(self, Y: Array) -> Array:
        return 0.5 * self.quadratic * Y * Y + _log_cosh(Y) + self._log_normaliser

    def score(self, Y: Array) -> Array:
        return self.quadratic * Y + namespace(Y).tanh(Y)

    def slope(self, Y: Array) -> Array:
        t = namespace(Y).tanh(Y)
        return (self.quadratic + 1.0) - t * t

    def terms(
        self, Y: Array, weights: Array | None, room: list[np.ndarray] | None, *, measured: bool = True
    ) -> tuple[Array, Array, Array]:
        if weights is not None:
            return super().terms(Y, weights, room, measured=measured)
        if room is None:
            return self._terms(Y, measured)
        q, (psi, slope, spare), energy = self.quadratic, room, None
        np.tanh(Y, out=psi)
        np.multiply(psi, psi, out=slope)
        np.subtract(q + 1.0, slope, out=slope)
        if measured:
            energy = _log_cosh_sums(Y, psi, spare) + len(Y) * self._log_normaliser
        if q:
            np.multiply(Y, q, out=spare)
            psi += spare
            if measured:
                energy += 0.5 * column_sums(np.multiply(spare, Y, out=spare))
        return psi, slope, energy

    def _terms(self, Y: Array, measured: bool) -> tuple[Array, Array, Array]:
        """The same without arrays to work in, in as few operations: on a device each of them reads its arrays again."""
        xp, q, energy = namespace(Y), self.quadratic, None
        t = xp.tanh(Y)
        if measured:
            energy = column_sums(xp.abs(Y)) - column_sums(xp.log1p(xp.abs(t))) + Y.shape[0] * self._log_normaliser
            if q:
                energy = energy + 0.5 * q * column_sums(Y * Y)
        return t + q * Y if q else t, constant_minus_square(q + 1.0, t), energy


@dataclass(frozen=True)
class Sech(_LogCosh):
    """p(u) = 1 / (pi cosh u): psi = tanh u. The tails are heavier than those of a Gaussian.

    Examples
    --------
    >>> import numpy as np
    >>> from lowdim.densities import Sech
    >>> np.exp(-Sech().energy(np.array([0.0, 2.0]))).round(4)
    array([0.3183, 0.0846])
    >>> Sech().score(np.array([0.0, 2.0])).round(4)
    array([0.   , 0.964])
    """

    name = "sech"
    bound = 1.0
    quadratic = 0.0
    _log_normaliser = math.log(math.pi)


@dataclass(frozen=True)
class Infomax(_LogCosh):
    """p(u) proportional to exp(-u^2 / 2) / cosh u: psi = u + tanh u, and psi = u - tanh u if flipped.

    The tails are a little heavier than those of a Gaussian. With its flipped density it forms the pair of densities of
    extended infomax [1].

    References
    ----------
    [1] Lee, Girolami, Sejnowski (1999), Independent component analysis using an extended infomax algorithm.

    Examples
    --------
    >>> import numpy as np
    >>> from lowdim.densities import Infomax
    >>> Infomax().score(np.array([0.0, 2.0])).round(4)
    array([0.   , 2.964])
    """

    name = "infomax"
    bound = 2.0
    quadratic = 1.0
    prefers_rotations = False

    @cached_property
    def _log_normaliser(self) -> float:  # type: ignore[override] # computed on first use
        return log_integral(lambda u: 0.5 * u * u + math.log(math.cosh(u)) if abs(u) < 300 else math.inf)


@dataclass(frozen=True)
class Student(Density):
    """Student's t density with nu = `freedom` degrees of freedom: psi = (nu + 1) u / (nu + u^2).

    The smaller nu, the heavier the tails.

    Examples
    --------
    >>> import numpy as np
    >>> from lowdim import ICA
    >>> from lowdim.densities import Student
    >>> Student(freedom=4.0).score(np.array([0.0, 2.0, 20.0])).round(4)  # far out it falls again
    array([0.    , 1.25  , 0.2475])
    >>> ICA(density=Student(freedom=6.0)).density
    Student(freedom=6.0)
    """

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
    """p(u) proportional to exp(-(u^2 + e^2)^(shape/2)).

    Shape 1 is Laplace's density, shape 2 the Gaussian, and larger shapes have lighter tails than a Gaussian. The
    parameter `smoothing`, e in the formula, smooths the cusp at zero of shapes below 2, where the likelihood would have
    no derivative. It is not used for larger shapes.

    Examples
    --------
    >>> import numpy as np
    >>> from lowdim.densities import GeneralizedGaussian
    >>> GeneralizedGaussian(shape=1.0).score(np.array([0.0, 2.0])).round(4)  # nearly the sign of u: Laplace's density
    array([0.    , 0.9988])
    """

    name = "generalized-gaussian"
    shape: float = 1.0
    smoothing: float = 0.1

    def __post_init__(self) -> None:
        _check_positive("shape", self.shape)
        _check_positive("smoothing", self.smoothing)
        if self.shape == 2.0:
            raise ValueError("shape=2.0 is the Gaussian, under which sources cannot be separated.")

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
        return log_integral(lambda u: (u * u + self._e2) ** (self.shape / 2))

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


#: The densities by name.
DENSITIES: dict[str, type[Density]] = {cls.name: cls for cls in (Sech, Infomax, Student, GeneralizedGaussian)}
#: Names of densities in other libraries, and what they correspond to here.
_OTHER_NAMES = {
    "logcosh": "'sech'",
    "tanh": "'sech'",
    "laplace": "nearly 'generalized-gaussian', whose default shape is 1,",
    "cube": "GeneralizedGaussian(4.0), which is for light tails only,",
}


def as_density(density: Any) -> Density:
    """The density for a name, a density object, or three functions.

    Examples
    --------
    >>> from lowdim.densities import Student, as_density
    >>> as_density("sech"), as_density(Student(6.0))
    (Sech(), Student(freedom=6.0))
    """
    if isinstance(density, Density):
        return density
    if isinstance(density, str):
        if density not in DENSITIES:
            known = f"That is {_OTHER_NAMES[density]} here." if density in _OTHER_NAMES else ""
            advice = known or "Or pass an object from lowdim.densities, or three functions."
            raise choice("density", density, list(DENSITIES), advice)
        return DENSITIES[density]()
    if isinstance(density, type) and issubclass(density, Density):
        raise TypeError(f"density={density.__name__} is a class; pass an instance: {density.__name__}().")
    if isinstance(density, tuple | list) and len(density) == 3:
        return CustomDensity(*density)
    raise TypeError(
        "density must be a name, an object from lowdim.densities, or three functions (-ln p, its derivative, its "
        f"second derivative), got {type(density).__name__}."
    )


def parse_density(text: str) -> Density:
    """The density whose `str` is `text`.

    Examples
    --------
    >>> from lowdim.densities import Student, parse_density
    >>> parse_density(str(Student(6.0))) == Student(6.0)
    True
    """
    found = re.fullmatch(r"(\w+)\((.*)\)", text)
    kinds = {cls.__name__: cls for cls in DENSITIES.values()}
    if found is None or found[1] not in kinds:
        raise ValueError(f"{text} is not one of the densities that can be stored: {', '.join(kinds)}.")
    pairs = (pair.split("=") for pair in found[2].split(", ") if pair)
    return kinds[found[1]](**{name: float(value) for name, value in pairs})


def _log_cosh_sums(Y: np.ndarray, t: np.ndarray, spare: np.ndarray) -> np.ndarray:
    """The sums over the rows of ln cosh u = |u| - ln(1 + |t|), t = tanh u; this form is accurate for all u."""
    np.abs(t, out=spare)
    np.log1p(spare, out=spare)
    energy = column_sums(spare)
    np.abs(Y, out=spare)
    return column_sums(spare) - energy


def _log_cosh(Y: Array) -> Array:
    """ln cosh u, without overflow for large u."""
    xp = namespace(Y)
    size = xp.abs(Y)
    return size + xp.log1p(xp.exp(-2.0 * size)) - math.log(2.0)


def _check_positive(name: str, value: Any) -> None:
    if isinstance(value, bool) or not isinstance(value, Real) or not 0.0 < float(value) < math.inf:
        raise ValueError(f"{name}={value!r} must be a positive number.")
