"""
How much better than PCA is an auto-encoder on digits?
======================================================

PCA describes rows by a flat surface. Do you gain anything if a neural network bends the surface, and what does it cost?

An auto-encoder has two networks: one makes K numbers of an image, and the other makes an image of K numbers. Both
methods are fitted to 3,823 images of OPTDIGITS, and judged on 1,797 others.
"""

# sphinx_gallery_thumbnail_number = 2

import sys
from pathlib import Path

import numpy as np
from matplotlib import pyplot as plt

from lowdim import PCA, load

# The data are in a clone of lowdim: that of this script or, in a notebook, that of the working directory.
places = [*Path(sys.argv[0]).resolve().parents, Path.cwd(), *Path.cwd().parents]
root = next((place for place in places if (place / "gallery" / "data").is_dir()), Path())
folder = root / "gallery" / "data"
with np.load(folder / "optdigits.npz") as file:
    X, digits, test = file["images"].reshape(-1, 64).astype(np.float32), file["labels"], file["is_test"]

# %%
# The auto-encoders were trained before and are loaded here, which needs no torch. They were made by ``AutoEncoder(2,
# hidden=(64, 32)).fit(X[~test])`` and the same with 10 components, with all options at their defaults
# (``docs/figures/train_auto_encoders.py``).

networks = {k: load(folder / f"optdigits_{k}.safetensors") for k in (2, 10)}
pca = PCA(30).fit(X[~test])
squares = np.sum((X[test] - pca.mean_) ** 2)
z = pca.transform(X[test])
lost = np.array([np.sum((X[test] - pca.inverse_transform(z[:, :k])) ** 2) / squares for k in range(1, 31)])
by_network = {k: np.sum(model.reconstruction_error(X[test])) / squares for k, model in networks.items()}
for k, share in by_network.items():
    print(f"{k:2d} numbers: PCA loses {lost[k - 1]:.0%} of the squares, the auto-encoder {share:.0%}", end=" ")
    print(f"({networks[k].n_iter_} epochs); PCA needs {1 + np.argmax(lost <= share)} for that")

# %%
# For images that were not in the fit, the share of their squared distance from the mean that is lost:

figure, ax = plt.subplots(figsize=(6, 3.6), layout="constrained")
figure.set_label(
    "The share that is lost against the number of components. The line of PCA falls slowly from 86% at one component; "
    "two marks of the auto-encoder, at 2 and at 10 components, lie far below it."
)
ax.plot(np.arange(1, 31), lost, "s--", markersize=4, label="PCA")
ax.plot(list(by_network), list(by_network.values()), "o", markersize=9, label="auto-encoder")
ax.set(xlabel="number of components", ylabel="share that is lost", ylim=(0, 1))
ax.legend()
plt.show()

# %%
# With two numbers, PCA loses 73% and the auto-encoder 42%; PCA needs six numbers for that. With ten numbers they lose
# 27% and 14%. So the images lie near a curved surface, and following the curve saves about half of the numbers. The
# price is seconds of training instead of milliseconds, and numbers that have no order and no unique meaning.
#
# The same images by their two numbers:

figure, axes = plt.subplots(1, 2, figsize=(10, 4.6), layout="constrained")
figure.set_label(
    "Two maps of digits, with a colour for each. On the map of PCA most digits overlap in one cloud. On the map of the "
    "auto-encoder they form arms that meet in the middle, one for nearly every digit."
)
for ax, scores, name in ((axes[0], z[:, :2], "PCA"), (axes[1], networks[2].transform(X[test]), "Auto-encoder")):
    marks = ax.scatter(*scores.T, c=digits[test], cmap="tab10", vmin=-0.5, vmax=9.5, s=6)
    ax.set(title=name, xlabel="first number", ylabel="second number")
figure.colorbar(marks, ax=axes, ticks=range(10), label="digit")
plt.show()

# %%
# On the map of PCA most digits overlap. On that of the auto-encoder nearly every digit has a place of its own, although
# nobody told it which image shows which digit. Distances on this map are not distances between images, since the
# surface is bent and stretched; do not compare the sizes of the groups.
#
# What lies between the images? The decoder makes an image of any two numbers. A grid over the middle of both maps:

figure, axes = plt.subplots(1, 2, figsize=(10, 5), layout="constrained")
figure.set_label(
    "Two grids of 10 by 10 images. Those of PCA change evenly from one blurred shape to another. Those of the "
    "auto-encoder are clear digits of most kinds, which turn into one another."
)
for ax, model, scores, name in (
    (axes[0], pca, z[:, :2], "PCA"),
    (axes[1], networks[2], networks[2].transform(X[test]), "Auto-encoder"),
):
    sides = [np.quantile(column, np.linspace(0.02, 0.98, 10)).astype(np.float32) for column in scores.T]
    grid = np.stack(np.meshgrid(sides[0], sides[1][::-1]), axis=-1).reshape(-1, 2)
    # Each image gets a white line around it, and then all become one picture.
    images = np.pad(model.inverse_transform(grid).reshape(10, 10, 8, 8), ((0, 0), (0, 0), (1, 1), (1, 1)))
    ax.imshow(images.transpose(0, 2, 1, 3).reshape(100, 100), cmap="gray_r", vmin=0, vmax=16)
    ax.set(title=name, xticks=[], yticks=[], xlabel="first number", ylabel="second number")
plt.show()

# %%
# PCA blends two patterns evenly, and most blends are no digits. The auto-encoder draws clear digits that turn into one
# another, because it was trained to use the whole map for images like those it has seen. A clear image is no proof that
# such a digit exists: the decoder answers for every point, also for those between the groups.
#
# Source of the idea: the outlook of a lecture on PCA, which names auto-encoders as a nonlinear extension.
