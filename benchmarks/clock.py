"""The time of a call on one core of a machine that has other work as well."""

from __future__ import annotations

import time

#: From this many seconds on, processor time counts instead of the time that passes; its resolution may be 4 ms.
LONG = 0.05


def timed(call):
    """Seconds of `call()`, and its result.

    Processor time does not include other work of the machine, but its clock is coarse. A short call is rarely
    interrupted, so that the shortest of a few is right for it.
    """
    start, used = time.perf_counter(), time.process_time()
    result = call()
    passed, used = time.perf_counter() - start, time.process_time() - used
    return (used if passed > LONG else passed), result


def shortest(call, most=3, budget=1.0):
    """The shortest of up to `most` times, of which the later ones are taken within `budget` seconds."""
    times: list[float] = []
    while len(times) < most and sum(times) < budget:
        times.append(timed(call)[0])
    return min(times)
