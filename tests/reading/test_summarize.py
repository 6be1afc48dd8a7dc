"""summarize: edge shapes, weights, progress, the size of blocks."""

import sys

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from inputs import INPUTS
from lowdim import scan
from lowdim.reading import summarize
from lowdim.sources import open_source
from lowdim.summaries import Columns, Moments, Triangle
from oracles import tolerance
from recorder import RecordedProgress

X = np.arange(24.0).reshape(8, 3) ** 1.5


class Blocks(Columns):
    """Remembers the sizes of the blocks it was given, three rows at most."""

    def __init__(self, n_features):
        super().__init__(n_features)
        self.sizes = []

    def update(self, block, weights=None):
        self.sizes.append(block.shape[0])
        super().update(block, weights)

    def merge(self, other):
        self.sizes += other.sizes
        super().merge(other)

    def block_rows(self, n_columns, itemsize, stored=1.0):
        return 3


@pytest.fixture
def small_source_on_devices(monkeypatch):
    """Otherwise blocks of arrays that may lie on a device are large, whatever a summary asks for."""
    monkeypatch.setattr(sys.modules["lowdim.reading.summarizing"], "_DEVICE_BYTES", 0)


# ---- summarize


def test_a_class_is_made_with_the_columns_of_the_rows():
    assert summarize(X, Moments).n_features == 3
    assert isinstance(summarize(X, Triangle), Triangle)


def test_a_summary_is_filled_in_place_and_goes_on():
    moments = summarize(X[:5], Moments)
    assert summarize(X[5:], moments) is moments
    np.testing.assert_allclose(moments.mean, X.mean(axis=0), rtol=tolerance())
    np.testing.assert_allclose(moments.covariance(), np.cov(X.T), rtol=tolerance(condition=10))


@pytest.mark.parametrize("name", [name for name, kind in INPUTS.items() if not kind.to_device])
def test_blocks_have_about_the_size_asked_for(name, small_source_on_devices):
    whole = np.round(X)
    seen = summarize(INPUTS[name].make(whole), Blocks(3))
    assert sum(seen.sizes) == 8
    assert seen.n_rows == 8
    # Blocks of a stream are gathered until there are enough; none is ever cut in two for another one's sake.
    assert max(seen.sizes) <= (3 if INPUTS[name].by_column else 5)
    np.testing.assert_allclose(np.asarray(seen.mean), whole.mean(axis=0), rtol=tolerance())


@pytest.mark.parametrize("shape", [(1, 1), (1, 4), (5, 1), (2, 300)])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_edge_shapes(shape, kind):
    rows = np.random.default_rng(0).standard_normal(shape)
    moments = summarize(kind(rows), Moments)
    assert (moments.n_rows, moments.weight) == (shape[0], float(shape[0]))
    np.testing.assert_allclose(moments.mean, rows.mean(axis=0), rtol=tolerance(), atol=tolerance())
    Z = rows - rows.mean(axis=0)
    np.testing.assert_allclose(moments.scatter, Z.T @ Z, rtol=0, atol=tolerance() * max(shape[0], 4))


def test_blocks_without_rows_are_passed_over():
    moments = summarize([X[:0], X[:3], X[3:3], X[3:]], Moments)
    np.testing.assert_allclose(moments.mean, X.mean(axis=0), rtol=tolerance())


def test_a_source_can_be_given_instead_of_rows():
    source = open_source(X)
    assert open_source(source) is source
    np.testing.assert_array_equal(summarize(source, Moments).mean, summarize(X, Moments).mean)


# ---- Weights


@pytest.mark.parametrize("name", list(INPUTS))
def test_weights_of_every_input(name):
    whole, w = np.round(X), np.array([0, 1, 2, 0, 3, 1, 0.5, 2])
    moments = summarize(INPUTS[name].make(whole), Moments, weights=INPUTS[name].weights(w))
    mean = w @ whole / w.sum()
    assert moments.n_rows == 6
    assert moments.weight == pytest.approx(w.sum())
    np.testing.assert_allclose(np.asarray(moments.mean), mean, rtol=tolerance())
    Z = whole - mean
    np.testing.assert_allclose(np.asarray(moments.scatter), (Z * w[:, None]).T @ Z, rtol=tolerance(condition=10))


@pytest.mark.parametrize("kind", [np.asarray, list, tuple, lambda w: w.astype(int), lambda w: w.astype(bool)])
def test_weights_may_be_anything_that_holds_numbers(kind):
    w = np.array([1.0, 0, 1, 1, 1, 0, 1, 1])
    assert summarize(X, Moments, weights=kind(w)).weight == 6


@pytest.mark.parametrize("kind", ["frame", "csv", "scan", "parquet"])
def test_weights_may_be_a_column_of_the_rows(kind, tmp_path):
    weights = np.arange(8) % 3
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(count=weights)
    frame.to_csv(tmp_path / "rows.csv", index=False)
    frame.to_parquet(tmp_path / "rows.parquet")
    rows = {
        "frame": frame,
        "csv": tmp_path / "rows.csv",
        "scan": scan(tmp_path / "rows.csv", columns=["a", "b", "c"]),
        "parquet": str(tmp_path / "rows.parquet"),
    }[kind]
    found, repeated = summarize(rows, Moments, weights="count"), np.repeat(X, weights, axis=0)
    assert found.names == ("a", "b", "c")
    np.testing.assert_allclose(found.mean, repeated.mean(axis=0), rtol=1e-13)
    np.testing.assert_allclose(found.scatter, np.cov(repeated.T) * (len(repeated) - 1), rtol=1e-12)
    with pytest.raises(ValueError, match=r"has no column 'counts'.*Did you mean 'count'"):
        summarize(rows, Moments, weights="counts")


