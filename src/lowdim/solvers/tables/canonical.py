"""Canonical correlations of two or more tables, from their coordinates."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations, combinations_with_replacement, pairwise
from typing import NamedTuple

import numpy as np

from ...linalg import eigh_descending, svd_leading
from ..results import CanonicalFit, Status
from .combinations import ByCoordinates, ByProducts, Combinations
from .views import Views

#: Eigenvectors over all tables have unit length; the part of a table in one is rounding if it is shorter than this.
_NO_PART = 1e-10


def solve_canonical(views: Views, k: int, regularization: Sequence[float]) -> CanonicalFit:
    """Weights w_i with the largest sum of w_i^T S_ij w_j over pairs of tables, for sum_i w_i^T D_i w_i = 1.

    Notes
    -----
    S_ij are covariances between tables, D_i = (1 - c_i) S_ii + c_i I with the `regularization` c_i. With
    S_ii = V diag(l) V^T and b_i = D_i^{1/2} w_i the two-table problem is the singular value decomposition of
    D_1^{-1/2} S_12 D_2^{-1/2}; for more tables it is the eigenproblem of the matrix of all such blocks with zeros on
    the diagonal (MAXVAR [1]_, [2]_: the variates that one common variate explains best). For two tables its
    eigenvalues are the singular values, so it is the same problem; `b` is then scaled table by table.

    References
    ----------
    .. [1] Kettenring (1971), Canonical analysis of several sets of variables.
    .. [2] Carroll (1968), Generalization of canonical correlation analysis to three or more sets of variables.
    """
    whitened = [_whitened(views, i, c) for i, c in enumerate(regularization)]
    gains, backs = ([getattr(each, name) for each in whitened] for name in ("gain", "back"))
    ranks = tuple(len(gain) for gain in gains)
    k = min(k, *ranks)
    U = _orthonormal(views, whitened)
    if len(gains) == 2:
        M = (gains[0][:, None] * U.inner(0, 1)) * gains[1]
        # The tests of all correlations are for those without regularization.
        L, values, Rt = svd_leading(M, k, all_values=not any(regularization))
        blocks = [L[:, :k], Rt[:k].T]
    else:
        values, blocks = _solve_several(U, gains, k)
    factors, rotations = [], []
    for gain, back, b in zip(gains, backs, blocks, strict=True):
        lengths = np.linalg.norm(gain[:, None] * b, axis=0)
        # The part in a component of a table that is uncorrelated with the others is only rounding.
        part = np.linalg.norm(b, axis=0) > _NO_PART
        b = np.where(part & (lengths > 0), b / np.where(lengths > 0, lengths, 1.0), 0.0)
        factors.append(gain[:, None] * b)
        rotations.append(back @ b)
    variates = U.times(factors)
    return CanonicalFit(
        rotations=tuple(rotations),
        variates=variates,
        values=values,
        correlations=_correlations(variates, len(gains), k),
        ranks=ranks,
        status=Status.EXACT if all(each.resolved for each in whitened) else Status.UNRESOLVED,
    )


class _Whitened(NamedTuple):
    """Orthonormal combinations U of the columns of a table, or B with U = A B for its coordinates A."""

    U: np.ndarray | None
    B: np.ndarray | None
    #: Square roots of S_ii in these combinations, divided by those of D_i.
    gain: np.ndarray
    #: The coefficients of U D_i^{-1/2} in the columns.
    back: np.ndarray
    #: Whether no direction that matters was lost to rounding.
    resolved: bool


def _whitened(views: Views, i: int, c: float) -> _Whitened:
    """The columns of table i, with D = (1 - c) S + c I."""
    view = views.tables[i]
    unit = view.unit / math.sqrt(views.divisor)
    B = views.orthonormal(i) if c == 0.0 else None
    if B is not None:
        return _Whitened(None, B, np.ones(len(B)), B / unit, True)
    U, s, Vt = views.svd(i)
    deviations = s * unit
    d = np.sqrt((1.0 - c) * deviations**2 + c)
    # Directions that are left out or inaccurate do no harm if the ridge is far above their variance.
    smallest = 0.0 if len(s) < views.full_rank(i) else float(s[-1]) ** 2 / float(s[0]) ** 2
    resolved = not views.squared or max(smallest, c / float(d[0]) ** 2) >= views.resolution
    return _Whitened(U, None, deviations / d, Vt.T / d, resolved)


def _orthonormal(views: Views, whitened: list[_Whitened]) -> Combinations:
    """The orthonormal combinations of all tables; by products of columns, if that is enough for each of them."""
    weights = [each.B for each in whitened if each.B is not None]
    if len(weights) == len(whitened) and views.knows_products:
        return ByProducts(views, weights)
    found = []
    for view, each in zip(views.tables, whitened, strict=True):
        found.append(view.table @ each.B if each.U is None else each.U)
    return ByCoordinates(views, found)


def _correlations(variates: Combinations, n_tables: int, k: int) -> np.ndarray:
    """The correlations between the variates of each pair of tables, (k, v, v)."""
    found = np.empty((k, n_tables, n_tables))
    for i, j in combinations_with_replacement(range(n_tables), 2):
        found[:, i, j] = found[:, j, i] = np.clip(np.diagonal(variates.inner(i, j)), -1.0, 1.0)
    return found


def _solve_several(U: Combinations, gains: list[np.ndarray], k: int) -> tuple[np.ndarray, list[np.ndarray]]:
    """All eigenvalues of the matrix of blocks between tables, and the k leading eigenvectors, table by table."""
    edges = np.cumsum([0, *(len(g) for g in gains)])
    T = np.zeros((edges[-1], edges[-1]))
    parts = [slice(i, j) for i, j in pairwise(edges)]
    for i, j in combinations(range(len(gains)), 2):
        block = gains[i][:, None] * U.inner(i, j) * gains[j]
        T[parts[i], parts[j]], T[parts[j], parts[i]] = block, block.T
    values, vectors = eigh_descending(T, at_least=k)
    return values, [vectors[:k, part].T for part in parts]
