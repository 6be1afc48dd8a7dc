"""Outlines of groups of points in a plane: ellipses and hulls."""

from __future__ import annotations

import numpy as np
from scipy import special


def ellipse_radius(level: float) -> float:
    """The radius, in standard deviations, of the ellipse that holds the fraction `level` of a Gaussian in a plane: the
    root of the quantile of chi-square with two degrees of freedom."""
    return float(np.sqrt(special.chdtri(2, 1.0 - level)))


def ellipse(points: np.ndarray, level: float) -> np.ndarray | None:
    """The ellipse that holds the fraction `level` of a Gaussian with the mean and covariance of the points.

    It is {x : (x - mean)^T S^{-1} (x - mean) = r^2} with r = `ellipse_radius` and S with divisor n - 1, as 100 points.
    None for fewer than three points, or if they are on a line.
    """
    if len(points) < 3:
        return None
    values, vectors = np.linalg.eigh(np.cov(points.T))
    if values[0] <= 1e-12 * values[1]:
        return None
    angle = np.linspace(0.0, 2.0 * np.pi, 100)
    circle = ellipse_radius(level) * np.vstack([np.cos(angle), np.sin(angle)])
    return np.asarray((vectors @ (np.sqrt(values)[:, None] * circle)).T + points.mean(axis=0))


def hull(points: np.ndarray) -> np.ndarray | None:
    """The corners of the convex hull of the points; None for fewer than three, or if they are on a line."""
    from scipy.spatial import ConvexHull, QhullError

    if len(points) < 3:
        return None
    try:
        return np.asarray(points[ConvexHull(points).vertices])
    except QhullError:
        return None
