"""
Two views: PCA's direction and CCA's
====================================

**The lecture** (Cornell, lecture 12) asks which direction to pick if the same rows are seen in two views. PCA of each
view takes the direction of most variance, even if it has nothing to do with the other view. Maximising the covariance
does not help: "scaling up this coordinate we can blow up covariance". CCA maximises the correlation.

**Measured** on two simulated views with one shared signal: the first principal components of the views have a
correlation of 0.02, and the first variates of CCA 0.92. Multiplying one column by 100 turns the direction of largest
covariance away from the signal, by 90 degrees, and changes nothing for CCA.
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
print(permutation_test(CCA(), X, Y, n_permutations=199, random_state=0))

# %%
# The views with both directions, and the scores along them. Colour is the shared signal, which neither method was
# given.

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
# Units. The direction of largest covariance (``PLSSVD`` without scaling) follows the column that was multiplied by 100;
# the correlation of CCA is the same.

scaled = X * np.array([100.0, 1.0])
for name, view in (("as it is", X), ("x1 times 100", scaled)):
    weights = PLSSVD(1, scale=False).fit(view, Y).x_weights_[:, 0] * (view.std(axis=0) / X.std(axis=0))
    angle = np.degrees(np.arctan2(abs(weights[0]), abs(weights[1])))
    print(f"{name:13s} angle of the covariance direction to the signal {angle:4.1f} degrees, "
          f"CCA's correlation {CCA(1).fit(view, Y).correlations_[0]:.4f}")  # fmt: skip
