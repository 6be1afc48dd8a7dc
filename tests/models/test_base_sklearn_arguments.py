"""Models in place of scikit-learn's: arguments that they do not have, solvers, weights in pipelines, rebuilt models."""

import inspect

import numpy as np
import pytest
from sklearn import config_context, cross_decomposition, decomposition
from sklearn.base import clone
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline

import lowdim
from lowdim import ICA, PCA, FactorAnalysis, PLSRegression, models

X = np.random.default_rng(0).standard_normal((30, 4)) @ np.diag([4.0, 3, 2, 1]) + [5.0, 0, -1, 2]
#: scikit-learn's class for each model that has one.
THEIRS = {
    "PCA": [decomposition.PCA, decomposition.IncrementalPCA],
    "FactorAnalysis": [decomposition.FactorAnalysis],
    "KernelPCA": [decomposition.KernelPCA],
    "ICA": [decomposition.FastICA],
    **{name: [getattr(cross_decomposition, name)] for name in ("PLSRegression", "PLSCanonical", "PLSSVD", "CCA")},
}


# ---- Arguments


@pytest.mark.parametrize("name", THEIRS)
def test_every_argument_of_scikit_learn_is_taken_or_explained(name):
    ours = inspect.signature(getattr(lowdim, name)).parameters
    theirs = {argument for cls in THEIRS[name] for argument in inspect.signature(cls).parameters}
    assert theirs - set(ours) == set(getattr(lowdim, name)._not_taken)


@pytest.mark.parametrize(("name", "argument"), [(m, a) for m in THEIRS for a in getattr(lowdim, m)._not_taken])
def test_an_argument_of_scikit_learn_says_what_to_write_instead(name, argument):
    instead = getattr(lowdim, name)._not_taken[argument]
    with pytest.raises(TypeError, match=rf"^{name} has no argument '{argument}'.* lowdim\.sklearn") as refusal:
        getattr(lowdim, name)(**{argument: 1})
    assert instead in str(refusal.value)


def test_the_options_named_in_advice_exist():
    from lowdim.solvers import EM, Krylov, KrylovKernel, Newton, Ridge

    Krylov(tol=1e-3, steps=3, block=8), KrylovKernel(tol=1e-3, max_steps=9, steps=3)
    Newton(tol=1e-3, max_iter=5, n_init=2), EM(tol=1e-3, max_iter=5), Ridge(alpha=1.0)


def test_other_unknown_arguments_are_refused_as_usual():
    with pytest.raises(TypeError, match="unexpected keyword argument 'colour'"):
        PCA(colour="red")


@pytest.mark.parametrize("name", models.__all__)
def test_signatures_are_those_of_the_constructors(name):
    cls = getattr(lowdim, name)
    assert "self" not in inspect.signature(cls).parameters
    assert list(inspect.signature(cls).parameters) == list(inspect.signature(cls.__init__).parameters)[1:]
    assert set(clone(cls()).get_params()) == set(inspect.signature(cls).parameters)


def test_a_subclass_may_have_the_argument_itself():
    class Mine(PCA):
        def __init__(self, n_components=None, *, copy=True):
            super().__init__(n_components)
            self.copy = copy

    assert Mine(2, copy=False).copy is False
    with pytest.raises(TypeError, match="Mine has no argument 'tol'"):
        Mine(tol=1.0)


# ---- Solvers


@pytest.mark.parametrize("rows", [X, X.T], ids=["tall", "wide"])
@pytest.mark.parametrize(("svd_solver", "left_out"), [("randomized", 0), ("arpack", 1), ("full", 0)])
def test_svd_solver_without_a_number_of_components(rows, svd_solver, left_out):
    pca = lowdim.sklearn.PCA(svd_solver=svd_solver).fit(rows)
    theirs = decomposition.PCA(svd_solver=svd_solver).fit(rows)
    assert pca.n_components_ == theirs.n_components_ == min(rows.shape) - left_out
    np.testing.assert_allclose(pca.explained_variance_, theirs.explained_variance_, atol=1e-12)


