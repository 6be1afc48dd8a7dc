"""A kernel: Cauchy's, of heavier tails than the Gaussian."""

from dataclasses import dataclass, replace

import numpy as np

from lowdim.kernels import Kernel
from lowdim.linalg import squared_distances


@dataclass(frozen=True)
class Cauchy(Kernel):
    """k(x, y) = 1 / (1 + |x - y|^2 / length^2); without a length, that of the longest side of the rows."""

    name = "cauchy"
    shift_invariant = True
    length: float | None = None

    def fitted(self, X, weights=None, seed=0):
        return self if self.length is not None else replace(self, length=float(np.ptp(np.asarray(X), axis=0).max()))

    def _between(self, X, Y):
        return 1.0 / (1.0 + squared_distances(X, Y) / self.length**2)

    def frequencies(self, p, m, random):
        """It is a mixture of Gaussian kernels whose rates are exponential."""
        return random.standard_normal((p, m)) * np.sqrt(2.0 * random.exponential(size=m)) / self.length


@dataclass(frozen=True)
class Scatter(Kernel):
    """k(x, y) = (x . y)^2 + x . y, whose features are the entries of x and all products of two of them."""

    name = "scatter"

    def _between(self, X, Y):
        products = X @ Y.T
        return products * products + products

    def explicit_features(self, p):
        return lambda X: np.concatenate([X, (X[:, :, None] * X[:, None, :]).reshape(len(X), -1)], axis=1), p + p * p