@pytest.mark.parametrize("where", ["first", "middle", "last"])
def test_a_whole_block_of_weight_zero(where):
    w = np.ones(9)
    w[{"first": slice(0, 3), "middle": slice(3, 6), "last": slice(6, 9)}[where]] = 0
    rows = np.random.default_rng(0).standard_normal((9, 2))
    moments = summarize(rows, Blocks(2), weights=w)
    np.testing.assert_allclose(moments.mean, rows[w > 0].mean(axis=0), rtol=tolerance())
    assert moments.n_rows == 6


def test_nan_in_a_row_of_weight_zero_is_not_there():
    """Weight zero is absence."""
    bad = X.copy()
    bad[2, 1] = np.nan
    w = np.ones(8)
    w[2] = 0
    np.testing.assert_allclose(summarize(bad, Moments, weights=w).mean, np.delete(X, 2, axis=0).mean(axis=0))


WRONG_WEIGHTS = {
    "too few": (np.ones(7), r"must have one entry per row.*shape \(7,\) for 8 rows"),
    "too many": (np.ones(9), r"must have one entry per row.*shape \(9,\) for 8 rows"),
    "two axes": (np.ones((8, 1)), r"must have one entry per row.*shape \(8, 1\)"),
    "a number": (2.0, r"must have one entry per row.*shape \(\)"),
    "a number of NumPy": (np.float64(2), r"must have one entry per row.*shape \(\)"),
    "too large": ([10**400, 1, 1, 1, 1, 1, 1, 1], r"must hold numbers in the range of float64.*dtype object"),
    "negative": (np.array([1, 1, 1, -0.5, 1, 1, 1, 1]), r"must not be negative.*-0\.5 in row 3"),
    "all zero": (np.zeros(8), r"must not be all zero.*8 zeros"),
    "NaN": (np.array([1, 1, np.nan, 1, 1, 1, 1, 1]), r"must be finite.*nan in row 2"),
    "infinite": (np.array([1, 1, 1, 1, 1, 1, 1, np.inf]), r"must be finite.*inf in row 7"),
    "text": (np.array(list("abcdefgh")), r"must hold numbers.*dtype <U1, such as 'a'\."),
    "dates": (np.array(["2026-01-01"] * 8, dtype="datetime64[D]"), r"must hold numbers, not dates.*datetime64\[D\]"),
    "nanoseconds": (np.ones(8).astype("datetime64[ns]"), r"must hold numbers, not dates.*datetime64\[ns\]"),
    "durations": (np.ones(8).astype("timedelta64[s]"), r"must hold numbers, not dates.*timedelta64\[s\]"),
    "sum overflows": (np.full(8, 1e308), r"must have a sum that fits into float64.*values up to 1e\+308"),
    "complex": (np.ones(8) * 1j, r"must hold real numbers.*complex"),
}


@pytest.mark.parametrize("what", list(WRONG_WEIGHTS))
def test_wrong_weights(what):
    weights, message = WRONG_WEIGHTS[what]
    with pytest.raises(ValueError, match=rf"sample_weight {message}.*Weights are frequencies"):
        summarize(X, Moments, weights=weights)


def test_weights_of_float32_rows_are_summed_in_float32():
    with pytest.raises(
        ValueError, match=r"sample_weight must have a sum that fits into float32: got values up to 1e\+38"
    ):
        summarize(X.astype(np.float32), Moments, weights=np.full(8, 1e38))


@pytest.mark.parametrize("n", [7, 9])
@pytest.mark.parametrize("name", ["generator", "callable"])
def test_weights_of_a_stream_are_counted_at_its_end(name, n):
    with pytest.raises(ValueError, match=rf"must have one entry per row: got {n} weights for 8 rows"):
        summarize(INPUTS[name].make(X), Moments, weights=np.ones(n))


# ---- Progress


@pytest.mark.parametrize("name", list(INPUTS))
def test_progress_hears_of_each_block(name, small_source_on_devices):
    progress = RecordedProgress()
    summarize(INPUTS[name].make(np.round(X)), Blocks(3), progress=progress)
    ((what, n_blocks),) = progress.passes
    assert what == "Blocks"
    if INPUTS[name].lazy:
        # Of the partitions, rather: four of a Dask array have rows, three of the data frame.
        assert n_blocks == progress.steps[0] == (4 if INPUTS[name].by_column else 3)
    elif INPUTS[name].by_column:
        assert n_blocks == progress.steps[0] == 3
    else:
        assert n_blocks is None
        assert progress.steps[0] >= 2
    assert progress.ended == 1


@pytest.mark.parametrize("name", ["generator", "list of blocks", "callable"])
def test_the_number_of_blocks_of_a_stream_is_unknown(name):
    """Even if that of its rows is known: they are joined and cut block by block."""
    progress = RecordedProgress()
    summarize(INPUTS[name].make(X), Moments, progress=progress)
    assert progress.passes == [("Moments", None)]
