"""Tasks in threads: their context, their order, and how they end."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
import pytest

from lowdim._core.threads import Stopped, check_stop, run_in_parallel, run_interruptibly

#: Far longer than any of these tests takes.
LONG = 60.0


def until_stopped(seconds=LONG):
    """Work that can be stopped; returns how it ended."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            check_stop()
        except Stopped:
            return "stopped"
        time.sleep(0.001)
    return "not stopped"


def test_tasks_have_the_context_of_the_caller():
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
        list(run_in_parallel([lambda tick: np.ones(1) / np.zeros(1)]))


@pytest.mark.parametrize("own_pool", [False, True], ids=["new threads", "a pool"])
@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
def test_an_error_ends_the_other_tasks(error, own_pool):
    ended = []

    def fail(tick):
        raise error

    def work(tick):
        ended.append(until_stopped())

    with ThreadPoolExecutor(3) as pool, pytest.raises(error):
        list(run_in_parallel([fail, work, work], pool=pool if own_pool else None))
    assert set(ended) <= {"stopped"}


def test_an_error_in_the_caller_ends_the_tasks():
    ended = []

    def work(tick):
        tick()
        ended.append(until_stopped())

    def on_tick():
        raise RuntimeError

    with pytest.raises(RuntimeError):
        list(run_in_parallel([work, work], on_tick))
    assert set(ended) <= {"stopped"}


def test_the_tasks_of_a_task_are_ended_too():
    ended = []

    both = threading.Barrier(3, timeout=LONG)

    def inner(tick):
        both.wait()
        ended.append(until_stopped())

    def outer(tick):
        list(run_in_parallel([inner, inner]))

    def fail(tick):
        both.wait()
        raise ValueError

    with pytest.raises(ValueError):
        list(run_in_parallel([fail, outer]))
    assert ended == ["stopped", "stopped"]


def test_more_tasks_than_threads():
    running, most, lock = [0], [0], threading.Lock()

    def task(tick):
        with lock:
            running[0] += 1
            most[0] = max(most[0], running[0])
        time.sleep(0.002)
        with lock:
            running[0] -= 1
        return running[0] >= 0

    assert all(run_in_parallel([task] * 9, n_threads=2))
    assert most[0] <= 2


def test_tasks_are_taken_when_others_have_ended():
    """Never more than `at_most` are taken and not ended, and results come in order."""
    taken, ended = [], []

    def task(i, tick):
        time.sleep(0.003 * (i % 3))
        ended.append(i)
        return i

    def tasks():
        for i in range(20):
            # The first of the tasks that may still run has been waited for.
            assert i < 3 or i - 3 in ended
            taken.append(i)
            yield partial(task, i)

    given = []
    for i in run_in_parallel(tasks(), n_threads=2, at_most=3):
        given.append(i)
        assert len(taken) <= len(given) + 3
    assert given == taken == list(range(20))


def test_an_error_of_the_iterable_ends_the_tasks():
    ended = []

    def work(tick):
        ended.append(until_stopped())

    def tasks():
        yield lambda tick: None
        yield work
        raise RuntimeError("no more")

    with pytest.raises(RuntimeError, match="no more"):
        list(run_in_parallel(tasks(), n_threads=2, at_most=2))
    assert set(ended) <= {"stopped"}


@pytest.mark.parametrize("at_most", [None, 2])
def test_all_ticks_are_heard_by_the_calling_thread(at_most):
    heard = []

    def task(tick):
        for _ in range(5):
            tick()

    list(run_in_parallel([task] * 7, lambda: heard.append(threading.get_ident()), n_threads=2, at_most=at_most))
    assert heard == [threading.get_ident()] * 35


def test_ctrl_c_does_not_wait_for_work_that_cannot_be_stopped():
    """It goes on in the background, and its result is dropped."""
    started, release, ended = threading.Event(), threading.Event(), threading.Event()

    def deaf(tick):
        started.set()
        release.wait(LONG)
        ended.set()

    def interrupt(tick):
        started.wait(LONG)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        list(run_in_parallel([interrupt, deaf]))
    assert not ended.is_set()
    release.set()
    assert ended.wait(LONG)


def test_a_long_call_is_made_in_another_thread_only_by_the_main_thread():
    def where(x, *, also):
        return threading.current_thread(), x + also

    thread, total = run_interruptibly(where, 1, also=2)
    assert total == 3
    assert thread is not threading.main_thread() or threading.current_thread() is not threading.main_thread()
    with ThreadPoolExecutor(1) as pool:
        here, (there, _) = pool.submit(
            lambda: (threading.current_thread(), run_interruptibly(where, 1, also=2))
        ).result()
    assert here is there


def test_errors_of_a_long_call_are_raised():
    with pytest.raises(np.linalg.LinAlgError):
        run_interruptibly(np.linalg.cholesky, -np.eye(2))
