"""Streams: the same number of rows each time they are read; small blocks are joined."""

from itertools import cycle

import array_api_strict as xp
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

from lowdim import CCA, ICA, PCA, PPCA, PLSRegression
from lowdim.reading import summarize
from lowdim.sources import open_source, stream
from lowdim.summaries import Moments

X = np.random.default_rng(0).standard_normal((60, 5)) * [5.0, 4, 3, 2, 1]


def growing(*lengths):
    """A function that gives so many rows on its first calls, in blocks of 20; further calls are as the last one."""
    calls = iter(lengths)
    last = lengths[-1]

    def blocks():
        n = next(calls, last)
        return (X[i : min(i + 20, n)] for i in range(0, n, 20))

    return blocks


@pytest.mark.parametrize(("later", "message"), [(50, "gave 50 rows, and 60"), (20, "gave 20 rows, and 60")])
@pytest.mark.parametrize("model", [PCA(2, solver="krylov"), ICA(2)], ids=lambda m: type(m).__name__)
def test_fewer_rows_on_a_later_pass_are_refused(model, later, message):
    with pytest.raises(ValueError, match=f"the stream {message} rows when it was read before"):
        model.fit(growing(60, later))


def test_other_columns_on_a_later_pass_are_refused():
    passes = iter([X, X[:, :3]])
    with pytest.raises(
        ValueError, match="block 0 of the stream has 3 columns, when the stream was read before, it had 5"
    ):
        PCA(2, solver="krylov").fit(lambda: [next(passes)])


def test_another_dtype_on_a_later_pass_is_refused():
    passes = iter([X, X.astype(np.float32)])
    with pytest.raises(
        ValueError, match=r"block 0 of the stream is .*float32, when the stream was read before, it was"
    ):
        PCA(2, solver="krylov").fit(lambda: [next(passes)])


@pytest.mark.parametrize("got", [None, 5])
def test_a_function_that_returns_no_iterator_is_refused(got):
    with pytest.raises(TypeError, match=rf"returned {type(got).__name__}; it must return an iterator over blocks"):
        open_source(lambda: got)


def test_more_rows_on_a_later_pass_are_refused():
    with pytest.raises(ValueError, match="gave 60 rows, and 40 rows when it was read before"):
        PCA(2, solver="krylov").fit(growing(40, 60))


def test_rows_that_are_lost_between_fit_and_transform_are_refused():
    with pytest.raises(ValueError, match="gave 40 rows, and 60 rows when it was read before"):
        PCA(2).fit_transform(growing(60, 40))
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        CCA(1).fit(growing(60), growing(40))


def test_a_pass_that_was_not_finished_counts_for_nothing():
    source = open_source(growing(60))
    next(source.blocks(5))
    for _ in range(2):
        assert sum(len(block) for block in source.blocks(25)) == 60


def test_the_same_rows_again_are_fine():
    model = PCA(2, solver="krylov").fit(growing(60))
    np.testing.assert_allclose(model.explained_variance_, PCA(2).fit(X).explained_variance_, rtol=1e-6)


# ---- Small blocks are joined before they are opened


def frames(X):
    return pd.DataFrame(X, columns=list("abcde"))


#: A table, and how one block is cut out of it.
KINDS = {
    "float64": (lambda X: X, lambda T, i, j: T[i:j]),
    "float32": (lambda X: X.astype(np.float32), lambda T, i, j: T[i:j]),
    "int": (lambda X: np.round(X).astype(int), lambda T, i, j: T[i:j]),
    "bool": (lambda X: X > 0, lambda T, i, j: T[i:j]),
    "object": (lambda X: X.astype(object), lambda T, i, j: T[i:j]),
    "lists": (lambda X: X, lambda T, i, j: T[i:j].tolist()),
    "masked": (np.ma.masked_array, lambda T, i, j: T[i:j]),
    "sparse": (sparse.csr_array, lambda T, i, j: T[i:j]),
    "sparse matrix": (sparse.csr_matrix, lambda T, i, j: T[i:j]),
    "by columns": (sparse.csc_array, lambda T, i, j: T[i:j]),
    "strict": (xp.asarray, lambda T, i, j: T[i:j, :]),
    "pandas": (frames, lambda T, i, j: T.iloc[i:j]),
    "polars": (lambda X: pl.DataFrame(X), lambda T, i, j: T[i:j]),
    "pyarrow": (lambda X: pa.table(dict(zip("abcde", X.T, strict=True))), lambda T, i, j: T.slice(i, j - i)),
}


def single_rows(kind, X, sizes=(1,)):
    """Blocks of so many rows in turn."""
    make, cut = KINDS[kind]
    table, i = make(X), 0
    for size in cycle(sizes):
        yield cut(table, i, min(i + size, len(X)))
        i += size
        if i >= len(X):
            return


