"""How a method of a fitted model is expressed: the columns that it takes, and its nodes in a graph."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._xp import dense, to_numpy
from .graph import Value


@dataclass(frozen=True)
class Expression:
    """A function of rows of `width` columns, as `build` adds it to a graph."""

    width: int
    build: Callable[[Value], Value]
    #: Whether the method returns a vector, and not a table of one column.
    vector: bool = False


def float64(array: Any) -> np.ndarray:
    """An array or sparse matrix of any library as a dense NumPy array of float64."""
    return np.asarray(to_numpy(dense(array)), dtype=np.float64)


def centred_product(A: Any, mean: Any) -> Expression:
    """x -> (x - mean) A. The mean is subtracted first: a product of large numbers would lose digits."""
    matrix = float64(A)
    return Expression(matrix.shape[0], lambda x: x.minus(float64(mean)) @ matrix)


def product_and_mean(B: Any, mean: Any) -> Expression:
    """z -> mean + z B."""
    matrix = float64(B)
    return Expression(matrix.shape[0], lambda z: z @ matrix + float64(mean))
