"""
A circle made flat by a feature map
===================================

**The lecture** (handwritten notes): map (x1, x2) to (x1^2, sqrt(2) x1 x2, x2^2). Points on a conic, such as a circle or
an ellipse, satisfy a linear equation of these three features, so they lie in a plane, which PCA recovers. The inner
product of two mapped points is (x . y)^2, so the map itself is not needed.

**Measured:** for points on an ellipse, the variance of the last component is zero up to rounding, its vector gives the
equation of the ellipse to 14 digits, and kernel PCA with (x . y)^2 gives the same scores as PCA of the features.
"""

import numpy as np
from matplotlib import pyplot as plt

from lowdim import FeatureMapPCA, KernelPCA
from lowdim.features import Polynomial
from lowdim.kernels import Quadratic

angle = np.random.default_rng(0).uniform(0, 2 * np.pi, 200)
X = np.column_stack([2 * np.cos(angle) + 0.5 * np.sin(angle), np.sin(angle)])  # x1^2 / 4 - x1 x2 / 4 + 17 x2^2 / 16 = 1
explicit = FeatureMapPCA(3, feature_map=Polynomial(degree=2)).fit(X)
implicit = KernelPCA(2, kernel=Quadratic()).fit(X)
print("variances:", explicit.explained_variance_)
same = np.abs(np.abs(explicit.transform(X)[:, :2]) - np.abs(implicit.transform(X))).max()
print(f"largest difference between scores of features and of the kernel: {same:.0e}")

# %%
# The last component w has no variance, so w . phi(x) is the same number for all points of the ellipse: its equation.

features = Polynomial(degree=2)(X)
a, b, c = explicit.components_[-1]
level = float((features @ explicit.components_[-1]).mean())
equation = np.array([a, np.sqrt(2) * b, c]) / level
true = np.array([1 / 4, -1 / 4, 17 / 16])
print("found:", equation, "\ntrue: ", true, f"\nlargest difference: {np.abs(equation - true).max():.0e}")

# %%
# The ellipse, and its three features, which lie in a plane.

figure = plt.figure(figsize=(10, 4.2), layout="constrained")
figure.set_label(
    "Left: 200 points on a tilted ellipse in the plane. Right: their three quadratic features in space; all points lie "
    "in one plane, on a closed curve."
)
left = figure.add_subplot(1, 2, 1)
left.scatter(*X.T, c=angle, cmap="twilight", s=12)
left.set(xlabel="x1", ylabel="x2", title="rows", aspect="equal")
right = figure.add_subplot(1, 2, 2, projection="3d")
right.scatter(*features.T, c=angle, cmap="twilight", s=12)
right.set(xlabel="x1²", ylabel="√2 x1 x2", zlabel="x2²")
right.set_title("features", y=0.92)
right.set(xticks=[0, 2, 4], yticks=[-1, 0, 1, 2], zticks=[0, 0.5, 1])
right.view_init(elev=20, azim=-50)
right.set_box_aspect((4, 3, 3), zoom=0.9)
plt.show()
