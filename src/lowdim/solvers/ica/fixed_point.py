"""Independent sources by the fixed-point iteration of FastICA, for all sources in parallel."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from ...densities import Density
from .objective import (
    NARROW_ABOVE,
    GaussianBlock,
    IcaSolver,
    Objective,
    Point,
    Unmixing,
    gaussian_energy,
    nearest_orthogonal,
    status_of_end,
)

#: Pairs are looked for in a sample if there are more rows than this.
_ROWS = 5000
#: A pair is rotated only if its contrast grows by more than this share.
_GAIN = 0.01
#: The end is tested for mixed pairs of sources at most this many times.
_TESTS = 5
#: The iteration stops after this many steps without a smaller gradient.
_IDLE = 100
#: The first steps end after one whose rotation differs from the unit matrix by no more than this in any entry.
_SMALL_ANGLE = 0.05
#: The scales of sources are changed by at most this share at once, and their slopes count as at least so large.
_LARGEST_CHANGE, _LEAST_SLOPE = 0.7, 0.5


@dataclass(frozen=True)
class FixedPointICA(IcaSolver):
    """In each step W becomes the rotation nearest to E[psi(y) z^T] - diag(E[psi'(y)]) W.

    Parameters
    ----------
    tol : float, default=1e-06
        Iterate until no entry of the skew part of the relative gradient is larger in magnitude.
    max_iter : int, default=1000
        Maximal number of steps; with 0, the result is the start.

    Notes
    -----
    In terms of the sources the map is B W with B = E[psi(y) y^T] - diag(E[psi'(y)]), which is computed from
    `ScoreMoments` in one pass per step. The fixed points are the rotations at which diag(s) B has no skew part, where s
    are the signs of the diagonal of B. For sources with tails that the density does not fit, this is the gradient for
    the flipped density, whether or not flipped densities were requested. The iteration is fast if the sources are
    independent and far from Gaussian, but its convergence is not guaranteed [1]_. It can end where two sources are
    mixtures of two others; the end is tested for this (in k - 1 passes, or on a sample if there are many rows), and the
    iteration goes on if it is so [2]_. If two or more sources still look Gaussian after 60 steps, they are no longer
    rotated among themselves; if they look so in the end, too, the status is UNDETERMINED, and otherwise the iteration
    goes on with all rotations.

    References
    ----------
    .. [1] Hyvarinen (1999), Fast and robust fixed-point algorithms for independent component analysis.
    .. [2] Tichavsky, Koldovsky, Oja (2006), Performance analysis of the FastICA algorithm and Cramer-Rao bounds for
       linear independent component analysis.

    Examples
    --------
    >>> import numpy as np
    >>> from lowdim import ICA
    >>> from lowdim.solvers import FixedPointICA
    >>> sources = np.random.default_rng(0).laplace(size=(500, 2))
    >>> ica = ICA(solver=FixedPointICA(tol=1e-8)).fit(sources @ np.array([[2.0, 1.0], [1.0, 1.0]]))
    >>> ica.gradient_norm_ <= 1e-8
    True
    """

    name = "fixed-point"
    _instead = ", or use solver='quasi-newton'"
    _stuck = "The iteration does not converge: use solver='quasi-newton'."
    needs_matching_tails = False
    #: Not an option: W is always a rotation.
    ortho: bool = field(default=True, init=False, repr=False)

    def run(
        self, objective: Objective, W: np.ndarray, flipped: np.ndarray, extended: bool, *, spent: int = 0
    ) -> Unmixing:
        density = objective.density
        can_flip = extended and density.flipped is not None
        losses, steps, norm, tests = [], 0, np.inf, 0
        best, idle, block = np.inf, 0, GaussianBlock(density)
        while True:
            base = objective.at(W, curved=False, narrow=norm > NARROW_ABOVE)
            if can_flip:
                flipped = _signs(base) > 0.0
            point = base.with_flips(flipped, density)
            if block.find(base, objective.weight, spent + steps):
                best, idle = np.inf, 0
            norm = _skew_part(base, block)
            idle = 0 if norm < best else idle + 1
            best = min(best, norm)
            if norm <= self.tol or steps >= self.max_iter - spent or idle > _IDLE:
                if base.narrow:
                    norm, best, idle = 0.0, np.inf, 0
                    continue
                better = unmix_pairs(objective, base, block) if norm <= self.tol and tests < _TESTS else None
                if better is None and len(block.release(base, objective.weight)):
                    best, idle = np.inf, 0
                    continue
                if better is None:
                    break
                W, norm, best, idle, tests = better, np.inf, np.inf, 0, tests + 1
                continue
            losses.append(point.loss)
            W = _turn(base, block) @ base.W
            steps += 1
        status = status_of_end(norm <= self.tol, block)
        gradient = _skew_part(base)
        return Unmixing(W, flipped, [*losses, point.loss], gradient, base.stability, base.kurtosis, status, steps)


def first_steps(
    objective: Objective,
    W: np.ndarray,
    flipped: np.ndarray,
    extended: bool,
    tol: float,
    steps: int,
    *,
    scaled: bool = False,
) -> tuple[np.ndarray, np.ndarray, int]:
    """Take up to `steps` steps in float32, without computing the likelihood; far from a solution these are fastest.

    They end when the gradient is at most `tol`, or after a step that turns sources so little that the next one would
    turn them hardly at all: near a solution, the angle left by a step is at most about the square of its own. (Not if
    a source has tails on the other side of the density, and may not have the flipped one: the likelihood is smallest at
    such a source, and a solver that is not yet there would go away from it.)

    Returns the new rotation, which sources appear to have the flipped density, and the number of steps taken. If
    `scaled`, the rows of the rotation are multiplied by numbers that bring the sources nearer to their most likely
    scales.
    """
    can_flip = extended and objective.density.flipped is not None
    taken = 0
    while taken < steps:
        base = objective.at(W, curved=False, narrow=True, measured=False)
        light = _signs(base) > 0.0
        if can_flip:
            flipped = light
        if _skew_part(base) <= tol:
            break
        turn = _turn(base)
        W, taken = turn @ W, taken + 1
        if np.abs(turn - np.eye(len(W))).max() <= _SMALL_ANGLE and (can_flip or not light.any()):
            break
    if scaled and steps > 0:
        W = _factors(base.with_flips(flipped, objective.density))[:, None] * W
    return W, flipped, taken


def _factors(point: Point) -> np.ndarray:
    """By what sources of unit variance are to be multiplied, so that E[psi(y) y] becomes about one.

    This is a step of Newton's method for each scale, with E[psi'(y)] E[y^2] for the part E[psi'(y) y^2] of the slope.
    The point may be the one before the last turn, which was a small one.
    """
    step = (1.0 - np.diagonal(point.products)) / np.maximum(1.0 + point.slopes, _LEAST_SLOPE)
    return 1.0 + np.clip(step, -_LARGEST_CHANGE, _LARGEST_CHANGE)


def _turn(point: Point, block: GaussianBlock | None = None) -> np.ndarray:
    """The rotation of the sources in one step, which does not rotate those of the block among themselves."""
    B = _signs(point)[:, None] * (point.products - np.diag(point.slopes))
    return nearest_orthogonal(B if block is None else block.without_rotations(B))


def _signs(point: Point) -> np.ndarray:
    """The signs that keep a step from reversing sources."""
    return np.copysign(1.0, np.diagonal(point.products) - point.slopes)


def _skew_part(point: Point, block: GaussianBlock | None = None) -> float:
    """The largest absolute entry of the skew part of the gradient, without rotations among the sources of the block."""
    G = _signs(point)[:, None] * point.products
    G = G if block is None else block.without_rotations(G)
    return 0.5 * float(np.abs(G - G.T).max())


# A test of the end of an iteration over rotations: whether two sources are mixtures of two others.


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
