"""Correlations against NumPy, for rows in memory, in files and with weights; clusters, copies and chance."""

import numpy as np
import pytest
from scipy import stats

from reporting.tables import charts, listings, prose, section_of

RANDOM = np.random.default_rng(6)
FACTORS = RANDOM.normal(size=(300, 3))
#: Three groups of columns, of which each has one factor, in turns.
X = FACTORS[:, [0, 1, 2] * 4] * ([1, -1] * 6) + 0.3 * RANDOM.normal(size=(300, 12)) + 1e6


def _picture(section):
    """The columns of the picture of the correlations, by their positions, and the correlations in their own order."""
    chart = charts(section)["correlations"]
    (trace,) = chart.data
    np.testing.assert_allclose(chart.table.values, trace["z"], atol=1e-7)
    shown = np.array([int(name.removeprefix("x")) - 1 for name in trace["x"]])
    R = np.full((shown.max() + 1,) * 2, np.nan)
    R[np.ix_(shown, shown)] = chart.table.values
    return shown, R


def _strongest(section):
    """The pairs in the list of the strongest correlations, and these."""
    table = next(table for table in listings(section) if table.title == "The strongest correlations")
    pairs = [tuple(int(table[name][i][1:]) - 1 for name in ("first", "second")) for i in range(len(table))]
    return pairs, table["correlation"]


def test_matrix_and_strongest_pairs(held):
    section = section_of(X, "data")
    expected = np.corrcoef(X, rowvar=False)
    np.testing.assert_allclose(_picture(section)[1], expected, atol=1e-9)
    sizes = np.sort(np.abs(expected[np.triu_indices(12, 1)]))[::-1]
    pairs, strongest = _strongest(section)
    np.testing.assert_allclose(np.abs(strongest), sizes[:12], atol=1e-9)
    np.testing.assert_allclose(strongest, [expected[pair] for pair in pairs], atol=1e-9)
    beyond = np.count_nonzero(sizes > 0.5)
    assert f"{beyond} pairs of 66 ({100 * beyond / 66:.1f}%) have a correlation beyond 0.5 in size." in prose(section)


def test_columns_of_a_group_lie_side_by_side():
    shown, _ = _picture(section_of(X, "data"))
    assert sorted(shown.tolist()) == list(range(12))
    assert np.count_nonzero(np.diff(shown % 3)) == 2


def test_weights_repeat_rows(held):
    weights = RANDOM.integers(1, 4, 300)
    _, found = _picture(section_of(X, "data", sample_weight=weights.astype(float)))
    np.testing.assert_allclose(found, np.corrcoef(np.repeat(X, weights, axis=0), rowvar=False), atol=1e-9)


def test_copies_and_columns_that_are_the_same_up_to_shift_and_scale():
    table = RANDOM.normal(size=(100, 7))
    table[:, 3] = table[:, 0]
    table[:, 5] = 32 - 1.8 * table[:, 1]
    table[:, 6] = table[:, 2] + 1e-4 * RANDOM.normal(size=100)
    section = section_of(table, "data")
    text = prose(section)
    assert "x1 and x4 are equal in all rows, so what they have in common counts twice." in text
    assert "x2 and x6 are the same up to shift and scale" in text
    assert text.count("are equal in all rows") == text.count("up to shift and scale") == 1
    assert _strongest(section)[0][0] == (2, 6)


