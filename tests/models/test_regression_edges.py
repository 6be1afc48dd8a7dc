"""PCR and PLSRegression at the edges: nothing to explain, too many components, few rows, offsets, units, weights."""

import tracemalloc

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import LeaveOneOut, ShuffleSplit, TimeSeriesSplit

from examples import OF_NUMBERS
from lowdim import CCA, PCA, PCR, PLSCanonical, PLSRegression, models
from lowdim.errors import RankWarning
from lowdim.inspect import contributions, cos2, q_limit
from lowdim.reading import summarize
from lowdim.summaries import Triangle
from models.regressions import DATA, MODELS, SOLVERS, each_model, each_solver

# ---- Edges


@each_model
@each_solver
def test_a_constant_response_is_predicted(kind, solver):
    X = DATA["tall"][0]
    if kind.startswith("PCR"):
        model = MODELS[kind](2, solver=solver).fit(X, np.full(60, 7.0))
    else:
        message = "only 0 of n_components=2 could be computed: up to rounding, nothing of y"
        with pytest.warns(RankWarning, match=message):
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
    with pytest.warns(RankWarning, match=r"only 3 of n_components=5 could be computed"):
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
        with pytest.warns(RankWarning, match="only 0 of n_components=1 could be computed"):
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
    pca = PCA(2, scale=True)
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


def graded(n, p, condition, seed=3):
    """Rows of n - 1 directions with singular values from 1 down to 1 / condition."""
    rng = np.random.default_rng(seed)
    m = min(n - 1, p)
    U = np.linalg.qr(rng.standard_normal((n, m)) - 0.0)[0]
    V = np.linalg.qr(rng.standard_normal((p, m)))[0]
    return (U * np.logspace(0, -np.log10(condition), m)) @ V.T * 3, rng.standard_normal(n)


@pytest.mark.parametrize("condition", [1e3, 1e5, 1e6, 1e8])
@pytest.mark.parametrize("kind", ["PCR", "kernel", "simpls"])
def test_wide_tables_with_small_directions(kind, condition):
    """All components interpolate; scores of the rows themselves are orthogonal, whatever way they were found."""
    X, y = graded(9, 40, condition)
    model = MODELS[kind](8, scale=False).fit(X, y)
    assert np.abs(model.predict(X) - y).max() < 1e-6
    T = model.transform(X)
    T = T / np.linalg.norm(T, axis=0)
    np.testing.assert_allclose(T.T @ T, np.eye(8), atol=1e-6)


@pytest.mark.parametrize("condition", [1e3, 1e6])
@pytest.mark.parametrize("q", [1, 3])
def test_simpls_with_many_components(q, condition):
    """Against SIMPLS of the rows with everything done twice over."""
    rng = np.random.default_rng(0)
    X, _ = graded(50, 12, condition)
    X, Y = X - X.mean(axis=0), X @ rng.standard_normal((12, q))
    Y = Y - Y.mean(axis=0)
    P, T = np.zeros((12, 0)), np.zeros((50, 0))
    R, Q = [], []
    for _ in range(10):
        basis = np.linalg.qr(P)[0]
        S = X.T @ (Y - T @ (T.T @ Y))
        S = S - basis @ (basis.T @ S)
        S = S - basis @ (basis.T @ S)
        r = np.linalg.svd(S, full_matrices=False)[0][:, 0]
        t = X @ r
        length = np.linalg.norm(t)
        R.append(r / length)
        Q.append(Y.T @ t / length)
        T, P = np.column_stack([T, t / length]), np.column_stack([P, X.T @ t])
    expected = np.array(R).T @ np.array(Q)
    # The rows lose digits too, with the condition.
    model = PLSRegression(10, scale=False, algorithm="simpls").fit(X, Y)
    np.testing.assert_allclose(model.coef_.T, expected, atol=1e-12 * condition * np.abs(expected).max())


