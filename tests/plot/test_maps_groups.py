"""Groups of rows in a map, against definitions."""

import numpy as np
import pandas as pd
import pytest

from lowdim.plot.maps import groups_of


def test_groups_are_sorted_and_told_apart_by_colour_and_marker():
    found = groups_of(np.array(["b", "a", "b", "c"], dtype=object), 4)
    assert [(group.name, group.rows.tolist()) for group in found] == [("a", [1]), ("b", [0, 2]), ("c", [3])]
    assert len({group.look["color"] for group in found}) == len({group.look["marker"] for group in found}) == 3


def test_groups_of_any_kind():
    values = np.array([1, "a", None, float("nan"), 1], dtype=object)
    found = groups_of(values, 5)
    assert {(group.name, tuple(group.rows)) for group in found} == {("1", (0, 4)), ("a", (1,)), ("no group", (2, 3))}
    assert [len(group.rows) for group in groups_of(None, 7)] == [7]


@pytest.mark.parametrize("nothing", [None, float("nan"), pd.NA])
def test_rows_without_a_group(nothing):
    some = np.array(["b", nothing, "a", "b"], dtype=object)
    assert [(group.name, group.rows.tolist()) for group in groups_of(some, 4)] == [
        ("a", [2]),
        ("b", [0, 3]),
        ("no group", [1]),
    ]
    none = np.array([nothing, nothing], dtype=object)
    assert [(group.name, group.rows.tolist()) for group in groups_of(none, 2)] == [("no group", [0, 1])]
