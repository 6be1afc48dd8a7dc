"""Coefficients and intercepts at the ends of the range of numbers. Oracle: a model of tables in other units."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import r2_score

from lowdim import CCA, PCR, PLSCanonical, PLSRegression

RNG = np.random.default_rng(2)
#: The last two columns are so close that coefficients are about 1e9 times larger than the columns suggest.
X = RNG.standard_normal((40, 3))
X[:, 2] = X[:, 1] + 1e-9 * X[:, 2]
Y = RNG.standard_normal((40, 2))
MODELS = {
    "PCR": lambda: PCR(None, scale=True),
    "PLSRegression": lambda: PLSRegression(None),
    "PLSCanonical": lambda: PLSCanonical(None),
    "CCA": lambda: CCA(),
}
each_model = pytest.mark.parametrize("name", list(MODELS))


@each_model
def test_coefficients_that_cannot_be_represented_are_an_error_and_predictions_are_not(name):
    up, down = 2.0**500, 2.0**-500
    model, plain = MODELS[name]().fit(X * down, Y * up), MODELS[name]().fit(X, Y)
    large = name != "PLSCanonical"
    # In units of powers of two the numbers are the same, but for those that overflow.
    np.testing.assert_allclose(model.predict(X * down) / up, plain.predict(X), rtol=1e-6, atol=1e-6)
    if large:
        with pytest.raises(ValueError, match=r"coef_ has entries outside the range .* predict\(X\) works all the same"):
            _ = model.coef_
    if large and name != "CCA":
        with pytest.raises(ValueError, match=r"coef_path_ has entries outside the range"):
            _ = model.coef_path_
    np.testing.assert_allclose(model.intercept_ / up, plain.intercept_, rtol=1e-6, atol=1e-6)


@each_model
def test_coefficients_of_float32_rows_may_be_in_float64(name):
    x, y = (X[:, :2] * 2.0**-40).astype(np.float32), (Y * 2.0**100).astype(np.float32)
    model = MODELS[name]().fit(x, y)
    plain = MODELS[name]().fit(X[:, :2].astype(np.float32), Y.astype(np.float32))
    assert plain.coef_.dtype == np.float32
    assert model.coef_.dtype == np.float64
    np.testing.assert_allclose(model.coef_ / 2.0**140, plain.coef_, rtol=1e-4, atol=1e-5 * np.abs(plain.coef_).max())


@each_model
def test_the_intercept_of_float32_rows_may_be_in_float64(name):
    x, y = X[:, :1] + 2.0**12, X[:, :1] * 2.0**122
    model = MODELS[name]().fit(x.astype(np.float32), y.astype(np.float32))
    assert model.intercept_.dtype == np.float64
    np.testing.assert_allclose(model.intercept_, -(2.0**134), rtol=0.05)


@pytest.mark.parametrize("model", [PCR(2), PLSRegression(2), PLSCanonical(2), CCA(2, regularization=0.1)])
@pytest.mark.parametrize("form", [sparse.csr_array, sparse.csc_matrix])
def test_sparse_responses_are_scored_as_dense_ones(model, form):
    random = np.random.default_rng(0)
    X = random.standard_normal((30, 5))
    Y = np.maximum(X[:, :3] + 0.3 * random.standard_normal((30, 3)), 0.0)
    weights = random.random(30)
    model.fit(X, form(Y))
    assert model.score(X, form(Y)) == pytest.approx(r2_score(Y, model.predict(X)), rel=1e-12)
    expected = r2_score(Y, model.predict(X), sample_weight=weights)
    assert model.score(form(X), form(Y), sample_weight=weights) == pytest.approx(expected, rel=1e-12)
