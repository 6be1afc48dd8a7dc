"""What a look at all rows finds: ranges of columns, whether they hold whole numbers or count the rows, and a sample.

These summaries are made for one pass over a table whose rows come with their numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from ..._xp import dense, to_numpy
from ...errors import NonFiniteBlock
from ...summaries import Summary
from ...summaries.base import Changes, Layout, check_columns


class Ranges(Summary):
    """Of the observed entries of each column: how many there are, the smallest and the largest, and whether all are
    whole numbers. If the numbers of the rows are given, also the smallest and the largest difference from them: these
    are equal for a column that counts the rows.

    Parameters
    ----------
    n_features : int
        The number of columns, without that of the row numbers.
    numbered : bool
        Whether a last column holds the numbers of the rows.
    """

    parameters = ("n_features", "numbered")
    state = ("n_features", "numbered", "low", "high", "count", "whole", "least", "most")
    takes_nan = True

    def __init__(self, n_features: int, numbered: bool = False) -> None:
        self.n_features, self.numbered = int(n_features), bool(numbered)
        self.low, self.high = np.full(self.n_features, np.inf), np.full(self.n_features, -np.inf)
        self.count = np.zeros(self.n_features, dtype=np.int64)
        self.whole = np.ones(self.n_features, dtype=bool)
        self.least, self.most = self.low.copy(), self.high.copy()

    def _updated(self, block: Any, weights: Any) -> Changes:
        check_columns(self.n_features + self.numbered, block)
        X = to_numpy(dense(block))
        numbers = X[:, self.n_features] if self.numbered else None
        X = X[:, : self.n_features]
        if np.isinf(X).any():
            raise NonFiniteBlock
        known = ~np.isnan(X)
        low, high = np.where(known, X, np.inf).min(axis=0), np.where(known, X, -np.inf).max(axis=0)
        whole = self.whole.copy()
        some = np.flatnonzero(whole)
        # Most columns are known not to be whole numbers from the first block on.
        whole[some] = np.all((np.floor(X[:, some]) == X[:, some]) | ~known[:, some], axis=0)
        least, most = self.low, self.high
        if numbers is not None:
            least, most = self.least.copy(), self.most.copy()
            some = np.flatnonzero(self.whole & ((least == most) | (self.count == 0)))
            away = X[:, some] - numbers[:, None]
            # With a missing entry, a column does not count the rows: NaN is never equal.
            least[some], most[some] = (
                np.minimum(least[some], away.min(axis=0)),
                np.maximum(most[some], away.max(axis=0)),
            )
        return self._with(low, high, known.sum(axis=0), whole, least, most)

    def _merged(self, other: Self) -> Changes:
        return self._with(other.low, other.high, other.count, other.whole, other.least, other.most)

    def _with(self, low: Any, high: Any, count: Any, whole: Any, least: Any, most: Any) -> Changes:
        return {
            "low": np.minimum(self.low, low),
            "high": np.maximum(self.high, high),
            "count": self.count + count,
            "whole": self.whole & whole,
            "least": np.minimum(self.least, least),
            "most": np.maximum(self.most, most),
        }

    def numbering(self, n: int) -> np.ndarray:
        """Which columns grow by one from each of the n rows to the next."""
        return self.whole & (self.least == self.most) & (self.count == n) & (n > 1)

    def _layout(self) -> Layout:
        columns = ("low", "high", "count", "whole", "least", "most")
        return {"n_features": (), "numbered": (), **dict.fromkeys(columns, (self.n_features,))}


class Chosen(Summary):
    """The rows with certain numbers. Rows come with their numbers in the column after the last one.

    Parameters
    ----------
    n_features : int
    numbers : array of int
        The numbers of the rows to keep, in order.
    """

    parameters = ("n_features",)
    options = ("numbers",)
    state = ("n_features",)
    takes_nan = True

    def __init__(self, n_features: int, numbers: np.ndarray) -> None:
        self.n_features, self.numbers = int(n_features), numbers
        self.kept: tuple[tuple[np.ndarray, np.ndarray], ...] = ()

    def _updated(self, block: Any, weights: Any) -> Changes:
        X = to_numpy(dense(block))
        numbers = X[:, self.n_features].astype(np.int64)
        places = np.minimum(np.searchsorted(self.numbers, numbers), len(self.numbers) - 1)
        found = np.flatnonzero(self.numbers[places] == numbers)
        rows = X[found, : self.n_features].astype(np.float64)
        return {"kept": (*self.kept, (numbers[found], rows))}

    def _merged(self, other: Self) -> Changes:
        return {"kept": self.kept + other.kept}

    def _empty(self) -> Self:
        return type(self)(self.n_features, self.numbers)

    def rows(self) -> np.ndarray:
        """The rows in the order of their numbers."""
        numbers = np.concatenate([numbers for numbers, _ in self.kept])
        return np.concatenate([rows for _, rows in self.kept])[np.argsort(numbers)]

    def _layout(self) -> Layout:
        return {"n_features": ()}


class Together(Summary):
    """Several summaries of the same rows, for one pass."""

    parameters = ()
    state = ("parts",)

    def __init__(self, parts: Sequence[Summary]) -> None:
        self.parts: Any = [part.fresh() for part in parts]
        self.takes_nan = all(part.takes_nan for part in parts)  # type: ignore[misc] # depends on the parts

    def _empty(self) -> Self:
        return type(self)(self.parts)

    def _updated(self, block: Any, weights: Any) -> Changes:
        return {str(i): part._changes_from(block, weights) for i, part in enumerate(self.parts)}

    def _merged(self, other: Self) -> Changes:
        return {str(i): part._merged(other.parts[i]) for i, part in enumerate(self.parts)}

    def _change(self, changes: Changes) -> None:
        for i, of_part in changes.items():
            self.parts[int(i)]._change(of_part)

    def snapshot(self) -> Self:
        twin = super().snapshot()
        twin.parts = [part.snapshot() for part in self.parts]
        return twin

    def block_rows(self, n_columns: int, itemsize: int, stored: float = 1.0) -> int:
        return min(part.block_rows(n_columns, itemsize, stored) for part in self.parts)

    def _layout(self) -> Layout:
        return {}
