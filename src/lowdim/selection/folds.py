"""Cross-validation splits as labels of rows, so that one pass over the rows is enough for all splits."""

from __future__ import annotations

import numbers
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, TypeAlias, TypeVar

import numpy as np
from sklearn.model_selection import GroupKFold, KFold, LeaveOneGroupOut, check_cv

from .._core.arrays import Beside, asarray_like, dense, to_numpy
from .._core.types import VectorLike
from ..errors import NonFiniteBlock, bad_weights, no_order, unknown_length
from ..reading.summarizing import summarize
from ..sources.array import ArraySource
from ..sources.base import Source
from ..sources.beside import BesideSource
from ..sources.derived import count_positive, in_order
from ..sources.spark_column import CarriedColumn
from ..summaries.base import Summary, union
from ..summaries.labelled import Labelled
from ..summaries.moments import Columns

S = TypeVar("S", bound=Summary)
#: The number of folds if none is given.
_USUAL = 5


class Splitter(Protocol):
    """A splitter of scikit-learn."""

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterable[tuple[Any, Any]]: ...


#: A number of folds, a splitter, the label of each row, or pairs of row numbers (train, test).
FoldsLike: TypeAlias = int | Splitter | VectorLike | Iterable[tuple[Any, Any]]


@dataclass(frozen=True)
class Split:
    """One split: the cells of a labelling that are used for training, and those that are held out."""

    labelling: int
    train: tuple[int, ...]
    test: tuple[int, ...]


@dataclass(frozen=True)
class Folds:
    """Labels that divide the rows into cells, and splits that are unions of cells.

    Rows that are on the same side in all splits belong to one cell; for k folds the cells are the folds. If further
    splits would need many more cells than there are splits, as those of another repetition do, they get a new
    labelling.
    """

    #: The cell of each row, shape (n, number of labellings); -1 for rows that no split of that labelling uses.
    labels: np.ndarray
    #: The number of cells of each labelling.
    counts: tuple[int, ...]
    splits: tuple[Split, ...]
    #: Which folds they are, for results that are printed.
    what: str = field(default="", kw_only=True)

    @property
    def n(self) -> int:
        """The number of rows."""
        return len(self.labels)

    def repeats(self, weights: Any) -> float:
        """How often a row is held out, on average over the rows that are held out at all: r for r repetitions of k
        folds, and 1 if no two splits hold out the same row."""
        w = np.ones(self.n) if weights is None else to_numpy(weights).astype(np.float64)
        times = np.zeros(self.n)
        for r, count in enumerate(self.counts):
            # One more entry for rows that the labelling does not use, whose cell is -1.
            held_out = np.zeros(count + 1)
            for split in self.splits:
                if split.labelling == r:
                    held_out[list(split.test)] += 1.0
            times += held_out[self.labels[:, r]]
        return float(w @ times / w[times > 0].sum())

    def weights_of_cells(self, weights: Any) -> list[np.ndarray]:
        """For each labelling the total weight of each cell; the number of its rows without weights."""
        w = None if weights is None else to_numpy(weights)
        return [
            np.bincount(column[column >= 0], None if w is None else w[column >= 0], minlength=count)
            for column, count in zip(self.labels.T, self.counts, strict=True)
        ]

    def uses_all(self, weights: Any) -> bool:
        """Whether each row of positive weight belongs to a cell of the first labelling."""
        left_out = self.labels[:, 0] < 0
        return not np.any(left_out if weights is None else left_out & (to_numpy(weights) > 0))

    def summarize(self, source: Source, like: S, weights: Any) -> list[list[S]]:
        """A summary of the rows of each cell, from one pass over the rows."""
        return summarize_by_label(source, like, self.labels, self.counts, weights)

    def split_weights(self, weights: Any) -> Iterator[tuple[Any, Any]]:
        """For each split the weights of the training rows and those of the held-out rows."""
        w = np.ones(self.n) if weights is None else to_numpy(weights).astype(np.float64)
        for split in self.splits:
            column = self.labels[:, split.labelling]
            yield w * np.isin(column, split.train), w * np.isin(column, split.test)


