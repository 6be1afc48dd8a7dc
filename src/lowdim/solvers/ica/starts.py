"""Independent sources from several starts; with many rows, each start is first improved on a sample of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..._xp import to_numpy
from ...densities import Density
from ...errors import NoMaximum
from ..base import RowsLike
from ..escalate import refine
from ..results import Status, Unmixing
from .diagnosis import gaussian_sources, loss_of_end, non_gaussianity
from .fixed_point import first_steps
from .ica_job import IcaJob
from .ica_solver import IcaSolver
from .objective import Objective, nearest_orthogonal
from .quasi_newton import QuasiNewtonICA

#: Tolerance of the iteration on the sample, in units of n^{-1/2} (the sampling error is larger), and its maximal number
#: of steps.
_SAMPLE_TOL = 0.2
_SAMPLE_STEPS = 60
#: Number of initial steps of the fixed-point iteration, which is fastest far from a solution.
_FIRST_STEPS = 10


@dataclass(frozen=True, eq=False)
class Unmixer:
    """Runs a solver from several starts."""

    rows: RowsLike
    #: Mean and whitening matrix of the rows: z = whitening (x - mean).
    mean: np.ndarray
    whitening: np.ndarray
    density: Density
    extended: bool
    solver: IcaSolver
    job: IcaJob
    seed: int

    def run(self, starts: list[np.ndarray]) -> tuple[list[Unmixing], int]:
        """The results from all starts, and the total number of passes over the rows."""
        many = self.job.may_narrow
        quick, careful = (
            Objective(self.rows, self.mean, self.whitening, self.density, may_narrow=narrow) for narrow in (many, False)
        )
        if self.job.narrow_bytes:
            quick.keep_narrow_rows()
        on_sample = quick.on_sample(self.job.sample_rows, self.seed) if self.job.draws_sample else None
        answers = []

        def stuck(end: Unmixing) -> bool:
            """Whether no step made progress, possibly because of rounding in float32 or because of the sample."""
            return many and end.status is Status.NOT_CONVERGED and end.n_iter < self.solver.max_iter

        for i, W in enumerate(starts):
            # Every second start skips the initial steps, because these prefer sources far from Gaussian, which do not
            # always have the highest likelihood.
            ends: list[Unmixing] = []

            def solve(objective: Objective, W: np.ndarray = W, i: int = i, ends: list[Unmixing] = ends) -> Unmixing:
                searches = objective is careful or i % 2 == 0
                sample = on_sample if objective is quick else None
                ends.append(self._search(W, objective, sample) if searches else self._iterate(W, objective))
                return ends[-1]

            refine(quick, solve, lambda objective, end: careful if objective is quick and stuck(end) else None)
            answers.append(min(ends, key=lambda end: (end.status is Status.NOT_CONVERGED, self.loss(end))))
        return answers, quick.passes + careful.passes

    def loss(self, end: Unmixing) -> float:
        """The loss by which ends are compared."""
        return loss_of_end(end, self.density, self.solver.ortho)

    def _search(self, W: np.ndarray, objective: Objective, on_sample: Objective | None) -> Unmixing:
        """The result from one start, which is first improved on the sample, or else by a few fast steps on all rows."""
        flipped, near = np.zeros(len(W), dtype=bool), not self.job.search
        if on_sample is not None:
            W, flipped, near = self._improve_on_sample(on_sample, W, flipped)
        if near:
            return self._iterate(W, objective, flipped)
        steps = _FIRST_STEPS if self.density.prefers_rotations or self.solver.ortho else 0
        steps = min(steps, self.solver.max_iter)
        free = not self.solver.ortho
        W, flipped, steps = first_steps(objective, W, flipped, self.extended, self.solver.tol, steps, scaled=free)
        answer = self.solver.run(objective, W, flipped, self.extended, spent=steps)
        return replace(answer, n_iter=steps + answer.n_iter)

    def _iterate(self, W: np.ndarray, objective: Objective, flipped: np.ndarray | None = None) -> Unmixing:
        """The result of the solver from W, without initial steps."""
        flipped = np.zeros(len(W), dtype=bool) if flipped is None else flipped
        return self.solver.run(objective, W, flipped, self.extended)

    def _improve_on_sample(
        self, objective: Objective, W: np.ndarray, flipped: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, bool]:
        """A better start, from `objective`, that of the sample. A rotation comes first, because it is found faster.

        Returns W, which sources are flipped, and whether the sample is large enough to find the sources.
        """
        tol = _SAMPLE_TOL / np.sqrt(self.job.sample_rows)
        W, flips, _ = first_steps(objective, W, flipped, self.extended, tol, _FIRST_STEPS)
        options = QuasiNewtonICA(tol, _SAMPLE_STEPS, ortho=True)
        found = options.run(objective, W, flips, self.extended, rough=True)
        if len(gaussian_sources(non_gaussianity(found, self.density, objective.weight))) > 1:
            return found.W, flipped, False
        if not self.solver.ortho:
            try:
                found = replace(options, ortho=False).run(objective, found.W, found.flipped, self.extended, rough=True)
            except NoMaximum:
                # The likelihood of the sample has no maximum, but that of all rows may have one.
                return found.W, flipped, False
        return found.W, found.flipped, True


def random_rotations(k: int, n: int, seed: int) -> list[np.ndarray]:
    """Random k x k rotations to start from, n of them."""
    random = np.random.default_rng(seed)
    return [np.linalg.qr(random.standard_normal((k, k)))[0] for _ in range(n)]


def check_start(w_init: Any, k: int, ortho: bool) -> np.ndarray:
    """Check the start given by the user, and return it as an array; if `ortho`, the nearest rotation."""
    W = np.asarray(to_numpy(w_init), dtype=float)
    if W.shape != (k, k):
        raise ValueError(f"w_init must have shape ({k}, {k}), one row and column per source, got {W.shape}.")
    if not np.all(np.isfinite(W)) or np.linalg.matrix_rank(W) < k:
        raise ValueError("w_init must hold finite numbers and have an inverse.")
    return nearest_orthogonal(W) if ortho else W
