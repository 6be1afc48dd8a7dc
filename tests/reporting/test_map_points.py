"""The second pass: its points, ends, groups and densities, against direct computations from all rows; and that it
finds the same in memory, from files, from Dask, and for any cut of the rows."""

import numpy as np
import pytest
from scipy import stats

from lowdim.inspect import diagnose
from lowdim.reporting import map as seen_module
from lowdim.reporting.columns import groupings
from lowdim.reporting.map import REACH, ScoredRows, SecondPass, chosen_rows, largest, points_of_map
from reporting.tables import analysis, clusters, named

X, GROUPS = clusters(900)
FEW, _ = clusters(200)
FIELDS = ("numbers", "entries", "scores", "t2", "q", "misfit", "kept")


@pytest.fixture
def few_points(monkeypatch):
    """Maps of at most 100 points, of which at least 10 in each group."""
    monkeypatch.setattr(seen_module, "_POINTS", 100)
    monkeypatch.setattr(seen_module, "_OF_EACH_GROUP", 15)


def test_of_a_small_table_every_row_is_seen():
    a = analysis(X, hue=GROUPS, n_components=2)
    found = a.second
    assert not found.is_sample and found.densities is None and found.chosen.all()
    np.testing.assert_array_equal(found.rows.numbers, np.arange(900))
    np.testing.assert_array_equal(found.rows.entries, X)
    expected = diagnose(a.model, named(X))
    assert found.t2_beyond == len(expected.t2_outliers)
    assert found.q_beyond == len(expected.q_outliers)
    assert found.beyond == len(expected.outliers)
    outside = GROUPS[expected.outliers]
    assert found.beyond_in_groups[0].tolist() == [int((outside == name).sum()) for name in np.unique(GROUPS)]


def test_groups_are_described_by_all_their_rows(few_points):
    a = analysis(X, hue=GROUPS, n_components=2)
    Z = np.asarray(a.full.scores(named(X)))
    for spread, name in zip(a.second.groups[0], np.unique(GROUPS), strict=True):
        of_group = Z[name == GROUPS]
        assert spread.rows == len(of_group)
        np.testing.assert_allclose(spread.mean, of_group.mean(axis=0), atol=1e-10)
        np.testing.assert_allclose(spread.covariance, np.cov(of_group.T), atol=1e-10)
    np.testing.assert_allclose(a.second.spread.covariance, np.cov(Z.T), atol=1e-10)


def test_the_share_between_groups_is_that_of_an_analysis_of_variance():
    a = analysis(X, hue=GROUPS, n_components=2)
    Z = np.asarray(a.full.scores(named(X)))
    names = np.unique(GROUPS)
    for k, found in enumerate(a.second.between(0)):
        F = stats.f_oneway(*(Z[name == GROUPS, k] for name in names)).statistic
        ratio = F * (len(names) - 1) / (len(X) - len(names))
        np.testing.assert_allclose(found, ratio / (1 + ratio), rtol=1e-9)


def test_a_sample_keeps_the_ends_the_misfits_and_the_groups(few_points):
    a = analysis(X, hue=GROUPS, n_components=2)
    found, kept = a.second, set(a.second.rows.numbers.tolist())
    assert found.is_sample and found.n == 900 and len(kept) < 600
    whole = a.scoring(X, np.arange(900))
    for column in whole.scores.T:
        order = np.argsort(column)
        assert kept >= set(order[:10].tolist()) | set(order[-10:].tolist())
    assert kept >= set(np.argsort(-whole.misfit)[:200].tolist())
    assert kept >= set(np.argsort(-whole.kept)[:10].tolist()) | set(np.argsort(whole.kept)[:10].tolist())
    chosen = found.rows.numbers[found.chosen]
    sizes = {name: int((GROUPS[chosen] == name).sum()) for name in np.unique(GROUPS)}
    assert sizes == {name: max(15, round(100 * np.mean(name == GROUPS))) for name in sizes}
    # What is kept of a row is what was computed of it.
    for name in FIELDS:
        np.testing.assert_allclose(
            getattr(found.rows, name), getattr(whole, name)[found.rows.numbers], rtol=1e-9, atol=1e-9
        )


