"""What models of canonical variates share: what is standardized, what was left out, what rows are too few for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from .._xp import Array, asarray_like, namespace, to_numpy
from ..errors import SmallSampleWarning, warn_user
from ..linalg import signs
from ..solvers.results import CanonicalFit
from ..solvers.tables.views import Lifted, Views
from ._tables import check_regularization, check_scale


def unit_free(scale: Any, regularization: Any, n_tables: int) -> list[bool]:
    """Which tables are standardized for the solve: those that are to be scaled, and those without a ridge."""
    flags, ridges = check_scale(scale, n_tables), check_regularization(regularization, n_tables)
    return [flag or c == 0.0 for flag, c in zip(flags, ridges, strict=True)]


def lost_directions(views: Views, ranks: Sequence[int], ridges: Sequence[float]) -> str:
    """Directions without variance of tables without a ridge, which would have been divided by, in words."""
    lost = []
    for name, view, rank, c in zip(views.names, views.tables, ranks, ridges, strict=True):
        expected = min(view.table.shape[1], views.n_rows - 1)
        if c == 0.0 and rank < expected:
            lost.append(f"{expected - rank} of {expected} directions of {name} have no variance")
    return ", ".join(lost)


def warn_if_forced(views: Views, fit: CanonicalFit, regularization: Sequence[float]) -> None:
    """Two tables whose ranks add up to more than the rows have correlations of 1 whatever they hold."""
    free = [rank for rank, c in zip(fit.ranks, regularization, strict=True) if c == 0.0]
    if len(free) > 1 and sum(sorted(free)[-2:]) > views.n_rows - 1:
        warn_user(
            f"the tables have ranks {', '.join(str(r) for r in fit.ranks)} but only {views.n_rows} rows: correlations "
            "of 1 can be found whatever the rows hold. Use regularization, fewer columns, or more rows.",
            SmallSampleWarning,
        )


def pair_correlations(variates: Sequence[Any]) -> Iterator[np.ndarray]:
    """Correlations of the columns of each two of these, (K,); zero where a column does not vary."""
    centred = [to_numpy(Z).astype(float) for Z in variates]
    centred = [Z - Z.mean(axis=0) for Z in centred]
    lengths = [np.linalg.norm(Z, axis=0) for Z in centred]
    for i, j in combinations(range(len(centred)), 2):
        size = lengths[i] * lengths[j]
        yield (centred[i] * centred[j]).sum(axis=0) / np.where(size > 0, size, 1.0)


@dataclass(frozen=True)
class Columns:
    """What the columns of one table have to do with variates."""

    #: Sign of each component, (k,), and what columns are divided by, (p,).
    sign: Array
    scale: Array
    #: Weights of the (scaled) columns, (p, k).
    rotations: Array
    #: What was lifted beside the rotations, in the units of the columns, and their deviations (one for constant ones).
    beside: list[Array]
    deviation: Array


def columns_of(lifted: Lifted, k: int, *, scaled: bool, sign: Array | None = None) -> Columns:
    """Rotations, and whatever was lifted beside them, k vectors each; the first table decides the signs."""
    xp = namespace(lifted.vectors)
    scale = lifted.scale if scaled else xp.ones_like(lifted.scale)
    R = lifted.vectors[:, :k] / lifted.scale[:, None] * scale[:, None]
    sign = signs(R.T) if sign is None else asarray_like(sign, R, dtype=R.dtype)
    raw = lifted.vectors * lifted.scale[:, None]
    beside = [raw[:, i : i + k] * sign[None, :] for i in range(k, raw.shape[1], k)] if k else []
    deviation = xp.where(lifted.deviation > 0, lifted.deviation, xp.ones_like(lifted.deviation))
    return Columns(sign, scale, R * sign[None, :], beside, deviation)
