"""Reconstructions of images, against sums over components."""

import numpy as np
import pandas as pd
import pytest

from lowdim import PCA, KernelPCA

RNG = np.random.default_rng(0)
#: Images of 2 x 3 pixels.
X = RNG.standard_normal((20, 6)) + 4.0
MODEL = PCA(5).fit(X)


def tiles(ax, n_rows, height, width):
    """The images of the mosaic, by row and column."""
    (image,) = ax.images
    mosaic = np.asarray(image.get_array())
    gap = (mosaic.shape[0] - n_rows * height) // (n_rows - 1)
    down = [mosaic[i * (height + gap) :][:height] for i in range(n_rows)]
    count = (mosaic.shape[1] + gap) // (width + gap)
    return np.array([[row[:, j * (width + gap) :][:, :width] for j in range(count)] for row in down])


def test_reconstructions_are_the_mean_plus_a_sum_over_components():
    ax = MODEL.plot.reconstructions(X[:3], (2, 3), n_components=[0, 2, 5])
    found = tiles(ax, 3, 2, 3)
    W = MODEL.components_
    for i in range(3):
        for j, k in enumerate([0, 2, 5]):
            expected = MODEL.mean_ + (X[i] - MODEL.mean_) @ W[:k].T @ W[:k]
            np.testing.assert_allclose(found[i, j + 1].ravel(), expected)
        np.testing.assert_allclose(found[i, 0].ravel(), X[i])
    assert [text.get_text() for text in ax.get_xticklabels()] == ["row", "0", "2", "5"]


def test_numbers_of_components_are_spread_by_default():
    ax = PCA(100).fit(RNG.standard_normal((150, 100))).plot.reconstructions(RNG.standard_normal((4, 100)))
    assert [text.get_text() for text in ax.get_xticklabels()] == ["row", "1", "3", "10", "32", "100"]


def test_more_rows_than_fit_show_the_first_ten_with_their_labels():
    table = pd.DataFrame(X, index=[f"image {i}" for i in range(20)])
    ax = PCA(2).fit(table).plot.reconstructions(table, (3, 2))
    assert [text.get_text() for text in ax.get_yticklabels()] == [f"image {i}" for i in range(10)]


def test_images_in_colour():
    colours = RNG.random((15, 12))
    ax = PCA(3).fit(colours).plot.reconstructions(colours[:2], (2, 2, 3), n_components=[3])
    found = tiles(ax, 2, 2, 2)
    low, high = colours[:2].min(), colours[:2].max()
    np.testing.assert_allclose(found[0, 0, :, :, :3].ravel(), (colours[0] - low) / (high - low))
    assert found.shape[-1] == 4 and np.all(found[..., 3] == 1.0)


def test_images_with_four_colours_are_refused():
    rows = RNG.random((15, 8))
    with pytest.raises(ValueError, match=r"must be \(height, width\).* columns, 8"):
        PCA(3).fit(rows).plot.reconstructions(rows, (2, 1, 4))


def test_a_shape_may_be_a_list():
    found = tiles(MODEL.plot.reconstructions(X[:2], [2, 3], n_components=[1]), 2, 2, 3)
    np.testing.assert_allclose(found[0, 0].ravel(), X[0])


@pytest.mark.parametrize("shape", [None, (3, 3), (2, 4), (6,), 6, (1, 2, 3, 1), (1, 3, 2), (3, 1, 2), (-2, -3)])
def test_shapes_that_do_not_fit(shape):
    with pytest.raises(ValueError, match=r"must be \(height, width\).* columns, 6"):
        MODEL.plot.reconstructions(X, shape)


@pytest.mark.parametrize("counts", [[6], [-1], [1.5]])
def test_numbers_that_do_not_exist(counts):
    with pytest.raises(ValueError, match="between 0 and 5"):
        MODEL.plot.reconstructions(X, (2, 3), n_components=counts)


def test_only_models_whose_rows_are_sums():
    assert "reconstructions" not in dir(KernelPCA(2).fit(X).plot)


def test_a_note_says_that_only_the_first_rows_are_drawn():
    assert MODEL.plot.reconstructions(X, (2, 3)).get_title(loc="right") == "the first 10 rows"
    assert MODEL.plot.reconstructions(X[:10], (2, 3)).get_title(loc="right") == ""


def test_a_shape_of_negative_sides():
    with pytest.raises(ValueError, match=r"shape=\(-2, -3\) must be \(height, width\)"):
        MODEL.plot.reconstructions(X, (-2, -3))
