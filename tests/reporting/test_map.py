"""The map: the values of its chart, and its sentences, against the rows."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from lowdim import ICA, PCA, PPCA, FactorAnalysis, KernelPCA
from reporting.tables import clusters, pictures, prose, section_of, values

X, GROUPS = clusters(500)
IDS = [f"tree {i}" for i in range(500)]


def _section(rows, **options):
    return section_of(rows, "map", **options)


def test_points_are_the_scores():
    shown = values(_section(X, hue=GROUPS, labels=IDS, n_components=2, scale=False))
    model = PCA().fit(X)
    Z = model.transform(X)
    assert [part["name"] for part in shown["components"]] == [f"PC{k}" for k in range(1, 7)]
    for part, scores, ratio in zip(shown["components"], Z.T, model.explained_variance_ratio_, strict=True):
        assert part["scores"].dtype == np.float32
        np.testing.assert_allclose(part["scores"], scores, atol=1e-5)
        assert part["title"] == f"{part['name']} ({100 * ratio:.1f}%)"
    assert [column["name"] for column in shown["columns"]] == [f"x{j}" for j in range(1, 7)]
    np.testing.assert_allclose(np.column_stack([column["values"] for column in shown["columns"]]), X, rtol=1e-6)
    assert shown["labels"] == IDS and shown["numbers"].tolist() == list(range(1, 501)) and shown["rows"] == 500
    assert shown["densities"] is None and shown["supplementary"] is None and shown["note"] == ""


def test_groups_and_their_ellipses():
    shown = values(_section(X, hue=GROUPS, n_components=2, scale=False))
    (group,) = shown["groups"]
    assert group["levels"] == ["ash", "beech", "cedar"]
    np.testing.assert_array_equal(np.array(group["levels"])[group["codes"]], GROUPS)
    Z = PCA().fit_transform(X)
    for name, ellipse in zip(group["levels"], group["ellipses"], strict=True):
        assert ellipse["rows"] == (name == GROUPS).sum()
        np.testing.assert_allclose(ellipse["covariance"].reshape(6, 6), np.cov(Z[name == GROUPS].T), atol=1e-9)
    # The ellipse holds 95% of a Gaussian: 1 - exp(-r^2 / 2).
    np.testing.assert_allclose(1 - np.exp(-(shown["radius"] ** 2) / 2), 0.95)


def test_two_rows_have_no_ellipse_and_numbers_are_colours():
    labels = np.where(np.arange(500) < 2, "rare", "common")
    (group,) = values(_section(X, hue=labels))["groups"]
    assert dict(zip(group["levels"], group["ellipses"], strict=True))["rare"] is None
    heights = np.linspace(10, 30, 500)
    shown = values(_section(X, hue=heights))
    assert shown["groups"] == [] and shown["columns"][-1]["name"] == "group"
    np.testing.assert_allclose(shown["columns"][-1]["values"], heights, rtol=1e-6)


def test_supplementary_rows_are_marked():
    further = np.vstack([X[400:450], np.full((1, 6), np.nan)])
    section = _section(X[:400], hue=GROUPS[:400], labels=IDS[:400], supplementary=further, scale=False)
    shown = values(section)
    assert shown["supplementary"].tolist() == [0] * 400 + [1] * 50
    Z = PCA().fit(X[:400]).transform(X[400:450])
    np.testing.assert_allclose(shown["components"][1]["scores"][400:], Z[:, 1], atol=1e-5)
    assert set(shown["groups"][0]["codes"][400:].tolist()) == {-1}
    assert shown["labels"][400] == "supplementary 1" and shown["numbers"][400:].tolist() == list(range(1, 51))
    said = prose(section)
    assert "50 supplementary rows that took no part in the fit are marked." in said
    assert "1 supplementary row is not shown, since it has entries that are missing or infinite." in said


def test_supplementary_rows_may_be_far_away_but_not_beyond_squares():
    section = _section(X, supplementary=np.full((1, 6), 1e150))
    assert "1 supplementary row that took no part in the fit is marked." in prose(section)
    with pytest.raises(ValueError, match="too large for their squares"):
        _section(X, supplementary=np.full((1, 6), 1e200))


def test_a_sample_says_so():
    rows, groups = clusters(7000, 5)
    section = _section(rows, hue=groups, n_components=2)
    shown, text = values(section), prose(section)
    assert len(shown["numbers"]) < 7000
    assert f"{len(shown['numbers']):,} of the 7,000 rows" in text and shown["rows"] == 7000
    assert all(density["counts"].sum() == 7000 for density in shown["densities"])
    assert len(shown["densities"]) == 10


def test_of_many_columns_those_with_most_weight_are_offered():
    # A map holds at most 600,000 entries, 200 of each of these rows.
    rows = np.random.default_rng(5).standard_normal((3000, 203))
    rows[:, [7, 99]] *= [90.0, 80.0]
    shown = values(_section(rows, model=PPCA(2)))
    assert [column["name"] for column in shown["columns"][:2]] == ["x8", "x100"] and len(shown["columns"]) == 200
    assert shown["note"].startswith("Of 203 columns, the 200 with most weight")
    few = values(_section(pictures(), n_components=2))
    assert len(few["columns"]) <= 12 and "pixels" in few["note"]


def test_sentences_on_groups():
    text = prose(_section(X, hue=GROUPS, scale=False))
    Z = PCA().fit_transform(X)
    # The share between groups, by an analysis of variance.
    F = stats.f_oneway(*(Z[name == GROUPS] for name in np.unique(GROUPS))).statistic
    ratio = F * 2 / (500 - 3)
    between = ratio / (1 + ratio)
    best = int(np.argmax(between))
    assert f"differ most along PC{best + 1}: {100 * between[best]:.1f}% of its variance" in text
    shuffled = np.random.default_rng(0).permutation(GROUPS)
    said = prose(_section(X, hue=shuffled, scale=False))
    F = stats.f_oneway(*(Z[name == shuffled] for name in np.unique(shuffled))).statistic
    most = 100 * np.max(F * 2 / (500 - 3) / (1 + F * 2 / (500 - 3)))
    assert f"hardly differ along any of these components (at most {most:.2g}% of the variance of one is" in said
    many = np.array([f"kind {i % 60}" for i in range(len(X))])
    pooled = prose(_section(X, hue=many))
    assert "The groups (the 31 least frequent ones counted as one)" in pooled


def test_groups_that_differ_along_a_component_that_is_not_used():
    random = np.random.default_rng(2)
    codes = np.arange(200) % 2
    rows = random.standard_normal((200, 4)) * [20.0, 2.0, 1.5, 0.5]
    rows[:, 3] += 2 * codes
    section = _section(rows, hue=codes.astype(str), n_components=1, scale=False)
    Z = PCA().fit(rows)
    F = stats.f_oneway(*(Z.transform(rows)[codes == code] for code in (0, 1)))
    k = int(np.argmin(F.pvalue))
    share = 100 * Z.explained_variance_ratio_[k]
    assert 4 * F.pvalue[k] < 0.001 and k > 0
    said = f"differ most along PC{k + 1} ({share:.2g}% of the variance), although the report uses only 1 component"
    assert said in section.summary and "(p < 0.001, corrected for 4 comparisons)" in section.summary


def test_groups_that_nobody_asked_for_are_news_only_if_they_differ_along_a_component_that_is_used():
    random = np.random.default_rng(2)
    codes = np.arange(200) % 2
    rows = pd.DataFrame(random.standard_normal((200, 4)) * [20.0, 5.0, 1.5, 0.5], columns=list("abcd"))
    table = rows.assign(d=rows["d"] + 2 * codes, kind=np.where(codes, "x", "y"))
    options = {"n_components": 2, "scale": False}
    assert "differ most along PC" in prose(_section(table, **options)) and _section(table, **options).summary == ""
    assert "although the report uses only 2 components" in _section(table, hue="kind", **options).summary
    moved = table.assign(d=rows["d"], a=rows["a"] + 20 * codes)
    assert "differ in part along PC1" in _section(moved, **options).summary
    # Groups of another column that the top of the page tells of with the components.
    both = moved.assign(colour=np.where(rows["b"] > 0, "red", "blue"))
    assert "The groups by kind differ" in prose(_section(both, **options)) and _section(both, **options).summary == ""


def test_groups_that_differ_by_chance_are_not_said_to_differ():
    random = np.random.default_rng(3)
    found = []
    for _ in range(10):
        rows = random.standard_normal((21, 8)) * np.linspace(3, 1, 8)
        summary = _section(rows, hue=random.permutation(np.repeat(list("abc"), 7)), n_components=1, scale=False).summary
        found.append("differ most" in summary or "differ in part" in summary)
        assert found[-1] or "hardly differ" in summary or "which may be chance" in summary
    # With a level of 1%, two of ten are found by chance with a probability below 0.5%.
    assert sum(found) < 2


def test_groups_that_are_apart_and_groups_that_overlap():
    random = np.random.default_rng(1)
    codes = np.repeat([0, 1, 2], 100)
    rows = random.standard_normal((300, 4)) + np.array([[0, 0], [20, 0], [21, 0.5]])[codes] @ np.eye(2, 4)
    labels = np.array(["alone", "twin", "double"])[codes]
    text = prose(_section(rows, hue=labels, scale=False))
    assert "alone lies apart from all others" in text and "There, double and twin overlap." in text
    rows[codes == 2] += [0, 30, 0, 0]
    text = prose(_section(rows, hue=labels, scale=False))
    assert "all groups are apart from each other" in text and "overlap" not in text
    text = prose(_section(rows[100:], hue=labels[100:], scale=False))
    assert "both groups are apart from each other" in text


def test_far_rows_are_named_and_usual_ones_are_not():
    random = np.random.default_rng(2)
    rows = random.standard_normal((400, 5)) * [3, 2, 1, 1, 1]
    assert "Farthest" not in prose(_section(rows, scale=False))
    rows[123, :2] = [30, -20]
    assert "Farthest from the middle: row 124, " in prose(_section(rows, scale=False))


@pytest.mark.parametrize(("scales", "words"), [((9, 3, 0.5, 0.5), "most of how"), ((1, 1, 1, 1.1), "further axes")])
def test_what_the_axes_hold(scales, words):
    rows = np.random.default_rng(3).standard_normal((300, 4)) * scales
    text = prose(_section(rows, scale=False))
    share = PCA().fit(rows).explained_variance_ratio_[:2].sum()
    assert f"PC1 and PC2 together hold {100 * share:.1f}%" in text and words in text


@pytest.mark.filterwarnings("ignore:.*look Gaussian:lowdim.errors.GaussianWarning")
@pytest.mark.filterwarnings("ignore::lowdim.errors.HeywoodWarning")
@pytest.mark.parametrize("model", [FactorAnalysis(2), ICA(2, random_state=0), KernelPCA(3), PPCA(2)])
def test_other_models_are_mapped_by_their_transform(model):
    shown = values(_section(X, model=model.fit(X)))
    assert [part["name"] for part in shown["components"]] == list(model.component_names_)
    found = np.column_stack([part["scores"] for part in shown["components"]])
    np.testing.assert_allclose(found, np.asarray(model.transform(X)), atol=1e-5)


def test_the_axes_of_other_models():
    shown = values(_section(X, model=FactorAnalysis(2)))
    assert [part["name"] for part in shown["components"]] == ["F1", "F2"]


def test_no_map_of_a_single_factor():
    assert _section(X, model=FactorAnalysis(1)) is None


def test_a_model_of_one_component_has_a_map_of_two():
    assert len(values(_section(X, model=PCA(1)))["components"]) > 1
