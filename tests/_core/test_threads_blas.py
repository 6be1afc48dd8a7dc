"""The limit on the threads of BLAS: what is found before, during and after, whatever the threads do."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import joblib
import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from examples import MODELS, fitted
from lowdim import ICA, PCA, FactorAnalysis, KernelPCA, cross_validate
from lowdim._core import threads as _blas
from lowdim._core.threads import available, single_threaded_blas

pytestmark = pytest.mark.skipif(
    any(i["internal_api"] != "openblas" for i in threadpool_info() if i["user_api"] == "blas"),
    reason="BLAS is not an OpenBLAS, whose limit is that of the whole process",
)


def limits() -> set[int]:
    """The numbers of threads of all BLAS libraries (NumPy's and SciPy's)."""
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}


@pytest.fixture(autouse=True)
def two_threads():
    """BLAS with two threads, as on a machine with two cores; the test must leave it so."""
    with threadpool_limits(2, user_api="blas"):
        yield
        assert limits() == {2}
        assert not _blas._of_process.wanted_by
        assert not _blas._of_process.found


class Worker:
    """A thread that stays alive and runs one function at a time."""

    def __enter__(self):
        self.pool = ThreadPoolExecutor(1)
        return self

    def __call__(self, function, *arguments):
        return self.pool.submit(function, *arguments).result(timeout=60)

    def __exit__(self, *error):
        self.pool.shutdown()


def test_before_during_and_after():
    assert (limits(), available()) == ({2}, 2)
    with single_threaded_blas():
        assert (limits(), available()) == ({1}, 2)
        with single_threaded_blas():
            assert (limits(), available()) == ({1}, 2)
        assert (limits(), available()) == ({1}, 2)
    assert (limits(), available()) == ({2}, 2)


@pytest.mark.parametrize("last", ["first in", "last in"])
def test_contexts_of_two_threads_may_overlap_in_any_order(last):
    with Worker() as one, Worker() as other:
        first, second = single_threaded_blas(), single_threaded_blas()
        one(first.__enter__)
        assert limits() == {1}
        other(second.__enter__)
        leaves = [(one, first), (other, second)]
        for worker, scope in leaves if last == "last in" else leaves[::-1]:
            assert (limits(), available()) == ({1}, 2)
            worker(scope.__exit__, None, None, None)
        assert limits() == {2}


def test_a_context_that_another_thread_leaves_is_left():
    """Generators may be finalised by any thread."""
    scope = single_threaded_blas()
    with Worker() as one, Worker() as other:
        one(scope.__enter__)
        other(scope.__exit__, None, None, None)
        assert limits() == {2}


def test_a_users_limit_holds_after_a_thread_has_fitted():
    """The thread is still alive, and would be the only one that may set limits if it had claimed that right."""
    with Worker() as worker:
        worker(lambda: PCA(2, solver="covariance").fit(np.random.default_rng(0).standard_normal((300, 40))))
        for n in (1, 2, 1):
            with threadpool_limits(n, user_api="blas"):
                assert (limits(), available()) == ({n}, n)


def test_a_users_limit_around_a_fit_holds_and_goes():
    with threadpool_limits(1, user_api="blas"), single_threaded_blas():
        assert (limits(), available()) == ({1}, 1)
    with Worker() as worker:
        # The user's limit was set by this thread, the context is another thread's.
        scope = single_threaded_blas()
        with threadpool_limits(2, user_api="blas"):
            worker(scope.__enter__)
            assert limits() == {1}
            worker(scope.__exit__, None, None, None)
            assert limits() == {2}


def test_a_limit_that_a_user_sets_meanwhile_is_left_alone():
    with ExitStack() as user:
        with Worker() as worker:
            scope = single_threaded_blas()
            worker(scope.__enter__)
            user.enter_context(threadpool_limits(3, user_api="blas"))
            assert limits() == {3}
            worker(scope.__exit__, None, None, None)
        assert limits() == {3}
        threadpool_limits(2, user_api="blas")
        user.pop_all()


def test_a_limit_that_ends_meanwhile_is_not_brought_back():
    scope = single_threaded_blas()
    with Worker() as worker:
        with threadpool_limits(3, user_api="blas"):
            worker(scope.__enter__)
        assert limits() == {2}
        worker(scope.__exit__, None, None, None)
    assert limits() == {2}


def test_many_threads_that_come_and_go():
    def enter_and_leave(i):
        for _ in range(200):
            with single_threaded_blas():
                if limits_seen := {library.threads for library in _blas._libraries()} - {1}:
                    return limits_seen
        return set()

    with ThreadPoolExecutor(8) as pool:
        assert set().union(*pool.map(enter_and_leave, range(8))) == set()


@pytest.mark.filterwarnings("ignore::lowdim.errors.HeywoodWarning")
def test_fits_of_every_model_in_threads_of_joblib():
    answers = joblib.Parallel(n_jobs=3, backend="threading")(joblib.delayed(fitted)(name) for name in MODELS)
    assert limits() == {2}
    for name, model in zip(MODELS, answers, strict=True):
        for key, value in MODELS[name].compared(fitted(name)).items():
            np.testing.assert_allclose(MODELS[name].compared(model)[key], value, rtol=1e-6, atol=1e-9, err_msg=name)


def test_fits_that_read_rows_in_threads_of_their_own():
    """Threads within threads: passes over rows, tiles of kernel matrices, folds."""
    rng = np.random.default_rng(0)
    A = rng.laplace(size=(12_000, 100))
    jobs = [
        lambda: PCA(3).fit(A),
        lambda: PCA(3, solver="krylov").fit(A),
        lambda: PCA(3).fit(A[i : i + 900] for i in range(0, len(A), 900)),
        lambda: ICA(3, random_state=0).fit(A[:, :5]),
        lambda: KernelPCA(2, kernel="rbf", solver="krylov").fit(A[:700, :4]),
        lambda: cross_validate(FactorAnalysis(), A[:200, :5], n_components=[1, 2]),
    ]
    with ThreadPoolExecutor(4) as pool:
        for future in [pool.submit(job) for job in jobs]:
            future.result()
        assert limits() == {2}


@pytest.mark.parametrize("scheduler", ["threads", "synchronous"])
def test_ica_on_dask(scheduler):
    dask = pytest.importorskip("dask", reason="Dask is not installed")
    da = pytest.importorskip("dask.array", reason="Dask is not installed")
    D = da.from_array(np.random.default_rng(0).laplace(size=(4_000, 6)), chunks=(500, 6))
    with dask.config.set(scheduler=scheduler):
        ICA(random_state=0).fit(D)
    assert limits() == {2}


class Fake:
    """A library as threadpoolctl shows it, with a number of threads for each thread or for all of them."""

    internal_api, threading_layer = "fake", "fake"

    def __init__(self, each: bool):
        self.store = threading.local() if each else Fake
        Fake.n = 4

    @property
    def num_threads(self):
        return getattr(self.store, "n", 4)

    def set_num_threads(self, n):
        self.store.n = n


@pytest.fixture
def libraries(monkeypatch, request):
    """One library of the kind that the test asks for, instead of the real ones."""
    library = _blas._Library(Fake(each=request.param == "each"))
    monkeypatch.setattr(_blas, "_libraries", lambda: (library,))
    return library


@pytest.mark.parametrize("libraries", ["all", "each"], indirect=True)
def test_libraries_with_a_number_for_each_thread_or_for_all(libraries, request):
    """MKL has one for each: there each thread limits itself, and other threads do not see it."""
    each = request.node.callspec.params["libraries"] == "each"
    assert libraries.shared is not each
    assert libraries.threads == 4
    with Worker() as worker, single_threaded_blas():
        assert (libraries.threads, available()) == (1, 4)
        assert worker(lambda: libraries.threads) == (4 if each else 1)
        with single_threaded_blas():
            assert worker(limited_threads, libraries) == 1
        assert libraries.threads == 1
    assert libraries.threads == 4


def limited_threads(library) -> int:
    with single_threaded_blas():
        return library.threads


@pytest.mark.parametrize("libraries", ["all", "each"], indirect=True)
@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("call", [0, 1])
def test_an_interruption_in_the_middle_of_entering_or_leaving(libraries, when, call, monkeypatch):
    """Ctrl-C may come at any time, also while the limit is being set or removed."""
    count, limit = [0], libraries.limit

    def interrupted(n):
        count[0] += 1
        if count[0] == call + 1 and when == "before":
            raise KeyboardInterrupt
        limit(n)
        if count[0] == call + 1 and when == "after":
            raise KeyboardInterrupt

    monkeypatch.setattr(libraries, "limit", interrupted)
    with pytest.raises(KeyboardInterrupt), single_threaded_blas():
        assert call == 1
    assert libraries.threads == 4
    assert not _blas._of_process.wanted_by
    assert not _blas._of_thread.wanted_by
