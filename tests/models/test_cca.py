"""CCA, GCCA and the pairs of PLS: against eigenproblems of both tables at once, special cases, tests, edges."""

import numpy as np
import pytest
from scipy import stats
from sklearn import cross_decomposition as theirs
from sklearn.linear_model import LinearRegression

from lowdim import CCA, GCCA, PLSSVD, PLSCanonical
from lowdim.errors import SmallSampleWarning
from models.canonical_tables import TABLES, THIRD, X, Y, each_scale, each_solver
from oracles_tables import canonical, deflated, maxvar, standard, up_to_signs


def standardized(tables, scale):
    flags = scale if isinstance(scale, tuple) else (scale, scale)
    return [standard(A, flag) for A, flag in zip(tables, flags, strict=True)]


# ---- Against eigenproblems of both tables


@each_solver
@each_scale
@pytest.mark.parametrize("c", [(0.0, 0.0), (0.3, 0.3), (0.1, 0.8)])
def test_cca_is_the_generalized_eigenproblem(c, scale, solver):
    cca = CCA(3, regularization=c, scale=scale, solver=solver).fit(X, Y)
    A, B = standardized((X, Y), scale)
    values, W, V = canonical(A, B, c)
    np.testing.assert_allclose(cca.singular_values_, values[:3], rtol=1e-10)
    for ours, slow, Z in ((cca.x_rotations_, W, A), (cca.y_rotations_, V, B)):
        unit = slow[:, :3] / (Z @ slow[:, :3]).std(axis=0, ddof=1)
        np.testing.assert_allclose(up_to_signs(ours, unit), unit, atol=1e-9)


@each_solver
@pytest.mark.parametrize("c", [0.2, (0.5, 0.9)])
@pytest.mark.parametrize("name", ["wide", "wide X"])
def test_regularized_cca_with_fewer_rows_than_columns(name, c, solver):
    x, y = TABLES[name]
    cca = CCA(3, regularization=c, solver=solver).fit(x, y)
    values, W, _ = canonical(*standardized((x, y), True), c if isinstance(c, tuple) else (c, c))
    np.testing.assert_allclose(cca.singular_values_, values[:3], rtol=1e-9)
    unit = W[:, :3] / (standard(x, True) @ W[:, :3]).std(axis=0, ddof=1)
    np.testing.assert_allclose(up_to_signs(cca.x_rotations_, unit), unit, atol=1e-8)


@each_solver
@pytest.mark.parametrize("c", [(0.0, 0.0, 0.0), (0.2, 0.5, 0.1)])
def test_gcca_is_the_eigenproblem_of_all_tables(c, solver):
    tables = [X, Y, THIRD]
    gcca = GCCA(2, regularization=c, solver=solver).fit(tables)
    Z = [standard(A, True) for A in tables]
    values, vectors = maxvar(Z, c)
    np.testing.assert_allclose(gcca.eigenvalues_ - 1, values[:2], rtol=1e-9)
    edges = np.cumsum([0, 5, 4, 3])
    for ours, A, i, j in zip(gcca.rotations_, Z, edges[:-1], edges[1:], strict=True):
        unit = vectors[i:j, :2] / (A @ vectors[i:j, :2]).std(axis=0, ddof=1)
        np.testing.assert_allclose(up_to_signs(ours, unit), unit, atol=1e-9)


def test_gcca_is_what_one_common_variate_explains_best():
    """MAXVAR: the eigenvectors of the sum of the projections on the tables."""
    Z = [standard(A, False) for A in (X, Y, THIRD)]
    projections = sum(A @ np.linalg.pinv(A) for A in Z)
    values, vectors = np.linalg.eigh(projections)
    gcca = GCCA(2).fit([X, Y, THIRD])
    np.testing.assert_allclose(gcca.eigenvalues_, values[::-1][:2], rtol=1e-10)
    for variates, A in zip(gcca.transform([X, Y, THIRD]), Z, strict=True):
        explained = A @ np.linalg.pinv(A) @ vectors[:, ::-1][:, :2]
        wanted = explained / explained.std(axis=0, ddof=1)
        np.testing.assert_allclose(up_to_signs(variates, wanted), wanted, atol=1e-9)


