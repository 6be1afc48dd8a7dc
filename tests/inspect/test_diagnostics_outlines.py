"""Ellipses and hulls around points, against definitions."""

import numpy as np
import pytest
from scipy import stats

from lowdim.inspect.diagnostics import ellipse, hull

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
