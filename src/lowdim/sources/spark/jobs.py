"""Jobs of Spark: they end when the caller is interrupted, and tell how many of their tasks are finished."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from threading import Event
from typing import Any

from ... import errors
from ..._version import __version__

#: Seconds between two looks at a job that runs.
_LOOK = 0.2


def collected(frame: Any, n_tasks: int, tick: Callable[[], None] | None = None) -> list[Any]:
    """All rows of a small data frame. Its first stage has `n_tasks` tasks, and `tick` is called as they finish.

    The job runs in a thread of its own, under a tag. If this thread is interrupted meanwhile, all jobs of the tag are
    cancelled.
    """
    from pyspark import InheritableThread

    session, tag, ended = frame.sparkSession, f"lowdim-{uuid.uuid4().hex}", Event()
    found: list[Any] = []
    failed: list[BaseException] = []

    def work() -> None:
        try:
            session.addTag(tag)
            found.extend(frame.collect())
        except BaseException as error:
            failed.append(error)
        finally:
            session.removeTag(tag)
            ended.set()

    finished = _Finished(session, tag, n_tasks)
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


class _Finished:
    """The number of tasks of a stage that are finished, as a session tells it."""

    def __init__(self, session: Any, tag: str, n_tasks: int) -> None:
        self._tag, self._n, self._session, self._told = tag, n_tasks, session, 0
        self._remote = not hasattr(session, "sparkContext") or "connect" in type(session).__module__
        if self._remote:
            session.registerProgressHandler(self._hear)

    def count(self) -> int:
        """How many of the tasks are finished."""
        return self._told if self._remote else self._counted()

    def close(self) -> None:
        if self._remote:
            self._session.removeProgressHandler(self._hear)

    def _hear(self, stages: Any = None, **others: Any) -> None:
        for stage in stages or ():
            if stage.num_tasks == self._n:
                self._told = max(self._told, int(stage.num_completed_tasks))

    def _counted(self) -> int:
        tracker = self._session.sparkContext.statusTracker()
        jobs = [tracker.getJobInfo(job) for job in tracker.getJobIdsForTag(self._tag)]
        stages = [tracker.getStageInfo(stage) for job in jobs if job is not None for stage in job.stageIds]
        for stage in stages:
            if stage is not None and stage.numTasks == self._n:
                self._told = max(self._told, int(stage.numCompletedTasks))
        return self._told


def _plain(error: BaseException) -> BaseException:
    """The error of a job, or one that says what to do."""
    text = str(error)
    if "No module named 'lowdim'" in text:
        return errors.no_lowdim("Spark")
    if "PYTHON_VERSION_MISMATCH" in text:
        return errors.other_python("Spark")
    if "No module named 'lowdim." in text or "on <module 'lowdim" in text:
        return errors.older_lowdim("Spark", __version__)
    return error
