"""Singular values of the R factor of the rows."""

from __future__ import annotations

from dataclasses import dataclass

from .._xp import Array, namespace
from ..linalg import fix_signs, most_components, svd_thin
from ..summaries import Triangle
from .base import Cost, Job, Request, RowsLike, Solver, require_rows, scales
from .gram import Dual
from .results import Spectrum, Status, Tail


@dataclass(frozen=True)
class Triangular(Solver):
    """R = U diag(s) W^T for the R factor of the centred rows: tall-skinny QR, then an SVD; lambda = s^2.

    Notes
    -----
    One pass, 2 n p^2 operations and p^2 numbers. Never squares the rows, so eigenvalues down to about eps^2 lambda_1
    keep digits. Several times the time of `covariance`. With n < p and features at hand the same is done on the shorter
    side.
    """

    name = "triangle"

    def solve(self, rows: RowsLike, request: Request) -> Spectrum:
        n, p = rows.shape
        if n is not None and n < p and rows.traits.by_feature:
            return Dual(root=True).solve(rows, request)
        return self.from_summary(rows.summarize(Triangle(p)), request)

    def from_summary(self, triangle: Triangle, request: Request) -> Spectrum:
        """Solve without rows."""
        require_rows(triangle.n_rows, triangle.weight, request.ddof)
        R = triangle.root
        xp = namespace(R)
        scale = scales(xp.sum(R * R, axis=0), triangle.mean, triangle.weight, request)
        if scale is not None:
            R = R / scale[None, :]
        unit = float(xp.max(xp.abs(R))) or 1.0
        R = R / unit
        _, s, Vt = svd_thin(R)
        n_all = most_components(triangle.n_rows, triangle.weight, triangle.n_features)
        k = n_all if request.k is None else request.k
        s, Vt = _padded(s, Vt, k)
        vectors = fix_signs(Vt)
        values = s * s
        return Spectrum(
            values=values * unit * unit,
            vectors=vectors,
            mean=triangle.mean,
            scale=scale,
            tail=Tail(),
            weight=triangle.weight,
            n_rows=triangle.n_rows,
            status=Status.EXACT,
            residual=residual(R, values, vectors),
        ).truncated(k)

    def cost(self, job: Job) -> Cost:
        n, p = job.rows, job.p
        why = "nothing is squared, so small eigenvalues keep their digits"
        short = min(n, p)
        return Cost(6 * n * p * short + 20 * short**3, 1, 8 * p * (6 * short + min(n, max(1024, 4 * p))), why)


def residual(R: Array, values: Array, vectors: Array) -> float:
    """max_k ||R^T R w - lambda w|| / lambda_1."""
    xp = namespace(R)
    D = (vectors @ R.T) @ R - values[:, None] * vectors
    return float(xp.sqrt(xp.max(xp.sum(D * D, axis=1)))) / (float(values[0]) or 1.0)


def _padded(s: Array, Vt: Array, k: int) -> tuple[Array, Array]:
    """`s` and `Vt` with zeros and orthonormal rows added where fewer than `k` came out (rank below k)."""
    missing = k - s.shape[0]
    if missing <= 0:
        return s, Vt
    xp = namespace(s)
    full = xp.linalg.svd(Vt, full_matrices=True)[2]
    zeros = xp.zeros_like(full[0, :missing])
    return xp.concat([s, zeros]), xp.concat([Vt, full[Vt.shape[0] : k, :]], axis=0)
