"""partial_fit in any split and order, and fit_summary, give what fit gives; a refit forgets."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from examples import KEEPS_NOTHING
from inputs import INPUTS
from lowdim import PCA, Whitening
from lowdim.reading import summarize
from lowdim.summaries import FourthMoments, Moments, Triangle
from oracles import tolerance

rng = np.random.default_rng(0)
X = rng.standard_normal((24, 4)) @ np.diag([4.0, 3, 2, 1]) + [1e6, 0, -5, 100]
WEIGHTS = rng.integers(1, 4, 24).astype(float)

MODELS = {
    "PCA": lambda: PCA(2),
    "PCA all": lambda: PCA(),
    "PCA fraction": lambda: PCA(0.8),
    "PCA triangle": lambda: PCA(3, solver="triangle"),
    "PCA scale whiten": lambda: PCA(2, scale=True, whiten=True),
    "PCA ddof 0": lambda: PCA(2, ddof=0),
    "Whitening zca": lambda: Whitening("zca"),
    "Whitening cholesky triangle": lambda: Whitening("cholesky", solver="triangle"),
    "Whitening oas": lambda: Whitening("pca-cor", regularization="oas"),
    "Whitening ledoit-wolf": lambda: Whitening("zca", regularization="ledoit-wolf"),
}
each_model = pytest.mark.parametrize("name", list(MODELS))
FITTED = ("components_", "explained_variance_", "mean_", "noise_variance_", "scale_", "inverse_", "shrinkage_")


def assert_same(a, b, condition=100.0):
    """All fitted numbers equal to rounding; the offset of a column costs its mean no more than its own size."""
    assert a.n_samples_ == b.n_samples_
    assert a.n_components_ == b.n_components_
    for attribute in FITTED:
        value = getattr(b, attribute, None)
        if value is not None:
            size = np.abs(value).max() or 1.0
            got = getattr(a, attribute)
            np.testing.assert_allclose(
                got, value, rtol=0, atol=tolerance(condition=condition) * size, err_msg=attribute
            )


# ---- partial_fit


# The first few rows have fewer directions than there are columns, about which whitening has to warn.
few_rows_at_first = pytest.mark.filterwarnings("ignore::lowdim.errors.RankWarning")


@few_rows_at_first
@each_model
@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_any_split_and_order_is_exact(name, data):
    order = np.array(data.draw(st.permutations(range(24))))
    cuts = sorted(data.draw(st.sets(st.integers(1, 23), max_size=23)))
    weighted = data.draw(st.booleans())
    model = MODELS[name]()
    for part in np.split(order, cuts):
        model.partial_fit(X[part], sample_weight=WEIGHTS[part] if weighted else None)
    # A mean of 1e6 beside a spread of 4, written down after each block: six digits fewer at the worst.
    assert_same(model, MODELS[name]().fit(X, sample_weight=WEIGHTS if weighted else None), condition=1e7)


@few_rows_at_first
@each_model
def test_one_row_at_a_time(name):
    model = MODELS[name]()
    for row in X:
        model.partial_fit(row[None, :])
    assert_same(model, MODELS[name]().fit(X), condition=1e7)


@pytest.mark.parametrize("name", ["C order", "csr_array", "pandas", "polars", "list of blocks", "generator", "torch"])
def test_every_kind_of_block(name):
    kind, whole = INPUTS[name], np.round(X)
    model = PCA(2).partial_fit(kind.make(whole[:10])).partial_fit(kind.make(whole[10:]))
    expected = PCA(2).fit(whole)
    np.testing.assert_allclose(np.asarray(model.components_), expected.components_, atol=1e-8)
    np.testing.assert_allclose(np.asarray(model.explained_variance_), expected.explained_variance_, rtol=1e-9)


def test_it_stays_unfitted_until_there_are_rows_enough():
    model = PCA(3)
    for i in range(2):
        model.partial_fit(X[i : i + 1])
        with pytest.raises(NotFittedError):
            model.transform(X)
    assert model.partial_fit(X[2:3]).n_components_ == 3


def test_float32_stays_float32():
    model = PCA(2).partial_fit(X[:, 1:].astype("float32")).partial_fit(X[:, 1:].astype("float32"))
    assert model.components_.dtype == model.mean_.dtype == np.float32


def test_the_mean_of_the_rows_seen_is_at_hand_after_each_block():
    model = PCA(1)
    for n in (5, 10, 24):
        model.partial_fit(X[{5: 0, 10: 5, 24: 10}[n] : n])
        assert model.n_samples_ == model.summary_.n_rows == n
        np.testing.assert_allclose(model.mean_, X[:n].mean(axis=0), rtol=tolerance())


@pytest.mark.parametrize("solver", KEEPS_NOTHING)
def test_solvers_that_read_rows_again_are_refused(solver):
    with pytest.raises((ValueError, AttributeError), match="partial_fit"):
        PCA(2, solver=solver).partial_fit(X)


# ---- fit forgets


@each_model
def test_fit_forgets_what_partial_fit_saw(name):
    model = MODELS[name]().partial_fit(100 * X + 5).fit(X)
    assert_same(model, MODELS[name]().fit(X), condition=1)
    assert model.summary_.n_rows == len(X)


@each_model
def test_partial_fit_goes_on_after_fit(name):
    """A fit keeps the summary from which it was solved, if it is small."""
    model = MODELS[name]().fit(X[:12], sample_weight=WEIGHTS[:12]).partial_fit(X[12:], sample_weight=WEIGHTS[12:])
    assert_same(model, MODELS[name]().fit(X, sample_weight=WEIGHTS), condition=1e7)
    assert model.summary_.n_rows == len(X)


@each_model
def test_partial_fit_after_fit_refuses_other_columns(name):
    model = MODELS[name]().fit(X)
    before = vars(model).copy()
    with pytest.raises(ValueError, match="features"):
        model.partial_fit(X[:, :2])
    assert vars(model) == before


@pytest.mark.parametrize("shape", [(300, 257), (4, 20)], ids=["many columns", "few rows"])
def test_partial_fit_after_a_fit_without_a_summary_is_refused(shape):
    """Its rows must not be forgotten silently; the message says how to go on."""
    rows = rng.standard_normal(shape)
    model = PCA(2).fit(rows)
    assert not hasattr(model, "summary_")
    before = vars(model).copy()
    with pytest.raises(ValueError, match=r"kept no summary of its rows, .* with fit_summary\."):
        model.partial_fit(rows)
    assert vars(model) == before
    assert clone(model).partial_fit(rows).n_samples_ == shape[0]


@each_model
def test_refit_resets_everything(name):
    model = MODELS[name]()
    model.fit(rng.standard_normal((40, 6)))
    model.fit(X)
    assert_same(model, MODELS[name]().fit(X), condition=1)
    assert model.n_features_in_ == 4
    assert vars(model).keys() == vars(MODELS[name]().fit(X)).keys()


def test_changed_parameters_hold_from_the_next_fit_on():
    model = PCA(2, scale=True).fit(X)
    model.set_params(scale=False, n_components=3).fit(X)
    assert model.scale_ is None
    assert_same(model, PCA(3).fit(X), condition=1)


# ---- fit_summary


@each_model
def test_fit_summary_is_fit_without_rows(name):
    kind = Triangle if "triangle" in name else FourthMoments if "ledoit" in name else Moments
    model = MODELS[name]().fit_summary(summarize(X, kind, weights=WEIGHTS))
    assert_same(model, MODELS[name]().fit(X, sample_weight=WEIGHTS))
    assert model.plan_.why == "from a summary"
    assert model.plan_.passes == 0
    np.testing.assert_allclose(model.transform(X), MODELS[name]().fit(X, sample_weight=WEIGHTS).transform(X), atol=1e-6)


@pytest.mark.parametrize("kind", [Moments, Triangle, FourthMoments])
def test_each_summary_serves(kind):
    model = PCA(2).fit_summary(summarize(X, kind))
    assert_same(model, PCA(2).fit(X))
    assert model.solver_ == ("triangle" if kind is Triangle else "covariance")


def test_fit_summary_leaves_the_summary_as_it_was():
    for kind in (Moments, Triangle):
        summary = summarize(X, kind)
        scatter = np.array(summary.scatter)
        PCA(2, scale=True).fit_summary(summary)
        np.testing.assert_array_equal(summary.scatter, scatter)
        assert summary.n_rows == 24


def test_components_are_not_tied_to_the_summary():
    summary = summarize(X, Moments)
    model = PCA(2).fit_summary(summary)
    before = model.mean_.copy(), model.components_.copy()
    summary.update(np.ones((5, 4)))
    np.testing.assert_array_equal(model.mean_, before[0])
    np.testing.assert_array_equal(model.components_, before[1])


def test_from_a_covariance_alone():
    cov, mean = np.cov(X.T), X.mean(axis=0)
    model = PCA(2).fit_summary(Moments.from_covariance(cov, 24, mean))
    assert_same(model, PCA(2).fit(X))
    assert_same(
        PCA(2, ddof=0).fit_summary(Moments.from_covariance(np.cov(X.T, ddof=0), 24, mean, ddof=0)),
        PCA(2, ddof=0).fit(X),
    )
    without = PCA(2).fit_summary(Moments.from_covariance(cov.tolist(), 24))
    np.testing.assert_array_equal(without.mean_, 0)
    np.testing.assert_allclose(without.components_, model.components_)


def test_a_correlation_matrix_is_a_standardized_fit():
    R = np.corrcoef(X.T)
    a, b = PCA(2).fit_summary(Moments.from_covariance(R, 24)), PCA(2, scale=True).fit(X)
    np.testing.assert_allclose(a.components_, b.components_, atol=1e-9)
    np.testing.assert_allclose(a.explained_variance_, b.explained_variance_, rtol=1e-9)


@pytest.mark.parametrize(
    ("cov", "n", "mean", "message"),
    [
        (np.ones((2, 3)), 10, None, r"cov must be a square matrix, got shape \(2, 3\)"),
        (np.ones(3), 10, None, r"cov must be a square matrix, got shape \(3,\)"),
        ([[1.0, np.nan], [np.nan, 1.0]], 10, None, "cov contains NaN or infinity"),
        ([[1.0, 0.5], [0.1, 1.0]], 10, None, r"cov must be symmetric.*differ by up to 0\.4"),
        ([[1.0, 0.0], [0.0, -1.0]], 10, None, "negative variance -1 in column 1"),
        (np.eye(2), 1, None, "n_samples=1 .*too few"),
        (np.eye(2), 10, [1.0, 2.0, 3.0], r"mean must have shape \(2,\), got \(3,\)"),
        ([[1.0, 2.0], [2.0, 1.0]], 10, None, "positive semi-?definite|negative eigenvalue"),
        (np.eye(2), 10, [1.0, np.nan], "mean .*(NaN|finite)"),
    ],
    ids=["not square", "1-D", "NaN", "not symmetric", "negative", "one row", "mean", "indefinite", "NaN mean"],
)
def test_what_is_no_covariance(cov, n, mean, message):
    with pytest.raises(ValueError, match=message):
        PCA().fit_summary(Moments.from_covariance(cov, n, mean))


@pytest.mark.parametrize(
    ("model", "summary", "error", "message"),
    [
        (PCA(), "rows", TypeError, "fit_summary needs a Moments or a Triangle, got str"),
        (PCA(), X, TypeError, "fit_summary needs a Moments or a Triangle, got ndarray"),
        (
            PCA(solver="triangle"),
            Moments,
            ValueError,
            "solver='triangle' cannot start from a Moments; use 'auto' or 'cov",
        ),
        (PCA(solver="covariance"), Triangle, ValueError, "cannot start from a Triangle; use 'auto' or 'triangle'"),
        (PCA(1, solver="krylov"), Moments, ValueError, "solver='krylov' cannot start from a Moments"),
        (PCA(5), Moments, ValueError, "n_components=5 must be a whole number between 1 and 4"),
        (Whitening(regularization="ledoit-wolf"), Moments, TypeError, "needs FourthMoments; pass that summary, rows"),
    ],
    ids=["text", "rows", "triangle", "covariance", "krylov", "components", "ledoit-wolf"],
)
def test_summaries_that_do_not_serve(model, summary, error, message):
    given_summary = summarize(X, summary) if isinstance(summary, type) else summary
    with pytest.raises(error, match=message):
        model.fit_summary(given_summary)


@pytest.mark.parametrize("kind", [Moments, Triangle, FourthMoments])
def test_an_empty_summary_has_too_few_rows(kind):
    with pytest.raises(ValueError, match="the summary is empty"):
        PCA().fit_summary(kind(4))


def test_weights_below_one_row_in_all():
    with pytest.raises(ValueError, match="too few for a covariance with ddof=1"):
        PCA(1).fit_summary(summarize(X, Moments, weights=np.full(24, 0.01)))
