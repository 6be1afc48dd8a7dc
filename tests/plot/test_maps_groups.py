"""Groups of rows in a map, against definitions."""

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot
from matplotlib.colors import to_hex

from lowdim import PCA
from lowdim.plot.maps import groups_of


def test_groups_are_sorted_and_told_apart_by_colour_and_marker():
    found = groups_of(np.array(["b", "a", "b", "c"], dtype=object), 4)
    assert [(group.name, group.rows.tolist()) for group in found] == [("a", [1]), ("b", [0, 2]), ("c", [3])]
    assert len({group.look["color"] for group in found}) == len({group.look["marker"] for group in found}) == 3


def test_groups_of_any_kind():
    values = np.array([1, "a", None, float("nan"), 1], dtype=object)
    found = groups_of(values, 5)
    assert {(group.name, tuple(group.rows)) for group in found} == {("1", (0, 4)), ("a", (1,)), ("no group", (2, 3))}
    assert [len(group.rows) for group in groups_of(None, 7)] == [7]


@pytest.mark.parametrize("nothing", [None, float("nan"), pd.NA])
def test_rows_without_a_group(nothing):
    some = np.array(["b", nothing, "a", "b"], dtype=object)
    assert [(group.name, group.rows.tolist()) for group in groups_of(some, 4)] == [
        ("a", [2]),
        ("b", [0, 3]),
        ("no group", [1]),
    ]
    none = np.array([nothing, nothing], dtype=object)
    assert [(group.name, group.rows.tolist()) for group in groups_of(none, 2)] == [("no group", [0, 1])]


@pytest.mark.parametrize("style", ["default", "ggplot", "Solarize_Light2", "grayscale"])
def test_many_groups_share_no_colour_with_the_same_marker(style):
    """Styles have from 4 to 10 colours; with ten of them and ten markers in step, group 10 looked like group 0."""
    with pyplot.style.context(style):
        found = groups_of(np.arange(40), 40)
        assert len({(to_hex(group.look["color"]), group.look["marker"]) for group in found}) == 40


def many_groups(g):
    rng = np.random.default_rng(0)
    which = np.arange(10 * g) % g
    X = rng.standard_normal((10 * g, 4)) + 4.0 * rng.standard_normal((g, 4))[which]
    return PCA(3).fit(X), X, np.array([f"breed {i}" for i in range(g)])[which]


@pytest.mark.parametrize("draw", ["scores", "biplot"])
def test_thirty_groups_are_named_at_their_means(draw):
    model, X, names = many_groups(30)
    ax = getattr(model.plot, draw)(X, groups=names)
    assert ax.get_legend() is None
    where = {text.get_text(): text.xy for text in ax.texts if text.get_text().startswith("breed")}
    assert set(where) == set(names)
    Z = model.transform(X)[:, :2]
    if draw == "biplot":
        Z = Z / Z.std(axis=0)
    for name, place in where.items():
        np.testing.assert_allclose(place, Z[names == name].mean(axis=0), atol=1e-9)


@pytest.mark.parametrize("components", [[1], [1, 2], [1, 2, 3]])
def test_the_names_of_two_hundred_groups_do_not_fill_the_picture(components):
    model, X, names = many_groups(200)
    ax = model.plot.scores(X, components, groups=names)
    assert ax.get_legend() is None
    assert "of 200 names of groups" in ax.get_title(loc="right")
    boxes = [text.get_window_extent() for text in ax.texts if text.get_text().startswith("breed")]
    assert len(boxes) < 150 and len(ax.get_yticklabels()) <= 40
    if len(components) == 2:
        assert not any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[:i])


def test_thirty_groups_in_space_have_a_legend():
    model, X, names = many_groups(30)
    legend = model.plot.scores(X, [1, 2, 3], groups=names).get_legend()
    assert {text.get_text() for text in legend.get_texts()} == set(names)
