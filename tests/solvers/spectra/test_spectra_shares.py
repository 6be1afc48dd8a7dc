"""A share of the variance: only the pairs that reach it are computed accurately, and they are those of a full solve."""

from contextlib import nullcontext

import numpy as np
import pytest
from scipy import sparse

from examples import FINDS_ALL, SUMMARIZES
from lowdim import ICA, PCA, Whitening
from lowdim.errors import ResolutionWarning
from lowdim.reading import summarize
from lowdim.solvers import SOLVERS, Request, Status


def texts(n=80, p=600, seed=0):
    """Sparse rows of length one, of which some occur twice."""
    rng = np.random.default_rng(seed)
    X = sparse.random_array((n, p), density=0.02, format="csr", rng=rng).toarray()
    X[n // 2 :: 3] = X[: len(X[n // 2 :: 3])]
    X[:, 0] += 0.5
    return sparse.csr_array(X / np.linalg.norm(X, axis=1)[:, None])


@pytest.mark.parametrize("solver", FINDS_ALL)
@pytest.mark.parametrize("share", [0.3, 0.9])
def test_it_is_the_beginning_of_the_full_solve(solver, share):
    X = texts(p=60 if solver == "covariance" else 600)
    few, everything = PCA(share, solver=solver).fit(X), PCA(solver="triangle").fit(X)
    k = few.n_components_
    reached = np.cumsum(everything.explained_variance_ratio_)
    assert reached[k - 1] >= share and (k == 1 or reached[k - 2] < share)
    np.testing.assert_allclose(few.explained_variance_, everything.explained_variance_[:k], rtol=1e-10)
    np.testing.assert_allclose(few.explained_variance_ratio_, everything.explained_variance_ratio_[:k], rtol=1e-10)
    np.testing.assert_allclose(np.abs(few.components_ @ everything.components_[:k].T), np.eye(k), atol=1e-7)
    left = everything.explained_variance_[k:].sum() / (X.shape[1] - k)
    assert few.noise_variance_ == pytest.approx(left, rel=1e-9)


def test_small_eigenvalues_that_nobody_asks_for_lead_to_no_second_solve():
    X = np.random.default_rng(0).standard_normal((200, 12)) * 10.0 ** -np.arange(12)
    assert PCA().fit(X).solver_ == "triangle"
    assert PCA(0.99).fit(X).solver_ == "covariance"


@pytest.mark.parametrize("solver", SUMMARIZES)
def test_a_summary_gives_one_pair_more_than_the_share_needs(solver):
    X = np.random.default_rng(0).standard_normal((50, 8)) * np.arange(1, 9)
    summary = summarize(X, SOLVERS[solver].starts_from)
    everything = SOLVERS[solver]().solve_summary(summary, Request())
    some = SOLVERS[solver]().solve_summary(summary, Request(share=0.6))
    needed = np.count_nonzero(np.cumsum(everything.values) < 0.6 * everything.total) + 1
    assert len(some.values) == needed + 1
    assert some.total == pytest.approx(everything.total, rel=1e-12)


def test_whitening_and_ica_take_shares_too():
    X = np.random.default_rng(0).laplace(size=(300, 6)) * np.arange(1, 7)
    k = PCA(0.8).fit(X).n_components_
    assert Whitening("pca", n_components=0.8).fit(X).n_components_ == k
    assert ICA(0.8).fit(X).n_components_ == k


# ---- Eigenvalues that are certainly zero


def test_columns_that_are_sums_of_others_need_no_second_solver():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 20)) + 5.0
    X = np.hstack([X, X[:, :5] + X[:, 5:10], X[:, :3]])
    pca = PCA().fit(X)
    assert (pca.solver_, pca.status_, pca.plan_.passes) == ("covariance", Status.EXACT, 2)
    fine = PCA(solver="triangle").fit(X)
    np.testing.assert_allclose(pca.explained_variance_[:20], fine.explained_variance_[:20], rtol=1e-10)
    assert np.all(pca.explained_variance_[20:] < 1e-24 * pca.explained_variance_[0])
    np.testing.assert_allclose(pca.components_ @ pca.components_.T, np.eye(28), atol=1e-13)
    np.testing.assert_allclose(np.abs(pca.components_[20:] @ fine.components_[20:].T), np.eye(8), atol=1e-7)


