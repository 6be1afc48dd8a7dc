"""Residuals and densities of sparse rows: those of dense rows, without making the rows dense."""

import numpy as np
import pytest
from scipy import sparse

from lowdim import PCA


def rows(dtype=float):
    rng = np.random.default_rng(0)
    return sparse.random_array((200, 40), density=0.1, format="csr", rng=rng).astype(dtype)


@pytest.mark.parametrize("scale", [False, True])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_sparse_rows_have_the_residuals_of_dense_ones(scale, dtype):
    X = rows(dtype)
    pca = PCA(4, scale=scale).fit(X)
    tolerance = 1e-10 if dtype == np.float64 else 1e-3
    for scaled in (False, True):
        found = pca.reconstruction_error(X, scaled=scaled)
        assert found.dtype == dtype
        np.testing.assert_allclose(found, pca.reconstruction_error(X.toarray(), scaled=scaled), rtol=tolerance)
    np.testing.assert_allclose(pca.score_samples(X), pca.score_samples(X.toarray()), rtol=tolerance)


def test_rows_stay_sparse_unless_their_residuals_are_small(monkeypatch):
    X = rows().toarray()
    pca = PCA(4).fit(X)
    # Three rows in the span of the components, of which nothing but rounding is left.
    X[:3] = pca.inverse_transform(pca.transform(X[:3]))
    seen = []
    toarray = sparse.csr_array.toarray
    monkeypatch.setattr(sparse.csr_array, "toarray", lambda rows: seen.append(rows.shape[0]) or toarray(rows))
    found = pca.reconstruction_error(sparse.csr_array(X))
    assert sum(seen) == 3
    assert np.all(found[:3] < 1e-28) and np.all(found[3:] > 1e-6)


def test_a_nan_is_still_found():
    X = rows()
    pca = PCA(2).fit(X)
    bad = X.copy()
    bad.data[5] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        pca.reconstruction_error(bad)
