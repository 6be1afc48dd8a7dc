"""The section on missing entries: its sentences, intervals and tables against what was filled in."""

import numpy as np
import pytest

from lowdim import PPCA
from reporting.tables import analysis, charts, listings, menus, prose, section_of

RANDOM = np.random.default_rng(12)
LOADINGS = RANDOM.uniform(1.5, 3.0, (2, 6)) * RANDOM.choice([-1, 1], (2, 6))
COMPLETE = RANDOM.normal(size=(300, 2)) @ LOADINGS + RANDOM.normal(size=(300, 6)) + 20
REMOVED = RANDOM.random(COMPLETE.shape) < [0.2, 0.1, 0.0, 0.0, 0.05, 0.0]
X = np.where(REMOVED, np.nan, COMPLETE)


@pytest.fixture(scope="module")
def a():
    return analysis(X)


@pytest.fixture(scope="module")
def filled():
    """What PPCA fills in, and the standard deviations."""
    return PPCA(2, prior="vb", random_state=0).fit(X).impute(X, return_std=True)


@pytest.fixture(scope="module")
def section():
    return section_of(X, "missing")


def test_sentences_hold_the_numbers(a, section, filled):
    text = prose(section)
    assert f"{REMOVED.sum()} missing entries were filled in by probabilistic PCA with 2 components" in text
    relative = (filled[1] / np.nanstd(X, axis=0, ddof=1))[REMOVED]
    assert f"typically {np.median(relative):.2f} times that of its column" in text
    hidden = a.filled.hidden
    error = np.sqrt(np.mean(((hidden.values - hidden.truth) / hidden.spread) ** 2))
    means = np.sqrt(np.mean(((hidden.column_means - hidden.truth) / hidden.spread) ** 2))
    assert f"The error was {error:.2f} standard deviations" in text
    assert f"against {means:.2f} if the mean" in text
    assert f"That is {100 * (1 - (error / means) ** 2):.1f}% less squared error" in text
    low, high = (hidden.values + sign * 1.96 * hidden.deviations for sign in (-1, 1))
    within = 100 * np.mean((low <= hidden.truth) & (hidden.truth <= high))
    assert f"{within:.1f}% of the hidden entries lie in their interval" in text
    assert "bootstrap do not include the uncertainty of filling in" in text


def test_each_column_with_missing_entries_has_its_intervals(section, filled):
    menu = menus(section)["imputed"]
    assert list(menu) == ["x1", "x2", "x5"]
    filled, spread = filled
    for name, j in (("x1", 0), ("x5", 4)):
        chart = menu[name]
        rows = np.flatnonzero(REMOVED[:, j])
        order = rows[np.argsort(filled[rows, j], kind="stable")]
        np.testing.assert_allclose(chart.data[0]["y"], filled[order, j])
        np.testing.assert_allclose(chart.data[0]["error_y"]["array"], 1.96 * spread[order, j], rtol=1e-4)
        assert chart.table.rows == [f"row {i + 1}" for i in order]


def test_observed_and_filled_in_entries_are_counted(section):
    observed, filled = menus(section)["imputed-distribution"]["x1"].data
    assert observed["name"] == f"observed ({np.sum(~REMOVED[:, 0])})"
    assert filled["name"] == f"filled in ({np.sum(REMOVED[:, 0])})"
    np.testing.assert_allclose([observed["y"].sum(), filled["y"].sum()], 100)


def test_the_widest_intervals_come_first(section, filled):
    (table,) = listings(section)
    relative = table["std. deviation, of the column's"]
    assert np.all(np.diff(relative) <= 0)
    expected = (filled[1] / np.nanstd(X, axis=0, ddof=1))[REMOVED]
    assert relative[0] == pytest.approx(expected.max(), rel=1e-9)


def test_hidden_entries_are_drawn(a, section):
    chart = charts(section)["hidden"]
    hidden = a.filled.hidden
    np.testing.assert_allclose(chart.data[0]["x"], (hidden.truth - hidden.column_means) / hidden.spread)


def test_impossible_entries_are_reported():
    random = np.random.default_rng(13)
    positive = np.exp(
        random.normal(size=(200, 1)) @ np.array([[1.0, 1.2, 0.8, 1.1]]) + 0.3 * random.normal(size=(200, 4))
    )
    table = np.where(random.random(positive.shape) < 0.2, np.nan, positive)
    section = section_of(table, "missing", scale=True)
    drawn = [chart.table["filled in"] for chart in menus(section)["imputed"].values()]
    assert sum(map(len, drawn)) == np.isnan(table).sum()
    below = np.count_nonzero(np.concatenate(drawn) < 0)
    assert below > 0
    text = prose(section)
    assert f"\n{below} filled-in entr" in text
    assert "below zero, where no observed entry is" in text
    assert "logarithm" in text
    codes = np.where(np.isnan(table), np.nan, (positive > 1.0).astype(float) + (positive > 4.0))
    text = prose(section_of(codes, "missing"))
    assert "to the whole numbers that occur" in text and "logarithm" not in text


def test_complete_tables_have_no_such_section():
    assert section_of(COMPLETE, "missing") is None


def test_rows_that_are_not_in_memory(section, not_held):
    assert prose(section_of(X, "missing")) == prose(section)
