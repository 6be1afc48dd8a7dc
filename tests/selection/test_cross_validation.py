"""Cross-validation in one pass against the slow way: refitting on rows."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.compose import make_column_transformer
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    LeaveOneGroupOut,
    LeaveOneOut,
    RepeatedKFold,
    ShuffleSplit,
    StratifiedKFold,
    TimeSeriesSplit,
)
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from inputs import INPUTS, with_missing
from lowdim import (
    CCA,
    ICA,
    PCA,
    PCR,
    PPCA,
    FactorAnalysis,
    PLSRegression,
    bootstrap,
    choose_n_components,
    cross_validate,
    models,
    permutation_test,
)
from lowdim.solvers import Newton
from lowdim.sources import open_source

random = np.random.default_rng(7)
N, P, Q = 120, 7, 2
X = random.standard_normal((N, 3)) @ random.standard_normal((3, P)) * 2 + random.standard_normal((N, P)) + 50.0
Y = X[:, :3] @ random.standard_normal((3, Q)) + random.standard_normal((N, Q))
GROUPS = random.integers(0, 5, N)

#: What a number of folds stands for.
SHUFFLED = KFold(5, shuffle=True, random_state=0)
MODELS = {
    "PCA": PCA(),
    "PCA scale": PCA(scale=True),
    "PCA ddof=0": PCA(ddof=0),
    "PPCA": PPCA(),
    "PPCA scale": PPCA(scale=True),
    "PPCA em": PPCA(solver="em"),
    # Random starts are tested with factor analysis itself; here they would cost most of the time and prove nothing.
    "FactorAnalysis": FactorAnalysis(solver=Newton(n_init=0)),
    "PCR": PCR(),
    "PCR relevance scale": PCR(select="relevance", scale=True),
    "PLSRegression": PLSRegression(),
    "PLSRegression simpls": PLSRegression(algorithm="simpls", scale=False),
    "CCA": CCA(),
    "CCA ridge": CCA(regularization=0.3),
}
SPLITTERS = {
    "KFold": KFold(5),
    "shuffled": KFold(4, shuffle=True, random_state=0),
    "repeated": RepeatedKFold(n_splits=4, n_repeats=3, random_state=0),
    "ShuffleSplit": ShuffleSplit(3, test_size=0.3, random_state=0),
    "TimeSeriesSplit": TimeSeriesSplit(3),
    "GroupKFold": GroupKFold(3),
    "LeaveOneGroupOut": LeaveOneGroupOut(),
}


def test_every_model_that_can_be_cross_validated_is_here():
    able = {name for name in models.__all__ if hasattr(getattr(models, name)(), "held_out_scorer")}
    # Tables with categories have tests of their own, in test_cross_validation_categories.py.
    assert able - {"MCA", "FAMD", "MFA"} == {type(model).__name__ for model in MODELS.values()}


def tables(model):
    return (X, Y) if isinstance(model, PCR | PLSRegression | CCA) else (X, None)


def too_little_for(result):
    """One byte less of memory than these summaries of folds need; they may take half of it."""
    return 2 * result.plan.n_bytes - 1


def counts_of(model):
    """Seven columns identify three factors; beyond that, what a fit of factors predicts depends on where it stopped."""
    return range(1, 3 if isinstance(model, CCA) else 4 if isinstance(model, FactorAnalysis) else 5)


def correlation(t, u, weights):
    C = np.cov(t, u, fweights=weights.astype(int))
    return C[0, 1] / np.sqrt(C[0, 0] * C[1, 1])


def slow(model, X, y, pairs, counts, weights=None):
    """Fits on rows, one for each split and number of components."""
    weights = np.ones(len(X)) if weights is None else weights
    scores = []
    for train, test in pairs:
        row = []
        for k in counts:
            fit = clone(model).set_params(n_components=k)
            w, v = weights[train], weights[test]
            if y is None:
                fit.fit(X[train], sample_weight=w)
                row.append(np.average(fit.score_samples(X[test]), weights=v))
            elif isinstance(model, CCA):
                T, U = fit.fit(X[train], y[train], sample_weight=w).transform(X[test], y[test])
                row.append(sum(correlation(T[:, j], U[:, j], v) for j in range(k)))
            else:
                errors = fit.fit(X[train], y[train], sample_weight=w).predict(X[test]) - y[test]
                row.append(np.average((errors**2).reshape(len(test), -1), axis=0, weights=v).mean())
        scores.append(row)
    return np.array(scores)


@pytest.mark.parametrize("cv", list(SPLITTERS))
@pytest.mark.parametrize("name", list(MODELS))
@pytest.mark.filterwarnings("ignore::lowdim.errors.HeywoodWarning")
def test_one_pass_agrees_with_refitting_on_rows(name, cv):
    model, splitter = MODELS[name], SPLITTERS[cv]
    A, B = tables(model)
    groups = GROUPS if "Group" in cv else None
    found = cross_validate(model, A, B, cv=splitter, groups=groups, n_components=counts_of(model))
    expected = slow(model, A, B, splitter.split(A, groups=groups), counts_of(model))
    assert found.n_passes == 1
    np.testing.assert_allclose(found.per_split[:, 0], expected, rtol=1e-8)


class Rescaled(TransformerMixin, BaseEstimator):
    """Rows minus their mean over the fit, divided by the largest deviation: it depends on the rows of the fit."""

    def fit(self, X, y=None):
        self.mean_ = np.mean(X, axis=0)
        self.size_ = np.abs(X - self.mean_).max()
        return self

    def transform(self, X):
        return (X - self.mean_) / self.size_


@pytest.mark.filterwarnings("ignore::lowdim.errors.HeywoodWarning")
@pytest.mark.parametrize("cv", list(SPLITTERS))
@pytest.mark.parametrize("name", list(MODELS))
def test_the_steps_of_a_pipeline_are_fitted_to_the_training_rows(name, cv):
    model, splitter = MODELS[name], SPLITTERS[cv]
    A, B = tables(model)
    groups = GROUPS if "Group" in cv else None
    pipeline = Pipeline([("rescale", Rescaled()), ("model", model)])
    found = cross_validate(pipeline, A, B, cv=splitter, groups=groups, n_components=counts_of(model))
    expected = []
    for train, test in splitter.split(A, groups=groups):
        step = Rescaled().fit(A[train])
        expected += [slow(model, step.transform(A), B, [(train, test)], counts_of(model))[0]]
    np.testing.assert_allclose(found.per_split[:, 0], expected, rtol=1e-8)
    assert not hasattr(pipeline["rescale"], "mean_")


@pytest.mark.parametrize("name", list(MODELS))
def test_a_pipeline_of_one_step_is_its_model(name):
    model = MODELS[name]
    A, B = tables(model)
    one, whole = (cross_validate(each, A, B, cv=4) for each in (model, make_pipeline(model)))
    np.testing.assert_allclose(whole.per_split, one.per_split, rtol=1e-8)
    for attribute in ("n_components", "weights", "n_samples", "what", "settings"):
        np.testing.assert_array_equal(getattr(whole, attribute), getattr(one, attribute))
    if one.by_response is not None:
        np.testing.assert_allclose(whole.by_response, one.by_response, rtol=1e-8)
        np.testing.assert_allclose(whole.r2, one.r2, rtol=1e-8)
    assert whole.table().columns == one.table().columns
    assert (whole.best, whole.one_standard_error) == (one.best, one.one_standard_error)


def test_scaling_in_a_pipeline_is_scaling_by_the_model():
    scaled = make_pipeline(StandardScaler(), PLSRegression(scale=False))
    expected = cross_validate(PLSRegression(scale=(True, False)), X, Y[:, 0], cv=KFold(4))
    np.testing.assert_allclose(cross_validate(scaled, X, Y[:, 0], cv=KFold(4)).rmse, expected.rmse, rtol=1e-8)
    grid = {"standardscaler__with_std": [True, False]}
    both = cross_validate(scaled, X, Y[:, 0], cv=KFold(4), param_grid=grid)
    unscaled = cross_validate(PLSRegression(scale=False), X, Y[:, 0], cv=KFold(4))
    np.testing.assert_allclose(both.rmse, [expected.rmse[0], unscaled.rmse[0]], rtol=1e-8)
    assert both.settings == [{"standardscaler__with_std": True}, {"standardscaler__with_std": False}]


def test_a_pipeline_takes_tables_with_text_and_columns_by_name():
    import pandas as pd

    frame = pd.DataFrame(X, columns=list("abcdefg")).assign(kind=np.where(GROUPS > 2, "low", "high"), y=Y[:, 0])
    encode = make_column_transformer((OneHotEncoder(drop="first"), ["kind"]), remainder="passthrough")
    found = cross_validate(make_pipeline(encode, PLSRegression()), frame, "y", cv=4)
    encoded = np.column_stack([GROUPS > 2, X]).astype(float)
    np.testing.assert_allclose(found.rmse, cross_validate(PLSRegression(), encoded, Y[:, 0], cv=4).rmse, rtol=1e-8)
    as_list = cross_validate(make_pipeline(PLSRegression()), X.tolist(), Y[:, 0].tolist(), cv=4)
    sparse_rows = cross_validate(make_pipeline(PLSRegression()), sparse.csr_array(X), Y[:, 0], cv=4)
    np.testing.assert_allclose(as_list.rmse, sparse_rows.rmse, rtol=1e-8)


def test_pipelines_that_are_refused():
    pipeline = make_pipeline(StandardScaler(), PLSRegression())
    with pytest.raises(TypeError, match=r"StandardScaler cannot be cross-validated here.*and a Pipeline"):
        cross_validate(make_pipeline(PCA(), StandardScaler()), X)
    with pytest.raises(ValueError, match="sample_weight cannot be used with a Pipeline"):
        cross_validate(pipeline, X, Y, sample_weight=np.ones(N))
    with pytest.raises(TypeError, match=r"X is of type function\. A Pipeline is fitted to chosen rows"):
        cross_validate(pipeline, lambda: iter([X]), Y)
    with pytest.raises(ValueError, match=r"options other than plsregression__n_components"):
        cross_validate(pipeline, X, Y, param_grid={"plsregression__n_components": [1, 2]})
    for function in (bootstrap, permutation_test):
        with pytest.raises(TypeError, match=r"\(pipeline\[-1\], pipeline\[:-1\].fit_transform\(X\)\)"):
            function(make_pipeline(StandardScaler(), PCA()), X)


@pytest.mark.parametrize("name", list(MODELS))
@pytest.mark.filterwarnings("ignore::lowdim.errors.HeywoodWarning")
def test_weights_are_repetitions(name):
    model, weights = MODELS[name], random.integers(0, 4, N).astype(float)
    A, B = tables(model)
    found = cross_validate(model, A, B, cv=KFold(4), n_components=counts_of(model), sample_weight=weights)
    # Rows of weight zero are as if they were absent.
    rows = np.flatnonzero(weights > 0)
    pairs = [(rows[r], rows[t]) for r, t in KFold(4).split(rows)]
    np.testing.assert_allclose(found.per_split[:, 0], slow(model, A, B, pairs, counts_of(model), weights), rtol=1e-8)


@pytest.mark.parametrize("offset", [0.0, 1e8])
@pytest.mark.parametrize("scale", [1e-120, 1.0, 1e120])
@pytest.mark.parametrize("name", ["PCA", "PPCA", "FactorAnalysis", "PLSRegression", "CCA"])
def test_offsets_and_scales_do_no_harm(name, scale, offset):
    """The log-likelihood moves by ln scale a column, errors by its square, and correlations not at all."""
    model = MODELS[name]
    A, B = tables(model)
    whole = np.round(A * 2**20) / 2**20
    plain = cross_validate(model, whole, B, n_components=counts_of(model)).mean
    moved = cross_validate(model, (whole + offset) * scale, B, n_components=counts_of(model)).mean
    if B is None:
        moved = moved + P * np.log(scale)
    np.testing.assert_allclose(moved, plain, rtol=1e-8 if offset == 0.0 else 1e-5)


def test_small_noise_is_seen_by_a_second_look_without_squares():
    """Products of rows lose what is 1e-9 of the largest variance; the R factors of folds do not."""
    fine = (X[:, :1] - 50.0) * np.ones(4) + 1e-5 * random.standard_normal((N, 4))
    found = cross_validate(PCA(), fine, n_components=[1, 2])
    assert found.n_passes == 2
    expected = slow(PCA(solver="triangle"), fine, None, SHUFFLED.split(fine), [1, 2])
    np.testing.assert_allclose(found.per_split[:, 0], expected, rtol=1e-8)
    y = fine @ np.ones(4) + 1e-5 * random.standard_normal(N)
    found = cross_validate(PLSRegression(scale=False), fine, y, n_components=[1, 2])
    expected = slow(PLSRegression(scale=False, solver="triangle"), fine, y, SHUFFLED.split(fine), [1, 2])
    assert found.n_passes == 2
    np.testing.assert_allclose(found.per_split[:, 0], expected, rtol=1e-8)


@pytest.mark.parametrize("name", list(INPUTS))
def test_every_input_gives_the_same_scores(name):
    kind = INPUTS[name]
    whole = np.round(X)
    labels = np.arange(N) % 3
    found = cross_validate(PCA(), kind.make(whole), cv=labels, n_components=[1, 2, 3])
    expected = cross_validate(PCA(), whole, cv=labels, n_components=[1, 2, 3])
    np.testing.assert_allclose(found.per_split, expected.per_split, rtol=1e-5)
    assert found.n_passes == 1
    pairs = cross_validate(PLSRegression(), kind.make(whole), kind.weights(Y[:, 0]), cv=labels, n_components=[1, 2, 3])
    plain = cross_validate(PLSRegression(), whole, Y[:, 0], cv=labels, n_components=[1, 2, 3])
    np.testing.assert_allclose(pairs.per_split, plain.per_split, rtol=1e-4)


def test_rows_are_read_once():
    reads = []

    def blocks():
        for i in (0, 50):
            reads.append(i)
            yield X[i : i + 50] if i == 0 else X[i:]

    result = cross_validate(PCA(), blocks(), cv=np.arange(N) % 4, n_components=[1, 2])
    assert result.n_passes == 1
    assert reads == [0, 50]


def test_rows_with_missing_entries_are_fitted_anew():
    incomplete = with_missing(X, 0.05)
    found = cross_validate(PPCA(), incomplete, cv=3, n_components=[1, 2])
    assert found.n_passes == 3
    expected = slow(PPCA(), incomplete, None, KFold(3, shuffle=True, random_state=0).split(incomplete), [1, 2])
    np.testing.assert_allclose(found.per_split[:, 0], expected, rtol=1e-6)
    with pytest.raises(ValueError, match="NaN"):
        cross_validate(PCA(), incomplete)


@pytest.mark.parametrize("model", [PCA(), PLSRegression(), CCA(regularization=0.5), MODELS["FactorAnalysis"]], ids=str)
def test_tables_too_wide_for_summaries_are_fitted_anew(model, memory):
    A = np.hstack([X, X @ random.standard_normal((P, 33)) + random.standard_normal((N, 33))])
    B = tables(model)[1]
    expected = cross_validate(model, A, B, cv=3, n_components=[1, 2])
    assert expected.plan.solver.name == "summaries"
    memory(too_little_for(expected))
    found = cross_validate(model, A, B, cv=3, n_components=[1, 2])
    assert found.n_passes == 3
    np.testing.assert_allclose(found.per_split, expected.per_split, rtol=1e-7)


def test_fewer_rows_than_columns():
    wide = random.standard_normal((25, 2)) @ random.standard_normal((2, 60)) + 0.3 * random.standard_normal((25, 60))
    y = wide[:, :3].sum(axis=1)
    for model in (PCA(), PPCA(scale=True)):
        found = cross_validate(model, wide, n_components=range(1, 6))
        expected = slow(model, wide, None, SHUFFLED.split(wide), range(1, 6))
        np.testing.assert_allclose(found.per_split[:, 0], expected, rtol=1e-8)
    found = cross_validate(PLSRegression(), wide, y, cv=LeaveOneOut(), n_components=range(1, 5))
    expected = slow(PLSRegression(), wide, y, LeaveOneOut().split(wide), range(1, 5))
    np.testing.assert_allclose(found.per_split[:, 0], expected, rtol=1e-7)
    assert len(found.per_split) == 25


def test_rows_without_noise_have_all_their_density_in_a_subspace():
    """Three columns and copies of them lie in three dimensions, on both sides of every split."""
    found = cross_validate(PCA(), X[:, [0, 1, 2, 0, 1]], n_components=range(1, 5))
    assert np.all(np.isfinite(found.mean[0, :2]))
    assert np.isposinf(found.mean[0, 2])
    assert found.best == found.one_standard_error == 3
    assert "best" in str(found)


def test_rows_that_leave_the_subspace_of_the_others_have_no_density():
    rows = np.zeros((20, 5))
    rows[:10, 0], rows[10:, 1] = np.arange(10.0), np.arange(10.0)
    found = cross_validate(PCA(), rows, cv=KFold(2), n_components=[1])
    assert np.all(np.isneginf(found.mean))
    assert "no model has a finite mean" in str(found)
    assert "no finite mean" in repr(found)
    with pytest.raises(ValueError, match="drop columns"):
        _ = found.best


@pytest.mark.parametrize("name", ["PCA", "PPCA", "PPCA em", "PPCA scale", "FactorAnalysis"])
def test_no_components_is_a_model_too(name):
    """Columns that have nothing in common: of one variance for principal components, of their own for factors."""
    model = MODELS[name]
    found = cross_validate(model, X, n_components=[0, 1])
    for (train, test), score in zip(SHUFFLED.split(X), found.per_split[:, 0, 0], strict=True):
        variances = X[train].var(axis=0, ddof=getattr(model, "ddof", 0))
        if not isinstance(model, FactorAnalysis) and not model.scale:
            variances = np.full(P, variances.mean())
        Z = X[test] - X[train].mean(axis=0)
        expected = -0.5 * np.mean(np.sum(Z**2 / variances + np.log(2 * np.pi * variances), axis=1))
        assert score == pytest.approx(expected, rel=1e-9)


def test_entries_that_are_not_stored_are_unknown():
    mask = np.random.default_rng(3).random(X.shape) < 0.1
    stored = sparse.csr_array(np.where(mask, 0.0, X))
    incomplete = np.where(mask, np.nan, X)
    found = cross_validate(PPCA(missing="unstored"), stored, cv=3, n_components=[1, 2])
    expected = cross_validate(PPCA(), incomplete, cv=3, n_components=[1, 2])
    np.testing.assert_allclose(found.per_split, expected.per_split, rtol=1e-6)


def test_labels_of_other_kinds():
    labels = np.arange(N) % 4
    expected = cross_validate(PCA(), X, cv=labels, n_components=[1]).per_split
    kinds = [labels.tolist(), labels.astype(str)]
    da = pytest.importorskip("dask.array", reason="Dask is not installed")
    for kind in [*kinds, da.from_array(labels, chunks=50)]:
        np.testing.assert_allclose(cross_validate(PCA(), X, cv=kind, n_components=[1]).per_split, expected)
    by_groups = cross_validate(PCA(), (b for b in (X[:50], X[50:])), cv=None, groups=labels, n_components=[1])
    np.testing.assert_allclose(by_groups.per_split, expected)
    with pytest.raises(ValueError, match="NaN or None"):
        cross_validate(PCA(), X, cv=[None, *range(N - 1)])
    y = (Y[:, 0] > 0).astype(float)
    for given in (y.tolist(), y[:, None]):
        assert len(cross_validate(PLSRegression(), X, given, cv=StratifiedKFold(3), n_components=[1]).per_split) == 3


def test_parameters_are_tried_in_the_same_reading():
    grid = {"regularization": [0.0, 0.2, 0.9], "scale": [True, False]}
    result = cross_validate(CCA(), X, Y, param_grid=grid)
    assert result.n_passes == 1
    assert result.per_split.shape == (5, 6, 2)
    for i, setting in enumerate(result.settings):
        alone = cross_validate(CCA(**setting), X, Y)
        np.testing.assert_allclose(result.per_split[:, i], alone.per_split[:, 0], rtol=1e-12)
    assert result.best_setting in result.settings
    table = result.table()
    assert list(table) == ["regularization", "scale", "mean", "std. error", "choice"]
    assert len(table) == 12 and table.rows == [1, 2] * 6
    best = [i for i, mark in enumerate(table["choice"]) if "best" in mark]
    assert [table["mean"][i] for i in best] == [table["mean"].max()]


def test_regression_scores():
    result = cross_validate(PLSRegression(), X, Y, n_components=range(4))
    np.testing.assert_allclose(result.mean[0, 0], ((Y - _fold_means(Y)) ** 2).mean(), rtol=1e-10)
    assert result.by_response.shape == (5, 1, 4, 2)
    np.testing.assert_allclose(result.by_response.mean(axis=-1), result.per_split)
    np.testing.assert_allclose(result.rmse, np.sqrt(result.mean))
    for name in ("rmse", "r2"):
        with pytest.raises(AttributeError, match="log-likelihood"):
            getattr(cross_validate(PCA(), X), name)


@pytest.mark.parametrize("counts", [range(4), [2, 3]], ids=["from 0", "from 2"])
@pytest.mark.parametrize("summaries", [True, False], ids=["summaries", "refit"])
def test_shares_of_the_variance_that_are_predicted(counts, summaries, memory):
    """R2 is that of scikit-learn for all held-out predictions, if they are compared with the means of the fit."""
    if not summaries:
        memory(too_little_for(cross_validate(PLSRegression(), X, Y, n_components=counts)))
    result = cross_validate(PLSRegression(), X, Y, n_components=counts)
    assert result.plan.solver.name == ("summaries" if summaries else "refit")
    assert list(result.n_components) == list(counts)
    errors, spread = (np.zeros((4, 2)), np.zeros(2))
    for train, test in SHUFFLED.split(X):
        model = PLSRegression(3).fit(X[train], Y[train])
        errors += [((Y[test] - model.predict(X[test], n_components=k)) ** 2).sum(axis=0) for k in range(4)]
        spread += ((Y[test] - Y[train].mean(axis=0)) ** 2).sum(axis=0)
    expected = (1 - errors / spread).mean(axis=1)[list(counts)]
    np.testing.assert_allclose(result.r2[0], expected, atol=1e-10)
    np.testing.assert_allclose(result.table()["R2"], expected, atol=1e-10)
    np.testing.assert_allclose(result.table()["RMSEP"], np.sqrt(errors.sum(axis=1) / Y.size)[list(counts)], rtol=1e-9)


def test_a_response_that_does_not_vary_has_no_variance_to_predict():
    result = cross_validate(PLSRegression(scale=False), X, np.column_stack([X[:, 0], np.full(len(X), 3.0)]))
    alone = cross_validate(PLSRegression(scale=False), X, X[:, 0])
    np.testing.assert_allclose(result.r2, (alone.r2 + 1.0) / 2.0, atol=1e-9)


def test_settings_may_be_anything():
    scales = [(True, False), (False, False)]
    table = cross_validate(PLSRegression(), X, Y, n_components=[1], param_grid={"scale": scales}).table()
    assert list(table["scale"]) == [str(scale) for scale in scales]
    assert table.to_polars()["scale"].to_list() == [str(scale) for scale in scales]


def test_the_choices_are_marked():
    result = cross_validate(PLSRegression(), X, Y, n_components=[1, 2, 3])
    marks = dict(zip(result.table().rows, result.table()["choice"], strict=True))
    assert "best" in marks[result.best] and "one std. error" in marks[result.one_standard_error]
    assert sum(mark != "" for mark in marks.values()) == len({result.best, result.one_standard_error})


def _fold_means(Y):
    """Of each row, the mean of the rows of the other folds."""
    out = np.empty_like(Y)
    for train, test in SHUFFLED.split(Y):
        out[test] = Y[train].mean(axis=0)
    return out


def test_averages_count_rows_not_splits():
    labels = np.repeat([0, 1, 2], [20, 30, 70])
    result = cross_validate(PCA(), X, cv=labels, n_components=[2])
    each = np.concatenate([PCA(2).fit(X[labels != g]).score_samples(X[labels == g]) for g in range(3)])
    np.testing.assert_allclose(result.mean[0, 0], each.mean(), rtol=1e-12)
    np.testing.assert_allclose(result.standard_error[0, 0], result.per_split[:, 0, 0].std(ddof=1) / np.sqrt(3))


def test_one_standard_error_rule():
    result = cross_validate(PCA(), X, n_components=range(1, 7))
    best = list(result.n_components).index(result.best)
    reach = result.mean[0, best] - result.standard_error[0, best]
    smallest = next(int(k) for k, m in zip(result.n_components, result.mean[0], strict=True) if m >= reach)
    assert result.one_standard_error == smallest <= result.best == 3


@pytest.mark.parametrize("weights", [None, random.integers(1, 4, N).astype(float)])
@pytest.mark.parametrize("n_noise", [0, N])
def test_one_sigma_rule(weights, n_noise):
    """By the residuals of held-out rows, which are those of fits; rows count as often as their weights say."""
    A, y, counts = np.hstack([X, random.standard_normal((N, n_noise))]), Y[:, 0], range(1, 7)
    w = np.ones(N) if weights is None else weights
    residuals = np.empty((len(counts), N))
    for train, test in KFold(5).split(A):
        model = PLSRegression(len(counts)).fit(A[train], y[train], sample_weight=w[train])
        residuals[:, test] = [y[test] - model.predict(A[test], n_components=k) for k in counts]
    residuals = np.repeat(residuals, w.astype(int), axis=1)
    rmse, n = np.sqrt(np.mean(residuals**2, axis=1)), residuals.shape[1]
    within = rmse - residuals.std(axis=1, ddof=1) / np.sqrt(n) < rmse.min()
    found = cross_validate(PLSRegression(), A, y, cv=KFold(5), n_components=counts, sample_weight=weights)
    np.testing.assert_allclose(found.rmse[0], rmse, rtol=1e-8)
    averages = np.average(found.mean_residuals[:, 0, :, 0], axis=0, weights=found.weights)
    np.testing.assert_allclose(averages, residuals.mean(axis=1), atol=1e-8)
    assert found.one_sigma == 1 + np.flatnonzero(within)[0] <= found.best
    again = cross_validate(make_pipeline(PLSRegression()), A, y, cv=KFold(5), n_components=counts)
    if weights is None:
        assert again.one_sigma == found.one_sigma


def test_one_sigma_needs_one_response():
    for model, tables in ((PCA(), (X,)), (PLSRegression(), (X, Y))):
        with pytest.raises(AttributeError, match="one_sigma is for regressions with one response"):
            _ = cross_validate(model, *tables).one_sigma
    exact = cross_validate(PLSRegression(), X, X @ np.arange(1.0, P + 1.0), n_components=[P - 1, P])
    assert exact.one_sigma <= exact.best


def test_the_estimator_is_left_alone_and_nothing_warns():
    model = PLSRegression(scale=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cross_validate(model, np.column_stack([X, X[:, 0]]), Y, n_components=range(1, 9))
    assert vars(model) == vars(PLSRegression(scale=False))


def test_labels_and_groups():
    names = np.array(["a", "b", "c", "d", "e"])[GROUPS]
    by_name = cross_validate(PCA(), X, cv=names, n_components=[1, 2])
    by_group = cross_validate(PCA(), X, cv=None, groups=names, n_components=[1, 2])
    np.testing.assert_allclose(by_name.per_split, by_group.per_split, rtol=1e-12)
    y = (Y[:, 0] > np.median(Y[:, 0])).astype(float)
    stratified = cross_validate(PLSRegression(), X, y, cv=StratifiedKFold(3), n_components=[1])
    expected = slow(PLSRegression(), X, y, StratifiedKFold(3).split(X, y), [1])
    np.testing.assert_allclose(stratified.per_split[:, 0], expected, rtol=1e-8)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"cv": 1}, "cv=1 must be at least 2"),
        ({"cv": 1000}, "at most 120"),
        ({"cv": "five"}, "must be a number of folds"),
        ({"cv": 2.5}, "must be a number of folds"),
        ({"cv": np.zeros(N)}, "at least two labels"),
        ({"cv": np.zeros(3)}, "one entry for each of the 120 rows"),
        ({"cv": np.full(N, np.nan)}, "NaN"),
        ({"cv": [(np.arange(5), np.arange(3))]}, "rows that it trains on"),
        ({"cv": [(np.arange(5), np.array([500]))]}, "between 0 and 119"),
        ({"cv": [(np.array([1, 1, 2]), np.array([5]))]}, "twice"),
        ({"cv": [(np.array([1]), np.array([5]))]}, "trains on 1 row"),
        ({"cv": []}, "no split"),
        ({"groups": np.zeros(4)}, "one entry for each of the 120 rows"),
        ({"n_components": -1}, "between 0 and 7"),
        ({"n_components": range(1, 50)}, "between 0 and 7"),
        ({"cv": np.arange(N) % 3, "groups": GROUPS}, "groups would be ignored"),
        ({"cv": b"abc"}, "must be a number of folds"),
        ({"cv": {"a": 1}}, "must be a number of folds"),
        ({"param_grid": {"n_components": [1, 2]}}, "have their own argument"),
        ({"param_grid": [{"scale": [True]}]}, "must be a dict"),
        ({"n_components": [1.5]}, "whole numbers"),
        ({"n_components": []}, "whole numbers"),
        ({"n_components": "cv"}, "whole numbers"),
        ({"sample_weight": np.ones(3)}, "one entry per row"),
        (
            {"cv": np.repeat([0, 1, 2], [48, 48, 24]), "sample_weight": np.repeat([1.0, 0.0], [96, 24])},
            "no row of positive weight to leave out",
        ),
        ({"param_grid": {"regularisation": [1]}}, "regularisation"),
    ],
)
def test_bad_input_is_refused(options, message):
    with pytest.raises((ValueError, TypeError), match=message):
        cross_validate(PCA(), X, **options)


def test_other_refusals():
    with pytest.raises(ValueError, match="class of each row"):
        cross_validate(PCA(), X, cv=StratifiedKFold(3))
    with pytest.raises(TypeError, match=r"ICA cannot be cross-validated here; lowdim's PCA"):
        cross_validate(ICA(), X)
    with pytest.raises(ValueError, match="requires y"):
        cross_validate(PLSRegression(), X)
    with pytest.raises(ValueError, match="no variance along"):
        cross_validate(CCA(), X, Y, cv=LeaveOneOut())


@pytest.mark.parametrize("make", [lambda A: iter([A[:60], A[60:]]), lambda A: lambda: iter([A[:60], A[60:]])])
def test_rows_of_unknown_number_are_gathered(make):
    for model, tables in ((PCA(), (X,)), (PPCA(), (X,)), (PLSRegression(), (X, Y)), (CCA(), (X, Y))):
        found = cross_validate(model, *map(make, tables), sample_weight=np.ones(len(X)))
        np.testing.assert_array_equal(found.per_split, cross_validate(model, *tables).per_split)
    with pytest.raises(ValueError, match=f"one entry per row.*for {len(X)} rows"):
        cross_validate(PCA(), make(X), sample_weight=np.ones(3))
    with pytest.raises(ValueError, match="cross-validation needs to know the number of rows"):
        PCA().plan(open_source(make(X)), cv=5)


def test_sparse_tables():
    S = sparse.random_array((90, 12), density=0.4, rng=1, format="csr")
    found = cross_validate(PCA(), S, cv=3, n_components=[1, 2])
    expected = cross_validate(PCA(), S.toarray(), cv=3, n_components=[1, 2])
    np.testing.assert_allclose(found.per_split, expected.per_split, rtol=1e-9)


def test_printing():
    text = str(cross_validate(PLSRegression(), X, Y, n_components=[1, 2, 3]))
    assert "mean squared error of rows left out, 5 folds of 120 shuffled rows" in text
    assert text.count("best") == 2 and "RMSEP" in text and "R2" in text
    result = cross_validate(CCA(), X, Y, param_grid={"regularization": [0.0, 0.5]})
    assert "best: regularization=" in str(result)
    assert "CrossValidation(CCA, best n_components=" in repr(result)
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    assert isinstance(result.to_pandas(), pd.DataFrame)


def test_a_model_without_components_is_scored_from_rows_as_from_summaries(memory):
    model = MODELS["FactorAnalysis"]
    expected = cross_validate(model, X, cv=3, n_components=[0, 1])
    memory(too_little_for(expected))
    found = cross_validate(model, X, cv=3, n_components=[0, 1])
    assert (expected.plan.solver.name, found.plan.solver.name) == ("summaries", "refit")
    np.testing.assert_allclose(found.per_split, expected.per_split, rtol=1e-7)
    with pytest.raises(ValueError, match="n_components=0"):
        cross_validate(PPCA(), with_missing(X, 0.05), cv=3, n_components=[0, 1])


def test_sparse_responses():
    y = np.round(Y[:, :1] / 40)
    found = cross_validate(PLSRegression(), X, sparse.csr_array(y), n_components=[1, 2])
    np.testing.assert_allclose(found.per_split, cross_validate(PLSRegression(), X, y, n_components=[1, 2]).per_split)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array, lambda block: block[:, :1], lambda block: block[:, 0]])
def test_responses_in_blocks_of_different_lengths(form):
    blocks = [form(Y[:50]), form(Y[50:51]), form(Y[51:])]
    whole = np.concatenate([block.toarray() if sparse.issparse(block) else block for block in blocks])
    found = cross_validate(PLSRegression(), [X[:70], X[70:]], blocks, n_components=[1, 2])
    expected = slow(PLSRegression(), X, whole, SHUFFLED.split(X), [1, 2])
    np.testing.assert_allclose(found.per_split[:, 0], expected, rtol=1e-8)


def test_responses_as_a_list_of_rows():
    found = cross_validate(PLSRegression(), X, list(Y), n_components=[1, 2])
    np.testing.assert_allclose(found.per_split, cross_validate(PLSRegression(), X, Y, n_components=[1, 2]).per_split)


def test_classes_in_blocks():
    classes = random.integers(0, 3, N)
    splitter, blocks = StratifiedKFold(3), [classes[:50], classes[50:]]
    found = cross_validate(PLSRegression(), [X[:70], X[70:]], blocks, cv=splitter, n_components=[1, 2])
    expected = slow(PLSRegression(), X, classes, splitter.split(X, classes), [1, 2])
    np.testing.assert_allclose(found.per_split[:, 0], expected, rtol=1e-8)


# ---- Which folds, and which numbers of components


@pytest.mark.parametrize(
    ("options", "folds"),
    [
        ({}, "5 folds of 120 shuffled rows"),
        ({"cv": 3, "groups": np.arange(N) // 10}, "3 folds of 120 rows, of whole groups"),
        ({"cv": None, "groups": np.arange(N) // 30}, "4 folds of 120 rows, one for each group"),
        ({"cv": np.arange(N) % 6}, "6 folds of 120 rows, by labels"),
        ({"cv": RepeatedKFold(n_splits=4, n_repeats=3)}, "12 splits of 120 rows by RepeatedKFold"),
        ({"cv": [(np.arange(60), np.arange(60, N))]}, "1 split of 120 rows"),
    ],
    ids=str,
)
def test_the_result_says_which_folds(options, folds):
    result = cross_validate(PCA(), X, n_components=[1, 2], **options)
    assert result.folds == folds
    assert str(result).splitlines()[0] == f"PCA: log-likelihood of rows left out, {folds}"


@pytest.mark.parametrize("model", [PCA("cv", ddof=0), PPCA("cv"), FactorAnalysis("cv")], ids=str)
def test_a_number_of_folds_means_the_same_in_rules(model):
    """Rows are sorted, so that consecutive rows would give other folds."""
    rows = X[np.argsort(X[:, 0])]
    chosen = model.fit(rows).choice_.cross_validation
    for cv in (5, SHUFFLED):
        bare = clone(model).set_params(n_components=None)
        found = cross_validate(bare, rows, cv=cv, n_components=chosen.n_components)
        np.testing.assert_allclose(found.mean, chosen.mean, rtol=1e-8)
    assert chosen.folds == "5 folds of 120 shuffled rows"
    if isinstance(model, PPCA):
        by_rule = choose_n_components(rows, "cv")["cv"].cross_validation
        np.testing.assert_allclose(by_rule.mean[0, :4], chosen.mean[0, :4], rtol=1e-8)


def test_a_number_of_components_of_the_estimator_is_used_or_refused():
    found = cross_validate(PLSRegression(3), X, Y)
    assert found.n_components.tolist() == [3]
    np.testing.assert_allclose(found.mean, cross_validate(PLSRegression(), X, Y, n_components=[3]).mean)
    assert cross_validate(make_pipeline(PLSRegression(3)), X, Y).n_components.tolist() == [3]
    assert len(cross_validate(PLSRegression(), X, Y).n_components) > 3
    with pytest.raises(ValueError, match=r"both say what to try; leave one of them out"):
        cross_validate(PLSRegression(3), X, Y, n_components=[1, 2])
    for model in (PCA("cv"), PCA(0.9), PCA("kaiser")):
        with pytest.raises(ValueError, match="would choose a number in each fit"):
            cross_validate(model, X)


def test_repetitions_do_not_shrink_the_standard_error():
    """It is that of one repetition, with the variance between folds averaged over the repetitions."""
    k, repetitions = 5, 20
    folds = RepeatedKFold(n_splits=k, n_repeats=repetitions, random_state=0)
    result = cross_validate(PLSRegression(), X, Y[:, 0], cv=folds, n_components=[1, 2, 3])
    assert result.repeats == repetitions
    each = result.per_split[:, 0].reshape(repetitions, k, 3)
    within = np.sqrt((each.var(axis=1, ddof=1) / k).mean(axis=0))
    # The means of the repetitions differ little, so that both variances are nearly the same.
    np.testing.assert_allclose(result.standard_error[0], within, rtol=0.12)
    expected = each.reshape(-1, 3).std(axis=0, ddof=1) / np.sqrt(k)
    np.testing.assert_allclose(result.standard_error[0], expected, rtol=1e-12)
    assert cross_validate(PCA(), X, n_components=[1]).repeats == 1.0


@pytest.mark.parametrize("model", [PPCA(), PCA()], ids=str)
def test_constant_columns_are_left_out(model):
    """With one, the noise of K = P components would vanish, and their likelihood be infinite."""
    flat = np.column_stack([X, np.full(N, 3.0)])
    counts = range(1, P + 1)
    found = cross_validate(model, flat, n_components=counts)
    np.testing.assert_allclose(found.mean, cross_validate(model, X, n_components=counts).mean, rtol=1e-10)
    assert found.best == cross_validate(model, X, n_components=counts).best < P
