"""A solver of spectra: subspace iteration on the scatter matrix."""

from dataclasses import dataclass

import numpy as np

from lowdim.linalg import divisor, fix_signs, most_components
from lowdim.solvers import Cost, Solver, Spectrum, Status, Tail
from lowdim.summaries import Moments


@dataclass(frozen=True)
class SubspaceIteration(Solver):
    """V <- qr(S V) until nothing moves, then the eigenpairs of V^T S V."""

    name = "subspace-iteration"
    starts_from = Moments
    tol: float = 1e-10
    max_steps: int = 10_000

    def empty_summary(self, p):
        return Moments(p)

    def solve(self, rows, request):
        return self.solve_summary(rows.summarize(self.empty_summary(rows.shape[1])), request)

    def solve_summary(self, summary, request):
        S, p = np.asarray(summary.scatter), summary.n_features
        scale = None
        if request.scale:
            scale = np.sqrt(np.diagonal(S) / divisor(summary.weight, request.ddof))
            S = S / scale[:, None] / scale
        k = most_components(summary.n_rows, summary.weight, p) if request.k is None else request.k
        V = np.linalg.qr(np.random.default_rng(request.seed).standard_normal((p, min(p, k + 3))))[0]
        residual, steps = np.inf, 0
        while residual > self.tol and steps < self.max_steps:
            V, steps = np.linalg.qr(S @ V)[0], steps + 1
            values, turn = np.linalg.eigh(V.T @ S @ V)
            values, vectors = values[::-1][:k].clip(0.0), (V @ turn[:, ::-1])[:, :k]
            residual = float(np.linalg.norm(S @ vectors - vectors * values, axis=0).max() / values[0])
        rest = float(np.trace(S) - values.sum()) if k < p else 0.0
        return Spectrum(
            values=values, vectors=fix_signs(vectors.T), mean=summary.mean, scale=scale,
            tail=Tail(rest, None, None) if rest > 0.0 else Tail(), weight=summary.weight, n_rows=summary.n_rows,
            status=Status.CONVERGED if residual <= self.tol else Status.NOT_CONVERGED, residual=residual,
        )  # fmt: skip

    def cost(self, job):
        n, p = job.rows, job.p
        return Cost(n * p * p + 1000.0 * p**3, 1, 8 * 6 * p * p, "somebody likes it")
