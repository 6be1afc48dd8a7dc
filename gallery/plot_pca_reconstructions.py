"""
PCA of MNIST: digits rebuilt from few numbers
=============================================

An image of 28 x 28 pixels is a point in 784 dimensions. PCA describes it by K scores, and the scores give an image
back.

**The lecture** (Faul) shows originals beside reconstructions with two and three components, and the principal subspaces
with two and three dimensions: "as more eigenvectors are used, the average squared distance becomes smaller".

**Measured** on 2,000 digits: two components hold 17% of the variance and three 23%; what they rebuild is hardly a
digit. With 50 components (82.5%) every digit can be read. The average squared distance is exactly the sum of the
eigenvalues that were left out.
"""

import sys
from pathlib import Path

import numpy as np
from matplotlib import pyplot as plt

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
# The principal subspaces with two and with three dimensions. Zeros and ones lie at opposite ends of the first
# component; the third separates more of the others.

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