def test_arpack_of_a_single_column_has_no_component():
    with pytest.raises(ValueError, match="n_components=0 must be a whole number between 1 and 1"):
        lowdim.sklearn.PCA(svd_solver="arpack").fit(X[:, :1])


# ---- Weights in pipelines


@pytest.mark.parametrize("name", ["PCA", "Whitening", "PPCA", "FactorAnalysis", "ICA", "KernelPCA", "FeatureMapPCA"])
@pytest.mark.filterwarnings("ignore::lowdim.errors.GaussianWarning")
def test_weights_of_the_last_step_need_no_request_from_a_transformer(name):
    w, y = np.arange(1.0, 31.0), X @ [1.0, 2, 3, 4]
    model = getattr(lowdim, name)(n_components=2)
    with config_context(enable_metadata_routing=True):
        pipe = make_pipeline(model, LinearRegression().set_fit_request(sample_weight=True)).fit(X, y, sample_weight=w)
        scores = clone(model).fit_transform(X)
        expected = LinearRegression().fit(scores, y, sample_weight=w).predict(scores)
        np.testing.assert_allclose(pipe.predict(X), expected)
        # The weights are used on request.
        asked = clone(model).set_fit_request(sample_weight=True)
        weighted = make_pipeline(asked, LinearRegression().set_fit_request(sample_weight=True))
        weighted.fit(X, y, sample_weight=w)
    assert not np.allclose(weighted.predict(X), pipe.predict(X))


def test_weights_for_a_regression_need_a_request():
    with config_context(enable_metadata_routing=True):
        with pytest.raises(ValueError, match=r"sample_weight.*not explicitly set as requested"):
            make_pipeline(PCA(2), PLSRegression(1)).fit(X, X[:, 0], sample_weight=np.ones(30))
        with pytest.raises(TypeError, match="sample_weight"):
            make_pipeline(PCA(2)).fit(X, sample_weight=np.ones(30))


# ---- Models rebuilt from saved arrays


@pytest.mark.parametrize("whiten", [False, True])
def test_a_pca_rebuilt_from_its_arrays(whiten):
    fitted = PCA(2, whiten=whiten).fit(X)
    again = PCA(whiten=whiten)
    again.components_, again.mean_ = fitted.components_, fitted.mean_
    if whiten:
        again.explained_variance_ = fitted.explained_variance_
    scores = fitted.transform(X)
    np.testing.assert_array_equal(again.transform(X), scores)
    np.testing.assert_array_equal(again.inverse_transform(scores), fitted.inverse_transform(scores))
    assert list(again.get_feature_names_out()) == ["PC1", "PC2"]
    with pytest.raises(ValueError, match="features"):
        again.transform(X[:, :3])


@pytest.mark.parametrize("rotation", [None, "varimax", "oblimin"])
@pytest.mark.filterwarnings("ignore::lowdim.errors.HeywoodWarning")
def test_a_factor_analysis_rebuilt_from_its_arrays(rotation):
    rows = X @ np.random.default_rng(1).standard_normal((4, 7)) + np.random.default_rng(2).standard_normal((30, 7))
    fitted = FactorAnalysis(2, rotation=rotation).fit(rows)
    again = FactorAnalysis()
    for name in ("components_", "mean_", "noise_variance_") + (("phi_",) if rotation == "oblimin" else ()):
        setattr(again, name, getattr(fitted, name))
    np.testing.assert_allclose(again.transform(rows), fitted.transform(rows), atol=1e-10)
    np.testing.assert_allclose(again.score_samples(rows), fitted.score_samples(rows), rtol=1e-10)


def test_an_ica_rebuilt_from_its_arrays():
    sources = np.random.default_rng(0).laplace(size=(400, 3))
    rows = sources @ np.array([[2.0, 1, 0], [0, 1, 1], [1, 0, 3]])
    fitted = ICA(2).fit(rows)
    again = ICA()
    again.components_, again.mean_, again.mixing_ = fitted.components_, fitted.mean_, fitted.mixing_
    scores = fitted.transform(rows)
    np.testing.assert_array_equal(again.transform(rows), scores)
    np.testing.assert_array_equal(again.inverse_transform(scores), fitted.inverse_transform(scores))
