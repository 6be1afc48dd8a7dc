"""Jobs of Spark: they end when the caller is interrupted, and tell how many of their tasks are finished."""

from __future__ import annotations

import re
import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event
from typing import Any

from ... import errors
from ..._version import __version__

#: Seconds between two looks at a job that runs.
_LOOK = 0.2
#: More than the cores of any cluster.
_MANY = 1 << 20
#: The words of Spark when a task has failed too often because its executor did.
_DIED = r"Task (\d+) in stage \S+ failed (\d+) times.*?(?:Python worker exited|ExecutorLost|OutOfMemoryError)"


def collected(frame: Any, n_tasks: int, tick: Callable[[], None] | None = None) -> list[Any]:
    """All rows of a small data frame. Its first stage has `n_tasks` tasks, and `tick` is called as they finish.

    The job runs in a thread of its own, under a tag. If this thread is interrupted meanwhile, all jobs of the tag are
    cancelled.
    """
    from pyspark import InheritableThread

    session, tag, ended = frame.sparkSession, f"lowdim-{uuid.uuid4().hex}", Event()
    found: list[Any] = []
    failed: list[BaseException] = []
    finished = _Tasks.of(session)(session, tag, n_tasks)

    def work() -> None:
        try:
            session.addTag(tag)
            finished.begin()
            found.extend(frame.collect())
        except BaseException as error:
            failed.append(error)
        finally:
            session.removeTag(tag)
            ended.set()

    thread = InheritableThread(target=work, session=session)
    thread.daemon = True
    thread.start()
    told = 0
    try:
        while not ended.wait(_LOOK if tick is not None else None):
            now = finished.count()
            for _ in range(told, now):
                assert tick is not None
                tick()
            told = max(told, now)
    except BaseException:
        session.interruptTag(tag)
        ended.wait()
        raise
    finally:
        finished.close()
    thread.join()
    if failed:
        raise _plain(failed[0])
    if tick is not None:
        for _ in range(told, n_tasks):
            tick()
    return found


def n_cores(session: Any) -> int:
    """The number of tasks that a session runs at the same time, as far as it is known."""
    if is_remote(session):
        from pyspark.sql import functions

        # A client of Spark Connect is not told, but a range has as many partitions as there are cores.
        parts = session.range(_MANY).select(functions.spark_partition_id().alias("part"))
        return 1 + int(parts.agg(functions.max("part")).first()[0])
    return int(session.sparkContext.defaultParallelism)


def is_remote(session: Any) -> bool:
    """Whether a session is one of Spark Connect."""
    return ".connect." in type(session).__module__


class _Tasks(ABC):
    """How many tasks of the stage with `n_tasks` of them are finished, as a session tells it."""

    def __init__(self, session: Any, tag: str, n_tasks: int) -> None:
        self._session, self._tag, self._n_tasks, self._told = session, tag, n_tasks, 0

    @staticmethod
    def of(session: Any) -> type[_Tasks]:
        """The class for a session."""
        return _RemoteTasks if is_remote(session) else _ClassicTasks

    @abstractmethod
    def begin(self) -> None:
        """Called by the thread of the job before it begins."""

    @abstractmethod
    def count(self) -> int:
        """The number of finished tasks."""

    def close(self) -> None:  # noqa: B027 (only one of the classes has something to end)
        """Called when the job has ended."""

    def _tell(self, n_tasks: int, finished: int) -> None:
        if n_tasks == self._n_tasks:
            self._told = max(self._told, finished)


class _ClassicTasks(_Tasks):
    """A session of this process. Jobs are found by their group, since Python cannot ask for those of a tag."""

    _group: str | None = None

    def begin(self) -> None:
        context = self._session.sparkContext
        group = context.getLocalProperty("spark.jobGroup.id")
        if group is None:
            context.setJobGroup(self._tag, "a pass of lowdim over the rows")
        self._group, self._tracker = group or self._tag, context.statusTracker()
        self._earlier = set(self._tracker.getJobIdsForGroup(self._group))

    def count(self) -> int:
        if self._group is not None:
            for job in set(self._tracker.getJobIdsForGroup(self._group)) - self._earlier:
                known = self._tracker.getJobInfo(job)
                for stage in () if known is None else known.stageIds:
                    info = self._tracker.getStageInfo(stage)
                    if info is not None:
                        self._tell(info.numTasks, info.numCompletedTasks)
        return self._told


class _RemoteTasks(_Tasks):
    """A session of Spark Connect, which reports while the client waits."""

    def begin(self) -> None:
        self._session.registerProgressHandler(self._hear)

    def count(self) -> int:
        return self._told

    def close(self) -> None:
        self._session.removeProgressHandler(self._hear)

    def _hear(self, stages: Any = None, **others: Any) -> None:
        for stage in stages or ():
            self._tell(stage.num_tasks, stage.num_completed_tasks)


@contextmanager
def in_plain_words() -> Iterator[None]:
    """Context in which an error of a job says what to do."""
    try:
        yield
    except Exception as error:
        raise _plain(error) from None


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
