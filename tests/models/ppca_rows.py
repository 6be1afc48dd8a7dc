"""Rows with and without missing entries, for the tests of PPCA."""

import numpy as np

from inputs import with_missing
from lowdim.solvers import EM

TIGHT = EM(tol=1e-9, max_iter=5000)


def rows(n=60, p=6, k=2, noise=0.5, seed=0, offset=3.0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, k)) @ rng.standard_normal((k, p)) * 2 + noise * rng.standard_normal((n, p)) + offset


X = rows()
INCOMPLETE = with_missing(X)


def covariance(ppca):
    return ppca.loadings_ @ ppca.loadings_.T + ppca.noise_variance_ * np.eye(ppca.n_features_in_)
