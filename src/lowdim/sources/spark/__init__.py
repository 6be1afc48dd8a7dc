"""Data frames of Spark: partitions are read by tasks on the executors that hold them, and only summaries travel.

Only the DataFrame API is used, so that Spark Connect works as well as a classic session. Spark is imported only when
such a data frame is opened.
"""

from __future__ import annotations

from typing import Any

from .carried import SparkColumn
from .engine import SPARK
from .source import SparkContents, SparkSource
from .sums import weighted_sum


def is_spark(X: Any) -> bool:
    """True for data frames of Spark, of classic sessions and of Spark Connect."""
    return type(X).__module__.startswith("pyspark.sql.") and hasattr(X, "mapInArrow")


__all__ = ["SPARK", "SparkColumn", "SparkContents", "SparkSource", "is_spark", "weighted_sum"]
