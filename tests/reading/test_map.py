"""`map_rows`, and `write_rows`, which writes what it returns: in order, by threads, in little memory."""

import threading
from itertools import pairwise

import numpy as np
import pytest
from scipy import sparse
from threadpoolctl import threadpool_limits

from fresh_process import run_fresh
from inputs import INPUTS, namespace
from lowdim import PCA, FeatureMapPCA, scan
from lowdim.features import Polynomial
from lowdim.reading import map as module
from lowdim.reading.map import RowMap, map_rows, write_rows
from lowdim.sources import open_source

rng = np.random.default_rng(0)
X = np.round(8 * rng.standard_normal((300, 4)))
W = rng.standard_normal((4, 3))


class Written(list):
    """A sink that remembers."""

    def write(self, results, kept=None):
        self.append(results)

    def joined(self, i=0):
        return np.concatenate([results[i] for results in self])


class Steps:
    """A progress that remembers."""

    def __init__(self):
        self.calls = []

    def begin(self, what, n_blocks, block_rows=None):
        self.calls.append((what, n_blocks))

    def step(self):
        self.calls.append("step")

    def end(self):
        self.calls.append("end")


def scores(block):
    if isinstance(block, np.ndarray) or sparse.issparse(block):
        return block @ W.astype(block.dtype)
    xp = namespace(type(block).__module__.partition(".")[0])
    return block @ xp.asarray(W, dtype=block.dtype, device=block.device)


def row_map(A, function=scores, **options):
    return RowMap(open_source(A), function, lambda: ["a", "b", "c"], **options)


@pytest.fixture
def small_blocks(monkeypatch):
    """Blocks of 64 rows, and tasks of two blocks."""
    monkeypatch.setattr(module, "_RESULT_BYTES", 1)
    monkeypatch.setattr(module, "_BLOCKS_PER_TASK", 2)


@pytest.mark.parametrize("n_threads", [1, 2])
@pytest.mark.parametrize("name", INPUTS)
def test_every_kind_of_rows(name, n_threads, small_blocks):
    kind = INPUTS[name]
    written = Written()
    with threadpool_limits(n_threads, user_api="blas"):
        assert write_rows([row_map(kind.make(X))], written) == 300
    found = written.joined()
    assert isinstance(found, np.ndarray)
    assert found.dtype == (np.float32 if "float32" in str(kind.result_dtype(str(X.dtype))) else np.float64)
    np.testing.assert_allclose(found, X @ W, rtol=0, atol=1e-12)


def test_the_blocks_are_those_of_map_rows_to_the_last_bit():
    A = np.tile(X, (100, 1)) + rng.standard_normal((30_000, 4))
    written = Written()
    write_rows([row_map(A)], written)
    np.testing.assert_array_equal(written.joined(), map_rows(A, scores))


def test_rows_come_in_order_whichever_thread_is_faster(small_blocks):
    """The first block waits until the second one has been computed."""
    second = threading.Event()

    def slow_first(block):
        if block[0, 0] == 0:
            assert second.wait(10)
        else:
            second.set()
        return block

    numbers = np.arange(2000.0)[:, None] * np.ones(4)
    for rows in (numbers, (numbers[i : i + 64] for i in range(0, 2000, 64))):
        second.clear()
        written = Written()
        with threadpool_limits(2, user_api="blas"):
            write_rows([row_map(rows, slow_first)], written)
        np.testing.assert_array_equal(written.joined(), numbers)


def test_results_that_are_wider_than_the_rows_come_in_small_blocks():
    wide = rng.standard_normal((1, 20_000))
    written = Written()
    write_rows([RowMap(open_source(X[:, :1]), lambda Z: Z @ wide, lambda: [""] * 20_000)], written)
    assert max(results[0].nbytes for results in written) <= 64 * 20_000 * 8
    np.testing.assert_array_equal(written.joined(), X[:, :1] @ wide)


def test_a_vector_of_results():
    written = Written()
    write_rows([row_map(X, lambda block: block[:, 0])], written)
    np.testing.assert_array_equal(written.joined(), X[:, 0])


def test_features_that_are_computed(small_blocks, tmp_path):
    model = FeatureMapPCA(3, feature_map=Polynomial(2)).fit(X)
    (found,) = scan(model.transform_to(X, tmp_path / "scores.npy")).open().blocks(300)
    expected = (Polynomial(2)(X) - model.mean_) @ model.components_.T
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-10)


def cuts(A, *edges):
    return (A[i:j] for i, j in pairwise((0, *edges, len(A))))


