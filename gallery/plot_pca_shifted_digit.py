"""
Why does one moving digit need many components?
===============================================

Your images differ in only a few ways: an object moves left and right, up and down, and turns. These are three numbers
for each image. Does PCA find that three components are enough?

One handwritten 3 is put 1,000 times into a field of 100 x 100 pixels, each time shifted and rotated at random.
"""

import sys
from pathlib import Path

import numpy as np
from matplotlib import pyplot as plt
from scipy import ndimage

from lowdim import PCA

N_COPIES, SIZE = 1000, 100
# The data are in a clone of lowdim: that of this script or, in a notebook, that of the working directory.
places = [*Path(sys.argv[0]).resolve().parents, Path.cwd(), *Path.cwd().parents]
root = next((place for place in places if (place / "gallery" / "data").is_dir()), Path())
with np.load(root / "gallery" / "data" / "mnist.npz") as file:
    three = file["images"][np.flatnonzero(file["labels"] == 3)[0]] / 255.0
field = np.pad(ndimage.zoom(three, 2, order=1), (SIZE - 56) // 2)


def moved(random: np.random.Generator) -> np.ndarray:
    """The digit, rotated by up to 25 degrees and shifted by up to 12 pixels either way."""
    turned = ndimage.rotate(field, random.uniform(-25, 25), reshape=False, order=1)
    return ndimage.shift(turned, random.uniform(-12, 12, size=2), order=1)


random = np.random.default_rng(0)
X = np.stack([moved(random).ravel() for _ in range(N_COPIES)])
pca = PCA(600).fit(X)
print(pca.plan_)
share = np.cumsum(pca.explained_variance_ratio_)
for k in (3, 10, 50, 100):
    print(f"{k:3d} components: {share[k - 1]:.1%} of the variance")

# %%
# Three components hold only 31% of the variance, and 98% need 100 components. There are fewer rows than columns, so
# lowdim decomposes the 1,000 x 1,000 inner products of the rows instead of a covariance matrix with 10,000 x 10,000
# entries (:ref:`sphx_glr_generated_gallery_plot_pca_wide.py`).
#
# The mean image, and the first four components with their variances:

pictures = [("mean", pca.mean_)] + [
    (f"$\\lambda_{k + 1}$ = {pca.explained_variance_[k]:.2f}", pca.components_[k]) for k in range(4)
]
figure, axes = plt.subplots(1, 5, figsize=(10, 2.4), layout="constrained")
figure.set_label(
    "Five images of 100 x 100 pixels: the mean is a grey blur in the middle; the first four eigenvectors are smooth "
    "patterns of positive and negative patches, with falling eigenvalues."
)
for (name, picture), ax in zip(pictures, axes, strict=True):
    largest = np.abs(picture).max()
    ax.imshow(picture.reshape(SIZE, SIZE), cmap="RdBu_r", vmin=-largest, vmax=largest)
    ax.set(title=name, xticks=[], yticks=[])
plt.show()

# %%
# The components show which pixels change together: those at the left against those at the right, those at the top
# against those at the bottom, and then patterns with more and more changes of sign. No single component is "a shift to
# the right". The value of a pixel does not grow in proportion to the shift; it rises when the stroke arrives and falls
# when it has passed. The images lie on a curved surface of three dimensions, and flat directions describe it only piece
# by piece.
#
# The variances of the components, and the share of the variance that is lost, against the number of components:

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.6), layout="constrained")
figure.set_label(
    "Left: the eigenvalues fall on a logarithmic scale over 600 components, fast at first and then slowly. Right: the "
    "share of the variance that is lost falls to 2% at 100 components, which is marked."
)
left.semilogy(np.arange(1, 601), pca.explained_variance_)
left.set(xlabel="component", ylabel="eigenvalue", title="Spectrum")
right.plot(np.arange(1, 601), 1 - share)
right.axvline(100, color="grey", linestyle=":")
right.set(xlabel="number of components", ylabel="share of the variance that is lost", title="Projection error")
plt.show()

# %%
# The variances fall slowly and have no step after the third component. So the number of components that PCA needs is
# not the number of causes behind the data; it is an upper bound if the causes act in a nonlinear way.
#
# One of the images, rebuilt from few of its components:

z = pca.transform(X[:1])
figure, axes = plt.subplots(1, 5, figsize=(10, 2.3), layout="constrained")
figure.set_label(
    "The first copy of the digit and its reconstructions with 3, 10, 50 and 100 components: a blur at 3, a ghost at "
    "10, a readable three at 50, nearly the original at 100."
)
axes[0].imshow(X[0].reshape(SIZE, SIZE), cmap="gray_r", vmin=0, vmax=1)
axes[0].set_title("original")
for k, ax in zip((3, 10, 50, 100), axes[1:], strict=True):
    ax.imshow(pca.inverse_transform(z[:, :k]).reshape(SIZE, SIZE), cmap="gray_r", vmin=0, vmax=1)
    ax.set_title(f"K = {k}")
for ax in axes:
    ax.set(xticks=[], yticks=[])
plt.show()

# %%
# With 50 components the 3 can be read, and with 100 it is nearly the original. That is 1% of the 10,000 pixels, so PCA
# compresses these images well although it does not discover how they were made. The components themselves also have to
# be stored, which pays off only if there are many images.
#
# Source of the idea: a lecture on PCA, after Bishop (2006), Pattern Recognition and Machine Learning, chapter 12.
