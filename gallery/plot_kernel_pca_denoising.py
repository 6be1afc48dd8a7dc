"""
Denoising by pre-images
=======================

**The lecture** (Faul) notes that the components of kernel PCA are "not calculated", only projections on them. To get an
image back from its scores one needs a pre-image: the image whose features are nearest to the projection.

**Measured** on digits with added noise: rebuilt from 8 components, the images of kernel PCA are nearer to the originals
(an error of 0.188) than those of PCA (0.200). The gain is small, but there is one at every number of components, and
taking too many components costs less.
"""

# sphinx_gallery_thumbnail_number = 2

import numpy as np
from matplotlib import pyplot as plt
from sklearn.datasets import load_digits

from lowdim import PCA, KernelPCA

clean = load_digits().data[:600] / 16.0
random = np.random.default_rng(0)
noisy = clean + 0.35 * random.standard_normal(clean.shape)
test = np.arange(len(clean)) % 8 == 0
train = ~test


def error(pictures: np.ndarray) -> float:
    """Root mean square difference from the clean test images."""
    return float(np.sqrt(np.mean((pictures - clean[test]) ** 2)))


numbers = (4, 8, 16, 32)
pca = PCA(32).fit(noisy[train])
kpca = KernelPCA(32, kernel="rbf").fit(noisy[train])
by_pca = [error(pca.inverse_transform(pca.transform(noisy[test], n_components=k))) for k in numbers]
by_kernel = [error(kpca.inverse_transform(kpca.transform(noisy[test], n_components=k))) for k in numbers]
print(f"error of the noisy images {error(noisy[test]):.3f}")
for k, linear, kernel in zip(numbers, by_pca, by_kernel, strict=True):
    print(f"K = {k:2d}: PCA {linear:.3f}, kernel PCA {kernel:.3f}")

# %%
# The fit saw only noisy images. The error against the clean ones, by the number of components:

figure, ax = plt.subplots(figsize=(6, 3.6), layout="constrained")
figure.set_label(
    "Error against the clean images over the number of components. PCA has its least error at 8 and rises again; "
    "kernel PCA falls lower and rises less. Both are far below the noisy images."
)
ax.plot(numbers, by_pca, "s--", label="PCA")
ax.plot(numbers, by_kernel, "o-", label="kernel PCA, Gaussian")
ax.axhline(error(noisy[test]), color="grey", linestyle=":", label="noisy images")
ax.set(xlabel="number of components", ylabel="RMSE to the clean images", ylim=(0, None))
ax.legend()
plt.show()

# %%
# Ten test images, at the best number of components of each.

best_linear, best_kernel = numbers[int(np.argmin(by_pca))], numbers[int(np.argmin(by_kernel))]
shown = np.flatnonzero(test)[:10]
rows = [
    ("clean", clean[shown]),
    ("noisy", noisy[shown]),
    (f"PCA, K = {best_linear}", pca.inverse_transform(pca.transform(noisy[shown], n_components=best_linear))),
    (f"kernel, K = {best_kernel}", kpca.inverse_transform(kpca.transform(noisy[shown], n_components=best_kernel))),
]
figure, axes = plt.subplots(4, 10, figsize=(9, 3.8), layout="constrained")
figure.set_label(
    "Ten digits in four rows: clean, with noise, rebuilt by PCA, and rebuilt by kernel PCA. The last row is the "
    "smoother and the nearer to the first."
)
for (name, pictures), line in zip(rows, axes, strict=True):
    for picture, ax in zip(pictures, line, strict=True):
        ax.imshow(picture.reshape(8, 8), cmap="gray_r", vmin=0, vmax=1)
        ax.set(xticks=[], yticks=[])
    line[0].set_ylabel(name, rotation=0, ha="right", va="center")
plt.show()
