"""Kernel PCA and ICA beside PCA: what each map keeps, against scikit-learn's and SciPy's answers."""

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad
from sklearn.datasets import load_iris, make_circles
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.neighbors import KNeighborsClassifier, NearestNeighbors

from lowdim import PCA
from lowdim.errors import LowdimWarning, without_warnings
from lowdim.reporting.nonlinear import (
    FEWEST_ROWS,
    LN_COSH,
    NEIGHBOURS,
    SLOPE,
    beyond,
    from_gaussian,
    nearest,
    right_by_means,
    right_by_neighbours,
)
from lowdim.selection import choose_width

IRIS = load_iris()


@pytest.fixture(scope="module")
def iris():
    with without_warnings(LowdimWarning):
        return beyond(IRIS.data, np.arange(150), IRIS.target, 2, 0)


@pytest.mark.parametrize("width", [2, 4])
def test_nearest_rows(width):
    Z = np.random.default_rng(0).standard_normal((80, width))
    expected = NearestNeighbors(n_neighbors=NEIGHBOURS).fit(Z).kneighbors(return_distance=False)
    assert np.array_equal(np.sort(nearest(Z), axis=1), np.sort(expected, axis=1))


@pytest.mark.parametrize("width", [2, 5])
def test_a_row_is_never_its_own_neighbour(width):
    Z = np.repeat(np.random.default_rng(0).standard_normal((10, width)), 5, axis=0)
    assert not np.any(nearest(Z) == np.arange(50)[:, None])


def test_labels_by_neighbours_are_those_of_scikit_learn():
    Z = IRIS.data[:, :2] + np.random.default_rng(0).normal(scale=1e-3, size=(150, 2))
    found = right_by_neighbours(nearest(Z), IRIS.target)
    for i in range(150):
        rest = np.arange(150) != i
        votes = KNeighborsClassifier(NEIGHBOURS).fit(Z[rest], IRIS.target[rest]).predict_proba(Z[i : i + 1])[0]
        top = np.flatnonzero(votes == votes.max())
        assert np.isclose(found[i], (IRIS.target[i] in top) / len(top))


def test_labels_by_means_are_close_to_those_of_discriminant_analysis():
    Z = PCA(2).fit_transform(IRIS.data)
    found = right_by_means(Z, IRIS.target)
    model = LinearDiscriminantAnalysis(priors=[1 / 3] * 3).fit(Z, IRIS.target)
    assert abs(found.mean() - model.score(Z, IRIS.target)) <= 3 / 150
    # The units of the axes and their directions do not matter.
    assert np.array_equal(found, right_by_means(Z @ np.array([[100.0, 3.0], [0.5, 0.01]]), IRIS.target))


def test_rows_without_labels_are_left_out():
    codes = np.where(np.arange(150) % 3 == 0, -1, IRIS.target)
    labelled = codes >= 0
    Z = IRIS.data[:, :2]
    assert len(right_by_means(Z, codes)) == labelled.sum() == len(right_by_neighbours(nearest(Z), codes))
    assert np.array_equal(right_by_means(Z, codes), right_by_means(Z[labelled], codes[labelled]))


def test_a_group_of_one_row_is_never_right_by_its_own_mean():
    codes = IRIS.target.copy()
    codes[5] = 3
    assert right_by_means(IRIS.data[:, :2], codes)[5] == 0.0


def test_the_share_of_kept_neighbours(iris):
    Z = PCA(2).fit_transform(IRIS.data)
    both = [NearestNeighbors(n_neighbors=10).fit(A).kneighbors(return_distance=False) for A in (IRIS.data, Z)]
    expected = [len(set(a) & set(b)) / 10 for a, b in zip(*both, strict=True)]
    # Ties of equal rows may be broken in another way.
    assert abs(iris.pca.kept.mean() - np.mean(expected)) < 0.01
    assert np.allclose(np.abs(iris.pca.scores), np.abs(Z))
    assert iris.width == str(choose_width(IRIS.data, 2, random_state=0).kernel)
    assert iris.right_by_chance == pytest.approx(1 / 3)


def test_circles_need_a_curved_map():
    X, y = make_circles(300, factor=0.3, noise=0.05, random_state=0)
    with without_warnings(LowdimWarning):
        found = beyond(X, np.arange(300), y, 2, 0)
    assert found.kernel.by_means.mean() > 0.9 and found.pca.by_means.mean() < 0.7
    # Two columns are kept whole by PCA.
    assert np.all(found.pca.kept == 1.0)


def test_constants_of_the_gaussian():
    def mean(function):
        return quad(lambda z: function(z) * stats.norm.pdf(z), -12, 12, epsabs=1e-12)[0]

    assert mean(lambda z: np.log(np.cosh(z))) == pytest.approx(LN_COSH, abs=1e-9)
    assert mean(lambda z: 1 / np.cosh(z) ** 2) == pytest.approx(SLOPE, abs=1e-7)
    assert mean(lambda z: from_gaussian(np.array(z))) == pytest.approx(0, abs=1e-9)
    # A deviation that is a little wrong changes the mean to second order only.
    assert abs(mean(lambda z: from_gaussian(np.array(1.01 * z)))) < 1e-4


def mixture(random, n=1000):
    sources = np.column_stack([random.laplace(size=n), random.uniform(-1, 1, n), random.standard_normal(n)])
    rotation, _ = np.linalg.qr(random.standard_normal((3, 3)))
    return sources / sources.std(axis=0) @ rotation


def test_mixed_sources_are_found_beyond_chance():
    X = mixture(np.random.default_rng(0))
    with without_warnings(LowdimWarning):
        found = beyond(X, np.arange(1000), None, 3, 0).sources
    assert found.certainty > 3 and found.held_out > 2 * found.baseline
    assert found.kurtosis[0] > 2 and found.kurtosis[1] < -1
    scores = PCA(3).fit_transform(X)
    expected = stats.kurtosis(scores)
    assert np.allclose(found.of_components, expected[np.argsort(-np.abs(expected))])


def test_a_gaussian_cloud_has_no_sources():
    for seed in range(5):
        X = np.random.default_rng(seed).standard_normal((200, 4))
        with without_warnings(LowdimWarning):
            assert beyond(X, np.arange(200), None, 4, 0).sources.certainty < 3


def test_few_rows_have_no_comparison():
    X = np.random.default_rng(0).standard_normal((FEWEST_ROWS - 1, 3))
    assert beyond(X, np.arange(len(X)), None, 2, 0) is None
    assert beyond(np.repeat(X[:10], 10, axis=0), np.arange(100), None, 2, 0) is None


@pytest.mark.parametrize("scale", [2.0**500, 2.0**-500])
def test_units_do_not_matter(scale, iris):
    with without_warnings(LowdimWarning):
        found = beyond(IRIS.data * scale, np.arange(150), IRIS.target, 2, 0)
    assert np.array_equal(found.kernel.kept, iris.kernel.kept) and found.sources.certainty == pytest.approx(
        iris.sources.certainty, abs=1e-6
    )
    assert np.allclose(found.pca.scores / scale, iris.pca.scores)


def test_rows_far_from_zero_keep_their_neighbours():
    X = np.random.default_rng(0).standard_normal((100, 5))
    with without_warnings(LowdimWarning):
        near, far = (beyond(A, np.arange(100), None, 2, 0).pca.kept for A in (X, X + 2.0**27))
    assert np.array_equal(near, far)
