"""The pieces of a table that the bootstrap draws with replacement: rows, blocks of rows, or groups of rows."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from .._memory import memory_bytes
from .._xp import to_numpy
from ..errors import SmallSampleWarning, no_row_draws, unknown_length, warn_user
from ..reading import check_weights, summarize
from ..sources import Source, in_order
from ..sources.base import cut
from ..summaries import Columns, Moments
from .coordinates import with_known_products
from .folds import Folds, check_whole, is_whole, is_wide, rows_and_counts, tables_in
from .protocol import CanBeStarted
from .unordered_folds import cells_without_order

#: Limits for resampling single rows, above which blocks are used: rows times draws, and multiplications.
_ROW_DRAWS, _ROW_WORK = 1e7, 3e10
#: The default number of blocks, and the number below which there is a warning.
_BLOCKS = 200
_FEWEST = 20
#: Replicates are computed in groups whose scatter matrices have at most this many entries.
_CHUNK = 1 << 22


@dataclass(frozen=True)
class Pieces(ABC):
    """The pieces that are drawn, and how a model is fitted to a sample of them."""

    #: "row", "block" or "groups".
    kind: str
    #: How often each piece occurs among those that are drawn.
    copies: np.ndarray
    #: The number of rows of each piece.
    rows: np.ndarray

    @property
    def n_pieces(self) -> int:
        """The number of pieces, with their copies."""
        return int(self.copies.sum())

    @property
    @abstractmethod
    def numbers_each(self) -> int:
        """How many numbers one sample takes."""

    @abstractmethod
    def fits(self, model: Any, counts: np.ndarray, near: Any = None) -> Iterator[Any]:
        """Copies of the model fitted to samples; each row of `counts` says how often the sample contains each piece.

        Iterations start at the fitted model `near`, if it is given.
        """

    def fit_all(self, model: Any) -> Any:
        """A copy of the model fitted to all pieces."""
        return next(self.fits(model, self.copies[None, :]))

    def draw(self, n_boot: int, random: Any) -> Iterator[np.ndarray]:
        """The counts of `n_boot` samples, some samples at a time."""
        n, shares = self.n_pieces, self.copies / self.n_pieces
        chunk = max(1, min(n_boot, _CHUNK // max(self.numbers_each, len(shares))))
        for start in range(0, n_boot, chunk):
            size = min(chunk, n_boot - start)
            counts = random.multinomial(n, shares, size=size)
            # A sample that consists of copies of a single row has no variance; draw again.
            while np.any(alone := (counts > 0) @ self.rows < 2):
                counts[alone] = random.multinomial(n, shares, size=int(alone.sum()))
            yield counts


@dataclass(frozen=True)
class SummedPieces(Pieces):
    """Pieces of which the weight, mean and scatter are known. For single rows, `means` are the rows themselves, and
    there are no scatters."""

    like: Moments
    #: Total weight of one copy of each piece.
    weights: np.ndarray
    means: np.ndarray
    scatters: np.ndarray | None

    @property
    def numbers_each(self) -> int:
        return int(self.means.shape[1] ** 2)

    def fits(self, model: Any, counts: np.ndarray, near: Any = None) -> Iterator[Any]:
        for moments in self._moments(counts):
            yield _copy(model, near).fit_summary(moments)

    def _moments(self, counts: np.ndarray) -> Iterator[Moments]:
        """Moments of each sample."""
        centre = np.average(self.means, axis=0, weights=self.weights)
        D = self.means - centre
        within = None if self.scatters is None else counts.astype(np.float64) @ self.scatters
        p = len(centre)
        for b, c in enumerate(counts):
            w = c * self.weights
            total = float(w.sum())
            d = (w @ D) / total
            E = (D - d) * np.sqrt(w)[:, None]
            S = E[c > 0].T @ E[c > 0]
            if within is not None:
                S = S + within[b].reshape(p, p)
            moments = self.like.fresh()
            moments.n_rows, moments.weight = int(c @ self.rows), total
            moments.mean, moments.rest = centre + d, np.zeros(p)
            moments.scatter = 0.5 * (S + S.T)
            yield moments


@dataclass(frozen=True)
class WeightedPieces(Pieces):
    """Pieces of a table with fewer rows than columns: a model is fitted to the rows, weighted by their counts."""

    #: X and y.
    tables: tuple[Any, Any]
    #: The piece of each row, and the weight of the row in one copy of it.
    labels: np.ndarray
    weights: np.ndarray

    @property
    def numbers_each(self) -> int:
        return len(self.labels)

    def fits(self, model: Any, counts: np.ndarray, near: Any = None) -> Iterator[Any]:
        for c in counts:
            yield _copy(model, near).fit(*self.tables, sample_weight=c[self.labels] * self.weights)


def _copy(model: Any, near: Any) -> Any:
    """An unfitted copy of the model, whose fit starts at the fitted model `near` if it can."""
    copy = clone(model)
    return copy if near is None or not isinstance(copy, CanBeStarted) else copy.start_at(near, near=True)


def find_pieces(
    model: Any, source: Source, kind: str, n_blocks: int | None, groups: Any, n_boot: int, sample_weight: Any
) -> Pieces:
    """The pieces that are drawn: rows, or blocks or groups of rows."""
    n, p = source.shape
    if n is None and groups is None:
        raise unknown_length("the bootstrap", ", or groups with the label of each row")
    if kind == "row" and n_blocks is not None:
        raise ValueError("n_blocks is a number of blocks, but kind='row' resamples rows; pass only one of them.")
    weights = None if sample_weight is None else check_weights(sample_weight, source)
    wide = is_wide(source)
    if groups is None and n_blocks is None and kind != "block":
        here = source.traits.host and not source.traits.remote
        few = n is not None and float(n_boot) * n <= _ROW_DRAWS and float(n_boot) * n * p * p <= _ROW_WORK
        whole = weights is None or is_whole(weights)
        if not in_order(source):
            if kind == "row":
                raise no_row_draws()
        elif wide and (kind == "row" or whole):
            return _weighted_rows(model, source, sample_weight)
        if kind == "row" or (here and few and whole):
            return _single_rows(source, sample_weight)
    cells = _cells(source, kind, n_blocks, groups, weights)
    count = int(np.count_nonzero(cells.weights_of_cells(weights)[0]))
    if count < 2:
        raise ValueError("the bootstrap needs at least 2 blocks or groups, got 1.")
    if count < _FEWEST:
        warn_user(
            f"{count} blocks or groups are few for a bootstrap: standard errors are accurate only to about "
            f"{1 / math.sqrt(2 * count):.0%}, and the ends of intervals are coarse. Use at least {_FEWEST}.",
            SmallSampleWarning,
        )
    name = "block" if groups is None else "groups"
    return (_weighted_blocks if wide and in_order(source) else _summed_blocks)(name, model, source, cells, weights)


def _single_rows(source: Source, sample_weight: Any) -> Pieces:
    """Single rows, of which the moments of samples are computed."""
    rows, copies = rows_and_counts(source, sample_weight)
    _require_two_rows(len(rows))
    ones = np.ones(len(rows))
    return SummedPieces("row", copies, ones.astype(np.int64), _empty_moments(source), ones, rows, None)


def _weighted_rows(model: Any, source: Source, sample_weight: Any) -> Pieces:
    """Single rows of a wide table."""
    columns = summarize(source, Columns(source.shape[1]), weights=sample_weight)
    _require_two_rows(columns.n_rows)
    n = int(source.shape[0] or 0)
    copies = np.ones(n, dtype=np.int64) if sample_weight is None else check_whole(sample_weight)
    tables = with_known_products(model, source)
    return WeightedPieces("row", copies, np.ones(n, dtype=np.int64), tables, np.arange(n), np.ones(n))


def _summed_blocks(kind: str, model: Any, source: Source, cells: Folds, weights: Any) -> Pieces:
    """Blocks or groups of rows, from one summary of each."""
    like = _empty_moments(source)
    (parts,) = cells.summarize(source, like, weights)
    return summed_pieces(kind, parts, like)


def summed_pieces(kind: str, moments: Sequence[Moments], like: Moments) -> Pieces:
    """Pieces of rows of which the moments are known; those without rows are left out."""
    parts = [m for m in moments if m.weight > 0]
    return SummedPieces(
        kind,
        copies=np.ones(len(parts), dtype=np.int64),
        rows=np.array([m.n_rows for m in parts]),
        like=like,
        weights=np.array([m.weight for m in parts]),
        means=np.stack([to_numpy(m.mean) for m in parts]),
        scatters=np.stack([to_numpy(m.scatter).reshape(-1) for m in parts]),
    )


def _weighted_blocks(kind: str, model: Any, source: Source, cells: Folds, weights: Any) -> Pieces:
    """Blocks or groups of rows of a wide table."""
    summarize(source, Columns(source.shape[1]), weights=weights)
    labels = cells.labels[:, 0]
    each = np.ones(len(labels)) if weights is None else to_numpy(weights).astype(np.float64)
    rows = np.bincount(labels, each > 0)
    tables = with_known_products(model, source)
    return WeightedPieces(kind, (rows > 0).astype(np.int64), rows.astype(np.int64), tables, labels, each)


def _empty_moments(source: Source) -> Moments:
    return Moments(source.shape[1], groups=[table.shape[1] for table in tables_in(source)], wide=True)


def _require_two_rows(n: int) -> None:
    if n < 2:
        raise ValueError(f"the bootstrap needs at least 2 rows of positive weight, got {n}.")


def _cells(source: Source, kind: str, n_blocks: int | None, groups: Any, weights: Any) -> Folds:
    """The blocks or groups as cells of rows."""
    n, p = source.shape
    if groups is not None and (kind == "row" or n_blocks is not None):
        raise ValueError("with groups, whole groups are resampled: leave out kind='row' and n_blocks.")
    k = _number_of_blocks(int(n or 0), p, n_blocks) if groups is None else 0
    if not in_order(source):
        return cells_without_order(source, k, groups, weights)
    labels = _group_labels(n, groups) if groups is not None else _cut_labels(int(n or 0), k)
    return Folds(labels[:, None], (int(labels.max()) + 1,), ())


def _group_labels(n: int | None, groups: Any) -> np.ndarray:
    """The group of each row."""
    labels = np.unique(to_numpy(groups), return_inverse=True)[1].reshape(-1)
    if n is not None and len(labels) != n:
        raise ValueError(f"groups must have one entry for each of the {n} rows, got {len(labels)}.")
    return labels


def _number_of_blocks(n: int, p: int, n_blocks: int | None) -> int:
    """The number of blocks, which is checked if it is given."""
    have = memory_bytes()
    # The moments of a block have p x p numbers; wide tables are not summed up.
    most = int(0.25 * have / (8 * p * p)) if have and p <= n else n
    if n_blocks is None:
        n_blocks = min(n, _BLOCKS, max(most, 1))
        if n_blocks < min(n, _FEWEST):
            raise ValueError(
                f"the summaries of {_FEWEST} blocks of {p} columns do not fit into memory; use fewer columns, or set "
                "n_blocks."
            )
    if isinstance(n_blocks, bool) or not isinstance(n_blocks, int | np.integer) or not 2 <= n_blocks <= n:
        raise ValueError(f"n_blocks={n_blocks!r} must be a whole number between 2 and {n}, the number of rows.")
    return int(n_blocks)


def _cut_labels(n: int, n_blocks: int) -> np.ndarray:
    """The block of each row; blocks consist of consecutive rows and have nearly equal lengths."""
    labels = np.empty(n, dtype=np.int64)
    for label, (i, j) in enumerate(cut(n, n_blocks)):
        labels[i:j] = label
    return labels
