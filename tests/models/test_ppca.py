"""PPCA: its identities, with and without missing entries, against slow and obvious answers."""

import math
from functools import cache

import numpy as np
import pytest
from sklearn.base import clone

from examples import SPECTRAL
from inputs import FEW_INPUTS, to_numpy, with_missing
from lowdim import PCA, PPCA, FactorAnalysis
from lowdim.errors import ConvergenceWarning, MissingValues
from lowdim.reading import summarize
from lowdim.solvers import EM, Status
from lowdim.summaries import Moments, Triangle
from models.ppca_rows import INCOMPLETE, TIGHT, X, covariance, rows
from oracles import observed_loglike

# ---- Complete rows


@pytest.mark.parametrize("k", [1, 2, 5])
@pytest.mark.parametrize("solver", ["auto", *SPECTRAL])
def test_closed_form(k, solver):
    """sigma2 is the mean of the discarded eigenvalues, |w_k|^2 = lambda_k - sigma2, components are those of PCA."""
    ppca, pca = PPCA(k, solver=solver).fit(X), PCA(k, ddof=0, solver=solver).fit(X)
    np.testing.assert_array_equal(ppca.components_, pca.components_)
    np.testing.assert_allclose(ppca.noise_variance_, pca.noise_variance_, rtol=1e-12)
    np.testing.assert_allclose(ppca.explained_variance_, pca.explained_variance_, rtol=1e-12)
    expected = pca.components_.T * np.sqrt(pca.explained_variance_ - pca.noise_variance_)
    np.testing.assert_allclose(ppca.loadings_, expected, rtol=1e-10)
    np.testing.assert_allclose(ppca.loglike_, [observed_loglike(X, ppca.mean_, covariance(ppca)).sum()], rtol=1e-10)
    np.testing.assert_allclose(ppca.score(X), pca.score(X), rtol=1e-10)
    assert ppca.n_iter_ == 0


@pytest.mark.parametrize("accelerate", [True, False])
@pytest.mark.parametrize("start", ["spectrum", "random"])
@pytest.mark.parametrize("k", [1, 3])
def test_em_rises_to_the_closed_form(k, start, accelerate):
    # Plain steps become short if an eigenvalue is near the noise, and end where rounding hides what they gain.
    table = rows(k=3, noise=1.5)
    closed = PPCA(k).fit(table)
    em = PPCA(k, solver=EM(tol=1e-10, max_iter=5000, start=start, accelerate=accelerate)).fit(table)
    assert em.status_ is Status.CONVERGED
    assert np.all(np.diff(em.loglike_) >= -1e-11 * np.abs(em.loglike_[0]))
    np.testing.assert_allclose(em.loglike_[-1], closed.loglike_[0], rtol=1e-12)
    np.testing.assert_allclose(em.noise_variance_, closed.noise_variance_, rtol=1e-8)
    np.testing.assert_allclose(em.components_, closed.components_, atol=1e-7)


def test_em_from_moments_and_from_rows_are_the_same():
    """A table with no missing entries, once as moments and once row by row (a row without entries changes nothing)."""
    whole = PPCA(2, solver=TIGHT).fit(X)
    by_rows = PPCA(2, solver=TIGHT).fit(np.vstack([X, np.full((1, 6), np.nan)]))
    np.testing.assert_allclose(by_rows.loglike_[-1], whole.loglike_[-1], rtol=1e-12)
    np.testing.assert_allclose(by_rows.loadings_, whole.loadings_, atol=1e-7)


@pytest.mark.parametrize("summary", [Moments, Triangle])
def test_fit_summary(summary):
    np.testing.assert_allclose(
        PPCA(2).fit_summary(summarize(X, summary)).loadings_, PPCA(2).fit(X).loadings_, rtol=1e-10
    )


