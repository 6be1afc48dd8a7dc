"""Results with one number for each row, as an array or as the last column of a data frame: their sums."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._xp import compute_lazy, namespace, to_numpy
from .spark import is_spark, weighted_sum


def is_frame_of_engine(results: Any) -> bool:
    """Whether results are columns of a data frame of an engine, beside the rows that they belong to."""
    return is_spark(results)


def mean_of_results(results: Any, weights: Any = None) -> float:
    """The mean of numbers, one for each row: of an array, or of the last column of a data frame of Spark. With weights,
    rows of weight zero are left out."""
    if is_spark(results):
        total, weight = weighted_sum(results, weights)
        return total / weight
    if weights is None:
        return float(namespace(results).mean(results))
    each = to_numpy(compute_lazy(results)).astype(np.float64)
    return float(np.average(each[weights > 0], weights=weights[weights > 0]))


def sum_of_results(results: Any) -> tuple[float, int]:
    """The sum of such numbers, and how many there are."""
    if is_spark(results):
        total, n = weighted_sum(results)
        return total, int(n)
    return float(namespace(results).sum(results)), results.shape[0]
