"""Inner products of sparse rows: the same as those of dense ones, without making the features dense."""

import numpy as np
import pytest
from scipy import sparse

from lowdim.summaries import Gram
from lowdim.summaries.gram import FeatureProducts

N, P = 60, 400


def features(seed=0, offset=0.0):
    """Features in rows: most of them with few entries, some crowded, one constant, one empty, and one far from zero."""
    rng = np.random.default_rng(seed)
    F = sparse.random_array((P, N), density=0.03, rng=rng).toarray()
    F[:5] = rng.standard_normal((5, N))
    F[5], F[6] = 7.0, 0.0
    F[7] = offset + rng.standard_normal(N)
    F[8, 1:] = 1.0
    return F


def centred_products(F, w, ddof):
    """Products of centred (and scaled) features, times the square roots of the weights, in extended precision."""
    F, w = F.astype(np.longdouble), w.astype(np.longdouble)
    Z = F - (F @ w / w.sum())[:, None]
    if ddof is not None:
        deviation = np.sqrt((Z * Z) @ w / (w.sum() - ddof))
        Z = Z / np.where(deviation > 1e-12 * (1 + np.abs(F).max(axis=1)), deviation, 1.0)[:, None]
    Z = Z * np.sqrt(w)
    return (Z.T @ Z).astype(float)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("ddof", [None, 1])
@pytest.mark.parametrize("offset", [0.0, 1e8])
def test_products_of_sparse_features(offset, ddof, weighted):
    F = features(offset=offset)
    # One sample has most of the weight, so that a feature that is stored there is far from zero.
    w = np.where(np.arange(N) == 3, 500.0, 1.0 + np.arange(N) % 3) if weighted else np.ones(N)
    gram = Gram(N, sample_weight=w if weighted else None, ddof=ddof)
    for start in range(0, P, 150):
        gram.update(sparse.csr_array(F[start : start + 150]))
    exact = centred_products(F, w, ddof)
    np.testing.assert_allclose(gram.centred(), exact, rtol=0, atol=1e-11 * np.abs(exact).max())


def test_float32_entries_are_multiplied_in_float64():
    F = features().astype(np.float32)
    gram = Gram(N)
    gram.update(sparse.csr_array(F))
    exact = centred_products(F, np.ones(N), None)
    np.testing.assert_allclose(gram.centred(), exact, rtol=0, atol=1e-12 * np.abs(exact).max())


def test_only_crowded_features_become_dense(monkeypatch):
    seen = []
    kept = Gram._product_of
    monkeypatch.setattr(Gram, "_product_of", lambda self, block: seen.append(len(block)) or kept(self, block))
    Gram(N).update(sparse.csr_array(features()))
    stored = np.count_nonzero(features(), axis=1)
    assert sum(seen) == np.count_nonzero(stored > 0.1 * N)


@pytest.mark.parametrize("weighted", [False, True])
def test_products_of_features_with_vectors(weighted):
    F = features(offset=1e6)
    w = 1.0 + np.arange(N) % 3 if weighted else np.ones(N)
    right = np.random.default_rng(1).standard_normal((N, 4))
    right -= right.mean(axis=0)
    products = FeatureProducts(w if weighted else None, 1, right)
    found, dense = products(sparse.csr_array(F)), products(F)
    mean = F @ w / w.sum()
    exact = (F - mean[:, None]).astype(np.longdouble) @ right.astype(np.longdouble)
    np.testing.assert_allclose(found[:, :4], exact.astype(float), atol=1e-9)
    np.testing.assert_allclose(found[:, 4], mean, rtol=1e-12)
    np.testing.assert_allclose(found[:, 5], np.sqrt(((F - mean[:, None]) ** 2) @ w / (w.sum() - 1)), atol=1e-9)
    np.testing.assert_allclose(found, dense, atol=1e-9)


def test_features_far_from_zero_are_the_only_dense_ones_in_a_lift(monkeypatch):
    seen = []
    kept = FeatureProducts._of_dense
    monkeypatch.setattr(FeatureProducts, "_of_dense", lambda self, block: seen.append(len(block)) or kept(self, block))
    FeatureProducts(None, 1, np.ones((N, 1)))(sparse.csr_array(features(offset=1e6)))
    # The constant feature and the one with a large offset.
    assert sum(seen) == 2
