"""What canonical variates have to do with each other, and with the columns of their tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from ..._xp import Array, asarray_like, namespace, to_numpy
from ...linalg import signs
from .views import Lifted


def pair_correlations(variates: Sequence[Any]) -> Iterator[np.ndarray]:
    """Correlations of the columns of each two of these, (K,); zero where a column does not vary."""
    centred = [to_numpy(Z).astype(float) for Z in variates]
    centred = [Z - Z.mean(axis=0) for Z in centred]
    lengths = [np.linalg.norm(Z, axis=0) for Z in centred]
    for i, j in combinations(range(len(centred)), 2):
        size = lengths[i] * lengths[j]
        yield (centred[i] * centred[j]).sum(axis=0) / np.where(size > 0, size, 1.0)


@dataclass(frozen=True)
class ColumnStructure:
    """What the columns of one table have to do with variates."""

    #: Sign of each component, (k,), and what columns are divided by, (p,).
    sign: Array
    scale: Array
    #: Weights of the (scaled) columns, (p, k).
    rotations: Array
    #: What was lifted beside the rotations, in the units of the columns, and their deviations (one for constant ones).
    beside: list[Array]
    deviation: Array


def column_structure(lifted: Lifted, k: int, *, scaled: bool, sign: Array | None = None) -> ColumnStructure:
    """Rotations, and whatever was lifted beside them, k vectors each; the first table decides the signs."""
    xp = namespace(lifted.vectors)
    scale = lifted.scale if scaled else xp.ones_like(lifted.scale)
    R = lifted.vectors[:, :k] / lifted.scale[:, None] * scale[:, None]
    sign = signs(R.T) if sign is None else asarray_like(sign, R, dtype=R.dtype)
    raw = lifted.vectors * lifted.scale[:, None]
    beside = [raw[:, i : i + k] * sign[None, :] for i in range(k, raw.shape[1], k)] if k else []
    deviation = xp.where(lifted.deviation > 0, lifted.deviation, xp.ones_like(lifted.deviation))
    return ColumnStructure(sign, scale, R * sign[None, :], beside, deviation)
