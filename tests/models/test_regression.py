"""PCR and PLSRegression: identities, against rows deflated by hand, least squares, and what is read off the fit."""

import numpy as np
import pytest
from sklearn.cross_decomposition import PLSRegression as TheirPLS
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import KFold, LeaveOneOut
from sklearn.pipeline import make_pipeline

from lowdim import PCA, PCR, PLSRegression
from lowdim.inspect import diagnose, hotelling_t2, q_limit, q_residuals, t2_limit
from lowdim.solvers import REDUCTIONS
from models.regressions import DATA, MODELS, each_data, each_model, each_solver
from oracles_tables import deflated, standard, up_to_signs

each_scale = pytest.mark.parametrize("scale", [True, False, (True, False), (False, True)], ids=str)


def scaled(X, y, scale):
    flags = scale if isinstance(scale, tuple) else (scale, scale)
    return standard(X, flags[0]), standard(y, flags[1])


# ---- Against slow arithmetic


@each_solver
@each_scale
@each_data
def test_pls_is_what_deflating_the_rows_gives(name, scale, solver):
    X, y = DATA[name]
    pls = PLSRegression(4, scale=scale, solver=solver).fit(X, y)
    Z, T = scaled(X, y, scale)
    slow = deflated(Z, T, 4, "regression")
    np.testing.assert_allclose(up_to_signs(pls.x_weights_, slow.weights), slow.weights, atol=1e-10)
    np.testing.assert_allclose(up_to_signs(pls.x_loadings_, slow.loadings), slow.loadings, atol=1e-9)
    np.testing.assert_allclose(up_to_signs(pls.y_loadings_, slow.y_loadings), slow.y_loadings, atol=1e-9)
    np.testing.assert_allclose(up_to_signs(pls.transform(X), slow.scores), slow.scores, atol=1e-9)
    for k, B in enumerate(slow.coefficients):
        raw = pls.coef_path_[k].T * pls.x_scale_[:, None] / pls.y_scale_
        np.testing.assert_allclose(raw, B, atol=1e-9)


@each_scale
@each_data
def test_pcr_is_pca_and_least_squares(name, scale):
    X, y = DATA[name]
    Z, T = scaled(X, y, scale)
    slow = make_pipeline(PCA(3), LinearRegression()).fit(Z, T)
    pcr = PCR(3, scale=scale).fit(X, y)
    predicted = (pcr.predict(X) - pcr.y_mean_) / pcr.y_scale_
    np.testing.assert_allclose(predicted, slow.predict(Z), atol=1e-11)
    np.testing.assert_allclose(pcr.x_weights_, slow[0].components_.T, atol=1e-11)


def test_relevant_components_are_those_that_explain_most():
    X, y = DATA["tall"]
    full = PCR(None).fit(X, y)
    a2 = (full.y_loadings_**2).sum(axis=0) * full.explained_variance_
    order = np.argsort(-a2)
    chosen = PCR(3, select="relevance").fit(X, y)
    np.testing.assert_allclose(chosen.x_weights_, full.x_weights_[:, order[:3]], atol=1e-12)
    assert chosen.y_explained_variance_ratio_.sum() >= PCR(3).fit(X, y).y_explained_variance_ratio_.sum()


@each_data
def test_scikit_learn_agrees(name):
    X, y = DATA[name]
    ours, theirs = PLSRegression(3).fit(X, y), TheirPLS(3, tol=1e-15, max_iter=100_000).fit(X, y)
    # Its power iteration stops where steps are small, not where it has arrived.
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-6)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), atol=1e-6)
    for mine, other in zip(ours.transform(X, y), theirs.transform(X, y), strict=True):
        np.testing.assert_allclose(up_to_signs(mine, other), other, atol=1e-5)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_ - theirs._x_mean @ theirs.coef_.T, atol=1e-5)


# ---- Identities


@each_solver
@each_model
@each_data
def test_scores_are_orthogonal_and_made_by_the_rotations(name, kind, solver):
    X, y = DATA[name]
    model = MODELS[kind](4, scale=True, solver=solver).fit(X, y)
    T = model.transform(X)
    np.testing.assert_allclose(T.T @ T, np.diag((T * T).sum(axis=0)), atol=1e-9 * (T * T).sum())
    np.testing.assert_allclose(T, standard(X, True) @ model.x_rotations_, atol=1e-10)
    np.testing.assert_allclose(model.explained_variance_, T.var(axis=0, ddof=1), rtol=1e-9)


