"""Rebuilding: rows from components, against `inverse_transform`, and errors, against the rows themselves."""

import numpy as np
import pytest

from lowdim.reporting import reconstruction
from lowdim.reporting.blocks import Chart, Prose, Widget
from lowdim.reporting.reconstruction import section
from reporting.tables import analysis, clusters, named, pictures

X, GROUPS = clusters(300)


def _block(found, kind):
    (block,) = (block for block in found.blocks if isinstance(block, kind))
    return block


def _rebuilt(found, k):
    rebuilt = found.scores[:, :k] @ found.components[:k]
    return found.mean + (rebuilt if found.scale is None else rebuilt * found.scale)


@pytest.mark.parametrize("standardize", [False, True])
def test_rows_are_rebuilt_as_the_model_does(standardize):
    a = analysis(X, labels=GROUPS, n_components=2, standardize=standardize)
    found = a.rebuilding
    numbers = list(found.chosen)
    np.testing.assert_array_equal(found.rows, X[numbers])
    scores = np.asarray(a.full.scores(named(X[numbers])))
    np.testing.assert_allclose(found.scores, scores, atol=1e-10)
    for k in (0, 2, 6):
        kept = np.where(np.arange(scores.shape[1]) < k, scores, 0.0)
        np.testing.assert_allclose(_rebuilt(found, k), a.full.inverse_transform(kept), atol=1e-10)
    np.testing.assert_allclose(_rebuilt(found, 6), X[numbers], atol=1e-10)


def test_what_is_lost_is_what_is_lost_of_the_rows():
    a = analysis(X, n_components=2, standardize=False)
    found, centred = a.rebuilding, X - X.mean(axis=0)
    W = np.asarray(a.full.components_)
    for k in range(7):
        rest = centred - centred @ W[:k].T @ W[:k]
        np.testing.assert_allclose(found.lost[k], (rest**2).sum() / (centred**2).sum(), atol=1e-12)
        # The variances have the divisor n - 1.
        np.testing.assert_allclose(found.off_by[k] ** 2, (rest**2).mean() * 300 / 299, atol=1e-12)


def test_pictures_have_all_their_pixels():
    rows = pictures() + 2.0
    a = analysis(rows, n_components=4)
    found = a.rebuilding
    assert a.p < 54 and found.components.shape[1] == 54
    numbers = list(found.chosen)
    np.testing.assert_array_equal(found.rows, rows[numbers])
    np.testing.assert_allclose(_rebuilt(found, len(found.components)), rows[numbers], atol=1e-8)
    assert (found.low, found.high) == (rows.min(), rows.max())
    rest = rows - rows.mean(axis=0)
    W = found.components[:4]
    rest = rest - rest @ W.T @ W
    np.testing.assert_allclose(found.off_by[4] ** 2, (rest**2).mean() * 300 / 299, rtol=1e-9)
    values = _block(section(a), Widget).values
    assert values["shape"] == [6, 9] and len(values["columns"]) == 54
    assert "a typical pixel is off by" in _block(section(a), Prose).text


def test_typical_best_and_worst_rows_are_chosen():
    a = analysis(X, labels=GROUPS, n_components=2)
    chosen = a.rebuilding.chosen
    typical = [row for row, kind in chosen.items() if kind == "typical"]
    assert sorted(GROUPS[typical]) == ["ash", "beech", "cedar"]
    rows = a.second.rows
    worst = set(np.argsort(rows.kept)[:4].tolist())
    assert {row for row, kind in chosen.items() if kind == "worst"} <= worst
    assert worst <= set(chosen)
    best = set(np.argsort(-rows.kept)[:4].tolist())
    assert best <= set(chosen)
    kinds = list(analysis(X, n_components=2).rebuilding.chosen.values())
    assert kinds.count("other") == 10


def test_a_typical_row_is_near_the_mean_of_its_group():
    a = analysis(X, labels=GROUPS, n_components=2, standardize=False)
    Z = np.asarray(a.full.scores(named(X)))
    Z = Z / Z.std(axis=0)
    for row, kind in a.rebuilding.chosen.items():
        if kind == "typical":
            members = GROUPS[row] == GROUPS
            distances = ((Z[members] - Z[members].mean(axis=0)) ** 2).sum(axis=1)
            assert np.isclose(distances.min(), ((Z[row] - Z[members].mean(axis=0)) ** 2).sum())


def test_wide_tables_have_fewer_components(monkeypatch):
    monkeypatch.setattr(reconstruction, "_ENTRIES", 18)
    found = analysis(X, n_components=2).rebuilding
    assert found.components.shape == (3, 6) and len(found.lost) == 4


def test_words_and_table_follow_from_the_numbers():
    a = analysis(X, n_components=2, standardize=False)
    found, values = section(a), np.asarray(a.full.explained_variance_ratio_)
    assert f"With 2 components, {values[:2].sum():.1%} of the variance is kept." in _block(found, Prose).text
    table = _block(found, Chart).table
    np.testing.assert_allclose(table["share lost"], [1.0, *(1 - np.cumsum(values))], atol=1e-12)


def test_no_section_without_two_columns():
    assert section(analysis(X[:, :1])) is None
