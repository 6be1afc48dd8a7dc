"""Results with one number for each row, as an array or as the last column of a data frame: their sums."""

from __future__ import annotations

from typing import Any

from .._xp import namespace
from .spark import is_spark


def is_frame_of_engine(results: Any) -> bool:
    """Whether results are columns of a data frame of an engine, beside the rows that they belong to."""
    return is_spark(results)


def mean_of_results(results: Any) -> float:
    """The mean of numbers, one for each row: of an array, or of the last column of a data frame of Spark."""
    if is_spark(results):
        total, n = _spark_sums(results)
        return total / n
    return float(namespace(results).mean(results))


def sum_of_results(results: Any) -> tuple[float, int]:
    """The sum of such numbers, and how many there are."""
    return _spark_sums(results) if is_spark(results) else (float(namespace(results).sum(results)), results.shape[0])


def _spark_sums(frame: Any) -> tuple[float, int]:
    """The sum and the number of the entries of the last column, by one job."""
    from pyspark.sql import functions

    last = functions.col(frame.columns[-1]).cast("double")
    total, n = frame.agg(functions.sum(last), functions.count(last)).first()
    return float(total), int(n)