def test_weights_count_as_rows_for_the_number_of_components():
    X, y = DATA["tall"][0][:5], DATA["tall"][1][:5]
    with pytest.warns(RankWarning, match="only 4 of n_components=6"):
        weighted = PLSRegression(6).fit(X, y, sample_weight=np.full(5, 4.0))
    with pytest.warns(RankWarning, match="only 4 of n_components=6"):
        repeated = PLSRegression(6).fit(np.repeat(X, 4, axis=0), np.repeat(y, 4, axis=0))
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, atol=1e-8)


HALVES = (slice(None, 40), slice(40, None))
EVERY_PARTIAL_FIT = [name for name in OF_NUMBERS if hasattr(getattr(models, name)(), "partial_fit")]


@pytest.mark.parametrize("name", EVERY_PARTIAL_FIT)
def test_partial_fit_goes_on_after_fit(name):
    """What fit saw is not forgotten: the model is that of all rows, or there is an error."""
    X, y = DATA["tall"]
    first, rest = ([([X[part], y[part]],) if name == "GCCA" else (X[part], y[part])] for part in HALVES)
    model = getattr(models, name)().fit(*first[0]).partial_fit(*rest[0])
    both = ([X, y],) if name == "GCCA" else (X, y)
    assert model.n_samples_ == len(X)
    np.testing.assert_allclose(model.transform(X), getattr(models, name)().fit(*both).transform(X), atol=1e-8)


@pytest.mark.parametrize("name", EVERY_PARTIAL_FIT)
def test_partial_fit_after_a_fit_without_a_summary_is_refused(name):
    random = np.random.default_rng(0)
    X, y = random.standard_normal((400, 256)), random.standard_normal((400, 2))
    X = np.hstack([X, X[:, :1] + y[:, :1]]) if name in ("PCA", "Whitening") else X
    model = getattr(models, name)(n_components=1).fit(*(([X, y],) if name == "GCCA" else (X, y)))
    with pytest.raises(ValueError, match="kept no summary of its rows"):
        model.partial_fit(*(([X, y],) if name == "GCCA" else (X, y)))


@pytest.mark.parametrize("make", [lambda: PLSRegression(2), lambda: PCA(2)], ids=["PLSRegression", "PCA"])
def test_partial_fit_goes_on_from_a_triangle(make):
    X, y = DATA["tall"]
    pca = isinstance(make(), PCA)
    rows = X if pca else np.hstack([X, y])
    seen = summarize(rows[:30], Triangle(rows.shape[1], widths=None if pca else (8, 4)))
    model = make().fit_summary(seen).partial_fit(X[30:], y[30:])
    np.testing.assert_allclose(model.transform(X), make().fit(X, y).transform(X), atol=1e-9)


def test_names_of_y_are_compared():
    pandas = pytest.importorskip("pandas")
    X, y = DATA["tall"]
    frame, target = pandas.DataFrame(X, columns=list("abcdefgh")), pandas.DataFrame(y, columns=list("stuv"))
    model = PLSRegression(2).partial_fit(frame[:30], target[:30])
    assert list(model.target_names_in_) == list("stuv")
    for method in (model.partial_fit, PLSRegression(2).fit(frame, target).jackknife):
        with pytest.raises(ValueError, match="y has columns 't', 's', 'u', 'v', expected 's', 't', 'u', 'v'"):
            method(frame, target[list("tsuv")])
    found = PLSRegression(2).fit(frame, target).jackknife(frame, target)
    assert found.table().rows[:2] == ["a", "b"] and found.table()["response"][-1] == "v"
    assert "the 20 smallest p of 32" in str(found)


@pytest.mark.parametrize("cv", [ShuffleSplit(5, random_state=0), TimeSeriesSplit(4)], ids=["overlap", "not all"])
def test_parts_of_the_jackknife_hold_every_row_once(cv):
    X, y = DATA["tall"]
    with pytest.raises(ValueError, match=r"parts that (do not overlap|cover all rows)"):
        PLSRegression(1).fit(X, y).jackknife(X, y, cv=cv)
    with pytest.raises(ValueError, match="50 rows have a positive weight, but the model was fitted on 60"):
        PLSRegression(1).fit(X, y).jackknife(X[:50], y[:50])
