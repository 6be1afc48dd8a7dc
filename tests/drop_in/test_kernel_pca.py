"""KernelPCA of lowdim.sklearn: the numbers of scikit-learn's, with all arguments that change them."""

import numpy as np
import pytest
from scipy import sparse
from sklearn import decomposition
from sklearn.exceptions import NotFittedError
from sklearn.metrics.pairwise import pairwise_kernels

from lowdim.errors import NoVariance
from lowdim.sklearn import KernelPCA

X = np.random.default_rng(0).normal([1.0, 2, 3], size=(40, 3))
NEW = np.random.default_rng(1).standard_normal((5, 3))


def product(x, y, power=1.0):
    return np.abs(x @ y) ** power


CASES = {
    "linear": {},
    "rbf": {"kernel": "rbf"},
    "rbf gamma": {"kernel": "rbf", "gamma": 0.1, "degree": 7},
    "poly": {"kernel": "poly", "degree": 2, "coef0": 0.5},
    "cosine": {"kernel": "cosine"},
    "sigmoid": {"kernel": "sigmoid", "gamma": 0.01, "coef0": 0.1},
    "function": {"kernel": product, "kernel_params": {"power": 2.0}},
}


@pytest.mark.parametrize("eigen_solver", ["auto", "dense", "arpack", "randomized"])
@pytest.mark.parametrize("case", CASES)
def test_scores_and_eigenpairs(case, eigen_solver):
    ours = KernelPCA(2, eigen_solver=eigen_solver, **CASES[case]).fit(X)
    theirs = decomposition.KernelPCA(2, eigen_solver="dense", **CASES[case]).fit(X)
    for name in ("eigenvalues_", "X_fit_", "gamma_"):
        np.testing.assert_allclose(getattr(ours, name), getattr(theirs, name), rtol=1e-7)
    np.testing.assert_allclose(np.abs(ours.eigenvectors_), np.abs(theirs.eigenvectors_), atol=1e-6)
    np.testing.assert_allclose(np.abs(ours.transform(NEW)), np.abs(theirs.transform(NEW)), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(ours.fit_transform(X), ours.transform(X), atol=1e-6)


@pytest.mark.parametrize("case", ["linear", "rbf", "poly", "cosine"])
@pytest.mark.parametrize("alpha", [0.1, 2.0])
def test_rows_from_scores(case, alpha):
    options = {**CASES[case], "fit_inverse_transform": True, "alpha": alpha}
    ours, theirs = KernelPCA(2, **options).fit(X), decomposition.KernelPCA(2, **options).fit(X)
    np.testing.assert_allclose(np.abs(ours.X_transformed_fit_), np.abs(theirs.X_transformed_fit_), atol=1e-9)
    back, expected = ours.inverse_transform(ours.transform(NEW)), theirs.inverse_transform(theirs.transform(NEW))
    np.testing.assert_allclose(back, expected, rtol=1e-6, atol=1e-8)
    # The coefficients solve the ridge regression of the rows on their scores.
    parameters = {"gamma": ours.gamma_, "degree": ours.degree, "coef0": ours.coef0}
    K = pairwise_kernels(ours.X_transformed_fit_, metric=ours.kernel, filter_params=True, **parameters)
    K += alpha * np.eye(40)
    np.testing.assert_allclose(K @ ours.dual_coef_, X, atol=1e-8)


def test_rows_from_scores_must_be_learned():
    model = KernelPCA(2).fit(X)
    assert not hasattr(model, "inverse_transform")
    with pytest.raises(NotFittedError, match="fit_inverse_transform=True"):
        model.inverse_transform(model.transform(X))
    with pytest.raises(ValueError, match="Cannot fit_inverse_transform with a precomputed kernel"):
        KernelPCA(2, kernel="precomputed", fit_inverse_transform=True).fit(X @ X.T)
    with pytest.raises(NotImplementedError, match="toarray"):
        KernelPCA(2, fit_inverse_transform=True).fit(sparse.csr_array(X))
    refitted = KernelPCA(2, fit_inverse_transform=True).fit(X).set_params(fit_inverse_transform=False).fit(X)
    assert not hasattr(refitted, "dual_coef_")


@pytest.mark.parametrize(("n_components", "remove", "kept"), [(None, False, 3), (9, True, 3), (9, False, 9)])
def test_components_without_variance(n_components, remove, kept):
    options = {"n_components": n_components, "remove_zero_eig": remove}
    ours, theirs = KernelPCA(**options).fit(X), decomposition.KernelPCA(**options).fit(X)
    assert ours.transform(NEW).shape == (5, kept)
    assert ours.eigenvectors_.shape == (40, kept)
    np.testing.assert_allclose(ours.transform(NEW)[:, 3:], 0.0)
    np.testing.assert_allclose(ours.eigenvalues_[:3], theirs.eigenvalues_[:3])
    if n_components is not None:
        assert theirs.transform(NEW).shape == (5, kept)


@pytest.mark.parametrize("kernel", ["linear", "rbf", "precomputed"])
def test_rows_that_are_all_the_same(kernel):
    rows = np.ones((4, 4))
    model = KernelPCA(2, kernel=kernel).fit(rows)
    np.testing.assert_array_equal(model.transform(rows), np.zeros((4, 2)))
    assert KernelPCA(kernel=kernel).fit_transform(rows).shape == (4, 0)


@pytest.mark.parametrize("eigen_solver", ["dense", "arpack"])
def test_a_matrix_that_is_symmetric_after_centring(eigen_solver):
    K = np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=2))
    tilted = K + np.arange(40.0) + np.arange(40.0)[:, None] ** 2
    options = {"kernel": "precomputed", "eigen_solver": eigen_solver}
    ours, theirs = KernelPCA(2, **options).fit(tilted), decomposition.KernelPCA(2, kernel="precomputed").fit(tilted)
    np.testing.assert_allclose(ours.eigenvalues_, theirs.eigenvalues_)
    new = tilted[:5] + 0.1 * K[5:10]
    np.testing.assert_allclose(np.abs(ours.transform(new)), np.abs(theirs.transform(new)), atol=1e-7)
    np.testing.assert_allclose(ours.fit_transform(tilted), ours.transform(tilted), atol=1e-7)
    with pytest.raises(ValueError, match="symmetric"):
        KernelPCA(2, **options).fit(np.triu(K))


def test_a_kernel_with_negative_eigenvalues():
    distances = np.abs(X[:, :1] - X[:, :1].T)
    for model in (KernelPCA(kernel="precomputed"), decomposition.KernelPCA(kernel="precomputed")):
        with pytest.raises(ValueError, match="significant negative eigenvalues"):
            model.fit(-np.diag(np.arange(40.0)) + np.diag(np.r_[50.0, np.zeros(39)]))
    with pytest.raises(NoVariance, match="distances d are not one"):
        KernelPCA(kernel="precomputed").fit(-np.exp(-distances))
