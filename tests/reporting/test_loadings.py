"""What components mean: sentences about columns that were put together on purpose, and charts of the loadings, against
eigenvectors, correlations and the bootstrap."""

import re

import numpy as np
import pandas as pd
import pytest

from lowdim import ICA, PCA, FactorAnalysis, KernelPCA, bootstrap
from reporting.tables import charts, clusters, listings, menus, named, pictures, prose, section_of

X, GROUPS = clusters(300)


def _common(loadings, n=400, noise=0.3, seed=0):
    """Rows with one common part, in columns named by letters."""
    random = np.random.default_rng(seed)
    rows = random.standard_normal((n, 1)) * np.array(loadings) + noise * random.standard_normal((n, len(loadings)))
    return pd.DataFrame(rows, columns=list("abcdefghijklmnop")[: len(loadings)])


def _section(rows, **options):
    return section_of(rows, "meaning", **options)


def _in_words(section, k):
    """What is said of a component; nothing if nothing is."""
    return next((line for line in prose(section).splitlines() if line.startswith(f"PC{k + 1} ")), "")


def _first(rows, scale=False):
    """What is said of the first component."""
    return _in_words(_section(rows, n_components=2, scale=scale), 0)


def _loadings(section, names):
    """Tables of the charts of the loadings, by component, with the columns in the order of their names."""
    tables = [chart.table for chart in menus(section)["loadings"].values()]
    return [{name: table[name][[table.rows.index(each) for each in names]] for name in table} for table in tables]


NAMES = [f"x{j}" for j in range(1, 7)]


def test_columns_that_rise_together():
    text = _first(_common([3, 2.9, 2.8, 0, 0.1]))
    assert "rises with a, b and c together" in text


def test_a_contrast():
    text = _first(_common([3, 2.9, -2.8, 0, 0]))
    assert "contrasts a and b (at its high end) with c (at its low end)" in text


def test_an_overall_level():
    text = _first(_common([1, 1.1, 1, 0.9]), scale=True)
    assert "is an overall level: all 4 columns rise with it" in text


def test_several_factors_with_which_all_columns_rise_are_not_called_levels():
    random = np.random.default_rng(0)
    strong = np.repeat([[0.9, 0.5], [0.5, 0.9]], 4, axis=0)
    rows = pd.DataFrame(random.standard_normal((400, 2)) @ strong.T, columns=list("abcdefgh"))
    rows += 0.3 * random.standard_normal(rows.shape)
    section = _section(rows, model=FactorAnalysis(2, rotation="varimax"))
    said = re.findall(r"F\d \([^)]*\) rises with all 8 columns, most of all (.), (.) and (.)", prose(section))
    assert sorted(set(names) <= set("abcd") for names in said) == sorted(set(names) <= set("efgh") for names in said)
    assert len(said) == 2 and all(set(names) <= set("abcd") or set(names) <= set("efgh") for names in said)
    assert "level" not in prose(section) + section.summary


def test_many_columns():
    random = np.random.default_rng(3)
    rows = _common(random.choice([-1, 1], 16) * random.uniform(0.8, 1.2, 16))
    text = _first(rows)
    weights = PCA(1).fit(rows).components_[0] ** 2
    half = int(np.searchsorted(np.cumsum(np.sort(weights)[::-1]), 0.5)) + 1
    assert f"spread over many columns (half of its weight lies on {half} of them)" in text


def test_signs_that_are_uncertain_are_hedged():
    random = np.random.default_rng(4)
    rows = pd.DataFrame(random.standard_normal((12, 4)), columns=list("abcd"))
    section = _section(rows, n_components=2, scale=True)
    assert any(np.any(table["low"] * table["high"] <= 0) for table in _loadings(section, list("abcd")))
    said = re.findall(r"the signs? of ([^;.]*) (?:is|are) uncertain", _in_words(section, 0) + _in_words(section, 1))
    assert said
    for names in said:
        several = " and " in names
        assert f"the sign{'s' * several} of {names} {'are' if several else 'is'} uncertain" in prose(section)