@pytest.mark.parametrize("options", [{"solver": TIGHT}, {"solver": TIGHT, "prior": "vb"}], ids=["em", "vb"])
@pytest.mark.parametrize("summary", [Moments, Triangle])
def test_em_of_a_summary(summary, options):
    ours = PPCA(2, **options).fit_summary(summarize(X, summary))
    np.testing.assert_allclose(ours.loadings_, PPCA(2, **options).fit(X).loadings_, rtol=1e-7, atol=1e-9)


def test_posterior_means_tend_to_whitened_scores():
    quiet = rows(noise=1e-6)
    scores = PCA(2, whiten=True, ddof=0).fit_transform(quiet)
    np.testing.assert_allclose(PPCA(2).fit_transform(quiet), scores, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("table", ["complete", "incomplete"])
@pytest.mark.parametrize("options", [{}, {"solver": TIGHT}, {"prior": "vb", "solver": TIGHT}])
def test_standardize_is_dividing_by_deviations(options, table):
    """Columns of very different units: as if they had been divided before, and answers in their own units."""
    rows_of = (X if table == "complete" else INCOMPLETE) * 10.0 ** np.arange(-3, 3)
    sd = np.nanstd(rows_of, axis=0)
    ours, by_hand = PPCA(2, scale=True, **options).fit(rows_of), PPCA(2, **options).fit(rows_of / sd)
    np.testing.assert_allclose(ours.scale_, sd, rtol=1e-10)
    for name in ("components_", "loadings_", "explained_variance_", "noise_variance_"):
        np.testing.assert_allclose(getattr(ours, name), getattr(by_hand, name), atol=1e-7)
    np.testing.assert_allclose(ours.transform(rows_of), by_hand.transform(rows_of / sd), atol=1e-7)
    np.testing.assert_allclose(ours.impute(rows_of) / sd, by_hand.impute(rows_of / sd), atol=1e-7)
    np.testing.assert_allclose(
        ours.inverse_transform(ours.transform(rows_of)) / sd,
        by_hand.inverse_transform(by_hand.transform(rows_of / sd)),
        atol=1e-7,
    )
    density = by_hand.score_samples(rows_of / sd) - np.sum(np.where(np.isnan(rows_of), 0.0, np.log(sd)), axis=1)
    np.testing.assert_allclose(ours.score_samples(rows_of), density, atol=1e-6)
    np.testing.assert_allclose(ours.get_covariance() / np.outer(sd, sd), by_hand.get_covariance(), atol=1e-7)
    if "prior" not in options:
        np.testing.assert_allclose(ours.loglike_[-1], ours.score_samples(rows_of).sum(), rtol=1e-9)


# ---- Samples, criteria, matrices


def test_samples_have_the_covariance_of_the_model():
    ppca = PPCA(2).fit(X)
    S = np.cov(ppca.sample(200_000, random_state=0), rowvar=False)
    np.testing.assert_allclose(S, ppca.get_covariance(), atol=0.05 * np.abs(S).max())
    np.testing.assert_array_equal(ppca.sample(5, random_state=3), ppca.sample(5, random_state=3))


def test_covariance_and_precision_are_inverse():
    ppca = PPCA(2).fit(INCOMPLETE)
    np.testing.assert_allclose(ppca.get_covariance(), covariance(ppca), rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(ppca.get_covariance() @ ppca.get_precision(), np.eye(6), atol=1e-10)


def test_bic_and_aic_count_the_free_parameters():
    """p k loadings less k (k - 1) / 2 for the rotation, p means, one noise variance."""
    ppca = PPCA(2).fit(X)
    free = 6 * 2 - 1 + 6 + 1
    total = ppca.score_samples(X).sum()
    np.testing.assert_allclose(ppca.bic(X), -2 * total + free * math.log(len(X)))
    np.testing.assert_allclose(ppca.aic(X), -2 * total + 2 * free)
    assert min(range(1, 5), key=lambda k: PPCA(k).fit(X).bic(X)) == 2


# ---- Variational Bayes


@pytest.mark.parametrize("incomplete", [False, True])
def test_the_bound_never_falls(incomplete):
    ppca = PPCA(4, prior="vb", solver=EM(tol=1e-6)).fit(INCOMPLETE if incomplete else X)
    assert np.diff(ppca.loglike_).min() >= -1e-11 * abs(ppca.loglike_[0])


def test_the_bound_is_below_the_likelihood():
    """ln p(X) is an integral over W of the likelihood, so at most its maximum (the prior being a density)."""
    vb, ml = PPCA(2, prior="vb").fit(INCOMPLETE), PPCA(2).fit(INCOMPLETE)
    assert vb.loglike_[-1] < ml.loglike_[-1]


def test_components_that_are_not_needed_fade():
    wide = rows(n=300, p=12, k=3)
    ppca = PPCA(8, prior="vb").fit(with_missing(wide))
    assert ppca.n_components_ == 3
    assert ppca.transform(wide).shape == (300, 3)


def test_many_rows_make_the_prior_matter_little():
    many = with_missing(rows(n=5000))
    np.testing.assert_allclose(PPCA(2, prior="vb").fit(many).loadings_, PPCA(2).fit(many).loadings_, atol=2e-2)


# Without the prior the noise goes to zero, and EM there to nowhere.
@pytest.mark.filterwarnings("ignore::lowdim.errors.ConvergenceWarning")
def test_the_prior_guards_against_too_many_components():
    few = rows(n=40, p=15, k=2, noise=1.0)
    incomplete = with_missing(few, 0.5)
    hidden = np.isnan(incomplete)

    def error(prior):
        return np.sqrt(np.mean((PPCA(8, prior=prior).fit(incomplete).impute(incomplete) - few)[hidden] ** 2))

    assert error("vb") < 0.8 * error(None)


# ---- Edges


def test_a_row_with_nothing_observed_has_the_prior():
    rowless = np.vstack([INCOMPLETE, np.full(6, np.nan)])
    ppca = PPCA(2, solver=TIGHT).fit(rowless)
    mean, cov = ppca.posterior(rowless[-1:])
    np.testing.assert_array_equal(mean, 0.0)
    np.testing.assert_allclose(cov[0], np.eye(2))
    np.testing.assert_array_equal(ppca.score_samples(rowless[-1:]), 0.0)
    np.testing.assert_allclose(ppca.impute(rowless[-1:])[0], ppca.mean_)
    np.testing.assert_allclose(ppca.loadings_, PPCA(2, solver=TIGHT).fit(INCOMPLETE).loadings_, atol=1e-7)


def test_a_column_never_observed_is_named():
    pandas = pytest.importorskip("pandas")
    bad = INCOMPLETE.copy()
    bad[:, 3] = np.nan
    with pytest.raises(ValueError, match=r"no entry was observed in column 3: .* Drop it"):
        PPCA(2).fit(bad)
    with pytest.raises(ValueError, match=r"column 'd' \(number 3\)"):
        PPCA(2).fit(pandas.DataFrame(bad, columns=list("abcdef")))


@pytest.mark.parametrize("prior", [None, "vb"])
def test_a_column_observed_once(prior):
    thin = INCOMPLETE.copy()
    thin[1:, 3], thin[0, 3] = np.nan, 7.0
    ppca = PPCA(2, prior=prior).fit(thin)
    assert np.all(np.isfinite(ppca.impute(thin)))
    assert np.all(np.isfinite(ppca.score_samples(thin)))


@pytest.mark.parametrize("k", [5, 6])
def test_as_many_components_as_columns(k):
    ppca = PPCA(6).fit(X)
    np.testing.assert_allclose(ppca.get_covariance(), np.cov(X, rowvar=False, ddof=0), atol=1e-10)
    assert np.all(np.isfinite(ppca.transform(X)))
    assert np.all(np.isfinite(PPCA(k).fit(INCOMPLETE).impute(INCOMPLETE)))


@pytest.mark.filterwarnings("ignore:.*the likelihood has no maximum")
def test_as_many_components_as_rows():
    few = rows(n=5, p=12)
    for table in (few, with_missing(few, 0.1)):
        ppca = PPCA(5).fit(table)
        assert np.all(np.isfinite(ppca.impute(table)))
        assert np.isfinite(ppca.score(table))
    with pytest.raises(ValueError, match="n_components=6 must be"):
        PPCA(6).fit(few)


def test_rows_without_noise():
    ppca = PPCA(2).fit(rows(noise=0.0))
    assert 0.0 < ppca.noise_variance_ < 1e-13
    assert np.isfinite(ppca.score(X))
    exact = with_missing(rows(noise=0.0))
    filled = PPCA(2, solver=EM(max_iter=300, tol=1e-3)).fit(exact).impute(exact)
    np.testing.assert_allclose(filled, rows(noise=0.0), atol=1e-2)


def test_constant_columns_and_integers_with_missing_entries():
    table = np.column_stack([np.round(INCOMPLETE), np.full(60, 4.0)])
    ppca = PPCA(2).fit(table)
    np.testing.assert_allclose(ppca.mean_[6], 4.0)
    np.testing.assert_allclose(ppca.impute(table)[:, 6], 4.0, atol=1e-6)


def test_nearly_everything_missing():
    table = with_missing(rows(n=400, p=20, k=1), 0.95)
    for prior in (None, "vb"):
        filled, sd = PPCA(1, prior=prior).fit(table).impute(table, return_std=True)
        assert np.all(np.isfinite(filled))
        assert np.all(sd[np.isnan(table)] > 0)


def test_nullable_integers_and_missing_strings_of_a_table():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(np.round(INCOMPLETE), columns=list("abcdef")).astype("Int64")
    np.testing.assert_allclose(PPCA(2).fit(frame).loadings_, PPCA(2).fit(np.round(INCOMPLETE)).loadings_, atol=1e-10)


def test_infinity_is_refused_and_named_beside_missing_entries():
    bad = INCOMPLETE.copy()
    bad[5, 2] = np.inf
    with pytest.raises(ValueError, match="infinity: column 2, first in row 5"):
        PPCA(2).fit(bad)
    with pytest.raises(ValueError, match="infinity: column 2, first in row 5"):
        PPCA(2).fit(INCOMPLETE).transform(bad)


def test_stopped_early_says_so():
    with pytest.warns(ConvergenceWarning, match=r"stopped after 2 steps at residual .* tolerance 1e-12"):
        ppca = PPCA(2, solver=EM(tol=1e-12, max_iter=2)).fit(INCOMPLETE)
    assert ppca.status_ is Status.NOT_CONVERGED
    assert ppca.n_iter_ == 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"prior": "bayes"}, "prior='bayes' is not one of 'vb'"),
        ({"missing": "zero"}, "missing='zero' is not one of 'nan', 'unstored'"),
        ({"solver": "newton"}, "solver='newton' is not one of 'auto', 'em', 'covariance'"),
        ({"prior": "vb", "solver": "gram"}, "prior='vb' needs solver='auto' or 'em'"),
        ({"n_components": 0}, "n_components=0 must be a whole number between 1 and 6"),
        ({"n_components": 2.5}, "n_components=2.5 must be"),
    ],
)
def test_parameters_out_of_range(options, message):
    with pytest.raises(ValueError, match=message):
        PPCA(**options).fit(X)


