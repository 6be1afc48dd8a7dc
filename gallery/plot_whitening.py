"""
Whitening a cloud
=================

**The lecture** (Faul): x -> Lambda^(-1/2) W^T (x - mu) gives rows with mean zero and covariance I. "Do not use, if the
technique to be used relies on distinct eigenvalues of the sample covariance matrix."

**Measured:** the covariance of the whitened rows is I to 13 digits. There are many such maps, because every rotation of
white rows is white; the figure shows three of them on the same cloud. The warning is right: PCA of whitened rows has
nothing left to find.
"""

import numpy as np
from matplotlib import pyplot as plt
from sklearn.datasets import load_wine

from lowdim import PCA, Whitening

wine = load_wine(as_frame=True)
X = wine.data[["total_phenols", "flavanoids"]].to_numpy()
kinds = ("pca", "zca", "cholesky")
white = {kind: Whitening(kind).fit_transform(X) for kind in kinds}
for kind, Z in white.items():
    print(f"{kind:9s} |covariance - I| {np.abs(np.cov(Z.T) - np.eye(2)).max():.0e}")

# %%
# The rows of ``"pca"`` are the scores, divided by their standard deviations. Those of ``"zca"`` stay as near to the
# original columns as white rows can, so that the axes keep their meaning. Those of ``"cholesky"`` leave the last column
# alone, up to its scale.

figure, axes = plt.subplots(1, 4, figsize=(10, 3.1), layout="constrained")
figure.set_label(
    "Four scatter plots of 178 wines, coloured by cultivar. The first is the original, an elongated cloud. In the "
    "other three, whitened by PCA, ZCA and Cholesky, the cloud is round, and turned differently in each."
)
titles = ("original", "PCA whitening", "ZCA whitening", "Cholesky whitening")
for ax, Z, title in zip(axes, (X - X.mean(axis=0), *white.values()), titles, strict=True):
    for cultivar, marker in enumerate("osD"):
        own = wine.target == cultivar
        ax.plot(*Z[own].T, marker, color=f"C{cultivar}", markersize=3, label=f"cultivar {cultivar + 1}")
    ax.set(title=title, xlim=(-4, 4), ylim=(-4, 4), aspect="equal")
axes[0].set(xlabel="total phenols", ylabel="flavanoids")
axes[0].legend(fontsize="x-small")
plt.show()

# %%
# What the lecture warns of: after whitening all variances are equal, so PCA cannot rank directions any more. The first
# component of the whitened rows is whatever rounding made it.

print("before:", PCA().fit(X).explained_variance_ratio_.round(4))
print("after: ", PCA().fit(white["zca"]).explained_variance_ratio_.round(4))
