"""What stands in for functions that older versions lack, and blocks that are stored by columns."""

import numpy as np
import pytest

from lowdim._xp import (
    Beside,
    Scratch,
    count_true,
    cumulative_sum,
    empty_columns,
    has_columns_in_one_piece,
    is_array,
    to_numpy,
)

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


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_memory_for_columns_has_a_gap(dtype):
    block = empty_columns(4096, 5, dtype)
    assert block.shape == (4096, 5)
    assert block.strides == (block.itemsize, 4096 * block.itemsize + 64)
    assert has_columns_in_one_piece(block)


def test_which_blocks_have_columns_in_one_piece():
    rows, columns = np.zeros((10, 4)), np.zeros((10, 4), order="F")
    assert has_columns_in_one_piece(columns)
    assert has_columns_in_one_piece(columns[2:7, 1:3])
    assert not has_columns_in_one_piece(rows)
    assert not has_columns_in_one_piece(columns[::2])
    assert has_columns_in_one_piece(Beside([columns, columns]))
    assert not has_columns_in_one_piece(Beside([columns, rows]))


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("pieces", [1, 2])
def test_differences_keep_the_order_of_the_rows(order, pieces):
    random = np.random.default_rng(0)
    tables = [np.asarray(random.standard_normal((100, 3)), order=order) for _ in range(pieces)]
    b = random.standard_normal(3 * pieces)
    found = Scratch().difference(tables[0] if pieces == 1 else Beside(tables), b)
    np.testing.assert_array_equal(found, np.hstack(tables) - b)
    assert has_columns_in_one_piece(found) == (order == "F")
