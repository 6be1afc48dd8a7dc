"""Jobs of Spark that fail, are interrupted, or run on other processes."""

from __future__ import annotations

import os
import signal
import threading
import time

import numpy as np
import pytest

from lowdim import PCA
from lowdim.reading import summarize
from lowdim.sources.spark_jobs import _plain
from lowdim.summaries import Moments
from spark_process import run_with_spark


class Calls:
    """Remembers what a pass says of its progress."""

    def __init__(self):
        self.calls = []

    def begin(self, what, n_blocks, block_rows=None):
        self.calls.append(n_blocks)

    def step(self):
        self.calls.append("step")

    def end(self):
        self.calls.append("end")


def test_progress_by_finished_tasks(numbers):
    progress = Calls()
    summarize(numbers, Moments, progress=progress)
    assert progress.calls == [3, "step", "step", "step", "end"]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("ModuleNotFoundError: No module named 'lowdim'", "worker of Spark has no lowdim.*PYSPARK_PYTHON"),
        ("ModuleNotFoundError: No module named 'pyarrow'", "worker of Spark has no pyarrow.*PYSPARK_PYTHON"),
        ("No module named 'lowdim.sources.spark'", "another version of lowdim than this process"),
        ("[PYTHON_VERSION_MISMATCH] Python in worker", "another version of Python.*PYSPARK_PYTHON"),
        (
            "Task 1 in stage 3.0 failed 4 times, most recent failure: Lost task 1.3 in stage 3.0 (executor 1): "
            "ExecutorLostFailure (executor 1 exited caused by one of the running tasks)",
            r"task 1 of a stage of Spark failed 4 times.* died .*spark\.executor\.memory",
        ),
        (
            "Task 2 in stage 5.0 failed 4 times ... RejectedExecutionException: Task rejected from "
            "java.util.concurrent.ThreadPoolExecutor[Shutting down, pool size = 1]",
            r"task 2 of a stage of Spark failed 4 times.* died ",
        ),
    ],
)
def test_executors_without_what_they_need(words, expected):
    """The words of Spark become a sentence that says what to do; `test_faults.py` tries it with real executors."""
    with pytest.raises(RuntimeError, match=expected):
        raise _plain(RuntimeError(f"Job aborted: Traceback ... {words}"))
    other = ValueError("anything else")
    assert _plain(other) is other


def test_a_column_that_cannot_be_computed(spark):
    """The column is named, and the partition where Spark can leave others out; `test_faults.py` tries a cluster."""
    from pyspark.sql import functions

    rows = spark.range(0, 60, 1, 4).selectExpr("sin(id) a", "1 / (id - 50) b", "cos(id) c", "id")
    with pytest.raises(ValueError, match=r"could not compute column 'b' in partition 3, .*Division by zero"):
        PCA(1).fit(rows.select("a", "b", "c"))
    inverse = functions.udf(lambda i: 1.0 / (i - 50), "double")
    with pytest.raises(ValueError, match=r"could not compute column 'd'.*: ZeroDivisionError"):
        PCA(1).fit(rows.select("a", "c", inverse("id").alias("d")))
    kept = rows.select("a", "b").cache()
    with pytest.raises(ValueError, match=r"could not compute column 'b' in partition 3, .*Division by zero"):
        PCA(1).fit(kept)
    assert kept.storageLevel.useMemory, "it is to be cached, as before"
    kept.unpersist()

    def no_rows(batches):
        raise RuntimeError("no rows")

    failing = rows.mapInArrow(no_rows, "a double, b double")
    with pytest.raises(ValueError, match=r"could not compute the data frame, .*: RuntimeError: no rows"):
        PCA(1).fit(failing)


def test_another_version_of_lowdim(numbers, monkeypatch):
    """The version is sent with the task, and compared with that of the executor."""
    from lowdim.sources import spark as sending

    plain = sending.Summing.__init__

    def older(self, *arguments, **named):
        plain(self, *arguments, **named)
        object.__setattr__(self, "version", "0.0.1")

    monkeypatch.setattr(sending.Summing, "__init__", older)
    with pytest.raises(RuntimeError, match=r"an executor of Spark has lowdim .*, and this process has lowdim 0\.0\.1"):
        PCA(1).fit(numbers)


def test_an_interrupt_cancels_the_jobs_and_leaves_the_model(spark, numbers):
    """A row that takes long is read when the signal comes."""
    from pyspark.sql import functions

    @functions.udf("double")
    def slowly(x):
        time.sleep(60)
        return x

    model = PCA(2).fit(numbers)
    before = dict(model.__dict__)
    slow = numbers.limit(20).withColumn("a", slowly("a"))
    # Opening counts the rows, which does not compute the column; the signal comes during the pass.
    timer = threading.Timer(4.0, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        model.fit(slow)
    assert model.__dict__ == before
    deadline = time.monotonic() + 30
    while spark.sparkContext.statusTracker().getActiveJobsIds() and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not spark.sparkContext.statusTracker().getActiveJobsIds()
    np.testing.assert_allclose(PCA(2).fit(numbers).components_, model.components_, atol=1e-12)


CONNECT = """
import numpy as np
from pyspark.sql import SparkSession
from lowdim import PCA, PPCA, cross_validate

spark = SparkSession.builder.remote("local[2]").config("spark.sql.shuffle.partitions", "2").getOrCreate()
X = np.random.default_rng(1).normal(size=(90, 4)) @ np.random.default_rng(2).normal(size=(4, 4)) + 50.0
folds = [str(i % 3) for i in range(90)]
w = np.arange(90) % 3 + 0.5
rows = [(*map(float, x), fold, float(v)) for x, fold, v in zip(X, folds, w)]
frame = spark.createDataFrame(rows, "a double, b double, c double, d double, fold string, w double").repartition(3)
rows = frame.drop("w")
model = PCA(2).fit(rows)
same = lambda a, b: print(bool(np.allclose(a, b, rtol=1e-9, atol=1e-12)))
same(sorted(row["PC1"] for row in model.transform(rows).collect()), np.sort(PCA(2).fit_transform(X)[:, 0]))
same(model.score(rows), PCA(2).fit(X).score(X))
same(PPCA(2).fit(frame, sample_weight="w").loadings_, PPCA(2).fit(X, sample_weight=w).loadings_)
same(cross_validate(PCA(), rows, cv="fold").mean, cross_validate(PCA(), X, cv=folds).mean)
try:
    PCA(2).fit(rows, sample_weight=w)
except TypeError as error:
    print("no order" in str(error))
spark.stop()
"""


def test_spark_connect(tmp_path):
    """A server on this machine, with a client that knows no Java: what is done with rows beside fits of all models."""
    pytest.importorskip("grpc", reason="grpc is not installed, which Spark Connect needs")
    script = tmp_path / "script.py"
    script.write_text(CONNECT)
    assert run_with_spark(script, folder=tmp_path, connect=True) == ["True"] * 5
