"""Filling in missing entries: against the entries that were removed, PPCA itself, and means where nothing is known."""

import numpy as np
import pytest

from lowdim import PPCA
from lowdim.reading import summarize
from lowdim.reporting import missing as module
from lowdim.summaries import Moments
from lowdim.summaries.base import union
from reporting.tables import analysis

RANDOM = np.random.default_rng(9)
#: Two components, in columns of the same units.
LOADINGS = RANDOM.uniform(1.5, 3.0, (2, 8)) * RANDOM.choice([-1, 1], (2, 8))
COMPLETE = RANDOM.normal(size=(400, 2)) @ LOADINGS + RANDOM.normal(size=(400, 8)) + 50
REMOVED = RANDOM.random(COMPLETE.shape) < 0.1
X = np.where(REMOVED, np.nan, COMPLETE)
ROWS, COLUMNS = np.nonzero(REMOVED)


def test_the_table_is_complete_and_observed_entries_stay():
    a = analysis(X)
    assert a.has_missing
    np.testing.assert_array_equal(a.values[~REMOVED], X[~REMOVED])
    assert np.isfinite(a.values).all()
    assert a.rows.names == a.names


def test_entries_are_expectations_of_the_model():
    found = analysis(X).filled
    entries = found.entries
    np.testing.assert_array_equal(entries.rows, ROWS)
    np.testing.assert_array_equal(entries.columns, COLUMNS)
    filled, spread = found.model.impute(X, return_std=True)
    np.testing.assert_array_equal(entries.values, filled[ROWS, COLUMNS])
    np.testing.assert_array_equal(entries.deviations, spread[ROWS, COLUMNS])
    assert isinstance(found.model, PPCA) and found.fitted_to == 400 and found.all_rows


def test_hidden_entries_tell_the_error_of_missing_ones():
    found = analysis(X).filled
    assert found.model.n_components_ == 2
    assert found.tried[:4] == [1, 2, 3, 4]
    away = found.entries.values - COMPLETE[ROWS, COLUMNS]
    units = COMPLETE.std(axis=0)[COLUMNS]
    error = np.sqrt(np.mean((away / units) ** 2))
    means = np.sqrt(np.mean(((np.nanmean(X, axis=0)[COLUMNS] - COMPLETE[ROWS, COLUMNS]) / units) ** 2))
    within = np.mean(np.abs(away) <= 1.96 * found.entries.deviations)
    # Two samples of about 300 and 430 entries.
    assert found.hidden.error == pytest.approx(error, rel=0.15)
    assert found.hidden.error_of_means == pytest.approx(means, rel=0.15)
    assert found.hidden.within == pytest.approx(within, abs=0.04)
    assert 0.9 < within < 0.99