@pytest.mark.parametrize("model", [PPCA, FactorAnalysis])
def test_a_stream_read_once_is_gathered_if_its_first_block_has_missing_entries(model):
    np.testing.assert_allclose(model(2).fit(iter([X[:30], X[30:]])).loadings_, model(2).fit(X).loadings_, rtol=1e-9)
    gathered = model(2).fit(iter([INCOMPLETE[:30], INCOMPLETE[30:]]))
    assert "gathered in memory" in gathered.plan_.why
    np.testing.assert_array_equal(gathered.loadings_, model(2).fit(INCOMPLETE).loadings_)
    with pytest.raises(MissingValues, match=r"in row 3\d\. .*its first block, which has none, is gone. Pass all rows"):
        model(2).fit(iter([X[:30], INCOMPLETE[30:]]))


def test_other_models_say_who_takes_missing_entries():
    with pytest.raises(MissingValues, match="PPCA and FactorAnalysis themselves take NaN"):
        PCA(2).fit(INCOMPLETE)


ONE_ANSWER = {
    "PPCA": PPCA(2),
    "PPCA vb": PPCA(3, prior="vb"),
    "FactorAnalysis": FactorAnalysis(2),
    "FactorAnalysis em": FactorAnalysis(2, solver="em"),
}
EIGHTHS = np.round(8 * X) / 8


