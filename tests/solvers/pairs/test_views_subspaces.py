"""Regression on few principal components: leading eigenvectors are enough."""

import numpy as np
import pytest
from scipy import sparse

from lowdim import PCR
from lowdim.models import pcr
from lowdim.solvers.pairs.views import principal_views

FITTED = ("coef_", "explained_variance_", "explained_variance_ratio_", "y_explained_variance_ratio_", "noise_variance_")


def tables(n, p, as_sparse):
    rng = np.random.default_rng(0)
    # The columns have distinct variances, so that components are well separated.
    scales = 1.0 / np.sqrt(1.0 + np.arange(p))
    X = rng.standard_normal((n, p)) * scales
    X[rng.random((n, p)) < 0.9] = 0.0
    Y = X @ rng.standard_normal((p, 2)) + 0.1 * rng.standard_normal((n, 2))
    return (sparse.csr_array(X) if as_sparse else X + 5.0), Y


@pytest.mark.parametrize("as_sparse", [False, True])
@pytest.mark.parametrize("shape", [(300, 900), (900, 300)])
@pytest.mark.parametrize("scale", [False, True])
def test_it_is_the_same_regression(monkeypatch, scale, shape, as_sparse):
    X, Y = tables(*shape, as_sparse)
    narrow = PCR(6, scale=scale).fit(X, Y)
    monkeypatch.setattr(pcr, "principal_views", lambda views, k: views)
    whole = PCR(6, scale=scale).fit(X, Y)
    for name in FITTED:
        expected = np.asarray(getattr(whole, name))
        np.testing.assert_allclose(getattr(narrow, name), expected, atol=1e-8 * np.abs(expected).max(), err_msg=name)
    np.testing.assert_allclose(np.abs(narrow.components_ @ whole.components_.T), np.eye(6), atol=1e-7)
    assert narrow.tail_.total == pytest.approx(whole.tail_.total, rel=1e-10)
    assert narrow.tail_.squares == pytest.approx(whole.tail_.squares, rel=1e-8)


def test_directions_without_variance_take_the_whole_coordinates(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 3)) @ rng.standard_normal((3, 900))
    seen = []
    monkeypatch.setattr(
        pcr, "principal_views", lambda views, k: seen.append(principal_views(views, k) is views) or views
    )
    with pytest.warns(Warning, match="only 3"):
        PCR(6).fit(X, X[:, 0])
    assert all(seen)