def test_densities_count_all_rows(few_points):
    a = analysis(X, n_components=2)
    Z = np.asarray(a.full.scores(named(X)))
    deviations = Z.std(axis=0, ddof=1)
    assert [(d["x"], d["y"]) for d in a.second.densities] == [(i, j) for i in range(5) for j in range(i + 1, 5)]
    for density in a.second.densities:
        assert density["counts"].sum() == 900
        np.testing.assert_allclose(
            density["x_edges"][[0, -1]], [-REACH * deviations[density["x"]], REACH * deviations[density["x"]]]
        )
        inside = [
            np.clip(Z[:, k], -0.999 * REACH * deviations[k], 0.999 * REACH * deviations[k])
            for k in (density["x"], density["y"])
        ]
        counts, _, _ = np.histogram2d(*inside, bins=[density["x_edges"], density["y_edges"]])
        # A row on an edge may be counted on either side of it.
        assert np.abs(density["counts"] - counts.T).sum() <= 4


def _assert_same(one, other):
    for name in FIELDS:
        np.testing.assert_allclose(getattr(one.rows, name), getattr(other.rows, name), rtol=1e-7, atol=1e-7)
    assert (one.n, one.t2_beyond, one.q_beyond, one.beyond) == (other.n, other.t2_beyond, other.q_beyond, other.beyond)
    np.testing.assert_array_equal(one.chosen, other.chosen)
    for mine, theirs in zip(one.groups[0], other.groups[0], strict=True):
        assert mine.rows == theirs.rows
        np.testing.assert_allclose(mine.mean, theirs.mean, rtol=1e-7, atol=1e-7)
    for mine, theirs in zip(one.densities, other.densities, strict=True):
        assert np.abs(mine["counts"] - theirs["counts"]).sum() <= 4


def test_rows_that_are_not_in_memory_give_the_same(few_points, request, tmp_path):
    dask = pytest.importorskip("dask.array")
    expected = analysis(X, hue=GROUPS, n_components=2, scale=False).second
    request.getfixturevalue("not_held")
    np.save(tmp_path / "rows.npy", X)
    for rows in (tmp_path / "rows.npy", dask.from_array(X, chunks=(170, 6))):
        a = analysis(rows, hue=GROUPS, n_components=2, scale=False)
        assert not a.opened.held
        _assert_same(a.second, expected)


def test_any_cut_of_the_rows_gives_the_same(few_points):
    a = analysis(X, hue=GROUPS, n_components=2)
    groups = groupings(a.opened.groups)
    table = np.column_stack([X, np.arange(900), groups[0].codes])
    empty = ScoredRows(6, a.scoring, chosen_rows(900, 100, groups, 0), [3], np.sqrt(a.full.explained_variance_))
    random = np.random.default_rng(1)
    for _ in range(3):
        parts = []
        for block in np.split(table, np.sort(random.choice(900, 7, replace=False))):
            part = empty.fresh()
            for piece in np.array_split(block, 2):
                part.update(piece)
            parts.append(part)
        total = empty.fresh()
        for i in random.permutation(len(parts)):
            total.merge(parts[i])
        _assert_same(SecondPass(total), a.second)


def test_weights_count_rows_and_rows_without_weight_are_not_seen():
    weights = np.random.default_rng(2).integers(0, 3, 900)
    a = analysis(X, hue=GROUPS, n_components=2, sample_weight=weights.astype(float), scale=False)
    repeated = np.repeat(X, weights, axis=0)
    np.testing.assert_array_equal(a.second.rows.numbers, np.flatnonzero(weights))
    Z = np.asarray(a.full.scores(named(repeated)))
    np.testing.assert_allclose(a.second.spread.covariance, np.cov(Z.T), atol=1e-9)
    twin = analysis(repeated, hue=np.repeat(GROUPS, weights), n_components=2, scale=False)
    np.testing.assert_allclose(a.second.between(0), twin.second.between(0), atol=1e-9)