@each_data
def test_deflated_rows_have_nothing_left_along_their_weight(name):
    """D_{j+1} v_j = 0."""
    X, y = DATA[name]
    pls = PLSRegression(4).fit(X, y)
    D = standard(X, True)
    for j in range(4):
        t = D @ pls.x_weights_[:, j]
        D = D - np.outer(t, D.T @ t / (t @ t))
        np.testing.assert_allclose(D @ pls.x_weights_[:, : j + 1], 0.0, atol=1e-11)


@each_model
@each_solver
def test_all_components_are_least_squares(kind, solver):
    for name in ("tall", "tall, one response"):
        X, y = DATA[name]
        model = MODELS[kind](None, scale=True, solver=solver).fit(X, y)
        slow = LinearRegression().fit(X, y)
        np.testing.assert_allclose(model.coef_, slow.coef_, rtol=1e-7, atol=1e-8)
        np.testing.assert_allclose(model.intercept_, slow.intercept_, rtol=1e-7)
        np.testing.assert_allclose(X @ model.coef_.T + model.intercept_, model.predict(X), rtol=1e-10)


@each_data
def test_what_components_leave_of_the_response(name):
    """|y - y^|^2 = y'y - sum_k (t_k'y)^2 / (t_k't_k) for centred y, the lecture's formula."""
    X, y = DATA[name]
    pcr = PCR(4).fit(X, y)
    T, Y = pcr.transform(X), y - y.mean(axis=0)
    for k in range(5):
        left = ((y - pcr.predict(X, n_components=k)) ** 2).sum(axis=0)
        formula = (Y * Y).sum(axis=0) - ((T[:, :k].T @ Y) ** 2 / (T * T).sum(axis=0)[:k, None]).sum(axis=0)
        np.testing.assert_allclose(left, formula, atol=1e-9 * (Y * Y).sum())


@each_model
@each_data
def test_fewer_components_are_the_first_of_more(name, kind):
    X, y = DATA[name]
    model = MODELS[kind](5).fit(X, y)
    for k in (1, 3):
        fewer = MODELS[kind](k).fit(X, y)
        np.testing.assert_allclose(model.coef_path_[k - 1], fewer.coef_, atol=1e-11)
        np.testing.assert_allclose(model.predict(X, n_components=k), fewer.predict(X), atol=1e-9)
    np.testing.assert_allclose(model.predict(X, n_components=0), np.broadcast_to(y.mean(axis=0), y.shape))
    np.testing.assert_array_equal(model.coef_path_[-1], model.coef_path_[4])
    np.testing.assert_allclose(model.coef_path_[-1], model.coef_, atol=1e-14)


def test_one_response_is_the_same_by_either_algorithm():
    X, y = DATA["tall, one response"]
    np.testing.assert_allclose(
        PLSRegression(5).fit(X, y).coef_path_, PLSRegression(5, algorithm="simpls").fit(X, y).coef_path_, atol=1e-10
    )


def test_many_responses_are_not():
    X, y = DATA["tall"]
    kernel, simpls = PLSRegression(3).fit(X, y), PLSRegression(3, algorithm="simpls").fit(X, y)
    np.testing.assert_allclose(kernel.coef_path_[0], simpls.coef_path_[0], atol=1e-12)
    assert np.abs(kernel.coef_ - simpls.coef_).max() > 1e-4


@each_model
@each_data
def test_a_vector_is_one_response(name, kind):
    X, y = DATA[name]
    column, vector = MODELS[kind](2).fit(X, y[:, :1]), MODELS[kind](2).fit(X, y[:, 0])
    np.testing.assert_array_equal(column.coef_, vector.coef_)
    assert column.predict(X).shape == (len(X), 1)
    assert vector.predict(X).shape == (len(X),)
    assert vector.predict(X, n_components=1).shape == (len(X),)


@each_model
def test_back_from_scores(kind):
    X, y = DATA["tall"]
    model = MODELS[kind](None).fit(X, y)
    np.testing.assert_allclose(model.inverse_transform(model.transform(X)), X, atol=1e-9)


# ---- What is read off a fit


def test_importance_of_columns():
    X, y = DATA["tall"]
    pls = PLSRegression(3).fit(X, y)
    T, Y = pls.transform(X), standard(y, True)
    explained = np.array([np.sum((T[:, k] @ Y) ** 2) / (T[:, k] @ T[:, k]) for k in range(3)])
    expected = np.sqrt(8 * (pls.x_weights_**2 @ explained) / explained.sum())
    np.testing.assert_allclose(pls.vip_, expected, rtol=1e-10)
    np.testing.assert_allclose((pls.vip_**2).mean(), 1.0)


