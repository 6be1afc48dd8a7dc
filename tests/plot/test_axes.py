"""Axes, thinning and notes."""

import sys

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pytest

from lowdim import PCA, inspect
from lowdim.plot.axes import MARKERS, MOST_POINTS, make_axes, note, point_style, readable_on, some_of, thinned

ROWS = np.random.default_rng(0).standard_normal((20, 3))


def test_without_matplotlib_an_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    pca = PCA(2).fit(ROWS)
    assert "scree" in dir(pca.plot)
    with pytest.raises(ImportError, match=r"pip install 'lowdim\[plot\]'"):
        pca.plot.scree()


def test_new_axes_have_a_figure_of_their_own():
    first, second = make_axes(None), make_axes(None, size=(1.0, 2.0))
    assert first.figure is not second.figure
    width, height = matplotlib.rcParams["figure.figsize"]
    np.testing.assert_allclose(second.figure.get_size_inches(), [width, 2 * height])


def test_flat_axes_are_refused_for_three_components():
    _, ax = plt.subplots()
    with pytest.raises(ValueError, match="three dimensions"):
        PCA(3).fit(ROWS).plot.scores(ROWS, (1, 2, 3), ax=ax)


def test_thinning_takes_all_of_few_and_always_the_same_of_many():
    np.testing.assert_array_equal(thinned(5), np.arange(5))
    first, second = thinned(10**6), thinned(10**6)
    np.testing.assert_array_equal(first, second)
    assert len(first) == len(np.unique(first)) == MOST_POINTS
    assert some_of(len(first), 10**6) == ["10,000 of 1,000,000 rows, drawn at random"]
    assert some_of(5, 5) == []


def test_thinning_keeps_what_it_is_told():
    keep = [3, 999_999, 17]
    found = thinned(10**6, keep)
    assert set(keep) <= set(found.tolist())
    assert len(found) == len(np.unique(found)) == MOST_POINTS


def test_a_million_rows_are_thinned_out_and_the_picture_says_so():
    X = np.random.default_rng(0).standard_normal((10**6, 3)).astype(np.float32) * [3, 2, 1]
    pca = PCA(2).fit(X)
    ax = pca.plot.scores(X, hue=np.arange(10**6) % 2)
    assert sum(len(points.get_offsets()) for points in ax.collections) == MOST_POINTS
    assert ax.get_title(loc="right") == "10,000 of 1,000,000 rows, drawn at random"
    ax = pca.plot.outliers(X)
    assert sum(len(points.get_offsets()) for points in ax.collections) == MOST_POINTS
    farthest = np.argmax(np.asarray(inspect.diagnose(pca, X).q))
    assert str(farthest) in [text.get_text() for text in ax.texts]


def test_a_note_is_above_the_axes():
    ax = make_axes(None)
    note(ax, [])
    assert ax.get_title(loc="right") == ""
    note(ax, ["one", "two"])
    assert ax.get_title(loc="right") == "one; two"


def test_points_get_smaller_as_they_get_more():
    sizes = [point_style(n)["s"] for n in (50, 500, 5000)]
    assert sizes == sorted(sizes, reverse=True)
    assert len(set(MARKERS)) == len(MARKERS)


def test_text_on_a_cell_differs_from_the_cell():
    assert readable_on(np.array([[0.0, 0.0, 0.0, 1.0], [1.0, 1.0, 1.0, 1.0]])) == ["white", "black"]
    with matplotlib.style.context("dark_background"):
        assert readable_on(np.array([[0.0, 0.0, 0.0, 1.0], [1.0, 1.0, 1.0, 1.0]])) == ["white", "black"]
