"""
Can mixed images be separated?
==============================

You have several images, each of which is a mixture of the same few pictures, such as reflections in a window taken with
different filters. Can the pictures be found again if nobody knows how they were mixed?

Four known images, two of them parts of the same photograph, are mixed here, so that the result can be checked.
"""

import numpy as np
from matplotlib import pyplot as plt
from scipy.optimize import linear_sum_assignment
from sklearn.datasets import load_digits, load_sample_images
from sklearn.decomposition import FastICA

from lowdim import ICA, PCA

# Photographs by the Flickr users danielbuechele (temple and lake) and vultilion (dahlia), CC BY 2.0, and handwritten
# digits of the UCI repository, CC BY 4.0; all come with scikit-learn. Here they are cropped to 240 x 320 pixels and in
# grey.
china, flower = (photograph @ [0.299, 0.587, 0.114] for photograph in load_sample_images().images)
digits = np.pad(load_digits().images[:48], [(0, 0), (1, 1), (1, 1)])
digits = digits.reshape(6, 8, 10, 10).swapaxes(1, 2).reshape(60, 80).repeat(4, axis=0).repeat(4, axis=1)
originals = np.stack([
    china[20:260, :320],
    china[150:390, 320:],
    flower[100:340, 145:465],
    255.0 * (1.0 - digits / 16.0),
])  # fmt: skip
NAMES = ["temple", "lake", "dahlia", "digits"]
# The share of each image (column) in each mixture (row).
MIXING = np.array([
    [0.40, 0.20, 0.15, 0.25],
    [0.20, 0.35, 0.30, 0.15],
    [0.15, 0.25, 0.40, 0.20],
    [0.25, 0.30, 0.10, 0.35],
])  # fmt: skip
# A camera or a scanner stores whole numbers from 0 to 255.
mixtures = np.rint(np.tensordot(MIXING, originals, axes=1))


def pixels(images: np.ndarray) -> np.ndarray:
    """A row for each pixel, a column for each image."""
    return images.reshape(len(images), -1).T


def differences(images: np.ndarray) -> np.ndarray:
    """Differences of vertical and of horizontal neighbours: a row for each pair of pixels, a column for each image."""
    return np.concatenate([pixels(np.diff(images, axis=1)), pixels(np.diff(images, axis=2))])


# %%
# Each pixel is a row of the table and each mixture a column. Differences of neighbouring pixels are mixed by the same
# matrix as the images, so a model may be fitted to the differences and its ``components_`` applied to the images. The
# table that is printed has the correlation of each original with the image that was found for it:

unmixing = {
    "PCA of pixels": PCA().fit(pixels(mixtures)).components_,
    "ICA of pixels": ICA().fit(pixels(mixtures)).components_,
    "FastICA of pixels": FastICA(random_state=0).fit(pixels(mixtures)).components_,
    "ICA of differences": ICA().fit(differences(mixtures)).components_,
    "FastICA of differences": FastICA(random_state=0).fit(differences(mixtures)).components_,
}
found = {}
print(f"{'correlation with originals':26s}" + "".join(f"{name:>8s}" for name in NAMES))
for name, W in unmixing.items():
    images = np.tensordot(W, mixtures, axes=1)
    # The models do not know order and sign of the images, so each is set beside the original it is most similar to.
    correlations = np.corrcoef(pixels(originals).T, pixels(images).T)[:4, 4:]
    _, order = linear_sum_assignment(-np.abs(correlations))
    chosen = correlations[np.arange(4), order]
    found[name] = np.sign(chosen)[:, None, None] * images[order]
    print(f"  {name:24s}" + "".join(f"{value:8.4f}" for value in np.abs(chosen)))

# %%
# The mixtures, what PCA and ICA make of them, and the originals:

columns = {
    "mixtures": mixtures,
    **{name: found[name] for name in unmixing if "Fast" not in name},
    "originals": originals,
}
figure, axes = plt.subplots(4, 5, figsize=(10, 6.35), layout="constrained")
figure.set_label(
    "Twenty grey images in five columns: four mixtures in which all images overlap, four components of PCA, which "
    "still overlap, four sources of ICA of the pixels, one of them with the ghost of a temple, four sources of ICA of "
    "the differences, which look like the originals, and the originals: a temple, a lake, a dahlia and digits."
)
for (name, images), column in zip(columns.items(), axes.T, strict=True):
    column[0].set_title(name)
    for image, ax in zip(images, column, strict=True):
        # The scale is unknown too, so the greys range over all but the most extreme pixels.
        low, high = np.quantile(image, [0.005, 0.995])
        ax.imshow(image, cmap="gray", vmin=low, vmax=high, interpolation="antialiased")
        ax.set_axis_off()
figure.get_layout_engine().set(w_pad=0.02, h_pad=0.02, wspace=0.01, hspace=0.01)
plt.show()

# %%
# The components of PCA are still mixtures, with correlations of 0.63 to 0.80: PCA makes columns uncorrelated, which is
# not enough to separate them. ICA of the pixels reaches 0.97 to 1.00, but the negative of the temple is left in the sky
# above the lake. ICA of the differences reaches more than 0.999 for all four.
#
# Why do differences help? The joint histograms of two originals show it:

figure, axes = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")
figure.set_label(
    "Two joint histograms of temple and lake. Left: the grey values of pixels, spread over the square, with a bright "
    "spot where both are light. Right: the differences of neighbouring pixels, a cross with its centre at zero."
)
for ax, rows, title in ((axes[0], pixels(originals), "pixels"), (axes[1], differences(originals), "differences")):
    largest = np.abs(np.corrcoef(rows.T) - np.eye(4)).max()
    print(f"largest correlation of two originals, {title}: {largest:.4f}")
    ends = (0, 255) if title == "pixels" else (-60, 60)
    image = ax.hist2d(rows[:, 0], rows[:, 1], bins=60, range=(ends, ends), norm="log", cmap="viridis")[3]
    figure.colorbar(image, ax=ax, label="rows")
    ax.set(xlabel="temple", ylabel="lake", title=title, aspect="equal")
plt.show()

# %%
# Both parts of the photograph are brighter at the top, so their pixels are correlated (up to 0.40), and ICA looks for
# sources that are not. Most differences are near zero and few are large, and an edge in one image says nothing about
# edges in another, so their correlations are at most 0.01. FastICA gains as much: it is the choice of the rows that
# matters here, not the solver. You can conclude that ICA works as well as its assumption of independence holds. It
# cannot tell order, sign and scale of the images; these were set here by comparing with the originals.
#
# Source of the idea: the definition of ICA in lectures on latent variable models; the mixed images are a common
# demonstration of it.