def one_answer(name, complete):
    """The model. Rows with missing entries are grouped by pattern only on the host: iterations end at the same place,
    but come to it in different ways, and so have to come close."""
    model = clone(ONE_ANSWER[name])
    return model if complete or name != "PPCA" else model.set_params(solver=TIGHT)


@cache
def answer_for_an_array(name, complete):
    """Rows without or with missing entries, the model fitted to them, and its answers."""
    rows = EIGHTHS if complete else np.where(np.isnan(INCOMPLETE), np.nan, EIGHTHS)
    model = one_answer(name, complete).fit(rows)
    at = model.impute_at(rows, [0, 3], [1, 2], return_std=True)
    return rows, [model.loadings_, model.transform(rows), *model.impute(rows, return_std=True), at[1]]


@pytest.mark.parametrize("name", [n for n, kind in FEW_INPUTS.items() if "float64" in kind.dtypes and kind.again])
@pytest.mark.parametrize("model", ONE_ANSWER)
def test_one_answer_whatever_the_rows_are_stored_as(name, model):
    """Complete rows, and rows with missing entries where the storage can hold NaN."""
    make = FEW_INPUTS[name].make
    for complete in (True, False):
        rows, expected = answer_for_an_array(model, complete)
        other = one_answer(model, complete).fit(make(rows))
        at = other.impute_at(make(rows), [0, 3], [1, 2], return_std=True)
        found = [other.loadings_, other.transform(make(rows)), *other.impute(make(rows), return_std=True), at[1]]
        for ours, theirs in zip(found, expected, strict=True):
            np.testing.assert_allclose(to_numpy(ours), theirs, atol=1e-5)