@pytest.mark.parametrize("small", [1e-7, 1e-9, 1e-11])
def test_eigenvalues_that_are_small_but_not_zero_are_still_found(small):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 6)) * np.array([1, 1, 1, 1, 1, small])
    pca = PCA().fit(X)
    assert pca.solver_ == "triangle"
    exact = np.linalg.svd((X - X.mean(axis=0)), compute_uv=False) ** 2 / 299
    np.testing.assert_allclose(pca.explained_variance_, exact, rtol=1e-4)


def _with_small_directions(n, p, deviations):
    """Rows with these standard deviations along orthonormal directions, and their exact right singular vectors."""
    rng = np.random.default_rng(0)
    Q, _ = np.linalg.qr(rng.standard_normal((p, len(deviations))))
    X = (rng.standard_normal((n, len(deviations))) * deviations) @ Q.T
    Z = X - X.mean(axis=0)
    Z -= Z.mean(axis=0)
    _, s, Vt = np.linalg.svd(Z, full_matrices=False)
    return X, s**2 / (n - 1), Vt


def test_small_directions_are_found_among_many_rows_too():
    X, exact, Vt = _with_small_directions(30_000, 6, [1, 1, 1, 1e-12, 1e-13, 0])
    with pytest.warns(ResolutionWarning, match="relative error is about"):
        pca = PCA(5).fit(X)
    assert pca.solver_ == "triangle"
    np.testing.assert_allclose(pca.explained_variance_[3:], exact[3:5], rtol=1e-2)
    np.testing.assert_allclose(np.abs(np.sum(pca.components_ * Vt[:5], axis=1))[3:], 1.0, rtol=1e-4)


@pytest.mark.parametrize("small", [1e-6, 1e-8, 1e-10])
def test_small_directions_of_few_rows_have_their_own_components(small):
    X, exact, Vt = _with_small_directions(12, 2_000, [1, 1, 1, small, small / 10])
    with pytest.warns(ResolutionWarning, match="relative error is about") if small < 1e-9 else nullcontext():
        pca = PCA(5).fit(X)
    assert pca.solver_ == "gram"
    np.testing.assert_allclose(pca.explained_variance_, exact[:5], rtol=1e-3)
    np.testing.assert_allclose(np.abs(np.sum(pca.components_ * Vt[:5], axis=1))[3:], 1.0, rtol=1e-4)


def test_small_variances_of_few_rows_with_many_columns_are_not_zero():
    X, exact, _ = _with_small_directions(12, 40_000, [1, 1, 1, 1e-12])
    with pytest.warns(ResolutionWarning, match="relative error is about"):
        pca = PCA(4).fit(X)
    np.testing.assert_allclose(pca.explained_variance_, exact[:4], rtol=1e-3)


def test_small_directions_of_few_float32_rows_have_their_own_components():
    X, _, _ = _with_small_directions(12, 300, [1, 1, 1, 1e-4, 1e-6])
    X = X.astype(np.float32)
    Z = X.astype(np.float64) - X.mean(axis=0, dtype=np.float64)
    Vt = np.linalg.svd(Z, full_matrices=False)[2]
    pca = PCA(5).fit(X)
    assert pca.solver_ == "gram"
    np.testing.assert_allclose(np.abs(np.sum(pca.components_ * Vt[:5], axis=1))[3:], 1.0, rtol=1e-5)


def test_repeated_sparse_rows_need_no_second_solver():
    X = texts()
    pca = PCA().fit(X)
    assert (pca.solver_, pca.status_) == ("gram", Status.EXACT)
    exact = np.linalg.svd(X.toarray() - X.toarray().mean(axis=0), compute_uv=False) ** 2 / 79
    rank = np.count_nonzero(exact > 1e-12 * exact[0])
    assert rank < 79
    np.testing.assert_allclose(pca.explained_variance_[:rank], exact[:rank], rtol=1e-10)
    assert np.all(pca.explained_variance_[rank:] == 0.0)


@pytest.mark.parametrize("small", [1e-6, 1e-9])
def test_nearly_repeated_rows_are_still_told_apart(small):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((8, 300))
    X[7] = X[6] + small * rng.standard_normal(300)
    pca = PCA(7).fit(X)
    exact = np.linalg.svd(X - X.mean(axis=0), compute_uv=False)[:7] ** 2 / 7
    np.testing.assert_allclose(pca.explained_variance_, exact, rtol=1e-5)


def test_constant_sparse_rows_end_at_once():
    pca = PCA(3).fit(sparse.csr_array((3000, 2000)))
    assert (pca.solver_, pca.plan_.passes) == ("krylov", 1)
    assert np.all(pca.explained_variance_ == 0.0)
    np.testing.assert_allclose(pca.components_ @ pca.components_.T, np.eye(3), atol=1e-14)
