"""Ctrl-C: every long path hears it, and leaves the model, the limit on BLAS and the filters of warnings as they were.

Each of these jobs takes many times as long as it takes until the key is pressed.
"""

from __future__ import annotations

import sys

import pytest

from fresh_process import assert_jobs_print_their_names

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no signal of this kind")

#: A model that has been fitted to few rows, and what is then asked of it.
JOBS = {
    "folds": "FactorAnalysis(2), lambda m: cross_validate(FactorAnalysis(), A[:, :70], cv=10)",
    "folds, incomplete": "PPCA(2), lambda m: cross_validate(PPCA(solver=EM(tol=1e-15, max_iter=10**7)), INCOMPLETE)",
    "Newton": "FactorAnalysis(2), lambda m: m.set_params(n_components=100).fit(A)",
    "EM": "PPCA(2, solver=EM(tol=1e-15, max_iter=10**7)), lambda m: m.fit(np.tile(INCOMPLETE, (30, 1)))",
    "ICA": "ICA(2), lambda m: m.set_params(n_components=None, n_init=10**6).fit(A[:, :12])",
    "kernel": "KernelPCA(2, kernel='rbf', solver='matrix-free'), lambda m: m.fit(np.tile(A, (4, 1)))",
    "rows": "PCA(2), lambda m: m.fit(itertools.repeat(A))",
    "pairs of rows": "CCA(2), lambda m: m.fit(itertools.repeat(A), itertools.repeat(A[:, :30]))",
    "large matrices": "PCA(2), lambda m: [PCA(2).fit_summary(LARGE) for _ in AGAIN]",
    "bootstrap": "FactorAnalysis(2), lambda m: bootstrap(m, A[:60, :20], n_resamples=10**5)",
    "permutations": "CCA(2), lambda m: permutation_test(m, A[:, :20], A[:, 20:40], n_resamples=10**6)",
}
CODE = """
import itertools, os, signal, threading, time, warnings
import numpy as np
from threadpoolctl import ThreadpoolController
from lowdim import *
from lowdim.reading import summarize
from lowdim.solvers import EM
from lowdim.summaries import Moments

warnings.simplefilter("ignore")
signal.signal(signal.SIGINT, signal.default_int_handler)  # also where the signal was ignored at the start
AGAIN = itertools.count()
blas = ThreadpoolController().select(user_api="blas")
rng = np.random.default_rng(0)
A = rng.laplace(size=(4_000, 300)) @ np.diag(np.linspace(3.0, 1.0, 300))
INCOMPLETE = np.where(rng.random((2_000, 30)) < 0.2, np.nan, A[:2_000, :30])
LARGE = summarize(rng.standard_normal((1_100, 1_000)), Moments)

def state():
    limits = [library.num_threads for library in blas.lib_controllers]
    return limits, list(warnings.filters)

def press_until(heard):
    # Once is enough, unless Python happens to be in a destructor, whose exceptions it ignores.
    wait = 0.15
    while not heard.wait(wait):
        os.kill(os.getpid(), signal.SIGINT)
        wait = 5.0

def check(name, model, work):
    few = A[:50, :3]
    model.fit(few, few[:, :2]) if isinstance(model, (CCA, PLSRegression)) else model.fit(few)
    before, attributes = state(), dict(vars(model))
    heard = threading.Event()
    try:
        threading.Thread(target=press_until, args=(heard,)).start()
        work(model)
    except KeyboardInterrupt:
        heard.set()
        print(name, flush=True)
    while state() != before:
        time.sleep(0.01)  # until a task that could not be stopped at once has ended
    fitted = [key for key in attributes if key.endswith("_")]
    assert fitted and all(vars(model)[key] is attributes[key] for key in fitted), name
    assert {key for key in vars(model) if key.endswith("_")} == set(fitted), name
"""


def test_every_long_path_hears_it():
    assert_jobs_print_their_names(CODE, JOBS)
