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


@pytest.mark.parametrize("size", [1.0, 1e-23, 1e15])
def test_rows_that_are_not_numpys_are_centred_first_if_the_mean_is_large(size):
    """Squares of small numbers of float32 are zero, and must not make the mean look small."""
    strict = pytest.importorskip("array_api_strict", reason="array-api-strict is not installed")
    rows = np.random.default_rng(3).normal(size=(50, 3))
    for mean in (0.5, 1e4):
        X = (size * (rows + mean)).astype(np.float32)
        centre, A = X.astype(float).mean(axis=0), np.eye(3)[:, :2]
        options = {"mean": strict.asarray(centre.astype(np.float32)), "deviation": size}
        found = np.from_dlpack(affine(strict.asarray(A.astype(np.float32)), **options)(strict.asarray(X)))
        expected = (X.astype(float) - centre.astype(np.float32).astype(float)) @ A
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6 * size)


def test_a_map_to_no_columns():
    strict = pytest.importorskip("array_api_strict", reason="array-api-strict is not installed")
    none = affine(strict.zeros((3, 0)), mean=strict.ones(3), deviation=0.0)
    assert none(strict.ones((5, 3))).shape == (5, 0)
