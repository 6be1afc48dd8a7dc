"""Maps of scores, against what transform returns."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import stats
from sklearn.exceptions import NotFittedError

import lowdim
from lowdim import GCCA, PCA, plot

RNG = np.random.default_rng(0)
X = RNG.standard_normal((40, 5)) @ np.diag([5, 4, 2, 1, 1.0]) + 3.0
PCA3 = PCA(3).fit(X)
Z = PCA3.transform(X)
GROUPS = np.array(["a", "b"])[np.arange(40) % 2]


def points_of(ax):
    return np.vstack([np.asarray(points.get_offsets()) for points in ax.collections])


def texts_of(ax):
    return [text.get_text() for text in ax.texts if text.get_text()]


def test_points_are_scores_and_axes_have_their_shares():
    ax = PCA3.plot.scores(X)
    np.testing.assert_allclose(points_of(ax), Z[:, :2])
    share = PCA3.explained_variance_ratio_
    assert (ax.get_xlabel(), ax.get_ylabel()) == (f"PC1 ({share[0]:.1%})", f"PC2 ({share[1]:.1%})")
    assert not texts_of(ax)
    assert ax.get_legend() is None


@pytest.mark.parametrize("components", [(3, 1), ["PC3", "PC1"]])
def test_components_by_number_and_name(components):
    np.testing.assert_allclose(points_of(PCA3.plot.scores(X, components)), Z[:, [2, 0]])


@pytest.mark.parametrize("component", [0, 4, "PC4", "pc1", True, 1.0])
def test_components_that_do_not_exist(component):
    with pytest.raises(ValueError, match=r"there is no component .* PC1 to PC3, or by their numbers 1 to 3"):
        PCA3.plot.scores(X, [component, 2])


def test_too_many_components():
    with pytest.raises(ValueError, match="4 components were chosen, and this picture shows one, two or three"):
        PCA3.plot.scores(X, [1, 2, 3, 1])


def test_groups_have_points_outlines_and_a_legend():
    ax = PCA3.plot.scores(X, hue=GROUPS)
    np.testing.assert_allclose(np.asarray(ax.collections[0].get_offsets()), Z[GROUPS == "a", :2])
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["a", "b"]
    assert len(ax.patches) == 2
    assert len(PCA3.plot.scores(X, hue=GROUPS, outline=None).patches) == 0
    hulls = PCA3.plot.scores(X, hue=GROUPS, outline="hull").patches
    corners = hulls[0].get_xy()
    assert all(any(np.allclose(corner, row) for row in Z[GROUPS == "a", :2]) for corner in corners)
    with pytest.raises(ValueError, match="outline='box' is not one of 'ellipse', 'mean', 'hull'"):
        PCA3.plot.scores(X, hue=GROUPS, outline="box")


def groups_of(values):
    """The groups in the order of the legend, with the numbers of their rows; and their colours and markers."""
    ax = PCA3.plot.scores(X[: len(values)], hue=np.asarray(values))
    found = {}
    for points in ax.collections:
        offsets = np.asarray(points.get_offsets())
        found[points.get_label()] = [int(np.argmin(np.abs(Z[:, :2] - at).sum(axis=1))) for at in offsets]
    looks = [(tuple(points.get_facecolor()[0]), points.get_paths()[0].vertices.tobytes()) for points in ax.collections]
    return found, looks


@pytest.mark.parametrize("kind", [object, "U1"])
def test_groups_are_sorted_and_told_apart_by_colour_and_marker(kind):
    found, looks = groups_of(np.array(["b", "a", "b", "c"], dtype=kind))
    assert list(found.items()) == [("a", [1]), ("b", [0, 2]), ("c", [3])]
    assert len({colour for colour, _ in looks}) == len({marker for _, marker in looks}) == 3


def test_groups_of_any_kind():
    found, _ = groups_of(np.array([1, "a", None, float("nan"), 1], dtype=object))
    assert found == {"1": [0, 4], "a": [1], "no group": [2, 3]}
    assert [len(points.get_offsets()) for points in PCA3.plot.scores(X[:7]).collections] == [7]


def test_groups_of_several_types_keep_their_order():
    assert list(groups_of(np.array(["a", 1, "a"], dtype=object))[0].items()) == [("a", [0, 2]), ("1", [1])]


def test_numbers_form_groups_in_their_order():
    assert list(groups_of(np.array([0.5, np.nan, -1.0]))[0].items()) == [("-1.0", [2]), ("0.5", [0]), ("no group", [1])]


@pytest.mark.parametrize("nothing", [None, float("nan"), pd.NA])
def test_rows_without_a_group(nothing):
    found, _ = groups_of(np.array(["b", nothing, "a", "b"], dtype=object))
    assert list(found.items()) == [("a", [2]), ("b", [0, 3]), ("no group", [1])]
    found, _ = groups_of(np.array([2, nothing, 1, nothing], dtype=object))
    assert list(found.items()) == [("1", [2]), ("2", [0]), ("no group", [1, 3])]
    assert groups_of(np.array([nothing, nothing], dtype=object))[0] == {"no group": [0, 1]}


@pytest.mark.parametrize("style", ["default", "ggplot", "Solarize_Light2", "grayscale"])
def test_many_groups_share_no_colour_with_the_same_marker(style):
    """Styles have from 4 to 10 colours; with ten of them and ten markers in step, group 10 looked like group 0."""
    with plt.style.context(style):
        _, looks = groups_of(np.arange(40))
    assert len(set(looks)) == 40


def many_groups(g):
    rng = np.random.default_rng(0)
    which = np.arange(10 * g) % g
    X = rng.standard_normal((10 * g, 4)) + 4.0 * rng.standard_normal((g, 4))[which]
    return PCA(3).fit(X), X, np.array([f"breed {i}" for i in range(g)])[which]


@pytest.mark.parametrize("draw", ["scores", "biplot"])
def test_thirty_groups_are_named_at_their_means(draw):
    model, X, names = many_groups(30)
    ax = getattr(model.plot, draw)(X, hue=names)
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
    ax = model.plot.scores(X, components, hue=names)
    assert ax.get_legend() is None
    assert "of 200 names of groups" in ax.get_title(loc="right")
    boxes = [text.get_window_extent() for text in ax.texts if text.get_text().startswith("breed")]
    assert len(boxes) < 150 and len(ax.get_yticklabels()) <= 40
    if len(components) == 2:
        assert not any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[:i])


def test_thirty_groups_in_space_have_a_legend():
    model, X, names = many_groups(30)
    legend = model.plot.scores(X, [1, 2, 3], hue=names).get_legend()
    assert {text.get_text() for text in legend.get_texts()} == set(names)


POINTS = RNG.standard_normal((500, 2)) @ np.array([[2.0, 1.0], [0.0, 0.5]]) + [3.0, -1.0]


def outlines(points, **options):
    """The outlines of a group of points in the plane."""
    identity = PCA(2).fit(POINTS)
    rows = identity.inverse_transform(np.asarray(points, dtype=float))
    return [patch.get_xy() for patch in identity.plot.scores(rows, hue=["one"] * len(rows), **options).patches]


@pytest.mark.parametrize("confidence_level", [0.5, 0.95])
def test_all_points_of_an_ellipse_have_the_same_distance(confidence_level):
    """The squared Mahalanobis distance is the quantile of chi-square with two degrees of freedom."""
    (found,) = outlines(POINTS, confidence_level=confidence_level)
    away, inverse = found - POINTS.mean(axis=0), np.linalg.inv(np.cov(POINTS.T))
    distances = np.einsum("ij,jk,ik->i", away, inverse, away)
    np.testing.assert_allclose(distances, stats.chi2(2).ppf(confidence_level))
    # So an ellipse holds its fraction of Gaussian points.
    away = POINTS - POINTS.mean(axis=0)
    inside = np.einsum("ij,jk,ik->i", away, inverse, away) < distances.mean()
    assert abs(np.mean(inside) - confidence_level) < 0.05


def test_all_points_are_on_one_side_of_every_edge_of_a_hull():
    (found,) = outlines(POINTS, outline="hull")
    corners = found[:-1] if np.allclose(found[0], found[-1]) else found
    for a, b in zip(corners, np.roll(corners, -1, axis=0), strict=True):
        turn = np.cross(np.append(b - a, 0.0), np.column_stack([POINTS - a, np.zeros(len(POINTS))]))[:, 2]
        assert np.all(turn >= -1e-9)


@pytest.mark.parametrize("outline", ["hull", "ellipse"])
@pytest.mark.parametrize("points", [POINTS[:1], POINTS[:2], np.outer(np.arange(5.0), [1.0, 2.0]), np.ones((6, 2))])
def test_no_outline_of_few_points_or_points_on_a_line(outline, points):
    assert outlines(points, outline=outline) == []


def test_groups_of_one_row_have_no_outline():
    assert len(PCA3.plot.scores(X, hue=np.arange(40)).patches) == 0


def test_labels_of_the_index():
    named = pd.DataFrame(X, index=[f"row {i}" for i in range(40)])
    few = named.iloc[:6]
    assert sorted(texts_of(PCA3.plot.scores(few.to_numpy(), labels=list(few.index)))) == sorted(few.index)
    pca = PCA(2).fit(named)
    assert sorted(texts_of(pca.plot.scores(few))) == sorted(few.index)
    assert not texts_of(pca.plot.scores(few, labels=False))
    assert not texts_of(pca.plot.scores(few.reset_index(drop=True)))
    assert sorted(texts_of(pca.plot.scores(few.reset_index(drop=True), labels=True))) == list("012345")


def test_the_picture_says_how_many_labels_fit():
    ax = PCA3.plot.scores(np.repeat(X[:2], 30, axis=0), labels=True)
    assert ax.get_title(loc="right") == f"{len(texts_of(ax))} of 60 labels fit"


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_groups_and_labels_by_the_names_of_columns(frame):
    names = [f"v{j}" for j in range(5)]
    columns = {name: X[:6, j] for j, name in enumerate(names)}
    table = frame({**columns, "kind": GROUPS[:6].tolist(), "who": list("uvwxyz")})
    pca = PCA(2).fit(frame(columns))
    ax = pca.plot.scores(table, hue="kind", labels="who")
    np.testing.assert_allclose(np.sort(points_of(ax)[:, 0]), np.sort(np.asarray(pca.transform(frame(columns)))[:, 0]))
    assert sorted(texts_of(ax)) == list("uvwxyz")
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["a", "b"]


@pytest.mark.parametrize("name", ["hue", "labels"])
def test_one_entry_for_each_row(name):
    with pytest.raises(ValueError, match=f"{name} has 3 entries, X has 40 rows; pass one entry for each row"):
        PCA3.plot.scores(X, **{name: ["a", "b", "c"]})
    with pytest.raises(ValueError, match=f"{name} must be a vector"):
        PCA3.plot.scores(X, **{name: np.ones((40, 2))})


def test_one_component_is_a_histogram_or_strips():
    pca = PCA(1).fit(X)
    ax = pca.plot.scores(X)
    assert sum(bar.get_height() for bar in ax.patches) == 40
    np.testing.assert_allclose(np.sort(points_of(ax)[:, 0]), np.sort(pca.transform(X)[:, 0]))
    ax = pca.plot.scores(X, hue=GROUPS)
    for i, (name, points) in enumerate(zip("ab", ax.collections, strict=True)):
        found = np.asarray(points.get_offsets())
        np.testing.assert_allclose(found[:, 0], pca.transform(X)[name == GROUPS, 0])
        assert np.all(np.abs(found[:, 1] - i) <= 0.25)
    assert [text.get_text() for text in ax.get_yticklabels()] == ["a", "b"]


def test_one_row_and_one_column():
    column = X[:, :1]
    pca = PCA(1).fit(column)
    assert len(points_of(pca.plot.scores(column[:1]))) == 1
    assert texts_of(pca.plot.scores(column[:1], labels=["only"])) == ["only"]


def test_constant_columns():
    flat = X.copy()
    flat[:, 2:] = 1.0
    model = PCA(3).fit(flat)
    ax = model.plot.scores(flat, (1, 3), hue=GROUPS)
    np.testing.assert_allclose(points_of(ax)[:, 1], 0.0, atol=1e-9)
    assert len(ax.patches) == 0


def test_three_components_in_space():
    ax = PCA3.plot.scores(X, (1, 2, 3), labels=True)
    found = np.column_stack(ax.collections[0]._offsets3d)
    np.testing.assert_allclose(found[np.argsort(found[:, 0])], Z[np.argsort(Z[:, 0])])
    assert ax.get_zlabel().startswith("PC3")
    assert 0 < len(ax.texts) <= 40
    _, given = plt.subplots(subplot_kw={"projection": "3d"})
    assert PCA3.plot.scores(X, (1, 2, 3), ax=given) is given


def test_several_tables_show_the_first():
    gcca = GCCA(2).fit([X[:, :2], X[:, 2:4], X[:, 3:]])
    np.testing.assert_allclose(points_of(gcca.plot.scores([X[:, :2], X[:, 2:4], X[:, 3:]])), gcca.transform(X[:, :2]))


def test_frames_of_set_output_and_files(tmp_path):
    frame = pd.DataFrame(X, columns=list("abcde"))
    path = tmp_path / "rows.csv"
    frame.to_csv(path, index=False)
    pca = PCA(2).fit(frame).set_output(transform="pandas")
    expected = np.asarray(pca.transform(frame))
    np.testing.assert_allclose(points_of(pca.plot.scores(frame)), expected)
    np.testing.assert_allclose(points_of(pca.plot.scores(lowdim.scan(str(path)))), expected)


def test_a_model_that_is_not_fitted():
    with pytest.raises(NotFittedError):
        plot.scores(PCA(), X)


@pytest.mark.parametrize("confidence_level", [0, 1.0, 1.5, "high"])
def test_a_level_that_is_no_probability(confidence_level):
    for draw in (PCA3.plot.scores, PCA3.plot.biplot):
        with pytest.raises(ValueError, match=r"confidence_level=.* must lie strictly between 0 and 1"):
            draw(X, hue=GROUPS, confidence_level=confidence_level)
