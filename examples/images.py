"""Image rows at several K: how many components does a handwritten digit need?

One model with all components answers for every smaller number. You learn to choose K by rules, and to see what each
choice costs in the images themselves.
"""

import sys
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits

from lowdim import PCA, Table, choose_n_components


def data() -> np.ndarray:
    """1797 images of 8 x 8 pixels, a row for each."""
    return load_digits().data


folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")

digits = data()
pca = PCA().fit(digits)
choices = choose_n_components(digits)
print(pca, choices, sep="\n\n", end="\n\n")

numbers = [1, 2, 5, 10, 20, 40]
errors = [pca.reconstruction_error(digits, n_components=k).mean() / 64 for k in numbers]
print(Table({"mean squared error of a pixel": errors}, numbers, row_name="K"))
pca.plot.reconstructions(digits[:8], n_components=numbers).figure.savefig(folder / "images_reconstructed.png")
pca.plot.scree(choices).figure.savefig(folder / "images_scree.png")
pca.plot.cumulative().figure.savefig(folder / "images_cumulative.png")
