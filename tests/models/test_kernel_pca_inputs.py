"""Kernel PCA of rows that are no numbers, with functions as kernels, with landmarks of all kinds, read once."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics.pairwise import rbf_kernel

from inputs import namespace, to_numpy
from lowdim import PCA, KernelPCA
from lowdim.errors import IndefiniteWarning, RankWarning
from lowdim.kernels import Function, Gaussian, Laplacian, Polynomial, Sigmoid, ThinPlateSpline
from lowdim.solvers import Nystrom

X = np.random.default_rng(0).standard_normal((60, 3))


# ---- Rows that are no numbers


def common_letters(a, b):
    """An inner product of counts of letters."""
    return float(sum(a.count(letter) * b.count(letter) for letter in "abcdefghijklmnopqrstuvwxyz"))


WORDS = ["principal", "component", "analysis", "kernel", "matrix", "eigenvalue", "vector", "rows", "columns"]


@pytest.mark.parametrize(
    "given_as", [list, np.array, lambda w: np.array(w, dtype=object)], ids=["list", "str", "object"]
)
def test_texts(given_as):
    counts = np.array([[word.count(c) for c in "abcdefghijklmnopqrstuvwxyz"] for word in WORDS], dtype=float)
    model = KernelPCA(2, kernel=common_letters)
    scores = model.fit_transform(given_as(WORDS))
    numeric = KernelPCA(2).fit(counts)
    np.testing.assert_allclose(np.abs(scores), np.abs(numeric.transform(counts)), atol=1e-10)
    new = model.transform(given_as(["kernels", "sum"]))
    assert new.shape == (2, 2)
    with pytest.raises(TypeError, match="rows that are not numbers"):
        model.inverse_transform(new)
    with pytest.raises(TypeError, match="rows of numbers"):
        KernelPCA(2, kernel=common_letters, solver="nystrom").fit(given_as(WORDS))


def test_other_objects():
    sets = [set(word) for word in WORDS]
    model = KernelPCA(2, kernel=lambda a, b: float(len(a & b))).fit(sets)
    assert model.transform(sets[:3]).shape == (3, 2)
    weights = np.ones(len(sets))
    weights[2] = 0.0
    assert KernelPCA(2, kernel=lambda a, b: float(len(a & b))).fit(sets, sample_weight=weights).n_samples_ == 8


def test_texts_need_a_function():
    with pytest.raises((TypeError, ValueError)):
        KernelPCA(2, kernel="rbf").fit(np.array(WORDS)[:, None])


# ---- Functions


def test_functions_of_blocks_need_not_take_rows():
    own = KernelPCA(2, kernel=rbf_kernel).fit(X)
    np.testing.assert_allclose(own.eigenvalues_, KernelPCA(2, kernel="rbf", gamma=1 / 3).fit(X).eigenvalues_)


def test_functions_that_mind_the_order():
    with pytest.raises(ValueError, match="is not symmetric"):
        KernelPCA(2, kernel=lambda x, y: float(x[0] * y[1])).fit(X)


def test_functions_that_fail_say_how():
    with pytest.raises(ValueError, match=r"failed on two rows: AttributeError.*foo"):
        KernelPCA(2, kernel=lambda a, b: a.foo).fit(["one", "two", "three"])


def test_functions_that_give_no_number():
    with pytest.raises(ValueError, match="gave None for two rows"):
        KernelPCA(2, kernel=lambda x, y: None).fit(X)


def test_functions_of_sparse_and_torch_rows():
    def f(x, y):
        return float((x * y).sum()) ** 2

    plain = KernelPCA(2, kernel=f).fit(X)
    np.testing.assert_allclose(KernelPCA(2, kernel=f).fit(sparse.csr_array(X)).eigenvalues_, plain.eigenvalues_)
    xp = namespace("torch")
    np.testing.assert_allclose(to_numpy(KernelPCA(2, kernel=f).fit(xp.asarray(X)).eigenvalues_), plain.eigenvalues_)


def test_functions_as_objects_and_in_sums():
    one = KernelPCA(2, kernel=common_letters).fit(WORDS)
    for kernel in (Function(common_letters), Function(common_letters) + Function(common_letters)):
        own = KernelPCA(2, kernel=kernel).fit(WORDS)
        np.testing.assert_allclose(own.explained_variance_ratio_, one.explained_variance_ratio_)


def test_more_ways_to_hand_over_texts():
    pandas = pytest.importorskip("pandas")
    one = KernelPCA(2, kernel=common_letters).fit(WORDS)
    series = KernelPCA(2, kernel=common_letters).fit(pandas.Series(WORDS))
    np.testing.assert_allclose(series.eigenvalues_, one.eigenvalues_)
    ragged = [list(word) for word in WORDS]
    own = KernelPCA(2, kernel=lambda a, b: common_letters("".join(a), "".join(b))).fit(ragged)
    np.testing.assert_allclose(own.eigenvalues_, one.eigenvalues_)


def test_a_class_is_no_kernel():
    with pytest.raises(TypeError, match=r"pass an instance: Gaussian\(\)"):
        KernelPCA(2, kernel=Gaussian).fit(X)
    with pytest.raises(TypeError, match="kernel must be a name"):
        KernelPCA(2, kernel=np.eye(3)).fit(X)


def test_rows_of_whole_numbers():
    whole = np.round(4 * X).astype(int)
    for kernel in (Gaussian(0.125), Polynomial(2, gamma=0.5), Sigmoid(gamma=0.1), Laplacian(0.3)):
        np.testing.assert_allclose(kernel(whole), kernel(whole.astype(float)))
        np.testing.assert_allclose(kernel.against(whole)(X), kernel(X, whole.astype(float)))


# ---- Landmarks


@pytest.mark.parametrize(
    ("landmarks", "message"),
    [
        (X[:5, :2], r"shape \(5, 2\); rows of 3 columns"),
        (X[0], r"shape \(3,\)"),
        (X[:0], r"shape \(0, 3\)"),
        (np.full((4, 3), np.nan), "NaN"),
        (np.array([["a", "b", "c"]]), "rows of numbers"),
    ],
)
def test_landmarks_that_are_none(landmarks, message):
    with pytest.raises(ValueError, match=message):
        KernelPCA(2, kernel=Gaussian(0.5), solver=Nystrom(landmarks)).fit(X)


def test_landmarks_of_other_kinds():
    plain = KernelPCA(2, kernel=Gaussian(0.5), solver=Nystrom(X[:20])).fit(X)
    for landmarks in (X[:20].tolist(), sparse.csr_array(X[:20]), namespace("array_api_strict").asarray(X[:20])):
        own = KernelPCA(2, kernel=Gaussian(0.5), solver=Nystrom(landmarks)).fit(X)
        np.testing.assert_allclose(own.eigenvalues_, plain.eigenvalues_, rtol=1e-9)
    whole = np.round(4 * X[:20])
    both = [KernelPCA(2, kernel="poly", solver=Nystrom(L)).fit(X).eigenvalues_ for L in (whole, whole.astype(int))]
    np.testing.assert_allclose(both[0], both[1])
    assert Nystrom(X[:5]) == Nystrom(X[:5].copy()) != Nystrom(X[:6])


def test_few_landmarks_of_the_linear_kernel():
    """m landmarks span m directions, and a share of variance that cannot be reached is not."""
    assert KernelPCA(kernel="linear", solver=Nystrom(3)).fit(X).n_components_ == 3
    assert KernelPCA(kernel="linear", solver=Nystrom(1)).fit(X).n_components_ == 1
    with pytest.warns(RankWarning, match=r"reach only 0\.\d+ of the variance"):
        KernelPCA(0.99, kernel=Gaussian(12.5), solver=Nystrom(10)).fit(X)
    with pytest.warns(RankWarning, match="the landmarks is positive"):
        KernelPCA(30, kernel=Gaussian(0.5), solver=Nystrom(20)).fit(X)


def test_kmeans_of_a_kernel_that_knows_no_distances():
    with pytest.warns(IndefiniteWarning):
        model = KernelPCA(2, kernel=ThinPlateSpline(), solver=Nystrom(30, "k-means++")).fit(X)
    assert len(model.X_fit_) == 30


# ---- Streams read once


def test_what_a_single_reading_cannot_tell():
    once = KernelPCA(2, kernel=Gaussian(1 / 0.18), solver=Nystrom(X[:5])).fit(block for block in (X[:30], X[30:]))
    both = KernelPCA(2, kernel=Gaussian(1 / 0.18), solver=Nystrom(X[:5])).fit(X)
    # What is left of k(x, x) = 1 is known from the moments, but for its mean.
    assert both.error_ <= once.error_ <= both.error_ + 0.02
    assert once.explained_variance_ratio_.sum() == pytest.approx(both.explained_variance_ratio_.sum(), rel=0.1)
    assert once.plan_.passes == 1
    linear = KernelPCA(2, solver=Nystrom(X[:5])).fit(block for block in (X[:30], X[30:]))
    assert np.isnan(linear.error_)
    np.testing.assert_allclose(
        linear.inverse_transform(linear.transform(X)),
        PCA(2).fit(X).inverse_transform(PCA(2).fit(X).transform(X)),
        atol=1e-8,
    )
    poly = Polynomial(2, gamma=1.0)
    once = KernelPCA(2, kernel=poly, solver="features").fit(block for block in (X[:30], X[30:]))
    with pytest.raises(TypeError, match="could be read only once"):
        once.inverse_transform(once.transform(X))
