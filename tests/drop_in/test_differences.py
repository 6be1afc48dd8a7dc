"""Answers of scikit-learn that lowdim.sklearn does not repeat, and why they are wrong."""

import numpy as np
import pytest
from scipy import stats
from sklearn import cross_decomposition, decomposition
from sklearn.datasets import load_linnerud

import lowdim.sklearn
from lowdim.errors import RankWarning

random = np.random.default_rng(0)
X = random.standard_normal((100, 4)) @ np.diag([4.0, 3, 2, 1])


def test_whitening_does_not_change_the_density_of_the_rows():
    """The model is that of the rows, whatever is done to the scores: a Gaussian with the same covariance."""
    plain, white = (lowdim.sklearn.PCA(2, whiten=whiten).fit(X) for whiten in (False, True))
    density = stats.multivariate_normal(X.mean(axis=0), plain.get_covariance())
    for model in (plain, white):
        np.testing.assert_allclose(model.score_samples(X), density.logpdf(X))
    theirs = decomposition.PCA(2, whiten=True).fit(X)
    assert not np.allclose(theirs.get_covariance(), decomposition.PCA(2).fit(X).get_covariance())


def test_noise_of_wide_tables_is_spread_over_all_other_directions():
    """The total variance of the model is that of the rows."""
    rows = random.standard_normal((10, 30))
    ours, theirs = lowdim.sklearn.PCA(2).fit(rows), decomposition.PCA(2).fit(rows)
    total = np.var(rows, axis=0, ddof=1).sum()
    np.testing.assert_allclose(np.trace(ours.get_covariance()), total)
    assert np.trace(theirs.get_covariance()) > 1.5 * total


@pytest.mark.parametrize("name", ["PLSCanonical", "CCA"])
def test_predictions_minimise_the_error(name):
    A, b = load_linnerud(return_X_y=True)
    ours = getattr(lowdim.sklearn, name)(2).fit(A, b)
    theirs = getattr(cross_decomposition, name)(2).fit(A, b)
    scores = ours.transform(A)
    best = b.mean(axis=0) + scores @ np.linalg.lstsq(scores, b - b.mean(axis=0), rcond=None)[0]
    np.testing.assert_allclose(ours.predict(A), best)
    assert np.sum((b - ours.predict(A)) ** 2) < np.sum((b - theirs.predict(A)) ** 2)


def test_the_power_iteration_of_scikit_learn_stops_early():
    """With a smaller tolerance it approaches the singular vectors, which are found here directly."""
    A, b = load_linnerud(return_X_y=True)
    ours = lowdim.sklearn.PLSRegression(3).fit(A, b).x_weights_
    Z, Y = ((table - table.mean(axis=0)) / table.std(axis=0, ddof=1) for table in (A, b))
    exact = np.linalg.svd(Z.T @ Y)[0][:, 0]
    np.testing.assert_allclose(np.abs(ours[:, 0]), np.abs(exact), atol=1e-12)
    errors = [
        np.abs(cross_decomposition.PLSRegression(3, tol=tol, max_iter=10_000).fit(A, b).x_weights_ - ours).max()
        for tol in (1e-6, 1e-9, 1e-15)
    ]
    assert errors[0] > 1e-7 > errors[1] > errors[2]


def test_the_largest_eigenvalues_of_a_kernel_matrix_are_the_positive_ones():
    Q = np.linalg.qr(random.standard_normal((8, 8)) @ (np.eye(8) - 1 / 8))[0][:, :5]
    K = Q @ np.diag([10.0, 3, 1, -6, -8]) @ Q.T
    K = K - K.mean(axis=0) - K.mean(axis=1)[:, None] + K.mean()
    with pytest.warns(lowdim.errors.IndefiniteWarning):
        found = lowdim.sklearn.KernelPCA(2, kernel="precomputed", eigen_solver="randomized").fit(K)
    np.testing.assert_allclose(found.eigenvalues_, np.linalg.eigvalsh(K)[::-1][:2], rtol=1e-8)


def test_directions_without_variance_hold_no_source():
    """scikit-learn divides the rounding errors in them by their size, and returns them as sources."""
    rows = random.laplace(size=(200, 2)) @ random.standard_normal((2, 5))
    with pytest.warns(RankWarning, match="3 of 5 components have no variance"):
        ours = lowdim.sklearn.FastICA().fit(rows)
    assert ours.components_.shape == (2, 5)
    assert np.abs(ours.components_).max() < 1e3
    with pytest.warns(UserWarning):
        theirs = decomposition.FastICA(random_state=0, max_iter=5, whiten_solver="eigh").fit(rows)
    assert np.abs(theirs.components_).max() > 1e6


