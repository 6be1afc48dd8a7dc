"""
Is a new row likely or strange?
===============================

PCA says in which directions rows vary, but not how likely a row is. Can PCA be turned into a density, which has a value
for every row?

Probabilistic PCA is such a model: x = W u + mu + e, where u is normal with covariance I, and e is normal noise with the
same variance sigma2 in all columns. The rows are the petals of 150 irises, with their length and width.
"""

import numpy as np
from matplotlib import pyplot as plt
from sklearn.datasets import load_iris

from lowdim import PPCA

X = load_iris().data[:, 2:]
closed, em = PPCA(1).fit(X), PPCA(1, solver="em").fit(X)
n, p = X.shape
values = np.linalg.eigvalsh(np.cov(X.T, ddof=0))[::-1]
formula = -n / 2 * (p * np.log(2 * np.pi) + np.log(values[0]) + np.log(values[1]) + p)
print(f"log-likelihood: closed form {closed.loglike_[-1]:.6f}, EM {em.loglike_[-1]:.6f}, formula {formula:.6f}")
print(f"noise variance {closed.noise_variance_:.4f} = the eigenvalue left out, {values[1]:.4f}")

# %%
# The density is normal with mean mu and covariance W W^T + sigma2 I. Its likelihood has a maximum in closed form. EM
# comes to the same value, and so does the formula -N/2 (D log 2 pi + log lambda_1 + log lambda_2 + D) by hand.
#
# The model as a graph, in which an arrow leads from each variable to those that are drawn given it:

figure, ax = plt.subplots(figsize=(5.4, 2.8), layout="constrained")
figure.set_label(
    "A graph with an empty circle u_n and a filled circle x_n in a box that is marked N. An arrow leads from u_n to "
    "x_n. Three dots outside of the box, W, mu and sigma squared, have arrows to x_n."
)
latent, observed = np.array([1.6, 1.0]), np.array([3.2, 1.0])
ax.add_patch(plt.Rectangle((0.9, 0.3), 3.0, 1.4, fill=False))
ax.text(3.75, 0.42, "N", ha="right")
parameters = {"$W$": (1.9, 2.2), "$\\mu$": (3.2, 2.2), "$\\sigma^2$": (4.5, 2.2)}
for place, name, color in ((latent, "$u_n$", "white"), (observed, "$x_n$", "lightgrey")):
    ax.add_patch(plt.Circle(place, 0.33, facecolor=color, edgecolor="black"))
    ax.text(*place, name, ha="center", va="center")
for name, place in parameters.items():
    ax.plot(*place, "ko", markersize=5)
    ax.text(place[0] + 0.12, place[1] + 0.08, name)
for start, shrink in ((latent, 0.33), *((place, 0.06) for place in parameters.values())):
    way = (observed - start) / np.linalg.norm(observed - start)
    ax.annotate("", observed - 0.33 * way, start + shrink * way, arrowprops={"arrowstyle": "->"})
ax.set(xlim=(0.6, 5.0), ylim=(0.1, 2.6), aspect="equal")
ax.set_axis_off()
plt.show()

# %%
# The box stands for N rows. Each has a hidden u of its own, and an x that is seen, which is why its circle is filled.
# W, mu and sigma2 are dots, because they are numbers that all rows share. Given these numbers, the rows are
# independent.
#
# The density as contours, with the rows and, in orange, the points W u + mu of the posterior means u:

grid = np.stack(np.meshgrid(np.linspace(0, 8, 160), np.linspace(-0.6, 3.2, 160)), axis=-1)
density = np.exp(closed.score_samples(grid.reshape(-1, 2))).reshape(160, 160)
figure, ax = plt.subplots(figsize=(7, 4.2), layout="constrained")
figure.set_label(
    "Length and width of the petals of 150 irises as points, with the elliptical contours of the fitted Gaussian "
    "density along their main direction, and orange points on a line through the mean: the posterior means."
)
ax.contourf(grid[..., 0], grid[..., 1], density, levels=12, cmap="Blues")
ax.plot(*X.T, "k.", markersize=4, label="rows")
back = closed.inverse_transform(closed.transform(X))
ax.plot(*back.T, ".", color="tab:orange", markersize=4, label="of the posterior means")
ax.set(xlabel="petal length (cm)", ylabel="petal width (cm)", title="PPCA with one component")
ax.legend(loc="upper left")
plt.show()
for petal in ([4.3, 1.3], [4.3, 0.3]):
    print(f"petal of {petal[0]} x {petal[1]} cm: log-density {closed.score_samples([petal])[0]:.1f}")

# %%
# A petal of 4.3 x 1.3 cm is likely. One that is as long but only 0.3 cm wide is strange, although irises with petals of
# this length and irises with petals of this width exist: it is far from the line on which length and width agree. But
# irises have two clouds of petals, and a normal density has a single top. So the density is high between the clouds,
# where there is no iris.
#
# The orange points are near the projections of the rows on the line, but pulled towards the mean. The posterior mean of
# u is M^-1 W^T (x - mu) with M = W^T W + sigma2 I and, at the maximum for a given sigma2, W^T W = lambda - sigma2. How
# far is it from the whitened scores of PCA if there is less noise?

centred, direction = X - X.mean(axis=0), closed.components_[0]
scores = centred @ direction / np.sqrt(values[0])
for sigma2 in (1.0, 0.1, 0.01, 0.001):
    W = np.sqrt(values[0] - sigma2) * direction
    means = centred @ W / (W @ W + sigma2)
    print(f"sigma2 = {sigma2:5.3f}: largest difference from the whitened scores {np.abs(means - scores).max():.5f}")

# %%
# The difference falls in proportion to sigma2. So PCA is probabilistic PCA without noise, and you lose nothing by
# taking the probabilistic model; :ref:`sphx_glr_generated_gallery_plot_ppca_em.py` shows how EM fits it.
#
# Source of the idea: lectures on latent variable models, which give PCA a density and draw its graph; the model is that
# of Tipping and Bishop (1999), Probabilistic principal component analysis, Journal of the Royal Statistical Society B
# 61.
