"""A kind of input: rows that are made from their number, the number of columns, and a seed."""

from dataclasses import dataclass

import numpy as np

from lowdim.sources.base import Source, Traits
from lowdim.sources.opening import SourceKind


@dataclass(frozen=True)
class Toy:
    """n rows of p columns, to be made with this seed."""

    n: int
    p: int
    seed: int = 0
    names: tuple[str, ...] | None = None


def is_toy(X):
    return isinstance(X, Toy)


class ToySource(Source):
    """n rows of p columns of Laplace noise, turned, each made when it is asked for."""

    def __init__(self, toy):
        n, p = toy.n, toy.p
        self._seed = toy.seed
        turn = np.linalg.qr(np.random.default_rng(self._seed).standard_normal((p, p)))[0]
        self._mix = np.geomspace(9.0, 1.0, p)[:, None] * turn
        self.shape, self.kind, self.dtype = (n, p), "toy", np.float64
        self.names = None if toy.names is None else list(toy.names)
        self.traits = Traits(by_feature=False, n_bytes=8 * n * p)

    def blocks(self, rows):
        n, p = self.shape
        for start in range(0, n, rows):
            made = [np.random.default_rng([self._seed, i]).laplace(size=p) for i in range(start, min(start + rows, n))]
            yield np.array(made) @ self._mix + 1.0


ROW = SourceKind(is_toy, ToySource)
