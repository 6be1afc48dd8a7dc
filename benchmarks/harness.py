"""Time, error and peak memory of several contenders on the same data.

Time: every contender runs once to warm up, then in turn, round after round, and the median counts. OpenBLAS's
worker threads keep spinning for 0.1 to 0.2 s after a call, so each timed call is preceded by a rest: without
it a contender would share its cores with the workers of the one before.

Memory: a fresh process for each contender builds the same data, then notes how far the resident memory rises
above where it stood before the call.
"""

from __future__ import annotations

import ctypes
import gc
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg

REST = 0.3  # seconds before each timed call


@dataclass(frozen=True)
class Contender:
    """`setup(data, k)` gives the call that is timed; `values` finds the k eigenvalues in what it returns (or whatever
    else the case compares).

    A bare limit has no values.
    """

    name: str
    setup: Callable[[Any, int], Callable[[], Any]]
    values: Callable[[Any], Any] | None
    once: bool = False  # for what takes minutes: one call, timed, and no memory


def relative_error(values, exact):
    """The largest relative error."""
    return float(np.max(np.abs(np.asarray(values, dtype=np.float64) / exact - 1)))


@dataclass(frozen=True)
class Case:
    name: str  # as given on the command line
    work: str  # as printed
    must_reach: str
    shape: tuple[int, int]
    k: int
    make: Callable[[tuple[int, int]], Any]  # shape -> data, always the same
    exact: Callable[[Any, int], Any]  # (data, k) -> eigenvalues, divisor n-1
    contenders: Sequence[Contender]  # lowdim first: the ratios are to its time
    calls: int = 1  # calls in one timing, for work that takes microseconds
    error: Callable[[Any, Any], float | str] = relative_error  # (values, exact) -> what stands in the table

    def small_shape(self):
        """The same work on little data: imports what it needs and touches the same code."""
        n, p = self.shape
        return min(n, max(64, n // 50)), min(p, max(64, p // 50))


@dataclass(frozen=True)
class Measurement:
    contender: str
    seconds: float
    ratio: float  # seconds / lowdim's
    error: float | str | None  # largest relative error of the k eigenvalues, or what the case calls its error
    extra_bytes: int | None
    data_bytes: int


def measure(case, repeats=5, memory=True, say=print):
    """All contenders of one case, in their order."""
    say(f"{case.name}: building the data")
    data = case.make(case.shape)
    exact = case.exact(data, case.k)
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
                spent.append(_timed(call, case.calls))
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
            extra_bytes=_in_fresh_process(case.name, c.name) if memory and c.values and not c.once else None,
            data_bytes=size,
        )
        for c, seconds, error in zip(case.contenders, medians, errors, strict=True)
    ]


def nbytes(data):
    if hasattr(data, "indptr"):
        return data.data.nbytes + data.indices.nbytes + data.indptr.nbytes
    return data.nbytes


def _timed(call, repetitions):
    gc.collect()
    time.sleep(REST)
    start = time.perf_counter()
    for _ in range(repetitions):
        call()
    return (time.perf_counter() - start) / repetitions


# ---- Peak memory


def _in_fresh_process(case, contender):
    command = [sys.executable, "-m", "benchmarks", "--memory", case, contender]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return int(done.stdout.split()[-1])


def peak_extra_bytes(case, contender):
    """How far resident memory rises above its level before the call. For a fresh process, on Linux."""
    contender.setup(case.make(case.small_shape()), min(case.k, *case.small_shape()))()
    square = np.ones((1000, 1000))
    square @ square  # NumPy's and SciPy's thread pools take their work space at the first large product
    scipy.linalg.blas.dgemm(1.0, square, square)
    data = case.make(case.shape)
    call = contender.setup(data, case.k)
    gc.collect()
    # Hand freed pages back, or the call would reuse them unseen.
    ctypes.CDLL(None).malloc_trim(0)
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")  # sets the peak to the present
    before = _status("VmRSS")
    result = call()
    after = _status("VmHWM")
    del result
    return max(0, after - before)


def _status(field):
    with open("/proc/self/status") as file:
        for line in file:
            if line.startswith(field + ":"):
                return 1024 * int(line.split()[1])
    raise RuntimeError(f"/proc/self/status has no {field}: use --no-memory on this system")
