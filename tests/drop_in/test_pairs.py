"""The classes of lowdim.sklearn for two tables: the numbers of scikit-learn's, once it has converged."""

import numpy as np
import pytest
from sklearn import cross_decomposition
from sklearn.datasets import load_linnerud

import lowdim.sklearn
from lowdim.errors import RankWarning

random = np.random.default_rng(0)
WIDE = random.standard_normal((80, 6))
DATA = {
    "linnerud": load_linnerud(return_X_y=True),
    "drawn": (WIDE, WIDE[:, :3] @ random.standard_normal((3, 4)) + random.standard_normal((80, 4))),
}
ATTRIBUTES = ("x_weights_", "y_weights_", "x_loadings_", "y_loadings_", "x_rotations_", "y_rotations_")


@pytest.mark.parametrize("scale", [True, False])
@pytest.mark.parametrize("data", DATA)
@pytest.mark.parametrize("name", ["PLSRegression", "PLSCanonical", "CCA"])
def test_attributes(name, data, scale):
    X, y = DATA[data]
    ours = getattr(lowdim.sklearn, name)(2, scale=scale).fit(X, y)
    theirs = getattr(cross_decomposition, name)(2, scale=scale, tol=1e-15, max_iter=200_000).fit(X, y)
    # Signs are compared too.
    for attribute in ATTRIBUTES:
        expected = getattr(theirs, attribute)
        size = np.abs(expected).max()
        np.testing.assert_allclose(getattr(ours, attribute), expected, atol=1e-5 * size, err_msg=attribute)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_)
    np.testing.assert_allclose(ours._x_scores, theirs._x_scores, atol=1e-4)
    np.testing.assert_allclose(ours._y_scores, theirs._y_scores, atol=1e-4)
    np.testing.assert_allclose(ours.fit_transform(X, y)[0], ours._x_scores, atol=1e-10)
    assert ours.n_iter_ == [1, 1]


@pytest.mark.parametrize("data", DATA)
def test_predictions_of_a_regression(data):
    X, y = DATA[data]
    ours = lowdim.sklearn.PLSRegression(2).fit(X, y)
    theirs = cross_decomposition.PLSRegression(2, tol=1e-15, max_iter=200_000).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-6)
    np.testing.assert_allclose(ours.predict(X, copy=False), theirs.predict(X), rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(ours.x_scores_, theirs.x_scores_, atol=1e-6)
    np.testing.assert_allclose(ours.y_scores_, theirs.y_scores_, atol=1e-6)


@pytest.mark.parametrize("data", DATA)
def test_singular_vectors(data):
    X, y = DATA[data]
    ours, theirs = lowdim.sklearn.PLSSVD(2).fit(X, y), cross_decomposition.PLSSVD(2).fit(X, y)
    np.testing.assert_allclose(np.abs(ours.x_weights_), np.abs(theirs.x_weights_), atol=1e-10)
    np.testing.assert_allclose(np.abs(ours.y_weights_), np.abs(theirs.y_weights_), atol=1e-10)


@pytest.mark.parametrize("name", ["PLSRegression", "PLSCanonical", "CCA", "PLSSVD"])
def test_components_that_are_zero(name):
    """y depends on one direction of X only, so that one component explains all."""
    X = DATA["drawn"][0]
    direction = np.r_[1.0, np.zeros(5)]
    rows = X - X.mean(axis=0)
    rows[:, 1:] -= np.outer(rows[:, 0], rows[:, 0] @ rows[:, 1:] / (rows[:, 0] @ rows[:, 0]))
    y = np.outer(rows @ direction, [1.0, 2.0, 3.0])
    with pytest.warns(RankWarning, match="y residual is constant at iteration 1"):
        model = getattr(lowdim.sklearn, name)(3).fit(rows, y)
    assert model.n_components_ == 3 and len(model.get_feature_names_out()) == 3
    assert model.x_weights_.shape == (6, 3) and model.y_weights_.shape == (3, 3)
    np.testing.assert_array_equal(model.transform(rows)[:, 1:], 0.0)
    if name != "PLSSVD":
        np.testing.assert_allclose(model.predict(rows), y, atol=1e-10)


def test_scores_are_those_of_the_last_fit():
    X, y = DATA["drawn"]
    model = lowdim.sklearn.PLSRegression(2).fit(X, y)
    assert model.x_scores_.shape == (80, 2)
    assert not hasattr(model.partial_fit(X, y), "x_scores_")
    assert model.fit(X[:50], y[:50]).y_scores_.shape == (50, 2)


@pytest.mark.parametrize("name", ["PLSRegression", "PLSCanonical", "CCA", "PLSSVD"])
def test_rows_are_not_overwritten(name):
    X, y = (table.copy() for table in DATA["drawn"])
    model = getattr(lowdim.sklearn, name)(2, copy=False).fit(X, y)
    model.transform(X, y)
    np.testing.assert_array_equal(X, DATA["drawn"][0])
    np.testing.assert_array_equal(y, DATA["drawn"][1])
