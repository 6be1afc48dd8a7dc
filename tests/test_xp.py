"""Functions that stand in for those that an older NumPy or an older version of the array standard does not have."""

import numpy as np
import pytest

from lowdim._xp import count_true, cumulative_sum, is_array, to_numpy

strict = pytest.importorskip("array_api_strict")

X = np.random.default_rng(0).standard_normal((5, 3))


@pytest.mark.parametrize("xp", [np, strict], ids=["numpy", "array_api_strict"])
def test_sums_and_counts(xp):
    for values in (X, X[:, 0], X[:0]):
        np.testing.assert_allclose(to_numpy(cumulative_sum(xp.asarray(values))), np.add.accumulate(values), rtol=1e-14)
        count = count_true(xp.asarray(values) > 0)
        assert count == sum(bool(v > 0) for v in values.ravel())
        assert type(count) is int


def test_arrays_that_are_read_only_become_numpy_arrays():
    view = strict.linalg.diagonal(strict.asarray(X[:3]))
    np.testing.assert_array_equal(to_numpy(view), np.diagonal(X[:3]))
    assert to_numpy(view).flags.writeable


@pytest.mark.parametrize("number", [np.float64(2), np.float32(0.5), np.int64(3), np.bool_(True)])
def test_numbers_of_numpy_are_no_arrays(number):
    assert not is_array(number)
    assert is_array(np.asarray(number))
    np.testing.assert_array_equal(to_numpy(number), np.asarray(number))
