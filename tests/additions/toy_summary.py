"""Something to remember of rows: the smallest and the largest entry of each column."""

import numpy as np

from lowdim.errors import NonFiniteBlock
from lowdim.summaries import Summary
from lowdim.summaries.base import check_columns


class Extremes(Summary):
    """`low` and `high`, (p,) each."""

    parameters = ("n_features",)
    state = ("n_features", "n_rows", "low", "high")

    def __init__(self, n_features):
        self.n_features = int(n_features)
        self.n_rows, self.low, self.high = 0, None, None

    def _update(self, block, weights):
        check_columns(self.n_features, block)
        rows = block.toarray() if hasattr(block, "toarray") else np.asarray(block)
        low, high = rows.min(axis=0), rows.max(axis=0)
        if not np.all(np.isfinite(high - low)):
            raise NonFiniteBlock
        self._absorb(rows.shape[0], low, high)

    def _merge(self, other):
        if other.n_rows:
            self._absorb(other.n_rows, other.low, other.high)

    def _absorb(self, n_rows, low, high):
        self.low = low if self.low is None else np.minimum(self.low, low)
        self.high = high if self.high is None else np.maximum(self.high, high)
        self.n_rows += n_rows
