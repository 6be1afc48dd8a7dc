"""Time, error and peak memory of several contenders on the same data.

Time: every contender runs once to warm up. Then, in each round, all contenders run one after another, and the median
over the rounds is reported. OpenBLAS's worker threads keep spinning for 0.1 to 0.2 s after a call, so the process
sleeps before each timed call. Otherwise a contender would share its cores with the worker threads of the previous one.

Memory: a fresh process for each contender builds the same data, then measures how far the resident memory rises above
its value before the call.

Cases with a limit: every call runs in a forked process of its own, on one core, and is stopped at the limit. The memory
is that of the first call.
"""

from __future__ import annotations

import gc
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import scipy.linalg

from benchmarks.memory import reset_peak, status_bytes, trim
from benchmarks.worker import run_limited

REST = 0.3  # seconds before each timed call


@dataclass(frozen=True)
class Contender:
    """One method in a comparison.

    `setup(data, k)` returns the function that is timed. `values` extracts from its result the k eigenvalues, or
    whatever else the case compares; it is None for a bare matrix product, which is only timed.
    """

    name: str
    setup: Callable[[Any, int], Callable[[], Any]]
    values: Callable[[Any], Any] | None
    once: bool = False  # for calls that take minutes: one timed call, and memory is not measured
    elsewhere: bool = False  # for calls that let other processes work: memory is not measured

    @property
    def has_memory(self):
        """Whether the memory of a call is measured."""
        return self.values is not None and not self.once and not self.elsewhere


def relative_error(values, exact):
    """The largest relative error."""
    return float(np.max(np.abs(np.asarray(values, dtype=np.float64) / exact - 1)))


@dataclass(frozen=True)
class Case:
    name: str  # on the command line
    work: str  # the task, as printed
    must_reach: str
    shape: tuple[int, int]
    k: int
    make: Callable[[tuple[int, int]], Any]  # shape -> data, the same in every call
    exact: Callable[[Any, int], Any]  # (data, k) -> eigenvalues, divisor n-1
    contenders: Sequence[Contender]  # lowdim comes first: ratios are relative to its time
    calls: int = 1  # calls in one timing, for tasks that take microseconds
    error: Callable[[Any, Any], float | str] = relative_error  # (values, exact) -> the error in the table
    limit: float | None = None  # seconds that a call may take; then each call has a process and one core to itself
    rest: float = REST  # seconds before each timed call
    needs: Sequence[str] = ()  # packages without which the case is left out

    def small_shape(self):
        """The shape of a small version of the task, which imports the same modules and runs the same code."""
        n, p = self.shape
        return min(n, max(64, n // 50)), min(p, max(64, p // 50))


@dataclass(frozen=True)
class Measurement:
    contender: str
    seconds: float
    ratio: float  # seconds divided by those of lowdim; NaN if one of them was stopped
    error: float | str | None  # largest relative error of the k eigenvalues, or the error that the case defines
    extra_bytes: int | None
    data_bytes: int
    stopped: str = ""  # why there is no time: the limit, or an error


def measure(case, repeats=5, memory=True, say=print):
    """Measurements of all contenders of one case, in their order."""
    say(f"{case.name}: building the data")
    data = case.make(case.shape)
    exact = case.exact(data, case.k)
    if case.limit is not None:
        return _measure_limited(case, data, exact, repeats, say)
    calls = [contender.setup(data, case.k) for contender in case.contenders]
    times: list[list[float]] = [[] for _ in calls]
    errors = []
    for c, spent, call in zip(case.contenders, times, calls, strict=True):
        say(f"{case.name}: {c.name}")
        start = time.perf_counter()
        result = call()
        if c.once:
            spent.append(time.perf_counter() - start)
        errors.append(None if c.values is None else case.error(c.values(result), exact))
    for round_ in range(repeats):
        say(f"{case.name}: round {round_ + 1} of {repeats}")
        for c, spent, call in zip(case.contenders, times, calls, strict=True):
            if not c.once:
                spent.append(_timed(call, case.calls, case.rest))
    size = nbytes(data)
    del data, calls
    gc.collect()
    medians = [statistics.median(spent) for spent in times]
    return [
        Measurement(
            contender=c.name,
            seconds=seconds,
            ratio=seconds / medians[0],
            error=error,
            extra_bytes=_in_fresh_process(case.name, c.name) if memory and c.has_memory else None,
            data_bytes=size,
        )
        for c, seconds, error in zip(case.contenders, medians, errors, strict=True)
    ]


def nbytes(data):
    if hasattr(data, "indptr"):
        return data.data.nbytes + data.indices.nbytes + data.indptr.nbytes
    return data.nbytes


def _timed(call, repetitions, rest):
    gc.collect()
    time.sleep(rest)
    start = time.perf_counter()
    for _ in range(repetitions):
        call()
    return (time.perf_counter() - start) / repetitions


# ---- Cases with a limit

ONCE = 0.1  # a call that takes more than this part of the limit is not repeated


def _measure_limited(case, data, exact, repeats, say):
    outcomes: list[list[Any]] = [[] for _ in case.contenders]
    for round_ in range(repeats):
        say(f"{case.name}: round {round_ + 1} of {repeats}, at most {case.limit:g} s a call")
        for c, of_one in zip(case.contenders, outcomes, strict=True):
            if of_one and (of_one[-1].seconds is None or of_one[-1].seconds > ONCE * case.limit):
                continue

            def look(result, values=c.values):
                return None if values is None else case.error(values(result), exact)

            of_one.append(run_limited(partial(c.setup, data, case.k), look, limit=case.limit))
    stopped = ["; ".join({o.stopped or o.error for o in of_one if o.seconds is None}) for of_one in outcomes]
    medians = [
        float("nan") if why else statistics.median(o.seconds for o in of_one)
        for why, of_one in zip(stopped, outcomes, strict=True)
    ]
    size = nbytes(data)
    return [
        Measurement(c.name, seconds, seconds / medians[0], of_one[0].value, of_one[0].extra_bytes, size, why)
        for c, seconds, of_one, why in zip(case.contenders, medians, outcomes, stopped, strict=True)
    ]


# ---- Peak memory


def _in_fresh_process(case, contender):
    command = [sys.executable, "-m", "benchmarks", "--memory", case, contender]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return int(done.stdout.split()[-1])


def peak_extra_bytes(case, contender):
    """How far the resident memory rises above its value before the call; for a fresh process, on Linux."""
    contender.setup(case.make(case.small_shape()), min(case.k, *case.small_shape()))()
    square = np.ones((1000, 1000))
    square @ square  # NumPy's and SciPy's thread pools allocate their work space in the first large product
    scipy.linalg.blas.dgemm(1.0, square, square)
    data = case.make(case.shape)
    call = contender.setup(data, case.k)
    trim()
    reset_peak()
    before = status_bytes("VmRSS")
    result = call()
    after = status_bytes("VmHWM")
    del result
    return max(0, after - before)
