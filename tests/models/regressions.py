"""Pairs of tables, regression models and solvers, for tests that run over all of them."""

import numpy as np
import pytest

from lowdim import PCR, PLSRegression
from lowdim.solvers import REDUCTIONS

RNG = np.random.default_rng(0)
TALL = RNG.standard_normal((60, 8)) @ RNG.standard_normal((8, 8)) + 3.0
WIDE = RNG.standard_normal((15, 40)) @ np.diag(np.linspace(3, 0.5, 40)) - 1.0
DATA = {
    "tall": (TALL, TALL[:, :3] @ RNG.standard_normal((3, 4)) + RNG.standard_normal((60, 4))),
    "tall, one response": (TALL, TALL[:, :2] @ RNG.standard_normal((2, 1)) + RNG.standard_normal((60, 1))),
    "wide": (WIDE, WIDE[:, :3] @ RNG.standard_normal((3, 2)) + RNG.standard_normal((15, 2))),
}
SOLVERS = ["auto", *REDUCTIONS]
MODELS = {
    "PCR": PCR,
    "PCR relevance": lambda k, **o: PCR(k, select="relevance", **o),
    "kernel": PLSRegression,
    "simpls": lambda k, **o: PLSRegression(k, algorithm="simpls", **o),
}
each_data = pytest.mark.parametrize("name", list(DATA))
each_model = pytest.mark.parametrize("kind", list(MODELS))
each_solver = pytest.mark.parametrize("solver", SOLVERS)
