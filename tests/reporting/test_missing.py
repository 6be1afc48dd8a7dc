"""Missing entries: counts and patterns against pandas, and tests against SciPy."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from lowdim.reporting.missing import Missing
from reporting.tables import analysis

RANDOM = np.random.default_rng(7)
COMPLETE = np.round(RANDOM.normal(size=(300, 5)) @ RANDOM.normal(size=(5, 5)), 1)


def _with_missing(at_random):
    X = COMPLETE.copy()
    X[RANDOM.random(300) < 0.1, 3] = np.nan
    if at_random:
        X[RANDOM.random(300) < 0.2, 1] = np.nan
    else:
        # Column 1 is missing where column 0 is large.
        X[RANDOM.random(300) < 0.6 * (X[:, 0] > np.quantile(X[:, 0], 0.6)), 1] = np.nan
    return X


def _missing(X):
    return Missing(X, np.isnan(X).sum(axis=0))


def test_counts_and_patterns():
    X = _with_missing(True)
    found = _missing(X)
    frame = pd.DataFrame(np.isnan(X))
    expected = frame.value_counts()
    assert found.counts.tolist() == expected.tolist()
    assert {tuple(p): c for p, c in zip(found.patterns, found.counts, strict=True)} == expected.to_dict()
    assert found.complete == int((~frame.any(axis=1)).sum())
    assert found.empty == 0 and found.rows == 300


def test_p_values_are_those_of_mann_and_whitney_after_holm():
    X = _with_missing(False)
    found = _missing(X)
    raw = {}
    for column in (1, 3):
        where = np.isnan(X[:, column])
        for other in set(range(5)) - {column}:
            one, two = (X[some & ~np.isnan(X[:, other]), other] for some in (where, ~where))
            raw[column, other] = stats.mannwhitneyu(one, two, method="asymptotic", use_continuity=False).pvalue
    assert found.tests == len(raw) == 8
    holm, so_far = {}, 0.0
    for i, pair in enumerate(sorted(raw, key=raw.get)):
        so_far = max(so_far, min(1.0, raw[pair] * (len(raw) - i)))
        holm[pair] = so_far
    significant = {pair: p for pair, p in holm.items() if p <= 0.05}
    assert (1, 0) in significant
    assert {(d.column, d.other) for d in found.differences} == set(significant)
    for d in found.differences:
        assert d.p_value == pytest.approx(significant[d.column, d.other], rel=1e-9)
        where = np.isnan(X[:, d.column])
        assert d.median_missing == np.nanmedian(X[where, d.other])
        assert d.median_observed == np.nanmedian(X[~where, d.other])


def test_missing_entries_at_random_are_rarely_taken_for_something_else():
    alarms = 0
    for _ in range(200):
        X = np.where(RANDOM.random((60, 6)) < 0.12, np.nan, np.exp(RANDOM.normal(size=(60, 6))))
        alarms += bool(_missing(X).differences)
    # Together the tests have a level of 5%, and Holm's method keeps below it.
    assert stats.binomtest(alarms, 200, 0.05, alternative="greater").pvalue > 1e-4


def test_few_missing_entries_are_not_tested():
    X = COMPLETE.copy()
    X[:4, 2] = np.nan
    found = _missing(X)
    assert found.tests == 0 and found.differences == []
    assert analysis(COMPLETE).missing is None


def test_of_rows_that_are_not_in_memory_a_sample_is_looked_at(request, monkeypatch):
    X = _with_missing(False)
    expected = analysis(X).missing
    request.getfixturevalue("not_held")
    found = analysis(X).missing
    assert found.counts.tolist() == expected.counts.tolist()
    assert found.differences == expected.differences
    monkeypatch.setattr("lowdim.reporting.passes._SAMPLED", 100)
    monkeypatch.setattr("lowdim.reporting.passes._FEWEST_SAMPLED", 1)
    found = analysis(X).missing
    assert found.rows == found.counts.sum() == 100
    np.testing.assert_array_equal(found.by_column, np.isnan(X).sum(axis=0))
