"""
Probabilistic PCA: a density over the plane
===========================================

**The lectures** (Faul; MIT) give PCA a density: x = W u + mu + e with noise of the same variance in all directions, so
that x ~ N(mu, W W^T + sigma2 I). The maximum of the likelihood has a closed form, and for sigma2 -> 0 the posterior
mean of u is the projection of PCA.

**Measured** on the petals of 150 irises: the closed form and EM give the same likelihood to nine digits, and the
log-likelihood is the one that the formula of the lecture gives.
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
# The density as contours, with the rows and, in orange, the points that the posterior means stand for. These are pulled
# towards the mean: for small noise they would be the projections on the line.

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
# EM step by step. The lecture's picture: rows hang on springs from a rod. The E-step lets each spring find its place on
# the rod that is held; the M-step lets the rod turn while the springs' ends are held.

centred = X - X.mean(axis=0)
W, sigma2 = np.array([[0.2], [-0.6]]), 1.0
steps = [W]
for _ in range(6):
    M = W.T @ W + sigma2 * np.eye(1)
    U = centred @ W @ np.linalg.inv(M)
    second = n * sigma2 * np.linalg.inv(M) + U.T @ U
    W = centred.T @ U @ np.linalg.inv(second)
    sigma2 = (np.sum(centred**2) - 2 * np.sum(U * (centred @ W)) + np.trace(second @ W.T @ W)) / (n * p)
    steps.append(W)

figure, axes = plt.subplots(1, 4, figsize=(12, 3.1), layout="constrained", sharey=True)
figure.set_label(
    "Four panels, before the first and after one, two and six steps of EM. A line through the mean turns from a wrong "
    "direction to the direction of the points; thin lines join each point with its place on the line."
)
for ax, step in zip(axes, (0, 1, 2, 6), strict=True):
    direction = steps[step][:, 0] / np.linalg.norm(steps[step])
    feet = np.outer(centred @ direction, direction)
    for row, foot in zip(centred[::4], feet[::4], strict=True):
        ax.plot(*np.stack([row, foot]).T, color="tab:red", linewidth=0.5)
    ax.plot(*centred.T, "k.", markersize=3)
    ax.plot(*(np.outer([-4, 4], direction)).T, color="tab:blue")
    ax.set(
        title="start" if step == 0 else f"after {step} step{'s' * (step > 1)}",
        aspect="equal",
        xlim=(-4, 4),
        ylim=(-2.6, 2.6),
    )
plt.show()
angle = abs(steps[-1][:, 0] @ closed.components_[0]) / np.linalg.norm(steps[-1]) / np.linalg.norm(closed.components_[0])
print(f"|cosine| with the direction of the closed form after 6 steps: {angle:.6f}")
