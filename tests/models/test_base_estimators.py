"""PCA and Whitening as scikit-learn estimators: its own checks, cloning, routing, output, printing, refitting."""

import pickle

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from examples import KERNEL_SOLVER_EXAMPLES, SPECTRAL, SUMMARIZES
from inputs import INPUTS, names, table
from lowdim import (
    CA,
    CCA,
    FAMD,
    GCCA,
    ICA,
    MCA,
    MFA,
    PCA,
    PCR,
    PLSSVD,
    PPCA,
    AutoEncoder,
    FactorAnalysis,
    FeatureMapPCA,
    KernelCCA,
    KernelPCA,
    PLSCanonical,
    PLSRegression,
    Whitening,
    models,
)
from lowdim.densities import DENSITIES
from lowdim.solvers import ICA_SOLVERS, LATENT_SOLVERS, REDUCTIONS, SOLVERS, Krylov, Triangle

X = np.round(8 * np.random.default_rng(0).standard_normal((20, 4)) @ np.diag([4.0, 3, 2, 1]))


# The kinds "zca" and "cholesky" are not here: the checks set n_components=1, which has no meaning there. Their tables
# have fewer rows than columns, about which whitening has to warn.
CHECKED = [
    PCA(),
    PCA(1),
    PCA(0.9),
    PCA("kaiser"),
    PCA(whiten=True, n_components=1),
    PCA(scale=True, solver="triangle"),
    *(PCA(1, solver=solver) for solver in SOLVERS),
    PCA(1, solver=Krylov(block=2)),
    PCA(1, solver="covariance", ddof=0),
    Whitening(),
    Whitening("pca-cor"),
    Whitening(n_components=1, regularization=0.1, relative=True),
    Whitening("pca-cor", n_components=1, regularization="oas", solver="triangle"),
    Whitening(n_components=1, regularization="ledoit-wolf"),
    PPCA(),
    PPCA(1),
    PPCA(1, solver="em"),
    PPCA(1, prior="vb"),
    PPCA(1, solver="triangle"),
    FactorAnalysis(),
    FactorAnalysis(1),
    *(FactorAnalysis(1, solver=solver) for solver in LATENT_SOLVERS),
    FactorAnalysis(2, rotation="varimax", scale=True),
    FactorAnalysis(1, rotation="oblimin", scores="bartlett"),
    PCR(),
    PCR(1),
    PCR(1, select="relevance", scale=True, solver="triangle"),
    PLSRegression(),
    PLSRegression(1),
    *(PLSRegression(1, solver=solver) for solver in REDUCTIONS),
    PLSRegression(1, algorithm="simpls", scale=(True, False), solver="gram"),
    PLSCanonical(),
    PLSCanonical(1, solver="triangle"),
    PLSSVD(),
    CCA(),
    CCA(1, regularization=0.1),
    CCA(1, regularization=(0.1, 0.5), scale=False, solver="gram"),
    GCCA(),
    GCCA(1, regularization=0.2),
    FeatureMapPCA(),
    FeatureMapPCA(1),
    # Networks with hidden layers, which need torch, are in test_auto_encoder_training.py.
    AutoEncoder(hidden=()),
    AutoEncoder(1, hidden=(), variational=True),
    ICA(),
    ICA(1),
    ICA(1, ortho=True),
    *(ICA(1, solver=solver) for solver in ICA_SOLVERS),
    *(ICA(1, density=density) for density in DENSITIES),
    ICA(1, solver="fixed-point", density="student"),
    ICA(1, n_init=2, extended=False, keep_sources=True),
    KernelCCA(),
    KernelCCA(1, kernel="linear"),
    KernelPCA(),
    KernelPCA(1, kernel="rbf"),
    *(KernelPCA(1, kernel=row.kernel, solver=solver) for solver, row in KERNEL_SOLVER_EXAMPLES.items()),
    KernelPCA(1, kernel="laplacian", solver="fourier"),
    KernelPCA(1, kernel="precomputed"),
    CA(),
    CA(1),
    MCA(),
    MCA(missing="passive"),
    FAMD(),
    FAMD(1, min_frequency=2),
    MFA(groups="x"),
]
# The default of a table is there twice.
CHECKED = list({repr(estimator): estimator for estimator in CHECKED}.values())