def folds_of(cv: Any, n: int | None, groups: Any = None, y: Any = None, weights: Any = None, seed: int = 0) -> Folds:
    """The folds that `cv` stands for, as labels of n rows.

    Parameters
    ----------
    cv : int, labels, splitter, or iterable of pairs
        A number of folds (of shuffled rows, since rows are often sorted, or of whole groups if `groups` are given), a
        vector with the label of each row (each label is held out in turn), an object with a method `split`, or pairs
        of row numbers (train, test).
    n : int or None
        The number of rows; None if it is unknown, in which case `cv` or `groups` must be labels.
    groups : vector, optional
        For splitters that keep groups together. With cv=None each group is held out in turn.
    weights : vector, optional
        Weights of the rows. A number of folds or a splitter divides the rows of positive weight, as if there were no
        others.
    seed : int
        Seed of the shuffle.
    """
    if cv is None and n is None and groups is not None:
        cv, groups = groups, None
    labels = _given_labels(cv, n)
    if labels is not None:
        if groups is not None:
            raise ValueError("cv gives the label of each row, so groups would be ignored; pass only one of them.")
        values, codes = np.unique(labels, return_inverse=True)
        if len(values) < 2:
            raise ValueError(f"cv: all rows have the label {values[0]!r}; at least two labels are needed.")
        what = _described(len(values), len(labels), ", by labels")
        return Folds(codes.reshape(-1, 1), (len(values),), leave_each_out(len(values)), what=what)
    if n is None:
        raise unknown_length("cross-validation", ", or cv=labels with the label of each row")
    folds = _folds_from_pairs(list(_pairs(cv, n, groups, y, weights, seed)), n)
    k = len(folds.splits)
    if groups is not None and (cv is None or isinstance(cv, numbers.Integral)):
        what = _described(k, n, ", one for each group" if cv is None else ", of whole groups")
    elif cv is None or isinstance(cv, numbers.Integral):
        what = f"{k} folds of {n} shuffled rows"
    else:
        what = (
            f"{k} split{'s' if k > 1 else ''} of {n} rows{f' by {type(cv).__name__}' if hasattr(cv, 'split') else ''}"
        )
    return replace(folds, what=what)


def _described(k: int, n: int, how: str) -> str:
    return f"{k} folds of {n} rows{how}"


def leave_each_out(k: int) -> tuple[Split, ...]:
    """The splits in which each of k cells is held out in turn."""
    return tuple(Split(0, tuple(c for c in range(k) if c != left), (left,)) for left in range(k))


def split_summaries(parts: Sequence[Sequence[S]], folds: Folds) -> Iterator[tuple[S, S]]:
    """For each split the summary of the training rows and that of the held-out rows.

    They are merged from the summaries of the cells; nothing is subtracted.
    """
    try:
        for r, cells in enumerate(parts):
            splits = [split for split in folds.splits if split.labelling == r]
            if all(len(s.test) == 1 and len(s.train) == len(cells) - 1 for s in splits):
                without = _without_each(cells, {s.test[0] for s in splits})
                yield from ((without[s.test[0]], cells[s.test[0]]) for s in splits)
            else:
                yield from ((union([cells[i] for i in s.train]), union([cells[i] for i in s.test])) for s in splits)
    except NonFiniteBlock as error:
        # The sums of squares of each cell are finite, but their total overflows.
        raise ValueError(str(error)) from None


def is_wide(source: Source) -> bool:
    """Whether a table has fewer rows than columns."""
    n = source.shape[0]
    return n is not None and n < max(source.widths)


def rows_and_counts(source: Source, sample_weight: Any = None) -> tuple[np.ndarray, np.ndarray]:
    """The rows of positive weight of a source of known length, as a dense float64 array, and for how many rows each
    stands; an error if they are not finite."""
    # This pass checks the weights, and raises an error that names the row and column of a value that is not finite.
    summarize(source, Columns(source.shape[1]), weights=sample_weight)
    rows = np.concatenate([dense_rows(table) for table in source.members], axis=1).astype(np.float64)
    if sample_weight is None:
        return rows, np.ones(len(rows), dtype=np.int64)
    counts = check_whole(sample_weight)
    used = counts > 0
    return rows[used], counts[used]


def dense_rows(source: Source) -> np.ndarray:
    """All rows of a source of known length, as one dense array."""
    blocks = source.blocks(int(source.shape[0] or 1))
    return np.concatenate([to_numpy(b.joined() if isinstance(b, Beside) else dense(b)) for b in blocks])


