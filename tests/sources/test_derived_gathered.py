"""Rows that are gathered in memory: the same rows, one pass, and an error before memory runs out."""

import numpy as np
import pytest
from scipy import sparse

from lowdim.reading.rows import Rows
from lowdim.sources import open_source
from lowdim.sources.base import Traits, fits_easily
from lowdim.sources.derived import KnownSource, StoredSource, gather, with_known_length

X = np.random.default_rng(0).standard_normal((11, 4))
#: More rows than fit into the memory of any machine, of which one is stored.
MANY = np.broadcast_to(X[0], (10**13, 4))


class Stored(StoredSource):
    """Rows of an array, read in blocks of three as if they were in a file."""

    def __init__(self, X, by_feature=True):
        self._X, self.passes = X, 0
        self.shape, self.dtype, self.kind = X.shape, X.dtype, "test"
        self.names = [f"col{j}" for j in range(X.shape[1])]
        self.traits = Traits(in_memory=False, by_feature=by_feature, itemsize=X.itemsize)

    def blocks(self, rows):
        self.passes += 1
        for i in range(0, len(self._X), 3):
            yield self._X[i : i + 3]


def rows_of(source):
    return np.concatenate(list(source.blocks(5)))


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_all_rows_and_names_are_kept(dtype):
    found = gather(Stored(X.astype(dtype)), "for a test")
    assert found.traits.in_memory
    assert found.shape == X.shape
    assert np.dtype(found.dtype) == dtype
    assert found.names == ["col0", "col1", "col2", "col3"]
    np.testing.assert_array_equal(next(found.blocks(11)), X.astype(dtype))


def test_sparse_blocks_stay_sparse():
    found = gather(open_source([sparse.csr_array(X[:3]), sparse.csr_array(X[3:])]), "for a test")
    assert found.traits.sparse
    np.testing.assert_array_equal(next(found.blocks(11)).toarray(), X)


def test_rows_in_memory_are_not_copied():
    source = open_source(X)
    assert gather(source, "for a test") is source


def test_known_products_do_not_tell_one_table_from_another():
    assert KnownSource(open_source(X), None).identity() == open_source(X).identity()
    assert KnownSource(open_source(X), None).identity() != open_source(X + 1.0).identity()


def test_columns_are_read_from_one_pass():
    source = Stored(X)
    for _ in range(2):
        features = source.features()
        np.testing.assert_array_equal(rows_of(features), X.T)
        assert features.transposed
        assert features.names == source.names
    assert source.passes == 1


def test_a_source_that_does_not_fit_is_not_read_by_columns():
    with pytest.raises(TypeError, match="cannot be read feature by feature"):
        Stored(X, by_feature=False).features()


def test_too_many_rows_are_refused_before_they_are_read():
    source = Stored(MANY)
    shape = rf"\({len(MANY)}, 4\)"
    with pytest.raises(MemoryError, match=rf"all rows of X, of shape {shape}, .* in memory for a test: that is"):
        gather(source, "for a test")
    assert source.passes == 0
    assert not fits_easily(*MANY.shape, 8)
    assert fits_easily(2, 4, 8)


def test_rows_of_unknown_number():
    source = Stored(X)
    source.shape = (None, 4)
    assert with_known_length(open_source(iter([X])), "for a test").shape == (11, 4)
    found = with_known_length(source, "for a test")
    assert found.shape == (11, 4)
    np.testing.assert_array_equal(rows_of(found), X)


def test_an_unknown_number_of_rows_is_refused_when_they_do_not_fit():
    """The first block fits, the second one does not, and the third one is not read."""
    source = Stored(X)
    source.shape, source.blocks = (None, 4), lambda rows: iter([X[:3], MANY, pytest.fail])
    with pytest.raises(MemoryError, match=rf"of shape \({len(MANY) + 3}, 4\), .* for a test"):
        with_known_length(source, "for a test")


def test_what_needs_all_rows_says_so():
    source = Stored(MANY)
    with pytest.raises(MemoryError, match="in memory for KernelCCA"):
        Rows(source).whole("KernelCCA")
    assert source.passes == 0
