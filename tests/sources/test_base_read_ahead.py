"""read_ahead: order, errors, how far ahead it is, and that it ends whatever the caller does."""

import gc
import threading
import weakref

import pytest

from lowdim.sources.base import read_ahead


def counting(n, log):
    try:
        for i in range(n):
            log.append(i)
            yield i
    finally:
        log.append("closed")


def test_all_items_in_order():
    log = []
    assert list(read_ahead(counting(20, log))) == list(range(20))
    assert log == [*range(20), "closed"]


def test_one_item_is_made_in_advance():
    log, made = [], threading.Event()

    def items():
        for i in range(5):
            log.append(i)
            if i == 1:
                made.set()
            yield i

    reader = read_ahead(items())
    assert next(reader) == 0
    assert made.wait(10)
    reader.close()
    assert log == [0, 1]


def test_an_error_comes_in_its_place():
    def items():
        yield 1
        raise OSError("the disk is gone")

    reader = read_ahead(items())
    assert next(reader) == 1
    with pytest.raises(OSError, match="the disk is gone"):
        next(reader)


def test_a_caller_that_stops_closes_the_generator():
    log = []
    reader = read_ahead(counting(20, log))
    next(reader)
    reader.close()
    assert log[-1] == "closed"
    assert len(log) <= 3


def test_a_forgotten_reader_is_collected():
    """A reader in a cycle is closed by the garbage collector, after its pool may have been collected."""
    log = []

    class Cycle:
        pass

    cycle = Cycle()
    cycle.itself, cycle.reader = cycle, read_ahead(counting(20, log))
    next(cycle.reader)
    gone = weakref.ref(cycle)
    del cycle
    gc.collect()
    assert gone() is None
    assert log[-1] == "closed"
