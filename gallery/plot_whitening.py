"""
What is left of a table after whitening?
========================================

Some methods want columns that are uncorrelated and have variance 1. How do you make such columns, and what do you lose?

The rows are 178 wines with two measurements, their total phenols and their flavanoids, which are strongly correlated.
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
# Whitening multiplies centred rows by a matrix that makes their covariance I. All three kinds do so, up to rounding.
# Every rotation of white rows is white again, so there are many such matrices. The rows of ``"pca"`` are the scores,
# divided by their standard deviations. Those of ``"zca"`` stay as near to the original columns as white rows can, so
# that the axes keep their meaning. Those of ``"cholesky"`` leave the last column alone, up to its scale.

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
# The elongated cloud has become round in all three plots, and the plots differ by a rotation only. The kinds of wine
# still lie beside each other. Choose ``"zca"`` if you want to go on reading the columns, ``"pca"`` if you want to leave
# out components, and ``"cholesky"`` if the columns have an order.
#
# What is lost are the variances. How much of the variance is in each component, before and after?

print("before:", PCA().fit(X).explained_variance_ratio_.round(4))
print("after: ", PCA().fit(white["zca"]).explained_variance_ratio_.round(4))

# %%
# Before, the first component had 95% of the variance. After whitening both have half of it, so PCA cannot rank
# directions any more, and the first component of whitened rows is whatever rounding made it. So do not whiten before a
# method that looks for directions of large variance. A direction of small variance, which may be nothing but noise, now
# counts as much as any other.
#
# Source of the idea: a lecture on PCA, which warns of whitening before methods that rely on distinct eigenvalues.
