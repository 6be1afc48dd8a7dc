"""Rows that do not fit: contributions that add up, planted outliers that are found, and the counts in sentences."""

import numpy as np
import pytest

from lowdim import ICA, PCA, PPCA, FactorAnalysis, KernelPCA
from lowdim.inspect import diagnose, hotelling_t2, q_residuals
from lowdim.reporting.outliers import contributions
from reporting.tables import clusters, prose, section_of, values

X, GROUPS = clusters(300)


def _section(rows, **options):
    return section_of(rows, "misfits", **options)


@pytest.mark.parametrize("scale", [False, True])
@pytest.mark.parametrize("k", [1, 3, 6])
def test_contributions_add_up(scale, k):
    model = PCA(k, scale=scale).fit(X)
    found = contributions(model, X)
    np.testing.assert_allclose(found.t2.sum(axis=1), hotelling_t2(model, X), rtol=1e-9)
    np.testing.assert_allclose(found.q.sum(axis=1), q_residuals(model, X), rtol=1e-7, atol=1e-18)


def test_contributions_of_components_without_variance():
    rows = np.column_stack([X[:, :2], X[:, 0] - X[:, 1]])
    model = PCA(3).fit(rows)
    found = contributions(model, rows)
    two = PCA(2).fit(rows)
    np.testing.assert_allclose(found.t2.sum(axis=1), hotelling_t2(two, rows), rtol=1e-7)


def test_the_column_of_a_wrong_entry_is_responsible():
    random = np.random.default_rng(4)
    common = random.standard_normal((200, 2)) @ random.standard_normal((2, 8))
    rows = common + 0.1 * random.standard_normal((200, 8))
    rows[17, 5] += 3.0
    rows[42, 2] -= 3.0
    found = contributions(PCA(2).fit(rows), rows)
    assert np.argmax(found.q[17]) == 5 and found.above_predicted[17, 5]
    assert np.argmax(found.q[42]) == 2 and not found.above_predicted[42, 2]
    text = prose(_section(rows, n_components=2, scale=False))
    assert "x6 (higher than expected)" in text and "x3 (lower than expected)" in text
    assert "Row 18 " in text and "Row 43 " in text


def test_columns_contribute_to_t2_by_the_entries_of_the_row():
    rows = np.random.default_rng(8).standard_normal((200, 1)) @ np.ones((1, 5))
    rows += 0.3 * np.random.default_rng(9).standard_normal((200, 5))
    rows[3] = rows.mean(axis=0)
    rows[3, 1], rows[3, 4] = 9.0, -0.5
    found = contributions(PCA(1).fit(rows), rows)
    assert np.argmax(found.t2[3]) == 1 and found.above_mean[3, 1]
    # This entry makes the row less extreme.
    assert found.t2[3, 4] < 0 and not found.above_mean[3, 4]
    np.testing.assert_allclose(found.t2[3, [0, 2, 3]], 0.0, atol=0.1 * found.t2[3, 1])


def test_counts_in_words_are_those_of_diagnose():
    expected = diagnose(PCA(2).fit(X), X)
    text = prose(_section(X, hue=GROUPS, n_components=2, scale=False))
    assert f"{len(expected.t2_outliers)} rows" in text and f"{len(expected.q_outliers)} rows" in text
    assert "about 15 (5%)" in text


def test_the_table_says_whether_it_has_all_rows():
    def title(rows):
        widgets = [block for block in _section(rows, n_components=2, scale=False).blocks if hasattr(block, "values")]
        return widgets[0].table.title

    assert title(X[:50]) == "All 50 rows, beginning with the one that fits worst"
    assert title(X) == "The 200 rows that fit worst"


@pytest.mark.parametrize("scale", [False, True])
def test_values_of_the_chart(scale):
    ids = [f"tree {i}" for i in range(300)]
    shown = values(_section(X, labels=ids, n_components=2, scale=scale))
    expected = diagnose(PCA(2, scale=scale).fit(X), X)
    np.testing.assert_allclose(shown["t2"], expected.t2, rtol=1e-6)
    np.testing.assert_allclose(shown["q"], expected.q, rtol=1e-5)
    np.testing.assert_allclose([shown["t2_limit"], shown["q_limit"]], [expected.t2_limit, expected.q_limit], rtol=1e-12)
    explained = shown["explained"]
    order = [entry["point"] for entry in explained]
    excess = np.maximum(expected.t2 / expected.t2_limit, expected.q / expected.q_limit)
    assert order == np.argsort(-excess, kind="stable")[:200].tolist()
    for entry in explained[:20]:
        assert shown["labels"][entry["point"]] == f"tree {entry['point']}"
        for name, whole in (("t2", expected.t2), ("q", expected.q)):
            np.testing.assert_allclose(sum(bar[1] for bar in entry[name]), whole[entry["point"]], rtol=1e-5)


