"""
How does EM find the principal axis?
====================================

EM fits a model with hidden variables by repeating two half-steps. What does each of them do, why can the likelihood
never fall, and how fast does it get to the end?

The model is probabilistic PCA with one component, x = W u + e with u ~ N(0, 1) and e ~ N(0, sigma2 I), and the table
has two columns of 178 wines. The E-step holds W and sigma2 fixed and finds the posterior of the latent u of each row.
The M-step holds these posteriors fixed and finds the best W and sigma2.
"""

from itertools import pairwise

import numpy as np
from matplotlib import pyplot as plt
from sklearn.datasets import load_wine

from lowdim import PCA, PPCA, staged_fit
from lowdim.solvers import EM

X = load_wine(as_frame=True).data[["alcohol", "color_intensity"]].to_numpy()
X = (X - X.mean(axis=0)) / X.std(axis=0)
n, p = X.shape
values = np.linalg.eigvalsh(X.T @ X / n)[::-1]
print(f"eigenvalues {values[0]:.3f} and {values[1]:.3f}, ratio {values[0] / values[1]:.2f}")

# The start, and the model after each step of EM.
plain = EM(start="random", accelerate=False, n_init=0, tol=1e-6)
models = list(staged_fit(PPCA(1, solver=plain, random_state=13), X))


def m_step(U: np.ndarray, variance: float) -> tuple[np.ndarray, float]:
    """The W and the sigma2 that maximise the expected log-likelihood of rows and latent variables."""
    W = X.T @ U / (U @ U + n * variance)
    # The average inner product of a row and its distance from W u.
    return W, float(np.sum((X - np.outer(U, W)) * X)) / (n * p)


def bound(W: np.ndarray, sigma2: float, U: np.ndarray, variance: float) -> float:
    """E[ln p(x, u)] with u ~ N(U, variance), plus the entropy of u: never above the log-likelihood."""
    squares = U @ U + n * variance
    springs = (np.sum(X**2) - 2 * U @ (X @ W) + squares * (W @ W)) / (2 * sigma2) + squares / 2
    constants = n / 2 * ((p + 1) * np.log(2 * np.pi) + p * np.log(sigma2))
    return float(-springs - constants + n / 2 * np.log(2 * np.pi * np.e * variance))


halves = []
for before, after in pairwise(models):
    # `transform` of a model is the E-step: the posterior means of the latent variables. Their variance is the same for
    # all rows.
    U, W, sigma2 = before.transform(X)[:, 0], before.loadings_[:, 0], before.noise_variance_
    variance = sigma2 / (W @ W + sigma2)
    halves.append(("E", W, W, U, bound(W, sigma2, U, variance), before.loglike_[-1]))
    new, sigma2 = m_step(U, variance)
    halves.append(("M", W, new, U, bound(new, sigma2, U, variance), after.loglike_[-1]))
    # The formulas above are the step of the library. (The sign of W and u together is a convention.)
    np.testing.assert_allclose(np.outer(new, new), after.loadings_ @ after.loadings_.T, atol=1e-12)
    np.testing.assert_allclose(sigma2, after.noise_variance_)

# %%
# A picture of the two half-steps: a rod to which the rows are attached by springs. One spring, of stiffness 1 / sigma2,
# ties a row to its place W u on the rod; another, of stiffness 1, ties u to zero, the middle of the rod. The rod is
# drawn twice as long as W, to either side.


def spring_picture(ax: plt.Axes, U: np.ndarray, rod: np.ndarray, before: np.ndarray, title: str) -> None:
    """Every fifth row with its spring, and the rod; where the rod was before is dashed."""
    rows, places = X[::5], np.outer(U, rod)[::5]
    ax.plot(*np.stack([rows, places]).transpose(2, 0, 1), color="tab:red", linewidth=0.7, zorder=1)
    ax.plot(*rows.T, "k.", markersize=4)
    ax.plot(*places.T, ".", color="tab:orange", markersize=5, zorder=3)
    ax.plot(*np.outer([-2, 2], before).T, color="tab:blue", linestyle="--", linewidth=1)
    ax.plot(*np.outer([-2, 2], rod).T, color="tab:blue", linewidth=2, zorder=2)
    ax.set(title=title, xlim=(-2.6, 2.6), ylim=(-2.6, 2.6), aspect="equal")


figure, axes = plt.subplots(2, 4, figsize=(10, 5.5), layout="constrained", sharex=True, sharey=True)
figure.set_label(
    "Eight panels with points, a rod and springs from the points to the rod. Upper row, E-steps 1 to 4: the rod is "
    "held and the springs find their places on it, gathered towards its middle. Lower row, M-steps 1 to 4: the rod "
    "turns from its old place, which is dashed, towards the long direction of the points."
)
for number, (ax, (kind, before, rod, U, value, _)) in enumerate(zip(axes.T.ravel(), halves, strict=False)):
    spring_picture(ax, U, rod, before, f"{kind}-step {number // 2 + 1}: bound {value:.1f}")
figure.supxlabel("alcohol")
figure.supylabel("colour intensity")
plt.show()

