"""Nystrom and Fourier features: errors against the truth, choices of landmarks, features that stand for the kernel."""

import numpy as np
import pytest
from sklearn.datasets import load_digits

from lowdim import KernelPCA
from lowdim.kernels import Gaussian, Laplacian, Linear, Matern, Polynomial, ThinPlateSpline
from lowdim.solvers import FourierFeatures, Nystrom
from lowdim.solvers.kernel.maps import LANDMARKS

RULES = list(LANDMARKS)


def ring(rng, n):
    angle = rng.uniform(0, 6.28, n)
    return np.column_stack([np.cos(angle), np.sin(angle)]) * rng.normal(3, 0.2, n)[:, None]


def clusters(rng, n):
    return rng.standard_normal((12, 6))[rng.integers(12, size=n)] * 4 + rng.standard_normal((n, 6))


#: Rows and a kernel, of several kinds.
DATA = {
    "isotropic": (lambda rng: rng.standard_normal((1500, 5)), Gaussian(0.125)),
    "clusters": (lambda rng: clusters(rng, 1500), Gaussian(1 / 18)),
    "ring": (lambda rng: ring(rng, 1500), Laplacian(0.5)),
    "heavy tails": (lambda rng: rng.standard_t(2.5, (1500, 3)), Matern(1.5, 1.0)),
    "digits": (lambda rng: load_digits().data[rng.permutation(1797)[:1500]], Gaussian(0.0008)),
    "repeated": (lambda rng: np.repeat(rng.standard_normal((500, 4)), 3, axis=0), Gaussian(1 / 4.5)),
}
each_data = pytest.mark.parametrize("name", list(DATA))


def true_error(model, X, kernel):
    """Share of the variance in the feature space that the span of the landmarks leaves out, with every row and an
    eigenproblem of its own."""
    L = np.asarray(model.X_fit_)
    C, W = kernel(X, L), kernel(L)
    values, vectors = np.linalg.eigh(W)
    keep = values > 1e-12 * values[-1]
    phi = C @ (vectors[:, keep] / np.sqrt(values[keep]))
    K = kernel(X)
    whole = np.trace(K) - K.sum() / len(X)
    # The same of phi phi.T, without the matrix.
    spanned = np.sum(phi**2) - np.sum(phi.sum(axis=0) ** 2) / len(X)
    return (whole - spanned) / whole


# ---- Nystrom


@each_data
@pytest.mark.parametrize("choose", RULES)
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_estimated_error_brackets_the_true_one(name, choose, seed):
    make, kernel = DATA[name]
    X = make(np.random.default_rng(seed))
    model = KernelPCA(3, kernel=kernel, solver=Nystrom(60, choose=choose), random_state=seed).fit(X)
    low, high = model.error_interval_
    true = true_error(model, X, kernel)
    assert low - 1e-9 <= true <= high + 1e-9
    assert low <= model.error_ <= high
    assert high - low < 0.2  # and says something


@pytest.mark.parametrize("choose", ["k-means++", "leverage"])
def test_candidates_that_were_passed_over_are_no_random_rows(choose):
    """They are near to landmarks. With few far rows among many, an estimate from them would be too low."""
    rng = np.random.default_rng(9)
    X = np.vstack([0.3 * rng.standard_normal((1950, 3)), 5.0 * rng.standard_normal((50, 3)) + 20.0])
    inside = 0
    for seed in range(8):
        model = KernelPCA(2, kernel=Gaussian(0.125), solver=Nystrom(50, choose), random_state=seed).fit(X)
        low, high = model.error_interval_
        inside += low - 1e-9 <= true_error(model, X, Gaussian(0.125)) <= high + 1e-9
    assert inside >= 7


@each_data
def test_what_components_miss_is_no_more(name):
    """Eigenvalues are below the exact ones, and together by no more than the error."""
    make, kernel = DATA[name]
    X = make(np.random.default_rng(3))
    exact = KernelPCA(5, kernel=kernel).fit(X)
    model = KernelPCA(5, kernel=kernel, solver=Nystrom(100)).fit(X)
    assert np.all(model.eigenvalues_ <= exact.eigenvalues_ * (1 + 1e-9))
    missed = exact.explained_variance_ratio_.sum() - model.explained_variance_ratio_.sum()
    assert missed < model.error_interval_[1]


def test_more_landmarks_are_better():
    X = clusters(np.random.default_rng(0), 1500)
    errors = [KernelPCA(2, kernel=Gaussian(1 / 18), solver=Nystrom(m)).fit(X).error_ for m in (20, 80, 320)]
    assert errors[0] > errors[1] > errors[2] > 0.0


def test_all_rows_as_landmarks_are_exact():
    X = np.random.default_rng(1).standard_normal((80, 4))
    exact = KernelPCA(4, kernel=Gaussian(0.125)).fit(X)
    for choose in RULES:
        model = KernelPCA(4, kernel=Gaussian(0.125), solver=Nystrom(500, choose=choose)).fit(X)
        assert model.error_ == 0.0
        np.testing.assert_allclose(model.eigenvalues_, exact.eigenvalues_, rtol=1e-9)
        np.testing.assert_allclose(model.transform(X), exact.transform(X), atol=1e-7)


