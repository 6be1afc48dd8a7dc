"""The affine map of a block: the same for dense and sparse rows, near and far from zero."""

import numpy as np
import pytest
from scipy import sparse

from lowdim.features import affine

random = np.random.default_rng(0)


@pytest.mark.parametrize("offset", [0.0, 1.0, 1e8])
def test_dense_and_sparse_blocks_give_the_same(offset):
    X = sparse.random_array((50, 6), density=0.3, rng=0).toarray() + offset
    A, mean = random.standard_normal((6, 2)), X.mean(axis=0)
    expected = (X - mean) @ A
    apply = affine(A, mean, 1.0)
    np.testing.assert_allclose(apply(X), expected, atol=1e-12)
    np.testing.assert_allclose(apply(sparse.csr_array(X)), expected, atol=1e-12)


def test_the_dtype_is_that_of_the_block():
    A, mean = random.standard_normal((6, 2)), np.zeros(6)
    assert affine(A, mean, 1.0)(np.ones((3, 6), dtype=np.float32)).dtype == np.float32
