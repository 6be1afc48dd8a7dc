"""A fit that runs out of memory raises MemoryError, leaves everything as it was, and the process can go on."""

from __future__ import annotations

import sys

import pytest

from fresh_process import assert_jobs_print_their_names

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the limit is that of Linux")

#: A model, and the rows with which it needs more memory than it gets.
JOBS = {
    "covariance": "PCA(2, solver='covariance'), X",
    "two tables": "PLSRegression(2, solver='covariance'), (X, X[:, :9])",
    "Newton": "FactorAnalysis(2, solver='newton'), X",
    "kernel matrix": "KernelPCA(2, kernel='rbf', solver='dense'), X.T",
    "threads": "PCA(2, solver='covariance'), iter([X[:60], X[60:]])",
    "folds": "PCA('cv'), np.resize(X, (2_000, 1_900))",
}
CODE = """
import resource, warnings
import numpy as np
from threadpoolctl import ThreadpoolController
from lowdim import PCA, FactorAnalysis, KernelPCA, PLSRegression

warnings.simplefilter("ignore")
blas = ThreadpoolController().select(user_api="blas")
rng = np.random.default_rng(0)
X = rng.laplace(size=(120, 6_000))
few = X[:40, :3]

def state():
    return [library.num_threads for library in blas.lib_controllers], list(warnings.filters)

def fit(model, given):
    tables = given if isinstance(given, tuple) else (given,)
    return model.fit(*tables)

def check(name, model, given):
    two = isinstance(model, PLSRegression)
    fit(model, (few, few[:, :2]) if two else few)
    before, attributes = state(), dict(vars(model))
    try:
        fit(model, given)
    except MemoryError:
        print(name, flush=True)
    assert state() == before, name
    assert vars(model).keys() == attributes.keys(), name
    assert all(vars(model)[key] is value for key, value in attributes.items()), name
    fit(model, (few, few[:, :2]) if two else few)

PCA(2, solver="covariance").fit(rng.standard_normal((20_000, 60)))  # so that threads of BLAS have their memory
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (150 << 20),) * 2)
"""


def test_every_job_that_does_not_fit():
    assert_jobs_print_their_names(CODE, JOBS)
