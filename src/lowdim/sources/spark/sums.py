"""Sums of a column of a data frame of Spark."""

from __future__ import annotations

from typing import Any

from .carried import SparkColumn
from .failures import in_plain_words
from .names import quoted


def weighted_sum(frame: Any, weights: SparkColumn | None = None) -> tuple[float, float]:
    """The weighted sum of the entries of the last column, and the sum of the weights, by one job."""
    from pyspark.sql import functions

    w = functions.lit(1.0) if weights is None else weights.column.cast("double")
    entry = functions.col(quoted(frame.columns[-1])).cast("double")
    with in_plain_words():
        total, weight = frame.where(w > 0).agg(functions.sum(w * entry), functions.sum(w)).first()
    return float(total), float(weight)
