"""
How well can images be rebuilt from few numbers?
================================================

You want to store images with fewer numbers than they have pixels. How many numbers does an image need, and what is
lost?

The first data are 2,000 handwritten digits of MNIST with 28 x 28 pixels, so each is a point in 784 dimensions. The
second is one photograph, which is cut into blocks of 8 x 8 pixels, as JPEG does.
"""

import sys
from pathlib import Path

import numpy as np
from matplotlib import pyplot as plt
from sklearn.datasets import load_sample_image

from lowdim import PCA

# The data are in a clone of lowdim: that of this script or, in a notebook, that of the working directory.
places = [*Path(sys.argv[0]).resolve().parents, Path.cwd(), *Path.cwd().parents]
root = next((place for place in places if (place / "gallery" / "data").is_dir()), Path())
with np.load(root / "gallery" / "data" / "mnist.npz") as file:
    images, digits = file["images"], file["labels"]
X = images.reshape(len(images), -1) / 255.0
pca = PCA(ddof=0).fit(X)
share = np.cumsum(pca.explained_variance_ratio_)
KS = (2, 3, 10, 50, 100, 300)
for k in KS:
    left_out = pca.explained_variance_[k:].sum()
    distance = pca.reconstruction_error(X, n_components=k).mean()
    print(f"K = {k:3d}: {share[k - 1]:6.1%} of the variance; average squared distance {distance:.4f} = {left_out:.4f}")

# %%
# Each line has the average squared distance between the images and their reconstructions, computed in two ways: from
# the images, and as the sum of the variances of the components that were left out. They are equal. So the variances
# tell you the error before you rebuild a single image.
#
# One digit of each kind, and its reconstructions from K scores. ``inverse_transform`` of the first K scores takes the
# others to be zero, so one fit serves all K.

shown = [int(np.flatnonzero(digits == digit)[0]) for digit in range(10)]
Z = pca.transform(X[shown])
rows = [("original", X[shown])] + [(f"K = {k}", pca.inverse_transform(Z[:, :k])) for k in KS]
figure, axes = plt.subplots(len(rows), 10, figsize=(8, 6), layout="constrained")
figure.set_label(
    "A grid of images: ten digits in columns; in rows the originals and their reconstructions with 2, 3, 10, 50, 100 "
    "and 300 components. With 2 and 3 they are blurred averages; with 50 all can be read; with 300 they look original."
)
for (name, pictures), line in zip(rows, axes, strict=True):
    for picture, ax in zip(pictures, line, strict=True):
        ax.imshow(picture.reshape(28, 28), cmap="gray_r", vmin=0, vmax=1)
        ax.set(xticks=[], yticks=[])
    line[0].set_ylabel(name, rotation=0, ha="right", va="center")
plt.show()

# %%
# With two or three components, which hold 17% and 23% of the variance, the images are blurred averages and hardly
# digits. With 50 components (82.5%) every digit can be read, and with 300 they look like the originals. How much
# variance is enough depends on what the images are for; a person reads them with less than a program that compares
# pixels would accept.
#
# The same digits as points, by their first two and their first three components:

figure = plt.figure(figsize=(10, 5), layout="constrained")
figure.set_label(
    "Left: a map of 700 digits by two scores, each drawn as a numeral in its colour; zeros at the right, ones at the "
    "left, fours, sevens and nines below, the others between them. Right: the digits with three scores, as a cloud in "
    "space."
)
scores = pca.transform(X, n_components=3)
left, right = figure.add_subplot(1, 2, 1), figure.add_subplot(1, 2, 2, projection="3d")
for row in range(700):
    left.text(*scores[row, :2], str(digits[row]), color=f"C{digits[row]}", fontsize=8, ha="center", va="center")
left.set(
    xlim=(scores[:, 0].min(), scores[:, 0].max()),
    ylim=(scores[:, 1].min(), scores[:, 1].max()),
    xlabel=f"PC1 ({pca.explained_variance_ratio_[0]:.1%})",
    ylabel=f"PC2 ({pca.explained_variance_ratio_[1]:.1%})",
    title="Two components",
)
for digit, marker in enumerate("osD^v<>PX*"):
    right.plot(*scores[digits == digit].T, marker, color=f"C{digit}", markersize=2.5, linestyle="none", label=digit)
