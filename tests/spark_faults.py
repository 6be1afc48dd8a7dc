"""A cluster of Spark on this machine whose executors die, are slow, lack memory, or have another lowdim.

A script, which `tests/sources/spark/test_faults.py` runs in a process of its own: `python spark_faults.py FOLDER CHECK
...` prints the name of each check that holds. Reads of partitions are counted over all processes, by files in the
folder.
"""

from __future__ import annotations

import os
import re
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np

import lowdim
from engine_parity import INCOMPLETE, X, fitted_arrays
from lowdim import ICA, PCA, PPCA
from lowdim.solvers import EM
from other_lowdim import with_another_version, without_lowdim
from partitions import ENGINES, separate_parts

#: The three partitions of 80 rows.
N_PARTS, ROWS = 3, 80
NAMES = [f"x{i}" for i in range(X.shape[1])]
#: How often Spark tries a task, and the memory of the Python processes of an executor.
ATTEMPTS, MEMORY = 2, "2g"


def session(**settings: str) -> Any:
    """A cluster of two executors. The one of an earlier session must have been stopped."""
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local-cluster[2,1,1024]").config("spark.ui.enabled", "false")
    settings = {
        "spark.sql.shuffle.partitions": "2",
        # Plans are interpreted: to compile them takes longer than to read so few rows.
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
        "spark.ui.showConsoleProgress": "false",
        "spark.task.maxFailures": str(ATTEMPTS),
        "spark.executor.pyspark.memory": MEMORY,
        "spark.executorEnv.PYTHONPATH": os.environ["PYTHONPATH"],
        **settings,
    }
    for name, value in settings.items():
        builder = builder.config(name, value)
    found = builder.getOrCreate()
    found.sparkContext.setLogLevel("OFF")
    return found


