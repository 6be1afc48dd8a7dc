"""The number of threads that BLAS uses, and one owner of the limit on it.

The usual builds of OpenBLAS have one number of threads for the whole process; there is no limit for a single call or
for a single thread (`openblas_set_num_threads_local` sets the number of all threads, too). So the contexts of all
threads are counted here: the first one to be entered sets the limit, and the last one to be left restores what was
found. A limit that was changed by somebody else in the meantime is left alone. NumPy and SciPy each have their own
library, and both are limited.

Other libraries (MKL, OpenBLAS built with OpenMP) have a number for each thread. There each thread limits itself.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from functools import cache
from itertools import product
from typing import Any

from threadpoolctl import ThreadpoolController

#: Reentrant, because a signal handler may fit a model or fork while its thread is in one of the functions below.
_lock = threading.RLock()


class _Library:
    """One BLAS library of this process."""

    def __init__(self, controller: Any) -> None:
        self._controller = controller
        self.limit = _setter(controller)
        #: Whether there is one number of threads for the whole process.
        self.shared = _has_one_number(controller) or self._reaches_other_threads()

    @property
    def threads(self) -> int:
        """The number of threads of a call from this thread."""
        return self._controller.num_threads or 1

    def _reaches_other_threads(self) -> bool:
        """Whether a limit that another thread sets holds in this one; found by trying it."""
        before = self.threads
        trial = 2 if before == 1 else 1
        other = threading.Thread(target=self.limit, args=(trial,))
        other.start()
        other.join()
        if self.threads == before:
            return False
        self.limit(before)
        return True


def _has_one_number(controller: Any) -> bool:
    """Whether this is known to be a library with one number of threads for the whole process."""
    return controller.internal_api == "openblas" and controller.threading_layer != "openmp"


def _setter(controller: Any) -> Callable[[int], Any]:
    """The function that sets the number of threads.

    Since version 3.8, threadpoolctl lets only one thread at a time set the limit of a process-wide library, and ignores
    all others without a word. A limit set by one thread could then not be removed by another one, so the function of
    the library itself is called. threadpoolctl's record of who may set limits stays that of the user.
    """
    if _has_one_number(controller):
        for prefix, suffix in product(("", "scipy_"), ("", "64_", "_64")):
            function = getattr(controller.dynlib, f"{prefix}openblas_set_num_threads{suffix}", None)
            if function is not None:
                return function
    return controller.set_num_threads


@cache
def _libraries() -> tuple[_Library, ...]:
    """The BLAS libraries of this process; call it with the lock held."""
    return tuple(_Library(controller) for controller in ThreadpoolController().select(user_api="blas").lib_controllers)


class _Limits:
    """What was found in the libraries that are limited to one thread now, and the contexts that want them limited."""

    def __init__(self) -> None:
        self.found: dict[_Library, int] = {}
        self.wanted_by: set[_SingleThreaded] = set()

    def add(self, scope: _SingleThreaded, libraries: Iterable[_Library]) -> None:
        first = not self.wanted_by
        self.wanted_by.add(scope)
        if first:
            for library in libraries:
                if (threads := library.threads) > 1:
                    self.found[library] = threads
                    library.limit(1)

    def remove(self, scope: _SingleThreaded) -> None:
        self.wanted_by.discard(scope)
        if not self.wanted_by:
            self.restore()

    def restore(self) -> None:
        for library, threads in list(self.found.items()):
            if library.threads == 1:
                library.limit(threads)
            self.found.pop(library, None)


class _OfThread(threading.local):
    """The limits of libraries that have a number of threads for each thread."""

    def __init__(self) -> None:
        self.limits = _Limits()


_of_process = _Limits()
_of_thread = _OfThread()


class _SingleThreaded(AbstractContextManager[None]):
    """The context of `single_threaded_blas`.

    Entering and leaving can be done again after an interruption (Ctrl-C) in the middle of it, and then have no further
    effect; so an interruption is passed on only after the context has been left.
    """

    def __enter__(self) -> None:
        try:
            with _lock:
                libraries = _libraries()
                _of_process.add(self, (library for library in libraries if library.shared))
                _of_thread.limits.add(self, (library for library in libraries if not library.shared))
        except BaseException:
            self._leave()
            raise

    def __exit__(self, *error: object) -> None:
        try:
            self._leave()
        except BaseException:
            self._leave()
            raise

    def _leave(self) -> None:
        with _lock:
            _of_process.remove(self)
            _of_thread.limits.remove(self)


def single_threaded_blas() -> AbstractContextManager[None]:
    """Context in which BLAS uses one thread for each call of this thread.

    It can be nested, and entered and left by several threads at once, in any order.
    """
    return _SingleThreaded()


def is_process_wide() -> bool:
    """Whether all threads have the same number of BLAS threads."""
    with _lock:
        return all(library.shared for library in _libraries())


def available() -> int:
    """The number of threads that BLAS would use outside `single_threaded_blas`."""
    with _lock:
        found = {**_of_process.found, **_of_thread.limits.found}
        return max((found.get(library) or library.threads for library in _libraries()), default=1)


def _after_fork() -> None:
    """Restore all limits in the child of a fork: the threads that wanted them do not exist there."""
    for limits in (_of_process, _of_thread.limits):
        limits.wanted_by.clear()
        limits.restore()
    _lock.release()


if hasattr(os, "register_at_fork"):
    # No thread is in the middle of a change while the process is copied.
    os.register_at_fork(before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_after_fork)