def test_hidden_entries_are_observed_ones_that_the_model_has_not_seen():
    hidden = analysis(X).filled.hidden
    rows, columns = hidden.rows, hidden.columns
    assert not REMOVED[rows, columns].any()
    np.testing.assert_array_equal(hidden.truth, X[rows, columns])
    np.testing.assert_allclose(hidden.spread, np.nanstd(X, axis=0, ddof=1)[columns])
    size = int(0.05 * np.count_nonzero(~REMOVED))
    assert len(hidden.truth) == -(-400 // size) * size
    # With a model that had seen them, the deviation of the errors would be that of the noise at most.
    first = slice(0, size)
    left = X.copy()
    left[rows[first], columns[first]] = np.nan
    means = np.nanmean(left, axis=0)
    np.testing.assert_allclose(hidden.column_means[first], means[columns[first]])
    model = PPCA(2, prior="vb").fit(left)
    np.testing.assert_allclose(hidden.values[first], model.impute(left)[rows[first], columns[first]], rtol=1e-5)


def test_errors_are_in_units_of_the_columns():
    entries = (np.arange(3), np.arange(3), np.array([1.0, 2.0, 3.0]), np.array([1.0, 1.0, 0.1]))
    hidden = module.Hidden(*entries, np.array([2.0, 2.0, 4.0]), np.array([2.0, 4.0, 4.0]), np.array([1.0, 2.0, 0.5]))
    assert hidden.error == pytest.approx(np.sqrt((1 + 0 + 4) / 3))
    assert hidden.error_of_means == pytest.approx(np.sqrt((0 + 1 + 0) / 3))
    assert hidden.within == pytest.approx(2 / 3)


def test_without_structure_means_are_filled_in():
    noise = RANDOM.normal(size=(200, 30))
    a = analysis(np.where(RANDOM.random(noise.shape) < 0.05, np.nan, noise))
    hidden = a.filled.hidden
    assert hidden.error == pytest.approx(hidden.error_of_means, rel=0.01)
    # Filling in has made no component.
    assert a.choices["parallel"].k == 0


def test_units_do_not_matter_where_they_differ():
    factors = 10.0 ** np.arange(-4, 4)
    one, other = analysis(X * factors), analysis(X, scale=True)
    assert one.scale and other.scale
    np.testing.assert_allclose(one.filled.entries.values / factors[COLUMNS], other.filled.entries.values, rtol=1e-6)
    assert one.filled.hidden.error == pytest.approx(other.filled.hidden.error, rel=1e-6)


def test_rows_that_are_not_in_memory_are_filled_in_on_the_way(request):
    held = analysis(X)
    request.getfixturevalue("not_held")
    a = analysis(X)
    assert not a.opened.held and a.values is None
    np.testing.assert_allclose(a.filled.entries.values, held.filled.entries.values, rtol=1e-9)
    np.testing.assert_allclose(np.concatenate(list(a.rows.blocks(100))), held.values, rtol=1e-9)
    expected = summarize(held.values, Moments(8))
    np.testing.assert_allclose(union(a.pieces).scatter, expected.scatter, rtol=1e-7, atol=1e-6)
    assert {rule: a.choices[rule].k for rule in a.choices if rule != "cv"} == {
        rule: held.choices[rule].k for rule in held.choices if rule != "cv"
    }
    np.testing.assert_allclose(a.model.components_, held.model.components_, atol=1e-6)


def test_large_tables_are_filled_in_by_a_model_of_some_rows(monkeypatch):
    monkeypatch.setattr(module, "_FITTED_TO", 150)
    monkeypatch.setattr(module, "_CHOSEN_FROM", 100)
    found = analysis(X).filled
    assert found.fitted_to == 150 and not found.all_rows
    assert found.model.n_samples_ == 150
    assert np.isfinite(found.completed).all()
    assert np.sqrt(np.mean((found.entries.values - COMPLETE[ROWS, COLUMNS]) ** 2)) < 2.0


def test_weights_repeat_rows():
    weights = RANDOM.integers(1, 3, 400)
    found = analysis(X, sample_weight=weights.astype(float)).filled
    model = PPCA(found.model.n_components_, prior="vb").fit(np.repeat(X, weights, axis=0))
    np.testing.assert_allclose(found.completed, model.impute(X), rtol=1e-4)


def test_empty_rows_and_columns_with_two_entries():
    table = X.copy()
    table[5] = np.nan
    table[2:, 3] = np.nan
    table[:2, 3] = [1.0, 2.0]
    found = analysis(table).filled
    assert np.isfinite(found.completed).all()
    # Nothing is known of an empty row but the means.
    np.testing.assert_allclose(found.completed[5], found.model.mean_)
    assert 3 not in found.hidden.columns


def test_a_complete_table_has_no_missing_entries():
    assert analysis(COMPLETE).filled is None


def test_too_few_entries_to_hide():
    found = analysis(np.array([[1.0, np.nan, 2.0], [2.0, 3.0, 1.0], [np.nan, 4.0, 5.0]])).filled
    assert found.hidden is None and found.tried == []
    assert np.isfinite(found.completed).all()
