"""Frequency weights in all functions of `inspect`: the answers are those of repeated rows."""

from __future__ import annotations

from inspect import signature

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_diabetes

import lowdim.inspect
from lowdim import PCA, PCR, FactorAnalysis, PLSRegression
from lowdim.inspect import (
    contributions,
    correlations,
    cos2,
    describe,
    diagnose,
    fit_report,
    hotelling_t2,
    q_limit,
    q_residuals,
    supplementary,
    t2_limit,
)

X, y = load_diabetes(return_X_y=True)
X, y = 10 * X[:80] @ np.diag(np.linspace(1, 3, 10)) + 5, y[:80]
#: Some rows count several times, and some not at all.
W = np.random.default_rng(0).integers(0, 4, 80)
USED = W > 0
MODELS = {
    "plain": PCA(3),
    "standardized, whitened": PCA(3, scale=True, whiten=True),
    "divisor n": PCA(3, ddof=0),
    "krylov": PCA(3, solver="krylov"),
    "PCR": PCR(3),
    "PCR relevance": PCR(3, select="relevance"),
    "PLS": PLSRegression(3),
}
#: What each function says of a model, of its rows (one answer for each) and of their columns.
OF_ROWS = {
    "cos2": cos2,
    "hotelling_t2": hotelling_t2,
    "q_residuals": q_residuals,
}
OF_TABLES = {
    "contributions": lambda model, X, w: contributions(model),
    "correlations": lambda model, X, w: correlations(model, X, sample_weight=w),
    "correlations of others": lambda model, X, w: correlations(model, X, X[:, :2] ** 2, sample_weight=w),
    "t2_limit": lambda model, X, w: [t2_limit(model, 0.1, new_rows=new) for new in (False, True)],
    "q_limit": lambda model, X, w: [q_limit(model, 0.1, X, new_rows=new, sample_weight=w) for new in (False, True)],
    "diagnose": lambda model, X, w: diagnose(model, X, sample_weight=w).q_limit,
    "supplementary": lambda model, X, w: supplementary(model, beside(X), sample_weight=w).coordinates.values[:, 1:],
    "describe": lambda model, X, w: (
        describe(model, 1, beside(X), sample_weight=w).select(["correlation", "p_value"]).values
    ),
}


def beside(X):
    """The rows with two columns that are not of the fit."""
    return np.hstack([X, X[:, :2] ** 2])


@pytest.fixture(params=MODELS)
def fits(request):
    """The same model, fitted with weights and to repeated rows."""
    model = MODELS[request.param]
    repeated = np.repeat(X, W, axis=0), np.repeat(y, W)
    return type(model)(**model.get_params()).fit(X, y, sample_weight=W), model.fit(*repeated)


def test_every_function_of_weights_is_here():
    names = {name.split()[0] for name in (*OF_ROWS, *OF_TABLES, "fit_report")}
    functions = {name: getattr(lowdim.inspect, name) for name in lowdim.inspect.__all__ if name[0].islower()}
    weighted = {name for name, act in functions.items() if "sample_weight" in signature(act).parameters}
    # Reports of factor analysis and descriptions of groups have tests of their own.
    assert names >= weighted - {"fit_report", "describe_groups"}


@pytest.mark.parametrize("what", [*OF_ROWS, *OF_TABLES])
def test_weights_are_repetitions(fits, what):
    weighted, plain = fits
    rows = np.repeat(X, W, axis=0)
    if what in ("cos2", "contributions") and isinstance(plain, PLSRegression):
        with pytest.raises(TypeError, match="needs orthonormal components"):
            (OF_ROWS | {"contributions": contributions})[what](weighted, X)
        return
    if what in OF_ROWS:
        found, expected = np.repeat(OF_ROWS[what](weighted, X), W, axis=0), OF_ROWS[what](plain, rows)
    else:
        found, expected = OF_TABLES[what](weighted, X, W), OF_TABLES[what](plain, rows, None)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("share", [0.0, 0.05])
def test_the_report_of_a_factor_analysis(share):
    rows = np.where(np.random.default_rng(1).random((80, 6)) < share, np.nan, X[:, :6])
    repeated = np.repeat(rows, W, axis=0)
    found = fit_report(FactorAnalysis(1).fit(rows, sample_weight=W), rows, sample_weight=W).table()
    expected = fit_report(FactorAnalysis(1).fit(repeated), repeated).table()
    np.testing.assert_allclose(found["value"], expected["value"], rtol=1e-3 if share else 1e-6)


@pytest.mark.parametrize("fits", [name for name in MODELS if name != "PLS"], indirect=True)
def test_contributions_are_those_of_all_copies(fits):
    weighted, plain = fits
    found = contributions(weighted, X, sample_weight=W).values
    each = contributions(plain, np.repeat(X, W, axis=0)).values
    np.testing.assert_allclose(found.sum(axis=0), 1.0, rtol=1e-9)
    summed = np.stack([each[np.repeat(np.arange(80), W) == i].sum(axis=0) for i in range(80)])
    np.testing.assert_allclose(found, summed, rtol=1e-6, atol=1e-10)


def test_squared_correlations_of_a_column_add_up_to_one():
    model = PCA().fit(X, sample_weight=W)
    np.testing.assert_allclose((correlations(model, X, sample_weight=W).values ** 2).sum(axis=1), 1.0, rtol=1e-9)
    for rows in (sparse.csr_array(X), X.astype(np.float32)):
        found = correlations(PCA().fit(rows, sample_weight=W), rows, sample_weight=W)
        np.testing.assert_allclose((found.values**2).sum(axis=1), 1.0, rtol=1e-4)


@pytest.mark.parametrize("solver", ["auto", "krylov"])
def test_dask_collections(solver):
    dask = pytest.importorskip("dask.array", reason="dask is not installed")
    lazy = dask.from_array(X, chunks=(30, 10))
    model, plain = (PCA(3, solver=solver).fit(rows, sample_weight=W) for rows in (lazy, X))
    found, expected = (diagnose(m, rows, sample_weight=W) for m, rows in ((model, lazy), (plain, X)))
    np.testing.assert_allclose(found.t2, expected.t2, rtol=1e-6)
    assert found.q_limit == pytest.approx(expected.q_limit, rel=1e-6)
    assert str(found) == str(expected)
    np.testing.assert_array_equal(found.outliers, expected.outliers)
    expected = correlations(plain, X, X[:, 0], sample_weight=W)
    np.testing.assert_allclose(correlations(model, lazy, lazy[:, 0], sample_weight=W), expected, atol=1e-6)
    np.testing.assert_allclose(contributions(model, lazy, sample_weight=W).values.sum(axis=0), 1.0, rtol=1e-6)


def test_rows_without_weight_may_be_anywhere():
    model = PCA(2).fit(X, sample_weight=W)
    far = np.where(USED[:, None], X, 1e12)
    expected = correlations(model, X[USED], sample_weight=W[USED])
    np.testing.assert_allclose(correlations(model, far, sample_weight=W), expected)


def test_weights_without_their_rows_are_refused():
    model = PCA(2).fit(X, sample_weight=W)
    with pytest.raises(ValueError, match="columns have no weights"):
        contributions(model, sample_weight=W)
    with pytest.raises(ValueError, match="pass both, or neither"):
        q_limit(model, sample_weight=W)
    with pytest.raises(ValueError, match="new_rows=True says that these are others"):
        diagnose(model, X, new_rows=True, sample_weight=W)
    for act in (contributions, correlations, diagnose):
        with pytest.raises(ValueError, match="one entry per row"):
            act(model, X, sample_weight=W[:5])
