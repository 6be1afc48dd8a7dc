"""The first two components of kernel PCA for points in the plane, with four kernels.

python -m benchmarks.four_kernels                                  # prints the shares of the variance
python -m benchmarks.four_kernels docs/figures/four_kernels.png    # also draws the components as contours
"""

import sys
import warnings

import numpy as np

from lowdim import KernelPCA
from lowdim.errors import IndefiniteWarning
from lowdim.kernels import Gaussian, Quadratic, Sigmoid, ThinPlateSpline

KERNELS = {
    "quadratic, a = 1, c = 0.1": Quadratic(gamma=1.0, coef0=0.1),
    "sigmoid, a = 5, c = 0.5": Sigmoid(gamma=5.0, coef0=0.5),
    "Gaussian, sigma = 0.3": Gaussian(sigma=0.3),
    "thin plate spline, c = 1": ThinPlateSpline(c=1.0),
}


def main(figure: str | None = None) -> None:
    X = points()
    models = {}
    for name, kernel in KERNELS.items():
        with warnings.catch_warnings():
            # Two of the kernels are not positive semidefinite. Their negative mass is printed below.
            warnings.simplefilter("ignore", IndefiniteWarning)
            models[name] = KernelPCA(2, kernel=kernel).fit(X)
        share, negative = models[name].explained_variance_ratio_, models[name].negative_mass_
        print(f"{name:28} first two components {share[0]:5.1%} {share[1]:5.1%}, negative mass {negative:5.1%}")
    if figure:
        draw(figure, X, models)


def points():
    """Three groups of points, one of them along an arc."""
    rng = np.random.default_rng(0)
    angle = rng.uniform(0.2, 2.9, 60)
    bent = np.column_stack([0.75 * np.cos(angle), 0.75 * np.sin(angle) - 0.35])
    left, right = rng.normal([-0.35, -0.55], 0.1, (40, 2)), rng.normal([0.4, -0.5], 0.1, (40, 2))
    return np.vstack([bent + 0.05 * rng.standard_normal((60, 2)), left, right])


def draw(figure, X, models):
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    fig, axes = plt.subplots(2, 4, figsize=(13, 5.6), sharex=True, sharey=True)
    for column, (name, model) in zip(axes.T, models.items(), strict=True):
        for component, ax in enumerate(column, start=1):
            model.plot.contours(X, component, ax=ax)
        column[0].set_title(name, fontsize=10)
    fig.tight_layout(pad=0.5)
    fig.savefig(figure, dpi=100)


if __name__ == "__main__":
    main(*sys.argv[1:2])