@pytest.mark.parametrize("weighted", [False, True], ids=["", "weights"])
@pytest.mark.parametrize("kind", list(KINDS))
def test_single_rows_of_every_kind(kind, weighted):
    w = np.arange(60) % 3 if weighted else None
    weights = xp.asarray(w) if weighted and kind == "strict" else w
    found = summarize(single_rows(kind, X), Moments(5), weights=weights)
    expected = summarize(KINDS[kind][0](X), Moments(5), weights=weights)
    assert found.n_rows == expected.n_rows
    loosest = 1e-5 if kind == "float32" else 1e-12
    np.testing.assert_allclose(np.asarray(found.mean), np.asarray(expected.mean), rtol=0, atol=loosest)
    scatter = np.asarray(expected.scatter)
    np.testing.assert_allclose(np.asarray(found.scatter), scatter, rtol=0, atol=loosest * scatter.max())


def test_blocks_are_opened_together(monkeypatch):
    opened = []
    monkeypatch.setattr(stream, "joined", lambda blocks: opened.append(len(blocks)) or np.concatenate(blocks))
    source = open_source(single_rows("float64", X))
    np.testing.assert_array_equal(np.concatenate(list(source.blocks(80))), X)
    assert opened == [10, 10, 10, 10, 10, 9]


def test_large_blocks_are_not_copied():
    blocks = [X[:20], X[20:60]]
    assert all(np.shares_memory(block, X) for block in open_source(blocks).blocks(100))


@pytest.mark.parametrize("kind", ["float64", "sparse", "pandas", "lists"])
@pytest.mark.parametrize("sizes", [(1,), (1, 0, 3), (7, 1)])
def test_a_bad_entry_among_small_blocks_is_named_by_its_row(kind, sizes):
    bad = X.copy()
    bad[43, 2] = np.nan
    if kind == "lists":
        sizes = [size for size in sizes if size]
    with pytest.raises(ValueError, match=r"(column 2|column 'c'|'c').*row 43"):
        summarize(single_rows(kind, bad, sizes), Moments(5))


def test_the_first_block_of_another_form_is_named():
    rows = [X[i : i + 1] for i in range(60)]
    for other, message in (
        (X[:1, :3], "block 41 of the stream has 3 columns"),
        (X[:1].astype(np.float32), "block 41 of the stream is .*float32"),
        (frames(X[:1]), "block 41 of the stream"),
        (np.array([["a"] * 5]), "block 41 of the stream: .*text"),
        (X[0], "block 41 of the stream: .*1D"),
        (1 + 1j * X[:1], "block 41 of the stream: .*omplex"),
    ):
        with pytest.raises(ValueError, match=message):
            summarize([*rows[:41], other, X[:0], *rows[41:]], Moments(5))


def test_a_damaged_block_among_small_ones_is_named():
    blocks = [sparse.csr_array(X[i : i + 1]) for i in range(20)]
    blocks[13].indices[2] = 9
    with pytest.raises(ValueError, match="block 13 of the stream"):
        summarize(blocks, Moments(5))


@pytest.mark.parametrize("given", [list, tuple, iter])
@pytest.mark.parametrize("wrong", [None, 3, np.float64(1.0)])
def test_what_is_no_block_is_named(given, wrong):
    with pytest.raises((TypeError, ValueError), match="block 2 of the stream"):
        summarize(given([X[:5], X[5:6], wrong, X[6:]]), Moments(5))


def test_blocks_whose_form_changes_all_the_time():
    """Rows in C and in F order, which does not matter, and as tables, which is refused; no number is too large."""
    rows = [np.asarray(X[i % 60 : i % 60 + 1], order="CF"[i % 2]) for i in range(6000)]
    assert summarize(iter(rows), Moments(5)).n_rows == 6000
    mixed = [row if i % 2 else np.ma.masked_array(row) for i, row in enumerate(rows)]
    assert summarize(iter(mixed), Moments(5)).n_rows == 6000


def test_two_tables_of_single_rows():
    Y = X[:, :2] @ [[1.0, 2.0], [0.5, -1.0]] + X[:, 3:]
    for y in (Y, Y[:, 0]):
        found = PLSRegression(2).fit([X[i : i + 1] for i in range(60)], [y[i : i + 1] for i in range(60)])
        np.testing.assert_allclose(found.coef_, PLSRegression(2).fit(X, y).coef_, rtol=1e-9, atol=1e-12)


def test_missing_entries_in_single_rows():
    incomplete = np.where(np.random.default_rng(1).random(X.shape) < 0.2, np.nan, X)
    found = PPCA(2).fit([incomplete[i : i + 1] for i in range(60)])
    np.testing.assert_allclose(found.mean_, PPCA(2).fit(incomplete).mean_, rtol=0, atol=1e-6)


@pytest.mark.parametrize("size", [1, 7, 500, 3000])
@pytest.mark.parametrize("ring", [1, 2, 3])
def test_an_iterator_may_fill_the_same_arrays_again(size, ring):
    rows = np.random.default_rng(0).standard_normal((6000, 6))

    def blocks():
        arrays = [np.empty((size, 6)) for _ in range(ring)]
        for number, i in enumerate(range(0, 6000, size)):
            array = arrays[number % ring]
            some = rows[i : i + size]
            array[: len(some)] = some
            yield array[: len(some)]

    found = summarize(blocks(), Moments)
    np.testing.assert_allclose(found.scatter, summarize(rows, Moments).scatter, rtol=1e-10, atol=1e-9)
    again = PCA(2).fit(blocks)
    np.testing.assert_allclose(again.explained_variance_, PCA(2).fit(rows).explained_variance_, rtol=1e-10)
