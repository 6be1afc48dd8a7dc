"""Results with one number for each row, as an array or as the last column of a data frame: their sums."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._xp import compute_lazy, namespace, to_numpy
from .spark import is_spark


def is_frame_of_engine(results: Any) -> bool:
    """Whether results are columns of a data frame of an engine, beside the rows that they belong to."""
    return is_spark(results)


def mean_of_results(results: Any, weights: Any = None) -> float:
    """The mean of numbers, one for each row: of an array, or of the last column of a data frame of Spark. With weights,
    rows of weight zero are left out."""
    if is_spark(results):
        total, weight = _spark_sums(results, weights)
        return total / weight
    if weights is None:
        return float(namespace(results).mean(results))
    each = to_numpy(compute_lazy(results)).astype(np.float64)
    return float(np.average(each[weights > 0], weights=weights[weights > 0]))


def sum_of_results(results: Any) -> tuple[float, int]:
    """The sum of such numbers, and how many there are."""
    if is_spark(results):
        total, n = _spark_sums(results)
        return total, int(n)
    return float(namespace(results).sum(results)), results.shape[0]


def _spark_sums(frame: Any, weights: Any = None) -> tuple[float, float]:
    """The weighted sum of the entries of the last column, and the sum of the weights, by one job."""
    from pyspark.sql import functions

    w = functions.lit(1.0) if weights is None else weights.column.cast("double")
    entry = functions.col(frame.columns[-1]).cast("double")
    total, weight = frame.where(w > 0).agg(functions.sum(w * entry), functions.sum(w)).first()
    return float(total), float(weight)
