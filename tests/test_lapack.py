"""LAPACK called without Python's global lock: the bits of SciPy, and other threads that go on."""

import threading
import time

import numpy as np
import pytest
from scipy import linalg

from lowdim._lapack import largest_eigenpairs


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
