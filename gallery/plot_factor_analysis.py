"""
What if some columns are noisier than others?
=============================================

Your columns measure a few common causes, and some of them do so badly. Does PCA still find the common causes, or only
the noisy columns?

PCA and probabilistic PCA take the noise to be the same in all columns; factor analysis gives each column its own. The
rows are simulated with two correlated factors, so the answer is known.
"""

from itertools import islice

import numpy as np
from matplotlib import pyplot as plt
from scipy.linalg import subspace_angles

from lowdim import PCA, FactorAnalysis, inspect, staged_fit
from lowdim.solvers import EM

random = np.random.default_rng(0)
N, P = 1000, 10
L = np.zeros((P, 2))
L[:5, 0], L[5:, 1] = random.uniform(0.8, 1.2, 5), random.uniform(0.8, 1.2, 5)
factors = random.multivariate_normal([0, 0], [[1, 0.5], [0.5, 1]], N)
NOISES = {
    "equal noise": np.full(P, 0.7),
    "different noise": np.array([0.3, 0.5, 0.4, 0.6, 4.0, 0.5, 0.3, 0.4, 0.6, 4.0]),
}


def angle(loadings: np.ndarray) -> float:
    """The larger angle between the plane of these loadings and the true one, in degrees."""
    return float(np.degrees(subspace_angles(loadings, L)).max())


tables = {name: factors @ L.T + random.standard_normal((N, P)) * noise for name, noise in NOISES.items()}
for name, X in tables.items():
    pca, fa = PCA(2).fit(X), FactorAnalysis(2).fit(X)
    print(f"{name:16s} angle to the true plane: PCA {angle(pca.components_.T):4.1f}, FA {angle(fa.loadings_):4.1f}")

# %%
# With equal noise both methods find the plane of the factors to within 2 degrees. With different noise PCA is 56
# degrees away from it, and factor analysis 6.
#
# The loadings with different noise, and the uniquenesses, which are the estimated variances of the noise:

X = tables["different noise"]
pca, fa = PCA(2).fit(X), FactorAnalysis(2, rotation="oblimin").fit(X)
figure, axes = plt.subplots(1, 4, figsize=(11, 3.6), layout="constrained", sharey=True)
figure.set_label(
    "Three heatmaps of loadings of ten columns on two components, and a bar chart. The true loadings have two blocks "
    "of five; PCA's are large in columns 5 and 10 only; those of factor analysis show the two blocks. The bars are the "
    "uniquenesses: large for columns 5 and 10."
)
order = [int(np.argmax(np.abs(fa.loadings_[:5].sum(axis=0)))), int(np.argmax(np.abs(fa.loadings_[5:].sum(axis=0))))]
panels = [("true loadings", L), ("PCA", pca.loadings_), ("factor analysis, oblimin", fa.loadings_[:, order])]
for ax, (title, values) in zip(axes, panels, strict=False):
    image = ax.imshow(np.abs(values), cmap="viridis", vmin=0, vmax=1.5, aspect="auto")
    ax.set(title=title, xticks=[0, 1], xticklabels=["1", "2"])
axes[0].set_yticks(range(P), [f"x{j + 1}" for j in range(P)])
figure.colorbar(image, ax=axes[2], label="|loading|")
axes[3].barh(range(P), fa.uniquenesses_, color="tab:orange", label="estimated")
axes[3].plot(NOISES["different noise"] ** 2, range(P), "k|", markersize=10, label="true")
axes[3].set(title="uniquenesses", xlabel="variance", xscale="log")
axes[3].legend()
plt.show()

# %%
# The first two components of PCA are the two noisy columns, x5 and x10. Factor analysis gives these columns a large
# uniqueness instead, and its loadings, after a rotation (oblimin), show the two groups of five columns. So use factor
# analysis if you ask for common causes, and PCA if you ask for most of the variance, noise included.
#
# Are two factors enough? PCA has no answer; factor analysis has a test and the usual indices of fit.

for k in (1, 2, 3):
    report = inspect.fit_report(FactorAnalysis(k).fit(X))
    print(f"K = {k}: chi-square {report.chi_square:.1f}, p = {report.p_value:.3g}, RMSEA {report.rmsea:.3f}")

