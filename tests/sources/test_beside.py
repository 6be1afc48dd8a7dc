"""Tables side by side: rows that belong together, columns of one source as tables, and one pass for all of them."""

import numpy as np
import pytest

from inputs import INPUTS, blocks
from lowdim.reading import summarize
from lowdim.sources import open_source
from lowdim.sources.array import ArraySource
from lowdim.sources.beside import BesideSource, ColumnsSource, aligned
from lowdim.summaries import Moments
from recorder import RecordedProgress

RNG = np.random.default_rng(0)
X = RNG.standard_normal((30, 5))


class Counted(ArraySource):
    """Rows of an array, whose passes are counted."""

    passes = 0

    def blocks(self, rows):
        Counted.passes += 1
        return super().blocks(rows)


def rows_of(source, rows=7):
    return np.concatenate([np.asarray(getattr(b, "joined", lambda b=b: b)()) for b in source.blocks(rows)])


@pytest.mark.parametrize("columns", [[1, 2, 3], [4, 0], [2], range(5)])
def test_rows_parts_and_features(columns):
    source, expected = ColumnsSource(open_source(X), columns), X[:, list(columns)]
    assert source.shape == expected.shape
    np.testing.assert_array_equal(rows_of(source), expected)
    np.testing.assert_array_equal(rows_of(source.between(4, 20)), expected[4:20])
    np.testing.assert_array_equal(rows_of(source.after(21)), expected[21:])
    np.testing.assert_array_equal(np.concatenate([rows_of(part) for part in source.parts(3)]), expected)
    if source.traits.by_feature:
        np.testing.assert_array_equal(rows_of(source.features()), expected.T)
    else:
        with pytest.raises(TypeError, match="cannot be read feature by feature"):
            source.features()


def test_neighbouring_columns_are_not_copied():
    block = next(ColumnsSource(open_source(X), [1, 2, 3]).blocks(10))
    assert np.shares_memory(block, X)


def test_names_labels_and_dtype():
    pandas = pytest.importorskip("pandas")
    parent = open_source(pandas.DataFrame(X, columns=list("abcde")))
    source = ColumnsSource(parent, [3, 1], np.float32)
    assert source.names == ["d", "b"]
    assert source.dtype == next(source.blocks(5)).dtype == source.empty(2).dtype == np.float32
    assert source.traits.itemsize == 4
    assert source.row_label(3) == parent.row_label(3)
    assert source.identity() != ColumnsSource(parent, [1, 3], np.float32).identity()


def test_tables_of_one_source_are_read_in_one_pass():
    parent = Counted(X)
    tables = [ColumnsSource(parent, [0, 1]), open_source(X[:, :1] + 5), ColumnsSource(parent, [4, 2])]
    expected = np.hstack([X[:, [0, 1]], X[:, :1] + 5, X[:, [4, 2]]])
    beside = BesideSource(tables)
    for source, rows in ((beside, expected), (beside.after(14), expected[14:])):
        Counted.passes = 0
        np.testing.assert_array_equal(rows_of(source), rows)
        assert Counted.passes <= 1


def test_rows_beside_a_stream_cannot_be_skipped():
    assert BesideSource([open_source(X), open_source(X)]).can_skip
    assert BesideSource([open_source(X), open_source(iter([X]))]).can_skip is False


def test_partitions_of_dask_are_cut_together():
    dd = pytest.importorskip("dask.dataframe", reason="Dask is not installed")
    pandas = pytest.importorskip("pandas")
    parent = open_source(dd.from_pandas(pandas.DataFrame(X, columns=list("abcde")), npartitions=3))
    beside = BesideSource([ColumnsSource(parent, range(3)), ColumnsSource(parent, [3, 4])])
    parts = beside.parts(1)
    assert len(parts) == 3
    assert all(part.members[0].parent is part.members[1].parent for part in parts)
    np.testing.assert_array_equal(np.concatenate([rows_of(part) for part in parts]), X)


# ---- Blocks of several tables that are cut at the same rows


def in_blocks(table, *lengths):
    return iter(np.split(table, np.cumsum(lengths)))


def cut(block, i, j):
    return block[i:j]


@pytest.mark.parametrize("lengths", [(3, 3, 4), (10,), (1, 1, 7), (5, 0, 2)])
def test_rows_that_belong_together_stay_together(lengths):
    left, right = np.arange(10), 100 + np.arange(10)
    pieces = list(aligned([in_blocks(left, *lengths), in_blocks(right, 4, 4)], len, cut, ["X", "y"]))
    assert all(len(a) == len(b) for a, b in pieces)
    np.testing.assert_array_equal(np.concatenate([a for a, _ in pieces]), left)
    np.testing.assert_array_equal(np.concatenate([b for _, b in pieces]), right)


def test_a_table_that_ends_early_is_named():
    pieces = aligned([in_blocks(np.arange(10), 4), in_blocks(np.arange(9), 4)], len, cut, ["X", "y"])
    assert len(next(pieces)[0]) == 4
    with pytest.raises(ValueError, match=r"(?s)X.*y.*9"):
        list(pieces)


def test_blocks_of_equal_lengths_are_not_copied():
    block = np.arange(4)
    (pieces,) = aligned([iter([block]), iter([block])], len, cut, ["X", "y"])
    assert pieces[0] is block and pieces[1] is block


# ---- Progress


def test_the_number_of_blocks_beside_a_stream_is_unknown():
    whole, parted = open_source(X), open_source(INPUTS["Dask array"].make(X))
    for members in ([whole, open_source(blocks(X))], [open_source(blocks(X)), whole], [parted, open_source(blocks(X))]):
        progress = RecordedProgress()
        summarize(BesideSource(members), Moments, progress=progress)
        assert progress.passes == [("Moments", None)]
