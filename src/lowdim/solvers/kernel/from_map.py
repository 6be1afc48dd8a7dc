"""Components from a feature map of the rows, followed by PCA."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ..._xp import Array, asarray_like, to_numpy
from ...kernels import Kernel
from ...summaries import Moments, Sample
from ..base import Request, RowsLike, SpectraLike, require_rows
from ..results import Spectrum
from .components import Components, of_kind
from .kernel_job import KernelJob
from .made_map import MadeMap
from .map_error import MapError, at_most, kernel_difference, left_out

if TYPE_CHECKING:
    from .maps import MapSolver

#: Rows whose pairs tell how far Fourier features are from the kernel.
_FEW = 500


def mapped_components(
    rows: RowsLike, job: KernelJob, solver: MapSolver, sample: Sample | None, seed: int, spectra: SpectraLike
) -> Components:
    """By a feature map followed by PCA through `summarize`: any rows that can be read in blocks.

    One pass, or those of PCA where features are written out; the memory of PCA on as many columns as features.
    """
    kernel, like = job.kernel, rows.empty(0)
    assert kernel is not None, "refusal() has seen to it"
    # Without a sample the map needs no more of the rows than how wide they are.
    some = to_numpy(rows.empty(1, job.p)) if sample is None else sample.rows
    counts = np.ones(1) if sample is None else sample.weights
    made = solver.make(kernel, some, counts, seed)
    here = made.on(like)
    mapped = rows.mapped(here.raw)
    width = mapped.shape[1] if made.root is None else made.root.shape[1]
    request = Request(k=None if job.k is None else min(job.k, width), ddof=1, seed=seed)
    image: Moments | None = None
    if made.root is None:
        spectrum, _ = spectra.solve(mapped, request, "auto")
        offset, projection = spectrum.mean, spectrum.vectors.T
    else:
        # R may be large in directions in which kernels hardly vary, where products in float32 would be noise.
        moments = mapped.summarize(Moments(made.root.shape[0], wide=True))
        require_rows(moments.n_rows, moments.weight, 1, fixed=True)
        image = moments.image(made.root)
        spectrum, _ = spectra.solve_summary(image, request)
        root = asarray_like(made.root, moments.mean, dtype=moments.mean.dtype)
        offset, projection = moments.mean, root @ spectrum.vectors.T
    error = MapError(0.0, 0.0, 0.0)
    total = spectrum.total
    if not solver.exact:
        error = _error(made, kernel, sample, spectrum, image)
        if image is not None and error.value < 1.0:
            # What the landmarks leave out has variance too.
            total = total / (1.0 - error.value)
    kept = spectrum.rank
    return Components(
        phi=here.raw,
        projection=projection[:, :kept],
        offset=offset,
        values=spectrum.values[:kept],
        total=total,
        negative_mass=made.negative_mass,
        status=spectrum.status,
        residual=spectrum.residual,
        passes=spectrum.passes + (image is not None),
        n_rows=spectrum.n_rows,
        weight=spectrum.weight,
        basis=of_kind(made.landmarks, like),
        expansion=None if made.root is None else _landmark_expansion(made.root, spectrum),
        error=error,
    )


def _error(made: MadeMap, kernel: Kernel, sample: Sample | None, spectrum: Spectrum, image: Moments | None) -> MapError:
    """How far the map is from its kernel; `image` are the moments of Nystrom's features, None for other maps."""
    if sample is None:
        if image is None or not kernel.shift_invariant:
            return MapError(math.nan, math.nan, math.nan)
        # k(x, x) is the same for all rows, so that what is left of it is known but for the mean of it.
        return at_most(kernel, image)
    if image is None:
        return kernel_difference(made, kernel, sample.rows[:_FEW])
    return left_out(made, kernel, sample.rows, sample.weights, spectrum.total, spectrum.weight)


def _landmark_expansion(root: np.ndarray, spectrum: Any) -> tuple[Array, Array]:
    """The point mean + W^T z of the space of phi = R^T k(x) has weights R (mean + W^T z) on the landmarks."""
    W, mean = spectrum.vectors[: spectrum.rank, :], spectrum.mean
    R = asarray_like(root, mean, dtype=mean.dtype)
    return W @ R.T, R @ mean
