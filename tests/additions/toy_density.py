"""A density of sources: the logistic one."""

from dataclasses import dataclass

import numpy as np

from lowdim.densities import Density


@dataclass(frozen=True)
class Logistic(Density):
    """p(u) = 1 / (4 cosh^2(u / 2)): psi = tanh(u / 2)."""

    name = "logistic"
    bound = 0.5

    def energy(self, Y):
        return np.abs(Y) + 2.0 * np.log1p(np.exp(-np.abs(Y)))

    def score(self, Y):
        return np.tanh(0.5 * Y)

    def slope(self, Y):
        return 0.5 - 0.5 * self.score(Y) ** 2
