"""Coordinates of tables side by side, from one root of their scatter matrix."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from ..._placing import placed_on_host
from ...linalg import divisor, is_constant, require_size
from ...summaries import Moments, Triangle
from .lifting import IdentityLift
from .views import View


def views_of_root(
    root: np.ndarray | Callable[[], np.ndarray],
    lengths: np.ndarray,
    summary: Moments | Triangle,
    names: Sequence[str],
    standardize: Sequence[bool],
    ddof: int,
    S: np.ndarray | None = None,
) -> tuple[View, ...]:
    """The views of tables whose joint scatter matrix S has a root.

    `root` has columns of unit length (zero for constant columns), and `lengths` are their original lengths. It may be a
    function that computes the matrix when it is needed.
    """
    views: list[View] = []
    #: What the columns of S are multiplied by, table by table.
    shrinkages: list[np.ndarray] = []
    edges = list(accumulate(summary.groups, initial=0))
    for (i, j), name, scaled in zip(pairwise(edges), names, standardize, strict=True):
        require_size(lengths[i:j] ** 2, summary.mean[i:j], summary.weight, each=scaled, table=name)
        deviation = lengths[i:j] / math.sqrt(divisor(summary.weight, ddof))
        # A column that varies only by rounding is constant.
        deviation = np.where(is_constant(deviation, summary.mean[i:j]), 0.0, deviation)
        length = np.where(deviation > 0, lengths[i:j], 0.0)
        units = np.where(length > 0, math.sqrt(divisor(summary.weight, ddof)), 1.0) if scaled else length
        unit = float(units.max()) or 1.0
        make = partial(_scaled_columns, root, slice(i, j), np.where(length > 0, units / unit, 0.0))
        lift = IdentityLift(summary.mean[i:j], deviation, scaled)
        shrunk = np.where(length > 0, units / unit / np.where(length > 0, length, 1.0), 0.0)
        shrinkages.append(shrunk)
        products = None if S is None else _scaled_products(S[i:j, i:j], shrunk, shrunk)
        cross = None if S is None else partial(_cross_products, S, edges, shrinkages, len(views))
        views.append(View(make, unit, lift, j - i, products=products, cross=cross))
    return tuple(views)


def summary_on_host(summary: Any) -> tuple[Any, Any]:
    """A summary with NumPy arrays, and an array on the device on which it was; None if it was on the host."""
    there = summary.mean
    return (summary, None) if isinstance(there, np.ndarray) else (placed_on_host(summary), there)


def _scaled_columns(
    root: np.ndarray | Callable[[], np.ndarray], some: slice, scale: np.ndarray
) -> tuple[np.ndarray, None]:
    """Some columns of a root, multiplied by numbers; their decomposition is not known."""
    R = root() if callable(root) else root
    return R[:, some] * scale, None


def _cross_products(
    S: np.ndarray, edges: Sequence[int], shrinkages: Sequence[np.ndarray], j: int, i: int
) -> np.ndarray:
    """The products of the coordinates of tables i and j."""
    return _scaled_products(S[edges[i] : edges[i + 1], edges[j] : edges[j + 1]], shrinkages[i], shrinkages[j])


def _scaled_products(S: np.ndarray, left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """diag(left) S diag(right)."""
    P = S * right
    P *= left[:, None]
    return P
