"""The dual problem: eigenpairs of the inner products of rows, for fewer rows than columns."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ... import summaries
from ..._xp import Array, asarray_like, astype, dense, namespace
from ...linalg import (
    FLOAT32_EPS,
    FLOAT64_EPS,
    eigh_descending,
    most_components,
    numerical_rank,
    require_size,
    signs,
    svd_thin,
    with_zeros,
)
from ...summaries.gram import centred_features
from ..base import EIGH_WORK, Cost, Job, Request, RowsLike
from ..results import Spectrum, Status, Tail
from .spectral_solver import Solver, is_resolved


@dataclass(frozen=True)
class Gram(Solver):
    """G v = gamma v for G = Z Z^T, the n x n inner products of the centred rows; then w = Z^T v / sqrt(gamma).

    Parameters
    ----------
    root : bool
        Work with the R factor of Z^T instead of G, so that nothing is squared.

    Notes
    -----
    Two passes over the columns: one for G (n^2 p multiplications, n^2 numbers), one to compute w from v. gamma are the
    non-zero eigenvalues of the scatter matrix. Directions beyond the rank get arbitrary orthonormal vectors and zero
    variance.
    """

    name = "gram"
    one_pass = False
    reads_columns = True
    root: bool = False

    def solve(self, rows: RowsLike, request: Request) -> Spectrum:
        rows = rows.counted()
        n, p = rows.shape
        assert n is not None, "refusal() rejects rows of unknown number"
        ddof = request.ddof if request.standardize else None
        kind = summaries.GramRoot if self.root else summaries.Gram
        gram = rows.summarize_features(kind(n, sample_weight=rows.weights, ddof=ddof))
        values, vectors, tail, residual = _eigenpairs(
            gram.product if self.root else gram.centred(), request.k or n, self.root
        )
        xp = namespace(values)
        weight = float(n) if rows.weights is None else float(xp.sum(rows.weights))
        k = most_components(n, weight, p) if request.k is None else request.k
        W, mean, scale = _lift(rows, vectors, ddof)
        require_size(values[:1], mean, weight)
        narrow = rows.traits.itemsize < 8 and not self.root and not request.standardize
        epsilon = FLOAT32_EPS if narrow else FLOAT64_EPS
        rank = min(numerical_rank(values, max(n, p), epsilon), k)
        W = orthonormal_rows(W, rank, k)
        values = with_zeros(values, max(0, k - values.shape[0]))[:k]
        resolved = self.root or is_resolved(values, min(n - 1, p), epsilon)
        return Spectrum(
            values=values,
            vectors=W * signs(W)[:, None],
            mean=mean,
            scale=scale if request.standardize else None,
            tail=tail,
            weight=weight,
            n_rows=n,
            status=Status.EXACT if resolved else Status.UNRESOLVED,
            residual=residual,
            epsilon=epsilon,
            passes=2,
        )

    def cost(self, job: Job) -> Cost:
        n, p = job.rows, job.p
        k = min(n, p) if job.k is None else job.k
        known = job.traits.known_products
        state = "known" if known else f"cheapest for {n} rows of {p} columns"
        products, why = 0 if known else n * n * p, f"inner products are {state}"
        return Cost(products + EIGH_WORK * n**3, 2, 8 * (3 * n * n + (p + max(1024, 2 * n)) * max(k, n)), why)

    def refusal(self, job: Job) -> Exception | None:
        if job.n is None or not job.traits.by_feature:
            return ValueError("solver='gram' reads columns, which a stream of blocks cannot give; use 'triangle'.")
        return super().refusal(job)

    def finer(self, job: Job) -> Solver | None:
        return None if self.root else Gram(root=True)


def _eigenpairs(G: Array, k: int, root: bool) -> tuple[Array, Array, Tail, float]:
    """The leading eigenpairs of G (of G^T G if `root`), the tail, and the residual."""
    xp = namespace(G)
    unit = float(xp.max(xp.abs(G))) or 1.0
    A = G / unit
    if root:
        _, s, Vt = svd_thin(A)
        values, action, unit = s * s, (Vt @ A.T) @ A, unit * unit
    else:
        values, Vt = eigh_descending(A)
        values, action = xp.clip(values, 0.0, None), Vt @ A
    k = min(k, values.shape[0])
    tail = Tail().plus(values[k:])
    D = action[:k, :] - values[:k, None] * Vt[:k, :]
    residual = float(xp.sqrt(xp.max(xp.sum(D * D, axis=1)))) / (float(values[0]) or 1.0)
    return values[:k] * unit, Vt[:k, :], replace(tail, total=tail.total * unit), residual


def _lift(rows: RowsLike, vectors: Array, ddof: int | None) -> tuple[Array, Array, Array]:
    """Z^T v as rows, and the mean and scale of each column, in one pass over the columns.

    v is orthogonal to the square roots of the weights, so rounding errors of the means do not matter.
    """
    xp = namespace(vectors)
    rooted = vectors.T
    if rows.weights is not None:
        w = astype(rows.weights, vectors.dtype)
        rooted = rooted * xp.sqrt(w)[:, None]

    def lift(block: Array) -> Array:
        Z, mean, scale = centred_features(dense(block), rows.weights, ddof)
        return xp.concat([Z @ astype(rooted, Z.dtype), astype(mean, Z.dtype)[:, None], scale[:, None]], axis=1)

    lifted = rows.map_features(lift)
    k = vectors.shape[0]
    return lifted[:, :k].T, xp.asarray(lifted[:, k], copy=True), xp.asarray(lifted[:, k + 1], copy=True)


def orthonormal_rows(W: Array, rank: int, k: int) -> Array:
    """`k` orthonormal rows: those of `W` up to the rank, and arbitrary ones beyond it, which depend on nothing else.

    Rows of `W` for small eigenvalues are orthogonal only to about eps lambda_1 / lambda_k. Since rows are
    orthogonalised in descending order of their eigenvalues, the accurate ones hardly change.
    """
    xp = namespace(W)
    rows = W[:rank, :]
    if rank:
        rows = rows / xp.max(xp.abs(rows))
    if rank < k:
        noise = np.random.default_rng(0).standard_normal((k - rank, W.shape[1]))
        rows = xp.concat([rows, asarray_like(noise, W, dtype=W.dtype)], axis=0)
    return xp.linalg.qr(rows.T, mode="reduced")[0].T
