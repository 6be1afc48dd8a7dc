"""LAPACK called without Python's global lock: the bits of SciPy, and other threads that go on."""

import threading
import time

import numpy as np
import pytest
from scipy import linalg

from lowdim._lapack import largest_eigenpairs, swap_entries


def symmetric(p, dtype=np.float64):
    Z = np.random.default_rng(p).standard_normal((2 * p, p))
    return (Z.T @ Z).astype(dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("p", "m"), [(1, 1), (2, 2), (7, 3), (200, 20)])
@pytest.mark.parametrize("order", ["C", "F"])
def test_the_bits_of_scipy(p, m, dtype, order):
    A = np.array(symmetric(p, dtype), order=order)
    before = A.copy()
    values, vectors = largest_eigenpairs(A, m)
    expected = linalg.eigh(before, subset_by_index=(p - m, p - 1))
    np.testing.assert_array_equal(values, expected[0])
    np.testing.assert_array_equal(vectors, expected[1])
    assert values.dtype == vectors.dtype == dtype
    np.testing.assert_array_equal(A, before)


def test_a_part_of_an_array():
    A = symmetric(40)
    values, _ = largest_eigenpairs(A[::2, ::2], 3)
    np.testing.assert_allclose(values, np.linalg.eigvalsh(A[::2, ::2])[-3:], rtol=1e-12)


def test_equal_eigenvalues_and_bad_numbers():
    np.testing.assert_allclose(largest_eigenpairs(np.eye(200), 3)[0], 1.0)
    assert len(largest_eigenpairs(np.full((200, 200), np.nan), 3)[0]) == 0


@pytest.mark.parametrize("m", [0, 6, -1])
def test_numbers_that_cannot_be(m):
    with pytest.raises(ValueError, match="between 1 and 5"):
        largest_eigenpairs(symmetric(5), m)


def test_other_threads_go_on():
    A, steps, stop = symmetric(900), [0], threading.Event()

    def count():
        while not stop.is_set():
            steps[0] += 1
            time.sleep(0)

    thread = threading.Thread(target=count)
    thread.start()
    try:
        before = steps[0]
        largest_eigenpairs(A, 3)
        # With the lock held, the thread could take steps before and after the call, for 5 ms at most.
        assert steps[0] > before
    finally:
        stop.set()
        thread.join()


@pytest.mark.parametrize("n", [0, 1, 2, 9, 1000])
def test_swaps_in_turn(n):
    random = np.random.default_rng(n)
    x, others = random.standard_normal(n), random.integers(1, n + 1, n, dtype=np.int32) if n else np.empty(0, np.int32)
    expected = x.copy()
    for i, other in enumerate(others):
        expected[[i, other - 1]] = expected[[other - 1, i]]
    swap_entries(x, others)
    np.testing.assert_array_equal(x, expected)


def test_swaps_outside_the_vector_are_refused():
    for others in ([0, 1], [1, 3], [1]):
        with pytest.raises(IndexError, match="2 numbers between 1 and 2"):
            swap_entries(np.zeros(2), np.array(others, np.int32))
    with pytest.raises(TypeError, match="int32"):
        swap_entries(np.zeros(2), np.array([1, 2]))
    with pytest.raises(TypeError, match="contiguous"):
        swap_entries(np.zeros(4)[::2], np.array([1, 2], np.int32))
