"""The map: the values of its chart, and its sentences, against the rows."""

import numpy as np
import pytest

from lowdim import FactorAnalysis
from lowdim.reporting import map as map_module
from lowdim.reporting import map as seen_module
from lowdim.reporting.blocks import Prose, Widget
from lowdim.reporting.map import section
from reporting.tables import analysis, clusters, named, pictures

X, GROUPS = clusters(500)
IDS = [f"tree {i}" for i in range(500)]


def _text(found):
    return " ".join(block.text for block in found.blocks if isinstance(block, Prose))


def _values(found):
    (widget,) = (block for block in found.blocks if isinstance(block, Widget))
    return widget.values


def test_points_are_the_scores():
    a = analysis(X, labels=GROUPS, ids=IDS, n_components=2, standardize=False)
    values = _values(section(a))
    Z = np.asarray(a.full.scores(named(X)))
    assert [part["name"] for part in values["components"]] == [f"PC{k}" for k in range(1, 7)]
    for part, scores, ratio in zip(values["components"], Z.T, a.full.explained_variance_ratio_, strict=True):
        assert part["scores"].dtype == np.float32
        np.testing.assert_allclose(part["scores"], scores, atol=1e-5)
        assert part["title"] == f"{part['name']} ({100 * ratio:.1f}%)"
    assert [column["name"] for column in values["columns"]] == [f"x{j}" for j in range(1, 7)]
    np.testing.assert_allclose(np.column_stack([column["values"] for column in values["columns"]]), X, rtol=1e-6)
    assert values["ids"] == IDS and values["numbers"].tolist() == list(range(500)) and values["rows"] == 500
    assert values["densities"] is None and values["supplementary"] is None and values["note"] == ""


def test_groups_and_their_ellipses():
    a = analysis(X, labels=GROUPS, n_components=2)
    (group,) = _values(section(a))["groups"]
    assert group["levels"] == ["ash", "beech", "cedar"]
    np.testing.assert_array_equal(np.array(group["levels"])[group["codes"]], GROUPS)
    Z = np.asarray(a.full.scores(named(X)))
    for name, ellipse in zip(group["levels"], group["ellipses"], strict=True):
        assert ellipse["rows"] == (name == GROUPS).sum()
        np.testing.assert_allclose(ellipse["covariance"].reshape(6, 6), np.cov(Z[name == GROUPS].T), atol=1e-9)
    # The ellipse holds 95% of a Gaussian: 1 - exp(-r^2 / 2).
    np.testing.assert_allclose(1 - np.exp(-(_values(section(a))["radius"] ** 2) / 2), 0.95)


def test_two_rows_have_no_ellipse_and_numbers_are_colours():
    labels = np.where(np.arange(500) < 2, "rare", "common")
    (group,) = _values(section(analysis(X, labels=labels)))["groups"]
    assert dict(zip(group["levels"], group["ellipses"], strict=True))["rare"] is None
    heights = np.linspace(10, 30, 500)
    values = _values(section(analysis(X, labels=heights)))
    assert values["groups"] == [] and values["columns"][-1]["name"] == "label"
    np.testing.assert_allclose(values["columns"][-1]["values"], heights, rtol=1e-6)


def test_supplementary_rows_are_marked():
    a = analysis(
        X[:400], labels=GROUPS[:400], ids=IDS[:400], supplementary=np.vstack([X[400:450], np.full((1, 6), np.nan)])
    )
    values = _values(section(a))
    assert values["supplementary"].tolist() == [0] * 400 + [1] * 50
    Z = np.asarray(a.full.scores(named(X[400:450])))
    np.testing.assert_allclose(values["components"][1]["scores"][400:], Z[:, 1], atol=1e-5)
    assert set(values["groups"][0]["codes"][400:].tolist()) == {-1}
    assert values["ids"][400] == "supplementary 0" and values["numbers"][400:].tolist() == list(range(50))
    said = _text(section(a))
    assert "50 supplementary rows that took no part in the fit are marked." in said
    assert "1 supplementary row is not shown, since it has entries that are missing or infinite." in said


