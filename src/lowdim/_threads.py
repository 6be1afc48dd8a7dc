"""Work in several threads.

The product of a block of a narrow table is too small for a threaded BLAS, which would spend most of its time on
synchronization. It is faster to give each thread its own rows and a single-threaded BLAS. The number of threads is the
number that BLAS would use at the moment, so `OPENBLAS_NUM_THREADS`, `threadpool_limits` and joblib's inner limits are
respected.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextvars import ContextVar, copy_context
from itertools import islice
from queue import SimpleQueue
from typing import Any

from ._blas import is_process_wide, single_threaded_blas

#: After Ctrl-C, the calling thread waits at most this many seconds for the others to end.
_PATIENCE = 0.3

#: Any of these events ends the task that runs in the current context.
_stops: ContextVar[tuple[threading.Event, ...]] = ContextVar("lowdim_stops", default=())


class Stopped(BaseException):
    """Ends a task whose result is no longer needed; users never see it."""


def check_stop() -> None:
    """Raise `Stopped` if this is a task of `run_in_parallel` whose result is no longer needed.

    Every loop that may take long calls it in each iteration. In the main thread it does nothing; there, Python itself
    raises KeyboardInterrupt.
    """
    for stop in _stops.get():
        if stop.is_set():
            raise Stopped


def run_in_parallel(
    tasks: Iterable[Callable[..., Any]],
    on_tick: Callable[[], None] | None = None,
    *,
    pool: ThreadPoolExecutor | None = None,
    n_threads: int | None = None,
    at_most: int | None = None,
) -> Iterator[Any]:
    """Run `task(tick)` for all tasks in parallel, each in a thread with a single-threaded BLAS.

    Tasks are handed out one by one as threads become free. Results and errors come in the order of the tasks. A task
    calls `tick()` now and then: the calling thread then runs `on_tick`. If another task has failed or the caller was
    interrupted, `tick()` and `check_stop()` end the task. Tasks run in copies of the caller's context, with its
    `np.errstate` for example. The threads are those of `pool`, or `n_threads` new ones, or one for each task.

    With `at_most`, no more tasks than that are taken from `tasks`, which may be any iterable, before the first of them
    has ended. So task i and task i + `at_most` never run at the same time.

    All tasks have ended when the caller gets an error. Only Ctrl-C does not wait for them: a call of LAPACK that takes
    long then runs to its end in the background, and its result is dropped.
    """
    ticks: SimpleQueue[bool] = SimpleQueue()
    stop = threading.Event()
    if at_most is None:
        tasks = list(tasks)
        at_most = len(tasks)
    waiting = iter(tasks)

    def tick() -> None:
        check_stop()
        if on_tick is not None:
            ticks.put(True)

    def run(task: Callable[..., Any]) -> Any:
        _stops.set((*_stops.get(), stop))
        check_stop()
        with single_threaded_blas():
            return task(tick)

    def submit(task: Callable[..., Any]) -> Any:
        future = threads.submit(copy_context().run, run, task)
        if on_tick is not None:
            # The caller, who waits for ticks, has to notice the end as well.
            future.add_done_callback(lambda _: ticks.put(False))
        return future

    threads = pool or ThreadPoolExecutor(n_threads or max(at_most, 1))
    futures: deque[Any] = deque()
    interrupted = False
    with single_threaded_blas():
        try:
            futures.extend(submit(task) for task in islice(waiting, at_most))
            while futures:
                while on_tick is not None and not (futures[0].done() and ticks.empty()):
                    if ticks.get():
                        on_tick()
                result = futures[0].result()
                futures.popleft()
                futures.extend(submit(task) for task in islice(waiting, 1))
                yield result
        except BaseException as error:
            interrupted = not isinstance(error, Exception | GeneratorExit)
            raise
        finally:
            stop.set()
            wait(futures, _PATIENCE if interrupted else None)
            if pool is None:
                threads.shutdown(wait=not interrupted)


def run_interruptibly(function: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    """`function(*arguments, **options)`, for a call of LAPACK that may take seconds, during which Ctrl-C is heard.

    Python hears Ctrl-C in the main thread, and only between two of its own steps. So the call is made in another thread
    while the main thread waits. After Ctrl-C it runs to its end in the background, and its result is dropped. Other
    threads make the call themselves, and so does the main thread if a new thread would have another number of BLAS
    threads.
    """
    if threading.current_thread() is not threading.main_thread() or not is_process_wide():
        return function(*arguments, **options)
    aside = ThreadPoolExecutor(1)
    try:
        return aside.submit(copy_context().run, function, *arguments, **options).result()
    finally:
        aside.shutdown(wait=False)
