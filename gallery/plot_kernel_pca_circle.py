"""
Can PCA describe an ellipse?
============================

Your points lie on a closed curve, and no straight line is near them. Can PCA still find the rule that they follow?

It can, if it is given squares and products. Map (x1, x2) to (x1^2, sqrt(2) x1 x2, x2^2). Points on an ellipse about the
origin satisfy a linear equation of these three features, so the features lie in a plane. The inner product of two
mapped points is (x . y)^2, so kernel PCA with this kernel does the same without computing the features.
"""

from math import comb

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
# The third variance is zero up to rounding, and the scores from the features and from the kernel are the same. The last
# component w has no variance, so w . phi(x) is the same number for all points: the equation of the ellipse.

features = Polynomial(degree=2)(X)
a, b, c = explicit.components_[-1]
level = float((features @ explicit.components_[-1]).mean())
equation = np.array([a, np.sqrt(2) * b, c]) / level
true = np.array([1 / 4, -1 / 4, 17 / 16])
print("found:", equation, "\ntrue: ", true, f"\nlargest difference: {np.abs(equation - true).max():.0e}")

# %%
# The equation is right to 14 digits. The ellipse, and its three features:

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

# %%
# The curve at the left is bent, and the curve at the right lies in a plane, which PCA finds. The scores turn the space
# so that this plane is seen face-on, and then edge-on:

Z = explicit.transform(X)
figure, axes = plt.subplots(1, 2, figsize=(10, 3.4), layout="constrained", sharex=True, sharey=True)
figure.set_label(
    "Left: the scores of the features on the first two components, a closed curve like an ellipse. Right: the first "
    "and the third component, in which all points lie on one straight line."
)
for ax, k, view in ((axes[0], 1, "face-on"), (axes[1], 2, "edge-on")):
    ax.scatter(Z[:, 0], Z[:, k], c=angle, cmap="twilight", s=12)
    ax.set(xlabel="PC1", ylabel=f"PC{k + 1}", title=f"The plane of the features, {view}", aspect="equal")
plt.show()

# %%
# Edge-on, nothing of the plane is seen but a line: the third score is the same for all points, which is what the
# equation of the ellipse says. This works because the rule of these points is a polynomial of degree 2; for another
# curve you would need other features.
#
# How many features are there? P columns have (M + P - 1)! / (M! (P - 1)!) products of degree M:

degrees = np.arange(1, 7)
figure, ax = plt.subplots(figsize=(6, 3.6), layout="constrained")
figure.set_label(
    "The number of products against their degree, 1 to 6, on a logarithmic scale, for 2, 10, 64 and 784 columns. For "
    "784 columns it rises from 784 to more than 10 to the 14."
)
for p, marker in zip((2, 10, 64, 784), "osD^", strict=True):
    counts = [comb(int(m) + p - 1, int(m)) for m in degrees]
    print(f"{p:3d} columns:", ", ".join(f"{count:,}" for count in counts))
    ax.semilogy(degrees, counts, marker + "-", label=f"{p} columns")
assert Polynomial(degree=2)(np.ones((1, 64))).shape[1] == comb(65, 2)
ax.set(xlabel="degree", ylabel="number of features")
ax.legend()
plt.show()

# %%
# The numbers grow quickly: images of 64 pixels have 2,080 products of degree 2 and over 700,000 of degree 4. The kernel
# costs one inner product and a power, whatever the degree; only the number of rows matters, since the kernel matrix has
# a row and a column for each. So compute features for few columns and a low degree, and use the kernel otherwise.
#
# Source of the idea: handwritten notes of a lecture on nonlinear PCA.
