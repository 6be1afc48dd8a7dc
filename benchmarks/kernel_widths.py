"""The width that `choose_width` takes, compared with the median distance and with the best of all widths.

Prints the accuracies, for rows left out, of a logistic regression on the scores of kernel PCA. Run it with
`python -m benchmarks.kernel_widths`; it takes a few minutes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.datasets import load_digits, load_wine, make_circles, make_moons
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from lowdim import KernelPCA
from lowdim.selection import choose_width

SEEDS = (101, 102, 103)
#: The place of the median distance among the widths of `choose_width`.
MEDIAN = 2


def tables() -> Iterator[tuple[str, int, Any]]:
    """A name, the number of components, and several draws of rows and labels."""
    yield "circles, 200 rows, 0.3", 2, [make_circles(200, factor=0.3, noise=0.05, random_state=s) for s in SEEDS]
    yield "circles, 400 rows, 0.4", 2, [make_circles(400, factor=0.4, noise=0.05, random_state=s) for s in SEEDS]
    for k in (2, 3):
        yield "moons, 400 rows, noise 0.08", k, [make_moons(400, noise=0.08, random_state=s) for s in SEEDS]
        yield "moons, 200 rows, noise 0.1", k, [make_moons(200, noise=0.1, random_state=s) for s in SEEDS]
    X, y = load_digits(return_X_y=True)
    some = [np.random.default_rng(s).permutation(len(X))[:600] for s in SEEDS[:2]]
    yield "digits, 600 rows", 10, [(X[rows], y[rows]) for rows in some]
    X, y = load_wine(return_X_y=True)
    yield "wine", 2, [(StandardScaler().fit_transform(X), y)]


def accuracy(X: np.ndarray, y: np.ndarray, kernel: Any, k: int) -> float:
    """The share of rows left out that is classified right."""
    classifier = LogisticRegression(C=1e3, max_iter=5000)
    pipeline = make_pipeline(KernelPCA(k, kernel=kernel), StandardScaler(), classifier)
    return float(cross_val_score(pipeline, X, y, cv=3).mean())


def main() -> None:
    for name, k, draws in tables():
        found = []
        for X, y in draws:
            choice = choose_width(X, k)
            each = [accuracy(X, y, kernel, k) for kernel in choice.kernels]
            found.append((each[MEDIAN], each[choice.best], max(each)))
        ranges = (f"{min(column):.0%} to {max(column):.0%}" for column in zip(*found, strict=True))
        print(f"{name}, K = {k}: median {next(ranges)}, chosen {next(ranges)}, best {next(ranges)}", flush=True)


if __name__ == "__main__":
    main()
