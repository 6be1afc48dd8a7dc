"""
Where do new rows go on a map of kernel PCA?
============================================

You have drawn a map of your rows by kernel PCA, and new rows come in. Can they be put on the same map without a new
fit, and can you trust their places?

The score of any point x is a sum of its kernels with the rows of the fit, y(x) = sum_n a_n k(x, x_n). The rows are 901
images of the digits 0 to 4, of which 300 are left out of the fit.
"""

import numpy as np
from matplotlib import pyplot as plt
from scipy.linalg import orthogonal_procrustes
from sklearn.datasets import load_digits
from sklearn.neighbors import KNeighborsClassifier

from lowdim import PCA, KernelPCA

X, digits = load_digits(n_class=5, return_X_y=True)
order = np.random.default_rng(0).permutation(len(X))
new, train = order[:300], order[300:]
model = KernelPCA(2, kernel="gaussian").fit(X[train])
Z_train, Z_new = model.transform(X[train]), model.transform(X[new])
kernel = model.kernel_
print(f"{len(train)} rows in the fit, {len(new)} new ones; {kernel}")
neighbours = KNeighborsClassifier(15).fit(Z_train, digits[train])
print(f"new digits named right by their neighbours in the map: {neighbours.score(Z_new, digits[new]):.1%}")

# %%
# Neighbours in the map of 601 rows name 89% of the new rows correctly, so the new rows come to the right places. The
# formula by hand: features have to be centred, with the means of the rows of the fit; then the
# scores of new points are those of ``transform``.

n = len(train)
K = kernel(X[train], X[train])
centring = np.eye(n) - 1 / n
gamma, P = np.linalg.eigh(centring @ K @ centring)
a = P[:, :-3:-1] / np.sqrt(gamma[:-3:-1])
by_hand = (kernel(X[new], X[train]) - K.mean(axis=0)) @ centring @ a
print(f"largest difference from transform: {np.abs(np.abs(by_hand) - np.abs(Z_new)).max():.0e}")

# %%
# By hand and by ``transform``, the scores agree. Rows of the fit as points, new ones as rings, in the same map:

figure, ax = plt.subplots(figsize=(8, 5), layout="constrained")
figure.set_label(
    "A map of digits 0 to 4 by two components of kernel PCA, in five colours: rows of the fit as points, new ones as "
    "rings. The rings of each digit lie among its points."
)
for digit in range(5):
    ax.plot(*Z_train[digits[train] == digit].T, ".", color=f"C{digit}", markersize=5, alpha=0.5)
    ax.plot(
        *Z_new[digits[new] == digit].T,
        "o^sDv"[digit],
        color=f"C{digit}",
        markerfacecolor="none",
        markersize=7,
        label=f"{digit}",
    )
ax.set(
    xlabel=f"PC1 ({model.explained_variance_ratio_[0]:.1%})",
    ylabel=f"PC2 ({model.explained_variance_ratio_[1]:.1%})",
    title="Points: rows of the fit; rings: new rows",
)
ax.legend(title="new digits")
plt.show()

# %%
# The rings lie among the points of the same digit. Where the groups of points overlap, so do the rings.
#
# Would the scores be different if the new points had been in the fit? Maps are compared after the best rotation,
# because two components with similar variances may turn into each other.

