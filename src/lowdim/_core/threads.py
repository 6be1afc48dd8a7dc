"""Threads: work in several of them, its progress and memory, the threads of BLAS, and calls of LAPACK."""

from __future__ import annotations

import ctypes
import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, contextmanager, suppress
from contextvars import ContextVar, copy_context
from functools import cache
from itertools import islice, product
from pathlib import Path
from queue import SimpleQueue
from typing import Any, Protocol

import numpy as np
from scipy.linalg import cython_blas, cython_lapack
from threadpoolctl import ThreadpoolController


class Progress(Protocol):
    """Receives a call for each pass over the rows and for each block in it."""

    def begin(self, what: str, n_blocks: int | None, block_rows: int | None = None) -> None:
        """A pass over so many blocks begins, each of which has so many rows; None if that is unknown."""

    def step(self) -> None:
        """A block is done."""

    def end(self) -> None:
        """The pass is done."""


_watcher: ContextVar[Progress | None] = ContextVar("lowdim_watcher", default=None)


@contextmanager
def watched_by(progress: Progress) -> Iterator[None]:
    """Context in which all passes are reported to `progress`, except those that are reported to another one."""
    before = _watcher.set(progress)
    try:
        yield
    finally:
        _watcher.reset(before)


def watcher(progress: Progress | None = None) -> Progress | None:
    """The progress that was given or, without one, that of the context."""
    return _watcher.get() if progress is None else progress


@contextmanager
def reported(
    progress: Progress | None, what: str, n_blocks: int | None, block_rows: int | None = None
) -> Iterator[None]:
    """Context in which a pass is made, whose beginning and end are reported; it also ends if it raises an error."""
    if progress is None:
        yield
        return
    progress.begin(what, n_blocks, block_rows)
    try:
        yield
    finally:
        progress.end()


# The memory of this machine, and numbers of bytes as text.


#: Where Linux says how much memory there is, and how much of it the processes of this control group may have.
_MACHINE, _PROCESS, _GROUP = Path("/proc/meminfo"), Path("/proc/self/status"), Path("/sys/fs/cgroup")
#: The limit of a control group, what it uses, and the lines of its statistics about files, in both versions of groups.
_GROUP_FILES = (
    ("memory.max", "memory.current", ("active_file", "inactive_file")),
    ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes", ("total_active_file", "total_inactive_file")),
)


