"""Components from the kernel matrix of all rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..._xp import Array, asarray_like, astype, eps, is_sparse, namespace, to_numpy
from ...errors import not_symmetric
from ...features import Same, Scaled, SomeColumns
from ...linalg import require_normal
from ..base import RowsLike
from .components import Components
from .feature_map import kernel_columns
from .kernel_job import KernelJob
from .matrix import GivenTiles, KernelMatrix, KernelTiles

if TYPE_CHECKING:
    from .exact import ExactKernel

#: A precomputed matrix may differ from its transpose by this share of its largest entry.
_SYMMETRIC = 1e-8
#: Number of rows compared at a time.
_STRIP = 1024


def exact_components(rows: RowsLike, job: KernelJob, solver: ExactKernel, seed: int) -> Components:
    """Components from the eigenpairs of the kernel matrix of all rows.

    If the job has no kernel, the rows are this matrix. Passes over pairs of rows and memory are those of the solver.
    """
    X, weights = rows.whole("KernelPCA")
    basis = None
    phi: Any
    if job.kernel is None:
        K, phi = X, Same()
        if K.shape[0] < K.shape[1]:
            # Rows of weight zero are left out, and so are the corresponding columns.
            phi = SomeColumns(np.flatnonzero(to_numpy(rows.weights) > 0))
            K = phi(K)
        require_symmetric(K)
        tiles: Any = GivenTiles(K)
    else:
        # A copy, because the user may change the rows after the fit.
        basis = X.copy() if isinstance(X, np.ndarray) or is_sparse(X) else namespace(X).asarray(X, copy=True)
        phi = kernel_columns(job.kernel, basis, _mean(basis, weights))
        known = phi.feature_map.rows if isinstance(phi, Scaled) else phi.rows
        if solver.in_float64 and job.traits.itemsize < 8 and not is_sparse(known):
            known = astype(known, namespace(known).float64)
        tiles = KernelTiles(job.kernel, known)
    matrix = KernelMatrix(tiles, weights, solver.kept_bytes(job), rows.progress)
    fit = solver.solve(matrix, job.k, seed)
    if fit.values.shape[0]:
        like = tiles.empty_tiles(0, 0)
        require_normal(float(fit.values[0]), like, "the features of the kernel", matrix.weight)
    xp = namespace(fit.vectors)
    deviations = asarray_like(np.sqrt(fit.values), fit.vectors, dtype=fit.vectors.dtype)
    projection = matrix.root[:, None] * fit.vectors / deviations[None, :]
    # Centring makes the columns sum to zero; after an iteration they do so only up to its tolerance.
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
        passes=fit.passes,
        n_rows=matrix.n,
        weight=matrix.weight,
        basis=basis,
        expansion=(projection.T, matrix.share),
        eigenvectors=fit.vectors / matrix.root[:, None],
    )


def _mean(rows: Array, weights: Array | None) -> Array | None:
    """The mean of the rows; None if they are not dense numbers."""
    if is_sparse(rows) or (isinstance(rows, np.ndarray) and rows.dtype.kind not in "f"):
        return None
    xp = namespace(rows)
    w = xp.ones_like(rows[:, 0]) if weights is None else astype(weights, rows.dtype)
    return w @ rows / xp.sum(w)


def require_symmetric(K: Array, table: str = "X") -> None:
    """Raise an error if a precomputed kernel matrix is not symmetric."""
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
