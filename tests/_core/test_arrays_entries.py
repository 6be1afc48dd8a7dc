"""What all entries of an array have in common, found piece by piece."""

import tracemalloc

import numpy as np
import pytest

from lowdim._core.arrays import all_finite_by_pieces as all_finite
from lowdim._core.arrays import asymmetry, distance_from_orthonormal, largest_magnitude

RNG = np.random.default_rng(9)


@pytest.mark.parametrize("shape", [(), (3,), (70_000,), (300, 400), (2, 70_000), (5, 6, 7), (0,), (0, 4), (4, 0)])
def test_entries_that_are_not_finite_are_found_anywhere(shape):
    a = RNG.standard_normal(shape)
    assert all_finite(a)
    for place in RNG.integers(0, a.size, 4) if a.size else ():
        for bad in (np.nan, np.inf, -np.inf):
            wrong = a.copy()
            wrong.flat[place] = bad
            assert not all_finite(wrong)
            assert not all_finite(wrong.T)


def test_the_largest_magnitude():
    a = RNG.standard_normal((30, 40))
    assert largest_magnitude(a) == np.abs(a).max()
    assert largest_magnitude(-np.abs(a)) == np.abs(a).max()
    assert largest_magnitude(np.zeros((0, 3))) == 0.0


@pytest.mark.parametrize("p", [1, 7, 300, 700])
def test_asymmetry(p):
    a = RNG.standard_normal((p, p))
    assert asymmetry(a) == np.abs(a - a.T).max()
    assert asymmetry(a + a.T) == 0.0
    for i, j in RNG.integers(0, p, (4, 2)):
        wrong = a + a.T
        wrong[i, j] += 0.5
        assert asymmetry(wrong) == np.abs(wrong - wrong.T).max()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", [(1, 1), (3, 7), (300, 400), (400, 400), (0, 4)])
def test_distance_from_orthonormal(shape, dtype):
    rows = np.linalg.qr(RNG.standard_normal(shape[::-1]))[0].T.astype(dtype)
    exact = rows.astype("float64")
    for a, b in ((rows, exact), (rows[::-1] * 1.5, exact[::-1] * 1.5), (rows + 0.01, exact + np.float32(0.01))):
        expected = np.abs(b @ b.T - np.eye(len(b))).max(initial=0.0)
        np.testing.assert_allclose(distance_from_orthonormal(a), expected, atol=1e-5 if dtype == "float32" else 1e-13)


def test_what_overflows_is_not_small():
    huge = np.array([[1e308, -1e308], [1e308, 1e308]])
    assert not asymmetry(huge) <= 1e308
    assert not distance_from_orthonormal(huge) <= 1e308


def test_they_take_no_memory():
    a = RNG.standard_normal((1000, 1000))
    tracemalloc.start()
    all_finite(a), asymmetry(a), largest_magnitude(a), distance_from_orthonormal(a)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < a.nbytes / 4
