"""A rule for K, one for landmarks, and a feature map."""

from dataclasses import dataclass

import numpy as np

from lowdim.selection import Rule


def above_average(e):
    """The number of eigenvalues above their average; the curve is that average."""
    average = e.total / e.n_varying
    return int(np.count_nonzero(e.values > average)), np.full(len(e.values), average)


RULE = Rule(
    "above-average",
    above_average,
    "Assumes that a component should have more variance than a column has on average.",
    "eigenvalues",
    "noise eigenvalues are all equal",
    "thresholds",
)


def farthest(kernel, rows, weights, m, random):
    """Each landmark is the row that is farthest, in the feature space, from those before it."""
    norms = np.diagonal(kernel(rows)).copy()
    chosen = [int(np.argmax(norms))]
    nearest = np.full(rows.shape[0], np.inf)
    while len(chosen) < m:
        last = chosen[-1]
        nearest = np.minimum(nearest, norms - 2.0 * kernel(rows, rows[last : last + 1])[:, 0] + norms[last])
        nearest[chosen] = -np.inf
        chosen.append(int(np.argmax(nearest)))
    return np.array(chosen)


@dataclass(frozen=True)
class Squares:
    """phi(x) = (x, x^2), entry by entry."""

    def width(self, p):
        return 2 * p

    def __call__(self, block):
        return np.concatenate([block, block * block], axis=1)