def test_chosen_rows_are_distinct_and_follow_the_seed():
    found = chosen_rows(10_000, 500, [], 3)
    assert len(np.unique(found)) == 500 and np.all(np.diff(found) > 0)
    np.testing.assert_array_equal(found, chosen_rows(10_000, 500, [], 3))
    assert not np.array_equal(found, chosen_rows(10_000, 500, [], 4))
    # The parts of the table are equally likely.
    assert np.all(np.abs(np.histogram(found, bins=5, range=(0, 10_000))[0] - 100) < 40)


def test_rows_without_a_group_and_small_groups_are_chosen():
    labels = np.array([None] * 600 + ["common"] * 380 + ["rare"] * 20, dtype=object)
    second = np.array(["here"] * 990 + ["there"] * 10, dtype=object)
    groups = groupings({"first": labels, "second": second})
    found = chosen_rows(1000, 100, groups, 0)
    assert (found < 600).sum() >= 60
    assert set(range(980, 1000)) <= set(found.tolist())


@pytest.mark.parametrize(
    ("n", "p", "expected"), [(150, 4, 150), (10**6, 50, 6_000), (10**6, 784, 4000), (10**6, 20_000, 1000)]
)
def test_wide_tables_have_fewer_points(n, p, expected):
    assert points_of_map(n, p) == expected


def test_missing_groups_have_no_spread():
    labels = np.where(np.arange(900) == 0, "single", GROUPS).astype(object)
    labels[GROUPS == "cedar"] = None
    a = analysis(X, hue=labels, n_components=2)
    spreads = dict(zip(a.groupings[0].levels, a.second.groups[0], strict=True))
    assert spreads["single"].rows == 1 and spreads["single"].covariance is None
    assert sum(spread.rows for spread in spreads.values()) == int(np.sum([label is not None for label in labels]))


# Scores, T2 and Q of rows, against `diagnose`; and the rows at the ends, against sorting.


@pytest.mark.parametrize("scale", [False, True])
def test_scores_and_distances_are_those_of_diagnose(scale):
    a = analysis(FEW, n_components=3, scale=scale)
    rows = a.scoring(FEW, np.arange(len(FEW)))
    expected = diagnose(a.model, named(FEW))
    np.testing.assert_allclose(rows.scores[:, :3], expected.scores, atol=1e-10)
    np.testing.assert_allclose(rows.t2, expected.t2, rtol=1e-10)
    np.testing.assert_allclose(rows.q, expected.q, rtol=1e-9)
    np.testing.assert_array_equal(np.flatnonzero(rows.misfit > 1), expected.outliers)
    np.testing.assert_allclose(rows.kept, np.asarray(expected.cos2).sum(axis=1), atol=1e-12)


def test_a_row_at_the_mean_is_rebuilt_completely():
    a = analysis(FEW, n_components=2, scale=False)
    rows = a.scoring(np.asarray(a.model.mean_)[None, :], np.zeros(1, dtype=int))
    assert rows.kept[0] == 1.0 and rows.t2[0] == 0.0


def test_the_largest_values_come_first_and_ties_by_their_numbers():
    values = np.array([1.0, 5.0, 3.0, 5.0, 3.0, 3.0])
    assert largest(values, 4, np.arange(6)).tolist() == [1, 3, 2, 4]
    assert largest(values, 4, np.arange(6)[::-1]).tolist() == [3, 1, 5, 4]
    assert largest(values, 10, np.arange(6)).tolist() == [1, 3, 2, 4, 5, 0]


def test_too_few_rows_for_limits():
    a = analysis(FEW[:3], n_components=2)
    assert np.isinf(a.scoring.t2_limit) and np.isinf(a.scoring.q_limit)
    assert not np.any(a.second.rows.misfit > 0)
