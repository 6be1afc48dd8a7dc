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
    ax = KernelPCA(1, kernel="rbf").fit(table).plot.contours(table, hue=np.arange(40) % 2)
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


@pytest.mark.parametrize("scale", [False, True])
def test_the_perpendicular_to_the_first_axis(scale):
    """In the picture the segments are the score and the root of Q, and at a right angle."""
    pca = PCA(2, scale=scale).fit(X)
    ax = pca.plot.principal_axes(X, 7)
    lines = {line.get_label().split()[0]: np.column_stack(line.get_data()) for line in ax.lines}
    (mean, foot), (row, end) = lines["score"], lines["distance"]
    unit = pca.scale_ if scale else 1.0
    np.testing.assert_allclose(mean, pca.mean_ / unit)
    np.testing.assert_allclose(row, X[7] / unit)
    np.testing.assert_allclose(foot, end)
    first = PCA(1, scale=scale).fit(X)
    np.testing.assert_allclose(foot * unit, first.inverse_transform(first.transform(X[7:8]))[0])
    assert np.linalg.norm(foot - mean) == pytest.approx(abs(pca.transform(X[7:8])[0, 0]))
    assert np.linalg.norm(row - foot) ** 2 == pytest.approx(first.reconstruction_error(X[7:8], scaled=True)[0])
    assert (row - foot) @ (foot - mean) == pytest.approx(0.0, abs=1e-9)
    arrows = [text for text in ax.texts if text.arrow_patch is not None]
    for arrow, component, variance in zip(arrows, pca.components_, pca.explained_variance_, strict=True):
        np.testing.assert_allclose(np.array(arrow.xy) - mean, 2 * np.sqrt(variance) * component)
    assert ax.get_aspect() == 1.0
    plt.close(ax.figure)


def test_the_row_of_the_perpendicular():
    table = pd.DataFrame(X, columns=["width", "height"], index=[f"plant {i}" for i in range(40)])
    pca = PCA(1).fit(table)
    labels = {pca.plot.principal_axes(table, row).get_legend().get_texts()[1].get_text() for row in (5, "plant 5")}
    assert labels == {"plant 5"}
    for row in (40, -1, "plant 40", 2.5):
        with pytest.raises(ValueError, match=r"there is no row .*; pass its position, from 0 to 39, or its label"):
            pca.plot.principal_axes(table, row)
    assert "principal_axes" not in dir(PCA(1).fit(np.column_stack([X, X])).plot)
    assert "principal_axes" not in dir(KernelPCA(1).fit(X).plot)
    plt.close("all")