@pytest.mark.parametrize("name", models.__all__)
def test_every_model_is_checked(name):
    assert any(type(estimator).__name__ == name for estimator in CHECKED), f"add {name}() to CHECKED"


@parametrize_with_checks(CHECKED)
@pytest.mark.filterwarnings(
    "ignore::lowdim.errors.RankWarning",
    "ignore::lowdim.errors.SmallSampleWarning",
    "ignore::lowdim.errors.GaussianWarning",
    # Numbers are taken for categories, in which further rows have further levels.
    "ignore::lowdim.errors.CategoryWarning",
)
@pytest.mark.filterwarnings("ignore::lowdim.errors.HeywoodWarning")
def test_checks_of_scikit_learn(estimator, check):
    """No expected failures. Some checks score rows with redundant columns, or look for sources in Gaussian noise, which
    is worth the warning it gives."""
    check(estimator)


MODELS = {
    "PCA": lambda: PCA(2),
    "PCA whiten": lambda: PCA(2, whiten=True, scale=True, solver=Krylov(tol=1e-3)),
    "Whitening": lambda: Whitening("zca-cor", regularization=0.5, solver=Triangle()),
    "Whitening oas": lambda: Whitening("pca", n_components=2, regularization="oas"),
}
each_model = pytest.mark.parametrize("name", list(MODELS))


# ---- Copies


@each_model
def test_clone_keeps_parameters_and_nothing_else(name):
    model = MODELS[name]().fit(X)
    copy = clone(model)
    assert copy.get_params() == model.get_params()
    assert not hasattr(copy, "components_")
    np.testing.assert_array_equal(copy.fit(X).components_, model.components_)


@each_model
def test_pickle(name):
    model = MODELS[name]().partial_fit(X) if "whiten" not in name else MODELS[name]().fit(X)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.transform(X), model.transform(X))
    assert again.status_ is model.status_
    assert str(again.plan_) == str(model.plan_)


def test_parameters_can_be_set_by_name():
    assert PCA().set_params(n_components=3, solver="gram").fit(X).solver_ == "gram"
    assert repr(PCA(3, solver=Krylov(steps=4))) == repr(clone(PCA(3, solver=Krylov(steps=4))))


# ---- Names and output


@pytest.mark.parametrize("library", ["pandas", "polars"])
@each_model
def test_set_output(name, library):
    module = pytest.importorskip(library)
    model = MODELS[name]().set_output(transform=library)
    out = model.fit_transform(table(library, X))
    assert isinstance(out, module.DataFrame)
    if isinstance(model, PCA) or model.kind == "pca":
        assert list(out.columns) == [f"PC{k + 1}" for k in range(model.n_components_)]
    assert list(out.columns) == model.component_names_ == list(model.get_feature_names_out())
    np.testing.assert_allclose(out.to_numpy(), MODELS[name]().fit_transform(X))
    np.testing.assert_allclose(model.transform(table(library, X)).to_numpy(), out.to_numpy(), atol=1e-12)


def test_index_of_a_pandas_table_is_kept():
    frame = table("pandas", X).set_index(np.arange(100, 120))
    out = PCA(2).set_output(transform="pandas").fit(frame).transform(frame)
    assert list(out.index) == list(range(100, 120))


@pytest.mark.parametrize("solver", SPECTRAL)
def test_names_need_not_be_text(solver):
    import pandas as pd

    pca = PCA(2, solver=solver).fit(pd.DataFrame(X))
    np.testing.assert_allclose(pca.components_, PCA(2).fit(X).components_, atol=1e-9)
    bad = X.copy()
    bad[1, 3] = np.nan
    # Numbers that only count the columns are no names.
    with pytest.raises(ValueError, match=r"column 3, first in row 1"):
        PCA(2, solver=solver).fit(pd.DataFrame(bad))
    with pytest.raises(ValueError, match=r"column '13' \(number 3\), first in row 1"):
        PCA(2, solver=solver).fit(pd.DataFrame(bad, columns=range(10, 14)))


