"""PCA, IncrementalPCA and FactorAnalysis of lowdim.sklearn, where they need more than the models."""

import numpy as np
import pytest
import sklearn.exceptions
from scipy import sparse, stats
from sklearn import decomposition

from lowdim.errors import ConvergenceWarning, RankWarning
from lowdim.sklearn import PCA, FactorAnalysis, IncrementalPCA

random = np.random.default_rng(0)
X = random.standard_normal((60, 6)) @ random.standard_normal((6, 6)) + [5.0, 0, -3, 1, 2, 9]
FITTED = ("components_", "explained_variance_", "explained_variance_ratio_", "singular_values_", "mean_")


# ---- PCA


@pytest.mark.parametrize("svd_solver", ["auto", "full", "covariance_eigh"])
def test_no_component_leaves_a_mean_and_a_variance(svd_solver):
    pca = PCA(0, svd_solver=svd_solver).fit(X)
    assert pca.transform(X).shape == (60, 0)
    assert PCA(0).fit(sparse.csr_array(X)).transform(sparse.csr_array(X)).shape == (60, 0)
    variance = np.var(X, axis=0, ddof=1).mean()
    np.testing.assert_allclose(pca.get_covariance(), variance * np.eye(6), atol=1e-12)
    np.testing.assert_allclose(pca.get_precision(), np.eye(6) / variance, atol=1e-12)
    density = stats.multivariate_normal(X.mean(axis=0), variance * np.eye(6))
    np.testing.assert_allclose(pca.score_samples(X), density.logpdf(X))


@pytest.mark.parametrize("cls", [PCA, IncrementalPCA])
def test_whitened_scores_without_variance_are_zero(cls):
    rows = X[:, :3] @ random.standard_normal((3, 6))
    pca = cls(5, whiten=True).fit(rows)
    scores = pca.transform(rows)
    assert scores.shape == (60, 5)
    np.testing.assert_allclose(np.cov(scores.T), np.diag([1.0, 1, 1, 0, 0]), atol=1e-10)
    np.testing.assert_array_equal(scores[:, 3:], 0.0)
    np.testing.assert_allclose(pca.inverse_transform(scores), rows, atol=1e-10)


@pytest.mark.parametrize("n_components", [0.5, 0.9, 0.99])
def test_a_share_of_variance_is_exceeded(n_components):
    assert PCA(n_components).fit(X).n_components_ == decomposition.PCA(n_components).fit(X).n_components_
    ratio = decomposition.PCA().fit(X).explained_variance_ratio_.cumsum()
    assert [PCA(share).fit(X).n_components_ for share in ratio[:-1]] == [2, 3, 4, 5, 6]


def test_tol_and_n_oversamples_are_options_of_the_iteration():
    rows = np.random.default_rng(1).standard_normal((300, 80))
    exact = np.linalg.svd(rows - rows.mean(axis=0))[2][0]

    def error(**options):
        w = PCA(1, **options).fit(rows).components_[0]
        return np.linalg.norm(w - exact * np.sign(w @ exact))

    assert error(svd_solver="arpack") < 1e-8 < error(svd_solver="arpack", tol=1e-2)
    assert error(svd_solver="randomized", n_oversamples=80) < 1e-12


@pytest.mark.parametrize("argument", ["copy", "iterated_power", "power_iteration_normalizer"])
def test_arguments_without_effect(argument):
    value = {"copy": False, "iterated_power": 1, "power_iteration_normalizer": "none"}[argument]
    before = X.copy()
    one, other = PCA(2, svd_solver="randomized", **{argument: value}).fit(X), PCA(2, svd_solver="randomized").fit(X)
    np.testing.assert_array_equal(X, before)
    for name in FITTED:
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


# ---- IncrementalPCA


@pytest.mark.parametrize("batch_size", [None, 7, 60])
@pytest.mark.parametrize("n_components", [None, 2])
def test_the_result_does_not_depend_on_the_blocks(batch_size, n_components):
    blocks = IncrementalPCA(n_components)
    for start in range(0, 60, 10):
        blocks.partial_fit(X[start : start + 10], check_input=False)
    whole = IncrementalPCA(n_components, batch_size=batch_size).fit(X)
    for name in FITTED:
        np.testing.assert_allclose(getattr(blocks, name), getattr(PCA(n_components).fit(X), name), atol=1e-10)
        np.testing.assert_allclose(getattr(whole, name), getattr(blocks, name), atol=1e-10)
    for model in (blocks, whole):
        np.testing.assert_allclose(model.var_, X.var(axis=0))
        assert model.n_samples_seen_ == 60


