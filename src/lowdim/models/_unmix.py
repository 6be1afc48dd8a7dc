"""Independent sources from whitened rows: a start from a sample of them, then all of them, several times; how well the
answers agree, and which sources look Gaussian."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

from .._xp import Array, to_numpy
from ..densities import Density
from ..solvers import FixedPointICA, Objective, QuasiNewtonICA, Unmixing
from ..solvers.unmixing import symmetric_root
from ..sources import open_source
from ..summaries import Sample
from ..summarize import Rows

#: Rows of the sample: at least so many, and so many for each pair of sources; and so many times fewer than all.
_SAMPLE_ROWS = 5000
_SAMPLE_PER_PAIR = 6
_SAMPLE_SHARE = 8
#: Where the iteration on the sample ends: its solution is off by more than that.
_SAMPLE_TOL = 1e-3
_SAMPLE_STEPS = 60
#: Steps of the fixed point iteration that come first: from afar it is the quickest.
_FIRST_STEPS = 10
#: The gradient of rows in float32 is rounding below this.
_FLOAT32_FLOOR = 3e-6


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

    def run(self, starts: list[np.ndarray]) -> tuple[list[Unmixing], int]:
        """The answers from all starts, and the passes over the rows that they took."""
        objective = Objective(self.rows, self.mean, self.whitening, self.density)
        rehearsal = self._rehearsal()
        floor = _FLOAT32_FLOOR if self.rows.traits.itemsize < 8 else 0.0
        answers = []
        for W in starts:
            flipped, known = np.zeros(len(W), dtype=bool), not self.search
            if rehearsal is not None:
                W, flipped, known = self._rehearse(rehearsal, W, flipped)
            answers.append(self._finish(objective, W, flipped, known, floor))
        return answers, objective.passes + (rehearsal is not None)

    def _finish(self, objective: Objective, W: np.ndarray, flipped: np.ndarray, known: bool, floor: float) -> Unmixing:
        """The solver on all rows, from where the sources are roughly `known`, or after a few steps towards that."""
        if known:
            return self.solver.run(objective, W, flipped, self.extended, floor)
        first = FixedPointICA(self.solver.tol, min(_FIRST_STEPS, self.solver.max_iter))
        begun = first.run(objective, W, flipped, self.extended, floor)
        rest = replace(self.solver, max_iter=self.solver.max_iter - begun.n_iter)
        found = rest.run(objective, begun.W, begun.flipped, self.extended, floor)
        return replace(found, loss=begun.loss[:-1] + found.loss, n_iter=begun.n_iter + found.n_iter)

    def _rehearsal(self) -> Objective | None:
        """The objective of a sample of the rows, where they are many."""
        k = self.whitening.shape[0]
        size = max(_SAMPLE_ROWS, _SAMPLE_PER_PAIR * k * k)
        n = self.n_rows
        if not self.search or n < _SAMPLE_SHARE * size:
            return None
        sample = self.rows.summarize(Sample(self.rows.shape[1], size, seed=self.seed))
        weights = None if np.all(sample.weights == 1.0) else sample.weights
        few = Rows(open_source(sample.rows), weights)
        return Objective(few, to_numpy(self.mean), to_numpy(self.whitening), self.density)

    def _rehearse(
        self, rehearsal: Objective, W: np.ndarray, flipped: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, bool]:
        """A better start, from the sample: a rotation first, which is quicker to find. And whether the sample is large
        enough to tell the sources from Gaussian ones."""
        found = FixedPointICA(_SAMPLE_TOL, _FIRST_STEPS).run(rehearsal, W, flipped, self.extended)
        options = QuasiNewtonICA(_SAMPLE_TOL, _SAMPLE_STEPS, ortho=True)
        found = options.run(rehearsal, found.W, found.flipped, self.extended)
        if len(gaussian_sources(found, self.density, rehearsal.weight)) > 1:
            return found.W, flipped, False
        if not self.solver.ortho:
            found = replace(options, ortho=False).run(rehearsal, found.W, found.flipped, self.extended)
        return found.W, found.flipped, True


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
    stacked = np.stack(clusters)
    similar = np.abs(np.einsum("aik,bjk->abij", stacked, stacked)).mean(axis=(0, 1))
    inside = np.diagonal(similar)
    if k == 1:
        return inside.copy()
    return inside - (similar.sum(axis=1) - inside) / (k - 1)


def gaussian_sources(answer: Unmixing, density: Density, n: float) -> np.ndarray:
    """Indices of sources that cannot be told from Gaussian ones by the density.

    For a Gaussian source of variance v, v E[psi'(y)] = E[psi(y) y] (Stein). What the estimate of the difference
    scatters by over n rows follows from the variance of v psi'(y) + y^2 E[psi'] - psi(y) y.
    """
    nodes, weights = np.polynomial.hermite_e.hermegauss(64)
    weights = weights / weights.sum()
    variances = np.einsum("ij,ij->i", answer.W, answer.W)
    looks = []
    for i, (v, found) in enumerate(zip(variances, answer.stability, strict=True)):
        y = nodes * np.sqrt(v)
        slope, score = density.slope(y), density.score(y)
        influence = v * slope + y * y * (weights @ slope) - score * y
        scatter = np.sqrt(max(weights @ influence**2 - (weights @ influence) ** 2, 0.0) / n)
        if abs(found) < _significance(len(variances)) * scatter:
            looks.append(i)
    return np.array(looks, dtype=int)


def _significance(k: int) -> float:
    """How many deviations from zero are no sign of anything: sources are chosen to be far from Gaussian, the more so
    the more there are to choose from."""
    return 2.0 + np.sqrt(k)


def given_start(w_init: Any, k: int, ortho: bool) -> np.ndarray:
    """A start that was given, checked; for rotations the one nearest to it."""
    W = np.asarray(to_numpy(w_init), dtype=float)
    if W.shape != (k, k):
        raise ValueError(f"w_init must have shape ({k}, {k}), one row and column a source, got {W.shape}.")
    if not np.all(np.isfinite(W)) or np.linalg.matrix_rank(W) < k:
        raise ValueError("w_init must hold finite numbers and have an inverse.")
    return symmetric_root(W) if ortho else W