def test_columns_that_depend_on_others_are_named(held):
    random = np.random.default_rng(0)
    parts = 100 * random.dirichlet([3, 3, 3, 3, 3], 400)
    free = random.normal(size=(400, 10)) + 50
    points = 1000 - 3 * free[:, 5] + 2 * free[:, 6] + free[:, 7] + 0.05 * random.normal(size=400)
    table = np.column_stack([parts, free, free[:, :2].sum(axis=1), free[:, 2:5].mean(axis=1), points])
    section = section_of(table, "data", scale=True)
    lines = prose(section).splitlines()
    # R2 of the points given the columns that they were made of.
    A = np.column_stack([np.ones(400), free[:, 5:8]])
    rest = points - A @ np.linalg.lstsq(A, points, rcond=None)[0]
    R2 = 1 - rest.var() / points.var()
    assert 0.9995 < R2 < 0.9999
    said = [
        "x16 is the sum of x6 and x7.",
        "x17 is the mean of x8, x9 and x10.",
        f"x18 is nearly a linear function of x11, x12 and x13 (R2 = {R2:.4f}",
        "x1, x2, x3, x4 and x5 add up to 100 in all rows.",
    ]
    # They are said before anything else, also at the top of the page.
    assert all(each in lines[1] and each in section.summary for each in said)
    # Of parts that add up to 100, the one that varies most.
    assert f"x{1 + np.argmax(parts.std(axis=0))}, x16, x17 and x18 can be left out." in lines[1]
    # Without them, nothing of the kind is said.
    kept = section_of(table[:, 1:15], "data", scale=True)
    assert "can be left out" not in prose(kept) + kept.summary


def test_a_column_that_depends_on_others_is_found_beside_missing_entries():
    random = np.random.default_rng(1)
    table = random.normal(size=(200, 5)) @ random.normal(size=(5, 5))
    table = np.column_stack([table, table[:, 1] + table[:, 3]])
    table[random.random(table.shape) < 0.05] = np.nan
    text = prose(section_of(table, "data"))
    assert "x6 is the sum of x2 and x4." in text and "exclude=['x6']" in text


@pytest.mark.parametrize(("n", "p", "level"), [(12, 8, 0.0), (30, 40, 0.0), (60, 50, 3.0), (500, 60, 3.0)])
def test_columns_that_are_only_correlated_do_not_depend_on_others(n, p, level):
    random = np.random.default_rng(2)
    for _ in range(5):
        table = random.normal(size=(n, p)) + level * random.normal(size=(n, 3)) @ random.normal(size=(3, p))
        assert "function of" not in prose(section_of(table, "data", n_components=1, image_shape=False))


def test_of_many_columns_those_with_the_largest_correlations_are_shown():
    table = RANDOM.normal(size=(60, 180))
    related = np.sort(RANDOM.permutation(180)[:150])
    table[:, related] += 2 * RANDOM.normal(size=(60, 1))
    section = section_of(table, "data", n_components=2)
    shown, _ = _picture(section)
    assert sorted(shown.tolist()) == related.tolist()
    said = "The 150 columns are those with the largest squared correlations."
    assert said in charts(section)["correlations"].caption


def test_of_very_many_columns_some_at_equal_distances_are_compared():
    table = RANDOM.normal(size=(25, 2999))
    table[:, ::100] += 3 * RANDOM.normal(size=(25, 1))
    section = section_of(table, "data", n_components=2, image_shape=False)
    among = set(np.linspace(0, 2998, 2000).round().astype(int).tolist())
    shown, _ = _picture(section)
    assert len(shown) == 150 and set(shown.tolist()) <= among
    assert set(range(0, 2999, 100)) & among <= set(shown.tolist())
    assert "squared correlations of 2,000 columns at equal distances" in charts(section)["correlations"].caption


def test_chance_exceeds_the_bound_in_about_five_of_a_hundred_tables():
    n, p = 40, 6
    (line,) = (line for line in prose(section_of(RANDOM.normal(size=(n, p)), "data")).splitlines() if "chance" in line)
    assert "With 40 rows and 15 pairs, correlations up to " in line
    bound = float(line.partition("correlations up to ")[2].partition(" in size")[0])
    largest = [np.abs(np.corrcoef(RANDOM.normal(size=(n, p)), rowvar=False) - np.eye(p)).max() for _ in range(2000)]
    times = int(np.sum(np.array(largest) > bound))
    # Bonferroni's bound is never exceeded more often, and with few pairs not much less often. The section rounds it.
    assert stats.binomtest(times, 2000, 0.05).pvalue > 1e-4
