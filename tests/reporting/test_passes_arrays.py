"""Numbers for the page: half the space where that loses nothing that is shown."""

import numpy as np
import pytest

from lowdim.reporting.passes import compact

VALUES = np.random.default_rng(0).normal(size=(50, 3))


def test_most_values_take_half_the_space():
    with_missing = np.append(VALUES, [[np.nan, np.inf, 0.1]], axis=0)
    found = compact(with_missing)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, with_missing, rtol=1e-6)


@pytest.mark.parametrize("values", [np.full((4, 2), 0.1), np.zeros((3, 2)), np.empty((0, 2)), np.full((3, 2), np.nan)])
def test_so_do_columns_without_variation(values):
    assert compact(values).dtype == np.float32


@pytest.mark.parametrize(("scale", "offset"), [(1e150, 0.0), (1e-150, 0.0), (1.0, 1e8), ([1.0, 1.0, 1e60], 0.0)])
def test_no_digit_that_is_shown_is_lost(scale, offset):
    values = VALUES * scale + offset
    assert compact(values) is values
