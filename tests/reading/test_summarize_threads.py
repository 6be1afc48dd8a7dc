"""Rows read by several threads: the serial answer to rounding, the same bits every time."""

import sys
import threading
import time

import numpy as np
import pytest
from scipy import sparse
from threadpoolctl import threadpool_limits

from examples import SUMMARIZES
from lowdim import PCA, Whitening
from lowdim._core import threads as _blas
from lowdim.reading import summarize
from lowdim.solvers import Krylov
from lowdim.summaries import SUMMARIES, Moments
from oracles import tolerance
from recorder import RecordedProgress

N, P, K = 6000, 200, 4


@pytest.fixture(scope="module")
def rows():
    """9.6 MB, more than a single thread is left alone with; the first components stand out."""
    rng = np.random.default_rng(8)
    X = rng.standard_normal((N, P))
    X[:, :6] *= [9, 7, 5, 4, 3, 2]
    return X + 100.0


@pytest.fixture(scope="module")
def sparse_rows():
    X = sparse.random_array((60_000, 400), density=0.04, rng=np.random.default_rng(9), format="csr")
    X.data = np.round(X.data * 8 + 1)
    return sparse.csr_array(X @ sparse.diags_array(np.linspace(6.0, 1.0, 400) ** 2))


@pytest.fixture
def counted(monkeypatch):
    """The numbers of threads that have read rows side by side."""
    module = sys.modules["lowdim.reading.summarizing"].threads
    calls = []
    original = module.run_in_parallel

    def run_in_parallel(tasks, *arguments, n_threads, **options):
        calls.append(n_threads)
        return original(tasks, *arguments, n_threads=n_threads, **options)

    monkeypatch.setattr(module, "run_in_parallel", run_in_parallel)
    return calls


def attributes(model):
    return {name: np.asarray(value) for name, value in vars(model).items() if isinstance(value, np.ndarray | float)}


def same_to_rounding(a, b, loosest=1e-9):
    for name, value in attributes(b).items():
        if name in ("residual_", "_tail_spread"):
            continue
        np.testing.assert_allclose(attributes(a)[name], value, rtol=0, atol=loosest * np.abs(value).max(), err_msg=name)


MODELS = {
    "PCA covariance": lambda: PCA(K, solver="covariance"),
    "PCA krylov": lambda: PCA(K, solver=Krylov(tol=1e-9)),
    "PCA scale": lambda: PCA(K, solver="covariance", scale=True, whiten=True),
    "Whitening": lambda: Whitening("zca"),
    "Whitening ledoit-wolf": lambda: Whitening("pca", regularization="ledoit-wolf"),
}


@pytest.mark.parametrize("weighted", [False, True], ids=["", "weights"])
@pytest.mark.parametrize("name", list(MODELS))
def test_two_threads_give_the_serial_answer_and_the_same_bits(name, weighted, rows, counted):
    w = np.random.default_rng(0).integers(0, 3, N).astype(float) if weighted else None
    serial = MODELS[name]().fit(rows, sample_weight=w)
    assert not counted
    with threadpool_limits(2, user_api="blas"):
        first, second = (MODELS[name]().fit(rows, sample_weight=w) for _ in range(2))
        scores = [first.transform(rows) for _ in range(2)]
    assert set(counted) == {2}
    same_to_rounding(first, serial)
    for attribute, value in attributes(first).items():
        np.testing.assert_array_equal(attributes(second)[attribute], value, err_msg=attribute)
    np.testing.assert_array_equal(scores[0], scores[1])
    size = np.abs(scores[0]).max()
    np.testing.assert_allclose(scores[0], serial.transform(rows), rtol=0, atol=1e-9 * size)