def test_supplementary_rows_may_be_far_away_but_not_beyond_squares():
    a = analysis(X, supplementary=np.full((1, 6), 1e150))
    assert "1 supplementary row that took no part in the fit is marked." in _text(section(a))
    with pytest.raises(ValueError, match="too large for their squares"):
        section(analysis(X, supplementary=np.full((1, 6), 1e200)))


def test_a_sample_says_so(monkeypatch):
    monkeypatch.setattr(seen_module, "_POINTS", 50)
    monkeypatch.setattr(seen_module, "_OF_EACH_GROUP", 5)
    a = analysis(X, labels=GROUPS, n_components=2)
    found = section(a)
    values, text = _values(found), _text(found)
    assert f"{len(values['numbers'])} of the 500 rows" in text and values["rows"] == 500
    assert sum(values["densities"][0]["counts"]) == 500
    assert len(values["densities"]) == 10


def test_of_many_columns_those_with_most_weight_are_offered(monkeypatch):
    monkeypatch.setattr(map_module, "_ENTRIES", 1000)
    values = _values(section(analysis(X, n_components=2, standardize=False)))
    assert [column["name"] for column in values["columns"]] == ["x1", "x2"]
    assert values["note"].startswith("Of 6 columns, the 2 with most weight")
    few = _values(section(analysis(pictures(), n_components=2)))
    assert len(few["columns"]) <= 12 and "pixels" in few["note"]


def test_sentences_on_groups():
    text = _text(section(analysis(X, labels=GROUPS, standardize=False)))
    a = analysis(X, labels=GROUPS, standardize=False)
    best = int(np.argmax(a.second.between(0)))
    assert f"differ most along PC{best + 1}: {100 * a.second.between(0)[best]:.1f}% of its variance" in text
    shuffled = np.random.default_rng(0).permutation(GROUPS)
    assert "hardly differ" in _text(section(analysis(X, labels=shuffled)))
    many = np.array([f"kind {i % 60}" for i in range(len(X))])
    assert "The groups by label (the 31 least frequent ones counted as one)" in _text(section(analysis(X, labels=many)))


def test_groups_that_are_apart_and_groups_that_overlap():
    random = np.random.default_rng(1)
    codes = np.repeat([0, 1, 2], 100)
    rows = random.standard_normal((300, 4)) + np.array([[0, 0], [20, 0], [21, 0.5]])[codes] @ np.eye(2, 4)
    labels = np.array(["alone", "twin", "double"])[codes]
    text = _text(section(analysis(rows, labels=labels, standardize=False)))
    assert "alone lies apart from all others" in text and "There, double and twin overlap." in text
    rows[codes == 2] += [0, 30, 0, 0]
    text = _text(section(analysis(rows, labels=labels, standardize=False)))
    assert "all groups are apart from each other" in text and "overlap" not in text


def test_far_rows_are_named_and_usual_ones_are_not():
    random = np.random.default_rng(2)
    rows = random.standard_normal((400, 5)) * [3, 2, 1, 1, 1]
    assert "Farthest" not in _text(section(analysis(rows, standardize=False)))
    rows[123, :2] = [30, -20]
    assert "Farthest from the middle: row 123, " in _text(section(analysis(rows, standardize=False)))


@pytest.mark.parametrize(("scales", "words"), [((9, 3, 0.5, 0.5), "most of how"), ((1, 1, 1, 1.1), "further axes")])
def test_what_the_axes_hold(scales, words):
    rows = np.random.default_rng(3).standard_normal((300, 4)) * scales
    a = analysis(rows, standardize=False)
    text = _text(section(a))
    assert (
        f"PC1 and PC2 together hold {100 * a.full.explained_variance_ratio_[:2].sum():.1f}%" in text and words in text
    )


def test_the_axes_of_other_models():
    values = _values(section(analysis(X, model=FactorAnalysis(2))))
    assert [part["name"] for part in values["components"]] == ["F1", "F2"]


def test_no_map_of_a_single_factor():
    assert section(analysis(X, model=FactorAnalysis(1))) is None
