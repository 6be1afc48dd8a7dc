"""Something to remember of rows: the smallest and the largest entry of each column."""

import numpy as np

from lowdim.errors import NonFiniteBlock
from lowdim.summaries import Summary


class Extremes(Summary):
    """`low` and `high`, (p,) each."""

    parameters = ("n_features",)
    state = {"n_features": "", "n_rows": "", "low": "p", "high": "p"}

    def __init__(self, n_features):
        self.n_features = int(n_features)
        self.n_rows, self.low, self.high = 0, None, None

    def _updated(self, block, weights):
        rows = block.toarray() if hasattr(block, "toarray") else np.asarray(block)
        low, high = rows.min(axis=0), rows.max(axis=0)
        if not np.all(np.isfinite(high - low)):
            raise NonFiniteBlock
        return self._with_rows(rows.shape[0], low, high)

    def _merged(self, other):
        return self._with_rows(other.n_rows, other.low, other.high) if other.n_rows else {}

    def _with_rows(self, n_rows, low, high):
        if self.n_rows:
            low, high = np.minimum(self.low, low), np.maximum(self.high, high)
        return {"n_rows": self.n_rows + n_rows, "low": low, "high": high}
