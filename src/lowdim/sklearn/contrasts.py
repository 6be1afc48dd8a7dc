"""The contrast functions of FastICA, in place of the densities of sources.

FastICA maximises the distance of E[G(u)] from its value for a Gaussian source. A contrast has the methods of a density,
with G' as the score and G'' as its slope. The fixed-point iteration needs only these two.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .._xp import Array, asarray_like, column_sums, namespace, to_numpy
from ..densities import Density


@dataclass(frozen=True)
class LogCosh(Density):
    """G(u) = ln cosh(alpha u) / alpha."""

    name = "logcosh"
    alpha: float = 1.0

    def energy(self, Y: Array) -> Array:
        xp = namespace(Y)
        size = xp.abs(self.alpha * Y)
        return (size + xp.log1p(xp.exp(-2.0 * size)) - math.log(2.0)) / self.alpha

    def score(self, Y: Array) -> Array:
        return namespace(Y).tanh(self.alpha * Y)

    def slope(self, Y: Array) -> Array:
        return self.alpha * (1.0 - namespace(Y).tanh(self.alpha * Y) ** 2)


@dataclass(frozen=True)
class Exp(Density):
    """G(u) = -exp(-u^2 / 2)."""

    name = "exp"

    def energy(self, Y: Array) -> Array:
        return -namespace(Y).exp(-0.5 * Y * Y)

    def score(self, Y: Array) -> Array:
        return Y * namespace(Y).exp(-0.5 * Y * Y)

    def slope(self, Y: Array) -> Array:
        return (1.0 - Y * Y) * namespace(Y).exp(-0.5 * Y * Y)


@dataclass(frozen=True)
class Cube(Density):
    """G(u) = u^4 / 4."""

    name = "cube"

    def energy(self, Y: Array) -> Array:
        return 0.25 * Y**4

    def score(self, Y: Array) -> Array:
        return Y**3

    def slope(self, Y: Array) -> Array:
        return 3.0 * Y * Y


@dataclass(frozen=True)
class Given(Density):
    """G' given by a function, which returns G'(u) and the averages of G''(u) over the last axis.

    The function sees the sources of a block of rows, one source after another. The average over all rows is that of the
    averages over blocks, so that each entry of a block can stand for it.
    """

    name = "given"
    function: Callable[..., Any]
    options: dict[str, Any] = field(default_factory=dict)

    def energy(self, Y: Array) -> Array:
        return namespace(Y).zeros_like(Y)

    def score(self, Y: Array) -> Array:
        return self._score_and_slope(Y)[0]

    def slope(self, Y: Array) -> Array:
        return self._score_and_slope(Y)[1]

    def terms(
        self, Y: Array, weights: Array | None, room: list[np.ndarray] | None, *, measured: bool = True
    ) -> tuple[Array, Array, Array]:
        return *self._score_and_slope(Y), column_sums(self.energy(Y), weights) if measured else None

    def _score_and_slope(self, Y: Array) -> tuple[Array, Array]:
        """Both from one call of the function for each source."""
        answers = [self._call(u) for u in to_numpy(Y).T]
        score = np.stack([values for values, _ in answers], axis=1)
        slope = np.stack([np.full(Y.shape[0], np.mean(average)) for _, average in answers], axis=1)
        return asarray_like(score, Y, dtype=Y.dtype), asarray_like(slope, Y, dtype=Y.dtype)

    def _call(self, u: np.ndarray) -> tuple[np.ndarray, Any]:
        answer = self.function(np.ascontiguousarray(u), **self.options)
        if not isinstance(answer, tuple) or len(answer) != 2 or np.shape(answer[0]) != u.shape:
            raise ValueError(
                "fun must return a pair: the derivative of the contrast at each value of its argument, and the average "
                "of the second derivative over the last axis, as in (x**3, (3 * x**2).mean(axis=-1))."
            )
        return answer


def as_contrast(fun: Any, fun_args: dict[str, Any] | None) -> Density:
    """The contrast that the parameters `fun` and `fun_args` of FastICA select."""
    options = dict(fun_args or {})
    if callable(fun):
        return Given(fun, options)
    if fun != "logcosh":
        return Exp() if fun == "exp" else Cube()
    alpha = float(options.get("alpha", 1.0))
    if not 1.0 <= alpha <= 2.0:
        raise ValueError(f"fun_args: alpha must be in [1,2], got {alpha:g}.")
    return LogCosh(alpha)
