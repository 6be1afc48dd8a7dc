"""Maps of categories, symmetric maps of counts, groups of columns and partial points."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from lowdim import CA, FAMD, MCA, MFA, PCA, bootstrap, inspect, plot
from lowdim.inspect.diagnostics import ellipse
from parity.test_factominer import POISON, groups, table


@pytest.fixture(scope="module")
def poison():
    return table("poison")


@pytest.fixture(scope="module")
def mca(poison):
    return MCA(3, supplementary=["Sick", "Age"]).fit(poison.drop(columns=["Time", "Sex", "Potato"]))


@pytest.fixture(scope="module")
def mfa(poison):
    return MFA(3, groups=groups(POISON, poison.columns), supplementary=["desc2"]).fit(poison)


def texts(ax):
    return {text.get_text() for text in ax.texts if text.get_text()}


def offsets(ax):
    """All points of the axes, one array for each collection."""
    return [np.asarray(part.get_offsets()) for part in ax.collections]


def test_levels_are_where_the_table_says(mca):
    ax = mca.plot.levels(components=(2, 3))
    g = inspect.coordinates(mca)
    expected = g.select(["dim2", "dim3"]).values[g["level"] != ""]
    drawn = np.vstack([part for part in offsets(ax) if len(part)])
    np.testing.assert_allclose(drawn, expected)
    # Some versions of matplotlib have no room for two of the names, which a note counts.
    levels = {level for level in g["level"] if level}
    assert texts(ax) <= levels
    assert len(levels - texts(ax)) <= 2
    assert ax.get_xlabel().startswith("dim2 (")


def test_rows_are_behind(mca, poison):
    ax = mca.plot.levels(poison, columns="Sick")
    rows = max(offsets(ax), key=len)
    np.testing.assert_allclose(rows, mca.transform(poison)[:, :2])
    assert texts(ax) == {"Sick_n", "Sick_y"}
    assert ax.get_legend() is None


def test_supplementary_levels_are_open_and_slanted(mca):
    ax = mca.plot.levels(columns=["Sick", "Mayo"])
    styles = {text.get_text(): text.get_style() for text in ax.texts if text.get_text()}
    assert styles == {"Sick_n": "italic", "Sick_y": "italic", "Mayo_n": "normal", "Mayo_y": "normal"}
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["Sick (suppl.)", "Mayo"]
    faces = [len(part.get_facecolor()) for part in ax.collections if len(part.get_offsets())]
    assert faces == [1, 0]


def test_levels_of_one_name_have_their_column():
    rows = [["yes", "no"], ["no", "yes"], ["yes", "yes"], ["no", "maybe"], ["no", "no"]]
    ax = MCA(2).fit(pd.DataFrame(rows, columns=["smokes", "drinks"])).plot.levels()
    assert texts(ax) == {"smokes=no", "smokes=yes", "maybe", "drinks=no", "drinks=yes"}


def test_long_names_stay_different():
    rng = np.random.default_rng(0)
    long = {
        f"a rather long question number {j}": [f"a rather long answer number {v}" for v in rng.integers(0, 3, 60)]
        for j in range(3)
    }
    ax = MCA(2).fit(pd.DataFrame(long)).plot.levels()
    assert len(texts(ax)) == 9
    names = [text.get_text() for text in ax.get_legend().get_texts()]
    assert len(set(names)) == 3 and all(name.endswith(str(j)) for j, name in enumerate(names))


def test_many_levels_make_a_large_figure_and_a_note():
    tea = table("tea")
    model = MCA(2, supplementary=list(tea.columns[18:])).fit(tea)
    ax = model.plot.levels()
    assert ax.figure.get_size_inches()[0] > plt.rcParams["figure.figsize"][0]
    assert f"{len(texts(ax))} of 89 names of levels fit" in ax.get_title("right")
    assert ax.get_legend() is None


def test_thousands_of_levels():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({f"q{j}": rng.integers(0, 600, 5000).astype(str) for j in range(3)})
    ax = MCA(2, supplementary=["q1", "q2"]).fit(X.assign(a=rng.choice(list("xyz"), 5000))).plot.levels(X.assign(a="x"))
    assert "of 1,803 names of levels fit" in ax.get_title("right")


def test_ellipses_of_means(mca, poison):
    ax = mca.plot.levels(poison, columns=["Mayo", "Sick"], outline="mean", confidence_level=0.9)
    assert len(ax.patches) == 4
    Z = (mca.transform(poison) / np.sqrt(mca.explained_variance_))[:, :2]
    own = (poison["Mayo"] == "Mayo_y").to_numpy()
    # The ellipse is about the level, which it is the mean of.
    corners = ellipse(Z[own], 0.9, of_mean=True)
    places = [patch.get_xy()[:-1] for patch in ax.patches]
    assert min(np.abs(place - corners).max() for place in places if len(place) == len(corners)) < 1e-9
    point = inspect.coordinates(mca).row("Mayo=Mayo_y")
    np.testing.assert_allclose((corners[0] + corners[50]) / 2, [point["dim1"], point["dim2"]], atol=0.05)


def test_levels_without_an_ellipse_are_counted(poison):
    X = poison.assign(rare=["x", "y", *["z"] * (len(poison) - 2)])
    ax = (
        MCA(2, supplementary="rare").fit(X.drop(columns=["Age", "Time"])).plot.levels(X, columns="rare", outline="mean")
    )
    assert "1 of 3 levels have three points that differ, and an ellipse" in ax.get_title("right")


def test_bootstrap_ellipses(poison):
    X = poison.iloc[:, 2:]
    model = MCA(2)
    draws = bootstrap(model, X, n_resamples=60, random_state=0)
    ax = model.fit(X).plot.levels(columns="Mayo", bootstrap=draws, confidence_level=0.9)
    assert len(ax.patches) == 2
    i = model.coding_.names.index("Mayo=Mayo_y")
    corners = ellipse(draws.replicates["coordinates"][:, i], 0.9)
    assert min(np.abs(patch.get_xy()[:-1] - corners).max() for patch in ax.patches) < 1e-9
    with pytest.raises(ValueError, match="both draw an ellipse"):
        model.plot.levels(X, outline="mean", bootstrap=draws)
    with pytest.raises(ValueError, match="for this model and its rows"):
        MCA(2).fit(X.iloc[:, 1:]).plot.levels(bootstrap=draws)


def test_refusals_of_levels(mca, poison):
    with pytest.raises(ValueError, match="there is no category 'Age'; they are"):
        mca.plot.levels(columns="Age")
    with pytest.raises(ValueError, match="needs the rows X"):
        mca.plot.levels(outline="mean")
    with pytest.raises(ValueError, match="outline"):
        mca.plot.levels(poison, outline="hull")
    with pytest.raises(ValueError, match="no column 'Sick'"):
        mca.plot.levels(poison.drop(columns="Sick"), outline="mean")
    with pytest.raises(TypeError, match="PCA has none"):
        plot.levels(PCA(2).fit(poison[["Age", "Time"]]))
    assert "levels" not in dir(MCA(1).fit(poison.iloc[:, 2:]).plot)


def test_symmetric_map():
    X = table("children").fillna(0)
    model = CA(3, supplementary=["thirty", "fifty", "more_fifty"]).fit(X.iloc[:14])
    ax = model.plot.symmetric_map(X.iloc[:14], supplementary_rows=X.iloc[14:])
    rows, more, columns, aside = offsets(ax)[:4]
    np.testing.assert_allclose(rows, model.transform(X.iloc[:14])[:, :2])
    np.testing.assert_allclose(more, model.transform(X.iloc[14:])[:, :2])
    points = inspect.coordinates(model).select(["dim1", "dim2"]).values
    np.testing.assert_allclose(np.vstack([columns, aside]), points)
    assert texts(ax) == {*X.index, *X.columns}
    # Both axes have the same unit.
    ax.figure.canvas.draw()
    box = ax.get_window_extent()
    assert np.diff(ax.get_xlim())[0] / box.width == pytest.approx(np.diff(ax.get_ylim())[0] / box.height, rel=0.02)


def test_symmetric_map_of_two_columns():
    X = table("tea")[["SPC", "Tea"]]
    model = CA(2).fit(X)
    assert {"green", "student"} <= texts(model.plot.symmetric_map())
    ax = CA(2).fit(table("housetasks")).plot.symmetric_map()
    assert ax.get_title("right") == "without rows: pass the table of counts"
    assert texts(ax) == {"Wife", "Alternating", "Husband", "Jointly"}


def test_groups(mfa):
    ax = mfa.plot.groups()
    found = inspect.groups(mfa).coordinates
    np.testing.assert_allclose(np.vstack(offsets(ax)), found.select(["dim1", "dim2"]).values)
    assert texts(ax) == set(found.rows)


def test_partial_points(mfa, poison):
    ax = mfa.plot.partial_points(poison, rows=[poison.index[3], poison.index[7]])
    every, *parts, picked = offsets(ax)
    np.testing.assert_allclose(every, mfa.transform(poison)[:, :2])
    partial = mfa.partial_coordinates(poison)
    for name, part in zip(mfa.group_names_, parts, strict=False):
        np.testing.assert_allclose(part, partial[name][[3, 7], :2])
    np.testing.assert_allclose(picked, every[[3, 7]])
    assert ax.get_title("right") == "2 of 55 rows have partial points"
    assert "8 of 55 rows" in mfa.plot.partial_points(poison).get_title("right")
    levels = mfa.plot.partial_points(rows="Sick=Sick_n")
    assert texts(levels) == {"Sick=Sick_n"}
    with pytest.raises(ValueError, match="there is no row 'nobody'"):
        mfa.plot.partial_points(poison, rows="nobody")


def test_biplot_of_mixed_data(poison):
    model = FAMD(2, supplementary=["Time", "Sick"]).fit(poison)
    ax = model.plot.biplot(poison, hue="Sex", labels=False)
    assert {"Age", "Time", "Sick_n", "M"} <= texts(ax)
    styles = {text.get_text(): text.get_style() for text in ax.texts if text.get_text()}
    assert styles["Time"] == styles["Sick_n"] == "italic" and styles["Age"] == "normal"
    assert ax.get_title("right").startswith("circle: correlation 1")
    (circle,) = [patch for patch in ax.patches if hasattr(patch, "radius")]
    ends = [part.xy for part in ax.texts if part.get_text() == "Age"]
    r = inspect.coordinates(model).row("Age")
    np.testing.assert_allclose(ends[0], circle.radius * np.array([r["dim1"], r["dim2"]]))
    assert "biplot" not in dir(MCA(2).fit(poison.iloc[:, 2:]).plot)


def test_correlation_circle_of_mixed_data(poison):
    model = FAMD(2, supplementary=["Time"]).fit(poison)
    assert texts(model.plot.correlation_circle()) == {"Age", "Time"}
    with pytest.raises(ValueError, match="leave out X and Y"):
        model.plot.correlation_circle(poison)
    assert "correlation_circle" not in dir(MCA(2).fit(poison.iloc[:, 2:]).plot)
    pca = PCA(2, scale=True).fit(table("wine_sensory").iloc[:, 2:8])
    np.testing.assert_array_equal(len(texts(pca.plot.correlation_circle())), 6)


def test_a_column_of_the_model_gives_colours(mca, poison):
    ax = mca.plot.scores(poison, hue="Mayo", labels=False, outline="mean")
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["Mayo_n", "Mayo_y"]
    assert len(ax.patches) == 2


def test_rows_of_a_file(mca, poison, tmp_path):
    poison.to_csv(tmp_path / "rows.csv", index=False)
    ax = mca.plot.scores(tmp_path / "rows.csv", hue="Mayo", labels=False)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["Mayo_n", "Mayo_y"]
    ax = mca.plot.levels(tmp_path / "rows.csv", columns=["Sick", "Mayo"], outline="mean")
    np.testing.assert_allclose(max(offsets(ax), key=len), mca.transform(poison)[:, :2])
    assert len(ax.patches) == 4


def test_plots_that_do_not_fit_are_not_offered(mca, mfa):
    counts = CA(2).fit(table("housetasks"))
    assert not {"outliers", "contours", "reconstructions"} & {*dir(mca.plot), *dir(counts.plot)}
    assert {"scree", "cumulative", "scores", "levels", "contributions"} <= set(dir(mca.plot))
    assert {"groups", "partial_points", "biplot", "correlation_circle"} <= set(dir(mfa.plot))
    assert {"symmetric_map", "contributions"} <= set(dir(counts.plot))
    two = MCA().fit(table("tea")[["Tea", "How"]])
    assert not {"contours", "principal_axes"} & set(dir(two.plot))
