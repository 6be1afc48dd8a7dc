"""Collections of each engine with given partitions. Rows of a partition are made when a task reads it."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from in_process import IN_PROCESS, PartitionedSource
from lowdim.sources.array import ArraySource
from lowdim.sources.base import Engine
from lowdim.sources.dask import DASK
from lowdim.sources.spark import SPARK

#: Warnings of pyspark, which are not about lowdim: that it was not tried with pandas 3, and, from version 4.1, that it
#: leaves the sockets of results to be closed when memory is freed.
SPARK_WARNINGS = [
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning"),
    pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"),
    pytest.mark.filterwarnings("ignore:Exception ignored in.*socket:pytest.PytestUnraisableExceptionWarning"),
]


def in_process(parts: list[np.ndarray]) -> Any:
    return PartitionedSource([ArraySource(part) for part in parts if len(part)] or [ArraySource(parts[0])])


def in_dask(parts: list[np.ndarray]) -> Any:
    da = pytest.importorskip("dask.array", reason="Dask is not installed")
    return da.from_array(np.vstack(parts), chunks=(tuple(map(len, parts)), -1))


def in_spark(parts: list[np.ndarray]) -> Any:
    def rows(batches):
        import pyarrow as pa

        for batch in batches:
            for i in batch.column(0).to_pylist():
                if len(parts[i]):
                    yield pa.RecordBatch.from_arrays([pa.array(column) for column in parts[i].T], names)

    names = [f"x{i}" for i in range(parts[0].shape[1])]
    numbers = spark_session().range(0, len(parts), 1, len(parts))
    return numbers.mapInArrow(rows, ", ".join(f"{name} double" for name in names))


def require_spark() -> Any:
    """The module pyspark.sql; tests are skipped where it, or Java, is missing."""
    reason = "Spark needs pyspark (pip install 'lowdim[spark]') and Java 17 (Debian's openjdk-17-jre-headless)"
    sql = pytest.importorskip("pyspark.sql", reason=reason)
    if shutil.which("java") is None:
        pytest.skip(reason)
    return sql


def spark_session() -> Any:
    """The session of these tests, which is started once."""
    sql = require_spark()
    builder = sql.SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    before = os.environ.get("PYTHONPATH")
    # Its processes have to be those of this Python, and to find the modules of the tests.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
    try:
        session = builder.config("spark.sql.shuffle.partitions", "2").getOrCreate()
    finally:
        if before is None:
            del os.environ["PYTHONPATH"]
        else:
            os.environ["PYTHONPATH"] = before
    session.sparkContext.setLogLevel("OFF")
    return session


@contextmanager
def separate_parts(engine: Any) -> Iterator[None]:
    """Context in which small partitions are not joined, so that each is a part and all results are merged."""
    merged = engine.merged
    engine.merged = lambda *arguments, least=1, **options: merged(*arguments, least=1, **options)
    try:
        yield
    finally:
        del engine.merged


#: The engines by their names: the two of lowdim, and the smallest, which shows what an engine does and nothing else.
ENGINES: dict[str, Engine] = {engine.name: engine for engine in (IN_PROCESS, DASK, SPARK)}

#: One row for each engine.
COLLECTIONS: dict[str, Callable[[list[np.ndarray]], Any]] = {
    "threads": in_process,
    "Dask": in_dask,
    "Spark": in_spark,
}
