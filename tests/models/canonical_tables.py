"""Tables with common latent variables, and the solvers, for the tests of canonical variates."""

import numpy as np
import pytest

from lowdim.solvers import REDUCTIONS

RNG = np.random.default_rng(1)
COMMON = RNG.standard_normal((80, 2))
X = COMMON @ RNG.standard_normal((2, 5)) + RNG.standard_normal((80, 5)) * [1, 2, 3, 1, 0.2] + 5.0
Y = COMMON @ RNG.standard_normal((2, 4)) + RNG.standard_normal((80, 4)) - 2.0
THIRD = COMMON @ RNG.standard_normal((2, 3)) + RNG.standard_normal((80, 3))
WIDE_X, WIDE_Y = RNG.standard_normal((12, 30)), RNG.standard_normal((12, 20))
TABLES = {"tall": (X, Y), "wide": (WIDE_X, WIDE_Y), "wide X": (WIDE_X, WIDE_Y[:, :3])}
SOLVERS = ["auto", *REDUCTIONS]
each_solver = pytest.mark.parametrize("solver", SOLVERS)
each_scale = pytest.mark.parametrize("scale", [True, False, (False, True)], ids=str)