whole = KernelPCA(2, kernel=kernel).fit(X[order]).transform(X[new])
sizes = [25, 50, 100, 200, 400, len(train)]
changes, turned = [], {}
for size in sizes:
    part = KernelPCA(2, kernel=kernel).fit(X[train[:size]]).transform(X[new])
    turned[size] = part @ orthogonal_procrustes(part, whole)[0]
    changes.append(np.linalg.norm(turned[size] - whole) / np.linalg.norm(whole))
    print(f"fit to {size:3d} rows: scores of new points differ by {changes[-1]:.1%} from those of a fit to all rows")

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.9), layout="constrained")
figure.set_label(
    "Left: the first scores of 300 new digits with the new digits in the fit against those without them; all points "
    "lie close to the diagonal. Right: the difference from a fit to all rows falls with the number of rows of the fit, "
    "on logarithmic scales."
)
left.plot(whole[:, 0], turned[len(train)][:, 0], ".")
ends = [whole[:, 0].min(), whole[:, 0].max()]
left.plot(ends, ends, color="black", linewidth=0.8)
left.set(xlabel="PC1, fitted with the new rows", ylabel="PC1, fitted without them", title="The same 300 new rows")
right.loglog(sizes, changes, "o-")
right.set_xticks(sizes, [str(size) for size in sizes])
right.set_xticks([], minor=True)
right.set_yticks([0.02, 0.05, 0.1, 0.2, 0.5], ["2%", "5%", "10%", "20%", "50%"])
right.set_yticks([], minor=True)
right.set(xlabel="rows of the fit", ylabel="difference from a fit to all rows", title="Fits to fewer rows")
plt.show()

# %%
# The scores differ by 3% from those of a fit to all rows, and by 12% if only 200 rows were fitted. The more rows there
# are, the less the new ones matter.
#
# The formula fails far from the rows of the fit. There all kernels of a Gaussian are zero, so all points have the same
# scores, whatever they are. As an example, the new images are given in other units than those of the fit:

factors = np.geomspace(1, 255 / 16, 40)
shown = [new[np.flatnonzero(digits[new] == digit)[0]] for digit in range(5)]
pca = PCA(2).fit(X[train])
figure, axes = plt.subplots(1, 2, figsize=(10, 3.9), layout="constrained")
figure.set_label(
    "The first score of five new images as curves, against a factor from 1 to 16 by which they are brighter. Left, "
    "kernel PCA: the curves start apart and all end at the same value near zero, from a factor of about 4. Right, PCA: "
    "the curves move further and further apart."
)
for ax, fitted, name in ((axes[0], model, "kernel PCA, Gaussian"), (axes[1], pca, "PCA")):
    curves = np.array([fitted.transform(factor * X[shown])[:, 0] for factor in factors])
    for digit, curve in enumerate(curves.T):
        ax.semilogx(factors, curve, label=f"a {digit}", linestyle=["-", "--", "-.", ":", (0, (5, 1, 1, 1))][digit])
    ax.set_xticks([1, 2, 4, 8, 16], ["1", "2", "4", "8", "16"])
    ax.set_xticks([], minor=True)
    ax.set(xlabel="factor of the brightness", ylabel="PC1", title=name)
axes[1].legend()
plt.show()
bright = X[new] * 255 / 16
spread = np.ptp(model.transform(bright), axis=0).max()
constant = -model.offset_ @ model.projection_
print(f"with 256 greys: all scores within {spread:.0e} of each other, at {model.transform(bright)[0].round(4)}")
print(f"the scores of a point whose kernels are all zero: {constant.round(4)}")

# %%
# At a factor of about 4 all curves have come to the same value. If images have 256 greys instead of 17, all 300 of them
# lie on one point in the middle of the map, where they look harmless. The scores of PCA grow instead, so that the
# mistake is seen.
#
# The kernels themselves show the mistake. The largest kernel with a row of the fit is 1 at such a row, and near zero
# far from all of them:

for factor in (1, 2, 4, 255 / 16):
    nearest = np.median(kernel(factor * X[new], X[train]).max(axis=1))
    right_now = neighbours.score(model.transform(factor * X[new]), digits[new])
    print(f"factor {factor:4.1f}: largest kernel, median {nearest:.2g}; named right by neighbours {right_now:.0%}")

# %%
# Images that are twice as bright have a largest kernel of 0.44 in the median, and 72% are named correctly instead of
# 89%. So look at the largest kernels before you trust the scores of new rows, and do not use scores of rows for which
# they are near zero.
#
# Source of the idea: lectures on kernel PCA, which give the score of a new point as a sum of kernels, without a new
# fit.