def check_whole(sample_weight: Any) -> np.ndarray:
    """Weights as whole numbers; an error if they are not."""
    counts = to_numpy(sample_weight).astype(np.float64)
    if not is_whole(counts):
        i = int(np.flatnonzero(counts != np.round(counts))[0])
        raise bad_weights("must hold whole numbers where single rows are drawn", f"{counts[i]:g} in row {i}")
    return counts.astype(np.int64)


def is_whole(weights: Any) -> bool:
    """Whether the weights are whole numbers, as those of repeated rows are."""
    if isinstance(weights, CarriedColumn):
        return weights.is_whole
    values = to_numpy(weights)
    return bool(np.all(values == np.round(values)))


def summarize_by_label(
    source: Source, like: S, labels: np.ndarray, counts: Sequence[int], weights: Any = None
) -> list[list[S]]:
    """A summary of the rows of each label, from one pass over the rows; the labels are read as an additional table."""
    column = ArraySource(asarray_like(labels, source.empty(0), dtype=source.dtype))
    column.table = "the labels"
    return summarize(BesideSource([*source.members, column]), Labelled(like, counts), weights=weights).parts


def _without_each(cells: Sequence[S], wanted: set[int]) -> dict[int, S]:
    """The merged summary of all cells except one, for each cell in `wanted`: those before it and those after it."""
    after: list[S] = [cells[0].fresh()]
    for cell in reversed(cells[1:]):
        after.append(union([after[-1], cell]))
    before = cells[0].fresh()
    without = {}
    for i, cell in enumerate(cells):
        rest = after.pop()
        if i in wanted:
            rest.merge(before)
            without[i] = rest
        before.merge(cell)
    return without


def _given_labels(cv: Any, n: int | None) -> np.ndarray | None:
    """The labels of the rows if `cv` is a vector of labels, otherwise None."""
    other = isinstance(cv, numbers.Integral | str | bytes | dict | set) or cv is None or hasattr(cv, "__next__")
    splitter = hasattr(cv, "split") and not hasattr(cv, "shape")
    pairs = isinstance(cv, list | tuple) and (len(cv) == 0 or isinstance(cv[0], list | tuple | np.ndarray))
    if other or splitter or pairs or np.ndim(cv) == 0:
        return None
    labels = np.asarray(cv) if isinstance(cv, list | tuple) else to_numpy(cv)
    if labels.ndim != 1 or (n is not None and len(labels) != n):
        rows = "" if n is None else f" of the {n} rows"
        raise ValueError(f"cv: labels must be a vector with one entry for each{rows}, got shape {labels.shape}.")
    if any(v is None or v != v for v in labels.tolist()):
        raise ValueError("cv: labels must not be NaN or None; drop those rows, or give them a label.")
    return labels


def count_rows(n: int | None, weights: Any) -> int | None:
    """The number of rows of positive weight; n without weights."""
    return n if weights is None else count_positive(weights)


def check_n_folds(cv: Any, most: int | None) -> None:
    """Raise an error unless a number of folds is at least 2 and at most the number of rows."""
    if not 2 <= int(cv) <= int(most or 0):
        raise ValueError(f"cv={cv} must be at least 2 and at most {most}, the number of rows.")


def split_rows(
    cv: Any, n: int, y: Any = None, groups: Any = None, weights: Any = None, seed: int = 0
) -> Iterator[tuple[Any, Any]]:
    """Row numbers (train, test) of each split. A splitter gets the rows of positive weight only; pairs are as given."""
    if cv is None or isinstance(cv, numbers.Integral):
        cv = KFold(_USUAL if cv is None else int(cv), shuffle=True, random_state=seed % 2**32)
    splitter = check_cv(cv)
    counted = np.arange(n)
    if weights is not None and _splits(cv):
        counted = np.flatnonzero(to_numpy(weights) > 0)
        y, groups = (None if a is None else np.asarray(a)[counted] for a in (y, groups))
    for rows in splitter.split(np.zeros((len(counted), 1)), y, groups):
        yield rows if len(counted) == n else tuple(counted[part] for part in rows)


