"""Independent sources of all rows from several starts: each is improved on a sample of the rows where they are many."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..._xp import Array, to_numpy
from ...densities import Density
from ...errors import NoMaximum
from ...features import affine
from ...summaries import Moments, Sample
from ..base import RowsLike
from ..results import Status, Unmixing
from .diagnosis import gaussian_sources, non_gaussianity
from .fixed_point import first_steps
from .ica_job import IcaJob
from .ica_solver import IcaSolver
from .objective import Objective, symmetric_root
from .quasi_newton import QuasiNewtonICA
from .whitener import symmetric_power

#: Where the iteration on the sample ends, in units of n^{-1/2}: its solution is off by more than that.
_SAMPLE_TOL = 0.2
_SAMPLE_STEPS = 60
#: How far the eigenvalues of the covariance of whitened rows may be from one in a sample.
_SAMPLE_UNLIKE = 0.5
#: Fewer numbers are not worth float32, in whose rounding several starts may look alike.
_MANY = 100_000
#: Steps of the fixed point iteration that come first: from afar it is the quickest.
_FIRST_STEPS = 10


@dataclass(frozen=True, eq=False)
class Unmixer:
    """Everything that a run from one start needs."""

    rows: RowsLike
    #: With these the rows are white: z = whitening (x - mean).
    mean: Array
    whitening: Array
    density: Density
    extended: bool
    solver: IcaSolver
    job: IcaJob
    seed: int

    def run(self, starts: list[np.ndarray]) -> tuple[list[Unmixing], int]:
        """The answers from all starts, and the passes over the rows that they took."""
        many = self.job.rows * self.whitening.shape[0] >= _MANY
        quick, careful = (
            Objective(self.rows, self.mean, self.whitening, self.density, may_narrow=narrow) for narrow in (many, False)
        )
        rehearsal = self._sample_objective() if self.job.draws_sample else None
        answers = []
        for i, W in enumerate(starts):
            # Every second start goes without first steps: they lead to sources far from Gaussian, which are not always
            # the likeliest.
            answer = self._search(W, quick, rehearsal) if i % 2 == 0 else self._iterate(W, quick)
            if many and answer.status is Status.NOT_CONVERGED and answer.n_iter < self.solver.max_iter:
                # The iteration is stuck, and the rounding of float32 or the sample may be the reason.
                again = self._search(W, careful, None)
                answer = min(answer, again, key=lambda a: (a.status is Status.NOT_CONVERGED, a.loss[-1]))
            answers.append(answer)
        return answers, quick.passes + careful.passes + (rehearsal is not None)

    def _search(self, W: np.ndarray, objective: Objective, rehearsal: Objective | None) -> Unmixing:
        """The answer from one start: from where the sample leads, or after a few quick steps on all rows."""
        flipped, near = np.zeros(len(W), dtype=bool), not self.job.search
        if rehearsal is not None:
            W, flipped, near = self._rehearse(rehearsal, W, flipped)
        if near:
            return self._iterate(W, objective, flipped)
        steps = _FIRST_STEPS if self.density.prefers_rotations or self.solver.ortho else 0
        steps = min(steps, self.solver.max_iter)
        W, flipped, steps = first_steps(objective, W, flipped, self.extended, self.solver.tol, steps)
        answer = self.solver.run(objective, W, flipped, self.extended, spent=steps)
        return replace(answer, n_iter=steps + answer.n_iter)

    def _iterate(self, W: np.ndarray, objective: Objective, flipped: np.ndarray | None = None) -> Unmixing:
        """The answer of the solver itself, from W."""
        flipped = np.zeros(len(W), dtype=bool) if flipped is None else flipped
        return self.solver.run(objective, W, flipped, self.extended)

    def _sample_objective(self) -> Objective | None:
        """The objective of a sample of the rows; None where that does not stand for all of them."""
        k = self.whitening.shape[0]
        sample = self.rows.summarize(Sample(self.rows.shape[1], self.job.sample_rows, seed=self.seed))
        weights = None if np.all(sample.weights == 1.0) else sample.weights
        K = to_numpy(self.whitening)
        white = affine(K.T, to_numpy(self.mean), 1.0)(sample.rows.astype(np.float64))
        # Solvers need rows that are white by their own covariance. Where that is far from the identity, few rows have
        # most of the variance of a source, and a sample does not stand for all.
        moments = self.rows.of(white, weights).summarize(Moments(k))
        C = moments.covariance(ddof=0)
        if np.abs(np.linalg.eigvalsh(C) - 1.0).max() > _SAMPLE_UNLIKE:
            return None
        white = (white - moments.mean) @ symmetric_power(C, -0.5)
        few = self.rows.of(white.astype(np.float32), weights)
        return Objective(few, np.zeros(k), np.eye(k), self.density, may_narrow=True)

    def _rehearse(
        self, rehearsal: Objective, W: np.ndarray, flipped: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, bool]:
        """A better start, from the sample: a rotation first, which is quicker to find. And whether the sample is large
        enough to tell the sources from Gaussian ones."""
        tol = _SAMPLE_TOL / np.sqrt(self.job.sample_rows)
        W, flips, _ = first_steps(rehearsal, W, flipped, self.extended, tol, _FIRST_STEPS)
        options = QuasiNewtonICA(tol, _SAMPLE_STEPS, ortho=True)
        found = options.run(rehearsal, W, flips, self.extended, rough=True)
        if len(gaussian_sources(non_gaussianity(found, self.density, rehearsal.weight))) > 1:
            return found.W, flipped, False
        if not self.solver.ortho:
            try:
                found = replace(options, ortho=False).run(rehearsal, found.W, found.flipped, self.extended, rough=True)
            except NoMaximum:
                # The sample has none; all rows may have one.
                return found.W, flipped, False
        return found.W, found.flipped, True


def random_rotations(k: int, n: int, seed: int) -> list[np.ndarray]:
    """n random starts."""
    random = np.random.default_rng(seed)
    return [np.linalg.qr(random.standard_normal((k, k)))[0] for _ in range(n)]


def check_start(w_init: Any, k: int, ortho: bool) -> np.ndarray:
    """A start that was given, as an array; for rotations the one nearest to it."""
    W = np.asarray(to_numpy(w_init), dtype=float)
    if W.shape != (k, k):
        raise ValueError(f"w_init must have shape ({k}, {k}), one row and column a source, got {W.shape}.")
    if not np.all(np.isfinite(W)) or np.linalg.matrix_rank(W) < k:
        raise ValueError("w_init must hold finite numbers and have an inverse.")
    return symmetric_root(W) if ortho else W
