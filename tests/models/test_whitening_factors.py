"""Whitening of few rows with many columns: the p x p matrices are applied, but not formed."""

import copy
import pickle
import tracemalloc

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from lowdim import Whitening
from lowdim.errors import RankWarning
from recorder import passes_of

N, P = 12, 60
KINDS = ["zca", "zca-cor"]
REGULARIZATIONS = [0.1, "oas"]


def rows(dtype=float):
    rng = np.random.default_rng(0)
    return (rng.standard_normal((N, P)) * np.exp(rng.standard_normal(P)) + 3.0).astype(dtype)


def explicit(X, kind, added, keep):
    """W and its inverse by the formulas, with the p x p covariance or correlation matrix."""
    S = np.cov(X, rowvar=False)
    T = np.sqrt(np.diagonal(S)) if kind.endswith("-cor") else np.ones(P)
    values, V = np.linalg.eigh(S / T / T[:, None])
    values = keep * np.clip(values, 0.0, None) + added
    kept = values > 1e-10 * values.max()
    root = np.sqrt(values[kept])
    V = V[:, kept]
    return (V / root) @ V.T / T, (T[:, None] * V * root) @ V.T


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("regularization", REGULARIZATIONS)
@pytest.mark.parametrize("as_sparse", [False, True])
def test_regularized_kinds_are_those_of_the_formulas(kind, regularization, as_sparse):
    X = rows()
    model = Whitening(kind, regularization=regularization)
    Z = model.fit_transform(sparse.csr_array(X) if as_sparse else X)
    average = 1.0 if kind.endswith("-cor") else np.var(X, axis=0, ddof=1).mean()
    a = model.shrinkage_
    added, keep = (regularization, 1.0) if regularization == 0.1 else (a * average, 1.0 - a)
    W, inverse = explicit(X, kind, added, keep)
    assert "components_" not in vars(model) and "inverse_" not in vars(model)
    np.testing.assert_allclose(Z, (X - X.mean(axis=0)) @ W.T, atol=1e-10)
    np.testing.assert_allclose(model.components_, W, atol=1e-10)
    np.testing.assert_allclose(model.inverse_, inverse, atol=1e-10)
    np.testing.assert_allclose(model.inverse_transform(Z), X, atol=1e-10)


@pytest.mark.parametrize("kind", KINDS)
def test_without_regularization_the_other_directions_are_left_out(kind):
    X = rows()
    with pytest.warns(RankWarning, match="left out"):
        model = Whitening(kind).fit(X)
    W, inverse = explicit(X, kind, 0.0, 1.0)
    np.testing.assert_allclose(model.components_, W, atol=1e-9)
    np.testing.assert_allclose(model.inverse_, inverse, atol=1e-9)
    Z = model.transform(X)
    values = np.linalg.eigvalsh(np.cov(Z, rowvar=False))
    np.testing.assert_allclose(values[-(N - 1) :], 1.0, rtol=1e-9)
    np.testing.assert_allclose(values[: -(N - 1)], 0.0, atol=1e-10)
    assert Z.shape == (N, model.n_components_) == (N, P)


def test_float32_rows_stay_float32():
    model = Whitening("zca", regularization=0.1).fit(rows(np.float32))
    Z = model.transform(rows(np.float32))
    assert Z.dtype == model.components_.dtype == np.float32
    np.testing.assert_allclose(Z, Whitening("zca", regularization=0.1).fit_transform(rows()), atol=1e-3)


def test_copies_and_refits():
    X = rows()
    model = Whitening("zca", regularization=0.1).fit(X)
    for other in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model), clone(model).fit(X)):
        np.testing.assert_array_equal(other.transform(X), model.transform(X))
    # A refit to many rows forgets the factors.
    tall = np.random.default_rng(0).standard_normal((200, 5))
    np.testing.assert_allclose(
        np.cov(model.set_params(regularization=0.0).fit_transform(tall).T), np.eye(5), atol=1e-10
    )
    assert model.components_.shape == (5, 5)


def test_two_rows_with_many_columns_take_little_memory():
    X = np.random.default_rng(0).standard_normal((2, 20_000))
    tracemalloc.start()
    with pytest.warns(RankWarning):
        model = Whitening("zca").fit(X)
    back = model.inverse_transform(model.transform(X))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20 * X.nbytes
    np.testing.assert_allclose(back, X, atol=1e-12)


@pytest.mark.parametrize("name", ["components_", "inverse_"])
def test_a_matrix_that_does_not_fit_into_memory_says_how_large_it_is(memory, name):
    model = Whitening("zca", regularization=0.1).fit(rows())
    memory(3 * 8 * P * P - 1)
    with pytest.raises(MemoryError, match=f"{name} of {P} x {P} numbers would need"):
        getattr(model, name)
    with pytest.raises(MemoryError, match="kind='cholesky' of 60 x 60"):
        Whitening("cholesky", regularization=0.1).fit(rows())


def test_the_shrinkage_of_few_rows_needs_no_p_by_p_summary():
    X = rows()
    weights = 1.0 + np.arange(N) % 2
    of_summary = Whitening("zca", regularization="ledoit-wolf", solver="covariance")
    assert "FourthMoments" in passes_of(of_summary.fit, X, sample_weight=weights)
    model = Whitening("zca", regularization="ledoit-wolf")
    assert set(passes_of(model.fit, X, sample_weight=weights)) == {"Gram"}
    assert model.solver_ == "gram"
    assert model.shrinkage_ == pytest.approx(of_summary.shrinkage_, rel=1e-10)
    np.testing.assert_allclose(model.transform(X), of_summary.transform(X), atol=1e-9)
