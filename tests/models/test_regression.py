"""PCR and PLSRegression: identities, against rows deflated by hand, least squares, and what is read off the fit."""

import tracemalloc

import numpy as np
import pytest
from sklearn.cross_decomposition import PLSRegression as TheirPLS
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import KFold, LeaveOneOut
from sklearn.pipeline import make_pipeline

from lowdim import CCA, PCA, PCR, PLSCanonical, PLSRegression
from lowdim.errors import RankWarning
from lowdim.inspect import contributions, cos2, diagnose, hotelling_t2, q_limit, q_residuals, t2_limit
from oracles_tables import deflated, standard, up_to_signs

RNG = np.random.default_rng(0)
TALL = RNG.standard_normal((60, 8)) @ RNG.standard_normal((8, 8)) + 3.0
WIDE = RNG.standard_normal((15, 40)) @ np.diag(np.linspace(3, 0.5, 40)) - 1.0
DATA = {
    "tall": (TALL, TALL[:, :3] @ RNG.standard_normal((3, 4)) + RNG.standard_normal((60, 4))),
    "tall, one response": (TALL, TALL[:, :2] @ RNG.standard_normal((2, 1)) + RNG.standard_normal((60, 1))),
    "wide": (WIDE, WIDE[:, :3] @ RNG.standard_normal((3, 2)) + RNG.standard_normal((15, 2))),
}
SOLVERS = ["auto", "covariance", "triangle", "gram"]
MODELS = {
    "PCR": PCR,
    "PCR relevance": lambda k, **o: PCR(k, select="relevance", **o),
    "kernel": PLSRegression,
    "simpls": lambda k, **o: PLSRegression(k, algorithm="simpls", **o),
}
each_data = pytest.mark.parametrize("name", list(DATA))
each_model = pytest.mark.parametrize("kind", list(MODELS))
each_solver = pytest.mark.parametrize("solver", SOLVERS)
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
    # PCR knows all eigenvalues that it leaves out, PLS has to look at the rows.
    assert found.q_limit == (q_limit(model) if kind == "PCR" else q_limit(model, X=X))
    assert (found.cos2 is None) == (kind != "PCR")
    assert "T2" in str(found)


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


# ---- Edges


@each_model
@each_solver
def test_a_constant_response_is_predicted(kind, solver):
    X = DATA["tall"][0]
    if kind.startswith("PCR"):
        model = MODELS[kind](2, solver=solver).fit(X, np.full(60, 7.0))
    else:
        with pytest.warns(RankWarning, match="only 0 of n_components=2 could be taken: nothing of y"):
            model = MODELS[kind](2, solver=solver).fit(X, np.full(60, 7.0))
        assert model.transform(X).shape == (60, 0)
    np.testing.assert_array_equal(model.predict(X), 7.0)
    np.testing.assert_array_equal(model.coef_, 0.0)
    np.testing.assert_array_equal(model.vip_, 0.0)


@each_solver
def test_a_constant_column_and_a_constant_response_beside_others(solver):
    X, y = DATA["tall"]
    with_constant = np.column_stack([X, np.full(60, 1e6)])
    model = PLSRegression(3, solver=solver).fit(with_constant, np.column_stack([y, np.full(60, -3.0)]))
    np.testing.assert_array_equal(model.coef_[:, -1], 0.0)
    np.testing.assert_array_equal(model.coef_[-1], 0.0)
    np.testing.assert_allclose(model.coef_[:-1, :-1], PLSRegression(3).fit(X, y).coef_, atol=1e-9)


@each_model
@each_solver
def test_a_response_that_is_a_column(kind, solver):
    X = DATA["tall"][0]
    model = MODELS[kind](None, solver=solver).fit(X, X[:, 2])
    np.testing.assert_allclose(model.predict(X), X[:, 2], rtol=1e-9)
    np.testing.assert_allclose(model.coef_[0], np.eye(8)[2], atol=1e-7)


