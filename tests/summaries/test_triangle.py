"""What a triangle gives besides the laws of all summaries."""

import numpy as np

from lowdim.reading import summarize
from lowdim.summaries import Moments, Triangle

X = np.random.default_rng(0).standard_normal((30, 4)) + np.array([0.0, 10.0, -3.0, 1e6])


def test_its_moments_are_those_of_the_rows():
    w = np.arange(30.0) % 3
    of_triangle = summarize(X, Triangle(4, widths=(1, 3)), weights=w).moments()
    direct = summarize(X, Moments(4, widths=(1, 3)), weights=w)
    assert (of_triangle.n_rows, of_triangle.weight, of_triangle.widths) == (20, 30.0, (1, 3))
    np.testing.assert_allclose(of_triangle.mean, direct.mean, rtol=1e-15)
    np.testing.assert_allclose(of_triangle.scatter, direct.scatter, atol=1e-9 * np.abs(direct.scatter).max())


def test_moments_of_no_rows_are_empty_and_can_be_merged():
    moments = Triangle(4).moments()
    moments.merge(summarize(X, Moments))
    np.testing.assert_allclose(moments.covariance(), np.cov(X, rowvar=False), rtol=1e-9)