def memory_bytes() -> int:
    """Bytes of memory of this machine; 0 if unknown."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return 0


def free_bytes() -> int:
    """Bytes of free memory. If they are unknown, all memory of the machine; 0 if that is unknown too."""
    found = []
    # Each of these is absent on some systems, or says that there is no limit.
    with suppress(OSError, ValueError):
        found.append(1024 * _number(_MACHINE, "MemAvailable:"))
    for most, now, in_files in _GROUP_FILES:
        with suppress(OSError, ValueError):
            limit, used = (int((_GROUP / name).read_text()) for name in (most, now))
            # What the system keeps of files that were read is given back when memory is needed.
            stat = (_GROUP / now).with_name("memory.stat")
            found.append(max(0, limit - used + sum(_number(stat, name) for name in in_files)))
    with suppress(ImportError, OSError, ValueError):
        import resource

        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        if limit != resource.RLIM_INFINITY:
            found.append(max(0, limit - 1024 * _number(_PROCESS, "VmSize:")))
    return min(found, default=memory_bytes())


def _number(path: Path, name: str) -> int:
    """The number behind this name in a file with a line for each name."""
    for line in path.read_text().splitlines():
        if line.split()[0] == name:
            return int(line.split()[1])
    raise ValueError(f"{path} has no line {name}")


def in_words(n_bytes: int) -> str:
    """A number of bytes as text, in bytes, MiB or GiB."""
    size = f"{n_bytes:,} bytes"
    for unit, factor in (("MiB", 2**20), ("GiB", 2**30)):
        size = f"{n_bytes / factor:.1f} {unit}" if n_bytes >= factor / 16 else size
    return size


# The number of threads that BLAS uses, and one owner of the limit on it.
#
# The usual builds of OpenBLAS have one number of threads for the whole process; there is no limit for a single call or
# for a single thread (`openblas_set_num_threads_local` sets the number of all threads, too). So the contexts of all
# threads are counted here: the first one to be entered sets the limit, and the last one to be left restores what was
# found. A limit that was changed by somebody else in the meantime is left alone. NumPy and SciPy each have their own
# library, and both are limited.
#
# Other libraries (MKL, OpenBLAS built with OpenMP) have a number for each thread. There each thread limits itself.


#: Reentrant, because a signal handler may fit a model or fork while its thread is in one of the functions below.
_lock = threading.RLock()


class _Library:
    """One BLAS library of this process."""

    def __init__(self, controller: Any) -> None:
        self._controller = controller
        #: The function that sets the number of threads.
        self.limit: Callable[[int], Any] = controller.set_num_threads
        #: Whether there is one number of threads for the whole process.
        self.shared = controller.internal_api == "openblas" and controller.threading_layer != "openmp"
        if not self.shared:
            self.shared = self._reaches_other_threads()
            return
        # Since version 3.8, threadpoolctl lets only one thread at a time set the limit of a process-wide library, and
        # ignores all others without a word. A limit set by one thread could then not be removed by another one, so the
        # function of the library itself is called. threadpoolctl's record of who may set limits stays that of the user.
        for prefix, suffix in product(("", "scipy_"), ("", "64_", "_64")):
            function = getattr(controller.dynlib, f"{prefix}openblas_set_num_threads{suffix}", None)
            if function is not None:
                self.limit = function
                return

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


class _LimitsOfThread(_Limits, threading.local):
    """The limits of libraries that have a number of threads for each thread."""


_of_process, _of_thread = _Limits(), _LimitsOfThread()


class _SingleThreaded(AbstractContextManager[None]):
    """Context in which BLAS uses one thread for each call of this thread.

    It can be nested, and entered and left by several threads at once, in any order. Entering and leaving can be done
    again after an interruption (Ctrl-C) in the middle of it, and then have no further effect; so an interruption is
    passed on only after the context has been left.
    """

    def __enter__(self) -> None:
        try:
            with _lock:
                libraries = _libraries()
                _of_process.add(self, (library for library in libraries if library.shared))
                _of_thread.add(self, (library for library in libraries if not library.shared))
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
            _of_thread.remove(self)


single_threaded_blas = _SingleThreaded


def available() -> int:
    """The number of threads that BLAS would use outside `single_threaded_blas`."""
    with _lock:
        found = {**_of_process.found, **_of_thread.found}
        return max((found.get(library) or library.threads for library in _libraries()), default=1)


def _after_fork() -> None:
    """Restore all limits in the child of a fork: the threads that wanted them do not exist there."""
    for limits in (_of_process, _of_thread):
        limits.wanted_by.clear()
        limits.restore()
    _lock.release()


if hasattr(os, "register_at_fork"):
    # No thread is in the middle of a change while the process is copied.
    os.register_at_fork(before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_after_fork)


# Work in several threads.
#
# The product of a block of a narrow table is too small for a threaded BLAS, which would spend most of its time on
# synchronization. It is faster to give each thread its own rows and a single-threaded BLAS. The number of threads is
# the number that BLAS would use at the moment, so `OPENBLAS_NUM_THREADS`, `threadpool_limits` and joblib's inner limits
# are respected.


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
    with _lock:
        process_wide = all(library.shared for library in _libraries())
    if threading.current_thread() is not threading.main_thread() or not process_wide:
        return function(*arguments, **options)
    aside = ThreadPoolExecutor(1)
    try:
        return aside.submit(copy_context().run, function, *arguments, **options).result()
    finally:
        aside.shutdown(wait=False)


# Calls of BLAS and LAPACK during which other threads run.
#
# SciPy has functions for the same routines, with the same results. But they keep Python's global lock during the call,
# which takes seconds for the eigenpairs of a large matrix: meanwhile no other thread runs, and Ctrl-C is not heard.
# `ctypes` releases the lock.


@cache
def _routine(name: str, n_arguments: int) -> Callable[..., None]:
    """A routine of SciPy's BLAS or LAPACK, all of whose arguments are pointers."""
    blas: Any = cython_blas.__pyx_capi__
    routines: Any = blas if name in blas else cython_lapack.__pyx_capi__
    capsule = routines[name]
    get_name = ctypes.PYFUNCTYPE(ctypes.c_char_p, ctypes.py_object)(("PyCapsule_GetName", ctypes.pythonapi))
    get_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
        ("PyCapsule_GetPointer", ctypes.pythonapi)
    )
    return ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * n_arguments)(get_pointer(capsule, get_name(capsule)))


def _call(name: str, *arguments: bytes | int | np.ndarray) -> None:
    """Call a routine of BLAS or LAPACK with letters, whole numbers and arrays, all of which are passed as pointers."""
    kept: list[Any] = []
    pointers = []
    for argument in arguments:
        if isinstance(argument, bytes):
            kept.append(ctypes.create_string_buffer(argument, 1))
            pointers.append(ctypes.addressof(kept[-1]))
        else:
            kept.append(argument if isinstance(argument, np.ndarray) else np.array(argument, np.int32))
            pointers.append(kept[-1].ctypes.data)
    _routine(name, len(arguments))(*pointers)


