"""Correlations between canonical variates, and their relation to the columns of the tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from ..._xp import Array, asarray_like, namespace, to_numpy
from ...linalg import signs
from .views import LiftedVectors


def pair_correlations(variates: Sequence[Any]) -> Iterator[np.ndarray]:
    """Correlations between corresponding columns, for each pair of tables, (K,); zero if a column is constant."""
    centred = [to_numpy(Z).astype(float) for Z in variates]
    centred = [Z - Z.mean(axis=0) for Z in centred]
    lengths = [np.linalg.norm(Z, axis=0) for Z in centred]
    for i, j in combinations(range(len(centred)), 2):
        size = lengths[i] * lengths[j]
        yield (centred[i] * centred[j]).sum(axis=0) / np.where(size > 0, size, 1.0)


@dataclass(frozen=True)
class ColumnStructure:
    """The relation of the columns of one table to the variates."""

    #: Sign of each component, (k,), and divisors of the columns, (p,).
    sign: Array
    scale: Array
    #: Weights of the (scaled) columns, (p, k).
    rotations: Array
    #: Further lifted vectors, in the units of the columns.
    extra: list[Array]
    #: Standard deviations of the columns (one for constant columns).
    deviation: Array


def column_structure(lifted: LiftedVectors, k: int, *, scaled: bool, sign: Array | None = None) -> ColumnStructure:
    """Rotations, and further lifted vectors in groups of k; without `sign`, the rotations determine the signs."""
    xp = namespace(lifted.vectors)
    scale = lifted.scale if scaled else xp.ones_like(lifted.scale)
    R = lifted.vectors[:, :k] / lifted.scale[:, None] * scale[:, None]
    sign = signs(R.T) if sign is None else asarray_like(sign, R, dtype=R.dtype)
    raw = lifted.vectors * lifted.scale[:, None]
    extra = [raw[:, i : i + k] * sign[None, :] for i in range(k, raw.shape[1], k)] if k else []
    deviation = xp.where(lifted.deviation > 0, lifted.deviation, xp.ones_like(lifted.deviation))
    return ColumnStructure(sign, scale, R * sign[None, :], extra, deviation)
