"""Two ways to kernel components: eigenpairs of the kernel matrix, or a feature map followed by PCA."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..._xp import Array, asarray_like, astype, eps, is_sparse, namespace, to_numpy
from ...errors import not_symmetric, too_few_rows
from ...features import Same, Scaled
from ...kernels import Kernel
from ...linalg import divisor
from ...reading import Rows
from ...sources import MappedSource, Source
from ...summaries import Moments, Sample
from .. import spectra
from ..base import Plan, Request
from ..results import Status, reaching
from ..spectra.by_covariance import Covariance
from .exact import DenseKernel, ExactKernel, KrylovKernel
from .job import KernelJob
from .map_error import MapError, at_most, kernel_difference, left_out
from .maps import MapSolver, kernel_columns
from .matrix import GivenTiles, KernelMatrix, KernelTiles

#: A matrix that is given may differ from its transpose by this share of its largest entry.
_SYMMETRIC = 1e-8
#: Rows compared at a time.
_STRIP = 1024
#: Rows whose pairs tell how far Fourier features are from the kernel.
_FEW = 500


@dataclass(frozen=True)
class Components:
    """Scores of x are (phi(x) - offset) projection."""

    phi: Any
    projection: Array
    offset: Array
    #: Eigenvalues of the centred kernel matrix that are positive, descending; the sum of all that are.
    values: Array
    total: float
    negative_mass: float
    status: Status
    residual: float
    n_rows: int
    weight: float
    #: The rows that kernels are taken with, and the matrix B and vector c that make z B + c the weights of their
    #: features in the point with scores z.
    basis: Any = None
    expansion: tuple[Array, Array] | None = None
    #: Unit eigenvectors of the centred kernel matrix, as columns.
    eigenvectors: Array | None = None
    error: MapError = MapError(0.0, 0.0, 0.0)  # noqa: RUF009 (frozen)

    def reaching(self, share: float) -> Components:
        """The fewest components that reach this share of the variance."""
        k = reaching(self, share)
        return replace(
            self,
            values=self.values[:k],
            projection=self.projection[:, :k],
            expansion=None if self.expansion is None else (self.expansion[0][:k, :], self.expansion[1]),
            eigenvectors=None if self.eigenvectors is None else self.eigenvectors[:, :k],
        )

    def turned(self, signs: Array) -> Components:
        """Components times +1 or -1 each."""
        turn = astype(signs, self.projection.dtype)
        return replace(
            self,
            projection=self.projection * turn,
            expansion=None if self.expansion is None else (self.expansion[0] * turn[:, None], self.expansion[1]),
            eigenvectors=None if self.eigenvectors is None else self.eigenvectors * turn,
        )


def exact_components(rows: Rows, kernel: Kernel | None, the_plan: Plan, job: KernelJob, seed: int) -> Components:
    """By eigenpairs of the kernel matrix of all rows; `kernel` is None where `rows` are that matrix."""
    X, weights = rows.whole("KernelPCA")
    solver: ExactKernel = the_plan.solver
    basis, room = None, 0
    phi: Any
    if kernel is None:
        K, phi = X, Same()
        if K.shape[0] < K.shape[1]:
            # Rows of weight zero are left out, and so are their columns.
            phi = _Columns(_counted(rows))
            K = phi(K)
        require_symmetric(K)
        tiles: Any = GivenTiles(K)
    else:
        # A copy: rows may be changed after the fit.
        basis = X.copy() if isinstance(X, np.ndarray) or is_sparse(X) else namespace(X).asarray(X, copy=True)
        phi = kernel_columns(kernel, basis, _mean(basis, weights))
        known = phi.feature_map.rows if isinstance(phi, Scaled) else phi.rows
        if isinstance(solver, DenseKernel) and job.itemsize < 8 and not is_sparse(known):
            # LAPACK is quick enough in float64 wherever it is chosen.
            known = astype(known, namespace(known).float64)
        tiles = KernelTiles(kernel, known)
        room = the_plan.n_bytes - solver.n_bytes(job) if isinstance(solver, KrylovKernel) else 0
    matrix = KernelMatrix(tiles, weights, room, rows.progress)
    fit = solver.solve(matrix, job.k, seed)
    xp = namespace(fit.vectors)
    projection = matrix.root[:, None] * fit.vectors / xp.sqrt(fit.values)[None, :]
    # Centring leaves nothing along the weights; an iteration leaves its tolerance.
    projection = projection - matrix.share[:, None] * xp.sum(projection, axis=0)[None, :]
    return Components(
        phi=phi,
        projection=projection,
        offset=matrix.means,
        values=fit.values,
        total=fit.total,
        negative_mass=fit.negative_mass,
        status=fit.status,
        residual=fit.residual,
        n_rows=matrix.n,
        weight=matrix.weight,
        basis=basis,
        expansion=(projection.T, matrix.share),
        eigenvectors=fit.vectors / matrix.root[:, None],
    )


def mapped_components(
    source: Source, rows: Rows, kernel: Kernel, solver: MapSolver, sample: Sample | None, k: int | None, seed: int
) -> Components:
    """By a feature map followed by PCA through `summarize`: any rows that can be read in blocks."""
    like = source.empty(0)
    # Without a sample the map needs no more of the rows than how wide they are.
    some = to_numpy(source.empty(1, source.shape[1])) if sample is None else sample.rows
    counts = np.ones(1) if sample is None else sample.weights
    made = solver.make(kernel, some, counts, seed)
    here = made.on(like)
    request = Request(k=k, ddof=1, seed=seed)
    if made.root is None:
        mapped = MappedSource(source, here.raw, rows.weights)
        request = replace(request, k=None if k is None else min(k, mapped.shape[1]))
        spectrum, _ = spectra.solve(Rows(mapped, rows.weights, rows.progress), request, "auto")
        offset, projection = spectrum.mean, spectrum.vectors.T
    else:
        # R may be large in directions in which kernels hardly vary, where products in float32 would be noise.
        moments = rows.mapped(here.raw).summarize(Moments(made.root.shape[0], wide=True))
        if divisor(moments.weight, 1) <= 0:
            raise too_few_rows(moments.n_rows, moments.weight, 1, fixed=True)
        request = replace(request, k=None if k is None else min(k, made.root.shape[1]))
        spectrum = Covariance().solve_summary(moments.image(made.root), request)
        root = asarray_like(made.root, moments.mean, dtype=moments.mean.dtype)
        offset, projection = moments.mean, root @ spectrum.vectors.T
    kept = spectrum.rank
    total, error = spectrum.total, MapError(0.0, 0.0, 0.0)
    if not solver.exact and sample is None:
        error = MapError(math.nan, math.nan, math.nan)
        if made.root is not None and kernel.shift_invariant:
            # k(x, x) is the same for all rows, so that what is left of it is known but for the mean of it.
            error = at_most(kernel, moments.image(made.root))
            total = total / (1.0 - error.value) if error.value < 1.0 else total
    elif not solver.exact and made.root is None:
        error = kernel_difference(made, kernel, some[:_FEW])
    elif not solver.exact:
        error = left_out(made, kernel, some, counts, total, spectrum.weight)
        total = total / (1.0 - error.value) if error.value < 1.0 else total
    return Components(
        phi=here.raw,
        projection=projection[:, :kept],
        offset=offset,
        values=spectrum.values[:kept],
        total=total,
        negative_mass=made.negative_mass,
        status=spectrum.status,
        residual=spectrum.residual,
        n_rows=spectrum.n_rows,
        weight=spectrum.weight,
        basis=of_kind(made.landmarks, like),
        expansion=None if made.root is None else _landmark_expansion(made.root, spectrum),
        error=error,
    )


def of_kind(rows: Any, like: Array) -> Any:
    """Rows from the host as an array of the kind of `like`; sparse ones, and None, as they are."""
    return rows if rows is None or is_sparse(rows) else asarray_like(rows, like, dtype=like.dtype)


def _landmark_expansion(root: np.ndarray, spectrum: Any) -> tuple[Array, Array]:
    """The point mean + W^T z of the space of phi = R^T k(x) has weights R (mean + W^T z) on the landmarks."""
    W, mean = spectrum.vectors[: spectrum.rank, :], spectrum.mean
    R = asarray_like(root, mean, dtype=mean.dtype)
    return W @ R.T, R @ mean


def _mean(rows: Array, weights: Array | None) -> Array | None:
    """The mean of rows that are dense numbers."""
    if is_sparse(rows) or (isinstance(rows, np.ndarray) and rows.dtype.kind not in "f"):
        return None
    xp = namespace(rows)
    w = xp.ones_like(rows[:, 0]) if weights is None else astype(weights, rows.dtype)
    return w @ rows / xp.sum(w)


@dataclass(frozen=True)
class _Columns:
    """Some columns of a row, where rows of weight zero were left out of a matrix that was given."""

    index: Array

    def __call__(self, block: Array) -> Array:
        return block[:, to_numpy(self.index)] if is_sparse(block) else namespace(block).take(block, self.index, axis=1)


def _counted(rows: Rows) -> Array:
    """Which rows have a weight that is not zero."""
    return asarray_like(np.flatnonzero(to_numpy(rows.weights) > 0), rows.weights)


def require_symmetric(K: Array, table: str = "X") -> None:
    """A kernel matrix that was given must be symmetric."""
    if is_sparse(K):
        gap = abs(K - K.T).tocoo()
        at = int(gap.data.argmax()) if gap.nnz else 0
        if gap.nnz and gap.data[at] > _SYMMETRIC * abs(K).max():
            raise not_symmetric(float(gap.data[at]), (int(gap.row[at]), int(gap.col[at])), table)
        return
    xp = namespace(K)
    largest, worst, place = 0.0, 0.0, (0, 0)
    for start in range(0, K.shape[0], _STRIP):
        stop = min(start + _STRIP, K.shape[0])
        left = K[start:stop, :]
        largest = max(largest, float(xp.max(xp.abs(left))))
        apart = to_numpy(xp.abs(left - K[:, start:stop].T))
        if apart.max() > worst:
            worst = float(apart.max())
            i, j = np.unravel_index(int(apart.argmax()), apart.shape)
            place = (start + int(i), int(j))
    if worst > max(_SYMMETRIC, 100 * eps(K)) * largest:
        raise not_symmetric(worst, place, table)