@pytest.mark.parametrize("choose", RULES)
def test_landmarks_are_rows_and_differ(choose):
    X = np.repeat(np.random.default_rng(2).standard_normal((300, 3)), 4, axis=0)
    model = KernelPCA(2, kernel=Gaussian(0.5), solver=Nystrom(50, choose=choose)).fit(X)
    L = model.X_fit_
    assert len(np.unique(L, axis=0)) == len(L) == 50
    assert all(np.any(np.all(row == X, axis=1)) for row in L)
    again = KernelPCA(2, kernel=Gaussian(0.5), solver=Nystrom(50, choose=choose)).fit(X[::-1])
    np.testing.assert_array_equal(again.X_fit_, L)
    other = KernelPCA(2, kernel=Gaussian(0.5), solver=Nystrom(50, choose=choose), random_state=7).fit(X)
    assert not np.array_equal(other.X_fit_, L)


@pytest.mark.parametrize("choose", ["k-means++", "leverage"])
def test_rules_that_compare_rows_see_the_small_cluster(choose):
    """Thirty rows far from two thousand others: few random landmarks miss them."""
    rng = np.random.default_rng(3)
    X = np.vstack([rng.standard_normal((2000, 3)), 0.3 * rng.standard_normal((30, 3)) + 40.0])
    far = KernelPCA(2, kernel=Gaussian(0.125), solver=Nystrom(20, choose=choose)).fit(X).X_fit_[:, 0] > 20
    assert far.any()


def test_landmarks_that_are_given():
    X = np.random.default_rng(4).standard_normal((400, 3))
    model = KernelPCA(2, kernel=Gaussian(0.125), solver=Nystrom(X[:40])).fit(X)
    np.testing.assert_array_equal(model.X_fit_, X[:40])
    low, high = model.error_interval_
    assert low - 1e-9 <= true_error(model, X, Gaussian(0.125)) <= high + 1e-9


def test_nystrom_features():
    """Scores are those of PCA on L^(-1/2) U^T k(x)."""
    X = np.random.default_rng(5).standard_normal((500, 3))
    kernel = Gaussian(0.125) + Linear()
    model = KernelPCA(3, kernel=kernel, solver=Nystrom(30)).fit(X)
    L = model.X_fit_
    W = kernel(L)
    values, vectors = np.linalg.eigh(W)
    keep = values > 1e-12 * values[-1]
    phi = kernel(X, L) @ (vectors[:, keep] / np.sqrt(values[keep]))
    phi = phi - phi.mean(axis=0)
    s = np.linalg.svd(phi, compute_uv=False)[:3]
    # The linear part is measured from the mean of the landmarks, which centring undoes up to the span of the landmarks.
    np.testing.assert_allclose(model.eigenvalues_, s**2, rtol=0.02)
    pure = KernelPCA(3, kernel=Gaussian(0.125), solver=Nystrom(L)).fit(X)
    values, vectors = np.linalg.eigh(Gaussian(0.125)(L))
    phi = Gaussian(0.125)(X, L) @ (vectors / np.sqrt(values))
    s = np.linalg.svd(phi - phi.mean(axis=0), compute_uv=False)[:3]
    np.testing.assert_allclose(pure.eigenvalues_, s**2, rtol=1e-9)


# ---- Fourier features


@pytest.mark.parametrize(
    "kernel",
    [
        Gaussian(1 / 4.5),
        Laplacian(0.4),
        Matern(0.5, 2.0),
        Matern(1.5, 2.0),
        Matern(2.5, 2.0),
        Gaussian(1 / 4.5) * Laplacian(0.3),
        Gaussian(0.5) + Matern(1.5, 3.0),
        Gaussian(0.5) + Gaussian(0.03125) + Laplacian(0.2),
    ],
    ids=str,
)
def test_inner_products_of_features_are_the_kernel_on_average(kernel):
    X = np.random.default_rng(6).standard_normal((40, 3))
    phi = FourierFeatures(40_000).make(kernel, X, np.ones(40), 0).features(X)
    K = kernel(X)
    np.testing.assert_allclose(phi @ phi.T, K, atol=0.035 * K.max())
    coarse = FourierFeatures(400).make(kernel, X, np.ones(40), 0).features(X)
    assert np.abs(coarse @ coarse.T - K).mean() > 3 * np.abs(phi @ phi.T - K).mean()


def test_fourier_components_come_near_the_exact_ones():
    X = clusters(np.random.default_rng(7), 1200)
    exact = KernelPCA(3, kernel=Gaussian(0.03125)).fit(X)
    model = KernelPCA(3, kernel=Gaussian(0.03125), solver=FourierFeatures(4000)).fit(X)
    np.testing.assert_allclose(model.eigenvalues_, exact.eigenvalues_, rtol=0.1)
    assert 0.0 < model.error_ < 0.1
    correlation = np.corrcoef(model.transform(X)[:, 0], exact.transform(X)[:, 0])[0, 1]
    assert correlation > 0.95  # signs agree too


def test_kernels_without_a_spectral_density():
    for kernel in (ThinPlateSpline(), Polynomial()):
        with pytest.raises(TypeError, match="no random Fourier features"):
            kernel.frequencies(3, 10, np.random.default_rng(0))


# ---- Signs


def test_solvers_agree_on_signs():
    X = clusters(np.random.default_rng(8), 900)
    models = [
        KernelPCA(2, kernel=Gaussian(0.03125), solver=solver).fit(X)
        for solver in ("dense", "krylov", Nystrom(400), Nystrom(400, "leverage"))
    ]
    first = models[0].transform(X)
    for model in models[1:]:
        assert np.all((model.transform(X) * first).sum(axis=0) > 0)
