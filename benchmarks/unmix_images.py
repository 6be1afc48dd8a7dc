"""Separate images that were mixed with each other, by ICA, and by PCA and scikit-learn's FastICA for comparison.

    python -m benchmarks.unmix_images                                    # prints correlations with the originals
    python -m benchmarks.unmix_images docs/figures/unmixed_images.png    # also draws the images

The images come with scikit-learn, and pillow is needed to read them.

Photographs by the Flickr users danielbuechele (temple, lake) and vultilion (dahlia), CC BY 2.0, cropped and in grey.
"""

import sys

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.datasets import load_digits, load_sample_images
from sklearn.decomposition import FastICA

from lowdim import ICA, PCA

NAMES = ["temple", "lake", "dahlia", "digits"]
# The share of each image (column) in each mixture (row).
MIXING = np.array(
    [
        [0.40, 0.20, 0.15, 0.25],
        [0.20, 0.35, 0.30, 0.15],
        [0.15, 0.25, 0.40, 0.20],
        [0.25, 0.30, 0.10, 0.35],
    ]
)


def main(figure: str | None = None) -> None:
    originals = load_images()
    # A camera or a scanner would store whole numbers from 0 to 255.
    mixtures = np.rint(np.tensordot(MIXING, originals, axes=1))
    pixels, steps = mixtures.reshape(4, -1).T, differences(mixtures)

    # Differences of pixels are mixed by the same matrix as the images, and give a better estimate of its inverse.
    unmixing = {
        "PCA of pixels": PCA().fit(pixels).components_,
        "FastICA of pixels": FastICA(random_state=0).fit(pixels).components_,
        "FastICA of differences": FastICA(random_state=0).fit(steps).components_,
        "ICA of pixels": ICA().fit(pixels).components_,
        "ICA of differences": ICA().fit(steps).components_,
    }
    print("largest correlation of two originals")
    for name, rows in [("pixels", originals.reshape(4, -1).T), ("differences", differences(originals))]:
        print(f"  {name:24}{np.abs(np.corrcoef(rows.T) - np.eye(4)).max():8.4f}")
    print(f"{'correlation with originals':26}" + "".join(f"{name:>8}" for name in NAMES))
    found = {}
    for name, W in unmixing.items():
        found[name], correlations = match_originals(np.tensordot(W, mixtures, axes=1), originals)
        print(f"  {name:24}" + "".join(f"{value:8.4f}" for value in correlations))
    if figure:
        columns = ["PCA of pixels", "ICA of pixels", "ICA of differences"]
        draw(figure, {"mixtures": mixtures, **{name: found[name] for name in columns}, "originals": originals})


def load_images():
    """Two parts of a photograph, a part of another, and a sheet of digits: 240 x 320 pixels, values 0 to 255."""
    china, flower = (photograph @ [0.299, 0.587, 0.114] for photograph in load_sample_images().images)
    digits = np.pad(load_digits().images[:48], [(0, 0), (1, 1), (1, 1)])
    digits = digits.reshape(6, 8, 10, 10).swapaxes(1, 2).reshape(60, 80)
    sheet = 255.0 * (1.0 - digits.repeat(4, axis=0).repeat(4, axis=1) / 16.0)
    return np.stack([china[20:260, :320], china[150:390, 320:], flower[100:340, 145:465], sheet])


def differences(images):
    """Differences of vertical and horizontal neighbours: a row for each pair of pixels, a column for each image."""
    down, across = np.diff(images, axis=1), np.diff(images, axis=2)
    return np.concatenate([part.reshape(len(images), -1) for part in (down, across)], axis=1).T


def match_originals(images, originals):
    """The images in the order and with the signs of the most similar originals, and their correlations with these."""
    k = len(images)
    correlations = np.corrcoef(originals.reshape(k, -1), images.reshape(k, -1))[:k, k:]
    rows, order = linear_sum_assignment(-np.abs(correlations))
    chosen = correlations[rows, order]
    return np.sign(chosen)[:, None, None] * images[order], np.abs(chosen)


def draw(figure, columns):
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt
    from PIL import Image

    fig, axes = plt.subplots(4, len(columns), figsize=(12, 7.55))
    for column, (name, images) in zip(axes.T, columns.items(), strict=True):
        column[0].set_title(name, fontsize=13)
        for ax, image in zip(column, images, strict=True):
            # The scale is unknown too, so the greys range over all but the most extreme pixels.
            low, high = np.quantile(image, [0.005, 0.995])
            ax.imshow(image, cmap="gray", vmin=low, vmax=high, interpolation="antialiased")
            ax.set_axis_off()
    fig.subplots_adjust(left=0.005, right=0.995, bottom=0.006, top=0.953, wspace=0.03, hspace=0.03)
    fig.canvas.draw()
    drawn = Image.fromarray(np.asarray(fig.canvas.buffer_rgba())[..., :3]).convert("L")
    drawn.quantize(40, dither=Image.Dither.NONE).save(figure, optimize=True)


if __name__ == "__main__":
    main(*sys.argv[1:2])
