"""Rows of wide tables as coordinates in the space that the rows span, from their inner products.

A table with n rows and p > n columns is Z = A Q^T, with an n x n table A of coordinates and orthonormal columns of Q.
All that depends on the rows only through their inner products Z Z^T = A A^T is the same for A: principal variances,
fits of PLS and CCA, distances between rows. So rows can be left out, drawn or shuffled in A, which has n columns
instead of p. If columns are divided by the standard deviations of training rows, each set of training rows has its own
A.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import lapack

from .._xp import Array, asarray_like, dense, namespace, to_numpy
from ..reading import Rows
from ..sources import KnownSource, Source, gather
from ..summaries import Gram, GramRoot, StandardizedGrams, Triangle
from ..summaries.gram import centred_products
from .folds import dense_rows, tables_in

#: Bytes of the inner products that are held at a time, if each set of training rows has its own.
_AT_A_TIME = 1 << 28


@dataclass(frozen=True)
class Frame:
    """What coordinates do not tell about the columns that they replace."""

    #: For each table, whether its columns were replaced by coordinates.
    replaced: tuple[bool, ...]
    #: The number of columns of the first table.
    n_columns: int
    #: The sum of the logarithms of the standard deviations by which the columns of the first table were divided.
    log_scale: float = 0.0


class CoordinateRows(Triangle):
    """The centred rows themselves, or their R factor, where these are coordinates from inner products."""

    squared = True


class UsedRows:
    """Some rows of a table that is read by columns; a stream of known length is gathered in memory first."""

    def __init__(self, source: Source, used: np.ndarray) -> None:
        source = source if source.traits.by_feature else gather(source, "to read it by columns")
        self.source, self.used = source, used
        mask = None if np.all(used) else asarray_like(used.astype(np.float64), source.empty(0), dtype=source.dtype)
        self.rows = Rows(source, mask).counted()
        self.n, self.p = int(np.count_nonzero(used)), source.shape[1]

    def dense(self) -> np.ndarray:
        """The rows themselves, as a dense float64 array."""
        return dense_rows(self.source).astype(np.float64)[self.used]

    def coordinates(self, width: int, fine: bool) -> np.ndarray:
        """Coordinates of the centred rows, with at least `width` columns, of which the last ones may be zero.

        If `fine`, they come from a QR decomposition and not from inner products, so that nothing is squared.
        """
        if fine:
            return _at_least(to_numpy(self.rows.summarize_features(GramRoot(self.n)).product).T, width)
        return _at_least(root_of(to_numpy(self.rows.summarize_features(Gram(self.n)).centred())), width)

    def standardized(
        self, training: np.ndarray, ddof: int, width: int, fine: bool
    ) -> Iterator[tuple[np.ndarray, float]]:
        """For each set of training rows (rows of `training` hold their weights) the coordinates of all rows, divided by
        the standard deviations of that set, and the sum of the logarithms of these deviations."""
        chunk = max(1, _AT_A_TIME // (8 * self.n**2))
        for i in range(0, len(training), chunk):
            some = training[i : i + chunk]
            found = self.rows.summarize_features(StandardizedGrams(some, ddof, root=fine))
            for product, log_scale, weights in zip(found.product, found.log_scale, some, strict=True):
                A = product.T if fine else root_of(centred_products(product, weights))
                yield _at_least(A, width), float(log_scale)

    def count_varying(self, groups: Sequence[np.ndarray]) -> list[int]:
        """For each group of these rows (a mask), the number of columns that are not constant in it."""

        def varies(block: Array) -> Array:
            A = dense(block)
            xp = namespace(A)
            each = [A[:, asarray_like(np.flatnonzero(g), A)] for g in groups]
            return xp.stack([xp.astype(xp.any(a != a[:, :1], axis=1), A.dtype) for a in each], axis=1)

        return [int(c) for c in to_numpy(self.rows.map_features(varies)).sum(axis=0)]


def with_known_products(model: Any, source: Source) -> tuple[Any, Any]:
    """The tables of a source, for fits of a model to many choices of their rows.

    Tables with fewer rows than columns keep their inner products, which are computed here, if the model uses them: not
    if it divides columns by standard deviations, which are others for each choice of rows.
    """
    scorer, members = model.held_out_scorer(), tables_in(source)
    tables: list[Any] = []
    for member, rotates, scaled in zip(members, scorer.rotates, scorer.scaled, strict=True):
        n = member.shape[0]
        wide = n is not None and n < member.shape[1]
        member = gather(member, "to read it by columns") if wide and not member.traits.by_feature else member
        if n is not None and wide and rotates and not scaled:
            member = KnownSource(member, Rows(member).summarize_features(Gram(n)))
        tables.append(member)
    return tables[0], tables[1] if len(tables) > 1 else None


def root_of(G: np.ndarray) -> np.ndarray:
    """A lower triangular matrix A, up to the order of its rows, with A A^T = G, for a positive semi-definite G.

    Cholesky's decomposition with pivoting [1]_ ends where the rest of G is zero up to rounding; the other columns of A
    are zero.

    References
    ----------
    .. [1] Higham (1990), Analysis of the Cholesky decomposition of a semi-definite matrix.
    """
    unit = float(np.abs(np.diagonal(G)).max()) or 1.0
    L, pivots, rank, _ = lapack.dpstrf(G / unit, lower=1)
    A = np.zeros_like(L)
    A[pivots - 1, :rank] = np.tril(L)[:, :rank]
    return A * np.sqrt(unit)


def _at_least(A: np.ndarray, width: int) -> np.ndarray:
    """`A` with columns of zeros up to this width."""
    missing = width - A.shape[1]
    return A if missing <= 0 else np.concatenate([A, np.zeros((len(A), missing))], axis=1)
