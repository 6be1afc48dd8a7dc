"""Eigenpairs of the scatter matrix."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..._placing import placed_on_host
from ..._xp import Array, asarray_like, eps, namespace, to_numpy
from ...linalg import eigh_descending, fix_signs, most_components, quiet_blas, require_rows, require_size
from ...summaries import Moments
from ..base import EIGH_WORK, Cost, Job, Request, RowsLike
from ..results import Spectrum, Status, Tail
from .by_triangle import Triangle
from .spectral_solver import Solver, is_resolved, scales, wanted_pairs

#: With more columns, the trace of S^3 would cost as much as the eigenproblem.
_CUBES_UP_TO = 512
#: Up to this many columns, the scatter of rows on a device is brought to the host: all but the eigenproblem is then so
#: little work that a device would spend its time on beginning with it.
_ON_HOST_UP_TO = 1024


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
    on_host = "the solve of up to 1024 columns (of many all but eigenpairs)"
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
    there = None
    if not isinstance(moments.scatter, np.ndarray) and moments.n_features <= _ON_HOST_UP_TO:
        there, moments = moments.scatter, placed_on_host(moments)
    mean = moments.mean
    moments = request.about(moments)
    S = moments.scatter
    xp = namespace(S)
    # Vectors of single numbers are looked at on the host: a device would wait for each question.
    squares = to_numpy(xp.linalg.diagonal(S))
    require_size(squares, to_numpy(mean), moments.weight, each=request.standardize)
    scale = scales(xp.linalg.diagonal(S), moments.mean, moments.weight, request)
    if scale is not None:
        S = S / scale[:, None] / scale[None, :]
        squares = to_numpy(xp.linalg.diagonal(S))
    unit = float(squares.max()) or 1.0
    S = S / unit
    found, vectors = eigh_descending(S, at_least=request.k, there=there)
    values = np.clip(to_numpy(found), 0.0, None)
    most = most_components(moments.n_rows, moments.weight, moments.n_features)
    k = wanted_pairs(values, float(squares.sum()) / unit, request, most)
    tail = _remaining_tail(S, values, squares / unit).plus(values[k:])
    values, vectors = values[:k], fix_signs(vectors[:k, :])
    n_free = min(int(np.count_nonzero(squares > 0)), request.free(moments.n_rows))
    return Spectrum(
        values=asarray_like(values * unit, S),
        vectors=vectors,
        mean=moments.mean,
        scale=scale,
        tail=replace(tail, total=tail.total * unit),
        weight=moments.weight,
        n_rows=moments.n_rows,
        status=Status.EXACT if is_resolved(values, n_free, moments.product_eps) else Status.UNRESOLVED,
        residual=_residual(S, asarray_like(values, S), vectors, values[0]),
        epsilon=moments.product_eps,
        center=request.center,
        there=there,
    )


def _remaining_tail(S: Array, values: np.ndarray, squares: np.ndarray) -> Tail:
    """The sums over the eigenvalues that were not computed, from the traces of S, S^2 and S^3."""
    if values.shape[0] == S.shape[0]:
        return Tail()
    xp = namespace(S)
    total = max(float(squares.sum()) - float(values.sum()), 0.0)
    second = max(float(xp.sum(S * S)) - float((values * values).sum()), 0.0)
    if total == 0.0:
        return Tail()
    cubes = None
    if S.shape[0] <= _CUBES_UP_TO:
        cubes = max(float(xp.sum((S @ S) * S)) - float((values**3).sum()), 0.0) / total**3
    return Tail(total, second / total**2, cubes)


def _residual(S: Array, values: Array, vectors: Array, largest: float) -> float:
    """max_k ||S w - lambda w|| / lambda_1."""
    xp = namespace(S)
    largest = float(largest) or eps(values)
    R = vectors @ S - values[:, None] * vectors
    return float(xp.sqrt(xp.max(xp.sum(R * R, axis=1)))) / largest
