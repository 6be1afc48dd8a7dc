"""Canonical correlations of two tables, against correlations that are computed directly."""

import numpy as np
import pytest
from sklearn.model_selection import KFold

import lowdim
from lowdim.errors import LowdimWarning, without_warnings
from lowdim.reporting.two_tables import CANONICAL_FOLDS, TRIED, Canonical, Pair
from lowdim.sources import open_source


def pair_of(X, Y):
    return Pair(open_source(X), open_source(Y), n=len(X), stem="z")


def correlation(a, b):
    return np.corrcoef(a, b)[0, 1]


@pytest.fixture(scope="module")
def tables():
    random = np.random.default_rng(0)
    common = random.standard_normal((300, 1))
    X = np.hstack([common + random.standard_normal((300, 1)), random.standard_normal((300, 3))])
    Y = np.hstack([common + random.standard_normal((300, 1)), random.standard_normal((300, 2))])
    return X, Y


@pytest.fixture(scope="module")
def found(tables):
    return Canonical(pair_of(*tables), 0)


def test_many_rows_need_no_regularization(found, tables):
    X, Y = tables
    assert found.regularization == 0.0 and not found.searched
    assert np.allclose(found.correlations, lowdim.CCA().fit(X, Y).correlations_)
    for j in range(3):
        assert np.isclose(correlation(found.x_variates[:, j], found.y_variates[:, j]), found.correlations[j])


def test_correlations_of_rows_left_out(found, tables):
    X, Y = tables
    each = []
    for train, test in KFold(CANONICAL_FOLDS, shuffle=True, random_state=0).split(X):
        x, y = lowdim.CCA(3).fit(X[train], Y[train]).transform(X[test], Y[test])
        each.append([correlation(x[:, j], y[:, j]) for j in range(3)])
    assert np.allclose(found.held_out, np.mean(each, axis=0), atol=1e-6)
    assert found.held_out[0] > 0.3 and found.significant == 1


def test_few_rows_are_regularized_by_rows_left_out(tables):
    random = np.random.default_rng(3)
    X, Y = random.standard_normal((40, 30)), random.standard_normal((40, 25))
    Y[:, :3] = X[:, :3] + 0.3 * random.standard_normal((40, 3))
    with without_warnings(LowdimWarning):
        few = Canonical(pair_of(X, Y), 0)
    assert few.searched and few.regularization in TRIED
    assert few.correlations[0] > 0.8 and few.held_out[0] < few.correlations[0]


def test_unrelated_tables_are_reported():
    random = np.random.default_rng(5)
    found = Canonical(pair_of(random.standard_normal((200, 4)), random.standard_normal((200, 3))), 0)
    assert found.significant == 0 and found.test.p_values[0] > 0.05


def test_too_many_columns_are_not_tested(monkeypatch, tables):
    monkeypatch.setattr("lowdim.reporting.two_tables._MOST_WORK", 10.0)
    assert Canonical(pair_of(*tables), 0).test is None
