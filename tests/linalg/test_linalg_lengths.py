"""Lengths and distances of rows of any size."""

import numpy as np
import pytest
from scipy import sparse

from lowdim.linalg import row_lengths, squared_distances


@pytest.mark.parametrize("unit", [2.0**-100, 2.0**70])
def test_squared_distances_beyond_float32(unit):
    rows = np.random.default_rng(0).standard_normal((7, 3)).astype(np.float32)
    far = squared_distances(rows * np.float32(unit), rows[:4] * np.float32(unit))
    direct = ((rows[:, None, :].astype(float) - rows[None, :4, :]) ** 2).sum(axis=2)
    np.testing.assert_allclose(far / unit**2, direct, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("stored", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("unit", [1.0, 2.0**-700, 2.0**700])
def test_lengths_of_rows_of_any_size(unit, stored):
    rows = np.array([[3.0, 4.0], [0.0, 0.0], [5.0, 12.0], [0.0, -2.0]])
    np.testing.assert_array_equal(row_lengths(stored(rows * unit)), np.array([5.0, 1.0 / unit, 13.0, 2.0]) * unit)
