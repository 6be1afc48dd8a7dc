"""A test of the end of an iteration over rotations: whether two sources are mixtures of two others."""

from __future__ import annotations

import math

import numpy as np

from ...densities import Density
from .diagnosis import gaussian_energy
from .objective import Objective, Point

#: A pair is rotated only if its contrast grows by more than this share.
_GAIN = 0.01


def unmix_pairs(objective: Objective, point: Point) -> np.ndarray | None:
    """W with pairs of sources rotated by 45 degrees where this increases their contrast, or None if there are none.

    Near (y_i + y_j) / sqrt(2) and (y_i - y_j) / sqrt(2) the contrast sum_i |E[-ln p(y_i)] - E[-ln p(v)]|, v Gaussian,
    can have another local maximum, at which an iteration may end [1]. All pairs are compared in k - 1 passes over the
    rows (k if k is odd), each with as many pairs as have no source in common.

    References
    ----------
    [1] Tichavsky, Koldovsky, Oja (2006), Performance analysis of the FastICA algorithm and Cramer-Rao bounds for linear
    independent component analysis, section IV.
    """
    contrast = _contrast(point, objective.density)
    gains: dict[tuple[int, int], float] = {}
    for pairs in _rounds(len(point.W)):
        mixed = _contrast(objective.at(_rotated(point.W, pairs), curved=False, narrow=True), objective.density)
        for i, j in pairs:
            before = contrast[i] + contrast[j]
            gain = mixed[i] + mixed[j] - before
            if gain > _GAIN * before:
                gains[i, j] = float(gain)
    chosen: list[tuple[int, int]] = []
    for i, j in sorted(gains, key=lambda pair: -gains[pair]):
        if not any({i, j} & set(pair) for pair in chosen):
            chosen.append((i, j))
    return _rotated(point.W, chosen) if chosen else None


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