def test_ends_are_told_by_groups():
    section = _section(X, hue=GROUPS, n_components=2, scale=False)
    Z = PCA().fit_transform(X)
    means = {name: Z[name == GROUPS].mean(axis=0) for name in np.unique(GROUPS)}
    for k in range(2):
        high, low = (end(means, key=lambda name: means[name][k]) for end in (max, min))
        text = _in_words(section, k)
        assert f"high for {high}" in text or f"low for {low}" in text
        assert f"high for {low}" not in text and f"low for {high}" not in text


def test_groups_are_told_with_the_name_of_their_column():
    made = _section(X, hue=pd.Series(GROUPS, name="species"), n_components=2, scale=False)
    said = _in_words(made, 0) + made.summary
    names = "|".join(np.unique(GROUPS))
    found = re.findall(r"(?:separates|from|high for|low for) (\w+) (\w+)", said)
    assert found and all(name == "species" and re.fullmatch(names, level) for name, level in found)


def test_a_component_that_depends_on_one_row():
    rows = _common([3, 2.9, 2.8, 0, 0.1])
    rows.loc[7, "d"] = 60.0
    section = _section(rows, n_components=2, scale=False)
    texts = [_in_words(section, k) for k in range(2)]
    assert any("to a single row, row 8" in text for text in texts)


def test_a_component_of_many_columns_names_both_of_its_ends():
    rows = _common([*np.linspace(1.3, 1.1, 8), *np.linspace(-0.9, -0.8, 6)], noise=0.1)
    text = _first(rows)
    assert "contrasts a, b and c (at its high end) with i, j and k (at its low end)" in text


def test_a_small_part_at_the_other_end_is_not_described():
    rows = _common([*np.linspace(1.3, 1.1, 12), -0.3, -0.3], noise=0.1)
    text = _first(rows)
    assert "rises with a, b, c, d, e and f together" in text


def test_half_of_the_weight_on_few_columns():
    rows = _common([3, 2.9, 2.8, *[1.3] * 11, 0], noise=0.1)
    text = _first(rows)
    assert "has half of its weight on 3 columns and the rest on many; it rises with a, b, c" in text


def test_the_top_of_the_page_says_what_the_first_components_mean():
    random = np.random.default_rng(1)
    wine = np.repeat(["red", "white"], 100)
    rows = _common([3, 2.9, -2.8, 0, 0.1], n=200)
    rows.loc[wine == "red", ["a", "b"]] += 40
    rows.loc[wine == "red", "c"] -= 40
    rows["d"] += 5 * random.standard_normal(200)
    made = _section(rows, hue=wine, n_components=2, scale=False).summary
    first, second = re.findall(r"PC\d \([^)]*\) [^.]*\.", made)
    ends = "separates red (high) from white (low); it rises with b and a, and falls with c."
    assert first.endswith(ends) or first.endswith(ends.replace("b and a", "a and b"))
    assert second.endswith("rises with d.")
    # Means that differ by one deviation separate nothing.
    rows.loc[wine == "red", ["a", "b", "c"]] += np.array([-36.5, -36.5, 36.5])
    assert "separates" not in _section(rows, hue=wine, n_components=2, scale=False).summary
    # Of columns that have nothing to do with each other, nothing is said.
    noise = pd.DataFrame(random.standard_normal((200, 4)), columns=list("abcd"))
    assert _section(noise).summary == ""