@each_solver
@each_scale
@pytest.mark.parametrize("name", ["tall", "wide", "wide X"])
def test_pls_canonical_is_what_deflating_both_tables_gives(name, scale, solver):
    x, y = TABLES[name]
    pls = PLSCanonical(3, scale=scale, solver=solver).fit(x, y)
    slow = deflated(*standardized((x, y), scale), 3, "canonical")
    for ours, wanted in (
        (pls.x_weights_, slow.weights),
        (pls.x_loadings_, slow.loadings),
        (pls.y_weights_, slow.y_weights),
        (pls.y_loadings_, slow.y_loadings),
        *zip(pls.transform(x, y), (slow.scores, slow.y_scores), strict=True),
    ):
        np.testing.assert_allclose(up_to_signs(ours, wanted), wanted, atol=1e-8)
    products = [t @ u / (len(x) - 1) for t, u in zip(*(s.T for s in pls.transform(x, y)), strict=True)]
    np.testing.assert_allclose(pls.covariances_, products, rtol=1e-9)
    t = pls.transform(x)
    np.testing.assert_allclose(pls.predict(x), LinearRegression().fit(t, y).predict(t), atol=1e-8)


@each_solver
@each_scale
@pytest.mark.parametrize("name", ["tall", "wide", "wide X"])
def test_pls_svd_is_the_svd_of_the_covariance(name, scale, solver):
    x, y = TABLES[name]
    pls = PLSSVD(3, scale=scale, solver=solver).fit(x, y)
    A, B = standardized((x, y), scale)
    U, s, Vt = np.linalg.svd(A.T @ B / (len(x) - 1))
    np.testing.assert_allclose(pls.covariances_, s[:3], rtol=1e-10)
    np.testing.assert_allclose(up_to_signs(pls.x_weights_, U[:, :3]), U[:, :3], atol=1e-8)
    np.testing.assert_allclose(up_to_signs(pls.y_weights_, Vt[:3].T), Vt[:3].T, atol=1e-8)


@pytest.mark.parametrize("name", ["PLSCanonical", "PLSSVD", "CCA"])
def test_scikit_learn_agrees(name):
    options = {} if name == "PLSSVD" else {"tol": 1e-15, "max_iter": 200_000}
    other = getattr(theirs, name)(2, **options).fit(X, Y)
    ours = {"PLSCanonical": PLSCanonical, "PLSSVD": PLSSVD, "CCA": CCA}[name](2).fit(X, Y)
    for mine, wanted in zip(ours.transform(X, Y), other.transform(X, Y), strict=True):
        if name == "CCA":
            wanted = wanted / wanted.std(axis=0, ddof=1)
        np.testing.assert_allclose(up_to_signs(mine, wanted), wanted, atol=1e-4)


# ---- Special cases equal general ones


@each_scale
@pytest.mark.parametrize("name", ["tall", "wide"])
def test_full_regularization_is_pls_svd(name, scale):
    x, y = TABLES[name]
    cca, svd = CCA(3, regularization=1.0, scale=scale).fit(x, y), PLSSVD(3, scale=scale).fit(x, y)
    np.testing.assert_allclose(cca.singular_values_, svd.covariances_, rtol=1e-10)
    for ours, weights in ((cca.x_rotations_, svd.x_weights_), (cca.y_rotations_, svd.y_weights_)):
        np.testing.assert_allclose(ours / np.linalg.norm(ours, axis=0), weights, atol=1e-9)


@each_solver
@pytest.mark.parametrize("c", [0.0, 0.3])
def test_gcca_of_two_tables_is_cca(c, solver):
    cca, gcca = (m(3, regularization=c, solver=solver) for m in (CCA, GCCA))
    cca.fit(X, Y)
    for gcca_fit in (gcca.fit([X, Y]), GCCA(3, regularization=c, solver=solver).fit(X, Y)):
        np.testing.assert_allclose(gcca_fit.correlations_, cca.correlations_, rtol=1e-12)
        np.testing.assert_allclose(gcca_fit.rotations_[0], cca.x_rotations_, atol=1e-11)
        np.testing.assert_allclose(gcca_fit.structure_[1], cca.y_structure_, atol=1e-11)


def test_cca_of_one_response_is_least_squares():
    cca = CCA().fit(X, Y[:, 0])
    slow = LinearRegression().fit(X, Y[:, 0])
    np.testing.assert_allclose(cca.correlations_[0] ** 2, slow.score(X, Y[:, 0]), rtol=1e-10)
    np.testing.assert_allclose(cca.predict(X), slow.predict(X), rtol=1e-9)
    np.testing.assert_allclose(cca.coef_[0], slow.coef_, rtol=1e-8)


def test_all_pairs_predict_as_least_squares():
    cca, slow = CCA().fit(X, Y), LinearRegression().fit(X, Y)
    np.testing.assert_allclose(cca.predict(X), slow.predict(X), rtol=1e-9)
    np.testing.assert_allclose(cca.intercept_, slow.intercept_, rtol=1e-9)


