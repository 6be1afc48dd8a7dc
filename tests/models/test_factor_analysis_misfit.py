"""How far a factor analysis is from the covariance of the rows: with missing entries and without, weighted, wide."""

import warnings

import numpy as np
import pytest

import lowdim
from inputs import with_missing
from lowdim import FactorAnalysis
from lowdim.errors import HeywoodWarning, LowdimWarning, UndeterminedCovariance
from lowdim.reading import summarize
from lowdim.summaries import Moments, Triangle
from oracles import gaussian_with_missing, observed_loglike

RNG = np.random.default_rng(3)
X = RNG.standard_normal((200, 2)) @ RNG.standard_normal((2, 6)) + RNG.standard_normal((200, 6)) + 5.0
INCOMPLETE = with_missing(X, 0.1)
FITTED = FactorAnalysis(1).fit(X)


def covariance(fa):
    return fa.loadings_ @ fa.phi_ @ fa.loadings_.T + np.diag(fa.noise_variance_)


def slow_misfit(S, Sigma):
    """The discrepancies of Sigma and of the diagonal of S, and the sums of squares of residual correlations."""

    def discrepancy(C):
        return np.linalg.slogdet(C)[1] - np.linalg.slogdet(S)[1] + np.trace(np.linalg.solve(C, S)) - len(S)

    sd = np.sqrt(np.diag(S))
    D = (S - Sigma) / np.outer(sd, sd)
    pairs = sum(D[i, j] ** 2 for i in range(len(S)) for j in range(i))
    return discrepancy(Sigma), discrepancy(np.diag(np.diag(S))), (pairs, float(np.sum(np.diag(D) ** 2)))


def agree(found, expected, rtol=1e-7):
    discrepancy, null, squares = expected
    np.testing.assert_allclose(found.discrepancy, discrepancy, rtol=rtol)
    np.testing.assert_allclose(found.null_discrepancy, null, rtol=rtol)
    np.testing.assert_allclose(found.residual_squares, squares, rtol=rtol, atol=1e-12)


@pytest.mark.parametrize("solver", ["newton", "newton-cg", "em"])
@pytest.mark.parametrize("rotation", [None, "oblimin"])
def test_the_formulas(solver, rotation):
    fa = FactorAnalysis(2, solver=solver, rotation=rotation).fit(X)
    agree(fa.misfit(), slow_misfit(np.cov(X, rowvar=False, ddof=0), covariance(fa)))
    assert fa.misfit().weight == 200 and fa.misfit().complete


def test_units_and_kinds_of_summaries_do_not_matter():
    expected = FITTED.misfit()
    for table in (X * [1e-3, 1, 10, 1e6, 1e-100, 1e100], X.astype(np.float32)):
        found = FactorAnalysis(1).fit(table).misfit()
        agree(found, (expected.discrepancy, expected.null_discrepancy, expected.residual_squares), 1e-4)
    found = FactorAnalysis(1).fit_summary(summarize(X, Triangle)).misfit()
    agree(found, (expected.discrepancy, expected.null_discrepancy, expected.residual_squares), 1e-6)


def test_weights_are_repetitions():
    weights = np.arange(200) % 3
    weighted, repeated = FactorAnalysis(1).fit(X, sample_weight=weights), FactorAnalysis(1).fit(X.repeat(weights, 0))
    np.testing.assert_allclose(weighted.test(), repeated.test(), rtol=1e-7)
    with_gaps = FactorAnalysis(1).fit(INCOMPLETE, sample_weight=weights)
    twice = INCOMPLETE.repeat(weights, axis=0)
    np.testing.assert_allclose(
        with_gaps.test(INCOMPLETE, sample_weight=weights), FactorAnalysis(1).fit(twice).test(twice), rtol=1e-3
    )


def test_constant_columns_have_no_discrepancy_but_residuals():
    fa = FactorAnalysis(1).fit(np.column_stack([X, np.full(200, 3.0)]))
    assert fa.misfit().discrepancy is None and fa.misfit().null_discrepancy is None
    np.testing.assert_allclose(fa.misfit().residual_squares, FITTED.misfit().residual_squares, rtol=1e-6, atol=1e-12)
    with pytest.raises(ValueError, match="no test: the covariance is singular"):
        fa.test()


