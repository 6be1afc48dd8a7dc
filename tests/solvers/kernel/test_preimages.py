"""Pre-images: stationary where they minimise, learned as regression says, and of use: noise is taken out of images."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_digits

from examples import able
from lowdim import PCA, KernelPCA
from lowdim.kernels import Gaussian, Laplacian, Linear, Polynomial
from lowdim.solvers import FixedPoint, FourierFeatures, Nystrom, Ridge

RNG = np.random.default_rng(0)
ANGLE = RNG.uniform(0, 6.28, 150)
X = np.column_stack([3 * np.cos(ANGLE), 2 * np.sin(ANGLE), 0.1 * RNG.standard_normal(150)])


def distance_in_feature_space(x, weights, rows, kernel):
    """|phi(x) - sum_i g_i phi(x_i)|^2"""
    return 1.0 - 2.0 * float(kernel(x[None], rows)[0] @ weights) + float(weights @ kernel(rows) @ weights)


@pytest.mark.parametrize("solver", ["dense", "krylov", Nystrom(60)], ids=str)
def test_fixed_points_are_stationary(solver):
    """The gradient of the distance vanishes, and it is lower than at the rows that were started from."""
    kernel = Gaussian(1 / 4.5)
    model = KernelPCA(4, kernel=kernel, solver=solver, preimage=FixedPoint(tol=1e-10, max_iter=2000)).fit(X)
    Z = model.transform(X[:10])
    back, start = model.inverse_transform(Z), KernelPCA(4, kernel=kernel, solver=solver, preimage="ridge").fit(X)
    B, c = model._expansion
    weights = Z @ B + c
    for x, g, s in zip(back, weights, start.inverse_transform(Z), strict=True):
        pull = g * kernel(x[None], model.X_fit_)[0]
        np.testing.assert_allclose(pull @ (model.X_fit_ - x), 0.0, atol=1e-7 * np.abs(pull).sum())
        here = distance_in_feature_space(x, g, model.X_fit_, kernel)
        assert here <= distance_in_feature_space(s, g, model.X_fit_, kernel) + 1e-12


def test_the_expansion_is_the_projection():
    """sum_i (z B + c)_i phi(x_i) has the scores z, and lies nearest to phi(x) among such points."""
    kernel = Gaussian(1 / 4.5)
    for solver in ("dense", Nystrom(150)):
        model = KernelPCA(4, kernel=kernel, solver=solver).fit(X)
        B, c = model._expansion
        Z = model.transform(X[:6])
        inner = (Z @ B + c) @ kernel(model.X_fit_)
        np.testing.assert_allclose((inner - model.offset_) @ model.projection_, Z, atol=1e-6)


def test_with_all_components_rows_come_back():
    model = KernelPCA(kernel=Gaussian(1 / 4.5), solver="dense").fit(X)
    np.testing.assert_allclose(model.inverse_transform(model.transform(X)), X, atol=1e-3)


@pytest.mark.parametrize("solver", able("linear"))
def test_the_linear_kernel_goes_back_as_pca(solver):
    pca = PCA(2).fit(X)
    model = KernelPCA(2, solver=solver).fit(X)
    expected = pca.inverse_transform(pca.transform(X))
    np.testing.assert_allclose(model.inverse_transform(model.transform(X)), expected, atol=1e-8)
    rows = sparse.csr_array(np.round(X))
    model, pca = KernelPCA(2, solver=solver).fit(rows), PCA(2).fit(rows)
    expected = pca.inverse_transform(pca.transform(rows))
    np.testing.assert_allclose(model.inverse_transform(model.transform(rows)), expected, atol=1e-8)


def test_the_learned_map_is_ridge_regression():
    """x = mean + k(z) (K + alpha I)^(-1) (X - mean), at the width of least leave-one-out error."""
    scores, rows = RNG.standard_normal((40, 2)), RNG.standard_normal((40, 3))
    learned = Ridge(alpha=0.3).learn(scores, rows)
    kernel = Gaussian(learned.gamma)
    A = np.linalg.solve(kernel(scores) + 0.3 * np.eye(40), rows - rows.mean(axis=0))
    new = RNG.standard_normal((5, 2))
    np.testing.assert_allclose(learned(new), rows.mean(axis=0) + kernel(new, scores) @ A, atol=1e-10)

    def left_out(gamma):
        K = Gaussian(gamma)(scores)
        Y = rows - rows.mean(axis=0)
        total = 0.0
        for i in range(40):
            keep = np.arange(40) != i
            A = np.linalg.solve(K[np.ix_(keep, keep)] + 0.3 * np.eye(39), Y[keep])
            total += ((K[i, keep] @ A - Y[i]) ** 2).sum()
        return total

    gammas = learned.gamma / np.array([0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0]) ** 2
    median = np.median(np.sqrt(((scores[:, None] - scores) ** 2).sum(axis=2))[np.triu_indices(40, 1)])
    tried = [g for g in gammas if np.any(np.isclose((2 * g) ** -0.5 / median, [0.5, 1.0, 2.0, 4.0]))]
    assert len(tried) == 4
    assert min(tried, key=left_out) == pytest.approx(learned.gamma)


@pytest.mark.parametrize("kernel", [Laplacian(0.5), Polynomial(2, gamma=1.0), Gaussian(1 / 4.5) + Linear()], ids=str)
@pytest.mark.parametrize("solver", ["dense", "nystrom"])
def test_other_kernels_learn_the_way_back(kernel, solver):
    model = KernelPCA(5, kernel=kernel, solver=solver).fit(X)
    back = model.inverse_transform(model.transform(X))
    assert ((back - X) ** 2).sum() < 0.02 * ((X - X.mean(axis=0)) ** 2).sum()


def test_features_and_fourier_learn_from_a_sample():
    for kernel, solver in [(Polynomial(2, gamma=1.0), "features"), (Gaussian(1 / 4.5), FourierFeatures(2000))]:
        model = KernelPCA(5, kernel=kernel, solver=solver).fit(X)
        back = model.inverse_transform(model.transform(X))
        assert ((back - X) ** 2).sum() < 0.05 * ((X - X.mean(axis=0)) ** 2).sum()


@pytest.mark.parametrize("kernel", [Polynomial(), Laplacian(), Gaussian()], ids=str)
def test_duplicates_teach_nothing(kernel):
    """Of two rows that are alike one would tell the other, and the smallest ridge would seem best."""
    new = np.random.default_rng(3).standard_normal((50, 3))
    weighted = KernelPCA(2, kernel=kernel, preimage="ridge").fit(X, sample_weight=np.full(150, 2.0))
    repeated = KernelPCA(2, kernel=kernel, preimage="ridge").fit(np.repeat(X, 2, axis=0))
    Z = weighted.transform(new)
    np.testing.assert_allclose(repeated.inverse_transform(Z), weighted.inverse_transform(Z), rtol=1e-5, atol=1e-6)


def test_the_way_back_does_not_depend_on_the_order_of_rows():
    rows = np.random.default_rng(4).standard_normal((1500, 3))
    one, other = (KernelPCA(2, kernel=Laplacian(0.5)).fit(A) for A in (rows, rows[::-1]))
    Z = one.transform(rows[:20])
    np.testing.assert_allclose(other.inverse_transform(Z), one.inverse_transform(Z), atol=1e-6)


def test_points_nobody_can_reach_stay_finite():
    """Scores far outside: the iteration has nothing to hold on to, and its start is kept."""
    model = KernelPCA(3, kernel=Gaussian(2.0)).fit(X)
    back = model.inverse_transform(1e3 * np.eye(3))
    assert np.all(np.isfinite(back))


def test_refusals():
    model = KernelPCA(2, kernel=Gaussian(0.5)).fit(X)
    with pytest.raises(ValueError, match="X has 3 columns, but 2 are needed"):
        model.inverse_transform(X)
    with pytest.raises(AttributeError, match="inverse_transform"):
        KernelPCA(2, kernel="precomputed").fit(Gaussian(0.5)(X)).inverse_transform(X[:, :2])
    for kernel, solver in [(Laplacian(1.0), "dense"), (Gaussian(0.5), "fourier")]:
        with pytest.raises(ValueError, match="use preimage='ridge'"):
            KernelPCA(2, kernel=kernel, solver=solver, preimage="fixed-point").fit(X).inverse_transform(X[:, :2])
    with pytest.raises(ValueError, match="NaN"):
        model.inverse_transform([[np.nan, 1.0]])


def test_pickle_after_going_back():
    model = KernelPCA(2, kernel=Gaussian(0.5)).fit(X)
    Z = model.transform(X)
    back = model.inverse_transform(Z)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.inverse_transform(Z), back)
    np.testing.assert_array_equal(again.transform(X), Z)


def test_noise_is_taken_out_of_digits():
    """Better than PCA with any number of components, which is what the method was made for."""
    digits = load_digits().data
    order = np.random.default_rng(1).permutation(len(digits))
    rows, clean = digits[order[:1000]], digits[order[1000:1200]]
    noisy = clean + 4.0 * np.random.default_rng(2).standard_normal(clean.shape)

    def error(model):
        return float(((model.inverse_transform(model.transform(noisy)) - clean) ** 2).mean())

    by_pca = min(error(PCA(k).fit(rows)) for k in (8, 12, 16, 20, 24))
    assert error(KernelPCA(128, kernel=Gaussian(0.0008)).fit(rows)) < 0.65 * by_pca
    assert error(KernelPCA(128, kernel=Gaussian(0.0008), solver=Nystrom(500)).fit(rows)) < 0.75 * by_pca
