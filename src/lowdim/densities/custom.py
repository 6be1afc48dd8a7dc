"""Densities given by functions, which are checked before they are used."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np

from .._xp import Array, asarray_like, astype, to_numpy
from .base import Density, log_integral

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
    minus_log: Callable[[Any], Any]
    derivative: Callable[[Any], Any]
    second_derivative: Callable[[Any], Any]

    def __post_init__(self) -> None:
        functions = [getattr(self, f.name) for f in fields(self)]
        for what, function in zip(("-ln p", "its derivative", "its second derivative"), functions, strict=True):
            if not callable(function):
                raise TypeError(f"density: {what} must be a function of an array, got {type(function).__name__}.")
            _probe_values(function, what)
        for what, function, derivative in (
            ("the derivative of -ln p", functions[0], functions[1]),
            ("the second derivative of -ln p", functions[1], functions[2]),
        ):
            _check_derivative(what, function, derivative)
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


def _values(function: Callable[[Any], Any], at: np.ndarray) -> np.ndarray:
    return np.asarray(function(at), dtype=np.float64)


def _probe_values(function: Callable[[Any], Any], what: str) -> np.ndarray:
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


def _check_derivative(what: str, function: Callable[[Any], Any], derivative: Callable[[Any], Any]) -> None:
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


def _through_numpy(function: Callable[[Any], Any], Y: Array) -> Array:
    """Apply a function of NumPy arrays to an array of any library, in float64, whose range it may need."""
    values = np.asarray(function(to_numpy(Y).astype(np.float64)))
    return astype(asarray_like(values, Y), Y.dtype)
