"""Memory that blocks use one after another: never while somebody holds a block, or a part of one."""

import gc
import pickle
from concurrent.futures import ThreadPoolExecutor
from copy import copy

import numpy as np
import pytest

from lowdim._core.arrays import empty_columns
from lowdim.sources.base import BlockMemory


def address(array):
    return array.__array_interface__["data"][0]


def test_memory_is_used_again_when_nobody_holds_it():
    memory = BlockMemory()
    first = memory.empty((1000, 50), np.float64)
    where = address(first)
    del first
    second = memory.empty((500, 99), np.float64)
    assert second.shape == (500, 99)
    assert address(second) == where
    third = memory.empty((500, 99), np.float64)
    assert not np.may_share_memory(second, third)


PARTS = {
    "slice": lambda a: a[3:5],
    "transpose": lambda a: a.T,
    "slice of a slice": lambda a: a[2:].T[:, 1:][::2],
    "another dtype": lambda a: a.view(np.int64),
    "one column": lambda a: a[:, 0],
    "flat": lambda a: a.reshape(-1)[4:],
    "memoryview": lambda a: np.asarray(memoryview(a)),
    "strided": lambda a: np.lib.stride_tricks.as_strided(a, (2, 2), (16, 8)),
    "subclass": lambda a: a.view(np.matrix)[1:],
}


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("order", ["rows", "columns"])
def test_a_part_that_is_held_is_not_overwritten(part, order):
    memory = BlockMemory()

    def new():
        return empty_columns(20, 4, float, memory.empty) if order == "columns" else memory.empty((20, 4), float)

    made = []
    for k in range(20):
        block = new()
        block[...] = k
        if part == "another dtype" and order == "columns":
            made.append(block.T.view(np.int64))
        elif part == "flat" and order == "columns":
            made.append(block.T[0])
        else:
            made.append(PARTS[part](block))
        del block
    for k, held in enumerate(made):
        np.testing.assert_array_equal(held.view(float) if held.dtype != float else held, k)


def test_no_more_is_held_than_is_in_use_at_a_time():
    memory = BlockMemory()
    for k in range(1, 50):
        held = [memory.empty((k,), np.float32) for _ in range(3)]
        assert len({address(array) for array in held}) == 3
        assert len(memory._pieces) <= 4
        del held


def test_threads_never_share_memory_that_is_in_use():
    memory = BlockMemory()

    def fill(k):
        good = True
        for i in range(200):
            block = memory.empty((50, 5), float)
            block[...] = 1000 * k + i
            good &= bool(np.all(block == 1000 * k + i))
        return good

    with ThreadPoolExecutor(4) as threads:
        assert all(threads.map(fill, range(4)))


def test_copies_and_pickles_start_empty():
    memory = BlockMemory()
    held = memory.empty((10,), float)
    for other in (copy(memory), pickle.loads(pickle.dumps(memory))):
        assert not np.may_share_memory(other.empty((10,), float), held)


def test_arrays_without_entries():
    memory = BlockMemory()
    assert memory.empty((0, 3), float).shape == (0, 3)


def test_memory_ends_with_its_last_array():
    memory = BlockMemory()
    held = memory.empty((5,), float)
    held[:] = 2.0
    del memory
    gc.collect()
    np.testing.assert_array_equal(held, 2.0)
