"""Jobs of Spark: they end when the caller is interrupted, and tell how many of their tasks are finished."""

from __future__ import annotations

import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable
from threading import Event
from typing import Any

#: Seconds between two looks at a job that runs.
_LOOK = 0.2
#: More than the cores of any cluster.
_MANY = 1 << 20


def collected(
    frame: Any, n_tasks: int, tick: Callable[[], None] | None = None, seconds: float | None = None
) -> list[Any]:
    """All rows of a small data frame. Its first stage has `n_tasks` tasks, and `tick` is called as they finish.

    The job runs in a thread of its own, under a tag. If this thread is interrupted meanwhile, or the job takes more
    than some seconds, all jobs of the tag are cancelled; the latter is a TimeoutError.
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
        while not ended.wait(_LOOK if tick is not None else seconds):
            if tick is None:
                raise TimeoutError
            now = finished.count()
            for _ in range(told, now):
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
        raise failed[0]
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
