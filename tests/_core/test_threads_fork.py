"""A fork while other threads fit, or after a fit: the child starts with nothing limited, and can fit."""

from __future__ import annotations

import os

import pytest

from fresh_process import run_fresh

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")

START = """
import os, signal, threading, time, warnings
import numpy as np
from threadpoolctl import ThreadpoolController
from lowdim import ICA, PCA, FactorAnalysis, FeatureMapPCA, KernelPCA, cross_validate
from lowdim._core.threads import available, single_threaded_blas

warnings.simplefilter("ignore", DeprecationWarning)  # Python's own, about a fork of a process with threads
blas = ThreadpoolController().select(user_api="blas")
rng = np.random.default_rng(0)
X = rng.standard_normal((9_000, 120))

def limits():
    return {library.num_threads for library in blas.lib_controllers}

def child_of_a_fork(work):
    # The exit status of a child that does `work`; a child that hangs is ended by the alarm.
    pid = os.fork()
    if pid == 0:
        signal.alarm(30)
        try:
            work()
            os._exit(0)
        except BaseException as error:
            os.write(2, repr(error).encode())
        os._exit(1)
    return os.waitpid(pid, 0)[1]

def use():
    # In the child: nothing is limited, and the limit can be used.
    assert (limits(), available()) == ({2}, 2)
    with single_threaded_blas():
        assert limits() == {1}
    assert limits() == {2}
"""


def run(code: str) -> None:
    run_fresh(START + code)


def test_contexts_of_other_threads_are_none_of_the_childs():
    """The other thread has limited BLAS; it is setting and removing the limit; the fork is made within a fit."""
    run("""
entered, leave, stop = threading.Event(), threading.Event(), threading.Event()
def stay():
    with single_threaded_blas():
        entered.set()
        leave.wait(60)
thread = threading.Thread(target=stay)
thread.start()
entered.wait(60)
assert child_of_a_fork(use) == 0
assert limits() == {1}  # in the parent, where the thread exists
leave.set()
thread.join()
assert limits() == {2}

def come_and_go():
    while not stop.is_set():
        with single_threaded_blas():
            pass
thread = threading.Thread(target=come_and_go)
thread.start()
statuses = [child_of_a_fork(use) for _ in range(12)]
stop.set()
thread.join()
assert set(statuses) == {0}
assert limits() == {2}

statuses = []
def features(Z):
    if not statuses:
        statuses.append(child_of_a_fork(use))
    return Z
with single_threaded_blas():
    FeatureMapPCA(2, feature_map=features).fit(X[:100])
    assert limits() == {1}
assert statuses == [0]
""")


def test_fits_in_the_child():
    """While another thread, the first to fit anything, fits; and after fits of this thread."""
    run("""
def fit():
    assert limits() == {2}
    PCA(2, solver="covariance").fit(X)
    cross_validate(FactorAnalysis(), X[:200, :4], n_components=[1])
    assert limits() == {2}

stop = threading.Event()
def other():
    while not stop.is_set():
        PCA(2, solver="covariance").fit(X)
thread = threading.Thread(target=other)
thread.start()
statuses = []
for i in range(3):
    time.sleep(0.01 * i)
    statuses.append(child_of_a_fork(fit))
stop.set()
thread.join()
assert set(statuses) == {0}
assert limits() == {2}

warnings.simplefilter("ignore")
models = [PCA(2, solver="krylov"), ICA(2, random_state=0), KernelPCA(2, kernel="rbf", solver="krylov")]
def fits():
    fit()
    for model in models:
        model.fit(X[:300, :5])
fits()
assert child_of_a_fork(fits) == 0
""")
