"""One call in a forked process of its own, with limits on time and memory, on one core.

The parent holds the data and does not make the call itself, so that a call that takes too long, or too much memory,
ends with its process. Time is that of `clock`. Memory is how far the resident memory rises above its value before the
call.
"""

from __future__ import annotations

import gc
import math
import multiprocessing
import resource
import signal
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.clock import shortest, timed
from benchmarks.memory import reset_peak, status_bytes, trim

#: A call that took less than this many seconds is repeated once or twice, and the shortest time counts.
SHORT = 0.5
#: A worker is ended if it takes this many times the limit of processor time, whatever it waits for.
HANGS = 5


@dataclass(frozen=True)
class Outcome:
    """What a worker reports."""

    seconds: float | None = None  # None if the call did not end with a result
    extra_bytes: int | None = None
    value: Any = None  # what `look` made of the result
    error: str = ""  # the error of the call: its type and text
    refused: bool = False  # whether the error is a refusal: a message, not an accident
    stopped: str = ""  # why the call did not end: the limit of time, or a signal


def run_limited(
    prepare: Callable[[], Callable[[], Any]],
    look: Callable[[Any], Any] = lambda result: None,
    *,
    limit: float = 60.0,
    memory: int = 8 << 30,
) -> Outcome:
    """Time and memory of the function that `prepare()` returns, in a forked process.

    `look(result)` is sent back. The limit of processor time, in seconds, holds for the preparation and for the rest;
    a process that hangs is ended after five times that. `memory` limits the bytes of address space that the worker may
    add to those of its parent.
    """
    trim()
    context = multiprocessing.get_context("fork")
    receive, send = context.Pipe(duplex=False)
    process = context.Process(target=_work, args=(send, prepare, look, limit, memory), daemon=True)
    with warnings.catch_warnings():
        # Python warns of a fork while other threads run. BLAS, the only one that has some here, is prepared for it.
        warnings.simplefilter("ignore", DeprecationWarning)
        process.start()
    send.close()
    late = f"preparation > {limit:g} s"
    try:
        while receive.poll(HANGS * limit):
            outcome = receive.recv()
            if outcome is not None:
                return outcome
            late = f"> {limit:g} s"
        return Outcome(stopped=late)
    except EOFError:
        process.join()
        number = -(process.exitcode or 0)
        return Outcome(stopped=late if number == signal.SIGXCPU else f"ended by signal {number}")
    finally:
        process.kill()
        process.join()
        receive.close()


def _work(send, prepare, look, limit, memory):
    warnings.simplefilter("ignore")
    _allow(limit)
    most = status_bytes("VmSize") + memory
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    try:
        with threadpool_limits(1):
            call = prepare()
            send.send(None)
            _allow(limit)
            outcome = _measure(call, look)
    except Exception as error:
        outcome = Outcome(error=f"{type(error).__name__}: {error}", refused=is_refusal(error))
    send.send(outcome)
    send.close()


def _allow(seconds):
    """Let the system end this process after so many further seconds of processor time."""
    most = math.ceil(time.process_time() + seconds)
    resource.setrlimit(resource.RLIMIT_CPU, (most, resource.RLIM_INFINITY))


def _measure(call, look):
    gc.collect()
    reset_peak()
    before = status_bytes("VmRSS")
    seconds, result = timed(call)
    extra = max(0, status_bytes("VmHWM") - before)
    value = look(result)
    if seconds < SHORT:
        del result
        seconds = min(seconds, shortest(call, 2, SHORT))
    return Outcome(seconds, extra, value)


def is_refusal(error):
    """Whether the error is a message to the user: a ValueError, TypeError or MemoryError that is raised on purpose.

    Errors of LAPACK and failed allocations of NumPy are accidents.
    """
    accident = isinstance(error, np.linalg.LinAlgError) or str(error).startswith("Unable to allocate")
    return isinstance(error, ValueError | TypeError | MemoryError) and str(error) != "" and not accident
