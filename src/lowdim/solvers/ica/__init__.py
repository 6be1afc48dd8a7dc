"""Independent sources of whitened rows: the problem behind ICA.

`solve(rows, request, asked)` is the entry point. `make_whitener` computes the whitening matrix from the spectrum of the
rows. `non_gaussianity` and `gaussian_sources` find the sources that cannot be distinguished from Gaussian ones. Each
solver has its own file and is listed in the table `ICA_SOLVERS`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from ..._core.arrays import to_numpy
from ..._core.devices import free_device_bytes
from ..._core.threads import single_threaded_blas
from ...errors import NoMaximum
from ..problem import Plan, Problem, RowsLike, Status
from .fixed_point import FixedPointICA, first_steps
from .objective import (
    SAME_OPTIMUM,
    IcaFit,
    IcaJob,
    IcaRequest,
    IcaSolver,
    Objective,
    Unmixing,
    agreement,
    gaussian_sources,
    loss_of_end,
    nearest_orthogonal,
    non_gaussianity,
    sort_sources,
    whitening_map,
)
from .quasi_newton import QuasiNewtonICA

#: Solvers by shorthand.
ICA_SOLVERS: dict[str, type[IcaSolver]] = {cls.name: cls for cls in (QuasiNewtonICA, FixedPointICA)}
#: The names of these, for type checkers.
IcaSolverName = Literal["quasi-newton", "fixed-point"]


class IcaProblem(Problem[IcaFit]):
    """Independent sources. There is no "auto", because the better solver does not depend on the shape of the rows."""

    def job(self, rows: RowsLike, request: IcaRequest) -> IcaJob:
        """The job of finding the sources. The cost of whitening is not included."""
        n, p = rows.shape
        k, whitener = request.k, request.whitener
        if whitener is not None:
            n, k = whitener.n_rows, int(whitener.matrix.shape[0])
        # Where sources have tails on the other side of the density, optima of higher likelihood are mixtures of them.
        several = request.extended and request.density.flipped is not None
        n_init = request.n_init if several or request.n_init is not None else 1
        return IcaJob(n, p, k, rows.traits, n_init, request.start is None, free_device_bytes(rows.empty(0)))

    def plan_job(self, job: IcaJob, asked: Any = "quasi-newton") -> Plan:
        """The plan for a job, which says how many starts there are, and whether they are few because of its size."""
        plan, n = super().plan_job(job, asked), job.n_starts
        starts = f"from {n} start{'' if n == 1 else 's'}{', as the fit is large' if job.large else ''}"
        return replace(plan, why=f"{plan.why}, {starts}")

    def solve(self, rows: RowsLike, request: IcaRequest, asked: Any = "quasi-newton") -> tuple[IcaFit, Plan]:
        """The result of highest likelihood from all starts, with its sources in order of their variance in the rows.

        Each step from a start is one pass over the rows, or over the whitened rows if those are kept; `IcaSolver.cost`
        states the cost.
        """
        whitener = request.whitener
        if whitener is None:
            raise TypeError("a request without a whitener can be planned but not solved; create one by make_whitener.")
        job = self.job(rows, request)
        plan = self.plan_job(job, asked)
        solver, k = plan.solver, job.sources
        if request.start is None:
            random = np.random.default_rng(request.seed)
            starts = [np.linalg.qr(random.standard_normal((k, k)))[0] for _ in range(job.n_starts)]
        else:
            starts = [check_start(request.start, k, solver.ortho)]
        mean, matrix = whitener.mean, whitener.matrix
        if job.keeps_white_rows:
            white = rows.map(whitening_map(matrix, mean, rows))
            rows, mean, matrix = rows.of(white, rows.weights, rows.progress), np.zeros(k), np.eye(k)
        unmixer = Unmixer(rows, mean, matrix, request, solver, job)
        with single_threaded_blas():
            answers, passes = unmixer.run(starts)
        losses = np.array([unmixer.loss(end) for end in answers])
        behind = losses - losses.min()
        # Of ends at the same optimum the first: which of them is lowest depends on rounding.
        best = answers[int((behind <= SAME_OPTIMUM).argmax())]
        stability = None if len(answers) == 1 else agreement(best, answers)
        converged = np.array([end.status is not Status.NOT_CONVERGED for end in answers])
        return sort_sources(best, stability, behind[converged], passes, whitener.lift), replace(plan, passes=passes)


_PROBLEM = IcaProblem(ICA_SOLVERS, IcaSolver, "a solver object such as QuasiNewtonICA()", chooses=False)
plan, solve = _PROBLEM.plan, _PROBLEM.solve


def check_start(w_init: Any, k: int, ortho: bool) -> np.ndarray:
    """Check the start given by the user, and return it as an array; if `ortho`, the nearest rotation."""
    W = np.asarray(to_numpy(w_init), dtype=float)
    if W.shape != (k, k):
        raise ValueError(f"w_init must have shape ({k}, {k}), one row and column per source, got {W.shape}.")
    if not np.all(np.isfinite(W)) or np.linalg.matrix_rank(W) < k:
        raise ValueError("w_init must hold finite numbers and have an inverse.")
    return nearest_orthogonal(W) if ortho else W


# Independent sources from several starts; with many rows, each start is first improved on a sample of them.


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
    request: IcaRequest
    solver: IcaSolver
    job: IcaJob

    def run(self, starts: list[np.ndarray]) -> tuple[list[Unmixing], int]:
        """The results from all starts, and the total number of passes over the rows."""
        many = self.job.may_narrow
        quick, careful = (
            Objective(self.rows, self.mean, self.whitening, self.request.density, may_narrow=narrow)
            for narrow in (many, False)
        )
        if self.job.narrow_bytes:
            quick.keep_narrow_rows()
        on_sample = quick.on_sample(self.job.sample_rows, self.request.seed) if self.job.draws_sample else None
        answers = []
        for i, W in enumerate(starts):
            # Every second start skips the initial steps, because these prefer sources far from Gaussian, which do not
            # always have the highest likelihood.
            if i % 2 == 0:
                end = self._search(W, quick, on_sample)
            else:
                end = self.solver.run(quick, W, np.zeros(len(W), dtype=bool), self.request.extended)
            if many and end.status is Status.NOT_CONVERGED and end.n_iter < self.solver.max_iter:
                # No step made progress, possibly because of rounding in float32 or because of the sample.
                ends = end, self._search(W, careful, None)
                end = min(ends, key=lambda end: (end.status is Status.NOT_CONVERGED, self.loss(end)))
            answers.append(end)
        return answers, quick.passes + careful.passes

    def loss(self, end: Unmixing) -> float:
        """The loss by which ends are compared."""
        return loss_of_end(end, self.request.density, self.solver.ortho)

    def _search(self, W: np.ndarray, objective: Objective, on_sample: Objective | None) -> Unmixing:
        """The result from one start, which is first improved on the sample, or else by a few fast steps on all rows."""
        solver, density, extended = self.solver, self.request.density, self.request.extended
        flipped, near = np.zeros(len(W), dtype=bool), not self.job.search
        if on_sample is not None:
            W, flipped, near = self._improve_on_sample(on_sample, W, flipped)
        if near:
            return solver.run(objective, W, flipped, extended)
        steps = min(_FIRST_STEPS if density.prefers_rotations or solver.ortho else 0, solver.max_iter)
        W, flipped, steps = first_steps(objective, W, flipped, extended, solver.tol, steps, scaled=not solver.ortho)
        answer = solver.run(objective, W, flipped, extended, spent=steps)
        return replace(answer, n_iter=steps + answer.n_iter)

    def _improve_on_sample(
        self, objective: Objective, W: np.ndarray, flipped: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, bool]:
        """A better start, from `objective`, that of the sample. A rotation comes first, because it is found faster.

        Returns W, which sources are flipped, and whether the sample is large enough to find the sources.
        """
        extended, tol = self.request.extended, _SAMPLE_TOL / np.sqrt(self.job.sample_rows)
        W, flips, _ = first_steps(objective, W, flipped, extended, tol, _FIRST_STEPS)
        options = QuasiNewtonICA(tol, _SAMPLE_STEPS, ortho=True)
        found = options.run(objective, W, flips, extended, rough=True)
        if len(gaussian_sources(non_gaussianity(found, objective.density, objective.weight))) > 1:
            return found.W, flipped, False
        if not self.solver.ortho:
            try:
                found = replace(options, ortho=False).run(objective, found.W, found.flipped, extended, rough=True)
            except NoMaximum:
                # The likelihood of the sample has no maximum, but that of all rows may have one.
                return found.W, flipped, False
        return found.W, found.flipped, True
