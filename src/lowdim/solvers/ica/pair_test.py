"""A test of the end of an iteration over rotations: whether two sources are mixtures of two others."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from ...densities import Density
from .diagnosis import gaussian_energy
from .gaussian_block import GaussianBlock
from .objective import Objective, Point

#: Pairs are looked for in a sample if there are more rows than this.
_ROWS = 5000
#: A pair is rotated only if its contrast grows by more than this share.
_GAIN = 0.01


def unmix_pairs(objective: Objective, point: Point, block: GaussianBlock | None = None) -> np.ndarray | None:
    """W with pairs of sources rotated by 45 degrees where this increases their contrast, or None if there are none.

    Near (y_i + y_j) / sqrt(2) and (y_i - y_j) / sqrt(2) the contrast sum_i |E[-ln p(y_i)] - E[-ln p(v)]|, v Gaussian,
    can have another local maximum, at which an iteration may end [1]. All pairs are compared in k - 1 rounds (k if k is
    odd), each with as many pairs as have no source in common. If there are many rows, the pairs are looked for in a
    sample, and one pass over all rows confirms them. Pairs in the `block` of sources that look Gaussian are left out.

    References
    ----------
    [1] Tichavsky, Koldovsky, Oja (2006), Performance analysis of the FastICA algorithm and Cramer-Rao bounds for linear
    independent component analysis, section IV.
    """
    few = objective.on_sample(_ROWS) if objective.n_rows > _ROWS else None
    if few is None:
        chosen = _mixed_pairs(objective, point, block)
    else:
        chosen = _mixed_pairs(few, few.at(point.W, curved=False, narrow=True), block)
        chosen = _gains(objective, point, chosen) if chosen else {}
    return _rotated(point.W, list(chosen)) if chosen else None


def _mixed_pairs(objective: Objective, point: Point, block: GaussianBlock | None) -> dict[tuple[int, int], float]:
    """Pairs whose contrast grows, the largest gains first, without a source in common."""
    gains: dict[tuple[int, int], float] = {}
    for pairs in _rounds(len(point.W)):
        tested = pairs if block is None else [(i, j) for i, j in pairs if not block.holds(i, j)]
        gains |= _gains(objective, point, tested) if tested else {}
    chosen: dict[tuple[int, int], float] = {}
    for pair in sorted(gains, key=lambda pair: -gains[pair]):
        if not any(set(pair) & set(other) for other in chosen):
            chosen[pair] = gains[pair]
    return chosen


def _gains(objective: Objective, point: Point, pairs: Iterable[tuple[int, int]]) -> dict[tuple[int, int], float]:
    """By how much the contrast of pairs without a common source grows, for those in which it does; one pass."""
    pairs = list(pairs)
    contrast = _contrast(point, objective.density)
    mixed = _contrast(objective.at(_rotated(point.W, pairs), curved=False, narrow=True), objective.density)
    gains = {(i, j): float(mixed[i] + mixed[j] - contrast[i] - contrast[j]) for i, j in pairs}
    return {(i, j): gain for (i, j), gain in gains.items() if gain > _GAIN * (contrast[i] + contrast[j])}


def _contrast(point: Point, density: Density) -> np.ndarray:
    """The contrast of each source, all of which have variance one."""
    assert point.energy is not None, "computed only with measured=True"
    return np.abs(point.energy - gaussian_energy(density))


def _rotated(W: np.ndarray, pairs: list[tuple[int, int]]) -> np.ndarray:
    """W with the rows of each pair rotated by 45 degrees."""
    W = W.copy()
    for i, j in pairs:
        W[i], W[j] = (W[i] + W[j]) / math.sqrt(2.0), (W[i] - W[j]) / math.sqrt(2.0)
    return W


def _rounds(k: int) -> list[list[tuple[int, int]]]:
    """All pairs of k sources in rounds of pairs without a source in common, as in a round-robin tournament."""
    seats = list(range(k + k % 2))
    rounds = []
    for _ in range(len(seats) - 1):
        pairs = [(min(i, j), max(i, j)) for i, j in zip(seats[: len(seats) // 2], reversed(seats), strict=False)]
        rounds.append([(i, j) for i, j in pairs if j < k])
        seats = [seats[0], seats[-1], *seats[1:-1]]
    return [pairs for pairs in rounds if pairs]