def test_fewer_pairs_and_a_ridge_predict_from_the_variates():
    for c in (0.0, 0.4):
        cca = CCA(2, regularization=c).fit(X, Y)
        T = cca.transform(X)
        np.testing.assert_allclose(cca.predict(X), LinearRegression().fit(T, Y).predict(T), rtol=1e-9)


# ---- What is read off a fit


@each_scale
@pytest.mark.parametrize("c", [0.0, 0.3])
def test_variates_have_unit_variance_and_these_correlations(c, scale):
    cca = CCA(4, regularization=c, scale=scale).fit(X, Y)
    T, U = cca.transform(X, Y)
    np.testing.assert_allclose(T.std(axis=0, ddof=1), 1.0, rtol=1e-11)
    np.testing.assert_allclose(U.std(axis=0, ddof=1), 1.0, rtol=1e-11)
    np.testing.assert_allclose(cca.correlations_, [np.corrcoef(t, u)[0, 1] for t, u in zip(T.T, U.T, strict=True)])
    assert np.all(np.diff(cca.singular_values_) <= 0)
    if c == 0.0:
        assert np.all(np.diff(cca.correlations_) <= 0)
        np.testing.assert_allclose(T.T @ U / 79, np.diag(cca.correlations_), atol=1e-11)
        np.testing.assert_allclose(T.T @ T / 79, np.eye(4), atol=1e-11)


@pytest.mark.parametrize("c", [0.0, 0.3])
def test_structure_loadings_and_redundancy(c):
    cca = CCA(3, regularization=c, scale=False).fit(X, Y)
    T, U = cca.transform(X, Y)

    def correlations(A, B):
        return np.corrcoef(A, B, rowvar=False)[: A.shape[1], A.shape[1] :]

    np.testing.assert_allclose(cca.x_structure_, correlations(X, T), atol=1e-11)
    np.testing.assert_allclose(cca.y_structure_, correlations(Y, U), atol=1e-11)
    np.testing.assert_allclose(cca.x_cross_structure_, correlations(X, U), atol=1e-11)
    np.testing.assert_allclose(cca.y_cross_structure_, correlations(Y, T), atol=1e-11)
    np.testing.assert_allclose(cca.x_loadings_, (X - X.mean(axis=0)).T @ T / 79, atol=1e-10)
    np.testing.assert_allclose(cca.y_redundancy_, (correlations(Y, T) ** 2).mean(axis=0), atol=1e-12)
    if c == 0.0:  # Stewart and Love
        wanted = (correlations(X, T) ** 2).mean(axis=0) * cca.correlations_**2
        np.testing.assert_allclose(cca.x_redundancy_, wanted, atol=1e-12)


def test_significance_of_one_response_is_the_f_test_of_regression():
    """With one response Rao's F is exact, and is the F of least squares."""
    test = CCA().fit(X, Y[:, 0]).significance()
    r2 = LinearRegression().fit(X, Y[:, 0]).score(X, Y[:, 0])
    F = (r2 / 5) / ((1 - r2) / (80 - 5 - 1))
    np.testing.assert_allclose(test.f, [F], rtol=1e-9)
    np.testing.assert_allclose(test.f_dof, [[5, 74]])
    np.testing.assert_allclose(test.f_p, [stats.f.sf(F, 5, 74)], rtol=1e-7)


def test_p_values_of_independent_tables_are_uniform():
    rng = np.random.default_rng(7)
    p = np.array(
        [
            (t.chi2_p[0], t.f_p[0])
            for t in (
                CCA(1).fit(rng.standard_normal((60, 4)), rng.standard_normal((60, 3))).significance()
                for _ in range(200)
            )
        ]
    )
    for column in p.T:
        assert stats.kstest(column, "uniform").pvalue > 1e-3


def test_significance_says_how_many_are_real():
    test = CCA(1).fit(X, Y).significance()
    assert len(test.chi2_p) == 4
    assert test.chi2_p[1] < 0.01 < 0.05 < test.chi2_p[2]
    assert repr(test) == "CanonicalTests(2 of 4 correlations with p < 0.05 by Rao's F)"
    title, head, *rows = str(test).splitlines()
    assert "correlation" in title and "Wilks" in head and [row.split()[1] for row in rows] == ["1", "2", "3", "4"]


def test_significance_that_cannot_be_had():
    with pytest.raises(ValueError, match="tests are for correlations without regularization"):
        CCA(regularization=0.1).fit(X, Y).significance()
    with pytest.warns(SmallSampleWarning):
        cca = CCA(1).fit(X[:4, :3], Y[:4, :3])
    with pytest.raises(
        ValueError, match=r"n_samples=4 is too few for tests of tables of ranks 3 and 3: at least 7 are"
    ):
        cca.significance()
