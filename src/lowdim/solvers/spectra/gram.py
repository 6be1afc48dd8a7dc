"""The dual problem: eigenpairs of the inner products of rows, for fewer rows than columns."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ... import summaries
from ..._core.arrays import Array, asarray_like, astype, count_true, is_sparse, namespace, to_numpy, wide_dtype
from ...errors import needs_columns
from ...linalg import (
    FLOAT32_EPS,
    FLOAT64_EPS,
    eigh_descending,
    is_constant,
    most_components,
    numerical_rank,
    orthonormal_rows,
    rank_cut,
    require_size,
    resolution,
    signs,
    svd_thin,
    with_zeros,
)
from ...summaries.gram import FeatureProducts, centred_features, standard_deviations
from ..problem import EIGH_WORK, Cost, Job, Request, RowsLike, Spectrum, Status, Tail, sum_error
from .covariance import Solver, column_scale, product_errors, root_errors, root_rank, tail_and_residual, wanted_pairs


@dataclass(frozen=True)
class Gram(Solver):
    """G v = gamma v for G = Z Z^T, the n x n inner products of the centred rows; then w = Z^T v / sqrt(gamma).

    Parameters
    ----------
    root : bool, default=False
        Work with the R factor of Z^T instead of G, so that nothing is squared.

    Notes
    -----
    Two passes over the columns: one for G (n^2 p multiplications, n^2 numbers), one to compute w from v. gamma are the
    non-zero eigenvalues of the scatter matrix. Directions beyond the rank get arbitrary orthonormal vectors and zero
    variance.

    Examples
    --------
    >>> import numpy as np
    >>> from lowdim import PCA
    >>> from lowdim.solvers import Gram
    >>> wide = np.random.default_rng(0).standard_normal((10, 500))
    >>> PCA(2, solver=Gram(root=True)).fit(wide).components_.shape
    (2, 500)
    """

    name = "gram"
    on_host = "a few vectors of the solve"
    one_pass = False
    reads_columns = True
    root: bool = False

    @property
    def squares(self) -> bool:  # type: ignore[override] # it depends on an option
        return not self.root

    def solve(self, rows: RowsLike, request: Request) -> Spectrum:
        if request.feature_weight is not None:
            return self._weighted(rows, request)
        rows = rows.counted()
        n, p = rows.shape
        assert n is not None, "refusal() rejects rows of unknown number"
        ddof = request.ddof if request.scale else None
        kind = summaries.GramRoot if self.root else summaries.Gram
        gram = rows.summarize_features(kind(n, sample_weight=rows.weights, ddof=ddof, center=request.center))
        product = gram.product if self.root else gram.centred()
        xp = namespace(product)
        weight = float(n) if rows.weights is None else float(xp.sum(rows.weights))
        most = most_components(n, weight, p)
        values, vectors, tail, residual, errors, tail_error = _eigenpairs(product, request, most, self.root)
        k = values.shape[0] if request.share is not None else most if request.k is None else request.k
        # Z^T v, and the mean and scale of each column. If rows are centred, v is orthogonal to the square roots of the
        # weights, so rounding errors of the means do not matter.
        rooted = vectors.T
        if rows.weights is not None:
            rooted = rooted * xp.sqrt(astype(rows.weights, vectors.dtype))[:, None]
        lifted = rows.map_features(_Lift(rooted, rows.weights, ddof, request.center, self.root))
        W, mean, scale = lifted[:, :-2].T, xp.asarray(lifted[:, -2], copy=True), xp.asarray(lifted[:, -1], copy=True)
        # Only the means tell squares that underflow from entries that are zero; without centring they are not computed.
        lost = not request.center and float(values[0]) == 0.0
        require_size(values[:1], rows.summarize(summaries.Columns(p)).mean if lost else mean, weight)
        # Sparse rows are multiplied in float64.
        narrow = rows.traits.itemsize < 8 and not rows.traits.sparse and not self.root and not request.scale
        epsilon = FLOAT32_EPS if narrow else FLOAT64_EPS
        n_free = min(request.free(n), p, values.shape[0])
        first = count_true(values >= resolution(FLOAT64_EPS) * values[0])
        if not self.root and not narrow and _are_zero(values, W, first, n_free, n):
            values, n_free = with_zeros(values[:first], values.shape[0] - first), first
        if not self.root:
            errors = product_errors(product, values, vectors, n_free, epsilon)
        # The lengths of w are the square roots of the eigenvalues, and w is as accurate as v.
        found = np.sqrt(values) if self.root else values
        rank = min(numerical_rank(found, max(n, p), epsilon), k)
        W = orthonormal_rows(W, rank, k)
        beyond = max(0, k - len(values))
        values, errors = with_zeros(values, beyond)[:k], None if errors is None else with_zeros(errors, beyond)[:k]
        return Spectrum(
            values=values,
            vectors=W * signs(W)[:, None],
            mean=mean,
            scale=scale if request.scale else None,
            tail=tail,
            weight=weight,
            n_rows=n,
            status=Status.EXACT,
            residual=residual,
            epsilon=epsilon,
            passes=2,
            center=request.center,
            errors=errors,
            tail_error=tail_error,
        ).judged()

    def _weighted(self, rows: RowsLike, request: Request) -> Spectrum:
        """The spectrum of columns with weights, from columns that are multiplied before they are read."""
        columns = rows.summarize(summaries.Columns(rows.shape[1]))
        scale = column_scale(request.about(columns).squares, columns.mean, columns.weight, request)
        assert scale is not None, "there are weights"
        plain = replace(request, scale=False, feature_weight=None)
        found = self.solve(rows.scaled(1.0 / scale), plain)
        return replace(found, mean=found.mean * scale, scale=scale, passes=found.passes + 1)

    def _confirmed(self, found: Spectrum, rows: RowsLike, request: Request) -> Spectrum:
        # The second pass has shown already which eigenvalues are zero.
        return found

    def cost(self, job: Job) -> Cost:
        n, p = job.rows, job.p
        k = min(n, p) if job.k is None else job.k
        known = job.traits.known_products
        state = "known" if known else f"cheapest for {n} rows of {p} columns"
        products, why = 0.0 if known else job.product_work(p, n), f"inner products are {state}"
        return Cost(products + EIGH_WORK * n**3, 2, 8 * (3 * n * n + (p + max(1024, 2 * n)) * max(k, n)), why)

    def refusal(self, job: Job) -> Exception | None:
        if job.n is None or not job.traits.by_feature:
            return needs_columns(self.name)
        return super().refusal(job)

    def finer(self, job: Job) -> Solver | None:
        return None if self.root else Gram(root=True)


def _eigenpairs(
    G: Array, request: Request, most: int, root: bool
) -> tuple[np.ndarray, Array, Tail, float, np.ndarray | None, float]:
    """The requested eigenpairs of G (of G^T G if `root`), the tail, the residual, and the relative errors of the
    eigenvalues and of the tail, which are known with `root` only."""
    xp = namespace(G)
    unit = float(xp.max(xp.abs(G))) or 1.0
    A = G / unit
    if root:
        _, s, Vt = svd_thin(A)
        rank = root_rank(s, A)
        errors: np.ndarray | None = root_errors(A, s, Vt, rank)
        A, found = A.T @ A, s * s
    else:
        found, Vt = eigh_descending(A, at_least=request.k, on_host=True)
        rank, errors = A.shape[0], None
    values = np.clip(to_numpy(found), 0.0, None)[:most]
    # Beyond the largest possible rank there is only rounding.
    values[min(request.free(G.shape[1]), rank) :] = 0.0
    k = min(wanted_pairs(values, float(values.sum()), request, most), len(values))
    few = not root and found.shape[0] < A.shape[0]
    rest = max(float(xp.sum(xp.linalg.diagonal(A))) - float(values.sum()), 0.0) if few else 0.0
    V = asarray_like(Vt[:k, :], A)
    tail, residual = tail_and_residual(A, values, V, rest)
    tail_error = 0.0
    if errors is not None and tail.total > 0.0:
        cut = rank_cut(float(values[0]), G.shape[0], FLOAT64_EPS)
        tail_error = sum_error(values[k:], errors[k : len(values)], cut) / tail.total
    unit = unit * unit if root else unit
    tail = replace(tail, total=tail.total * unit)
    return values[:k] * unit, V, tail, residual, None if errors is None else errors[:k], tail_error


def _are_zero(values: np.ndarray, W: Array, first: int, last: int, n: int) -> bool:
    """Whether the eigenvalues from `first` up to `last` are zero, although products of rows cannot resolve them.

    The length of w = Z^T v, which is computed without squaring anything, is the square root of the eigenvalue. If these
    have a length of at most n eps sqrt(lambda_1) in all, the n x n R factor of Z^T finds no variance there either.
    """
    if first >= last:
        return False
    xp = namespace(W)
    W = W[first:last, :]
    unit = float(xp.max(xp.abs(W))) or 1.0
    length = unit * math.sqrt(float(xp.sum((W / unit) ** 2)))
    return length <= rank_cut(math.sqrt(float(values[0])), n, FLOAT64_EPS)


class _Lift:
    """Maps a block of features to (centred and scaled features times `right`, their means, their scales)."""

    keeps_sparse = True
    #: The size of a block on a device, which is copied once.
    device_bytes = 512 << 20

    def __init__(self, right: Array, weights: Array | None, ddof: int | None, centre: bool, wide: bool) -> None:
        self._right, self._weights, self._ddof, self._centre, self._wide = right, weights, ddof, centre, wide

    def __call__(self, block: Array) -> Array:
        if is_sparse(block):
            return self._of_sparse(block)
        xp = namespace(block)
        if self._wide:
            block = astype(block, wide_dtype(block))
        if xp is not np and self._centre and self._ddof is None:
            return self._on_device(block)
        Z, mean, scale = centred_features(block, self._weights, self._ddof, self._centre)
        return xp.concat([Z @ astype(self._right, Z.dtype), astype(mean, Z.dtype)[:, None], scale[:, None]], axis=1)

    def _on_device(self, block: Array) -> Array:
        """Features that are centred once: what is left of their means is found by the same product, and subtracted from
        it."""
        xp, right = namespace(block), astype(self._right, block.dtype)
        w = xp.ones_like(right[:, :1]) if self._weights is None else astype(self._weights, block.dtype)[:, None]
        share = w / xp.sum(w)
        mean = block @ share
        found = (block - mean) @ xp.concat([right, share], axis=1)
        rest = found[:, -1:]
        lifted = found[:, :-1] - rest * xp.sum(right, axis=0)
        return xp.concat([lifted, mean + rest, xp.ones_like(rest)], axis=1)

    def _of_sparse(self, block: Any) -> Array:
        if self._centre:
            found = FeatureProducts(self._weights, self._ddof or 0, self._right)(block)
            mean, deviation = found[:, -2], found[:, -1]
            if self._ddof is None:
                found[:, -1] = 1.0
            else:
                found[:, -1] = np.where(is_constant(deviation, mean), 1.0, deviation)
                found[:, :-2] /= found[:, -1:]
            return found
        block = block.astype(np.float64)
        m, n = block.shape
        w = np.ones(n) if self._weights is None else np.asarray(self._weights, dtype=np.float64)
        scale = np.ones(m)
        if self._ddof is not None:
            scale = standard_deviations(block.multiply(block) @ w, np.zeros(m), n, float(w.sum()), self._ddof)
        return np.column_stack([(block @ self._right) / scale[:, None], np.zeros(m), scale])
