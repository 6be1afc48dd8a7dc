"""Groups, their ellipses and hulls, against definitions."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from lowdim.plot._groups import ellipse, groups_of, hull

POINTS = np.random.default_rng(0).standard_normal((500, 2)) @ np.array([[2.0, 1.0], [0.0, 0.5]]) + [3.0, -1.0]


@pytest.mark.parametrize("level", [0.5, 0.95])
def test_all_points_of_an_ellipse_have_the_same_distance(level):
    """The squared Mahalanobis distance is the quantile of chi-square with two degrees of freedom."""
    away = ellipse(POINTS, level) - POINTS.mean(axis=0)
    distances = np.einsum("ij,jk,ik->i", away, np.linalg.inv(np.cov(POINTS.T)), away)
    np.testing.assert_allclose(distances, stats.chi2(2).ppf(level))


def test_an_ellipse_holds_its_fraction_of_gaussian_points():
    away = POINTS - POINTS.mean(axis=0)
    distances = np.einsum("ij,jk,ik->i", away, np.linalg.inv(np.cov(POINTS.T)), away)
    assert abs(np.mean(distances < stats.chi2(2).ppf(0.95)) - 0.95) < 0.03


def test_all_points_are_on_one_side_of_every_edge_of_a_hull():
    corners = hull(POINTS)
    for a, b in zip(corners, np.roll(corners, -1, axis=0), strict=True):
        turn = np.cross(np.append(b - a, 0.0), np.column_stack([POINTS - a, np.zeros(len(POINTS))]))[:, 2]
        assert np.all(turn >= -1e-9)


@pytest.mark.parametrize("outline", [hull, lambda points: ellipse(points, 0.95)])
@pytest.mark.parametrize("points", [POINTS[:1], POINTS[:2], np.outer(np.arange(5.0), [1.0, 2.0]), np.ones((6, 2))])
def test_no_outline_of_few_points_or_points_on_a_line(outline, points):
    assert outline(points) is None


def test_groups_are_sorted_and_told_apart_by_colour_and_marker():
    found = groups_of(np.array(["b", "a", "b", "c"], dtype=object), 4)
    assert [(group.name, group.rows.tolist()) for group in found] == [("a", [1]), ("b", [0, 2]), ("c", [3])]
    assert len({group.color for group in found}) == len({group.marker for group in found}) == 3


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
