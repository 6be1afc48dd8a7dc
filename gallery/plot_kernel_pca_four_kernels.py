"""
What do different kernels see in the same points?
=================================================

Kernel PCA needs a kernel, and there are many. What does the choice change, and may any function of two points be used?

The 140 points of a plane form an arc and two round groups. Four kernels are compared, each with two components.
"""

import warnings

import numpy as np
from matplotlib import pyplot as plt

from lowdim import KernelPCA
from lowdim.errors import IndefiniteWarning
from lowdim.kernels import Gaussian, Quadratic, Sigmoid, ThinPlateSpline

random = np.random.default_rng(0)
angle = random.uniform(0.2, 2.9, 60)
arc = np.column_stack([0.75 * np.cos(angle), 0.75 * np.sin(angle) - 0.35])
left, right = random.normal([-0.35, -0.55], 0.1, (40, 2)), random.normal([0.4, -0.5], 0.1, (40, 2))
X = np.vstack([arc + 0.05 * random.standard_normal((60, 2)), left, right])
kernels = {
    "quadratic\na = 1, c = 0.1": Quadratic(gamma=1.0, coef0=0.1),
    "hyperbolic tangent\na = 5, c = 0.5": Sigmoid(gamma=5.0, coef0=0.5),
    "Gaussian\nsigma = 0.3": Gaussian(gamma=1 / 0.18),
    "thin plate spline\nc = 1": ThinPlateSpline(c=1.0),
}
models = {}
for name, kernel in kernels.items():
    with warnings.catch_warnings():
        # Two of the kernels are not positive semidefinite. How much of their mass is negative is printed.
        warnings.simplefilter("ignore", IndefiniteWarning)
        model = models[name] = KernelPCA(2, kernel=kernel).fit(X)
    first, second = model.explained_variance_ratio_
    print(f"{name.replace(chr(10), ', '):36s} share of variance {first:.0%} and {second:.0%}, "
          f"negative mass {model.negative_mass_:.0%}")  # fmt: skip

# %%
# Each kernel stands for other features of the points, and the components are directions in the space of these features.
#
# Each column of the figure is a kernel and each row a component. Colours are scores over the plane, red above zero and
# blue below. Points that were not in the fit get scores in the same way as those that were, so the whole plane can be
# coloured.

side = np.linspace(-1.15, 1.15, 80)
grid = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
figure, axes = plt.subplots(2, 4, figsize=(10, 5.4), layout="constrained", sharex=True, sharey=True)
figure.set_label(
    "Eight maps of the plane with 140 points, an arc above two round groups, in four columns for four kernels and two "
    "rows for two components. The quadratic kernel gives hyperbolas, the hyperbolic tangent steep slopes, the Gaussian "
    "one hill or valley for each group, and the spline smooth slopes that go on rising outside the points."
)
for (name, model), column in zip(models.items(), axes.T, strict=True):
    for component, (ax, scores) in enumerate(zip(column, model.transform(grid).T, strict=True)):
        largest = np.abs(scores).max()
        levels = np.linspace(-largest, largest, 16)
        ax.contourf(side, side, scores.reshape(80, 80), levels=levels, cmap="RdBu_r")
        ax.plot(*X.T, "k.", markersize=3)
        ax.set(aspect="equal", xticks=[-1, 0, 1], yticks=[-1, 0, 1])
        ax.set_title(f"{name}\nPC1" if component == 0 else "PC2", fontsize="medium")
plt.show()

# %%
# The Gaussian kernel tells the groups apart: a component is high at one of them and low at another, and far from all
# points it is level. The quadratic kernel sees only curves of degree 2, the hyperbolic tangent hardly more than two
# slopes, and the spline goes on rising outside of the points. So the Gaussian kernel suits groups, and the quadratic
# one suits rows that follow an equation of degree 2.
#
# Not every function k is an inner product of features. By Mercer's theorem, a continuous symmetric function on a
# bounded region is one if
#
# .. math:: \int \int k(x, y) \, g(x) \, g(y) \, dx \, dy \geq 0
#
# for all functions g with a finite integral of their square. For points, this means that no kernel matrix may have
# negative eigenvalues. The eigenvalues of the four kernel matrices, after centring:

centring = np.eye(len(X)) - 1 / len(X)
figure, axes = plt.subplots(1, 4, figsize=(10, 2.9), layout="constrained")
figure.set_label(
    "The eigenvalues of four kernel matrices in falling order, on axes that are logarithmic away from zero. Those of "
    "the quadratic and the Gaussian kernel are never negative; the hyperbolic tangent has many that are, in orange, "
    "and the spline has two large ones."
)
for (name, kernel), ax in zip(kernels.items(), axes, strict=True):
    values = np.linalg.eigvalsh(centring @ kernel(X, X) @ centring)[::-1]
    values[np.abs(values) < 1e-9 * values.max()] = 0
    negative = values < 0
    number = np.arange(1, len(X) + 1)
    ax.plot(number[~negative], values[~negative], ".", color="tab:blue", markersize=3)
    ax.plot(number[negative], values[negative], ".", color="tab:orange", markersize=3)
    ax.set_yscale("symlog", linthresh=1e-3)
    ax.set_yticks([-100, -1, 0, 1, 100], ["-100", "-1", "0", "1", "100"])
    ax.set_title(name, fontsize="medium")
    ax.set(xlabel="number", ylim=(-500, 500))
    mass = np.abs(values[negative]).sum() / np.abs(values).sum()
    print(f"{name.splitlines()[0]:20s} {negative.sum():3d} negative eigenvalues, {mass:.0%} of the sum of all sizes")
axes[0].set_ylabel("eigenvalue")
plt.show()

# %%
# The quadratic and the Gaussian kernel fulfil the condition. The hyperbolic tangent and the thin plate spline do not:
# negative eigenvalues make up 24% and 46% of the sum of all sizes, so no features have these inner products. lowdim
# keeps the positive part and warns with an :class:`~lowdim.errors.IndefiniteWarning`. The map can still be useful, but
# distances in it are not distances of features, and shares of the variance are shares of the positive part.
#
# Source of the idea: a lecture on kernel methods, which states Mercer's conditions and draws the components of these
# four kernels, with the same parameters.