@pytest.mark.parametrize("solver", ["covariance", Krylov(tol=1e-9)], ids=["covariance", "krylov"])
def test_sparse_rows_too(solver, sparse_rows, counted):
    serial = PCA(K, solver=solver).fit(sparse_rows)
    with threadpool_limits(2, user_api="blas"):
        first, second = (PCA(K, solver=solver).fit(sparse_rows) for _ in range(2))
        scores = first.transform(sparse_rows)
    assert set(counted) == {2}
    same_to_rounding(first, serial)
    np.testing.assert_array_equal(first.components_, second.components_)
    np.testing.assert_array_equal(first.explained_variance_, second.explained_variance_)
    np.testing.assert_allclose(scores, serial.transform(sparse_rows), rtol=0, atol=1e-9 * np.abs(scores).max())


@pytest.mark.parametrize("kind", ["float32", "int32", "F order", "pandas"])
def test_other_inputs_too(kind, rows, counted):
    import pandas as pd

    whole = np.round(8 * rows)
    make = {
        "float32": lambda X: X.astype("float32"),
        "int32": lambda X: X.astype("int32"),
        "F order": np.asfortranarray,
        "pandas": pd.DataFrame,
    }[kind]
    X = make(np.vstack([whole, whole]))
    serial = PCA(K, solver="covariance").fit(X)
    with threadpool_limits(2, user_api="blas"):
        threaded = PCA(K, solver="covariance").fit(X)
        scores = threaded.transform(X)
    assert set(counted) == {2}
    loosest = tolerance(np.float32, 10) if kind == "float32" else 1e-9
    same_to_rounding(threaded, serial, loosest)
    np.testing.assert_allclose(scores, serial.transform(X), rtol=0, atol=loosest * np.abs(scores).max())


@pytest.mark.parametrize("name", [n for n in SUMMARIES if n in ("Moments", "FourthMoments", "Triangle", "Columns")])
def test_each_summary_of_rows(name, rows):
    serial = summarize(rows, SUMMARIES[name])
    with threadpool_limits(2, user_api="blas"):
        threaded = summarize(rows, SUMMARIES[name])
    assert threaded.n_rows == serial.n_rows == N
    np.testing.assert_allclose(threaded.mean, serial.mean, rtol=tolerance())
    for attribute in ("scatter", "squares", "third", "fourth"):
        if hasattr(serial, attribute):
            a, b = getattr(threaded, attribute), getattr(serial, attribute)
            np.testing.assert_allclose(a, b, rtol=0, atol=1e-10 * np.abs(b).max())


def test_progress_is_told_from_the_calling_thread_only(rows):
    """Callbacks need not be safe to call from several threads."""

    class Progress(RecordedProgress):
        def step(self):
            super().step()
            self.threads.add(threading.get_ident())

    progress = Progress()
    progress.threads = set()
    with threadpool_limits(2, user_api="blas"):
        summarize(rows, Moments, progress=progress)
    assert progress.threads == {threading.get_ident()}
    assert progress.passes == [("Moments", progress.steps[0])]


def test_an_error_in_progress_ends_the_threads(rows):
    class Stop(RuntimeError):
        pass

    class Progress(RecordedProgress):
        def step(self):
            raise Stop

    before = threading.active_count()
    with threadpool_limits(2, user_api="blas"), pytest.raises(Stop):
        summarize(rows, Moments, progress=Progress())
    assert threading.active_count() == before


def test_limits_of_blas_are_given_back(rows):
    with threadpool_limits(2, user_api="blas"):
        PCA(K).fit(rows)
        assert _blas.available() == 2
        bad = rows.copy()
        bad[-1, 0] = np.nan
        with pytest.raises(ValueError):
            PCA(K).fit(bad)
        assert _blas.available() == 2


