"""A check that eigenvalues which the covariance cannot resolve are zero, so that no more accurate solver has to run."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from ..._xp import Array, count_true, to_numpy
from ...features import affine
from ...linalg import FLOAT64_EPS, fix_signs, rank_cut, resolution
from ...summaries import Columns
from ..base import Request, RowsLike
from ..results import Spectrum, Status
from .by_gram import with_complement


def with_certain_zeros(spectrum: Spectrum, rows: RowsLike, request: Request) -> Spectrum:
    """The spectrum with the status EXACT, if its unresolved eigenvalues are zero as far as the rows tell.

    One more pass projects the centred rows on the unresolved eigenvectors, which squares nothing: if the projections
    have lengths of at most p eps sqrt(lambda_1) in all, the R factor of the rows finds no variance in these directions
    either, however many rows there are. This is the usual case: columns that are sums of others, or that are empty. As
    after a solve by the R factor, the eigenvectors without variance are arbitrary orthonormal ones.
    """
    values = spectrum.values
    k, p = spectrum.vectors.shape
    first = count_true(values >= resolution(FLOAT64_EPS) * values[0])
    if spectrum.epsilon > FLOAT64_EPS or first in (0, k):
        return spectrum
    squares = to_numpy(_squares_along(spectrum.vectors[first:, :], spectrum, rows, request))
    cut = rank_cut(1.0, p, FLOAT64_EPS)
    if not math.sqrt(float(squares.sum()) / float(values[0])) <= cut:
        return replace(spectrum, passes=spectrum.passes + 1)
    return replace(
        spectrum,
        values=np.concatenate([values[:first], np.sort(squares)[::-1]]),
        vectors=fix_signs(with_complement(spectrum.vectors[:first, :], k)),
        status=Status.EXACT,
        passes=spectrum.passes + 1,
    )


def _squares_along(V: Array, spectrum: Spectrum, rows: RowsLike, request: Request) -> Array:
    """Sums of squares of the centred (and scaled) rows along the vectors V."""
    A = V.T if spectrum.scale is None else V.T / spectrum.scale[:, None]
    # Sparse rows are centred after the product only if their mean is not far beside their deviations.
    near = 1e-3 * math.sqrt(float(spectrum.values[0]) / spectrum.weight)
    projected = rows.mapped(affine(A, spectrum.mean, near))
    return request.about(projected.summarize(Columns(int(V.shape[0])))).squares
