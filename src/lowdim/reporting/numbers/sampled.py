"""Some of the rows of one or more tables, drawn at random, for what needs rows in memory or takes long for all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from ..._xp import dense, to_numpy
from ...reading import summarize
from ...sources import ArraySource, BesideSource, Source
from ...summaries import Summary
from ...summaries.base import Changes, Layout, check_columns


def sampled_rows(sources: Sequence[Source], n: int, most: int, seed: int) -> tuple[np.ndarray, list[np.ndarray]]:
    """The numbers of at most `most` of the n rows, ascending, and these rows of each table as float64.

    All rows if there are no more than that. Rows in arrays are indexed; otherwise one pass over all tables together,
    which keeps the rows that were drawn. Entries may be missing.
    """
    numbers = np.arange(n)
    if n > most:
        numbers = np.sort(np.random.default_rng(seed).choice(n, most, replace=False))
    if all(isinstance(source, ArraySource) for source in sources):
        return numbers, [_of_array(source, n)[numbers] for source in sources]
    mark = np.full((n, 1), -1.0)
    mark[numbers, 0] = numbers
    column = ArraySource(mark)
    column.table = "the numbers of the rows"
    both = BesideSource([*sources, column])
    picked = summarize(both, Picked(both.shape[1]))
    rows = picked.rows[np.argsort(picked.rows[:, -1])]
    edges = np.cumsum([source.shape[1] for source in sources])[:-1]
    return numbers, np.split(rows[:, :-1], edges, axis=1)


def _of_array(source: Source, n: int) -> np.ndarray:
    (block,) = source.blocks(n)
    return np.asarray(to_numpy(dense(block)), dtype=np.float64)


class Picked(Summary):
    """The rows whose last entry is not negative."""

    parameters = ("n_features",)
    state = ("n_features", "rows")
    takes_nan = True

    def __init__(self, n_features: int) -> None:
        self.n_features = int(n_features)
        self.rows = np.empty((0, self.n_features))

    def _updated(self, block: Any, weights: Any) -> Changes:
        check_columns(self.n_features, block)
        last = to_numpy(dense(block[:, -1:])).ravel()
        kept = np.flatnonzero(last >= 0)
        if not len(kept):
            return {}
        found = np.asarray(to_numpy(dense(block[kept])), dtype=np.float64)
        return {"rows": np.concatenate([self.rows, found])}

    def _merged(self, other: Self) -> Changes:
        return {"rows": np.concatenate([self.rows, other.rows])}

    def _layout(self) -> Layout:
        return {"n_features": (), "rows": (None, self.n_features)}
