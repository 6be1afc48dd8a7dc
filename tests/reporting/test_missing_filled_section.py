"""The section on missing entries: its sentences, intervals and tables against what was filled in."""

import numpy as np
import pytest

from lowdim.reporting import columns as report_columns
from lowdim.reporting import missing
from lowdim.reporting.blocks import Chart, Listing, Menu, Prose
from reporting.tables import analysis

RANDOM = np.random.default_rng(12)
LOADINGS = RANDOM.uniform(1.5, 3.0, (2, 6)) * RANDOM.choice([-1, 1], (2, 6))
COMPLETE = RANDOM.normal(size=(300, 2)) @ LOADINGS + RANDOM.normal(size=(300, 6)) + 20
REMOVED = RANDOM.random(COMPLETE.shape) < [0.2, 0.1, 0.0, 0.0, 0.05, 0.0]
X = np.where(REMOVED, np.nan, COMPLETE)


@pytest.fixture(scope="module")
def a():
    return analysis(X)


@pytest.fixture(scope="module")
def section(a):
    return missing.section(a)


def _text(section):
    return "\n".join(block.text for block in section.blocks if isinstance(block, Prose))


def test_sentences_hold_the_numbers(a, section):
    text = _text(section)
    assert f"{REMOVED.sum()} missing entries were filled in by probabilistic PCA with 2 components" in text
    relative = a.filled.entries.deviations / np.nanstd(X, axis=0, ddof=1)[a.filled.entries.columns]
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


def test_each_column_with_missing_entries_has_its_intervals(a, section):
    menu = next(block for block in section.blocks if isinstance(block, Menu) and block.key == "imputed")
    assert list(menu.charts) == ["x1", "x2", "x5"]
    filled, spread = a.filled.model.impute(X, return_std=True)
    for name, j in (("x1", 0), ("x5", 4)):
        chart = menu.charts[name]
        rows = np.flatnonzero(REMOVED[:, j])
        order = rows[np.argsort(filled[rows, j], kind="stable")]
        np.testing.assert_allclose(chart.data[0]["y"], filled[order, j])
        np.testing.assert_allclose(chart.data[0]["error_y"]["array"], 1.96 * spread[order, j], rtol=1e-4)
        assert chart.table.rows == [f"row {i}" for i in order]


def test_observed_and_filled_in_entries_are_counted(section):
    menu = next(block for block in section.blocks if isinstance(block, Menu) and block.key == "imputed-distribution")
    observed, filled = menu.charts["x1"].data
    assert observed["name"] == f"observed ({np.sum(~REMOVED[:, 0])})"
    assert filled["name"] == f"filled in ({np.sum(REMOVED[:, 0])})"
    np.testing.assert_allclose([observed["y"].sum(), filled["y"].sum()], 100)


def test_the_widest_intervals_come_first(a, section):
    (table,) = (block.table for block in section.blocks if isinstance(block, Listing))
    relative = table["std. deviation, of the column's"]
    assert np.all(np.diff(relative) <= 0)
    expected = a.filled.entries.deviations / np.nanstd(X, axis=0, ddof=1)[a.filled.entries.columns]
    assert relative[0] == pytest.approx(expected.max(), rel=1e-9)


def test_hidden_entries_are_drawn(a, section):
    chart = next(block for block in section.blocks if isinstance(block, Chart) and block.key == "hidden")
    hidden = a.filled.hidden
    np.testing.assert_allclose(chart.data[0]["x"], (hidden.truth - hidden.column_means) / hidden.spread)


def test_impossible_entries_are_reported():
    random = np.random.default_rng(13)
    positive = np.exp(
        random.normal(size=(200, 1)) @ np.array([[1.0, 1.2, 0.8, 1.1]]) + 0.3 * random.normal(size=(200, 4))
    )
    table = np.where(random.random(positive.shape) < 0.2, np.nan, positive)
    a = analysis(table, standardize=True)
    below = np.count_nonzero(a.filled.completed < 0)
    assert below > 0
    text = _text(missing.section(a))
    assert f"\n{below} filled-in entr" in text
    assert "below zero, where no observed entry is" in text
    assert "logarithm" in text
    codes = np.where(np.isnan(table), np.nan, (positive > 1.0).astype(float) + (positive > 4.0))
    text = _text(missing.section(analysis(codes)))
    assert "Round to the whole numbers" in text and "logarithm" not in text


def test_complete_tables_have_no_such_section():
    assert missing.section(analysis(COMPLETE)) is None


def test_rows_that_are_not_in_memory(section, monkeypatch):
    monkeypatch.setattr(report_columns, "_HELD_BYTES", 0)
    a = analysis(X)
    assert _text(missing.section(a)) == _text(section)
