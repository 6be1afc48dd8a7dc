"""The first components of a fitted model: scores, reconstructions and predictions without fitting again."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn import config_context
from sklearn.pipeline import make_pipeline

import lowdim
import lowdim.sklearn
from examples import MODELS, X, Y, make, tables
from lowdim import CCA, GCCA, ICA, PCA, PCR, PPCA, FactorAnalysis, KernelPCA, PLSRegression, Whitening
from lowdim.solvers import Ridge

# Heywood cases are a property of the rows, and these have some.
pytestmark = pytest.mark.filterwarnings("ignore::lowdim.errors.HeywoodWarning")

#: Models whose first components are those of a smaller fit.
NESTED = ("PCA", "Whitening", "KernelPCA", "FeatureMapPCA", "PCR", "PLSRegression", "PLSCanonical", "PLSSVD", "CCA")


def fitted(name, k=2, **options):
    return make(name, n_components=k, **options).fit(*tables(name))


@pytest.mark.parametrize("name", MODELS)
def test_scores_of_the_first_components(name):
    model = fitted(name)
    before = dict(vars(model))
    everything, first = model.transform(X), model.transform(X, n_components=1)
    assert first.shape == (len(X), 1)
    np.testing.assert_allclose(first, everything[:, :1], rtol=1e-10, atol=1e-12 * np.abs(everything).max())
    np.testing.assert_array_equal(model.transform(X, n_components=2), everything)
    np.testing.assert_array_equal(model.transform(X, n_components=None), everything)
    assert vars(model).keys() == before.keys()
    assert all(vars(model)[key] is value for key, value in before.items())


@pytest.mark.parametrize("name", [name for name in MODELS if hasattr(make(name), "inverse_transform")])
def test_the_other_scores_are_zero(name):
    model = fitted(name, **({"kernel": "linear"} if name == "KernelPCA" else {}))
    Z = model.transform(X)
    Z = np.column_stack([Z[:, 0], np.zeros(len(Z))])
    np.testing.assert_allclose(model.inverse_transform(Z[:, :1]), model.inverse_transform(Z), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("name", NESTED)
def test_they_are_those_of_a_smaller_fit(name):
    large, small = fitted(name, 2), fitted(name, 1)
    np.testing.assert_allclose(large.transform(X, n_components=1), small.transform(X), rtol=1e-8, atol=1e-8)
    if hasattr(large, "inverse_transform"):
        Z = small.transform(X)
        np.testing.assert_allclose(large.inverse_transform(Z), small.inverse_transform(Z), rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("name", ["PCA", "PCR", "PLSRegression"])
def test_errors_of_reconstruction(name):
    model = fitted(name)
    Z = model.transform(X, n_components=1)
    expected = ((X - model.inverse_transform(Z)) ** 2).sum(axis=1)
    np.testing.assert_allclose(model.reconstruction_error(X, n_components=1), expected, rtol=1e-8)
    centred = X - X.mean(axis=0)
    np.testing.assert_allclose(model.reconstruction_error(X, n_components=0), (centred**2).sum(axis=1), rtol=1e-10)


@pytest.mark.parametrize("model", [PCR(3), PCR(3, select="relevance"), PLSRegression(3), CCA(3)], ids=str)
def test_predictions(model):
    model.fit(X, Y)
    for k in (1, 2):
        smaller = type(model)(**(model.get_params() | {"n_components": k})).fit(X, Y)
        np.testing.assert_allclose(model.predict(X, n_components=k), smaller.predict(X), rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(model.predict(X, n_components=0), np.tile(Y.mean(axis=0), (len(X), 1)))


def test_predictions_of_a_regularized_cca_are_not_nested():
    model = CCA(2, regularization=0.3).fit(X, Y)
    with pytest.raises(ValueError, match="correlated"):
        model.predict(X, n_components=1)
    np.testing.assert_array_equal(model.predict(X, n_components=2), model.predict(X))


def test_both_tables():
    model = CCA(2).fit(X, Y)
    for found, expected in zip(model.transform(X, Y, n_components=1), model.transform(X, Y), strict=True):
        np.testing.assert_allclose(found, expected[:, :1], rtol=1e-10)
    back = model.inverse_transform(*model.transform(X, Y, n_components=1))
    assert [table.shape for table in back] == [X.shape, Y.shape]
    several = GCCA(2).fit([X, Y])
    for found, expected in zip(several.transform([X, Y], n_components=1), several.transform([X, Y]), strict=True):
        np.testing.assert_allclose(found, expected[:, :1], rtol=1e-10)
    assert [t.shape for t in several.inverse_transform(several.transform([X, Y], n_components=1))] == [X.shape, Y.shape]


def test_expectations_of_latent_variables_are_those_of_the_whole_model():
    incomplete = np.where(np.random.default_rng(0).random(X.shape) < 0.1, np.nan, X)
    for model in (
        PPCA(2),
        PPCA(2, scale=True),
        FactorAnalysis(2, rotation="oblimin"),
        FactorAnalysis(2, scores="bartlett"),
    ):
        model.fit(incomplete)
        np.testing.assert_allclose(
            model.transform(incomplete, n_components=1), model.transform(incomplete)[:, :1], rtol=1e-10
        )
    # For complete rows of PPCA, whose latent variables have independent posteriors, the others do not matter.
    model = PPCA(2).fit(X)
    sigma2, w = model.noise_variance_, model.loadings_[:, 0]
    expected = (X - model.mean_) @ w / (w @ w + sigma2)
    np.testing.assert_allclose(model.transform(X, n_components=1)[:, 0], expected, rtol=1e-8)


def test_sources_of_ica_are_those_of_most_variance():
    model = ICA(2).fit(X)
    u = model.transform(X, n_components=1)
    np.testing.assert_allclose(model.inverse_transform(u), model.mean_ + u @ model.mixing_[:, :1].T, rtol=1e-10)


@pytest.mark.parametrize("preimage", ["fixed-point", "ridge", Ridge(alpha=1e-3)], ids=str)
def test_pre_images_from_fewer_scores(preimage):
    """They are those of a smaller fit, whose regression knows no further scores."""
    options = {"kernel": "rbf", "gamma": 0.05, "preimage": preimage}
    large, small = KernelPCA(4, **options).fit(X), KernelPCA(2, **options).fit(X)
    Z = small.transform(X[:20])
    np.testing.assert_allclose(large.inverse_transform(Z), small.inverse_transform(Z), rtol=1e-6, atol=1e-6)
    # The map for all scores, which is kept, is still that for all scores.
    again = KernelPCA(4, **options).fit(X)
    Z = large.transform(X[:20])
    np.testing.assert_array_equal(large.inverse_transform(Z), again.inverse_transform(Z))


@pytest.mark.parametrize("kind", ["zca", "cholesky", "zca-cor"])
def test_whitened_columns_without_order(kind):
    model = Whitening(kind).fit(X)
    with pytest.raises(ValueError, match=f"kind='{kind}' .* no order"):
        model.transform(X, n_components=2)
    with pytest.raises(ValueError, match=f"kind='{kind}' .* no order"):
        model.inverse_transform(model.transform(X)[:, :2])


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("k", [0, 3, -1, 1.0, "1", True])
def test_other_numbers_are_refused(name, k):
    model = fitted(name)
    with pytest.raises(ValueError, match=r"n_components=.* must be a whole number between 1 and 2"):
        model.transform(X, n_components=k)


def test_scores_with_too_many_columns_are_refused():
    model = PCA(2).fit(X)
    with pytest.raises(ValueError, match=r"X has 3 columns, but 2 are needed, .* or fewer"):
        model.inverse_transform(np.ones((4, 3)))


def test_a_model_that_is_not_fitted():
    with pytest.raises(ValueError, match="not fitted"):
        PCA(2).transform(X, n_components=1)


@pytest.mark.parametrize("name", ["PCA", "PLSRegression", "KernelPCA"])
def test_names_of_data_frames(name):
    model = fitted(name)
    frame = pd.DataFrame(X, index=[f"row {i}" for i in range(len(X))])
    for output, cls in (("pandas", pd.DataFrame), ("polars", pl.DataFrame)):
        with config_context(transform_output=output):
            found = model.transform(frame.to_numpy(), n_components=1)
        assert isinstance(found, cls)
        assert list(found.columns) == list(model.get_feature_names_out()[:1])
    named = model.set_output(transform="pandas").transform(
        frame.rename(columns=str).set_axis(range(X.shape[1]), axis=1)
    )
    assert list(named.columns) == list(model.get_feature_names_out())


def test_the_argument_can_be_routed():
    with config_context(enable_metadata_routing=True):
        pipeline = make_pipeline(PCA(3).set_transform_request(n_components=True)).fit(X)
        np.testing.assert_array_equal(pipeline.transform(X, n_components=2), PCA(3).fit(X).transform(X, n_components=2))


@pytest.mark.parametrize("name", ["PCA", "FastICA", "KernelPCA", "PLSRegression"])
def test_the_classes_of_scikit_learn_have_it_too(name):
    model = getattr(lowdim.sklearn, name)(2).fit(X, Y)
    np.testing.assert_allclose(model.transform(X, n_components=1), model.transform(X)[:, :1], rtol=1e-10)


def test_files(tmp_path):
    model = PCA(3).fit(X)
    path = model.transform_to(X, tmp_path / "scores.npy", n_components=2)
    np.testing.assert_array_equal(np.load(path), model.transform(X, n_components=2))
    path = model.inverse_transform_to(path, tmp_path / "rows.npy")
    np.testing.assert_allclose(np.load(path), model.inverse_transform(model.transform(X, n_components=2)))
    pair = CCA(2).fit(X, Y)
    path = pair.transform_to(X, tmp_path / "variates.npy", y=Y, n_components=1)
    np.testing.assert_allclose(np.load(path), np.hstack(pair.transform(X, Y, n_components=1)))
    path = pair.predict_to(X, tmp_path / "predictions.npy", n_components=1)
    np.testing.assert_allclose(np.load(path), pair.predict(X, n_components=1))
