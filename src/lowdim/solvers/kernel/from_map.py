"""Components from a feature map of the rows, followed by PCA."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ..._xp import Array, asarray_like, to_numpy
from ...kernels import Kernel
from ...linalg import require_normal, require_rows
from ...summaries import Moments, Sample
from ..base import Request, RowsLike, SpectraLike
from ..results import Spectrum
from .components import Components, array_like
from .feature_map import KernelFeatureMap
from .kernel_job import KernelJob
from .map_error import MapError, error_bound, kernel_difference, omitted_variance

if TYPE_CHECKING:
    from .maps import MapSolver

#: Number of rows whose pairs are used to estimate the error of Fourier features.
_FEW = 500


def mapped_components(
    rows: RowsLike, job: KernelJob, solver: MapSolver, sample: Sample | None, seed: int, spectra: SpectraLike
) -> Components:
    """Components by a feature map followed by PCA, for any rows that can be read in blocks.

    It takes one pass over the rows (for explicit features, those of PCA), and the memory of PCA with one column per
    feature.
    """
    kernel, like = job.kernel, rows.empty(0)
    assert kernel is not None, "refusal() rejects precomputed kernel matrices"
    # Without a sample, the map depends only on the number of columns.
    some = to_numpy(rows.empty(1, job.p)) if sample is None else sample.rows
    counts = np.ones(1) if sample is None else sample.weights
    phi = solver.make(kernel, some, counts, seed)
    raw = phi.on(like).raw
    mapped = rows.mapped(raw, widen=True)
    width = mapped.shape[1] if phi.root is None else phi.root.shape[1]
    request = Request(k=None if job.k is None else min(job.k, width), ddof=1, fixed_ddof=True, seed=seed)
    image: Moments | None = None
    if phi.root is None:
        spectrum = spectra.solve(mapped, request, "auto")[0].placed()
        offset, projection = spectrum.mean, spectrum.vectors.T
    else:
        # R may be large in directions in which kernels hardly vary, where products in float32 would be noise.
        moments = mapped.summarize(Moments(phi.root.shape[0], wide=True))
        require_rows(moments.n_rows, moments.weight, 1, fixed=True)
        image = moments.image(phi.root)
        spectrum = spectra.solve_summary(image, request)[0].placed()
        root = asarray_like(phi.root, moments.mean, dtype=moments.mean.dtype)
        offset, projection = moments.mean, root @ spectrum.vectors.T
    # If the kernel is not positive semidefinite, the largest eigenvalue may be negative.
    largest = math.sqrt(max(float(spectrum.values[0]), 0.0))
    require_normal(largest, like, "the features of the kernel", math.sqrt(spectrum.weight))
    error = MapError(0.0, 0.0, 0.0)
    total = spectrum.total
    if not solver.exact:
        error = _error(phi, kernel, sample, spectrum, image)
        if image is not None and error.value < 1.0:
            # The total includes the variance that the landmarks leave out.
            total = total / (1.0 - error.value)
    kept = spectrum.rank
    return Components(
        phi=raw,
        projection=projection[:, :kept],
        offset=offset,
        values=spectrum.values[:kept],
        total=total,
        negative_mass=phi.negative_mass,
        status=spectrum.status,
        residual=spectrum.residual,
        passes=spectrum.passes + (image is not None),
        n_rows=spectrum.n_rows,
        weight=spectrum.weight,
        basis=array_like(phi.landmarks, like),
        expansion=None if phi.root is None else _landmark_expansion(phi.root, spectrum),
        error=error,
    )


def _error(
    phi: KernelFeatureMap, kernel: Kernel, sample: Sample | None, spectrum: Spectrum, image: Moments | None
) -> MapError:
    """The error of the map; `image` are the moments of the features of Nystrom's method, None for other maps."""
    if sample is None:
        if image is None or not kernel.shift_invariant:
            return MapError(math.nan, math.nan, math.nan)
        # k(x, x) is the same for all rows, which gives an upper bound on the error.
        return error_bound(kernel, image)
    if image is None:
        return kernel_difference(phi, kernel, sample.rows[:_FEW])
    return omitted_variance(phi, kernel, sample.rows, sample.weights, spectrum.total, spectrum.weight)


def _landmark_expansion(root: np.ndarray, spectrum: Any) -> tuple[Array, Array]:
    """The expansion in landmarks: the point mean + W^T z in the space of phi = R^T k(x) has the weights
    R (mean + W^T z) on the landmarks."""
    W, mean = spectrum.vectors[: spectrum.rank, :], spectrum.mean
    R = asarray_like(root, mean, dtype=mean.dtype)
    return W @ R.T, R @ mean
