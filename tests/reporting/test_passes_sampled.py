"""Rows drawn at random from one or more tables, in memory or not."""

import numpy as np
import pytest

from lowdim import open_source
from lowdim.reporting.passes import sampled_rows

rng = np.random.default_rng(0)
X, Y = rng.standard_normal((500, 3)), rng.standard_normal((500, 2))
Y[::7, 1] = np.nan


def in_blocks(rows):
    return open_source([rows[:120], rows[120:121], rows[121:]])


@pytest.mark.parametrize("most", [40, 500, 900])
def test_rows_of_several_tables_stay_together(most):
    numbers, (x, y) = sampled_rows([open_source(X), open_source(Y)], 500, most, 0)
    assert len(numbers) == min(most, 500) and np.all(np.diff(numbers) > 0)
    assert np.array_equal(x, X[numbers]) and np.array_equal(y, Y[numbers], equal_nan=True)


def test_blocks_give_the_same_rows_as_an_array():
    expected = sampled_rows([open_source(X), open_source(Y)], 500, 60, 3)
    numbers, tables = sampled_rows([in_blocks(X), in_blocks(Y)], 500, 60, 3)
    assert np.array_equal(numbers, expected[0])
    for found, wanted in zip(tables, expected[1], strict=True):
        assert np.array_equal(found, wanted, equal_nan=True)


def test_every_row_is_as_likely():
    counts = sum(np.bincount(sampled_rows([open_source(X)], 500, 50, seed)[0], minlength=500) for seed in range(200))
    # Of 200 draws of a tenth, each row is in 20 +- 4.2.
    assert counts.sum() == 200 * 50 and counts.min() > 3 and counts.max() < 42
