"""Integers that float64 cannot hold: Python's integers, which are exact, decide."""

import numpy as np
import pytest

from lowdim.sources.array import InexactInteger, may_be_inexact, require_exact


@pytest.mark.parametrize("dtype", ["int64", "uint64"])
def test_the_first_integer_that_was_rounded_is_found(dtype):
    integers = np.array([5, 2**53, 2**53 + 2, 2**62, 2**53 + 1, 2**53 + 3], dtype=dtype)
    floats = integers.astype(np.float64)
    expected = next(i for i, (a, b) in enumerate(zip(integers.tolist(), floats.tolist(), strict=True)) if a != int(b))
    with pytest.raises(InexactInteger) as found:
        require_exact(floats, integers)
    assert (found.value.index, found.value.value) == (expected, 2**53 + 1)
    require_exact(floats[:expected], integers[:expected])
    require_exact(floats[:0], integers[:0])


def test_entries_that_are_missing_are_left_alone():
    integers = np.array([2**53 + 1, 7], dtype=np.int64)
    require_exact(np.array([np.nan, 7.0]), integers)
    with pytest.raises(InexactInteger):
        require_exact(np.array([np.nan, -(2.0**53)]), np.array([0, -(2**53) - 1]))


def test_which_dtypes_need_a_look():
    assert [name for name in ("int64", "uint64", "int32", "bool", "float64") if may_be_inexact(np.dtype(name))] == [
        "int64",
        "uint64",
    ]
