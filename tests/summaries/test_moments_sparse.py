"""Moments of sparse rows with columns far from zero: only these columns are made dense."""

import numpy as np
import pytest
from scipy import sparse

from lowdim.summaries import Moments


def rows():
    """Sparse rows with a column of ones, one with a large offset, and one that varies little."""
    rng = np.random.default_rng(0)
    X = sparse.random_array((400, 200), density=0.01, rng=rng).toarray()
    X[:, 3] = 1e8 + rng.standard_normal(400)
    X[:, 7] = 5.0
    X[:, 9] = 1.0 + 1e-3 * rng.standard_normal(400)
    return X


@pytest.mark.parametrize("weighted", [False, True])
def test_columns_far_from_zero_keep_their_digits(weighted, monkeypatch):
    X = rows()
    w = 1.0 + np.arange(400) % 3 if weighted else np.ones(400)
    # A block is not made dense as a whole.
    monkeypatch.setattr(Moments, "_dense_sums", None)
    moments = Moments(200)
    for part in (slice(0, 150), slice(150, 400)):
        moments.update(sparse.csr_array(X[part]), w[part] if weighted else None)
    D, W = X.astype(np.longdouble), w.astype(np.longdouble)
    Z = D - W @ D / W.sum()
    S = (Z * W[:, None]).T @ Z
    lengths = np.where(np.diagonal(S) > 0, np.sqrt(np.diagonal(S)), 1.0)
    np.testing.assert_allclose(((moments.scatter - S) / lengths / lengths[:, None]).astype(float), 0.0, atol=1e-14)
    assert moments.scatter[7, 7] == 0.0
    np.testing.assert_allclose(moments.mean, (W @ D / W.sum()).astype(float), rtol=1e-15, atol=1e-18)