def test_a_row_that_makes_up_a_component_is_named_with_what_to_do():
    rows = _common([3, 2.9, -2.8, 0, 0.1], n=200, noise=1.0)
    rows.loc[11, "d"] = 100.0
    names = [f"animal {i}" for i in range(200)]
    names[11] = "elephant"
    made = _section(rows, labels=names, n_components=2, scale=False)
    scores = PCA(2).fit_transform(rows) ** 2
    k = int(np.argmax(scores[11] / scores.sum(axis=0)))
    owed = 100 * scores[11, k] / scores[:, k].sum()
    said = f"elephant alone makes up {owed:.1f}% of the variance of PC{k + 1}: fit again without it, and compare."
    assert said in made.summary
    assert "alone makes up" not in _section(rows.drop(index=11), n_components=2, scale=False).summary


def test_how_well_directions_are_determined():
    # The bootstrap finds out for one of these tables, and only the test of equal variances for the other.
    for seed, turned in ((1, True), (0, False)):
        rows = np.random.default_rng(seed).standard_normal((500, 5)) * [6.0, 2.0, 2.0, 0.5, 0.3]
        text = prose(_section(rows, n_components=3, scale=False))
        assert "The direction of PC1 is well determined" in text
        assert ("mostly towards PC3" in text and "mostly towards PC2" in text) == turned
        assert re.search(r"The variances of PC2 \(.*%\) and PC3 \(.*%\) differ no more than chance explains", text)
        assert "the plane of both" in text
    # Of three that may be equal, no pair has a plane of its own.
    rows = np.random.default_rng(0).standard_normal((500, 5)) * [6.0, 2.0, 2.0, 2.0, 0.3]
    text = prose(_section(rows, n_components=4, scale=False))
    of = r"The variances of PC2 \([^)]*\), PC3 \([^)]*\) and PC4 \([^)]*\) differ from one to the next no more than"
    assert re.search(of, text) and text.count("The variances of") == 1
    assert "of those that are equal, only the space that they span is determined" in text


def test_a_component_of_a_given_model_may_turn_towards_one_that_the_model_does_not_have():
    rows = np.random.default_rng(0).standard_normal((60, 6))
    text = prose(_section(rows, model=PCA(2)))
    assert "mostly towards PC3" in text or "mostly towards PC4" in text


def test_bars_are_the_loadings_in_order():
    section = _section(X, n_components=2, scale=False)
    expected = PCA(2).fit(X).loadings_
    (menu,) = menus(section).values()
    assert len(menu) == 2
    for k, chart in enumerate(menu.values()):
        (trace,) = chart.data
        np.testing.assert_allclose(np.sort(expected[:, k])[::-1], trace["x"])
        order = np.argsort(-expected[:, k], kind="stable")
        np.testing.assert_allclose(trace["x"] + trace["error_x"]["array"], chart.table["high"])
        np.testing.assert_allclose(trace["x"] - trace["error_x"]["arrayminus"], chart.table["low"])
        assert chart.layout["yaxis"]["ticktext"] == chart.table.rows == [f"x{j + 1}" for j in order]


@pytest.mark.parametrize("scale", [False, True])
def test_loadings_and_correlations(scale):
    section = _section(X, n_components=3, scale=scale)
    C = np.corrcoef(X.T) if scale else np.cov(X.T)
    eigenvalues, vectors = np.linalg.eigh(C)
    order = np.argsort(-eigenvalues)[:3]
    found = np.column_stack([table["loading"] for table in _loadings(section, NAMES)])
    np.testing.assert_allclose(np.abs(found), np.abs(vectors[:, order]) * np.sqrt(eigenvalues[order]), atol=1e-10)
    shares = eigenvalues[order] / eigenvalues.sum()
    assert list(menus(section)["loadings"]) == [f"PC{k + 1} ({100 * share:.1f}%)" for k, share in enumerate(shares)]
    correlations = np.corrcoef(X.T, PCA(3, scale=scale).fit_transform(X).T)[:6, 6:]
    if scale:
        np.testing.assert_allclose(found, correlations, atol=1e-10)
        assert all("correlation" not in table for table in _loadings(section, NAMES))
    else:
        found = np.column_stack([table["correlation"] for table in _loadings(section, NAMES)])
        np.testing.assert_allclose(found, correlations, atol=1e-10)


