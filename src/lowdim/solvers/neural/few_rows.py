"""Few rows in a fixed order, of which equal ones are merged.

Training repeats many small steps and enlarges differences of rounding. In a fixed order, the result depends neither on
the order in which rows were given nor on whether a row is repeated or has a weight.
"""

from __future__ import annotations

import numpy as np

from ..._xp import Array, asarray_like, dense, to_numpy


def merged(X: Array, weights: Array | None) -> tuple[Array, Array]:
    """The different rows of positive weight, in ascending order, and their total weights."""
    rows = to_numpy(dense(X)) + 0.0
    counts = np.ones(len(rows), rows.dtype) if weights is None else to_numpy(weights)
    rows, counts = rows[counts > 0], counts[counts > 0]
    different, which = np.unique(rows, axis=0, return_inverse=True)
    # Weights of equal rows are added in ascending order, since sums depend on it.
    order = np.lexsort((counts, which.ravel()))
    totals = np.zeros(len(different), counts.dtype)
    np.add.at(totals, which.ravel()[order], counts[order])
    like = rows if isinstance(dense(X), np.ndarray) else X
    return asarray_like(different, like), asarray_like(totals, like)
