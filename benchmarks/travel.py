"""The bytes that the workers of an engine send in a fit, to each other and to the process of the user."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from lowdim import PCA

#: The fit for which bytes are counted.
MODEL = PCA(10, solver="covariance")


def of_dask(counts, partitions=16, columns=256):
    """For each number of rows, what two worker processes of Dask count themselves. The rows are in their memory."""
    import dask.array as da
    from distributed import Client, wait

    found = {}
    with Client(n_workers=2, threads_per_worker=1, dashboard_address=None) as client:
        for n in counts:
            rows = da.random.default_rng(0).normal(size=(n, columns), chunks=(-(-n // partitions), columns)).persist()
            wait(rows)
            before = _sent(client)
            MODEL.fit(rows)
            found[n] = _sent(client) - before
            del rows
    return found


def _sent(client):
    return sum(client.run(lambda dask_worker: dask_worker.transfer_outgoing_bytes_total).values())


def of_spark(counts, partitions=16, columns=256):
    """For each number of rows, what the tasks of two executors of Spark write for others to read and send to the
    driver, from the log of events that Spark keeps. Nothing is compressed. The rows are made by the tasks."""
    return {n: _written(n, partitions, columns) for n in counts}


def _written(n, partitions, columns):
    from pyspark.sql import SparkSession

    with tempfile.TemporaryDirectory() as folder:
        builder = SparkSession.builder.master("local-cluster[2,1,1024]")
        for name, value in {
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
            "spark.shuffle.compress": "false",
            "spark.eventLog.enabled": "true",
            "spark.eventLog.dir": f"file://{folder}",
            "spark.eventLog.compress": "false",
            "spark.eventLog.rolling.enabled": "false",
        }.items():
            builder = builder.config(name, value)
        spark = builder.getOrCreate()
        try:
            entries = ", ".join(f"sin(id * {i + 1})" for i in range(columns))
            rows = spark.range(0, n, 1, partitions).selectExpr(f"array({entries}) x")
            MODEL.fit(rows)
        finally:
            spark.stop()
        log = max((path for path in Path(folder).rglob("*") if path.is_file()), key=lambda path: path.stat().st_size)
        return sum(map(_of_task, log.read_text().splitlines()))


def _of_task(line):
    """The bytes that a task has written and sent, from a line of the log; 0 for a line about something else."""
    event = json.loads(line)
    known = event.get("Task Metrics") if event["Event"] == "SparkListenerTaskEnd" else None
    return known["Shuffle Write Metrics"]["Shuffle Bytes Written"] + known["Result Size"] if known else 0