def largest_eigenpairs(A: np.ndarray, m: int) -> tuple[np.ndarray, np.ndarray]:
    """The m largest eigenvalues of `A` (float32 or float64) in ascending order, and their vectors as columns.

    Only the lower triangle is read. If all eigenvalues are nearly equal, LAPACK may find fewer than m.
    """
    p = len(A)
    if not 1 <= m <= p:
        raise ValueError(f"m={m} must be between 1 and {p}.")
    A = np.array(A, order="F")
    dtype = A.dtype
    values, vectors = np.empty(p, dtype), np.empty((p, m), dtype, order="F")
    support, work, iwork = np.empty(2 * m, np.int32), np.empty(1, dtype), np.empty(1, np.int32)
    found, info, unused = np.zeros(1, np.int32), np.zeros(1, np.int32), np.zeros(1, dtype)

    def call(lwork: int, liwork: int) -> None:
        name, matrix = {"f": "ssyevr", "d": "dsyevr"}[dtype.char], (b"V", b"I", b"L", p, A, p)
        pairs = (found, values, vectors, p, support)
        _call(name, *matrix, unused, unused, p - m + 1, p, unused, *pairs, work, lwork, iwork, liwork, info)
        if info[0] != 0:
            raise np.linalg.LinAlgError(f"the eigenvalues were not found: LAPACK's syevr gives the error {info[0]}.")

    # The first call asks for the sizes of the arrays to work in.
    call(-1, -1)
    work, iwork = np.empty(int(work[0]), dtype), np.empty(int(iwork[0]), np.int32)
    call(len(work), len(iwork))
    return values[: found[0]], vectors[:, : found[0]]


def cholesky_factor(A: np.ndarray) -> np.ndarray:
    """The lower triangular L with `A = L L^T`, for a symmetric matrix of float64; an error if A is not positive
    definite.

    NumPy's function gives the same, but takes two to three times as long for a few hundred columns.
    """
    if A.dtype != np.float64 or A.ndim != 2 or A.shape[0] != A.shape[1]:
        raise TypeError(f"A must be a square matrix of float64, got {A.dtype} of shape {A.shape}.")
    # The transposed matrix is the same, and the copy of it, which is counted by columns, is one piece of memory.
    L = np.array(A.T, order="F")
    info = np.zeros(1, np.int32)
    _call("dpotrf", b"L", len(L), L, max(len(L), 1), info)
    # Some libraries do not notice NaN, which then reaches the last entry.
    if info[0] != 0 or not np.isfinite(L[-1:, -1:]).all():
        raise np.linalg.LinAlgError("the matrix is not positive definite.")
    return np.tril(L)


#: The matrix is mirrored in pieces of this size, which stay in cache.
_PIECE = 32


def add_products(Z: np.ndarray, total: np.ndarray) -> None:
    """Add Z^T Z to the upper triangle of `total`, both in float64, in place; the lower triangle is not changed.

    `total + Z.T @ Z` gives the same. But it needs memory for the product, and reads and writes it three more times.
    """
    m, p = Z.shape
    if Z.dtype != np.float64 or total.dtype != np.float64 or total.shape != (p, p) or not total.flags.c_contiguous:
        raise TypeError(f"Z and total must be matrices of float64, and total a contiguous one of shape {(p, p)}.")
    # To BLAS, which counts by columns, the rows of Z and of the upper triangle are columns.
    by_rows, by_columns = Z.T.strides == (8, max(8 * p, Z.strides[0])), Z.strides == (8, max(8 * m, Z.strides[1]))
    # The rows of a field of a structured array may be a number of bytes apart that is no multiple of 8.
    if not (by_rows or by_columns) or not Z.flags.aligned or any(stride % 8 for stride in Z.strides):
        Z, by_rows = np.ascontiguousarray(Z), True
    stride = max(p, Z.strides[0] // 8) if by_rows else max(m, Z.strides[1] // 8)
    one = np.ones(1)
    _call("dsyrk", b"L", b"N" if by_rows else b"T", p, m, one, Z, stride, one, total, p)


def mirror_upper(A: np.ndarray) -> None:
    """Copy the upper triangle of a square matrix to its lower triangle, in place."""
    p = len(A)
    for i in range(0, p, _PIECE):
        j = min(i + _PIECE, p)
        A[j:, i:j] = A[i:j, j:].T
        corner = A[i:j, i:j]
        below = _below_diagonal(j - i)
        corner[below] = corner.T[below]


@cache
def _below_diagonal(p: int) -> Any:
    """The indices of the entries below the diagonal of a matrix of size p."""
    return np.tril_indices(p, -1)


def swap_entries(x: np.ndarray, others: np.ndarray) -> None:
    """Swap entries of the vector `x` (float64) in place: the first entry with entry number `others[0]`, then the second
    one with number `others[1]`, and so on to the last.

    `others` are 32-bit integers and count from 1, as in LAPACK's laswp, which swaps rows of a matrix; here it has one
    column.
    """
    n = len(x)
    if x.dtype != np.float64 or others.dtype != np.int32 or not (x.flags.c_contiguous and others.flags.c_contiguous):
        raise TypeError("x must be a contiguous vector of float64, and others one of int32.")
    if x.ndim != 1 or others.shape != x.shape or (n > 0 and not 1 <= int(others.min()) <= int(others.max()) <= n):
        raise IndexError(f"others must hold {n} numbers between 1 and {n}.")
    _call("dlaswp", 1, x, n, 1, n, others, 1)
