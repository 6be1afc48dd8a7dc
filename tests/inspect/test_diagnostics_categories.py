"""Categories of rows, against definitions."""

import numpy as np
import pandas as pd
import pytest

from lowdim.inspect.diagnostics import categories


@pytest.mark.parametrize("kind", [object, "U1"])
def test_levels_are_sorted_and_codes_point_at_them(kind):
    values = np.array(["b", "a", "b", "c"], dtype=kind)
    levels, codes = categories(values)
    assert levels == ["a", "b", "c"]
    assert [levels[code] for code in codes] == values.tolist()


@pytest.mark.parametrize("nothing", [None, float("nan"), pd.NA])
def test_missing_labels_have_no_level(nothing):
    levels, codes = categories(np.array([2, nothing, 1, nothing], dtype=object))
    assert levels == [1, 2]
    assert codes.tolist() == [1, -1, 0, -1]


def test_labels_of_several_types_keep_their_order():
    levels, codes = categories(np.array(["a", 1, "a"], dtype=object))
    assert levels == ["a", 1]
    assert codes.tolist() == [0, 1, 0]


def test_numbers_that_are_missing():
    levels, codes = categories(np.array([0.5, np.nan, -1.0]))
    assert levels == [-1.0, 0.5]
    assert codes.tolist() == [1, -1, 0]
