"""Eigenpairs of the scatter matrix."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..._placing import placed_on_host
from ..._xp import asarray_like, namespace, to_device, to_host, to_numpy
from ...linalg import eigenpairs, fix_signs, most_components, quiet_blas, require_rows, require_size
from ...summaries import Moments
from ..base import EIGH_WORK, Cost, Job, Request, RowsLike
from ..results import Spectrum, Status
from .by_triangle import Triangle
from .spectral_solver import Solver, is_resolved, scales, tail_and_residual, wanted_pairs

#: Up to this many columns, the scatter of rows on a device is brought to the host, which solves the eigenproblem as
#: fast: an H200 takes 2 ms for 256 columns, where sixteen cores take 5 ms, but as long as these for 128 columns.
_ON_HOST_UP_TO = 160
#: With more columns, the sum of the cubes of the eigenvalues that were not computed would take as long as the
#: eigenpairs that were.
_CUBES_UP_TO = 512


@dataclass(frozen=True)
class Covariance(Solver):
    """S w = lambda w for the scatter S of the rows.

    Parameters
    ----------
    wide : bool
        Multiply float32 blocks in float64.

    Notes
    -----
    One pass over the rows, n p^2 multiplications and p^2 numbers of memory, then a symmetric eigenproblem of size p.
    Eigenvalues have an error of about eps times lambda_1; those below 1e-10 lambda_1 are reported as unresolved.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from lowdim import PCA
    >>> from lowdim.solvers import Covariance
    >>> PCA(2, solver=Covariance(wide=True)).fit(load_iris().data.astype("float32")).solver_
    'covariance'
    """

    name = "covariance"
    on_host = "the solve of up to 160 columns (of more a few vectors)"
    starts_from = Moments
    wide: bool = False

    def solve(self, rows: RowsLike, request: Request) -> Spectrum:
        # Columns that will be standardized may have any scale, so their squares could overflow in float32.
        wide = self.wide or request.standardize
        return self.solve_summary(rows.summarize(Moments(rows.shape[1], wide=wide)), request)

    def empty_summary(self, p: int) -> Moments:
        return Moments(p, wide=self.wide)

    def solve_summary(self, summary: Moments, request: Request) -> Spectrum:
        with quiet_blas(summary.n_features):
            return _solve_moments(summary, request)

    def cost(self, job: Job) -> Cost:
        n, p = job.rows, job.p
        why = (
            f"one product of the rows is cheapest for {p} columns"
            if job.traits.rereadable
            else "the stream can be read only once"
        )
        return Cost(n * p * p + EIGH_WORK * p**3, 1, 8 * p * (4 * p + max(2048, 2 * p)), why)

    def finer(self, job: Job) -> Solver | None:
        if not self.wide and job.traits.itemsize < 8:
            return Covariance(wide=True)
        return Triangle()


def _solve_moments(moments: Moments, request: Request) -> Spectrum:
    """Leading eigenpairs of the scatter, in units of its largest diagonal entry."""
    require_rows(moments.n_rows, moments.weight, request.ddof, request.fixed_ddof)
    there = moments.scatter
    if not isinstance(there, np.ndarray) and moments.n_features <= _ON_HOST_UP_TO:
        moments = placed_on_host(moments)
    seen = moments.mean
    moments = request.about(moments)
    S, mean = moments.scatter, moments.mean
    xp = namespace(S)
    # Vectors are looked at on the host: a device would wait for each question.
    squares, seen = to_host([xp.linalg.diagonal(S), seen])
    require_size(squares, seen, moments.weight, each=request.standardize)
    scale = scales(squares, seen if request.center else np.zeros_like(seen), moments.weight, request)
    if scale is not None:
        scale = asarray_like(scale, S)
        S = S / scale[:, None] / scale[None, :]
        squares = to_numpy(xp.linalg.diagonal(S))
    unit = float(squares.max()) or 1.0
    S = S / unit
    found, vectors = eigenpairs(S, at_least=request.k)
    values = np.clip(found, 0.0, None)
    most = most_components(moments.n_rows, moments.weight, moments.n_features)
    total = float(squares.sum()) / unit
    k = wanted_pairs(values, total, request, most)
    vectors = asarray_like(fix_signs(vectors[:k, :]), S)
    rest = max(total - float(values.sum()), 0.0) if len(values) < S.shape[0] else 0.0
    tail, residual = tail_and_residual(S, values, vectors, rest, cubes=S.shape[0] <= _CUBES_UP_TO)
    values = values[:k]
    n_free = min(int(np.count_nonzero(squares > 0)), request.free(moments.n_rows))
    if isinstance(vectors, np.ndarray):
        vectors, mean, *scales_there = to_device([vectors, mean] if scale is None else [vectors, mean, scale], there)
        scale = scales_there[0] if scales_there else None
    return Spectrum(
        values=values * unit,
        vectors=vectors,
        mean=mean,
        scale=scale,
        tail=replace(tail, total=tail.total * unit),
        weight=moments.weight,
        n_rows=moments.n_rows,
        status=Status.EXACT if is_resolved(values, n_free, moments.product_eps) else Status.UNRESOLVED,
        residual=residual,
        epsilon=moments.product_eps,
        center=request.center,
    )
