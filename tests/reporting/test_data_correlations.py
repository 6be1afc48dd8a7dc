"""Correlations against NumPy, for rows in memory, in files and with weights; clusters, copies and chance."""

import numpy as np
import pytest
from scipy import stats

from lowdim.reporting import columns as report_columns
from lowdim.reporting import data as module
from reporting.tables import analysis

RANDOM = np.random.default_rng(6)
FACTORS = RANDOM.normal(size=(300, 3))
#: Three groups of columns, of which each has one factor, in turns.
X = FACTORS[:, [0, 1, 2] * 4] * ([1, -1] * 6) + 0.3 * RANDOM.normal(size=(300, 12)) + 1e6


def _matrix(found):
    """The correlations in the order of the columns."""
    R = np.empty_like(found.matrix)
    R[np.ix_(found.shown, found.shown)] = found.matrix
    return R


@pytest.mark.parametrize("limit", [1 << 30, 0])
def test_matrix_and_strongest_pairs(monkeypatch, limit):
    monkeypatch.setattr(report_columns, "_HELD_BYTES", limit)
    found = analysis(X).correlations
    expected = np.corrcoef(X, rowvar=False)
    np.testing.assert_allclose(_matrix(found), expected, atol=1e-9)
    sizes = np.sort(np.abs(expected[np.triu_indices(12, 1)]))[::-1]
    np.testing.assert_allclose([abs(r) for _, r in found.strongest], sizes[:12], atol=1e-9)
    for pair, r in found.strongest:
        assert r == pytest.approx(expected[pair], abs=1e-9)
    assert found.pairs == 66
    assert found.beyond_half == np.count_nonzero(sizes > 0.5)


def test_columns_of_a_group_lie_side_by_side():
    shown = analysis(X).correlations.shown
    assert sorted(shown.tolist()) == list(range(12))
    assert np.count_nonzero(np.diff(shown % 3)) == 2


@pytest.mark.parametrize("limit", [1 << 30, 0])
def test_weights_repeat_rows(monkeypatch, limit):
    monkeypatch.setattr(report_columns, "_HELD_BYTES", limit)
    weights = RANDOM.integers(1, 4, 300)
    found = analysis(X, sample_weight=weights.astype(float)).correlations
    np.testing.assert_allclose(_matrix(found), np.corrcoef(np.repeat(X, weights, axis=0), rowvar=False), atol=1e-9)


def test_copies_and_columns_that_are_the_same_up_to_shift_and_scale():
    table = RANDOM.normal(size=(100, 7))
    table[:, 3] = table[:, 0]
    table[:, 5] = 32 - 1.8 * table[:, 1]
    table[:, 6] = table[:, 2] + 1e-4 * RANDOM.normal(size=100)
    found = analysis(table).correlations
    assert found.copies == [[0, 3]]
    assert found.rescaled == [[1, 5]]
    assert found.strongest[0][0] == (2, 6)


def test_of_many_columns_those_with_the_largest_correlations_are_shown(monkeypatch):
    monkeypatch.setattr(module, "_SHOWN", 6)
    table = RANDOM.normal(size=(200, 20))
    related = [2, 3, 11, 12, 17, 19]
    table[:, related] += 2 * RANDOM.normal(size=(200, 1))
    found = analysis(table).correlations
    assert sorted(found.shown.tolist()) == related
    assert found.matrix.shape == (6, 6)
    monkeypatch.setattr(module, "_COMPUTED", 5)
    found = analysis(table).correlations
    assert found.among.tolist() == [0, 5, 10, 14, 19]
    assert sorted(found.shown.tolist()) == [0, 5, 10, 14, 19]


def test_chance_exceeds_the_bound_in_about_five_of_a_hundred_tables():
    n, p = 40, 6
    bound = analysis(RANDOM.normal(size=(n, p))).correlations.chance
    largest = [np.abs(np.corrcoef(RANDOM.normal(size=(n, p)), rowvar=False) - np.eye(p)).max() for _ in range(2000)]
    times = int(np.sum(np.array(largest) > bound))
    # Bonferroni's bound is never exceeded more often, and with few pairs not much less often.
    assert stats.binomtest(times, 2000, 0.05).pvalue > 1e-4