def test_tables_side_by_side_may_be_cut_differently(small_blocks):
    written = Written()
    write_rows([row_map(cuts(X, 1, 70, 290)), row_map(cuts(X[:, ::-1], 40, 71)), row_map(X)], written)
    for i, A in enumerate((X, X[:, ::-1], X)):
        np.testing.assert_allclose(written.joined(i), A @ W, rtol=0, atol=1e-12)
    assert all(len({len(result) for result in results}) == 1 for results in written)


def test_tables_of_different_lengths_are_refused():
    for rows in (X[:200], cuts(X[:200], 100)):
        with pytest.raises(ValueError, match="X has more, X has 200 rows"):
            write_rows([row_map(cuts(X, 150)), row_map(rows)], Written())


def test_progress_counts_the_blocks(small_blocks):
    steps = Steps()
    write_rows([row_map(X)], Written(), progress=steps)
    assert steps.calls == [("rows", 6), *["step"] * 6, "end"]
    steps = Steps()
    write_rows([row_map(cuts(X, 100, 200))], Written(), progress=steps)
    assert steps.calls[0] == ("rows", None)


@pytest.mark.parametrize("name", ["C order", "csr_array", "polars", "generator", "Dask array", "array_api_strict"])
def test_a_bad_entry_is_named(name, small_blocks):
    bad = X.copy()
    bad[200, 1] = np.nan
    with pytest.raises(ValueError, match=r"row 200.*column|column.*row 200"):
        write_rows([row_map(INPUTS[name].make(bad))], Written())


def test_an_error_of_the_sink_ends_everything(small_blocks):
    class Full:
        count = 0

        def write(self, results, kept=None):
            self.count += 1
            raise OSError(28, "No space left on device")

    full, before = Full(), threading.active_count()
    with pytest.raises(OSError, match="No space left"):
        write_rows([row_map(X[i : i + 1] for _ in range(1000) for i in range(300))], full)
    assert full.count <= module._WAITING
    assert threading.active_count() == before


def test_only_sources_that_keep_columns_give_them(tmp_path):
    for A in (X, iter([X]), INPUTS["Dask array"].make(X)):
        with pytest.raises(TypeError, match=r"keep=\['id'\] needs columns with names, which X does not have"):
            write_rows([row_map(A)], Written(), keep=["id"])
    for A in (X, [X], INPUTS["Dask array"].make(X), sparse.csr_array(X)):
        with pytest.raises(TypeError, match=r"keep=\['id'\] needs columns with names, which X does not have"):
            PCA(2).fit(X).transform_to(A, tmp_path / "scores.parquet", keep=["id"])
        assert not any(tmp_path.iterdir())


# ---- map_rows


@pytest.mark.parametrize("name", list(INPUTS))
def test_map_rows_keeps_the_order_of_the_rows(name):
    whole = np.round(X)

    def last_column(block):
        return (block.toarray() if sparse.issparse(block) else block)[:, 2:]

    answer = map_rows(INPUTS[name].make(whole), last_column)
    np.testing.assert_array_equal(np.asarray(answer), whole[:, 2:])


def test_map_rows_over_many_blocks():
    """Blocks of so many columns have 64 rows."""
    rows = np.tile(np.random.default_rng(0).standard_normal((1000, 1)), 3000)
    sizes = []

    def norms(block):
        sizes.append(len(block))
        return np.sum(block * block, axis=1)

    np.testing.assert_array_equal(map_rows(rows, norms), np.sum(rows * rows, axis=1))
    assert len(sizes) == 16
    assert set(sizes) == {64, 40}


@pytest.mark.parametrize("shape", [(1, 1), (1, 5), (5, 1)])
def test_map_rows_of_edge_shapes(shape):
    rows = np.ones(shape)
    assert map_rows(rows, lambda block: block * 2).shape == shape
    assert map_rows(rows, lambda block: block.sum(axis=1)).shape == shape[:1]


# ---- Memory

CODE = """
import resource, tempfile
import numpy as np
from lowdim import PCA
block = np.random.default_rng(0).standard_normal((4000, 25))
model = PCA(24).fit(block)
scores = model.transform(block)

def largest():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

def rows(A, n):
    return (A + i for i in range(n))

with tempfile.TemporaryDirectory() as folder:
    for ending in (".parquet", ".npy", ".zarr"):
        for n in (20, 150):
            model.transform_to(rows(block, n), f"{folder}/a{ending}", overwrite=True)
            model.inverse_transform_to(rows(scores, n), f"{folder}/b{ending}", overwrite=True)
            if n == 20:
                before = largest()
        assert largest() - before < 40, (ending, before, largest())
        print(ending)
"""


def test_a_long_stream_takes_no_more_memory_than_a_short_one():
    """120 MB of rows, and as many of results."""
    assert run_fresh(CODE) == [".parquet", ".npy", ".zarr"]
