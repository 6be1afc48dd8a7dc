"""Diagnostics: identities of contributions, cos2, T2 and Q."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError

import examples
from lowdim import PCA, PCR, PLSRegression
from lowdim.errors import RankWarning
from lowdim.inspect import contributions, correlations, cos2, diagnose, hotelling_t2, q_limit, q_residuals, t2_limit
from lowdim.solvers import REDUCTIONS
from oracles import tolerance

MODELS = {
    "plain": PCA(2),
    "whitened": PCA(2, whiten=True),
    "standardized": PCA(2, scale=True),
    "both": PCA(2, whiten=True, scale=True),
    "divisor n": PCA(2, ddof=0),
    "krylov": PCA(2, solver="krylov"),
}


@pytest.fixture
def X() -> np.ndarray:
    return load_iris().data


@pytest.fixture(params=MODELS)
def model(request, X):
    return MODELS[request.param].fit(X)


def centred(model, X):
    """Rows as the model sees them, by the definition."""
    Z = X - X.mean(axis=0)
    return Z / X.std(axis=0, ddof=model.ddof) if model.scale else Z


def test_contributions_add_up_to_one(model, X):
    np.testing.assert_allclose(contributions(model).values.sum(axis=0), 1.0, rtol=tolerance(X.dtype))
    np.testing.assert_allclose(contributions(model, X).values.sum(axis=0), 1.0, rtol=tolerance(X.dtype, 10))


def test_cos2_and_q_share_out_the_squared_distance(model, X):
    Z = centred(model, X)
    whole = (Z**2).sum(axis=1)
    Q = q_residuals(model, X)
    np.testing.assert_allclose((model.scores(X) ** 2).sum(axis=1) + Q, whole, rtol=tolerance(X.dtype, 100))
    np.testing.assert_allclose(cos2(model, X), model.scores(X) ** 2 / whole[:, None], rtol=tolerance(X.dtype, 100))


def test_cos2_of_the_mean_row_is_zero(model, X):
    assert not np.any(np.isnan(cos2(model, model.mean_[None, :])))


def test_t2_of_all_components_is_mahalanobis_distance(X):
    Z = X - X.mean(axis=0)
    expected = np.einsum("ij,ij->i", Z @ np.linalg.inv(np.cov(X.T)), Z)
    np.testing.assert_allclose(hotelling_t2(PCA().fit(X), X), expected, rtol=tolerance(X.dtype, 1e4))


def test_t2_of_the_fitted_rows_adds_up(model, X):
    assert hotelling_t2(model, X).sum() == pytest.approx(2 * (len(X) - model.ddof), rel=tolerance(X.dtype, 10))


@pytest.mark.filterwarnings("ignore::lowdim.errors.RankWarning")
@pytest.mark.parametrize("solver", ["auto", *REDUCTIONS])
@pytest.mark.parametrize("shape", [(8, 20), (3, 5), (8, 8), (20, 8)])
@pytest.mark.parametrize("kind", [PCR, PLSRegression])
def test_no_row_is_far_if_a_regression_keeps_all_directions(kind, shape, solver):
    """What the components leave is summed up, never the small difference of two large sums."""
    rng = np.random.default_rng(4)
    rows = rng.standard_normal(shape)
    model = kind(None, solver=solver).fit(rows, rows[:, 0] + rng.standard_normal(shape[0]))
    if model.n_components_ == min(shape[0] - 1, shape[1]):
        assert model.noise_variance_ == 0.0
    limit = q_limit(model)
    assert 0.0 < limit < 1e-10
    assert not np.any(q_residuals(model, rows) > max(limit, 1e-24))


@pytest.mark.parametrize("solver", ["auto", *REDUCTIONS])
@pytest.mark.parametrize("kind", [PCR, PLSRegression])
def test_the_variance_that_a_regression_leaves_is_that_of_its_residuals(kind, solver):
    rng = np.random.default_rng(5)
    rows = rng.standard_normal((30, 6))
    model = kind(2, solver=solver, scale=False).fit(rows, rows[:, 0] + rng.standard_normal(30))
    assert 4 * model.noise_variance_ == pytest.approx(q_residuals(model, rows).sum() / 29, rel=1e-10)


def test_correlations_of_supplementary_columns(model, X):
    rng = np.random.default_rng(0)
    Y = np.column_stack([X[:, 0] ** 2, rng.standard_normal(150) + 1e8, np.full(150, 3.0)])
    got = correlations(model, X, Y).values
    Z = model.scores(X)
    expected = np.array([[np.corrcoef(y, z)[0, 1] for z in Z.T] for y in Y.T[:2]])
    np.testing.assert_allclose(got[:2], expected, atol=1e-7)
    np.testing.assert_array_equal(got[2], 0.0)
    np.testing.assert_allclose(correlations(model, X, Y[:, 0]), got[:1])


def test_loadings_of_standardized_columns_are_their_correlations(X):
    model = PCA(scale=True).fit(X)
    np.testing.assert_allclose(correlations(model, X), model.loadings_, atol=tolerance(X.dtype, 100))


def test_supplementary_columns_need_a_row_each(model, X):
    with pytest.raises(ValueError, match="Y has 3 rows, X has 150"):
        correlations(model, X, np.ones((3, 1)))


def test_outliers_are_named_and_counted(X):
    rows = np.vstack([X, [[50.0, 50.0, 50.0, 50.0]]])
    result = diagnose(PCA(2).fit(X), rows, new_rows=True)
    assert 150 in result.outliers
    assert "151 rows, limits at alpha = 0.05" in str(result)


def test_components_without_variance_are_left_out(X):
    doubled = PCA().fit(np.column_stack([X, X]))
    rows = np.column_stack([X, X])
    with pytest.warns(RankWarning, match="4 of 8 components have no variance and were left out"):
        np.testing.assert_allclose(hotelling_t2(doubled, rows), hotelling_t2(PCA().fit(X), X), rtol=1e-9)
    with pytest.warns(RankWarning, match="4 of 8"):
        np.testing.assert_allclose(
            contributions(doubled, rows).values.sum(axis=0), [1, 1, 1, 1, 0, 0, 0, 0], atol=1e-12
        )
    with pytest.warns(RankWarning, match="4 of 8"):
        assert t2_limit(doubled) == pytest.approx(t2_limit(PCA().fit(X)))


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_they_are_arrays_whatever_set_output_says(X, library):
    model = PCA(2).set_output(transform=library).fit(X)
    plain = diagnose(PCA(2).fit(X), X)
    np.testing.assert_array_equal(diagnose(model, X).scores, plain.scores)


FUNCTIONS = {
    "contributions": contributions,
    "correlations": correlations,
    "cos2": cos2,
    "diagnose": diagnose,
    "hotelling_t2": hotelling_t2,
    "q_limit": lambda model, rows: q_limit(model),
    "q_residuals": q_residuals,
    "t2_limit": lambda model, rows: t2_limit(model),
}
#: The models whose scores and whose distances to a subspace are known.
ABLE = ("PCA", "PCR", "PLSRegression", "PLSCanonical")
#: The models that have T2 and Q of the observed entries of rows.
LATENT = ("PPCA", "FactorAnalysis")


@pytest.mark.filterwarnings("ignore::lowdim.errors.HeywoodWarning")
@pytest.mark.parametrize("name", list(examples.MODELS))
@pytest.mark.parametrize("function", list(FUNCTIONS))
def test_every_function_says_which_models_it_takes(function, name):
    look = FUNCTIONS[function]
    distances = function not in ("contributions", "correlations", "cos2")
    if name not in ABLE and not (distances and name in LATENT):
        models = "PLSRegression, PLSCanonical, PPCA or FactorAnalysis" if distances else "PLSRegression or PLSCanonical"
        message = f"{function} needs a fitted PCA, PCR, {models} as its first argument, got {name}"
        with pytest.raises(TypeError, match=message):
            look(examples.make(name), examples.X)
        return
    with pytest.raises(NotFittedError, match=name):
        look(examples.make(name), examples.X)
    if name.startswith("PLS") and function in ("contributions", "cos2"):
        with pytest.raises(TypeError, match=f"{function} needs orthonormal components.*{name} has none"):
            look(examples.fitted(name), examples.X)
    else:
        look(examples.fitted(name), examples.X)


def test_a_stream_that_can_be_read_once(model, X):
    """What reads the rows several times gathers them."""

    def stream():
        return (X[i : i + 40] for i in range(0, len(X), 40))

    found, expected = diagnose(model, stream()), diagnose(model, X)
    for name in ("scores", "cos2", "t2", "q"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
    for function in (contributions, cos2, correlations, hotelling_t2, q_residuals):
        np.testing.assert_allclose(function(model, stream()), function(model, X), rtol=1e-12)
    assert q_limit(model, X=stream()) == pytest.approx(q_limit(model, X=X))