right.set(xlabel="PC1", ylabel="PC2", zlabel="PC3", title="Three components")
right.set_box_aspect((1, 1, 1), zoom=0.85)
figure.legend(*right.get_legend_handles_labels(), ncols=10, loc="outside lower center", markerscale=2, title="digit")
plt.show()

# %%
# Zeros and ones lie at opposite ends of the first component, so this component tells round digits from straight ones.
# The third component separates some digits that overlap in the plane. Neither picture separates all ten digits, so two
# or three components are enough for a map but not for recognition.
#
# A single photograph can be compressed in the same way if its parts serve as rows. Here a grey photograph of 424 x 640
# pixels is cut into 4,240 blocks of 8 x 8 pixels. Each block is a row with 64 columns, and PCA keeps K numbers of each.
# The photograph of a temple is by the Flickr user danielbuechele, CC BY 2.0, and comes with scikit-learn.

photograph = load_sample_image("china.jpg")[:424] @ [0.299, 0.587, 0.114]
height, width = photograph.shape
blocks = photograph.reshape(height // 8, 8, width // 8, 8).swapaxes(1, 2).reshape(-1, 64)
of_blocks = PCA().fit(blocks)
Z = of_blocks.transform(blocks)


def rebuilt(k: int) -> np.ndarray:
    """The photograph from k numbers for each block."""
    pictures = of_blocks.inverse_transform(Z[:, :k]).reshape(height // 8, width // 8, 8, 8)
    return pictures.swapaxes(1, 2).reshape(height, width)


print(f"{len(blocks)} blocks of 64 pixels")
figure, axes = plt.subplots(2, 4, figsize=(11, 4.1), layout="constrained")
figure.set_label(
    "Upper row: a photograph of a temple, and rebuilt from 1, 4 and 16 numbers for each block of 64 pixels. With 1 the "
    "blocks are plain squares, with 4 edges are ragged, with 16 it looks like the original. Lower row: details of the "
    "roof."
)
for column, k in zip(axes.T, (64, 1, 4, 16), strict=True):
    picture = rebuilt(k)
    rmse = np.sqrt(np.mean((picture - photograph) ** 2))
    held = of_blocks.explained_variance_ratio_[:k].sum()
    print(f"K = {k:2d} of 64 numbers: {held:.1%} of the variance, error {rmse:.1f} of 255 greys")
    column[0].imshow(picture, cmap="gray", vmin=0, vmax=255)
    column[1].imshow(picture[120:240, 120:300], cmap="gray", vmin=0, vmax=255)
    column[0].set_title("original" if k == 64 else f"{k} of 64 numbers")
for ax in axes.ravel():
    ax.set_axis_off()
plt.show()

# %%
# One number for each block holds 89% of the variance, but only shows squares of plain grey. With 16 of 64 numbers the
# photograph looks like the original in small, and the detail of the roof has lost only its finest lines; the error is
# 16 of 255 greys. So the share of the variance flatters the result: most of it is the brightness of the blocks, and
# what the eye looks for is in the rest.
#
# The first components of the blocks, which are small images:

figure, axes = plt.subplots(1, 12, figsize=(11, 1.3), layout="constrained")
figure.set_label(
    "The first twelve components of the blocks: an even patch, two slopes, and stripes, some of them slanted."
)
for number, (component, ax) in enumerate(zip(of_blocks.components_, axes, strict=False)):
    ax.imshow(component.reshape(8, 8), cmap="gray")
    ax.set(title=str(number + 1), xticks=[], yticks=[])
plt.show()

# %%
# The first component is the brightness of a block, the next two are its slopes, and then come stripes, which are finer
# and finer. The level ones are close to the cosine patterns that JPEG uses for all images; the slanted ones are those
# of the roofs in this photograph. JPEG need not store its patterns. The components of PCA were fitted to this
# photograph, so they belong to the compressed file.
#
# Source of the idea: a lecture on PCA that rebuilds digits of MNIST, and mentions the 8 x 8 blocks of JPEG.
