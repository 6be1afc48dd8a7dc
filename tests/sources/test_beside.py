"""Blocks of several tables that are cut at the same rows, compared with the tables themselves."""

import numpy as np
import pytest

from lowdim.sources.beside import aligned


def in_blocks(table, *lengths):
    return iter(np.split(table, np.cumsum(lengths)))


def cut(block, i, j):
    return block[i:j]


@pytest.mark.parametrize("lengths", [(3, 3, 4), (10,), (1, 1, 7), (5, 0, 2)])
def test_rows_that_belong_together_stay_together(lengths):
    left, right = np.arange(10), 100 + np.arange(10)
    pieces = list(aligned([in_blocks(left, *lengths), in_blocks(right, 4, 4)], len, cut, ["X", "y"]))
    assert all(len(a) == len(b) for a, b in pieces)
    np.testing.assert_array_equal(np.concatenate([a for a, _ in pieces]), left)
    np.testing.assert_array_equal(np.concatenate([b for _, b in pieces]), right)


def test_a_table_that_ends_early_is_named():
    pieces = aligned([in_blocks(np.arange(10), 4), in_blocks(np.arange(9), 4)], len, cut, ["X", "y"])
    assert len(next(pieces)[0]) == 4
    with pytest.raises(ValueError, match=r"(?s)X.*y.*9"):
        list(pieces)


def test_blocks_of_equal_lengths_are_not_copied():
    block = np.arange(4)
    (pieces,) = aligned([iter([block]), iter([block])], len, cut, ["X", "y"])
    assert pieces[0] is block and pieces[1] is block
