"""Singular values of the R factor of the rows."""

from __future__ import annotations

from dataclasses import dataclass

from ... import summaries
from ..._xp import Array, namespace, to_numpy
from ...linalg import fix_signs, most_components, numerical_rank, require_rows, require_size, svd_thin, with_zeros
from ..base import Cost, Job, Request, RowsLike
from ..results import Spectrum, Status, Tail
from .by_gram import Gram, orthonormal_rows
from .spectral_solver import Solver, scales, wanted_pairs


@dataclass(frozen=True)
class Triangle(Solver):
    """R = U diag(s) W^T for the R factor of the centred rows: tall-skinny QR, then an SVD; lambda = s^2.

    Notes
    -----
    One pass over the rows, 2 n p^2 operations and p^2 numbers of memory. The rows are never squared, so eigenvalues
    down to about eps^2 lambda_1 have correct digits. It takes several times as long as `covariance`. With n < p, and if
    columns can be read, the R factor of the transposed rows is used instead.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from lowdim import PCA
    >>> from lowdim.solvers import Triangle
    >>> PCA(2, solver=Triangle()).fit(load_iris().data).explained_variance_.round(4)
    array([4.2282, 0.2427])
    """

    name = "triangle"
    starts_from = summaries.Triangle

    def solve(self, rows: RowsLike, request: Request) -> Spectrum:
        n, p = rows.shape
        if n is not None and n < p and rows.traits.by_feature:
            return Gram(root=True).solve(rows, request)
        return self.solve_summary(rows.summarize(self.empty_summary(p)), request)

    def empty_summary(self, p: int) -> summaries.Triangle:
        return summaries.Triangle(p)

    def solve_summary(self, summary: summaries.Triangle, request: Request) -> Spectrum:
        require_rows(summary.n_rows, summary.weight, request.ddof, request.fixed_ddof)
        mean = summary.mean
        summary = request.about(summary)
        R = summary.root
        xp = namespace(R)
        squares = xp.sum(R * R, axis=0)
        require_size(squares, mean, summary.weight, each=request.standardize)
        scale = scales(squares, summary.mean, summary.weight, request)
        if scale is not None:
            R = R / scale[None, :]
        unit = float(xp.max(xp.abs(R))) or 1.0
        R = R / unit
        _, s, Vt = svd_thin(R)
        most = most_components(summary.n_rows, summary.weight, summary.n_features)
        k = wanted_pairs(s * s, float(xp.sum(s * s)), request, most)
        values, vectors = with_zeros(s * s, max(0, k - s.shape[0])), Vt
        rank = numerical_rank(s, max(R.shape))
        if rank < k:
            # Rounding has chosen the other vectors: weights would not equal repeated rows.
            vectors = orthonormal_rows(Vt, rank, k)
        vectors = fix_signs(vectors)
        return Spectrum(
            values=to_numpy(values) * unit * unit,
            vectors=vectors,
            mean=summary.mean,
            scale=scale,
            tail=Tail(),
            weight=summary.weight,
            n_rows=summary.n_rows,
            status=Status.EXACT,
            residual=residual(R, values[: vectors.shape[0]], vectors),
            center=request.center,
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
