"""Regressions in few coordinates: PLS in its Krylov space, PCR in the leading eigenvectors. Components are those of the
whole coordinates."""

import numpy as np
import pytest
from scipy import sparse

from lowdim import PCR, PLSRegression
from lowdim.models import pcr, pls
from lowdim.solvers.pairs.views import krylov_views, principal_views

FITTED = (
    "x_weights_",
    "x_loadings_",
    "x_rotations_",
    "y_loadings_",
    "y_rotations_",
    "coef_",
    "explained_variance_",
    "explained_variance_ratio_",
    "y_explained_variance_ratio_",
    "noise_variance_",
)


def tables(n, p, q, kind, seed=0):
    rng = np.random.default_rng(seed)
    if kind == "sparse":
        X = sparse.random_array((n, p), density=0.02, format="csr", rng=rng)
    else:
        X = rng.standard_normal((n, p)) * np.exp(0.5 * rng.standard_normal(p)) + (1e6 if kind == "offset" else 0.0)
    centred = X - 1e6 if kind == "offset" else X
    Y = centred @ rng.standard_normal((p, q))
    return X, Y + 0.3 * np.abs(Y).mean() * rng.standard_normal((n, q))


def both_fits(monkeypatch, X, Y, k, **options):
    """The fit, the same fit from all coordinates, and whether the first one took fewer."""
    sizes = []

    def recorded(views, k):
        found = krylov_views(views, k)
        sizes.append(found is not views)
        return found

    monkeypatch.setattr(pls, "krylov_views", recorded)
    narrow = PLSRegression(k, **options).fit(X, Y)
    monkeypatch.setattr(pls, "krylov_views", lambda views, k: views)
    return narrow, PLSRegression(k, **options).fit(X, Y), sizes[0]


@pytest.mark.parametrize("kind", ["dense", "offset", "sparse"])
@pytest.mark.parametrize("shape", [(300, 900), (900, 300)])
@pytest.mark.parametrize("options", [{}, {"scale": False}, {"algorithm": "simpls"}], ids=str)
@pytest.mark.parametrize("q", [1, 3])
def test_it_is_the_same_model(monkeypatch, q, options, shape, kind):
    X, Y = tables(*shape, q, kind)
    narrow, whole, smaller = both_fits(monkeypatch, X, Y, 5, **options)
    assert smaller
    assert narrow.solver_ == whole.solver_ == ("gram" if shape[0] < shape[1] else "covariance")
    for name in FITTED:
        expected = np.asarray(getattr(whole, name))
        size = np.abs(expected).max()
        np.testing.assert_allclose(getattr(narrow, name), expected, atol=1e-8 * size, rtol=0, err_msg=name)
    assert narrow.tail_.squares == pytest.approx(whole.tail_.squares, rel=1e-8)


def test_weights_equal_repeated_rows():
    X, Y = tables(300, 900, 2, "sparse")
    w = 1 + np.arange(300) % 2
    weighted = PLSRegression(4).fit(X, Y, sample_weight=w)
    repeated = PLSRegression(4).fit(X[np.repeat(np.arange(300), w)], np.repeat(Y, w, axis=0))
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, atol=1e-9 * np.abs(repeated.coef_).max())


@pytest.mark.parametrize("shape", [(300, 900), (900, 300)])
def test_responses_that_fewer_components_explain_take_the_whole_coordinates(monkeypatch, shape):
    rng = np.random.default_rng(0)
    U = np.linalg.qr(rng.standard_normal((shape[0], 4)))[0]
    U -= U.mean(axis=0)
    X = U @ rng.standard_normal((4, shape[1]))
    with pytest.warns(Warning, match="only"):
        narrow, _, smaller = both_fits(monkeypatch, X, X[:, 0], 8)
    assert not smaller
    assert narrow.n_components_ <= 4
    np.testing.assert_allclose(narrow.predict(X), X[:, 0], atol=1e-7 * np.abs(X).max())


def test_small_tables_are_left_alone():
    X, Y = tables(100, 40, 1, "dense")
    seen = []
    model = PLSRegression(2)
    model._narrowing = lambda: lambda views, k: seen.append(krylov_views(views, k) is views) or views
    model.fit(X, Y)
    assert seen == [True]


@pytest.mark.parametrize("sparse_x", [False, True])
@pytest.mark.parametrize("sparse_y", [False, True])
def test_sparse_and_dense_tables_mixed(sparse_x, sparse_y):
    X, Y = tables(280, 700, 2, "sparse")
    reference = PLSRegression(3).fit(X.toarray(), Y)
    found = PLSRegression(3).fit(X if sparse_x else X.toarray(), sparse.csr_array(Y) if sparse_y else Y)
    np.testing.assert_allclose(found.coef_, reference.coef_, atol=1e-9 * np.abs(reference.coef_).max())
    np.testing.assert_allclose(found.predict(X), reference.predict(X.toarray()), atol=1e-9)


# ---- Principal components


def falling(n, p, as_sparse):
    """Tables whose columns have distinct variances, so that components are well separated."""
    rng = np.random.default_rng(0)
    scales = 1.0 / np.sqrt(1.0 + np.arange(p))
    X = rng.standard_normal((n, p)) * scales
    X[rng.random((n, p)) < 0.9] = 0.0
    Y = X @ rng.standard_normal((p, 2)) + 0.1 * rng.standard_normal((n, 2))
    return (sparse.csr_array(X) if as_sparse else X + 5.0), Y


@pytest.mark.parametrize("as_sparse", [False, True])
@pytest.mark.parametrize("shape", [(300, 900), (900, 300)])
@pytest.mark.parametrize("scale", [False, True])
def test_it_is_the_same_regression(monkeypatch, scale, shape, as_sparse):
    X, Y = falling(*shape, as_sparse)
    narrow = PCR(6, scale=scale).fit(X, Y)
    monkeypatch.setattr(pcr, "principal_views", lambda views, k: views)
    whole = PCR(6, scale=scale).fit(X, Y)
    for name in FITTED[FITTED.index("coef_") :]:
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
