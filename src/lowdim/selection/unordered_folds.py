"""Folds of rows that have no order: a row belongs to a fold by one of its columns, or by a hash of its entries."""

from __future__ import annotations

import numbers
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.model_selection import KFold

from ..errors import fold_without_rows, no_order, no_splits_without_order
from ..sources import CarriedColumn, Source, in_order
from .folds import Folds, S, check_n_folds, folds_of, leave_each_out, summarize_tables


@dataclass(frozen=True)
class UnorderedFolds(Folds):
    """Folds whose labels go along with the rows as a column."""

    #: The cell of each row.
    column: CarriedColumn | None = None
    #: The number of rows and the weight of each cell.
    cell_rows: tuple[int, ...] = ()
    cell_weights: tuple[float, ...] = ()

    @property
    def n(self) -> int:
        return sum(self.cell_rows)

    def weights_of_cells(self, weights: Any) -> list[np.ndarray]:
        return [np.array(self.cell_weights)]

    def uses_all(self, weights: Any) -> bool:
        return True

    def summarize(self, source: Source, like: S, weights: Any) -> list[list[S]]:
        assert self.column is not None
        return summarize_tables(self.column.beside(source), like, self.counts, weights)

    def split_weights(self, weights: Any) -> Iterator[tuple[Any, Any]]:
        assert self.column is not None
        for split in self.splits:
            yield self.column.where(split.train, weights), self.column.where(split.test, weights)


def folds_for(source: Source, cv: Any, groups: Any = None, y: Any = None, weights: Any = None) -> Folds:
    """The folds that `cv` stands for (see `folds_of`), of the rows of a source."""
    if in_order(source):
        return folds_of(cv, source.shape[0], groups, y, weights)
    return _unordered(source, cv, groups, weights)


def cells_without_order(source: Source, k: int, groups: Any, weights: Any) -> Folds:
    """Rows without an order in groups, by the column that holds them; or, if it is None, in k cells by a hash of the
    rows, some of which may have no row."""
    _require_column(groups, "groups")
    column = _hashed(source, k, 0) if groups is None else groups
    found = column.labels(weights)
    return _folds(column.numbered(found.values, range(len(found.values))), found.rows, found.weights)


def _hashed(source: Source, k: int, seed: int) -> CarriedColumn:
    """The number of the cell of each row, from a hash of its entries."""
    assert source.traits.engine is not None
    return source.traits.engine.hashed(source, k, seed)


def _require_column(labels: Any, what: str) -> None:
    if labels is not None and not isinstance(labels, CarriedColumn):
        raise no_order(f"{what} in an array")


def _unordered(source: Source, cv: Any, groups: Any, weights: Any) -> Folds:
    """The folds of rows without an order: by a column that holds labels, or by a hash of the rows."""
    _require_column(groups, "groups")
    if isinstance(cv, CarriedColumn):
        if groups is not None:
            raise ValueError("cv gives the label of each row, so groups would be ignored; pass only one of them.")
        return _by_labels(cv, weights)
    if isinstance(cv, np.ndarray) or hasattr(cv, "__array__"):
        raise no_order("labels in an array")
    if groups is not None and cv is None:
        return _by_labels(groups, weights)
    k, seed = _number_of_folds(cv)
    if groups is not None:
        return _by_groups(groups, k, weights)
    n = source.shape[0] if weights is None else weights.n_positive
    check_n_folds(k, n)
    column = _hashed(source, k, seed)
    found = column.labels(weights)
    if np.count_nonzero(found.counted) < k:
        raise fold_without_rows(k, k - int(np.count_nonzero(found.counted)))
    return _folds(column, found.rows, found.weights)


def _number_of_folds(cv: Any) -> tuple[int, int]:
    """The number of folds and the seed of the hash, if `cv` asks for folds of rows in any order."""
    if cv is None:
        return 5, 0
    if isinstance(cv, numbers.Integral) and not isinstance(cv, bool | np.bool_):
        return int(cv), 0
    if type(cv) is KFold and cv.shuffle and isinstance(cv.random_state, numbers.Integral | None):
        return int(cv.n_splits), int(cv.random_state or 0)
    raise no_splits_without_order(cv)


def _by_labels(column: CarriedColumn, weights: Any) -> Folds:
    """Each label is held out in turn."""
    found = column.labels(weights)
    if len(found.values) < 2:
        raise ValueError(f"cv: all rows have the label {found.values[0]!r}; at least two labels are needed.")
    return _folds(column.numbered(found.values, range(len(found.values))), found.rows, found.weights)


def _by_groups(column: CarriedColumn, k: int, weights: Any) -> Folds:
    """Whole groups in folds of about equal size: the largest group that is left goes to the smallest fold, as in
    scikit-learn's GroupKFold."""
    found = column.labels(weights)
    n_groups = int(np.count_nonzero(found.counted))
    if not 2 <= k <= n_groups:
        raise ValueError(f"cv={k} must be at least 2 and at most {n_groups}, the number of groups.")
    fold_of, sizes = np.zeros(len(found.values), dtype=np.int64), np.zeros(k)
    for group in np.argsort(found.counted)[::-1]:
        fold_of[group] = np.argmin(sizes)
        sizes[fold_of[group]] += found.counted[group]
    rows, totals = (np.bincount(fold_of, each, minlength=k) for each in (found.rows, found.weights))
    return _folds(column.numbered(found.values, fold_of.tolist()), rows, totals)


def _folds(column: CarriedColumn, rows: Sequence[float] | np.ndarray, weights: np.ndarray) -> Folds:
    k = len(rows)
    return UnorderedFolds(
        labels=np.zeros((0, 1), dtype=np.int64),
        counts=(k,),
        splits=leave_each_out(k),
        column=column,
        cell_rows=tuple(int(n) for n in rows),
        cell_weights=tuple(float(w) for w in weights),
    )