def test_names_are_forgotten_with_rows_that_have_none():
    pca = PCA(2).fit(table("pandas", X))
    assert list(pca.feature_names_in_) == names(4)
    assert not hasattr(pca.fit(X), "feature_names_in_")
    assert not hasattr(pca.fit(table("pandas", X)).fit([X]), "feature_names_in_")


def test_names_missing_at_transform_are_warned_about():
    pca = PCA(2).fit(table("pandas", X))
    with pytest.warns(UserWarning, match="X does not have valid feature names, but PCA was fitted with feature names"):
        pca.transform(X)


# ---- In pipelines


def test_sample_weight_is_routed_through_a_pipeline():
    w = np.random.default_rng(1).integers(1, 4, 20).astype(float)
    y = X @ [1.0, 2, 3, 4]
    with config_context(enable_metadata_routing=True):
        model = make_pipeline(
            PCA(2).set_fit_request(sample_weight=True), LinearRegression().set_fit_request(sample_weight=False)
        )
        model.fit(X, y, sample_weight=w)
    np.testing.assert_allclose(model[0].mean_, w @ X / w.sum())
    np.testing.assert_array_equal(model[0].components_, PCA(2).fit(X, sample_weight=w).components_)


def test_sample_weight_that_nobody_asked_for_is_refused():
    with config_context(enable_metadata_routing=True), pytest.raises(Exception, match="sample_weight"):
        make_pipeline(Whitening(), LinearRegression()).fit(X, X[:, 0], sample_weight=np.ones(20))


def test_grid_search_over_components_and_solvers():
    y = X[:, 0] + 0.1 * X[:, 1]
    grid = {"pca__n_components": [1, 2, 4], "pca__solver": SUMMARIZES, "pca__whiten": [False, True]}
    search = GridSearchCV(make_pipeline(PCA(), LinearRegression()), grid, cv=3).fit(X, y)
    assert search.best_params_["pca__n_components"] >= 2
    assert np.all(np.isfinite(search.cv_results_["mean_test_score"]))


def test_likelihood_as_the_score_of_a_search():
    search = GridSearchCV(PCA(), {"n_components": [1, 2, 3]}, cv=3).fit(X)
    assert np.isfinite(search.best_score_)


@pytest.mark.parametrize("name", ["csr_array", "polars", "array_api_strict"])
def test_a_pipeline_of_both(name):
    kind = INPUTS[name]
    model = make_pipeline(Whitening("zca"), PCA(2))
    scores = model.fit(kind.make(X)).transform(kind.make(X))
    np.testing.assert_allclose(np.asarray(scores).var(axis=0, ddof=1), 1.0, rtol=1e-9)
    back = model.inverse_transform(scores)
    assert np.asarray(back).shape == X.shape


# ---- How it prints


@pytest.mark.parametrize("model", [PCA(3), Whitening("zca")], ids=["PCA", "Whitening"])
def test_unfitted_it_prints_its_parameters(model):
    assert str(model) == repr(model)
    assert type(model).__name__ in model._repr_html_()


def test_fitted_it_prints_its_importance_table():
    pca = PCA(2).fit(X)
    text = str(pca)
    table = text.splitlines()
    assert table[0] == "PCA of 20 rows, 4 columns (covariance)"
    assert table[1].split() == ["std.", "deviation", "variance", "proportion", "cumulative"]
    assert [line.split()[0] for line in table[2:]] == ["PC1", "PC2"]
    assert float(table[2].split()[2]) == pytest.approx(pca.explained_variance_[0], rel=1e-4)


def test_many_components_are_cut_and_it_says_so():
    rows = np.random.default_rng(0).standard_normal((40, 20))
    text = str(PCA().fit(rows))
    assert "PC10 " in text and "... 10 more rows" in text
    assert "PC11" not in text


def test_in_a_notebook_it_is_a_table():
    html = PCA(2).fit(X)._repr_html_()
    assert "<table>" in html and "PC2" in html and "cumulative" in html
    assert "PCA of 20 rows, 4 columns" in html
    assert "text/html" in PCA(2).fit(X)._repr_mimebundle_()
    assert "<table>" not in PCA(2)._repr_html_().split("<style>")[0]


def test_it_prints_results_of_other_namespaces():
    for name in ("array_api_strict", "torch"):
        assert "variance" in str(PCA(2).fit(INPUTS[name].make(X)))
