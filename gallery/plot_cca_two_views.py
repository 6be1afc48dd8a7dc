"""
What do two tables of the same rows have in common?
===================================================

You have measured the same rows in two ways. Which direction of the first table goes with which direction of the second?
Is it enough to take the first principal component of each?

The two tables are simulated, with one shared signal and a stronger signal of their own each.
"""

import numpy as np
from matplotlib import pyplot as plt

from lowdim import CCA, PCA, PLSSVD, permutation_test

random = np.random.default_rng(0)
n = 500
shared = random.standard_normal(n)
X = np.column_stack([3 * random.standard_normal(n), shared + 0.3 * random.standard_normal(n)])
Y = np.column_stack([shared + 0.3 * random.standard_normal(n), 3 * random.standard_normal(n)])
x1, y1 = (PCA(1).fit_transform(view)[:, 0] for view in (X, Y))
cca = CCA(2).fit(X, Y)
print(f"correlation of the first scores: PCA {abs(np.corrcoef(x1, y1)[0, 1]):.2f}, CCA {cca.correlations_[0]:.2f}")
print(permutation_test(CCA(), X, Y, n_resamples=199, random_state=0))

# %%
# The tables with the directions of both methods, and the scores along them. Colour is the shared signal, which neither
# method was given.

pca_directions = [PCA(1).fit(view).components_[0] for view in (X, Y)]
cca_directions = [rotation[:, 0] / np.linalg.norm(rotation[:, 0]) for rotation in (cca.x_rotations_, cca.y_rotations_)]
figure, axes = plt.subplots(2, 2, figsize=(8, 7.4), layout="constrained")
views, scatters = axes
figure.set_label(
    "Four scatter plots coloured by the shared signal. The two views: wide clouds; PCA's arrow points along the width, "
    "CCA's along the colour gradient. The scores of PCA in the two views are unrelated; those of CCA lie on a line."
)
for ax, view, pca_direction, cca_direction, title in zip(
    views, (X, Y), pca_directions, cca_directions, ("view 1", "view 2"), strict=True
):
    ax.scatter(*view.T, c=shared, cmap="coolwarm", s=8)
    for direction, color, label in ((pca_direction, "black", "PCA"), (cca_direction, "tab:green", "CCA")):
        ax.annotate("", 5 * direction, (0, 0), arrowprops={"arrowstyle": "->", "color": color, "linewidth": 2})
        ax.annotate(label, 5.8 * direction, color=color, ha="center", va="center", weight="bold")
    ax.set(title=title, xlabel="column 1", ylabel="column 2", aspect="equal", xlim=(-9, 9), ylim=(-9, 9))
u, v = cca.transform(X, Y)
for ax, a, b, title in (
    (scatters[0], x1, y1, "first scores of PCA"),
    (scatters[1], u[:, 0], v[:, 0], "first scores of CCA"),
):
    ax.scatter(a, b, c=shared, cmap="coolwarm", s=8)
    ax.set(title=title, xlabel="view 1", ylabel="view 2")
plt.show()

# %%
# PCA follows the strong signal of each table, which has nothing to do with the other table: the first scores have a
# correlation of 0.02. CCA finds the shared signal, with a correlation of 0.92. The permutation test above says that one
# pair is more than chance (p = 0.005) and the second is not. A direction of large variance need not be shared.
#
# Units matter for covariance and not for correlation. The direction of largest covariance (``PLSSVD`` without scaling)
# follows a column that was multiplied by 100; the correlation of CCA stays the same:

scaled = X * np.array([100.0, 1.0])
for name, view in (("as it is", X), ("x1 times 100", scaled)):
    weights = PLSSVD(1, scale=False).fit(view, Y).x_weights_[:, 0] * (view.std(axis=0) / X.std(axis=0))
    angle = np.degrees(np.arctan2(abs(weights[0]), abs(weights[1])))
    print(f"{name:13s} angle of the covariance direction to the signal {angle:4.1f} degrees, "
          f"CCA's correlation {CCA(1).fit(view, Y).correlations_[0]:.4f}")  # fmt: skip

# %%
# Where do the directions come from? With the covariance matrices :math:`S_{11}` and :math:`S_{22}` of the tables and
# :math:`S_{12} = S_{21}^T` between them, the directions of the first table are the eigenvectors of
#
# .. math:: S_{11}^{-1} S_{12} S_{22}^{-1} S_{21},
#
# and the eigenvalues are the squared correlations. A few lines of NumPy check this:

S = np.cov(np.hstack([X, Y]).T)
S11, S12, S21, S22 = S[:2, :2], S[:2, 2:], S[2:, :2], S[2:, 2:]
values, vectors = np.linalg.eig(np.linalg.solve(S11, S12) @ np.linalg.solve(S22, S21))
order = np.argsort(-values)
print(
    "square roots of the eigenvalues:", np.sqrt(values[order]), "\ncorrelations of CCA:            ", cca.correlations_
)
for k in range(2):
    # CCA divides columns by their standard deviations first, so its directions are brought back to the original units.
    direction = cca.x_rotations_[:, k] / X.std(axis=0)
    direction /= np.linalg.norm(direction)
    print(f"|cosine| of eigenvector {k + 1} and the direction of CCA: {abs(vectors[:, order[k]] @ direction):.12f}")

# %%
# The eigenvalues are the squared correlations, and the eigenvectors are the directions of CCA, both up to rounding. So
# CCA is an eigenvalue problem of four blocks of a covariance matrix. The formula needs inverses of both covariance
# matrices, so it fails if a table has more columns than rows; ``regularization=`` is for that case.
#
# Source of the idea: a lecture on CCA.
