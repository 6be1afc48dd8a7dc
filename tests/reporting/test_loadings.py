"""What components mean: sentences about columns that were put together on purpose, and charts of the loadings."""

import numpy as np
import pandas as pd

from lowdim import PCA
from lowdim.reporting.blocks import Chart, Listing, Menu, Prose
from lowdim.reporting.loadings import in_words, section
from reporting.tables import analysis, clusters, named, pictures

X, GROUPS = clusters(300)


def _common(loadings, n=400, noise=0.3, seed=0):
    """Rows with one common part, in columns named by letters."""
    random = np.random.default_rng(seed)
    rows = random.standard_normal((n, 1)) * np.array(loadings) + noise * random.standard_normal((n, len(loadings)))
    return pd.DataFrame(rows, columns=list("abcdefghijklmnop")[: len(loadings)])


def _charts(found):
    charts = [block for block in found.blocks if isinstance(block, Chart)]
    return charts + [chart for block in found.blocks if isinstance(block, Menu) for chart in block.charts.values()]


def test_columns_that_rise_together():
    text = in_words(analysis(_common([3, 2.9, 2.8, 0, 0.1]), n_components=2, standardize=False), 0)
    assert "rises with a, b and c together" in text


def test_a_contrast():
    text = in_words(analysis(_common([3, 2.9, -2.8, 0, 0]), n_components=2, standardize=False), 0)
    assert "contrasts a and b (at its high end) with c (at its low end)" in text


def test_an_overall_level():
    text = in_words(analysis(_common([1, 1.1, 1, 0.9]), n_components=2, standardize=True), 0)
    assert "is an overall level: all 4 columns rise with it" in text


def test_many_columns():
    random = np.random.default_rng(3)
    rows = _common(random.choice([-1, 1], 16) * random.uniform(0.8, 1.2, 16))
    a = analysis(rows, n_components=2, standardize=False)
    text = in_words(a, 0)
    half = int(np.searchsorted(np.cumsum(np.sort(a.meaning.weights[:, 0])[::-1]), 0.5)) + 1
    assert f"spread over many columns (half of its weight lies on {half} of them)" in text


def test_signs_that_are_uncertain_are_hedged():
    random = np.random.default_rng(4)
    rows = pd.DataFrame(random.standard_normal((12, 4)), columns=list("abcd"))
    a = analysis(rows, n_components=2, standardize=True)
    assert a.meaning.uncertain.any()
    text = " ".join(in_words(a, k) for k in range(2))
    assert "uncertain" in text


def test_ends_are_told_by_groups():
    a = analysis(X, labels=GROUPS, n_components=2, standardize=False)
    means = {name: np.asarray(a.full.scores(named(X)))[name == GROUPS].mean(axis=0) for name in np.unique(GROUPS)}
    for k in range(2):
        high, low = (end(means, key=lambda name: means[name][k]) for end in (max, min))
        text = in_words(a, k)
        assert f"large for {high}" in text or f"small for {low}" in text
        assert f"large for {low}" not in text and f"small for {high}" not in text


def test_a_component_that_depends_on_one_row():
    rows = _common([3, 2.9, 2.8, 0, 0.1])
    rows.loc[7, "d"] = 60.0
    texts = [in_words(analysis(rows, n_components=2, standardize=False), k) for k in range(2)]
    assert any("to a single row, row 7" in text for text in texts)


def test_a_component_of_many_columns_names_both_of_its_ends():
    rows = _common([*np.linspace(1.3, 1.1, 8), *np.linspace(-0.9, -0.8, 6)], noise=0.1)
    text = in_words(analysis(rows, n_components=2, standardize=False), 0)
    assert "contrasts a, b and c (at its high end) with i, j and k (at its low end)" in text


def test_a_small_part_at_the_other_end_is_not_told():
    rows = _common([*np.linspace(1.3, 1.1, 12), -0.3, -0.3], noise=0.1)
    text = in_words(analysis(rows, n_components=2, standardize=False), 0)
    assert "rises with a, b, c, d, e and f together" in text


def test_half_of_the_weight_on_few_columns():
    rows = _common([3, 2.9, 2.8, *[1.3] * 11, 0], noise=0.1)
    text = in_words(analysis(rows, n_components=2, standardize=False), 0)
    assert "has half of its weight on 3 columns and the rest on many; it rises with a, b, c" in text


def test_how_well_directions_are_determined():
    # The bootstrap finds out for one of these tables, and only the test of equal variances for the other.
    for seed, turned in ((1, True), (5, False)):
        rows = np.random.default_rng(seed).standard_normal((500, 5)) * [6.0, 2.0, 2.0, 0.5, 0.3]
        found = section(analysis(rows, n_components=3, standardize=False))
        text = " ".join(block.text for block in found.blocks if isinstance(block, Prose))
        assert "The direction of PC1 is well determined" in text
        assert ("mostly towards PC3" in text and "mostly towards PC2" in text) == turned
        assert "so similar that they may be equal (PC2 with PC3)" in text


def test_a_component_of_a_given_model_may_turn_towards_one_that_the_model_does_not_have():
    rows = np.random.default_rng(0).standard_normal((60, 6))
    text = " ".join(block.text for block in section(analysis(rows, model=PCA(2))).blocks if isinstance(block, Prose))
    assert "mostly towards PC3" in text or "mostly towards PC4" in text


