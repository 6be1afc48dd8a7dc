"""The number of threads, and how they are used.

The product of a block of a narrow table is too small for a threaded BLAS, which would spend most of its time on
synchronization. It is faster to give each thread its own rows and a single-threaded BLAS. The number of threads is the
number that BLAS would use at the moment, so `OPENBLAS_NUM_THREADS`, `threadpool_limits` and joblib's inner limits are
respected.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from functools import cache
from queue import SimpleQueue
from typing import Any, Protocol

from threadpoolctl import ThreadpoolController


class Progress(Protocol):
    """Receives a call for each pass over the rows and for each block in it."""

    def begin(self, what: str, n_blocks: int | None) -> None: ...
    def step(self) -> None: ...
    def end(self) -> None: ...


@cache
def _controller() -> Any:
    return ThreadpoolController().select(user_api="blas")


_lock = threading.Lock()
_depth = 0
_limit: Any = None
_before = 1


def _blas_threads() -> int:
    return max((library.num_threads or 1 for library in _controller().lib_controllers), default=1)


def available() -> int:
    """The number of threads that BLAS would use outside `single_threaded_blas`."""
    with _lock:
        return _before if _depth else _blas_threads()


@contextmanager
def single_threaded_blas() -> Iterator[None]:
    """Context in which BLAS uses one thread per call.

    It can be nested and entered from several threads at once: the first one to enter sets the limit, and the last one
    to leave removes it.
    """
    global _depth, _limit, _before
    with _lock:
        _depth += 1
        if _depth == 1:
            _before = _blas_threads()
            _limit = _controller().limit(limits=1)
    try:
        yield
    finally:
        with _lock:
            _depth -= 1
            if _depth == 0:
                _limit.restore_original_limits()
                _limit = None


def run_in_parallel(
    tasks: Sequence[Callable[..., Any]],
    on_tick: Callable[[], None] | None = None,
    pool: ThreadPoolExecutor | None = None,
) -> Iterator[Any]:
    """Run `task(tick)` for all tasks at once, each in its own thread with a single-threaded BLAS.

    Results and errors come in the order of the tasks. A task calls `tick()` now and then: the calling thread then runs
    `on_tick`, and if another task has failed, the call raises an exception that ends this task. The threads are those
    of `pool`, or new ones.
    """
    ticks: SimpleQueue[bool] = SimpleQueue()
    stop = threading.Event()

    def tick() -> None:
        if stop.is_set():
            raise InterruptedError
        if on_tick is not None:
            ticks.put(True)

    with single_threaded_blas(), nullcontext(pool) if pool else ThreadPoolExecutor(len(tasks)) as threads:
        futures = [threads.submit(task, tick) for task in tasks]
        try:
            if on_tick is not None:
                for future in futures:
                    future.add_done_callback(lambda _: ticks.put(False))
                running = len(futures)
                while running:
                    if ticks.get():
                        on_tick()
                    else:
                        running -= 1
            for future in futures:
                yield future.result()
        finally:
            stop.set()
