"""Labels of rows: groups and measured numbers."""

import numpy as np

from lowdim.reporting.columns import MOST_LEVELS, groupings, measures


def test_categories_become_groups():
    (group,) = groupings({"tree": np.array(["oak", None, "ash", "oak"], dtype=object)})
    assert (group.name, group.levels, group.codes.tolist()) == ("tree", ["ash", "oak"], [1, -1, 0, 1])


def test_rare_categories_become_one_group():
    counts = np.arange(1, MOST_LEVELS + 11)
    names = np.array([f"kind {i:02d}" for i in range(len(counts))], dtype=object)
    (group,) = groupings({"kind": np.repeat(names, counts)})
    assert len(group.levels) == MOST_LEVELS and group.levels[-1] == "11 others"
    assert group.n_pooled == 11
    found = np.bincount(group.codes)
    np.testing.assert_array_equal(found, [*counts[11:], counts[:11].sum()])
    assert group.levels[:-1] == names[11:].tolist()


def test_numbers_with_many_values_are_measured_and_form_no_groups():
    octane = np.array([*np.linspace(80, 90, 60), np.nan, None], dtype=object)
    assert groupings({"octane": octane}) == []
    (values,) = measures({"octane": octane}).values()
    np.testing.assert_array_equal(values[:60], np.linspace(80, 90, 60))
    assert np.isnan(values[60:]).all()
    few = np.array([3, 1, 3, 2] * 10, dtype=object)
    assert measures({"digit": few}) == {} and groupings({"digit": few})[0].levels == ["1", "2", "3"]


def test_labels_that_are_all_missing_form_no_groups():
    assert groupings({"tree": np.array([None, None], dtype=object)}) == []