# %%
# While the rod is fixed (E-step), a place comes to rest at the posterior mean of u, which is nearer to the middle than
# the foot of the perpendicular. While the places are fixed (M-step), the rod turns and stretches until the springs are
# as short as they can be. After four steps it lies along the cloud.
#
# Why can the likelihood not fall? The number above each panel is a lower bound on the log-likelihood:

bounds, likelihoods = (np.array([half[place] for half in halves]) for place in (4, 5))
closed = PPCA(1).fit(X)
best = closed.loglike_[-1]
print(f"least rise of the bound in {len(halves)} half-steps: {np.diff(bounds).min():.1e}")
print(f"largest distance of bound and log-likelihood after E-steps: {np.abs(bounds - likelihoods)[::2].max():.0e}")
print(f"log-likelihood after 30 steps: {models[30].loglike_[-1]:.6f}; of the closed form: {best:.6f}")


def tangents(rods: list[np.ndarray]) -> np.ndarray:
    """The tangent of the angle between PCA's direction and each of these."""
    first, second = PCA(2).fit(X).components_
    return np.array([abs(rod @ second) / abs(rod @ first) for rod in rods])


directions = tangents([model.loadings_[:, 0] for model in models])
print("tangent of the angle to PCA's direction, divided by the next one:", (directions[:5] / directions[1:6]).round(3))

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
figure.set_label(
    "Left: log-likelihood and bound over ten half-steps. The bound is below the log-likelihood after each M-step "
    "and touches it after each E-step, and both rise to the dotted line of the closed form. Right: on a logarithmic "
    "scale, the angle to PCA's direction falls as a straight line, and the missing log-likelihood more slowly."
)
number = np.arange(1, 11)
left.plot(number, likelihoods[number], "o-", label="log-likelihood")
left.plot(number, bounds[number], "s--", label="bound")
left.axhline(best, color="grey", linestyle=":", label="closed form")
left.set_xticks(number, [f"{halves[place][0]}{place // 2 + 1}" for place in number])
left.set(xlabel="half-steps", ylabel="log-likelihood", title="Neither half of a step goes down")
left.legend()
steps = np.arange(13)
right.semilogy(steps, directions[:13], "o-", label="tangent of the angle to PCA")
right.semilogy(steps, [best - model.loglike_[-1] for model in models[:13]], "s--", label="missing log-likelihood")
right.set(xlabel="steps", title="How fast", xticks=steps[::2])
right.legend()
plt.show()

# %%
# The E-step lifts the bound to the log-likelihood, which does not change, since W and sigma2 are fixed. The M-step
# raises the bound; the log-likelihood, which is never below the bound and was equal to it, rises at least as much. So
# neither can fall. With each step the direction of the rod comes 3.41 times nearer to PCA's, which is the ratio of the
# eigenvalues: the more the variances differ, the fewer steps are needed. The log-likelihood takes more steps, because
# the length of the rod and sigma2 have to follow.
#
# What if there is no noise? For sigma2 -> 0 the springs to the rows become stiff compared with those to the middle, and
# the length of the rod no longer matters. The two formulas are then U = X W / \|W\|^2 and W = X^T U / \|U\|^2:

W = models[0].loadings_[:, 0]
rods, energies = [W], []
figure, axes = plt.subplots(1, 4, figsize=(10, 3.1), layout="constrained", sharey=True)
figure.set_label(
    "Four panels, E-step 1, M-step 1, E-step 2 and M-step 2 of EM for PCA. After E-steps the springs meet the rod at "
    "right angles; after M-steps the rod has turned towards the long direction of the points, and the springs are "
    "shorter."
)
for number in range(20):
    U = X @ W / (W @ W)
    new = X.T @ U / (U @ U)
    for place, (kind, rod) in enumerate((("E", W), ("M", new))):
        energies.append(float(np.mean(np.sum((X - np.outer(U, rod)) ** 2, axis=1))))
        if number < 2:
            spring_picture(axes[2 * number + place], U, rod, W, f"{kind}-step {number + 1}: energy {energies[-1]:.2f}")
    W = new
    rods.append(W)
axes[0].set_ylabel("colour intensity")
figure.supxlabel("alcohol")
plt.show()
print(f"energy after 20 steps {energies[-1]:.6f}, eigenvalue left out {values[1]:.6f}; "
      f"least fall in a half-step {-np.diff(energies[:10]).max():.1e}")  # fmt: skip
print(
    f"largest difference of the directions with and without noise: {np.abs(tangents(rods) - directions[:21]).max():.0e}"
)

# %%
# A place now comes to rest at the foot of the perpendicular. The M-step multiplies W by the covariance, up to a factor,
# so these steps are power iteration. With one component the direction of W is the same in every step with and without
# noise. The energy, the mean of the squared lengths of the springs, ends at the eigenvalue that PCA leaves out.
#
# For complete rows there is no need to iterate: ``PPCA(1)`` computes the closed form. EM is for rows with missing
# entries, and there lowdim takes longer steps than these (``EM(accelerate=True)``, the default).
#
# Source of the idea: lectures on latent variable models; the rod with springs is in chapter 12 of Bishop, Pattern
# Recognition and Machine Learning (2006).
