"""Independent sources from whitened rows: a start from a sample of them, then all of them, several times; how well the
answers agree, and which sources look Gaussian."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

from ..._xp import Array, to_numpy
from ...densities import Density
from ...errors import NoMaximum
from ...features import affine
from ...reading import Rows, summarize
from ...sources import open_source
from ...summaries import Moments, Sample
from ..results import Status, Unmixing
from .fixed_point import FixedPointICA, first_steps
from .objective import Objective, symmetric_root
from .quasi_newton import QuasiNewtonICA

#: Rows of the sample: at least so many, and so many for each pair of sources; and so many times fewer than all.
_SAMPLE_ROWS = 5000
_SAMPLE_PER_PAIR = 6
_SAMPLE_SHARE = 8
#: Where the iteration on the sample ends, in units of n^{-1/2}: its solution is off by more than that.
_SAMPLE_TOL = 0.2
_SAMPLE_STEPS = 60
#: How far the eigenvalues of the covariance of whitened rows may be from one in a sample.
_SAMPLE_UNLIKE = 0.5
#: Fewer numbers are not worth float32, in whose rounding several starts may look alike.
_MANY = 100_000
#: Steps of the fixed point iteration that come first: from afar it is the quickest.
_FIRST_STEPS = 10


@dataclass(frozen=True)
class Unmixer:
    """Everything that a run from one start needs."""

    rows: Rows
    n_rows: int
    mean: Array
    whitening: Array
    density: Density
    extended: bool
    solver: QuasiNewtonICA | FixedPointICA
    seed: int
    #: Whether to look for the sources from afar; else the start is near them.
    search: bool

    @property
    def sample_rows(self) -> int:
        """How many rows are enough to see the sources roughly."""
        return max(_SAMPLE_ROWS, _SAMPLE_PER_PAIR * self.whitening.shape[0] ** 2)

    def run(self, starts: list[np.ndarray]) -> tuple[list[Unmixing], int]:
        """The answers from all starts, and the passes over the rows that they took."""
        many = self.n_rows * self.whitening.shape[0] >= _MANY
        quick, careful = (
            Objective(self.rows, self.mean, self.whitening, self.density, may_narrow=narrow) for narrow in (many, False)
        )
        rehearsal = self._rehearsal()
        answers = []
        for i, W in enumerate(starts):
            # Every second start goes without first steps: they lead to sources far from Gaussian, which are not always
            # the likeliest.
            answer = self._answer(W, quick, rehearsal) if i % 2 == 0 else self._straight(W, quick)
            if many and answer.status is Status.NOT_CONVERGED and answer.n_iter < self.solver.max_iter:
                # Stuck, which the rounding of float32 or the sample may be to blame for.
                again = self._answer(W, careful, None)
                answer = min(answer, again, key=lambda a: (a.status is Status.NOT_CONVERGED, a.loss[-1]))
            answers.append(answer)
        return answers, quick.passes + careful.passes + (rehearsal is not None)

    def _answer(self, W: np.ndarray, objective: Objective, rehearsal: Objective | None) -> Unmixing:
        """The answer from one start: from where a sample leads, or a few steps on all rows."""
        flipped, known = np.zeros(len(W), dtype=bool), not self.search
        if rehearsal is not None:
            W, flipped, known = self._rehearse(rehearsal, W, flipped)
        if known:
            return self._straight(W, objective, flipped)
        steps = _FIRST_STEPS if self.density.prefers_rotations or self.solver.ortho else 0
        steps = min(steps, self.solver.max_iter)
        W, flipped, steps = first_steps(objective, W, flipped, self.extended, self.solver.tol, steps)
        rest = replace(self.solver, max_iter=self.solver.max_iter - steps)
        found = rest.run(objective, W, flipped, self.extended)
        return replace(found, n_iter=steps + found.n_iter)

    def _straight(self, W: np.ndarray, objective: Objective, flipped: np.ndarray | None = None) -> Unmixing:
        """The solver itself, from W."""
        flipped = np.zeros(len(W), dtype=bool) if flipped is None else flipped
        return self.solver.run(objective, W, flipped, self.extended)

    def _rehearsal(self) -> Objective | None:
        """The objective of a sample of the rows, where they are many."""
        k, size = self.whitening.shape[0], self.sample_rows
        # On a device passes are quick, and rows would have to be brought to the host.
        if not self.search or not self.rows.traits.host or self.n_rows < _SAMPLE_SHARE * size:
            return None
        sample = self.rows.summarize(Sample(self.rows.shape[1], size, seed=self.seed))
        weights = None if np.all(sample.weights == 1.0) else sample.weights
        K = to_numpy(self.whitening)
        white = affine(K.T, to_numpy(self.mean), 1.0)(sample.rows.astype(np.float64))
        # White by its own covariance, as solvers take for granted. Where that is far from the identity, few rows have
        # most of the variance of a source, and a sample does not stand for all.
        moments = summarize(white, Moments(k), weights=weights)
        C = moments.covariance(ddof=0)
        if np.abs(np.linalg.eigvalsh(C) - 1.0).max() > _SAMPLE_UNLIKE:
            return None
        white = (white - moments.mean) @ symmetric_power(C, -0.5)
        few = Rows(open_source(white.astype(np.float32)), weights)
        return Objective(few, np.zeros(k), np.eye(k), self.density, may_narrow=True)

    def _rehearse(
        self, rehearsal: Objective, W: np.ndarray, flipped: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, bool]:
        """A better start, from the sample: a rotation first, which is quicker to find. And whether the sample is large
        enough to tell the sources from Gaussian ones."""
        tol = _SAMPLE_TOL / np.sqrt(self.sample_rows)
        W, flips, _ = first_steps(rehearsal, W, flipped, self.extended, tol, _FIRST_STEPS)
        options = QuasiNewtonICA(tol, _SAMPLE_STEPS, ortho=True)
        found = options.run(rehearsal, W, flips, self.extended, rough=True)
        if len(gaussian_sources(non_gaussianity(found, self.density, rehearsal.weight))) > 1:
            return found.W, flipped, False
        if not self.solver.ortho:
            try:
                found = replace(options, ortho=False).run(rehearsal, found.W, found.flipped, self.extended, rough=True)
            except NoMaximum:
                # Of the sample; all rows may have one.
                return found.W, flipped, False
        return found.W, found.flipped, True


def symmetric_power(C: np.ndarray, power: float) -> np.ndarray:
    """C^power for a covariance that is near to the identity."""
    values, V = np.linalg.eigh(C)
    return (V * values**power) @ V.T


def random_rotations(k: int, n: int, seed: int) -> list[np.ndarray]:
    """n starts."""
    random = np.random.default_rng(seed)
    return [np.linalg.qr(random.standard_normal((k, k)))[0] for _ in range(n)]


def agreement(best: Unmixing, answers: list[Unmixing]) -> np.ndarray:
    """How well the sources of `best` are found again from other starts, from 0 to 1 (the quality index of ICASSO [1]).

    Sources of all answers are matched to those of the best one. The index of a cluster is the average absolute
    correlation inside it minus that with sources outside. Rows are white, so correlations are those of the rows of W.

    References
    ----------
    [1] Himberg, Hyvarinen, Esposito (2004), Validating the independent components of neuroimaging time series via
    clustering and visualization.
    """
    k = len(best.W)
    units = [a.W / np.linalg.norm(a.W, axis=1, keepdims=True) for a in (best, *answers)]
    clusters = []
    for U in units[1:]:
        _, order = linear_sum_assignment(-np.abs(units[0] @ U.T))
        clusters.append(U[order])
    similar = np.zeros((k, k))
    for one in clusters:
        for other in clusters:
            similar += np.abs(one @ other.T) / len(clusters) ** 2
    inside = np.diagonal(similar)
    if k == 1:
        return inside.copy()
    return inside - (similar.sum(axis=1) - inside) / (k - 1)


def non_gaussianity(answer: Unmixing, density: Density, n: float) -> np.ndarray:
    """How many deviations each source is from what a Gaussian one would show; negative where the density that it has is
    for sources on the other side of the Gaussian.

    For a Gaussian source of variance v, v E[psi'(y)] = E[psi(y) y] (Stein). What the estimate of the difference
    scatters by over n rows follows from the variance of v psi'(y) + y^2 E[psi'] - psi(y) y.
    """
    nodes, weights = _gaussian_nodes()
    variances = np.einsum("ij,ij->i", answer.W, answer.W)
    y = nodes * np.sqrt(variances)[:, None]
    slope, score = density.slope(y), density.score(y)
    influence = variances[:, None] * slope + y * y * (slope @ weights)[:, None] - score * y
    scatter = np.sqrt((influence - (influence @ weights)[:, None]) ** 2 @ weights / n)
    return np.where(answer.flipped, -answer.stability, answer.stability) / scatter


@cache
def _gaussian_nodes() -> tuple[np.ndarray, np.ndarray]:
    """Points and weights for averages over a standard Gaussian."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(64)
    return nodes, weights / weights.sum()


def gaussian_sources(deviations: np.ndarray) -> np.ndarray:
    """Indices of sources that cannot be told from Gaussian ones, by their `non_gaussianity`.

    Directions in a space of m Gaussians are chosen to look as little like them as can be, the less the larger m is. The
    bound holds for what was seen over many draws of 2 to 40 Gaussian sources.
    """
    few = np.arange(len(deviations))
    while True:
        fewer = np.flatnonzero(np.abs(deviations) < 1.0 + 1.5 * np.sqrt(len(few)))
        if len(fewer) == len(few):
            return few
        few = fewer


def given_start(w_init: Any, k: int, ortho: bool) -> np.ndarray:
    """A start that was given, checked; for rotations the one nearest to it."""
    W = np.asarray(to_numpy(w_init), dtype=float)
    if W.shape != (k, k):
        raise ValueError(f"w_init must have shape ({k}, {k}), one row and column a source, got {W.shape}.")
    if not np.all(np.isfinite(W)) or np.linalg.matrix_rank(W) < k:
        raise ValueError("w_init must hold finite numbers and have an inverse.")
    return symmetric_root(W) if ortho else W
