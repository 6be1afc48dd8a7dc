"""A kind of input: rows that are made from a text such as "toy:100x5" (or "toy:100x5:7", of another seed)."""

import numpy as np

from lowdim.sources import Source, Traits


def is_toy(X):
    return isinstance(X, str) and X.startswith("toy:")


class ToySource(Source):
    """n rows of p columns of Laplace noise, turned, each made when it is asked for."""

    def __init__(self, text):
        size, _, seed = text.removeprefix("toy:").partition(":")
        n, p = (int(number) for number in size.split("x"))
        self._seed = int(seed or 0)
        turn = np.linalg.qr(np.random.default_rng(self._seed).standard_normal((p, p)))[0]
        self._mix = np.geomspace(9.0, 1.0, p)[:, None] * turn
        self.shape, self.kind, self.dtype = (n, p), "toy", np.float64
        self.traits = Traits(by_feature=False, n_bytes=8 * n * p)

    def blocks(self, rows):
        n, p = self.shape
        for start in range(0, n, rows):
            made = [np.random.default_rng([self._seed, i]).laplace(size=p) for i in range(start, min(start + rows, n))]
            yield np.array(made) @ self._mix + 1.0


ROW = (is_toy, ToySource)
