"""PCA of rows that an engine holds, compared with the PCA that others offer for the same engine.

Rows are in memory before the clock starts: Dask's in this process or in that of its workers, Spark's in the cache of
the data frame.
"""

from __future__ import annotations

import atexit
import os
import sys
from functools import cache
from importlib.util import find_spec

import numpy as np

import lowdim
from benchmarks.exact import dense_eigenvalues, gaussian
from benchmarks.harness import Case, Contender

SHAPE, K = (200_000, 256), 10
PARTITIONS = 16
#: Column means: they are large beside the deviations, which are at most 1, in the case of Spark.
MEAN = 1e7


# ---- Dask


@cache
def client():
    """The client of a cluster of two processes with one thread each."""
    import distributed

    options = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "dashboard_address": None}
    cluster = distributed.LocalCluster(**options)
    found = distributed.Client(cluster)
    atexit.register(lambda: (found.close(), cluster.close()))
    return found


def chunked(data):
    import dask.array

    return dask.array.from_array(data, chunks=(-(-len(data) // PARTITIONS), -1))


def in_threads(name, fit):
    """Times fit(rows, k) with the threads of this process."""

    def setup(data, k):
        import dask

        def call():
            with dask.config.set(scheduler="threads"):
                return fit(chunked(data), k)

        return call

    return Contender(name, setup, variances)


def in_workers(name, fit):
    """Times fit(rows, k) of rows that two worker processes hold."""

    def setup(data, k):
        from distributed import wait

        rows = client().persist(chunked(data))
        wait(rows)
        return lambda: fit(rows, k)

    return Contender(name, setup, variances, elsewhere=True)


def in_memory(name):
    return Contender(name, lambda data, k: lambda: lowdim.PCA(k).fit(data), variances)


def variances(model):
    return model.explained_variance_


def ours(rows, k):
    return lowdim.PCA(k).fit(rows)


def theirs(**options):
    def fit(rows, k):
        from dask_ml.decomposition import PCA

        return PCA(k, **options).fit(rows)

    return fit


def peers(timed):
    """dask-ml with its default solver, which is randomized here, and with the exact one; if it is installed."""
    if find_spec("dask_ml") is None:
        return []
    return [timed("dask-ml", theirs(random_state=0)), timed("dask-ml full", theirs(svd_solver="full"))]


# ---- Spark


@cache
def session():
    """A session of Spark with two threads, whose processes find the modules of this one."""
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ["PYTHONPATH"] = os.pathsep.join(path or os.getcwd() for path in sys.path)
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.ui.showConsoleProgress", "false")
    found = builder.config("spark.driver.memory", "6g").getOrCreate()
    found.sparkContext.setLogLevel("OFF")
    atexit.register(found.stop)
    return found


def part(i, shape):
    """The rows of a partition."""
    first, end = shape[0] * i // PARTITIONS, shape[0] * (i + 1) // PARTITIONS
    return gaussian((end - first, shape[1]), mean=MEAN, seed=i)


def table(shape):
    return np.vstack([part(i, shape) for i in range(PARTITIONS)])


@cache
def cached_frame(shape):
    """The same rows as columns, and as one column of vectors, in the cache of the executors, where they are made."""
    from pyspark.ml.functions import array_to_vector
    from pyspark.sql.functions import array

    names = [f"x{i}" for i in range(shape[1])]

    def rows(batches):
        import pyarrow

        for batch in batches:
            for i in batch.column(0).to_pylist():
                yield pyarrow.RecordBatch.from_arrays([pyarrow.array(column) for column in part(i, shape).T], names)

    numbers = session().range(0, PARTITIONS, 1, PARTITIONS)
    frame = numbers.mapInArrow(rows, ", ".join(f"{name} double" for name in names)).cache()
    vectors = frame.select(array_to_vector(array(*names)).alias("features")).cache()
    vectors.count()
    return frame, vectors


def spark_ours(name, which):
    def setup(data, k):
        frame = cached_frame(data.shape)[which]
        return lambda: lowdim.PCA(k).fit(frame)

    return Contender(name, setup, ratios, elsewhere=True)


def spark_theirs(data, k):
    from pyspark.ml.feature import PCA

    frame = cached_frame(data.shape)[1]
    return lambda: PCA(k=k, inputCol="features", outputCol="scores").fit(frame)


def sent_to_python(data, k):
    """The rows are sent to Python, where they are counted: what lowdim does, without its sums."""
    from pyspark.sql import functions

    def count(batches):
        import pyarrow

        yield pyarrow.RecordBatch.from_pydict({"n": [sum(batch.num_rows for batch in batches)]})

    values = functions.unwrap_udt("features")["values"].alias("values")
    rows = cached_frame(data.shape)[1].select(values).coalesce(2)
    return lambda: rows.mapInArrow(count, "n long").collect()


def ratios(model):
    return model.explained_variance_ratio_


def exact_ratios(data, k):
    """Shares of the variance, which are all that MLlib gives."""
    every = dense_eigenvalues(data, data.shape[1])
    return every[:k] / every.sum()


# ---- Cases

CASES = [
    Case(
        name="engine-dask-threads",
        work="PCA, 200,000 x 256, K=10, in Dask, threads",
        must_reach="1/4 of the time of dask-ml",
        shape=SHAPE,
        k=K,
        make=gaussian,
        exact=dense_eigenvalues,
        contenders=[in_threads("lowdim", ours), in_memory("lowdim, array"), *peers(in_threads)],
        needs=["dask"],
    ),
    Case(
        name="engine-dask-workers",
        work="PCA, 200,000 x 256, K=10, in Dask, two worker processes",
        must_reach="1/3 of the time of dask-ml",
        shape=SHAPE,
        k=K,
        make=gaussian,
        exact=dense_eigenvalues,
        contenders=[in_workers("lowdim", ours), in_memory("lowdim, array"), *peers(in_workers)],
        needs=["dask", "distributed"],
    ),
    Case(
        name="engine-spark",
        work="PCA, 200,000 x 256, K=10, column means 1e7, in Spark, local[2]",
        must_reach="1/5 of the time of MLlib",
        shape=SHAPE,
        k=K,
        make=table,
        exact=exact_ratios,
        contenders=[
            spark_ours("lowdim", 1),
            spark_ours("lowdim, 256 columns", 0),
            Contender("lowdim, array", lambda data, k: lambda: lowdim.PCA(k).fit(data), ratios),
            Contender("MLlib", spark_theirs, lambda model: model.explainedVariance.toArray(), elsewhere=True),
            Contender("bare: rows sent to Python", sent_to_python, None, elsewhere=True),
        ],
        needs=["pyspark"],
    ),
]