@each_model
@each_data
def test_shares_of_variance(name, kind):
    X, y = DATA[name]
    model = MODELS[kind](3, scale=False).fit(X, y)
    Z, Y = standard(X, False), standard(y, False)
    rebuilt = model.inverse_transform(model.transform(X)) - X.mean(axis=0)
    left = ((Z - rebuilt) ** 2).sum() / (Z * Z).sum()
    np.testing.assert_allclose(1 - model.explained_variance_ratio_.sum(), left, atol=1e-10)
    predicted = ((y - model.predict(X)) ** 2).sum() / (Y * Y).sum()
    np.testing.assert_allclose(1 - model.y_explained_variance_ratio_.sum(), predicted, atol=1e-10)


@pytest.mark.parametrize("kind", ["PCR", "kernel"])
def test_t2_and_q(kind):
    X, y = DATA["tall"]
    model = MODELS[kind](3, scale=True).fit(X, y)
    T = model.transform(X)
    np.testing.assert_allclose(hotelling_t2(model, X), (T**2 / T.var(axis=0, ddof=1)).sum(axis=1), rtol=1e-9)
    rest = standard(X, True) - T @ model.x_loadings_.T
    np.testing.assert_allclose(q_residuals(model, X), (rest**2).sum(axis=1), rtol=1e-8)
    np.testing.assert_allclose(model.reconstruction_error(X), ((rest * model.x_scale_) ** 2).sum(axis=1), rtol=1e-8)
    found = diagnose(model, X)
    assert found.t2_limit == t2_limit(model, new_rows=False)
    assert found.q_limit == q_limit(model)
    assert (found.cos2 is None) == (kind != "PCR")
    assert "T2" in str(found)
    np.testing.assert_array_equal(found.outliers, np.union1d(found.t2_outliers, found.q_outliers))
    left = np.linalg.eigvalsh(rest.T @ rest / 59)
    np.testing.assert_allclose(model.tail_.total / 59, left.sum(), rtol=1e-9)
    np.testing.assert_allclose(model.tail_.squares, (left**2).sum() / left.sum() ** 2, rtol=1e-8)
    assert diagnose(model, X[:1] + 50.0, new_rows=True).outliers.tolist() == [0]


@pytest.mark.parametrize("solver", ["auto", *REDUCTIONS])
@pytest.mark.parametrize("model", [PCR(4), PLSRegression(4), PCA(4)], ids=str)
def test_q_limits_of_few_rows_of_many_columns(model, solver):
    """A twentieth of the rows of the fit are beyond, and rows with a little more noise all are."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 4)) @ rng.standard_normal((4, 400)) * 3 + rng.standard_normal((60, 400))
    model.set_params(solver=solver).fit(X, X[:, 0])
    if isinstance(model, PLSRegression):  # whose components leave much of the four out
        model.set_params(n_components=10).fit(X, X[:, :8])
    Q, limit = q_residuals(model, X), q_limit(model)
    assert 0 < np.mean(limit < Q) < 0.12
    assert np.all(q_residuals(model, X + rng.standard_normal((60, 400))) > limit)


def test_jackknife_is_refitting_without_each_part():
    X, y = DATA["tall"]
    model = PLSRegression(2).fit(X, y)
    splits = list(KFold(6, shuffle=True, random_state=0).split(X))
    found = model.jackknife(X, y, cv=splits)
    refitted = np.array([PLSRegression(2).fit(X[train], y[train]).coef_ for train, _ in splits])
    np.testing.assert_allclose(found.replicates, refitted, atol=1e-11)
    np.testing.assert_allclose(found.standard_error, np.sqrt(5 / 6 * ((refitted - refitted.mean(axis=0)) ** 2).sum(0)))
    assert found.p.shape == model.coef_.shape and np.all((found.p >= 0) & (found.p <= 1))
    assert "6 parts" in str(found)


def test_jackknife_of_least_squares_is_near_the_textbook():
    """With all components and one part a row, the jackknife estimates the usual standard errors."""
    rng = np.random.default_rng(5)
    X = rng.standard_normal((400, 3))
    y = X @ [1.0, -2.0, 0.0] + rng.standard_normal(400)
    found = PCR(None).fit(X, y).jackknife(X, y, cv=LeaveOneOut())
    Z = X - X.mean(axis=0)
    textbook = np.sqrt(np.diag(np.linalg.inv(Z.T @ Z)))
    np.testing.assert_allclose(found.standard_error[0], textbook, rtol=0.15)
    assert found.p[0, 2] > 0.01 > found.p[0, 0]