def test_fewer_rows_than_columns():
    wide = RNG.standard_normal((15, 40)) + RNG.standard_normal((15, 1))
    fa = FactorAnalysis(1, solver="newton-cg").fit(wide)
    expected = slow_misfit(np.cov(wide, rowvar=False, ddof=0) + 1e-9 * np.eye(40), covariance(fa))[2]
    np.testing.assert_allclose(fa.misfit().residual_squares, expected, rtol=1e-5, atol=1e-9)
    assert fa.misfit().discrepancy is None


# ---- Missing entries


def test_with_missing_entries_it_is_the_ratio_of_likelihoods():
    fa = FactorAnalysis(1).fit(INCOMPLETE)
    _, C, saturated = gaussian_with_missing(INCOMPLETE)
    model = observed_loglike(INCOMPLETE, fa.mean_, covariance(fa)).sum()
    independent = observed_loglike(
        INCOMPLETE, np.nanmean(INCOMPLETE, axis=0), np.diag(np.nanvar(INCOMPLETE, axis=0))
    ).sum()
    found = fa.misfit(INCOMPLETE)
    agree(found, (2 / 200 * (saturated - model), 2 / 200 * (saturated - independent), found.residual_squares), 1e-6)
    np.testing.assert_allclose(found.residual_squares, slow_misfit(C, covariance(fa))[2], rtol=1e-4)
    assert not found.complete and fa.test(INCOMPLETE).chi_square == pytest.approx(2 * (saturated - model), rel=1e-6)
    assert fa.test(INCOMPLETE).dof == 9


def test_rows_without_entries_do_not_count():
    more = np.vstack([INCOMPLETE, np.full((20, 6), np.nan)])
    few, many = FactorAnalysis(1).fit(INCOMPLETE).misfit(INCOMPLETE), FactorAnalysis(1).fit(more).misfit(more)
    assert few.weight == many.weight == 200
    np.testing.assert_allclose(many.discrepancy, few.discrepancy, rtol=1e-4)


@pytest.mark.filterwarnings("ignore::lowdim.errors.HeywoodWarning")
def test_what_is_refused_with_missing_entries():
    fa = FactorAnalysis(1).fit(INCOMPLETE)
    with pytest.raises(ValueError, match=r"needs the 200 rows themselves.*pass them as X"):
        fa.test()
    with pytest.raises(ValueError, match="X has 150 rows, but the model was fitted to 200"):
        fa.test(INCOMPLETE[:150])
    sparse = with_missing(X[:40], 0.5)
    with pytest.raises(UndeterminedCovariance, match="covariance of 6 columns: at most 6 rows have no missing entry"):
        FactorAnalysis(1).fit(sparse).test(sparse)
    constant = np.column_stack([INCOMPLETE, np.where(np.arange(200) % 2, 1.0, np.nan)])
    with pytest.raises(UndeterminedCovariance, match="column 6 are all the same"):
        FactorAnalysis(1).fit(constant).test(constant)


def test_a_saved_model_keeps_its_misfit(tmp_path):
    lowdim.save(FITTED, tmp_path / "fa.model")
    assert lowdim.load(tmp_path / "fa.model").misfit() == FITTED.misfit()


# ---- Heywood cases


def test_the_warning_names_the_columns():
    pandas = pytest.importorskip("pandas")
    f = RNG.standard_normal(300)
    table = pandas.DataFrame({"pure": f, **{f"c{i}": f + RNG.standard_normal(300) for i in range(3)}})
    with pytest.warns(HeywoodWarning, match=r"explain all of column 'pure' \(number 0\).*Ask for fewer factors"):
        fa = FactorAnalysis(1).fit(table)
    assert fa.heywood_.tolist() == [True, False, False, False]
    with warnings.catch_warnings(action="ignore", category=LowdimWarning):
        FactorAnalysis(1).fit(table)
    lowdim.sklearn.FactorAnalysis(1).fit(table)


def test_many_columns_are_counted():
    dependent = X @ RNG.standard_normal((6, 9))
    with pytest.warns(HeywoodWarning, match=r"column 4 and 4 more; their uniquenesses are at"):
        FactorAnalysis(6).fit_summary(Moments.from_covariance(np.cov(dependent, rowvar=False), 200))