def test_weights_beside_a_prior_are_frequencies():
    with pytest.raises(ValueError, match=r"must add up to at least two rows with a prior: got a total of 1\."):
        PPCA(2, prior="vb").fit(INCOMPLETE, sample_weight=np.full(60, 1 / 60))
    small, plain = (
        PPCA(2, solver=TIGHT).fit(INCOMPLETE, sample_weight=np.full(60, 1e-3)),
        PPCA(2, solver=TIGHT).fit(INCOMPLETE),
    )
    np.testing.assert_allclose(small.loadings_, plain.loadings_, atol=1e-6)


def test_a_callable_stream_has_enough_rows_too():
    with pytest.raises(ValueError, match="n_components=5 must be a whole number between 1 and 4"):
        PPCA(5).fit(lambda: iter([INCOMPLETE[:2], INCOMPLETE[2:4]]))


def test_entries_outside_the_table():
    ppca = PPCA(2).fit(INCOMPLETE)
    for rows_of, columns, message in (
        ([60], [0], "below 60"),
        ([-1], [0], "at least 0"),
        ([0], [6], "between 0 and 5"),
    ):
        with pytest.raises(ValueError, match=message):
            ppca.impute_at(INCOMPLETE, rows_of, columns)
    assert ppca.impute_at(INCOMPLETE, [], []).shape == (0,)


def test_the_rule_cv_does_not_go_with_a_prior():
    with pytest.raises(
        ValueError, match=r"n_components='cv' fits summaries .* lowdim\.cross_validate\(PPCA\(prior='vb'\)"
    ):
        PPCA("cv", prior="vb").fit(X)