def test_intervals_are_those_of_the_bootstrap():
    section = _section(X, n_components=2, scale=False)
    draws = bootstrap(PCA(4), named(X), n_resamples=200, random_state=0)
    low, high = draws.interval("loadings")[:, :, :2]
    for k, (table, chart) in enumerate(
        zip(_loadings(section, NAMES), menus(section)["loadings"].values(), strict=True)
    ):
        assert "95% of 200 bootstrap samples" in chart.caption
        np.testing.assert_allclose(table["low"], low[:, k], atol=1e-12)
        np.testing.assert_allclose(table["high"], high[:, k], atol=1e-12)
        assert np.all(table["low"] <= table["loading"]) and np.all(table["loading"] <= table["high"])
        pale = dict(zip(chart.table.rows, chart.data[0]["marker"]["opacity"] < 1, strict=True))
        assert [pale[name] for name in NAMES] == ((low[:, k] <= 0) & (high[:, k] >= 0)).tolist()


def test_intervals_of_rows_that_are_not_in_memory_are_similar(request, tmp_path):
    X, _ = clusters(3000)
    options = {"n_components": 2, "scale": False}
    expected = _loadings(_section(X, **options), NAMES)
    np.save(tmp_path / "rows.npy", X)
    request.getfixturevalue("not_held")
    found = _loadings(_section(tmp_path / "rows.npy", **options), NAMES)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one["loading"], other["loading"], atol=1e-9)
    low, high = (np.array([[t[name] for t in tables] for tables in (found, expected)]) for name in ("low", "high"))
    widths = high - low
    np.testing.assert_allclose(low[0], low[1], atol=0.3 * widths[1].max())
    np.testing.assert_allclose(high[0], high[1], atol=0.3 * widths[1].max())
    assert 0.7 < widths[0].mean() / widths[1].mean() < 1.4


def test_intervals_of_columns_without_a_part_hold_zero():
    random = np.random.default_rng(2)
    common = random.standard_normal((200, 1))
    rows = np.hstack([common + 0.3 * random.standard_normal((200, 3)), random.standard_normal((200, 2))])
    table = _loadings(_section(rows, n_components=2, scale=True), NAMES[:5])[0]
    uncertain = (table["low"] <= 0) & (table["high"] >= 0)
    assert not uncertain[:3].any() and uncertain[3:].any()


@pytest.mark.filterwarnings("ignore:.*look Gaussian:lowdim.errors.GaussianWarning")
@pytest.mark.filterwarnings("ignore::lowdim.errors.HeywoodWarning")
@pytest.mark.parametrize("model", [FactorAnalysis(2), ICA(2, random_state=0), KernelPCA(2)])
def test_other_models(model):
    tables = _loadings(_section(X, model=model.fit(X)), NAMES)
    # Components of kernel PCA have no loadings but the correlations.
    name = "loading" if isinstance(model, KernelPCA) else "correlation"
    found = np.column_stack([table[name] for table in tables])
    expected = np.corrcoef(X.T, np.asarray(model.transform(X)).T)[:6, 6:]
    if isinstance(model, FactorAnalysis):
        # With the factors themselves, not with their estimated scores.
        expected = model.loadings_ / np.sqrt(np.diag(model.get_covariance()))[:, None]
    np.testing.assert_allclose(found, expected, atol=1e-9)
    if isinstance(model, FactorAnalysis):
        np.testing.assert_allclose(np.column_stack([table["loading"] for table in tables]), model.loadings_)
    assert all("low" not in table and "high" not in table for table in tables)


def test_large_tables_are_drawn_less_often():
    random = np.random.default_rng(3)
    for shape, few, many in (((40, 30), 200, 200), ((420, 430), 25, 99)):
        section = _section(random.standard_normal(shape), n_components=2)
        caption = charts(section)["loadings-1"].caption
        n_resamples = int(caption.partition("95% of ")[2].partition(" bootstrap")[0])
        assert few <= n_resamples <= many


