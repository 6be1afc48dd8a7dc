"""What is left of the spectrum after few components: its sums, from few eigenpairs, in every array library."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from scipy import sparse

from inputs import namespace, to_numpy
from lowdim import PCA, PPCA, KernelPCA, Whitening
from lowdim.errors import RankWarning
from lowdim.solvers import Gram

LIBRARIES = ["numpy", "array_api_strict", "torch"]


def low_rank(n, p, noise, seed=0):
    random = np.random.default_rng(seed)
    return random.standard_normal((n, 5)) @ random.standard_normal((5, p)) + noise * random.standard_normal((n, p))


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("noise", [1.0, 1e-3, 1e-5])
@pytest.mark.parametrize("shape", [(200, 1000), (1000, 200), (700, 1000)])
def test_sums_of_powers_of_small_eigenvalues(shape, noise, library):
    """Beside eigenvalues that are up to 1e10 times as large."""
    X = low_rank(*shape, noise)
    rest = np.linalg.svd(X - X.mean(axis=0), compute_uv=False)[5 : min(shape[0] - 1, shape[1])] ** 2
    solver = "gram" if shape[0] < shape[1] else "covariance"
    tail = PCA(5, solver=solver).fit(namespace(library).asarray(X)).tail_
    assert tail.total == pytest.approx(rest.sum(), rel=1e-4)
    assert tail.squares == pytest.approx((rest**2).sum() / rest.sum() ** 2, rel=1e-3)
    assert tail.cubes == pytest.approx((rest**3).sum() / rest.sum() ** 3, rel=1e-3)


@pytest.mark.parametrize("root", [False, True])
def test_nothing_is_left_of_all_components(root):
    X = np.random.default_rng(0).standard_normal((20, 8)) * np.linspace(5, 1, 8)
    tail = PCA(8, solver=Gram(root=root)).fit(X).tail_
    assert (tail.total, tail.squares, tail.cubes) == (0.0, 0.0, 0.0)


@pytest.mark.parametrize("solver", ["covariance", "krylov"])
def test_nothing_is_left_beside_as_many_components_as_columns_that_vary(solver):
    rows = np.zeros((50, 7))
    rows[:, [1, 4, 5]] = np.random.default_rng(0).standard_normal((50, 3))
    for constant in (0.0, 5.0):
        rows[:, 2] = constant
        for A in (rows, sparse.csr_array(rows)):
            pca = PCA(3, solver=solver).fit(A)
            assert pca.noise_variance_ == 0.0
            expected = np.linalg.svd(rows - rows.mean(axis=0), compute_uv=False)[:3]
            np.testing.assert_allclose(pca.singular_values_, expected, rtol=1e-10)


@pytest.mark.parametrize("library", LIBRARIES)
def test_the_rank_of_few_rows_that_are_not_centred(library):
    """Subtracting the mean takes one direction away, whatever the rounding errors of the products are."""
    xp = namespace(library)
    for seed in range(40):
        random = np.random.default_rng(seed)
        n, p = random.integers(2, 6), random.integers(5, 21)
        X = random.standard_normal((n, p)) + random.uniform(0.0, 10.0)
        assert PCA().fit(xp.asarray(X)).rank_ == n - 1
    with pytest.warns(RankWarning):
        assert Whitening().fit(xp.asarray(X)).transform(xp.asarray(X)).shape[1] == n - 1


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("shape", [(50, 5), (5, 50), (20, 2000)])
def test_entries_whose_squares_are_too_large_but_not_those_of_differences(shape, library):
    xp = namespace(library)
    X = np.random.default_rng(0).standard_normal(shape)
    near = 1e160 * (1.0 + 1e-10 * X)
    X[:, 0] = 1e154
    for rows in (X, near):
        centred = rows - rows[0]
        expected = np.linalg.svd(centred - centred.mean(axis=0), compute_uv=False)[0]
        found = float(PCA(1).fit(xp.asarray(rows)).singular_values_[0])
        assert found == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("library", ["array_api_strict", "torch"])
def test_the_dense_kernel_matrix_has_one_triangle(library):
    """Its leading eigenpairs are not to be found by products with the whole."""
    X = low_rank(700, 8, 1.0)
    options = {"kernel": "rbf", "gamma": 1 / 32, "solver": "dense"}
    found = KernelPCA(4, **options).fit(namespace(library).asarray(X))
    np.testing.assert_allclose(to_numpy(found.eigenvalues_), KernelPCA(4, **options).fit(X).eigenvalues_, rtol=1e-10)


def test_a_pickle_has_each_array_once():
    """Attributes that are copied to a device at once are not parts of one array there."""
    rows = np.random.default_rng(0).standard_normal((3000, 200))
    sizes = [len(pickle.dumps(PPCA(20).fit(X))) for X in (rows, namespace("torch").asarray(rows))]
    assert sizes[1] < 1.5 * sizes[0]
