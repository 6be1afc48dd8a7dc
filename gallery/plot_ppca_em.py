"""
EM of probabilistic PCA, half a step at a time
==============================================

**The lectures** (Faul; MIT) fit x = W u + mu + e by expectation and maximisation. The E-step holds W and sigma2 fixed
and finds the posterior of the latent u of each row. The M-step holds these posteriors fixed and finds the best W and
sigma2. A textbook that two of the lectures name (Bishop, chapter 12) has a picture for this: a rod to which the rows
are attached by springs.

**Measured** on two columns of 178 wines: no half of a step lowers the log-likelihood or its bound. With each step the
direction of the rod comes 3.41 times nearer to PCA's, which is the ratio of the eigenvalues; the log-likelihood takes
more steps, because the length of the rod and sigma2 have to follow. For sigma2 -> 0 the springs end at the feet of the
perpendiculars, and EM is power iteration. ``PPCA(solver="em")`` ends at the closed form: the log-likelihoods agree to
all nine digits that are printed.
"""

import numpy as np
from matplotlib import pyplot as plt
from sklearn.datasets import load_wine

from lowdim import PCA, PPCA

X = load_wine(as_frame=True).data[["alcohol", "color_intensity"]].to_numpy()
X = (X - X.mean(axis=0)) / X.std(axis=0)
n, p = X.shape
S = X.T @ X / n
values = np.linalg.eigvalsh(S)[::-1]
print(f"eigenvalues {values[0]:.3f} and {values[1]:.3f}, ratio {values[0] / values[1]:.2f}")


def e_step(W: np.ndarray, sigma2: float) -> tuple[np.ndarray, float]:
    """The posterior of the latent variable of each row: its mean, and its variance, the same for all rows."""
    variance = sigma2 / (W @ W + sigma2)
    return X @ W * variance / sigma2, variance


def m_step(U: np.ndarray, variance: float) -> tuple[np.ndarray, float]:
    """The W and the sigma2 that maximise the expected log-likelihood of rows and latent variables."""
    W = X.T @ U / (U @ U + n * variance)
    # Faul's form of sigma2: the average inner product of a row and its distance from W u.
    return W, float(np.sum((X - np.outer(U, W)) * X)) / (n * p)


def loglike(W: np.ndarray, sigma2: float) -> float:
    """The log-likelihood of the rows, x ~ N(0, W W^T + sigma2 I)."""
    C = np.outer(W, W) + sigma2 * np.eye(p)
    return float(-n / 2 * (p * np.log(2 * np.pi) + np.linalg.slogdet(C)[1] + np.trace(np.linalg.solve(C, S))))


def bound(W: np.ndarray, sigma2: float, U: np.ndarray, variance: float) -> float:
    """E[ln p(x, u)] with u ~ N(U, variance), plus the entropy of u: never above the log-likelihood."""
    squares = U @ U + n * variance
    springs = (np.sum(X**2) - 2 * U @ (X @ W) + squares * (W @ W)) / (2 * sigma2) + squares / 2
    constants = n / 2 * ((p + 1) * np.log(2 * np.pi) + p * np.log(sigma2))
    return float(-springs - constants + n / 2 * np.log(2 * np.pi * np.e * variance))


# %%
# Two kinds of springs. One, of stiffness 1 / sigma2, ties a row to its place W u on the rod; another, of stiffness 1,
# ties u to zero, the middle of the rod. While the rod is fixed (E-step), a place comes to rest at the posterior mean of
# u, which is nearer to the middle than the foot of the perpendicular. While the places are fixed (M-step), the rod
# turns and stretches until the springs are as short as they can be. The rod is drawn twice as long as W, to either
# side.

W, sigma2 = np.array([0.7, -1.0]), 0.3
states, halves = [(W, sigma2)], []
for _ in range(30):
    U, variance = e_step(W, sigma2)
    halves.append(("E", W, W, U, bound(W, sigma2, U, variance), loglike(W, sigma2)))
    new, sigma2 = m_step(U, variance)
    halves.append(("M", W, new, U, bound(new, sigma2, U, variance), loglike(new, sigma2)))
    W = new
    states.append((W, sigma2))


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
# What rises. The E-step lifts the bound to the log-likelihood, which does not change, since W and sigma2 are fixed. The
# M-step raises the bound; the log-likelihood, which is never below the bound and was equal to it, rises at least as
# much. So neither can fall.

bounds, likelihoods = (np.array([half[place] for half in halves]) for place in (4, 5))
closed = PPCA(1).fit(X)
best = closed.loglike_[-1]
print(f"least rise of the bound in {len(halves)} half-steps: {np.diff(bounds).min():.1e}")
print(f"largest distance of bound and log-likelihood after E-steps: {np.abs(bounds - likelihoods)[::2].max():.0e}")
print(f"log-likelihood after 30 steps: {likelihoods[-1]:.6f}; of the closed form: {best:.6f}")
em = PPCA(1, solver="em").fit(X)
print(f"the same of PPCA(solver='em'): {em.loglike_[-1]:.6f} after {em.n_iter_} steps; "
      f"least rise in a step {np.diff(em.loglike_).min():.1e}")  # fmt: skip


def tangents(rods: list[np.ndarray]) -> np.ndarray:
    """The tangent of the angle between PCA's direction and each of these."""
    first, second = PCA(2).fit(X).components_
    return np.array([abs(rod @ second) / abs(rod @ first) for rod in rods])


directions = tangents([W for W, _ in states])
print("tangent of the angle to PCA's direction, divided by the next one:", (directions[:5] / directions[1:6]).round(3))

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
figure.set_label(
    "Left: log-likelihood and bound over twelve half-steps. The bound is below the log-likelihood after each M-step "
    "and touches it after each E-step, and both rise to the dotted line of the closed form. Right: on a logarithmic "
    "scale, the angle to PCA's direction falls as a straight line, and the missing log-likelihood more slowly."
)
number = np.arange(12)
left.plot(number, likelihoods[:12], "o-", label="log-likelihood")
left.plot(number, bounds[:12], "s--", label="bound")
left.axhline(best, color="grey", linestyle=":", label="closed form")
left.set_xticks(number, [f"{half[0]}{place // 2 + 1}" for place, half in enumerate(halves[:12])])
left.set(xlabel="half-steps", ylabel="log-likelihood", title="Neither half of a step goes down")
left.legend()
steps = np.arange(13)
right.semilogy(steps, directions[:13], "o-", label="tangent of the angle to PCA")
right.semilogy(
    steps, best - np.array([loglike(*state) for state in states[:13]]), "s--", label="missing log-likelihood"
)
right.set(xlabel="steps", title="How fast", xticks=steps[::2])
right.legend()
plt.show()

# %%
# sigma2 -> 0. The springs to the rows become stiff compared with those to the middle, so a place comes to rest at the
# foot of the perpendicular, and the length of the rod no longer matters: this is EM for PCA. The M-step multiplies W by
# the covariance, up to a factor, so the steps are power iteration. With one component the direction of W is the same in
# every step with and without noise. The energy, the mean of the squared lengths of the springs, ends at the eigenvalue
# that PCA leaves out.

W = states[0][0]
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
