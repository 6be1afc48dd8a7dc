"""Threads: how many there are, and who uses them.

A block of a narrow table is too small a product for a threaded BLAS: its threads spend their time meeting. There
it is quicker to give each thread its own rows and its own single-threaded BLAS. The number of threads is what
BLAS itself would use now, so `OPENBLAS_NUM_THREADS`, `threadpool_limits` and joblib's inner limits are obeyed.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController


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