def test_partial_fit_goes_on_after_fit_whatever_the_width():
    rows = random.standard_normal((40, 300))
    model = IncrementalPCA(3).fit(rows[:30]).partial_fit(rows[30:])
    np.testing.assert_allclose(model.components_, PCA(3).fit(rows).components_, atol=1e-10)
    assert model.n_samples_seen_ == 40
    with pytest.raises(ValueError, match="features"):
        model.partial_fit(rows[:, :10])
    assert model.fit(rows[:20]).n_samples_seen_ == 20


@pytest.mark.parametrize("batch_size", [4, 100])
def test_without_a_number_the_first_block_counts(batch_size):
    theirs = decomposition.IncrementalPCA(batch_size=batch_size).fit(X)
    ours = IncrementalPCA(batch_size=batch_size).fit(X)
    assert ours.n_components_ == theirs.n_components_ == min(batch_size, 6)
    first = IncrementalPCA().partial_fit(X[:4]).partial_fit(X[4:])
    assert (
        first.n_components_ == decomposition.IncrementalPCA().partial_fit(X[:4]).partial_fit(X[4:]).n_components_ == 4
    )


# ---- FactorAnalysis


@pytest.mark.filterwarnings("ignore:FactorAnalysis did not converge:sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("n_components", [1, 2, None])
def test_the_likelihood_is_at_its_maximum(n_components):
    theirs = decomposition.FactorAnalysis(n_components, tol=1e-8, svd_method="lapack").fit(X)
    ours = FactorAnalysis(n_components).fit(X)
    assert ours.components_.shape == theirs.components_.shape
    assert ours.score(X) >= theirs.score(X) - 1e-9
    assert ours.score(X) >= decomposition.FactorAnalysis(n_components).fit(X).score(X)
    np.testing.assert_allclose(ours.loglike_[-1], ours.score_samples(X).sum())


def test_no_factor_is_independence():
    model = FactorAnalysis(0).fit(X)
    assert model.transform(X).shape == (60, 0)
    np.testing.assert_allclose(model.noise_variance_, X.var(axis=0))
    density = stats.multivariate_normal(X.mean(axis=0), np.diag(X.var(axis=0)))
    np.testing.assert_allclose(model.score_samples(X), density.logpdf(X))


def _simplicity(L, method):
    """The criterion that the rotation maximises, for loadings as rows."""
    return np.sum(L**4) - (method == "varimax") * np.sum(np.sum(L * L, axis=1) ** 2) / L.shape[1]


@pytest.mark.parametrize("method", ["varimax", "quartimax"])
def test_rotations_are_of_the_loadings_in_the_units_of_the_columns(method):
    rows = X @ np.diag([1.0, 10, 0.1, 1, 5, 1])
    plain, rotated = FactorAnalysis(2).fit(rows), FactorAnalysis(2, rotation=method).fit(rows)
    angles = np.linspace(0.0, np.pi, 2001)
    rotations = np.stack([[np.cos(angles), np.sin(angles)], [-np.sin(angles), np.cos(angles)]]).transpose(2, 0, 1)
    best = max(_simplicity(R @ plain.components_, method) for R in rotations)
    np.testing.assert_allclose(_simplicity(rotated.components_, method), best, rtol=1e-5)
    np.testing.assert_allclose(rotated.get_covariance(), plain.get_covariance(), rtol=1e-8)
    # scikit-learn's EM is stopped after one step: only its rotation is of interest.
    with pytest.warns(sklearn.exceptions.ConvergenceWarning):
        theirs = decomposition.FactorAnalysis(2, rotation=method, max_iter=1).fit(rows).components_
    best = max(_simplicity(R @ theirs, method) for R in rotations)
    np.testing.assert_allclose(_simplicity(theirs, method), best, rtol=1e-5)


def test_too_few_steps_and_a_start_of_the_wrong_length():
    with pytest.warns(ConvergenceWarning, match="stopped after"):
        FactorAnalysis(2, max_iter=1).fit(X)
    with pytest.raises(ValueError, match="noise_variance_init has 2 entries, but X has 6 columns"):
        FactorAnalysis(2, noise_variance_init=np.ones(2)).fit(X)
    np.testing.assert_array_equal(
        FactorAnalysis(2, noise_variance_init=np.ones(6), tol=1.0, svd_method="lapack").fit(X).components_,
        FactorAnalysis(2).fit(X).components_,
    )


def test_rank_is_still_warned_of_where_a_density_needs_it():
    with pytest.warns(RankWarning, match="directions have no variance"):
        PCA(6).fit(np.column_stack([X[:, :5], X[:, 0]])).score(np.column_stack([X[:, :5], X[:, 0]]))
