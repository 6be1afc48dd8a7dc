"""Blocks of rows that have categories: as they are read, and coded as columns of zeros and ones."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import numpy as np

from .arrays import Array, Beside

#: The code of an entry without a level: it is missing, or its level is not known.
NO_LEVEL = -1


class Categories(Beside):
    """A block of rows of numbers and of categories, as a source reads it. As an array it has only the numbers.

    Parameters
    ----------
    numbers : array of shape (n, a)
    codes : list of integer arrays of shape (n,)
        For each category the number of the label of each row; -1 if the entry is missing.
    labels : list of lists of str
        For each category the labels that occur in this block, each once.
    ordered : list of bool
        Whether the labels of a category are in an order of their own, such as "low", "middle", "high".
    """

    def __init__(
        self,
        numbers: np.ndarray,
        codes: Sequence[np.ndarray],
        labels: Sequence[Sequence[str]],
        ordered: Sequence[bool],
    ) -> None:
        self.numbers, self.codes, self.labels, self.ordered = numbers, list(codes), labels, ordered
        self.pieces = [numbers]
        self.shape = (numbers.shape[0], numbers.shape[1] + len(self.codes))
        self.dtype = numbers.dtype

    def __getitem__(self, rows: Any) -> Categories:
        """Some rows; the labels stay those of the whole block."""
        rows = rows[0] if isinstance(rows, tuple) else rows
        return Categories(self.numbers[rows], [codes[rows] for codes in self.codes], self.labels, self.ordered)


class Coded(Beside):
    """Rows of numbers and of categories, with one column for each level: 1 for the level of the row, 0 for the others.

    Only the codes are kept. They become columns where these are needed; `zeros_and_ones` makes them for some rows.

    Parameters
    ----------
    numbers : array of shape (n, a)
    codes : integer array of shape (n, J)
        The number of the level of each row in each category, or -1.
    widths : sequence of int
        The number of levels of each category.
    without : array of shape (a + sum(widths),) or None
        The entries of the columns of a category in rows that have none of its levels; None stands for zeros.
    """

    def __init__(
        self, numbers: np.ndarray, codes: np.ndarray, widths: Sequence[int], without: np.ndarray | None = None
    ) -> None:
        self.numbers, self.codes, self.widths, self.without = numbers, codes, tuple(widths), without
        self.shape = (numbers.shape[0], numbers.shape[1] + sum(self.widths))
        self.dtype = numbers.dtype

    @property
    def pieces(self) -> list[Array]:  # type: ignore[override] # made when they are asked for
        """The numbers and the columns of the levels."""
        return [self.numbers, self.zeros_and_ones(slice(None), self.dtype)]

    @property
    def first(self) -> Array:
        return self.numbers

    def __getitem__(self, key: Any) -> Any:
        rows, columns = key if isinstance(key, tuple) else (key, slice(None))
        if columns != slice(None):
            return self.joined()[rows, columns]
        if isinstance(rows, slice | np.ndarray):
            return Coded(self.numbers[rows], self.codes[rows], self.widths, self.without)
        return self[rows : rows + 1].joined()[0]

    def astype(self, dtype: Any, copy: bool = False) -> Coded:
        return Coded(self.numbers.astype(dtype, copy=copy), self.codes, self.widths, self.without)

    def zeros_and_ones(self, rows: slice, dtype: Any) -> np.ndarray:
        """The columns of the levels, for some rows."""
        codes = self.codes[rows]
        n, starts = len(codes), list(accumulate(self.widths, initial=0))
        out = np.zeros((n, starts[-1]), dtype)
        flat, first = out.reshape(-1), np.arange(n) * starts[-1]
        for j, start in enumerate(starts[:-1]):
            of_rows = codes[:, j]
            if of_rows.size and of_rows.min() >= 0:
                flat[first + (of_rows + start)] = 1
                continue
            known = np.flatnonzero(of_rows >= 0)
            flat[first[known] + (of_rows[known] + start)] = 1
            if self.without is not None:
                stop, a = starts[j + 1], self.numbers.shape[1]
                out[of_rows < 0, start:stop] = self.without[a + start : a + stop]
        return out

    def pair_counts(self, weights: np.ndarray | None = None) -> np.ndarray:
        """The total weight of the rows that have each pair of levels: the products of the columns of the levels, by
        counting, without zeros and ones. Rows without a level count as zeros."""
        starts = list(accumulate(self.widths, initial=0))
        out = np.zeros((starts[-1], starts[-1]))
        for j, width in enumerate(self.widths):
            for i, other in enumerate(self.widths[: j + 1]):
                # One more level of each stands for none.
                pairs = (self.codes[:, i] % (other + 1)) * (width + 1) + self.codes[:, j] % (width + 1)
                counts = np.bincount(pairs, weights, (other + 1) * (width + 1)).reshape(other + 1, width + 1)
                out[starts[i] : starts[i + 1], starts[j] : starts[j + 1]] = counts[:-1, :-1]
        return np.triu(out) + np.triu(out, 1).T

    def sums_by_level(self, Z: np.ndarray) -> np.ndarray:
        """The sums of the columns of Z over the rows that have each level, shape (columns, levels)."""
        sums = [
            [np.bincount(self.codes[:, j] % (width + 1), column, width + 1)[:-1] for j, width in enumerate(self.widths)]
            for column in Z.T
        ]
        return np.array([np.concatenate(of_column) for of_column in sums])