def _pairs(cv: Any, n: int, groups: Any, y: Any, weights: Any, seed: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Row numbers (train, test) of each split, checked."""
    if groups is not None:
        groups = to_numpy(groups)
        if groups.shape != (n,):
            raise ValueError(f"groups must have one entry for each of the {n} rows, got shape {groups.shape}.")
        if cv is None:
            cv = LeaveOneGroupOut()
        elif isinstance(cv, numbers.Integral):
            cv = GroupKFold(int(cv))
    if isinstance(cv, numbers.Integral) and not isinstance(cv, bool | np.bool_):
        check_n_folds(cv, count_rows(n, weights))
    odd = isinstance(cv, str | bytes | dict | set | bool | np.bool_)
    if odd or (cv is not None and not hasattr(cv, "__iter__") and not _splits(cv)):
        raise TypeError(
            f"cv={cv!r} must be a number of folds, a vector of labels, a scikit-learn splitter, or pairs of row "
            "numbers (train, test); or the name of a column of X that holds labels, if its columns have names."
        )
    if y is None and "Stratified" in type(cv).__name__:
        raise ValueError(f"cv={cv!r} needs a vector y with the class of each row; pass another splitter, or labels.")
    for train, test in split_rows(cv, n, y, groups, weights, seed):
        yield _numbers(train, n), _numbers(test, n)


def _splits(cv: Any) -> bool:
    return hasattr(cv, "split") or isinstance(cv, numbers.Integral)


def _numbers(rows: Any, n: int) -> np.ndarray:
    """Row numbers from row numbers, which are checked, or from a boolean mask."""
    rows = np.asarray(rows)
    if rows.dtype == bool and rows.shape == (n,):
        return np.flatnonzero(rows)
    if rows.ndim != 1 or rows.dtype.kind not in "iu" or len(rows) == 0:
        raise ValueError("cv: a split must consist of row numbers to train on and row numbers to leave out.")
    if rows.min() < 0 or rows.max() >= n:
        raise ValueError(f"cv: row numbers must be between 0 and {n - 1}, got {rows.min()} to {rows.max()}.")
    if np.bincount(rows.astype(np.int64)).max() > 1:
        raise ValueError("cv: a split contains a row twice; use sample_weight for rows that count more than once.")
    return rows


def _folds_from_pairs(pairs: list[tuple[np.ndarray, np.ndarray]], n: int) -> Folds:
    """The folds for pairs of row numbers (train, test): splits as unions of cells."""
    if not pairs:
        raise ValueError("cv gives no split.")
    labellings: list[np.ndarray] = []
    groups: list[list[np.ndarray]] = []
    for train, test in pairs:
        side = np.zeros(n, dtype=np.int64)
        side[train] = 1
        if np.any(side[test]):
            raise ValueError("cv: a split leaves out rows that it trains on.")
        side[test] = 2
        if groups:
            codes = _compact(labellings[-1] * 3 + side)
            if codes.max() < len(groups[-1]) + 3:
                labellings[-1] = codes
                groups[-1].append(side)
                continue
        labellings.append(_compact(side))
        groups.append([side])
    columns, counts, splits = [], [], []
    for r, (codes, sides) in enumerate(zip(labellings, groups, strict=True)):
        # The number of one row with each code.
        first = np.zeros(int(codes.max()) + 1, dtype=np.int64)
        first[codes] = np.arange(n)
        used = np.flatnonzero(np.any([side[first] > 0 for side in sides], axis=0))
        renumbered = np.full(len(first), -1)
        renumbered[used] = np.arange(len(used))
        columns.append(renumbered[codes])
        counts.append(len(used))
        for side in sides:
            kept, left = (tuple(int(c) for c in renumbered[np.flatnonzero(side[first] == s)]) for s in (1, 2))
            splits.append(Split(r, kept, left))
    return Folds(np.column_stack(columns), tuple(counts), tuple(splits))


def _compact(codes: np.ndarray) -> np.ndarray:
    """Codes renumbered 0, 1, 2, ... without gaps and without sorting."""
    occurs = np.bincount(codes) > 0
    return np.asarray((np.cumsum(occurs) - 1)[codes])


# Folds of rows that have no order: a row belongs to a fold by one of its columns, or by a hash of its entries.


@dataclass(frozen=True)
class UnorderedFolds(Folds):
    """Folds whose labels go along with the rows as a column."""

    #: The cell of each row.
    column: CarriedColumn
    #: The number of rows and the weight of each cell.
    cell_rows: tuple[int, ...]
    cell_weights: tuple[float, ...]

    @property
    def n(self) -> int:
        return sum(self.cell_rows)

    def weights_of_cells(self, weights: Any) -> list[np.ndarray]:
        return [np.array(self.cell_weights)]

    def uses_all(self, weights: Any) -> bool:
        return True

    def repeats(self, weights: Any) -> float:
        return 1.0

    def summarize(self, source: Source, like: S, weights: Any) -> list[list[S]]:
        tables = BesideSource(self.column.beside(source))
        return summarize(tables, Labelled(like, self.counts), weights=weights).parts

    def split_weights(self, weights: Any) -> Iterator[tuple[Any, Any]]:
        for split in self.splits:
            yield self.column.where(split.train, weights), self.column.where(split.test, weights)


def folds_for(source: Source, cv: Any, groups: Any = None, y: Any = None, weights: Any = None, seed: int = 0) -> Folds:
    """The folds that `cv` stands for (see `folds_of`), of the rows of a source.

    Rows without an order are in folds by a column that holds labels, or by a hash of the rows.
    """
    if in_order(source):
        return folds_of(cv, source.shape[0], groups, y, weights, seed)
    _require_column(groups)
    if isinstance(cv, CarriedColumn):
        if groups is not None:
            raise ValueError("cv gives the label of each row, so groups would be ignored; pass only one of them.")
        return _by_labels(cv, weights)
    if isinstance(cv, np.ndarray) or hasattr(cv, "__array__"):
        raise no_order("labels in an array")
    if groups is not None and cv is None:
        return _by_labels(groups, weights)
    k = _USUAL
    if isinstance(cv, numbers.Integral) and not isinstance(cv, bool | np.bool_):
        k = int(cv)
    elif type(cv) is KFold and cv.shuffle and isinstance(cv.random_state, numbers.Integral | None):
        k, seed = int(cv.n_splits), int(cv.random_state or 0)
    elif cv is not None:
        raise TypeError(
            f"cv={cv!r} numbers the rows, and rows of a data frame of Spark have no order; pass a number of folds, "
            "KFold(k, shuffle=True, random_state=0), or the name of a column that holds the fold of each row."
        )
    if groups is not None:
        return _by_groups(groups, k, weights)
    check_n_folds(k, source.shape[0] if weights is None else weights.n_positive)
    column = _hashed(source, k, seed)
    found = column.labels(weights)
    empty = k - int(np.count_nonzero(found.counted))
    if empty > 0:
        raise ValueError(
            f"cv={k}: {empty} of the folds have no row. Rows of a data frame of Spark have no order, and each belongs "
            "to a fold by a hash of its entries; use fewer folds, or name a column that holds the fold of each row: "
            "cv='fold'."
        )
    return _folds(column, found.rows, found.weights, " by a hash of their entries")


def cells_without_order(source: Source, k: int, groups: Any, weights: Any) -> Folds:
    """Rows without an order in groups, by the column that holds them; or, if it is None, in k cells by a hash of the
    rows, some of which may have no row."""
    _require_column(groups)
    return _by_labels(_hashed(source, k, 0) if groups is None else groups, weights, least=0)


def _hashed(source: Source, k: int, seed: int) -> CarriedColumn:
    """The number of the cell of each row, from a hash of its entries."""
    assert source.traits.engine is not None
    return source.traits.engine.hashed(source, k, seed)


def _require_column(groups: Any) -> None:
    if groups is not None and not isinstance(groups, CarriedColumn):
        raise no_order("groups in an array")


def _by_labels(column: CarriedColumn, weights: Any, least: int = 2) -> Folds:
    """Each label is held out in turn."""
    found = column.labels(weights)
    if len(found.values) < least:
        raise ValueError(f"cv: all rows have the label {found.values[0]!r}; at least two labels are needed.")
    return _folds(column.numbered(found.values, range(len(found.values))), found.rows, found.weights, ", by labels")


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
    return _folds(column.numbered(found.values, fold_of.tolist()), rows, totals, ", of whole groups")


def _folds(column: CarriedColumn, rows: Sequence[float] | np.ndarray, weights: np.ndarray, how: str) -> Folds:
    """Folds whose labels, numbers of rows and weights are known."""
    k, cell_rows, cell_weights = len(rows), tuple(int(n) for n in rows), tuple(float(w) for w in weights)
    cells = (np.zeros((0, 1), np.int64), (k,), leave_each_out(k), column, cell_rows, cell_weights)
    return UnorderedFolds(*cells, what=_described(k, sum(cell_rows), how))
