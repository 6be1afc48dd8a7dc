"""Combinations of columns by coordinates and by products: both must be the same."""

from __future__ import annotations

import numpy as np
import pytest

from lowdim import CCA, GCCA
from lowdim.solvers import CovarianceReduction
from lowdim.solvers.pairs.cca import solve_canonical
from lowdim.solvers.pairs.views import Combinations
from lowdim.summaries import Moments

RNG = np.random.default_rng(11)
WIDTHS = (4, 3, 5)
SHARED = RNG.standard_normal((300, 2))
TABLES = [SHARED @ RNG.standard_normal((2, p)) + RNG.standard_normal((300, p)) * 10.0**i for i, p in enumerate(WIDTHS)]


def views(scale=(True, False, True)):
    summary = Moments(sum(WIDTHS), widths=WIDTHS)
    summary.update(np.hstack(TABLES) + 3.0)
    return CovarianceReduction().views_of_summary(summary, ("a", "b", "c"), scale, 1)


def both_ways():
    found = views()
    weights = [RNG.standard_normal((p, 2)) for p in WIDTHS]
    coordinates = [view.table @ W for view, W in zip(found.tables, weights, strict=True)]
    return found, Combinations(found, weights=weights), Combinations(found, coordinates)


@pytest.mark.parametrize("i", range(3))
@pytest.mark.parametrize("j", range(3))
def test_products_of_tables_are_those_of_their_coordinates(i, j):
    found, by_products, by_coordinates = both_ways()
    A, B = (found.tables[t].table for t in (i, j))
    np.testing.assert_allclose(found.products(i, j), A.T @ B, atol=1e-12)
    np.testing.assert_allclose(by_products.inner(i, j), by_coordinates.inner(i, j), atol=1e-11)
    np.testing.assert_allclose(by_products.with_columns(i, j), by_coordinates.with_columns(i, j), atol=1e-11)
    np.testing.assert_allclose(by_products.coordinates(i), by_coordinates.coordinates(i), atol=1e-12)


def test_combinations_of_combinations():
    _, by_products, by_coordinates = both_ways()
    factors = [RNG.standard_normal((2, 3)) for _ in WIDTHS]
    for some in (by_products, by_coordinates):
        new = some.times(factors)
        expected = factors[0].T @ some.inner(0, 2) @ factors[2]
        np.testing.assert_allclose(new.inner(0, 2), expected, atol=1e-11)


@pytest.mark.parametrize("orthonormal", [True, False])
def test_regression_is_that_of_least_squares(orthonormal):
    found, by_products, by_coordinates = both_ways()
    if orthonormal:
        turns = [np.linalg.inv(np.linalg.cholesky(by_products.inner(i, i))).T for i in range(3)]
        by_products, by_coordinates = by_products.times(turns), by_coordinates.times(turns)
    expected = np.linalg.lstsq(by_coordinates.coordinates(1), found.tables[2].table, rcond=None)[0]
    for some in (by_products, by_coordinates):
        np.testing.assert_allclose(some.regression(2, 1), expected, atol=1e-10)


def test_tables_with_clearly_independent_columns_need_no_coordinates(monkeypatch):
    found = views((True, True, True))

    def refuse(*arguments):
        raise AssertionError("coordinates were computed")

    monkeypatch.setattr("lowdim.solvers.pairs.reductions.root_of_products", refuse)
    assert solve_canonical(found, 2, (0.0, 0.0, 0.0)).variates.weights is not None
    CCA(2).fit(TABLES[0], TABLES[1])
    GCCA(2).fit(TABLES)


def test_variates_are_the_same_by_products_and_by_coordinates(monkeypatch):
    model = CCA(2).fit(TABLES[0], TABLES[2])
    monkeypatch.setattr("lowdim.solvers.pairs.views.Views.knows_products", False)
    other = CCA(2).fit(TABLES[0], TABLES[2])
    for name in ("correlations_", "x_rotations_", "y_rotations_", "x_structure_", "y_cross_structure_", "coef_"):
        np.testing.assert_allclose(getattr(model, name), getattr(other, name), atol=1e-12, err_msg=name)
