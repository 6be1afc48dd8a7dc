"""Sparse matrices that are no tables of rows, or whose indices are damaged."""

import numpy as np
import pytest
from scipy import sparse

from lowdim import PCA, PLSRegression
from lowdim.sources import open_source

X = np.random.default_rng(0).standard_normal((6, 4))


def test_a_sparse_vector_is_refused():
    with pytest.raises(
        ValueError, match=r"got 1D array instead, of shape \(4,\).* X\.reshape\(1, -1\) for a single row"
    ):
        open_source(sparse.coo_array(X[0]))
    with pytest.raises(ValueError, match=r"^y: Expected 2D array, got 1D array"):
        PLSRegression(1).fit(X, sparse.coo_array(X[:, 0]))


@pytest.mark.parametrize("index", [4, 99, -1])
@pytest.mark.parametrize("make", [sparse.csr_array, sparse.csr_matrix, sparse.coo_array])
def test_columns_out_of_range_are_refused(make, index):
    damaged = make(X)
    (damaged.col if damaged.format == "coo" else damaged.indices)[5] = index
    with pytest.raises(
        ValueError, match=rf"damaged sparse matrix.*columns {min(index, 0)} to {max(index, 3)}, and has"
    ):
        open_source(damaged)
    if index > 0:
        with pytest.raises(ValueError, match="damaged sparse matrix"):
            PCA(2).fit(X).transform(damaged)


def test_indices_of_other_formats_out_of_range_are_refused():
    rows, blocks, lists = sparse.csc_array(X), sparse.bsr_array(X, blocksize=(2, 2)), sparse.lil_array(X)
    rows.indices[0], blocks.indices[0], lists.rows[0][0] = 6, 2, 7
    for damaged, message in ((rows, "rows 0 to 6"), (blocks, "block columns 0 to 2"), (lists, "columns 0 to 7")):
        with pytest.raises(ValueError, match=message):
            open_source(damaged)


@pytest.mark.parametrize(("place", "value"), [(0, 1), (3, 0), (-1, 100)])
@pytest.mark.parametrize("make", [sparse.csr_array, sparse.csc_array])
def test_pointers_that_do_not_ascend_are_refused(make, place, value):
    damaged = make(X)
    damaged.indptr[place] = value
    with pytest.raises(ValueError, match="pointers indptr do not ascend from 0 to at most 24"):
        open_source(damaged)


@pytest.mark.parametrize("kind", ["csr", "csc", "coo", "bsr", "lil", "dok", "dia"])
def test_sound_matrices_of_every_format_are_read(kind):
    thin = np.where(np.abs(X) > 1, X, 0.0)
    (block,) = open_source(sparse.csr_array(thin).asformat(kind)).blocks(6)
    np.testing.assert_array_equal(block.toarray(), thin)