def test_bars_of_many_columns_end_with_the_sum_of_the_others():
    random = np.random.default_rng(5)
    shown = values(_section(random.standard_normal((60, 30)), n_components=2))
    entry = shown["explained"][0]
    assert len(entry["q"]) == 13 and entry["q"][-1][0] == "18 other columns"
    np.testing.assert_allclose(sum(bar[1] for bar in entry["q"]), shown["q"][entry["point"]], rtol=1e-5)


def test_a_group_that_is_over_represented_is_named():
    random = np.random.default_rng(6)
    odd = np.arange(600) < 40
    rows = random.standard_normal((600, 2)) @ random.standard_normal((2, 6)) + 0.1 * random.standard_normal((600, 6))
    rows[odd] += 0.5 * random.standard_normal((40, 6))
    labels = np.where(odd, "odd", np.where(np.arange(600) % 2, "one", "two"))
    assert "odd (group) is over-represented" in prose(_section(rows, hue=labels, n_components=2))
    shuffled = random.permutation(labels)
    assert "over-represented" not in prose(_section(rows, hue=shuffled, n_components=2))


def test_more_and_fewer_rows_than_by_chance_are_reported():
    random = np.random.default_rng(7)
    scales = np.where(random.random(800) < 0.2, 4.0, 1.0)
    cases = {
        "clearly more than that beyond the limit of T2": scales[:, None] * random.standard_normal((800, 4)),
        "clearly fewer beyond the limit of T2": random.uniform(-1, 1, (800, 4)) * [1.0, 0.9, 0.01, 0.01],
    }
    for text, rows in cases.items():
        assert text in prose(_section(rows, n_components=2, scale=False))
    usual = random.standard_normal((800, 4)) * [4, 3, 2, 1]
    assert "clearly" not in prose(_section(usual, n_components=2, scale=False))


def test_components_that_describe_everything_leave_no_q():
    text = prose(_section(X, n_components=6))
    assert "Q is zero" in text and "limit of Q" not in text


def test_extreme_rows_and_rows_that_fit_badly_are_told_apart():
    random = np.random.default_rng(12)
    directions = np.linalg.qr(random.standard_normal((6, 6)))[0]
    rows = random.standard_normal((200, 6)) * [5, 4, 0.5, 0.5, 0.5, 0.5]
    rows[21], rows[43] = [60, 0, 0, 0, 0, 0], [0, 0, 5, 0, 0, 0]
    names = [f"tree {i}" for i in range(200)]
    section = _section(rows @ directions, labels=names, n_components=2, scale=False)
    text, limits = prose(section), diagnose(PCA(2).fit(rows), rows)
    times = limits.t2[21] / limits.t2_limit, limits.q[43] / limits.q_limit
    assert f"tree 21 is the most extreme row within the components (T2 is {times[0]:.2g} times the limit)" in text
    assert f"tree 43 fits worst: it is farthest from the components (Q is {times[1]:.2g} times the limit)" in text
    assert "Chance may explain" not in text
    # Without these rows, the farthest ones are what is to be expected of 198 rows.
    usual = _section(np.delete(rows, [21, 43], axis=0), n_components=2, scale=False)
    assert "Chance may explain this: the farthest of 198 Gaussian rows" in prose(usual) and usual.summary == ""


def test_names_of_rows_are_not_changed():
    rows = X.copy()
    rows[11] += 50.0
    ids = [f"tree {i}" for i in range(300)]
    assert "tree 11 is the most extreme row" in prose(_section(rows, labels=ids, n_components=2, scale=False))


def test_no_section_for_too_few_rows():
    assert _section(X[:3], n_components=2) is None


@pytest.mark.filterwarnings("ignore::lowdim.errors.HeywoodWarning")
@pytest.mark.filterwarnings("ignore:.*look Gaussian:lowdim.errors.GaussianWarning")
@pytest.mark.parametrize("model", [FactorAnalysis(2), ICA(2, random_state=0), KernelPCA(3), PPCA(2)])
def test_rows_are_compared_with_pca_of_as_many_components(model):
    shown = values(_section(X, model=model.fit(X)))
    expected = diagnose(PCA(int(model.n_components_)).fit(X), X)
    np.testing.assert_allclose(shown["q"], expected.q, rtol=1e-5, atol=1e-10)
    np.testing.assert_allclose(shown["t2"], expected.t2, rtol=1e-5)
