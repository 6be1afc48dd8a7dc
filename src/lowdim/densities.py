"""Densities of independent sources: small parameter objects with -ln p(u) and its first two derivatives."""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import cached_property, lru_cache
from numbers import Real
from typing import Any, ClassVar, Literal

import numpy as np
from scipy import integrate, special

from ._core.arrays import Array, asarray_like, astype, column_sums, constant_minus_square, namespace, to_numpy
from .errors import choice

__all__ = [
    "DENSITIES",
    "CustomDensity",
    "Density",
    "Flipped",
    "GeneralizedGaussian",
    "Infomax",
    "Sech",
    "Student",
    "as_density",
]


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


#: The points at which the functions of a custom density are checked.
_PROBES = np.array([-3.1, -1.7, -0.9, -0.35, 0.2, 0.6, 1.3, 2.4, 4.2])


@dataclass(frozen=True)
class CustomDensity(Density):
    """A density given by three elementwise functions of NumPy arrays: -ln p (up to a constant) and its first and second
    derivatives. They are checked against each other, and -ln p is normalised.

    Examples
    --------
    >>> import numpy as np
    >>> from lowdim.densities import CustomDensity
    >>> logistic = CustomDensity(
    ...     lambda u: u + 2 * np.logaddexp(0, -u),
    ...     lambda u: np.tanh(u / 2),
    ...     lambda u: 0.5 - 0.5 * np.tanh(u / 2) ** 2,
    ... )
    >>> logistic.score(np.array([0.0, 2.0])).round(4)
    array([0.    , 0.7616])
    """

    name = "custom"
    minus_log: Callable[[Array], Array]
    derivative: Callable[[Array], Array]
    second_derivative: Callable[[Array], Array]

    def __post_init__(self) -> None:
        functions = [getattr(self, f.name) for f in fields(self)]
        for what, function in zip(("-ln p", "its derivative", "its second derivative"), functions, strict=True):
            if not callable(function):
                raise TypeError(f"density: {what} must be a function of an array, got {type(function).__name__}.")
            _probe_values(function, what)
        _check_derivative("the derivative of -ln p", functions[0], functions[1])
        _check_derivative("the second derivative of -ln p", functions[1], functions[2])
        asymmetry = np.abs(_probe_values(functions[0], "-ln p") - _values(functions[0], -_PROBES)).max()
        if asymmetry > 1e-6:
            raise ValueError(
                f"density: -ln p must be symmetric about zero, but -ln p(u) and -ln p(-u) differ by {asymmetry:.2g}."
            )
        with np.errstate(all="ignore"):
            near, far = _values(functions[0], np.array([1e3, 1e6]))
        # Tails as heavy as 1/u have an infinite integral, which quadrature does not notice. If -ln p overflows, the
        # tails are light enough.
        heavy = math.isfinite(far) and far - near <= 1.001 * math.log(1e3)
        if not math.isfinite(self._log_normaliser) or heavy:
            raise ValueError("density: the integral of p = exp(-(-ln p)) is not finite, so p is not a density.")
        if np.ptp(_probe_values(functions[2], "its second derivative")) < 1e-9:
            raise ValueError("density: this is the Gaussian, under which sources cannot be separated.")

    @cached_property
    def _log_normaliser(self) -> float:
        return log_integral(lambda u: float(_values(self.minus_log, np.array([u]))[0]))

    def energy(self, Y: Array) -> Array:
        return _through_numpy(self.minus_log, Y) + self._log_normaliser

    def score(self, Y: Array) -> Array:
        return _through_numpy(self.derivative, Y)

    def slope(self, Y: Array) -> Array:
        return _through_numpy(self.second_derivative, Y)

    def __str__(self) -> str:
        return f"CustomDensity({getattr(self.minus_log, '__name__', 'functions')})"


def _values(function: Callable[[Array], Array], at: np.ndarray) -> np.ndarray:
    return np.asarray(function(at), dtype=np.float64)


def _probe_values(function: Callable[[Array], Array], what: str) -> np.ndarray:
    """The values of a function at the probe points; an error unless there is one finite number for each."""
    try:
        values = _values(function, _PROBES.copy())
    except (TypeError, ValueError) as error:
        raise TypeError(
            f"density: {what} failed on an array: {error}. It must work entry by entry: use np.log, not math.log."
        ) from error
    if values.shape != _PROBES.shape:
        raise ValueError(
            f"density: {what} gave shape {values.shape} for an array of shape {_PROBES.shape}; it must work entry by "
            "entry."
        )
    if not np.all(np.isfinite(values)):
        raise ValueError(f"density: {what} is not finite at {_PROBES[~np.isfinite(values)][0]}.")
    return values


def _check_derivative(what: str, function: Callable[[Array], Array], derivative: Callable[[Array], Array]) -> None:
    """Check a derivative against central differences of its function."""
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


def _through_numpy(function: Callable[[Array], Array], Y: Array) -> Array:
    """Apply a function of NumPy arrays to an array of any library, in float64, whose range it may need."""
    values = np.asarray(function(to_numpy(Y).astype(np.float64)))
    return astype(asarray_like(values, Y), Y.dtype)


class _LogCosh(Density):
    """-ln p(u) = q u^2 / 2 + ln cosh u + constant: psi = q u + tanh u."""

    #: The coefficient q.
    quadratic: ClassVar[float]
    _log_normaliser: float

    def energy(self, Y: Array) -> Array:
        xp = namespace(Y)
        # ln cosh u, without overflow for large u.
        size = xp.abs(Y)
        log_cosh = size + xp.log1p(xp.exp(-2.0 * size)) - math.log(2.0)
        return 0.5 * self.quadratic * Y * Y + log_cosh + self._log_normaliser

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
            # The sums over the rows of ln cosh u = |u| - ln(1 + |tanh u|); this form is accurate for all u.
            logs = column_sums(np.log1p(np.abs(psi, out=spare), out=spare))
            energy = column_sums(np.abs(Y, out=spare)) - logs + len(Y) * self._log_normaliser
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
#: The names of these, for type checkers.
DensityName = Literal["sech", "infomax", "student", "generalized-gaussian"]

#: -ln p, its derivative and its second derivative.
ThreeFunctions = tuple[Callable[[Array], Array], Callable[[Array], Array], Callable[[Array], Array]]
#: Names of densities in other libraries, and what they correspond to here.
_OTHER_NAMES = {
    "logcosh": "'sech'",
    "tanh": "'sech'",
    "laplace": "nearly 'generalized-gaussian', whose default shape is 1,",
    "cube": "GeneralizedGaussian(4.0), which is for light tails only,",
}


def as_density(density: DensityName | Density | ThreeFunctions) -> Density:
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


def _check_positive(name: str, value: Any) -> None:
    if isinstance(value, bool) or not isinstance(value, Real) or not 0.0 < float(value) < math.inf:
        raise ValueError(f"{name}={value!r} must be a positive number.")
