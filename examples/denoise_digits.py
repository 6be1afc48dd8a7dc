"""Remove noise from images of digits by kernel PCA, and by PCA for comparison.

The script prints mean squared errors. With a file name as its argument it also draws the images, by matplotlib.
"""

import sys

import numpy as np
from sklearn.datasets import load_digits

from lowdim import PCA, KernelPCA
from lowdim.kernels import Gaussian

NOISE = 4.0  # standard deviation; pixels have values from 0 to 16


def main(figure: str | None = None) -> None:
    digits = load_digits().data
    order = np.random.default_rng(0).permutation(len(digits))
    rows, clean = digits[order[:1500]], digits[order[1500:]]
    noisy = clean + NOISE * np.random.default_rng(1).standard_normal(clean.shape)

    # The components of real digits contain little of the noise, so projecting a noisy digit on them removes most of it.
    linear = min((PCA(k).fit(rows) for k in range(4, 41, 4)), key=lambda model: error(model, noisy, clean))
    kernel = KernelPCA(256, kernel=Gaussian(sigma=25.0)).fit(rows)
    print(f"Mean squared error of a pixel, for {len(clean)} new images")
    print(f"  with noise                      {((noisy - clean) ** 2).mean():6.2f}")
    print(f"  PCA, best number of components  {error(linear, noisy, clean):6.2f}  ({linear.n_components_})")
    print(f"  KernelPCA                       {error(kernel, noisy, clean):6.2f}  ({kernel.n_components_})")
    if figure:
        draw(figure, [clean, noisy, denoise(linear, noisy), denoise(kernel, noisy)])


def denoise(model, X):
    return model.inverse_transform(model.transform(X))


def error(model, noisy, clean):
    return float(((denoise(model, noisy) - clean) ** 2).mean())


def draw(figure, images):
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    shown = 12
    fig, axes = plt.subplots(4, shown, figsize=(shown * 0.62, 2.9))
    for line, name, X in zip(axes, ["original", "with noise", "PCA", "KernelPCA"], images, strict=True):
        line[0].set_ylabel(name, rotation=0, ha="right", va="center")
        for ax, x in zip(line, X, strict=False):
            ax.imshow(x.reshape(8, 8), cmap="gray_r", vmin=0, vmax=16)
            ax.set_xticks([])
            ax.set_yticks([])
    fig.tight_layout(pad=0.3)
    fig.savefig(figure, dpi=110)


if __name__ == "__main__":
    main(*sys.argv[1:2])