def test_few_rows_have_no_intervals():
    section = _section(X[:6], n_components=2)
    for chart in menus(section)["loadings"].values():
        assert "low" not in chart.table and "error_x" not in chart.data[0]
        assert np.all(chart.data[0]["marker"]["opacity"] == 1)
    assert "well determined" not in prose(section)


def test_of_many_columns_the_largest_loadings_of_each_sign_are_shown():
    random = np.random.default_rng(6)
    rows = random.standard_normal((80, 60))
    chart = charts(_section(rows, n_components=2, scale=False))["loadings-1"]
    values = PCA(1).fit(rows).loadings_[:, 0]
    expected = np.concatenate([np.sort(values[values > 0])[::-1][:20], np.sort(values[values <= 0])[::-1][-20:]])
    np.testing.assert_allclose(chart.data[0]["x"], expected)


def test_components_of_pictures_are_pictures():
    rows = pictures()
    section = _section(rows, n_components=4)
    ((key, chart),) = charts(section).items()
    assert key == "component-pictures" and len(chart.data) == 12
    varying = rows.std(axis=0) > 0
    assert not varying.all()
    W = np.zeros(54)
    W[varying] = PCA(3).fit(rows[:, varying]).components_[2]
    # Heat maps begin at the bottom.
    np.testing.assert_allclose(np.asarray(chart.data[2]["z"])[::-1], W.reshape(6, 9), atol=1e-6)


def test_the_circle_and_the_biplot():
    drawn = charts(_section(X, hue=GROUPS, n_components=2, scale=False))
    tips = drawn["correlation-circle"].data[1]
    Z = PCA(2).fit_transform(X)
    for x, y, name in zip(tips["x"], tips["y"], tips["customdata"], strict=True):
        column = X[:, NAMES.index(name)]
        np.testing.assert_allclose([x, y], [np.corrcoef(column, Z[:, k])[0, 1] for k in range(2)], atol=1e-9)
        assert x * x + y * y <= 1 + 1e-9
    points = [trace for trace in drawn["biplot"].data if trace["mode"] == "markers"]
    assert [trace["name"] for trace in points] == ["ash", "beech", "cedar"]
    assert sum(len(trace["x"]) for trace in points) == 300
    together = np.concatenate([trace["x"] for trace in points])
    np.testing.assert_allclose(together.std(ddof=1), 1.0, rtol=1e-5)


def test_points_without_a_label_look_like_no_group():
    labels = np.array([None, *GROUPS[1:]], dtype=object)
    shown = charts(_section(X, hue=labels, n_components=2))
    points = [trace for trace in shown["biplot"].data if trace["mode"] == "markers"]
    assert [trace["name"] for trace in points] == ["no label", "ash", "beech", "cedar"]
    assert len({(trace["marker"]["color"], trace["marker"]["symbol"]) for trace in points}) == 4


def test_curves_are_drawn_as_curves():
    waves = np.linspace(0, 3, 60)
    random = np.random.default_rng(7)
    bands = np.exp(-((waves - np.array([[0.5], [1.5], [2.4]])) ** 2) / 0.05)
    rows = random.gamma(2.0, size=(90, 3)) @ bands + 1e-3 * random.standard_normal((90, 60))
    section = _section(rows, n_components=2)
    trace = next(iter(menus(section)["loadings"].values())).data[-1]
    assert trace["mode"] == "lines"
    np.testing.assert_allclose(trace["y"], PCA(1).fit(rows).loadings_[:, 0])
    assert "rises most at" in _in_words(section, 0)