@each_model
@each_solver
def test_more_components_than_rank(kind, solver):
    X, y = DATA["tall"]
    X = np.column_stack([X[:, :3], X[:, 0] + X[:, 1], X[:, 2]])
    with pytest.warns(RankWarning, match=r"only 3 of n_components=5 could be taken"):
        model = MODELS[kind](5, solver=solver).fit(X, y)
    assert model.n_components_ == 3
    np.testing.assert_allclose(model.predict(X), LinearRegression().fit(X, y).predict(X), atol=1e-7)


@each_model
def test_three_rows(kind):
    X, y = np.array([[1.0, 2, 5], [2, 1, 0], [4, 4, 1]]), np.array([1.0, 3, 0])
    model = MODELS[kind](2).fit(X, y)
    np.testing.assert_allclose(model.predict(X), y, atol=1e-10)


@each_model
@each_solver
@pytest.mark.parametrize("offset", [0.0, 1e8])
def test_offsets_do_no_harm(kind, solver, offset):
    rng = np.random.default_rng(3)
    X, y = np.round(100 * rng.standard_normal((40, 5))), np.round(100 * rng.standard_normal((40, 2)))
    near, far = (MODELS[kind](3, solver=solver).fit(A, b) for A, b in ((X, y), (X + offset, y - offset)))
    np.testing.assert_allclose(far.coef_path_, near.coef_path_, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(far.predict(X + offset) + offset, near.predict(X), atol=1e-5)


@each_model
@each_solver
@pytest.mark.parametrize("power", [-500, 500])
def test_units_do_no_harm(kind, solver, power):
    """Multiplying by powers of two changes nothing but the units of the answer."""
    X, y = DATA["tall"]
    plain = MODELS[kind](3, scale=False, solver=solver).fit(X, y)
    moved = MODELS[kind](3, scale=False, solver=solver).fit(np.ldexp(X, power), np.ldexp(y, -power // 2))
    np.testing.assert_allclose(moved.x_weights_, plain.x_weights_, atol=1e-11)
    np.testing.assert_allclose(np.ldexp(np.ldexp(moved.coef_, power), power // 2), plain.coef_, rtol=1e-9, atol=1e-12)


def test_the_number_of_components_to_predict_with_must_have_been_fitted():
    X, y = DATA["tall"]
    model = PLSRegression(2).fit(X, y)
    for k in (3, -1, 1.5, True):
        with pytest.raises(ValueError, match=r"n_components=.* must be a whole number between 0 and 2"):
            model.predict(X, n_components=k)


def test_small_components_are_solved_again_without_squares():
    """The response depends on a direction whose variance is 1e-14 of the largest."""
    rng = np.random.default_rng(2)
    Q = np.linalg.qr(rng.standard_normal((5, 5)))[0]
    T = rng.standard_normal((80, 5))
    X = (T * [1.0, 0.5, 0.2, 0.1, 1e-7]) @ Q
    y = T[:, 4]
    for model in (PCR(5), PLSRegression(5, scale=False)):
        model.fit(X, y)
        assert model.solver_ == "triangle" and model.n_passes_ == 2
        np.testing.assert_allclose(model.predict(X), y, atol=1e-6)


# ---- Found by trying to break it


@pytest.mark.parametrize("kind", ["kernel", "simpls"])
@pytest.mark.parametrize("solver", SOLVERS)
def test_constant_tables_of_few_rows(kind, solver):
    rng = np.random.default_rng(0)
    wide = rng.standard_normal((12, 40))
    for X, y, weights in (
        (wide, np.zeros(12), None),
        (np.ones((12, 40)), wide[:, 0], None),
        (wide, wide[:, 0], 5 * np.eye(12)[0]),
    ):
        with pytest.warns(RankWarning, match="only 0 of n_components=1 could be taken"):
            model = MODELS[kind](1, solver=solver).fit(X, y, sample_weight=weights)
        np.testing.assert_allclose(model.predict(X), y[0] if weights is not None else y.mean(), atol=1e-12)


def test_columns_that_vary_by_their_rounding_are_constant():
    X, y = DATA["tall"]
    nearly = np.where(np.arange(60) % 2, 0.3, 0.1 + 0.2)
    for solver in SOLVERS:
        for kind in MODELS.values():
            model = kind(2, scale=True, solver=solver).fit(np.column_stack([X, nearly]), y)
            assert np.abs(model.coef_[:, -1]).max() < 1e-10
            np.testing.assert_allclose(model.coef_[:, :-1], kind(2, scale=True).fit(X, y).coef_, atol=1e-9)
    pca = PCA(2, standardize=True)
    np.testing.assert_allclose(
        pca.fit(np.column_stack([X, nearly])).explained_variance_, pca.fit(X).explained_variance_, rtol=1e-9
    )


def test_the_relevant_component_may_be_the_smallest():
    rng = np.random.default_rng(0)
    X, hidden = rng.standard_normal((50, 4)), rng.standard_normal(50)
    X[:, 3] = X[:, 2] + 1e-9 * hidden
    pcr = PCR(1, select="relevance").fit(X, (X[:, 3] - X[:, 2]) / 1e-9)
    assert pcr.solver_ == "triangle" and pcr.score(X, (X[:, 3] - X[:, 2]) / 1e-9) > 0.85


def test_a_constant_column_has_no_significance():
    X, y = DATA["tall"]
    found = PLSRegression(2).fit(np.column_stack([X, np.ones(60)]), y).jackknife(np.column_stack([X, np.ones(60)]), y)
    np.testing.assert_array_equal(found.t[:, -1], 0.0)
    np.testing.assert_array_equal(found.p[:, -1], 1.0)


def test_jackknife_counts_parts_with_rows():
    X, y = DATA["tall"]
    w = np.zeros(60)
    w[:8] = 1.0
    model = PLSRegression(1).fit(X, y, sample_weight=w)
    found = model.jackknife(X, y, cv=LeaveOneOut(), sample_weight=w)
    assert found.dof == 7
    few = PLSRegression(1).fit(X[:8], y[:8]).jackknife(X[:8], y[:8], cv=LeaveOneOut())
    np.testing.assert_allclose(found.standard_error, few.standard_error, rtol=1e-9)
    with pytest.raises(ValueError, match="the model was fitted on 8 and 4: pass the rows of the fit"):
        model.jackknife(X, y[:, 0])
    with pytest.raises(ValueError, match="sample_weight must have one entry per row"):
        model.jackknife(X, y, sample_weight=w[:5])


@pytest.mark.parametrize("solver", SOLVERS)
def test_rows_of_weight_zero_are_not_looked_at(solver):
    rng = np.random.default_rng(0)
    X, y, w = rng.standard_normal((12, 30)), rng.standard_normal((12, 2)), np.r_[0.0, np.ones(11)]
    spoilt = [A.copy() for A in (X, y)]
    for A in spoilt:
        A[0] = np.nan
    for model in (PLSRegression(2, solver=solver), PCA(2, solver=solver)):
        clean = model.fit(X[1:], y[1:]).transform(X)
        np.testing.assert_allclose(model.fit(*spoilt, sample_weight=w).transform(X), clean, atol=1e-9)
    spoilt[0][3, 4] = np.nan
    with pytest.raises(ValueError, match="Input X contains NaN: column 4, first in row 3"):
        PLSRegression(2, solver=solver).fit(*spoilt, sample_weight=w)


def test_measures_that_need_orthonormal_components():
    X, y = DATA["tall"]
    pcr = PCR(3).fit(X, y)
    np.testing.assert_allclose(contributions(pcr, X), contributions(PCA(3).fit(X), X), atol=1e-10)
    np.testing.assert_allclose(cos2(pcr, X), cos2(PCA(3).fit(X), X), atol=1e-10)
    np.testing.assert_allclose(q_limit(pcr), q_limit(PCA(3).fit(X)), rtol=1e-9)
    for measure in (contributions, cos2):
        with pytest.raises(
            TypeError, match="needs orthonormal components, as PCA and PCR have; PLSRegression has none"
        ):
            measure(PLSRegression(2).fit(X, y), X)


def test_wide_tables_are_predicted_through_their_scores():
    """No matrix of all coefficients is made unless it is asked for."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((10, 40_000))
    y = X[:, :30_000] + rng.standard_normal((10, 30_000))
    tracemalloc.start()
    for model in (CCA(2, regularization=0.5), PLSCanonical(2), PLSRegression(2)):
        model.fit(X, y).predict(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 10 * (X.nbytes + y.nbytes)