# %%
# One factor is rejected (p = 0), and two are not (p = 0.54), as is right. A third factor is not needed.
#
# The likelihood does not depend on the rotation of the factors, but rotated loadings can be easier to read:

figure, axes = plt.subplots(1, 3, figsize=(10, 3.8), layout="constrained", sharex=True, sharey=True)
figure.set_label(
    "Loadings of ten columns as points in the plane of two factors, in two groups of five. Without rotation both "
    "groups lie far along the first axis; after varimax each is near one axis; after oblimin each lies on one axis."
)
for ax, rotation in zip(axes, (None, "varimax", "oblimin"), strict=True):
    rotated = FactorAnalysis(2, rotation=rotation).fit(X)
    ax.axhline(0, color="grey", linewidth=0.5)
    ax.axvline(0, color="grey", linewidth=0.5)
    ax.scatter(*rotated.loadings_.T, c=np.repeat([0, 1], 5), cmap="coolwarm")
    ax.set(title=rotation or "without rotation", xlabel="F1", ylabel="F2", aspect="equal")
plt.show()
print(f"correlation of the factors by oblimin: {fa.phi_[0, 1]:.2f}")

# %%
# Without rotation, the first factor is in all columns. Varimax keeps the factors uncorrelated, so each group of columns
# has a share of both. Oblimin lets them correlate, and finds a correlation of 0.51; the rows were made with 0.5. All
# three fit equally well, so the rotation is a choice of the reader and not a finding.
#
# How is the model fitted? One way is EM. The model is :math:`x = \mu + L f + e` with :math:`f \sim N(0, I)` and
# :math:`e \sim N(0, \Psi)`, where :math:`\Psi` is diagonal. With the covariance :math:`S` of the rows, the E-step
# computes
#
# .. math:: B = L^T (L L^T + \Psi)^{-1}, \qquad E[f | x] = B (x - \mu), \qquad M = I - B L + B S B^T,
#
# where :math:`M` is the average of :math:`E[f f^T | x]` over the rows. The M-step is
#
# .. math:: L = S B^T M^{-1}, \qquad \Psi = \mathrm{diag}(S - L B S).

em = FactorAnalysis(2, solver=EM(start="random", accelerate=False, n_init=0, tol=1e-4))
S = np.cov(X.T, ddof=0)
before, after = islice(staged_fit(em, X), 2)
L, psi = before.loadings_, before.noise_variance_
B = np.linalg.solve(L @ L.T + np.diag(psi), L).T
M = np.eye(2) - B @ L + B @ S @ B.T
L = S @ B.T @ np.linalg.inv(M)
psi = np.diag(S - L @ B @ S)
# `staged_fit` gives the start and the model after each step. The formulas are such a step, up to a rotation of L.
np.testing.assert_allclose(after.loadings_ @ after.loadings_.T, L @ L.T, atol=1e-12)
np.testing.assert_allclose(after.noise_variance_, psi)

em.fit(X)
default = FactorAnalysis(2).fit(X)
print(f"log-likelihood after {em.n_iter_} steps {em.loglike_[-1]:.4f}, by default {default.loglike_[-1]:.4f}, "
      f"after {default.n_iter_} steps of {default.solver_!r}")  # fmt: skip
print(f"least rise in a step {np.diff(em.loglike_).min():.1e}")
figure, ax = plt.subplots(figsize=(6, 3.4), layout="constrained")
figure.set_label(
    "By how much the log-likelihood is below its maximum over about a hundred steps of EM, on a logarithmic scale: it "
    "falls steeply from thousands to less than a hundred in six steps, and then slowly along a line."
)
ax.semilogy(default.loglike_[-1] - np.array(em.loglike_), ".-")
ax.set(xlabel="step of EM", ylabel="missing log-likelihood")
plt.show()

# %%
# The log-likelihood never falls, rises quickly at first and then slowly. EM is simple and safe, but after 101 steps it
# is still a little below the end that Newton's method, the default for complete rows, reaches in 5; so do not stop EM
# at the first small change. The result is a local maximum, and like every fit of factor analysis it is fixed only up to
# a rotation.
#
# Source of the idea: a lecture on latent variable models, which sets factor analysis beside probabilistic PCA.
