"""Threads: how many there are, and who uses them.

A block of a narrow table is too small a product for a threaded BLAS: its threads spend their time meeting. There
it is quicker to give each thread its own rows and its own single-threaded BLAS. The number of threads is what
BLAS itself would use now, so `OPENBLAS_NUM_THREADS`, `threadpool_limits` and joblib's inner limits are obeyed.
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
    """Told about each pass over the rows and each block in it."""

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
    """Threads that BLAS would use, were it not for `single_threaded_blas`."""
    with _lock:
        return _before if _depth else _blas_threads()


@contextmanager
def single_threaded_blas() -> Iterator[None]:
    """Inside, BLAS uses one thread per call. Safe to nest and to enter from several threads at once:
    the first one in sets the limit, the last one out takes it away."""
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


def side_by_side(
    tasks: Sequence[Callable[..., Any]],
    on_tick: Callable[[], None] | None = None,
    pool: ThreadPoolExecutor | None = None,
) -> Iterator[Any]:
    """`task(tick)` for all tasks at once, a thread each with a single-threaded BLAS; answers and errors in their order.

    A task calls `tick()` now and then: `on_tick` hears of it in the calling thread, and where another task has failed
    the call ends this one. Threads are those of `pool`, or new ones.
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
