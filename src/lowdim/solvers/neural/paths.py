"""One direction of an auto-encoder, from rows to latent variables or back: a linear map plus hidden layers.

    f(v) = v A + a + act(... act(v W_1 + b_1) ...) W_m

The linear map begins at the solution of PCA and the last weights W_m at zero, so that the sum begins there too.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from ..._xp import Array, asarray_like, astype
from .activations import ACTIVATIONS


@dataclass(frozen=True, eq=False)
class Path:
    """A linear map plus hidden layers; none of them if `weights` is empty.

    Parameters
    ----------
    matrix : array of shape (i, o)
    offset : array of shape (o,)
    weights : tuple of arrays of shapes (i, h1), (h1, h2), ..., (hm, o)
    biases : tuple of arrays of shapes (h1,), ..., (hm,)
    activation : str
        A name of the table `ACTIVATIONS`.
    """

    matrix: Array
    offset: Array
    weights: tuple[Array, ...] = ()
    biases: tuple[Array, ...] = ()
    activation: str = "silu"

    def __call__(self, V: Array) -> Array:
        """f(v) for each row v of V, in the dtype of V."""
        found = V @ astype(self.matrix, V.dtype) + astype(self.offset, V.dtype)
        if not self.weights:
            return found
        act, H = ACTIVATIONS[self.activation].of, V
        for W, b in zip(self.weights[:-1], self.biases, strict=True):
            H = act(H @ astype(W, V.dtype) + astype(b, V.dtype))
        return found + H @ astype(self.weights[-1], V.dtype)

    def check(self) -> None:
        """Raise a ValueError if the shapes do not fit together."""
        widths = [self.matrix.shape[0], *(b.shape[0] for b in self.biases), self.matrix.shape[1]]
        expected = list(pairwise(widths)) if self.weights else []
        if [tuple(W.shape) for W in self.weights] != expected or (self.biases and not self.weights):
            raise ValueError("the layers of the network do not fit together")
        if self.offset.shape[0] != self.matrix.shape[1] or self.activation not in ACTIVATIONS:
            raise ValueError("the layers of the network do not fit together")


def path_at(
    matrix: np.ndarray, offset: np.ndarray, hidden: tuple[int, ...], activation: str, random: np.random.Generator
) -> Path:
    """The path whose layers add nothing yet to the linear map: random weights, of variance 1 / (their inputs), and
    zeros at the end."""
    if not hidden:
        return Path(matrix, offset, activation=activation)
    widths = (matrix.shape[0], *hidden)
    weights = [random.standard_normal((i, o)) / np.sqrt(i) for i, o in pairwise(widths)]
    biases = [0.1 * random.standard_normal(h) for h in hidden]
    weights.append(np.zeros((hidden[-1], matrix.shape[1])))
    return Path(matrix, offset, tuple(weights), tuple(biases), activation)


def path_like(path: Path, like: Array, dtype: Any) -> Path:
    """The path with arrays in the namespace, on the device and in the dtype of the rows."""

    def move(x: Any) -> Array:
        return asarray_like(x, like, dtype=dtype)

    weights, biases = tuple(map(move, path.weights)), tuple(map(move, path.biases))
    return Path(move(path.matrix), move(path.offset), weights, biases, path.activation)