def test_rows_at_both_ends():
    ids = [f"tree {i}" for i in range(300)]
    (table,) = listings(_section(X, labels=ids, n_components=2, scale=False))
    Z = PCA(2).fit_transform(X)
    for row, k, order in ((0, 0, np.argsort(-Z[:, 0])), (1, 0, np.argsort(Z[:, 0])), (3, 1, np.argsort(Z[:, 1]))):
        for place, i in zip(("farthest", "second", "third"), order, strict=False):
            assert table[place][row] == f"tree {i}: {Z[i, k]:.3g}"


def test_names_in_charts_are_harmless():
    rows = _common([3, 2.9, 2.8, 0, 0.1])
    rows.columns = ["<b>bold</b>", "a" * 5000, "c & d", "\u202eback", "</script>"]
    section = _section(rows, n_components=2)
    for chart in charts(section).values():
        assert "<b>" not in str(chart.data) and "</script>" not in str(chart.data) and "a" * 200 not in str(chart.data)
    assert all(len(line) < 1500 for line in prose(section).splitlines())


def _weighted_correlations(Y, Z, weights):
    covariance = np.cov(np.column_stack([Y, Z]).T, aweights=weights)
    deviations = np.sqrt(np.diag(covariance))
    return (covariance / np.outer(deviations, deviations))[: Y.shape[1], Y.shape[1] :]


@pytest.mark.parametrize("weighted", [False, True])
def test_supplementary_columns_take_no_part_in_the_fit(held, weighted):
    X, _ = clusters(300)
    weights = np.arange(300) % 4 if weighted else None
    table = named(X)
    table.loc[5, "x2"] = np.nan
    options = {"sample_weight": weights, "n_components": 2, "scale": False}
    section = _section(table, supplementary_columns=["x2", "x6"], **options)
    model = PCA(2).fit(table[["x1", "x3", "x4", "x5"]], sample_weight=weights)
    Z, Y = np.asarray(model.transform(table[["x1", "x3", "x4", "x5"]])), table[["x2", "x6"]].to_numpy()
    expected = np.empty((2, 2))
    for j in range(2):
        known = np.isfinite(Y[:, j])
        expected[j] = _weighted_correlations(
            Y[known, j : j + 1], Z[known], None if weights is None else weights[known]
        )[0]
    found = next(table for table in listings(section) if "supplementary" in table.title)
    assert found.rows == ["x2", "x6"]
    np.testing.assert_allclose(found.values, expected, atol=1e-9)
    circle = charts(section)["correlation-circle"]
    assert set(circle.table.rows) == {"x1", "x3", "x4", "x5"}
    heads = [trace for trace in circle.data if trace["mode"] == "markers+text"]
    assert [trace["name"] for trace in heads] == ["columns", "supplementary columns"]
    np.testing.assert_allclose(np.column_stack([heads[1]["x"], heads[1]["y"]]), expected, atol=1e-9)
    assert "2 supplementary columns took no part in the fit" in prose(section)


def test_no_arrow_is_left_out_without_a_word():
    random = np.random.default_rng(0)
    X = named(random.standard_normal((80, 30)))
    shown = charts(_section(X, n_components=2))
    for key, most in (("biplot", 12), ("correlation-circle", 25)):
        (heads,) = (trace for trace in shown[key].data if trace["mode"] == "markers+text")
        dropped = [name for name in X.columns if name not in heads["customdata"]]
        assert len(shown[key].table) == 30 and len(heads["x"]) <= most and dropped
        assert "have no arrow" in shown[key].caption
    # Few columns have all their arrows, even if two of them end at the same place, where there is room for one name.
    few = X[["x1", "x2", "x3"]].assign(twin=X["x1"])
    drawn = charts(_section(few, n_components=2))["correlation-circle"]
    (heads,) = (trace for trace in drawn.data if trace["mode"] == "markers+text")
    assert len(heads["x"]) == 4 and "no arrow" not in drawn.caption
    unnamed = next(name for name, text in zip(heads["customdata"], heads["text"], strict=True) if not text)
    assert f"There is no room for the name of {unnamed}." in drawn.caption
