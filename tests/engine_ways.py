"""The ways to run an engine on which all models are compared.

A session of Spark needs a process of its own, in which this file is a script: `python engine_ways.py WAY FILE` fits
all cases of `engine_parity.py` and writes what is compared.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engine_parity import Fits, as_dask, as_spark, fit_all
from spark_process import run_with_spark


def dask_threads() -> Fits:
    dask = pytest.importorskip("dask", reason="Dask is not installed")
    with dask.config.set(scheduler="threads"):
        return fit_all(as_dask, "Dask")


def dask_processes() -> Fits:
    """A cluster of two processes with one thread each."""
    dask = pytest.importorskip("dask", reason="Dask is not installed")
    reason = "distributed, the scheduler of Dask clusters, is not installed"
    distributed = pytest.importorskip("distributed", reason=reason)
    with dask.config.set({"distributed.worker.multiprocessing-method": "forkserver"}):
        distributed.utils.get_mp_context().set_forkserver_preload(["distributed", "lowdim"])
        options = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "dashboard_address": ":0"}
        with distributed.LocalCluster(**options, silence_logs=50) as cluster, distributed.Client(cluster):
            return fit_all(as_dask, "Dask")


def of_spark(way: str) -> Fits:
    """What the script of this file writes."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "fits.npz"
        run_with_spark(__file__, way, path, folder=Path(folder), connect=way == "connect")
        found: Fits = {}
        with np.load(path) as arrays:
            for name in arrays:
                case, attribute = name.split("|")
                found.setdefault(case, {})[attribute] = arrays[name]
    return found


def spark_connect() -> Fits:
    pytest.importorskip("grpc", reason="grpc is not installed, which Spark Connect needs")
    return of_spark("connect")


#: The ways by their names on the page.
WAYS: dict[str, Callable[[], Fits]] = {
    "Dask, threads": dask_threads,
    "Dask, processes": dask_processes,
    "Spark, cluster": partial(of_spark, "cluster"),
    "Spark Connect": spark_connect,
}


def session(way: str) -> Any:
    """A cluster of two executors, or a client of a server, on this machine."""
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.config("spark.ui.enabled", "false").config("spark.sql.shuffle.partitions", "2")
    if way == "connect":
        return builder.remote("local[2]").getOrCreate()
    builder = builder.config("spark.executorEnv.PYTHONPATH", os.environ["PYTHONPATH"])
    found = builder.master("local-cluster[2,1,1024]").getOrCreate()
    found.sparkContext.setLogLevel("OFF")
    return found


def main(way: str, path: str) -> None:
    spark = session(way)
    fits = fit_all(as_spark(spark), "Spark")
    np.savez(path, **{f"{case}|{name}": array for case, arrays in fits.items() for name, array in arrays.items()})
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