# ---- What is refused here and accepted by scikit-learn; docs/scikit-learn.md lists it


ONE_ROW = {
    "PCA": lambda: lowdim.sklearn.PCA().fit(X[:1]),
    "PCA of a stream": lambda: lowdim.sklearn.PCA().fit(block for block in [X[:1]]),
    "IncrementalPCA": lambda: lowdim.sklearn.IncrementalPCA().fit(X[:1]),
    "IncrementalPCA of a stream": lambda: lowdim.sklearn.IncrementalPCA().fit(block for block in [X[:1]]),
    "KernelPCA": lambda: lowdim.sklearn.KernelPCA().fit(X[:1]),
    "KernelPCA of a stream": lambda: lowdim.KernelPCA(kernel="poly", gamma=1.0).fit(block for block in [X[:1]]),
}


@pytest.mark.parametrize("case", list(ONE_ROW))
def test_one_row_is_refused_without_advice_that_the_class_cannot_follow(case):
    with pytest.raises(ValueError, match="n_samples=1") as refusal:
        ONE_ROW[case]()
    assert "ddof" not in str(refusal.value)


REFUSED = {
    "text": lambda: lowdim.sklearn.PCA().fit(X.astype(str)),
    "large values": lambda: lowdim.sklearn.PCA().fit(1e200 * X),
    "small values": lambda: lowdim.sklearn.FastICA().fit(1e-200 * X),
    "gamma of zero": lambda: lowdim.sklearn.KernelPCA(2, kernel="rbf", gamma=0).fit(X),
    "constant rows": lambda: lowdim.sklearn.FactorAnalysis(2).fit(np.ones((30, 4))),
    "one row": lambda: lowdim.sklearn.FactorAnalysis().fit(X[:1]),
}


@pytest.mark.parametrize("what", list(REFUSED))
def test_what_is_listed_as_refused_is_refused(what):
    with pytest.raises(ValueError, match=r"not numeric|too (large|small)|positive number|no variance|n_samples=1"):
        REFUSED[what]()


@pytest.mark.parametrize("name", ["IncrementalPCA", "FactorAnalysis", "PLSRegression"])
def test_float32_rows_give_float32_attributes(name):
    rows, y = X.astype(np.float32), X[:, :2].astype(np.float32)
    ours = getattr(lowdim.sklearn, name)(2)
    theirs = getattr(cross_decomposition if name == "PLSRegression" else decomposition, name)(2)
    attribute = "x_loadings_" if name == "PLSRegression" else "components_"
    assert getattr(ours.fit(rows, y), attribute).dtype == np.float32
    assert getattr(theirs.fit(rows, y), attribute).dtype == np.float64


def test_a_response_far_from_zero_beside_float32_rows():
    rows = X.astype(np.float32)
    y = 1e9 + rows @ np.array([1.0, 2, 3, 4])
    for cls in (lowdim.sklearn.PLSRegression, cross_decomposition.PLSRegression):
        model = cls(4).fit(rows, y)
        assert model.predict(rows).dtype == model.intercept_.dtype == np.float64
        assert model.score(rows, y) > 1.0 - 1e-9
    ours = lowdim.sklearn.PLSRegression(2).fit(rows, y)
    exact = lowdim.sklearn.PLSRegression(2).fit(X.astype(np.float32).astype(np.float64), y)
    assert (ours.x_scores_.dtype, ours.y_scores_.dtype) == (np.float32, np.float64)
    np.testing.assert_allclose(ours.y_scores_, exact.y_scores_, atol=1e-5 * np.abs(exact.y_scores_).max())


@pytest.mark.filterwarnings("ignore::lowdim.errors.HeywoodWarning")
def test_the_log_likelihood_increases_strictly():
    """Newton's method may end with steps that change it by rounding only."""
    left_out = 0
    for seed in range(5):
        rows = np.random.default_rng(seed).standard_normal((60, 6))
        model = lowdim.sklearn.FactorAnalysis(2).fit(rows)
        assert np.all(np.diff(model.loglike_) > 0)
        # Those of the fit that are larger than all before them.
        every = np.array(lowdim.FactorAnalysis(2).fit(rows).loglike_)
        np.testing.assert_array_equal(model.loglike_, np.unique(np.maximum.accumulate(every)))
        left_out += len(every) - len(model.loglike_)
    assert left_out > 0
