"""
Probabilistic PCA: a density over the plane
===========================================

**The lectures** (Faul; MIT) give PCA a density: x = W u + mu + e with noise of the same variance in all directions, so
that x ~ N(mu, W W^T + sigma2 I). The maximum of the likelihood has a closed form, and for sigma2 -> 0 the posterior
mean of u is the projection of PCA.

**Measured** on the petals of 150 irises: the closed form, EM and the formula of the lecture give the same
log-likelihood to nine digits. The difference between the posterior means and PCA's whitened scores falls in proportion
to sigma2.
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
# The density as contours, with the rows and, in orange, the points W u + mu of the posterior means u. These are pulled
# towards the mean; for small noise they would be the projections on the line.

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

# %%
# sigma2 -> 0. The posterior mean is M^-1 W^T (x - mu) with M = W^T W + sigma2 I and, at the maximum for a given sigma2,
# W^T W = lambda - sigma2. The smaller sigma2, the nearer are the posterior means to the whitened scores of PCA. How EM
# finds the maximum is shown in :ref:`sphx_glr_generated_gallery_plot_ppca_em.py`.

centred, direction = X - X.mean(axis=0), closed.components_[0]
scores = centred @ direction / np.sqrt(values[0])
for sigma2 in (1.0, 0.1, 0.01, 0.001):
    W = np.sqrt(values[0] - sigma2) * direction
    means = centred @ W / (W @ W + sigma2)
    print(f"sigma2 = {sigma2:5.3f}: largest difference from the whitened scores {np.abs(means - scores).max():.5f}")
