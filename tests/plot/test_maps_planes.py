"""Contours over the plane, against scores of single points."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from lowdim import PCA, KernelPCA, plot

RNG = np.random.default_rng(0)
X = RNG.standard_normal((40, 2)) @ np.array([[2.0, 0.5], [0.0, 1.0]])


def test_contours_of_a_linear_score_are_straight_lines():
    """Along a contour the score of PCA is constant."""
    pca = PCA(2).fit(X)
    _, ax = plt.subplots()
    pca.plot.contours(X, 2, ax=ax)
    filled, lines = (found for found in ax.collections if hasattr(found, "levels"))
    for level, path in zip(lines.levels, lines.get_paths(), strict=True):
        if len(path.vertices):
            np.testing.assert_allclose(pca.transform(path.vertices)[:, 1], level, atol=1e-9)
    assert filled.levels[0] == pytest.approx(-filled.levels[-1])
    # Steps of the contours are round numbers.
    step = np.diff(filled.levels)
    np.testing.assert_allclose(step, step[0])
    assert float(f"{step[0]:.2g}") == pytest.approx(step[0])


def test_rows_are_drawn_with_their_groups_and_names():
    table = pd.DataFrame(X, columns=["width", "height"])
    ax = KernelPCA(1, kernel="rbf").fit(table).plot.contours(table, groups=np.arange(40) % 2)
    points = [found for found in ax.collections if not hasattr(found, "levels")]
    np.testing.assert_allclose(
        np.vstack([np.asarray(p.get_offsets()) for p in points[:2]]), np.vstack([X[::2], X[1::2]])
    )
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("width", "height")
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["0", "1"]


def test_only_models_of_two_columns():
    wide = PCA(1).fit(RNG.standard_normal((9, 3)))
    assert "contours" not in dir(wide.plot)
    with pytest.raises(TypeError, match=r"plot.contours shows scores over the plane of two columns, and PCA has none"):
        plot.contours(wide, X)


def test_rows_of_another_width_are_refused_as_by_transform():
    with pytest.raises(ValueError, match="X has 1 features, but KernelPCA is expecting 2"):
        KernelPCA(1).fit(X).plot.contours(X[:, :1])