def frame(spark: Any, table: np.ndarray, on_read: Callable[[int], None]) -> Any:
    """A data frame whose partitions call `on_read` with their number each time they are read."""

    def rows(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa

        for batch in batches:
            for i in batch.column(0).to_pylist():
                on_read(i)
                part = table[i * ROWS : (i + 1) * ROWS]
                yield pa.RecordBatch.from_arrays([pa.array(column) for column in part.T], NAMES)

    numbers = spark.range(0, N_PARTS, 1, N_PARTS)
    return numbers.mapInArrow(rows, ", ".join(f"{name} double" for name in NAMES))


def executor() -> int:
    """The process of the executor that runs this process of Python, which is a fork of a daemon."""
    with open(f"/proc/{os.getppid()}/stat") as file:
        return int(file.read().rpartition(")")[2].split()[1])


def counting(folder: Path, on_count: Callable[[int, int], None] = lambda i, count: None) -> Callable[[int], None]:
    """Counts reads in a new folder, over all processes, and calls a function with the partition and the count."""
    folder.mkdir()
    place = str(folder)

    def on_read(i: int) -> None:
        count = len(os.listdir(place)) + 1
        open(os.path.join(place, f"{count} {i} {time.time_ns()}"), "x").close()
        on_count(i, count)

    return on_read


def reads(folder: Path, part: int) -> int:
    """How often a partition has been read."""
    return len([path for path in folder.iterdir() if path.name.split()[1] == str(part)])


def require(condition: bool, *words: Any) -> None:
    """Exit with an error unless a condition holds."""
    if not condition:
        raise SystemExit(" ".join(map(str, words)))


def same_bits(found: Any, expected: Any) -> None:
    for name, array in fitted_arrays(expected).items():
        require(getattr(found, name).tobytes() == array.tobytes(), "other bits in", name)


@contextmanager
def refused(kind: type[BaseException], words: str) -> Iterator[None]:
    """Context that must end with this error."""
    try:
        yield
    except kind as error:
        require(re.search(words, str(error), re.S) is not None, f"another message than {words}:", error)
    else:
        raise SystemExit(f"no error with the words {words}")


# ---- Executors that die


#: Fits with as few passes as show that the rows are read again: one pass, and several.
FITS: dict[str, Callable[[], Any]] = {
    "one pass": lambda: PCA(2, solver="covariance"),
    "Krylov": lambda: PCA(2, solver="krylov", random_state=0),
    "EM": lambda: PPCA(2, solver=EM(max_iter=1)),
    "ICA": lambda: ICA(2, random_state=0, max_iter=1),
}


def deadly(folder: Path, number: int) -> Callable[[int], None]:
    """The read of this number kills the executor that does it, once."""
    mark = f"{folder} killed"

    def kill(i: int, count: int) -> None:
        if count >= number:
            with suppress(FileExistsError):
                open(mark, "x").close()
                os.kill(executor(), signal.SIGKILL)
                os.kill(os.getpid(), signal.SIGKILL)

    return counting(folder, kill)


def killed(spark: Any, folder: Path) -> None:
    """The same bits with an executor killed in the middle of a pass as without; of the last pass, if there are
    several."""
    for name, make in FITS.items():
        calm, died = folder / f"{name} calm", folder / f"{name} died"
        table = INCOMPLETE if name == "EM" else X
        expected = make().fit(frame(spark, table, counting(calm)))
        n_reads = len(os.listdir(calm))
        # Rows are counted first.
        require(n_reads % N_PARTS == 0 and (n_reads == 2 * N_PARTS) == (name == "one pass"), name, n_reads, "reads")
        found = make().fit(frame(spark, table, deadly(died, n_reads - N_PARTS + 2)))
        require(Path(f"{died} killed").exists(), name, "no executor was killed")
        require(len(os.listdir(died)) > n_reads, name, "no partition was read again")
        same_bits(found, expected)


# ---- Other faults


def slow(spark: Any, folder: Path) -> None:
    """Whichever executor takes the first partition is slow for the rest of the fit."""
    mark = str(folder / "slow")

    def wait(i: int) -> None:
        with suppress(FileExistsError), open(mark, "x") as file:
            file.write(str(executor()))
        with open(mark) as file:
            time.sleep(1.0 if file.read() == str(executor()) else 0.0)

    fits = [FITS["one pass"]().fit(frame(spark, X, on_read)) for on_read in (lambda i: None, wait)]
    same_bits(*fits)


def bad_entries(spark: Any, folder: Path) -> None:
    """The error names the column, the row and the partition, which is not read again."""
    for name, value in {"nan": np.nan, "infinity": -np.inf}.items():
        table = X.copy()
        table[ROWS + 7, 3] = value
        on_read = counting(folder / name)
        with refused(ValueError, r"column 'x3' .*first in row 7.*partition 1"):
            PCA(2, solver="covariance").fit(frame(spark, table, on_read))
        require(reads(folder / name, 1) == 2, name, "was read", reads(folder / name, 1), "times, once to count rows")


def text(spark: Any, folder: Path) -> None:
    """Text that is no number fails where Spark converts it, which tries it again. The error names the column and the
    partition, which are looked for; columns of text are refused before a job runs."""
    from pyspark.sql import functions

    on_read = counting(folder / "reads")

    def rows(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa

        for batch in batches:
            for i in batch.column(0).to_pylist():
                on_read(i)
                words = ["7", "seven" if i == 1 else "8"]
                yield pa.RecordBatch.from_arrays([pa.array(words), pa.array([0.5, float(i)])], ["word", "x"])

    table = spark.range(0, N_PARTS, 1, N_PARTS).mapInArrow(rows, "word string, x double")
    converted = table.select("x", functions.col("word").cast("double").alias("word"))
    words = r"could not compute column 'word' in partition 1, before .*'seven'.*cannot be cast to \"DOUBLE\""
    with refused(ValueError, words):
        PCA(1).fit(converted)
    # Reads that end: to count the rows; no columns; the first column; to count the partitions; none of them; the first
    # one. Reads that fail: of the fit; of all columns; of the second partition.
    expected, n_reads = 6 + 3 * ATTEMPTS, reads(folder / "reads", 1)
    require(n_reads == expected, "the text was read", n_reads, "times, not", expected)
    with refused(ValueError, r"columns that are not numbers: 'word'"):
        PCA(1).fit(lowdim.scan(table, columns=["word", "x"]))


def interrupted(spark: Any, folder: Path) -> None:
    """Ctrl-C during a pass: the tasks end on the executors, the model is as it was, and the cluster goes on."""
    model = FITS["one pass"]().fit(frame(spark, X, lambda i: None))
    before = dict(model.__dict__)
    stay = folder / "reads"

    def wait(i: int, count: int) -> None:
        if count > N_PARTS:
            time.sleep(120)

    def signal_once_it_reads() -> None:
        while len(os.listdir(stay)) <= N_PARTS:
            time.sleep(0.05)
        os.kill(os.getpid(), signal.SIGINT)

    slow_rows = frame(spark, X, counting(stay, wait))
    threading.Thread(target=signal_once_it_reads, daemon=True).start()
    begun = time.monotonic()
    with refused(KeyboardInterrupt, ""):
        model.fit(slow_rows)
    tracker = spark.sparkContext.statusTracker()
    while tracker.getActiveJobsIds() and time.monotonic() < begun + 60:
        time.sleep(0.1)
    require(not tracker.getActiveJobsIds(), "jobs run after the interrupt")
    # Spark cancels the tasks of a job after it has ended the job, and one of them may just have begun to read.
    n_reads = -1
    while n_reads != len(os.listdir(stay)):
        n_reads = len(os.listdir(stay))
        time.sleep(2)
    require(dict(model.__dict__) == before, "the model has changed")
    same_bits(FITS["one pass"]().fit(frame(spark, X, lambda i: None)), model)
    require(time.monotonic() < begun + 110, "the tasks were not cancelled")
    require(len(os.listdir(stay)) == n_reads, "partitions were read after the interrupt")


def memory(spark: Any, folder: Path) -> None:
    """A summary, and a partition, for which Python has no memory; a process of Python that is killed each time, as
    Linux does when there is no memory left; and a partition for which Java has no memory."""
    from pyspark.sql import functions

    long = functions.sequence(functions.lit(1), functions.lit(20_000))
    wide = spark.range(0, 6, 1, 3).select(functions.transform(long, lambda x: functions.sin(x)).alias("x"))
    with refused(MemoryError, r"Unable to allocate.*spark\.executor\.pyspark\.memory.*partition 0"):
        PCA(2, solver="covariance").fit(wide)

    def allocate(i: int) -> None:
        if i == 1:
            np.ones(3 << 27)

    with refused(MemoryError, r"Unable to allocate 3.00 GiB.*spark\.executor\.pyspark\.memory"):
        PCA(2, solver="covariance").fit(frame(spark, X, allocate))

    def die(i: int, count: int) -> None:
        if i == 1 and count > N_PARTS:
            os.kill(os.getpid(), signal.SIGKILL)

    died = rf"task 1 of a stage of Spark failed {ATTEMPTS} times.* died .*spark\.executor\.memoryOverhead"
    with refused(RuntimeError, died):
        PCA(2, solver="covariance").fit(frame(spark, X, counting(folder / "dying", die)))
    end = functions.when(functions.col("id") == 1, 400_000_000).otherwise(2)
    long = functions.size(functions.transform(functions.sequence(functions.lit(1), end), lambda x: x + 1))
    huge = spark.range(0, N_PARTS, 1, N_PARTS).select(functions.sin("id").alias("x"), long.alias("y"))
    with refused(RuntimeError, died):
        PCA(1, solver="covariance").fit(huge)


# ---- Executors with another lowdim, or none


def versions(folder: Path) -> None:
    """Each has a session of its own, whose executors find other modules first."""
    for modules, words in (
        (str(without_lowdim(folder / "none")), r"worker of Spark has no lowdim; install lowdim"),
        (
            str(with_another_version(folder / "other")),
            r"executor of Spark has lowdim 0\.0\.1, and this process has lowdim",
        ),
    ):
        places = os.pathsep.join([modules, os.environ["PYTHONPATH"]])
        spark = session(**{"spark.executorEnv.PYTHONPATH": places})
        with refused(RuntimeError, words):
            PCA(2, solver="covariance").fit(
                spark.range(0, 90, 1, 3).selectExpr("sin(id) x", "cos(id) y", "sin(2*id) z")
            )
        spark.stop()


#: Checks that share a session, by name.
CHECKS: dict[str, Callable[[Any, Path], None]] = {
    "killed": killed,
    "slow": slow,
    "bad entries": bad_entries,
    "text": text,
    "interrupted": interrupted,
    "memory": memory,
}


def main(place: str, *names: str) -> None:
    folder, spark = Path(place), session()
    with separate_parts(ENGINES["Spark"]):
        for name in names:
            if name in CHECKS:
                (folder / name).mkdir()
                CHECKS[name](spark, folder / name)
                print(name, flush=True)
    spark.stop()
    if "versions" in names:
        versions(folder)
        print("versions")


if __name__ == "__main__":
    main(*sys.argv[1:])