def test_fits_in_several_threads_at_once(rows):
    """Each has its own summaries; the limit on BLAS is counted in and out."""
    answers = [None] * 3

    def fit(i):
        answers[i] = PCA(K).fit(rows)

    with threadpool_limits(2, user_api="blas"):
        workers = [threading.Thread(target=fit, args=(i,)) for i in range(3)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        assert _blas.available() == 2
    for model in answers:
        np.testing.assert_array_equal(model.components_, answers[0].components_)


# ---- Parts of the rows are handed out as threads become free


class Slow(Moments):
    """Moments whose updates take a while in some threads, so that other threads take more of the parts."""

    pauses = ()
    parts = []

    def update(self, block, weights=None):
        thread = threading.current_thread().name
        time.sleep(self.pauses[int(thread.rpartition("_")[2]) % len(self.pauses)])
        self.parts.append(thread)
        super().update(block, weights)


@pytest.fixture
def small_parts(monkeypatch):
    """48 parts."""
    module = sys.modules["lowdim.reading.summarizing"]
    monkeypatch.setattr(module, "_PARTS_PER_THREAD", 24)
    monkeypatch.setattr(module, "_PART_BYTES", 1 << 10)


@pytest.mark.parametrize("weighted", [False, True], ids=["", "weights"])
@pytest.mark.parametrize("stream", [False, True], ids=["array", "stream"])
def test_a_slow_thread_gets_fewer_parts_and_the_bits_are_the_same(stream, weighted, rows, small_parts, monkeypatch):
    w = np.random.default_rng(0).integers(0, 3, N).astype(float) if weighted else None
    found, shares = [], []
    for pauses in ((0.0, 0.02), (0.001, 0.001), (0.005, 0.0)):
        monkeypatch.setattr(Slow, "pauses", pauses)
        monkeypatch.setattr(Slow, "parts", [])
        with threadpool_limits(2, user_api="blas"):
            found.append(summarize(in_blocks(rows, 1100) if stream else rows, Slow(P), weights=w))
        shares.append(max(Slow.parts.count(name) for name in set(Slow.parts)) / len(Slow.parts))
    for other in found[1:]:
        np.testing.assert_array_equal(other.scatter, found[0].scatter)
        np.testing.assert_array_equal(other.mean, found[0].mean)
    assert shares[0] > 0.55
    serial = summarize(rows, Moments(P), weights=w)
    assert found[0].n_rows == serial.n_rows
    np.testing.assert_allclose(found[0].scatter, serial.scatter, rtol=0, atol=1e-10 * serial.scatter.max())


def test_the_first_bad_row_is_named_whichever_thread_meets_it(rows, small_parts):
    bad = rows.copy()
    bad[[3100, 3000, 5900], [7, 3, 0]] = np.nan
    for _ in range(5):
        with threadpool_limits(2, user_api="blas"), pytest.raises(ValueError, match="column 3, first in row 3000"):
            summarize(bad, Moments)


# ---- Streams: blocks go to the threads in turn


def in_blocks(X, size=700):
    return (X[i : i + size] for i in range(0, len(X), size))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("solver", SUMMARIZES)
def test_a_stream_read_by_two_threads(solver, weighted):
    rng = np.random.default_rng(3)
    X = rng.standard_normal((30_000, 40)) * np.arange(1, 41) + 1e6
    w = rng.integers(0, 3, len(X)) if weighted else None
    with threadpool_limits(2, user_api="blas"):
        one, two = (PCA(5, solver=solver).fit(in_blocks(X), sample_weight=w) for _ in range(2))
    with threadpool_limits(1, user_api="blas"):
        serial = PCA(5, solver=solver).fit(in_blocks(X), sample_weight=w)
    np.testing.assert_array_equal(one.components_, two.components_)
    np.testing.assert_array_equal(one.explained_variance_, two.explained_variance_)
    np.testing.assert_allclose(one.explained_variance_, serial.explained_variance_, rtol=1e-12)
    assert one.n_samples_ == serial.n_samples_


def test_the_first_bad_row_of_a_stream_is_named_whichever_thread_meets_it():
    X = np.random.default_rng(4).standard_normal((60_000, 10))
    X[[41_000, 59_000], [3, 5]] = np.nan
    with threadpool_limits(2, user_api="blas"), pytest.raises(ValueError, match=r"NaN: column 3, first in row 41000"):
        PCA(2).fit(in_blocks(X))


def test_weights_of_a_stream_are_counted():
    X = np.random.default_rng(5).standard_normal((5_000, 10))
    with threadpool_limits(2, user_api="blas"), pytest.raises(ValueError, match="one entry per row"):
        PCA(2).fit(in_blocks(X), sample_weight=np.ones(4_999))
