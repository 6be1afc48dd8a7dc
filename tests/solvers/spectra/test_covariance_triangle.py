"""The solver `triangle` where rows have fewer directions than there are components."""

import numpy as np
import pytest

from lowdim import PCA
from lowdim.reading import summarize
from lowdim.summaries import Triangle

random = np.random.default_rng(0)
X = random.standard_normal((12, 3)) @ random.standard_normal((3, 8))
WEIGHTS = random.integers(1, 4, 12)


def fits(rows, weights=None):
    """The model from a summary, by several splits of the rows."""
    for size in (1, 5, len(rows)):
        model = PCA(7, solver="triangle")
        for start in range(0, len(rows), size):
            part = slice(start, start + size)
            model.partial_fit(rows[part], sample_weight=None if weights is None else weights[part])
        yield model


def test_components_without_variance_do_not_depend_on_rounding():
    """They follow from the other components alone, so that weights equal repeated rows, in any order and split."""
    expected = PCA(7, solver="triangle").fit_summary(summarize(np.repeat(X, WEIGHTS, axis=0), Triangle)).components_
    np.testing.assert_allclose(expected @ expected.T, np.eye(7), atol=1e-12)
    np.testing.assert_allclose(X @ expected[3:].T, np.tile(X.mean(axis=0) @ expected[3:].T, (12, 1)), atol=1e-12)
    order = random.permutation(12)
    for rows, weights in ((X, WEIGHTS.astype(float)), (X[order], WEIGHTS[order].astype(float))):
        for model in fits(rows, weights):
            np.testing.assert_allclose(model.components_, expected, atol=1e-10)


@pytest.mark.parametrize("small", [1e-9, 1e-12])
def test_small_variances_are_not_taken_for_none(small):
    rows = random.standard_normal((40, 3)) * [1.0, 1e-3, small]
    model = PCA(solver="triangle").fit(rows)
    np.testing.assert_allclose(np.abs(model.components_[2]), [0, 0, 1], atol=1e-3 + 1e-16 / small)
    np.testing.assert_allclose(model.explained_variance_[2] / small**2, np.var(rows[:, 2] / small, ddof=1), rtol=0.1)
