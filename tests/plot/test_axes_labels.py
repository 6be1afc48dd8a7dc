"""Labels do not cover one another or points, whatever the points are."""

import matplotlib.pyplot as plt
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from lowdim.plot.axes import label_points_in_space, legend, place_labels


def boxes_of(ax):
    return [text.get_window_extent() for text in ax.texts if text.get_text()]


def overlapping(a, b):
    return a.x0 < b.x1 and b.x0 < a.x1 and a.y0 < b.y1 and b.y0 < a.y1


def scattered(points):
    _, ax = plt.subplots()
    ax.scatter(*points.T)
    ax.margins(0.1)
    ax.set(xlim=ax.get_xlim(), ylim=ax.get_ylim())
    return ax


@settings(max_examples=5)
@given(st.integers(0, 10**6), st.integers(1, 60))
def test_labels_are_apart_from_each_other_and_from_points(seed, n):
    points = np.random.default_rng(seed).standard_normal((n, 2))
    ax = scattered(points)
    placed = place_labels(ax, points, [f"label {i}" for i in range(n)])
    boxes = boxes_of(ax)
    assert len(boxes) == placed >= 1
    for i, box in enumerate(boxes):
        assert not any(overlapping(box, other) for other in boxes[:i])
    frame, on_screen = ax.get_window_extent(), ax.transData.transform(points)
    for box in boxes:
        assert frame.x0 - 1 <= box.x0 and box.x1 <= frame.x1 + 1 and frame.y0 - 1 <= box.y0 and box.y1 <= frame.y1 + 1
        covered = [box.x0 < x < box.x1 and box.y0 < y < box.y1 for x, y in on_screen]
        assert not any(covered)
    plt.close("all")


def test_the_farthest_points_are_labelled_first():
    """Points on a small heap, one of which is far: the heap has no room for all labels, the far point has."""
    rng = np.random.default_rng(0)
    points = np.vstack([0.01 * rng.standard_normal((150, 2)), [[10.0, 10.0]]])
    ax = scattered(points)
    placed = place_labels(ax, points, [*["heap"] * 150, "far"])
    assert placed < 151
    assert "far" in [text.get_text() for text in ax.texts]


def test_equal_points_and_empty_labels():
    points = np.zeros((3, 2))
    ax = scattered(points)
    assert place_labels(ax, points, ["a", "", "b"]) == 2
    assert [text.get_text() for text in ax.texts if text.get_text()] == ["a", "b"]


def test_labels_are_apart_from_the_legend_which_stays_where_it_is():
    points = np.random.default_rng(2).standard_normal((40, 2))
    ax = scattered(points)
    ax.scatter([], [], label="a long name in the legend")
    legend(ax)
    place_labels(ax, points, [f"label {i}" for i in range(40)])
    ax.figure.canvas.draw()
    box_of_legend = ax.get_legend().get_window_extent()
    assert not any(overlapping(box, box_of_legend) for box in boxes_of(ax))


def test_names_of_arrows_point_outwards():
    points = np.array([[1.0, 1.0], [-1.0, 1.0], [-1.0, -1.0], [1.0, -1.0]])
    ax = scattered(points)
    ax.set(xlim=(-2, 2), ylim=(-2, 2))
    assert place_labels(ax, points, list("abcd"), outward=True) == 4
    for text in ax.texts:
        assert np.dot(text.get_position(), text.xy) > 0


def test_labels_in_space():
    points = np.random.default_rng(0).standard_normal((40, 3))
    _, ax = plt.subplots(subplot_kw={"projection": "3d"})
    ax.scatter(*points.T)
    placed = label_points_in_space(ax, points, [f"label {i}" for i in range(40)])
    assert 5 < placed < 40
    assert len(ax.texts) == placed