def test_bars_are_the_loadings_in_order():
    a = analysis(X, n_components=2, standardize=False)
    menu = next(block for block in section(a).blocks if isinstance(block, Menu))
    assert len(menu.charts) == 2
    for k, chart in enumerate(menu.charts.values()):
        (trace,) = chart.data
        np.testing.assert_allclose(np.sort(a.meaning.loadings[:, k])[::-1], trace["x"])
        order = np.argsort(-a.meaning.loadings[:, k], kind="stable")
        np.testing.assert_allclose(trace["x"] + trace["error_x"]["array"], a.meaning.high[order, k])
        np.testing.assert_allclose(trace["x"] - trace["error_x"]["arrayminus"], a.meaning.low[order, k])
        assert chart.layout["yaxis"]["ticktext"] == [a.names[j] for j in order]


def test_of_many_columns_the_largest_loadings_of_each_sign_are_shown():
    random = np.random.default_rng(6)
    a = analysis(random.standard_normal((80, 60)), n_components=2)
    chart = next(iter(next(block for block in section(a).blocks if isinstance(block, Menu)).charts.values()))
    values = a.meaning.loadings[:, 0]
    expected = np.concatenate([np.sort(values[values > 0])[::-1][:20], np.sort(values[values <= 0])[::-1][-20:]])
    np.testing.assert_allclose(chart.data[0]["x"], expected)


def test_components_of_pictures_are_pictures():
    a = analysis(pictures(), n_components=4)
    (chart,) = _charts(section(a))
    assert chart.key == "component-pictures" and len(chart.data) == 12
    W = np.zeros(54)
    W[a.used] = np.asarray(a.full.components_)[2]
    # Heat maps begin at the bottom.
    np.testing.assert_allclose(np.asarray(chart.data[2]["z"])[::-1], W.reshape(6, 9), atol=1e-6)


def test_the_circle_and_the_biplot():
    a = analysis(X, labels=GROUPS, n_components=2, standardize=False)
    charts = {chart.key: chart for chart in _charts(section(a))}
    tips = charts["correlation-circle"].data[1]
    Z = np.asarray(a.full.scores(named(X)))
    for x, y, name in zip(tips["x"], tips["y"], tips["customdata"], strict=True):
        column = X[:, a.names.index(name)]
        np.testing.assert_allclose([x, y], [np.corrcoef(column, Z[:, k])[0, 1] for k in range(2)], atol=1e-9)
        assert x * x + y * y <= 1 + 1e-9
    points = [trace for trace in charts["biplot"].data if trace["mode"] == "markers"]
    assert [trace["name"] for trace in points] == ["ash", "beech", "cedar"]
    assert sum(len(trace["x"]) for trace in points) == 300
    together = np.concatenate([trace["x"] for trace in points])
    np.testing.assert_allclose(together.std(ddof=1), 1.0, rtol=1e-5)


def test_points_without_a_label_look_like_no_group():
    labels = np.array([None, *GROUPS[1:]], dtype=object)
    charts = {chart.key: chart for chart in _charts(section(analysis(X, labels=labels, n_components=2)))}
    points = [trace for trace in charts["biplot"].data if trace["mode"] == "markers"]
    assert [trace["name"] for trace in points] == ["no label", "ash", "beech", "cedar"]
    assert len({(trace["marker"]["color"], trace["marker"]["symbol"]) for trace in points}) == 4


def test_captions_tell_how_many_columns_have_no_arrow():
    rows = np.random.default_rng(9).standard_normal((200, 2))
    # Two columns have the same arrow.
    charts = {chart.key: chart for chart in _charts(section(analysis(rows[:, [0, 1, 0]], n_components=2)))}
    assert "1 column has no arrow" in charts["biplot"].caption


def test_curves_are_drawn_as_curves():
    waves = np.linspace(0, 3, 60)
    random = np.random.default_rng(7)
    bands = np.exp(-((waves - np.array([[0.5], [1.5], [2.4]])) ** 2) / 0.05)
    a = analysis(random.gamma(2.0, size=(90, 3)) @ bands + 1e-3 * random.standard_normal((90, 60)), n_components=2)
    menu = next(block for block in section(a).blocks if isinstance(block, Menu))
    trace = next(iter(menu.charts.values())).data[-1]
    assert trace["mode"] == "lines"
    np.testing.assert_allclose(trace["y"], a.meaning.loadings[:, 0])
    assert "rises most at" in in_words(a, 0)


def test_rows_at_both_ends():
    a = analysis(X, ids=[f"tree {i}" for i in range(300)], n_components=2, standardize=False)
    (listing,) = (block for block in section(a).blocks if isinstance(block, Listing))
    Z = np.asarray(a.full.scores(named(X)))
    table = listing.table
    for row, k, order in ((0, 0, np.argsort(-Z[:, 0])), (1, 0, np.argsort(Z[:, 0])), (3, 1, np.argsort(Z[:, 1]))):
        for place, i in zip(("farthest", "second", "third"), order, strict=False):
            assert table[place][row] == f"tree {i}: {Z[i, k]:.3g}"


def test_names_in_charts_are_harmless():
    rows = _common([3, 2.9, 2.8, 0, 0.1])
    rows.columns = ["<b>bold</b>", "a" * 5000, "c & d", "\u202eback", "</script>"]
    found = section(analysis(rows, n_components=2))
    for chart in _charts(found):
        assert "<b>" not in str(chart.data) and "</script>" not in str(chart.data) and "a" * 200 not in str(chart.data)
    assert all(len(block.text) < 1500 for block in found.blocks if isinstance(block, Prose))
