"""Responses predicted by PLS and PCR, against scikit-learn's fits of the same folds."""

import numpy as np
import pytest
from sklearn.cross_decomposition import PLSRegression as SklearnPLS
from sklearn.datasets import load_diabetes
from sklearn.model_selection import KFold

from lowdim.reporting.two_tables import MOST_ENTRIES, Pair, Regression
from lowdim.sources import open_source

DIABETES = load_diabetes()


def pair_of(X, Y, **more):
    Y = np.asarray(Y, dtype=float)
    second = open_source(Y.reshape(len(Y), -1))
    return Pair(open_source(X), second, n=len(X), stem="y", **more)


@pytest.fixture(scope="module")
def diabetes():
    return Regression(pair_of(DIABETES.data, DIABETES.target), True, 0)


def test_rows_with_missing_responses_are_left_out():
    X, Y = np.arange(40.0).reshape(20, 2), np.random.default_rng(0).standard_normal((20, 3))
    Y[3, 1] = Y[7, 0] = np.nan
    Y[:, 2] = 5.0
    pair = pair_of(X, Y, weights=np.arange(20.0))
    # The first row has weight zero.
    kept = np.setdiff1d(np.arange(20), [0, 3, 7])
    assert np.array_equal(pair.numbers, kept) and np.array_equal(pair.X, X[kept]) and pair.n_missing == 2
    assert pair.y_names == ["y1", "y2"] and pair.constant == ["y3"] and np.array_equal(pair.weights, kept)
    assert not pair_of(X[:9], Y[:9]).is_enough and not pair_of(X, Y[:, 2]).is_enough and pair.is_enough


def test_large_tables_are_sampled(monkeypatch):
    monkeypatch.setattr("lowdim.reporting.two_tables.MOST_ENTRIES", 90)
    X = np.random.default_rng(0).standard_normal((100, 2))
    pair = pair_of(X, X[:, 0])
    assert pair.n_drawn == 30 and np.array_equal(pair.X, X[pair.numbers]) and MOST_ENTRIES > 1e6


def test_predictions_are_of_rows_left_out(diabetes):
    X, y = DIABETES.data, DIABETES.target
    expected, means = np.empty(len(y)), np.empty(len(y))
    for train, test in KFold(10, shuffle=True, random_state=0).split(X):
        model = SklearnPLS(diabetes.k, scale=True).fit(X[train], y[train])
        expected[test], means[test] = model.predict(X[test]).ravel(), y[train].mean()
    assert np.allclose(diabetes.predicted.ravel(), expected)
    mse, of_means = np.mean((y - expected) ** 2), np.mean((y - means) ** 2)
    assert np.isclose(diabetes.rmsep[0], np.sqrt(mse)) and np.isclose(diabetes.r2[0], 1 - mse / of_means)
    gain = (y - means) ** 2 - (y - expected) ** 2
    assert np.isclose(diabetes.better[0], gain.mean() / (gain.std(ddof=1) / np.sqrt(len(y))))
    # The same folds gave the curve.
    at = list(diabetes.pls.n_components).index(diabetes.k)
    assert np.isclose(diabetes.pls.mean[0, at], mse)


def test_effects_are_coefficients_for_one_standard_deviation(diabetes):
    X, y = DIABETES.data, DIABETES.target
    model = SklearnPLS(diabetes.k, scale=True).fit(X, y)
    assert np.allclose(diabetes.effect, model.coef_ * X.std(axis=0, ddof=1))
    assert np.all(diabetes.low <= diabetes.effect) and np.all(diabetes.effect <= diabetes.high)
    assert diabetes.n_draws == 200 and np.all(diabetes.high - diabetes.low > 0)


def test_several_responses_count_equally_whatever_their_units():
    X = DIABETES.data
    y = np.column_stack(
        [DIABETES.target, 1e-3 * DIABETES.target + 1e-3 * np.random.default_rng(0).standard_normal(442)]
    )
    found = Regression(pair_of(X, y), True, 0)
    alone = Regression(pair_of(X, y[:, 1]), True, 0)
    assert np.isclose(found.rmsep[1], alone.rmsep[0], rtol=0.05)
    errors = np.mean(((y - found.predicted) / y.std(axis=0, ddof=1)) ** 2)
    assert np.isclose(found.pls.mean[0, found.k - 1], errors)


def test_noise_cannot_be_predicted():
    random = np.random.default_rng(1)
    found = Regression(pair_of(random.standard_normal((80, 6)), random.standard_normal(80)), True, 0)
    assert found.k == 1 and found.r2[0] < 0.1 and found.better[0] < 2


def test_weights_count_as_rows():
    random = np.random.default_rng(2)
    X = random.standard_normal((60, 3))
    y = X[:, 0] + random.standard_normal(60)
    weights = random.integers(1, 4, 60).astype(float)
    found = Regression(pair_of(X, y, weights=weights), False, 0)
    means = np.empty(60)
    for train, test in KFold(10, shuffle=True, random_state=0).split(X):
        means[test] = np.average(y[train], weights=weights[train])
    mse = np.average((y - found.predicted.ravel()) ** 2, weights=weights)
    assert np.isclose(found.pls.mean[0, found.k - 1], mse)
    assert np.isclose(found.r2[0], 1 - mse / np.average((y - means) ** 2, weights=weights))
