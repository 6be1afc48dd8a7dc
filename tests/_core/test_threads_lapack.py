"""LAPACK called without Python's global lock: the bits of SciPy, and other threads that go on."""

import threading
import time

import numpy as np
import pytest
from scipy import linalg

from lowdim._core.threads import add_products, cholesky_factor, largest_eigenpairs, mirror_upper, swap_entries


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


VIEWS = {
    "by rows": lambda Z: Z,
    "by columns": np.asfortranarray,
    "some rows": lambda Z: np.repeat(Z, 3, axis=0)[::3],
    "rows of a table by columns": lambda Z: np.asfortranarray(np.vstack([Z, Z, Z]))[len(Z) : 2 * len(Z)],
    "some columns": lambda Z: np.hstack([Z, Z])[:, Z.shape[1] :],
    "every other column": lambda Z: np.repeat(Z, 2, axis=1)[:, ::2],
    "backwards": lambda Z: Z[::-1].copy()[::-1],
    "read-only": lambda Z: np.frombuffer(Z.tobytes()).reshape(Z.shape),
    "a field beside a shorter one": lambda Z: field(Z, np.float32),
    "a field beside one byte": lambda Z: field(Z, np.uint8),
}


def field(Z, beside):
    """`Z` as a field of a structured array, whose rows are no multiple of 8 bytes apart."""
    table = np.zeros(len(Z), dtype=[("other", beside), ("Z", np.float64, (Z.shape[1],))])
    table["Z"] = Z
    return table["Z"]


@pytest.mark.parametrize("view", list(VIEWS))
@pytest.mark.parametrize("shape", [(1, 1), (1, 5), (7, 1), (50, 70), (200, 33)])
def test_products_are_added_to_one_triangle(view, shape):
    random = np.random.default_rng(shape[0])
    Z, before = random.standard_normal(shape), random.standard_normal((shape[1], shape[1]))
    total = before.copy()
    add_products(VIEWS[view](Z), total)
    expected = np.triu(before + Z.T @ Z) + np.tril(before, -1)
    np.testing.assert_allclose(total, expected, rtol=0, atol=1e-13 * shape[0])
    np.testing.assert_array_equal(np.tril(total, -1), np.tril(before, -1))
    mirror_upper(total)
    np.testing.assert_array_equal(total, np.triu(total) + np.triu(total, 1).T)
    np.testing.assert_allclose(np.triu(total), np.triu(expected), rtol=0, atol=1e-13 * shape[0])


def test_sums_of_products_of_another_size_or_dtype_are_refused():
    for Z, total in ((np.ones((3, 2)), np.zeros((3, 3))), (np.ones((3, 2), np.float32), np.zeros((2, 2)))):
        with pytest.raises(TypeError, match="float64"):
            add_products(Z, total)


@pytest.mark.parametrize("p", [1, 2, 33, 200])
@pytest.mark.parametrize("order", ["C", "F"])
def test_cholesky_factors(p, order):
    A = np.array(symmetric(p) @ symmetric(p).T + np.eye(p), order=order)
    before = A.copy()
    L = cholesky_factor(A)
    np.testing.assert_allclose(L, np.linalg.cholesky(A), rtol=1e-10, atol=1e-12 * np.abs(A).max())
    np.testing.assert_array_equal(np.triu(L, 1), 0.0)
    np.testing.assert_array_equal(A, before)


def test_matrices_without_a_cholesky_factor():
    for A in (np.diag([1.0, 0.0]), np.diag([1.0, -1.0]), np.full((2, 2), np.nan)):
        with pytest.raises(np.linalg.LinAlgError, match="not positive definite"):
            cholesky_factor(A)
    for A in (np.eye(2, dtype=np.float32), np.ones((2, 3)), np.ones(3)):
        with pytest.raises(TypeError, match="square matrix of float64"):
            cholesky_factor(A)
    assert cholesky_factor(np.empty((0, 0))).shape == (0, 0)
