"""Jobs of Spark that fail: what happened, in plain words, and where the rows are that Spark could not compute."""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ... import errors
from ..._version import __version__
from .jobs import collected
from .names import quoted

#: The words of Spark when a task has failed too often because its executor did. An executor that is about to die
#: rejects the tasks that it is still given.
_DIED = (
    r"Task (\d+) in stage \S+ failed (\d+) times"
    r".*?(?:Python worker exited|ExecutorLost|OutOfMemoryError|RejectedExecution)"
)
#: Seconds for which the column and the partition are looked for that could not be computed.
_SEARCH = 60.0


@contextmanager
def in_plain_words(source: Any = None) -> Iterator[None]:
    """Context in which an error of a job says what happened and what to do.

    Parameters
    ----------
    source : SparkSource, optional
        Rows whose computation may be what fails. If it does, the error names the column and the partition.
    """
    try:
        yield
    except Exception as error:
        plain = _plain(error)
        if plain is not error:
            raise plain from None
        if not _failed_to_compute(error):
            raise
        raise errors.not_computed(_first_words(error), *_culprit(source)) from error


def _plain(error: BaseException) -> BaseException:
    """The error of a job, or one that says what to do."""
    text = str(error)
    died = re.search(_DIED, text, re.S)
    if died is not None:
        return errors.executors_died(*died.groups())
    if (short := re.search(r"\w*MemoryError: ([^\n]*)", text)) is not None:
        return errors.executor_memory(short.group(1))
    if "PYTHON_VERSION_MISMATCH" in text:
        return errors.other_python("Spark")
    if "No module named 'lowdim." in text or "on <module 'lowdim" in text:
        return errors.older_lowdim("Spark", __version__)
    missing = re.search(r"No module named '(lowdim|pyarrow|numpy|scipy|pandas)'", text)
    return error if missing is None else errors.no_lowdim("Spark", missing.group(1))


def _failed_to_compute(error: Exception) -> bool:
    """Whether a task of Spark failed while it computed rows, in Java or in a function of the user. Errors in the plan
    and lost connections are others, and so are those of lowdim."""
    from pyspark.errors import AnalysisException, PySparkException, PythonException

    if not isinstance(error, PySparkException) or isinstance(error, AnalysisException):
        return False
    if isinstance(error, PythonException):
        return "lowdim/sources" not in str(error)
    return error.getCondition() is not None


def _first_words(error: Exception) -> str:
    """What an error of Spark says, without the traces of Java. Of an error in Python, the last line says it."""
    text = str(error).partition("JVM stacktrace:")[0].partition("Driver stacktrace:")[0].strip()
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[-1].strip() if "Traceback (most recent call last)" in text else lines[0].strip()


# ---- Where the rows are that could not be computed


def _culprit(source: Any) -> tuple[str | None, int | None]:
    """The column that Spark cannot compute and the first partition in which it cannot, as far as they are found.

    Spark does not tell them. They are found by bisection: jobs compute some of the columns, then the column in some of
    the partitions. That takes `log2(p) + log2(partitions)` further reads, of which those that fail end early, and it
    ends after a minute. A data frame that is cached is computed as a whole, so it is not cached meanwhile; Spark then
    computes anew what it had kept.
    """
    if source is None:
        return None, None
    with _uncached(source.frame):
        return _found(_Search(source.frame), list(source.layout.columns))


@contextmanager
def _uncached(frame: Any) -> Iterator[None]:
    """Context in which a data frame is not cached. Afterwards it is to be cached again if it was."""
    level = frame.storageLevel
    cached = level.useMemory or level.useDisk
    if cached:
        frame.unpersist()
    try:
        yield
    finally:
        if cached:
            frame.persist(level)


def _found(search: _Search, names: list[str]) -> tuple[str | None, int | None]:
    """The column of these, and the first partition, that cannot be computed."""
    column: str | None = None
    partition: int | None = None
    try:
        # What fails without the columns is not their computation.
        if search.fails([], None) or not search.fails(names, None):
            return None, None
        while len(names) > 1:
            half = names[: len(names) // 2]
            names = half if search.fails(half, None) else names[len(half) :]
        column = names[0]
        first, last = 0, search.n_partitions()
        # Where Spark computes columns before it leaves out rows, partitions cannot be told apart.
        if search.fails(names, (last, last)):
            return column, None
        while last - first > 1:
            middle = (first + last) // 2
            first, last = (first, middle) if search.fails(names, (first, middle)) else (middle, last)
        partition = first
    except TimeoutError:
        pass
    return column, partition


class _Search:
    """Jobs that compute some columns in some partitions, for at most a minute."""

    def __init__(self, frame: Any) -> None:
        self._frame, self._end = frame, time.monotonic() + _SEARCH

    def n_partitions(self) -> int:
        """One more than the largest number of a partition that has rows."""
        from pyspark.sql import functions

        last = self._frame.select(functions.spark_partition_id().alias("part")).agg(functions.max("part"))
        return 1 + int(collected(last, 1, seconds=self._left())[0][0])

    def fails(self, columns: Sequence[str], partitions: tuple[int, int] | None) -> bool:
        """Whether Spark fails to compute columns in the partitions from the first number to before the second."""
        from pyspark.sql import functions

        frame = self._frame
        if partitions is not None:
            number = functions.spark_partition_id()
            frame = frame.where((number >= partitions[0]) & (number < partitions[1]))
        entries = functions.xxhash64(functions.lit(0), *(_entry(frame, name) for name in columns))
        try:
            with _without_log():
                collected(frame.agg(functions.max(entries)), 1, seconds=self._left())
        except Exception as error:
            if not _failed_to_compute(error):
                raise
            return True
        return False

    def _left(self) -> float:
        return self._end - time.monotonic()


@contextmanager
def _without_log() -> Iterator[None]:
    """Context in which Spark does not write the errors of jobs to the standard error stream, which are expected."""
    log = logging.getLogger("SQLQueryContextLogger")
    before, log.disabled = log.disabled, True
    try:
        yield
    finally:
        log.disabled = before


def _entry(frame: Any, name: str) -> Any:
    """A column in a form of which Spark can make a hash."""
    from pyspark.sql import functions

    column = functions.col(quoted(name))
    return functions.unwrap_udt(column) if type(frame.schema[name].dataType).__name__ == "VectorUDT" else column
