"""PPCA of rows with missing entries, against slow and obvious answers."""

import math

import numpy as np
import pytest
from scipy import sparse

from inputs import with_missing
from lowdim import PPCA, FactorAnalysis
from lowdim.solvers import EM, Status
from models.ppca_rows import INCOMPLETE, TIGHT, X, covariance, rows
from oracles import conditional, observed_loglike
from recorder import passes_of

# ---- Missing entries


def test_gradient_is_zero():
    """Finite differences of the likelihood of the observed entries, written anew."""
    ppca = PPCA(2, solver=TIGHT).fit(INCOMPLETE)

    def loglike(x):
        mean, W, sigma2 = x[:6], x[6:18].reshape(6, 2), math.exp(x[18])
        return observed_loglike(INCOMPLETE, mean, W @ W.T + sigma2 * np.eye(6)).sum() / len(INCOMPLETE)

    x = np.concatenate([ppca.mean_, ppca.loadings_.ravel(), [math.log(ppca.noise_variance_)]])
    h = 1e-5
    gradient = [(loglike(x + h * e) - loglike(x - h * e)) / (2 * h) for e in np.eye(len(x))]
    np.testing.assert_allclose(gradient, 0.0, atol=1e-7)


@pytest.mark.parametrize("tol", [1e-2, 1e-4, 1e-6])
def test_the_step_left_is_below_the_tolerance(tol):
    ppca = PPCA(2, solver=EM(tol=tol)).fit(INCOMPLETE)
    assert ppca.status_ is Status.CONVERGED
    assert ppca.residual_ <= tol


def test_passes_over_the_rows_are_counted():
    for model, table in (
        (PPCA(2), X),
        (PPCA(2, solver="em"), X),
        (PPCA(2), INCOMPLETE),
        (PPCA(3, prior="vb"), INCOMPLETE),
    ):
        # Missing entries in the first block are found before a pass over the rows is begun.
        made = passes_of(model.fit, table)
        assert model.n_passes_ == len(made)
    assert FactorAnalysis(2).fit(X).n_passes_ == 1


def test_a_missing_entry_that_shows_late_costs_the_pass_that_meets_it():
    late = np.tile(X, (30_000 // len(X), 1))
    late[-1, 0] = np.nan
    model = PPCA(2)
    made = passes_of(model.fit, late)
    assert model.solver_ == "em"
    assert model.n_passes_ + 1 == len(made)


def test_likelihood_never_falls():
    for accelerate in (True, False):
        ppca = PPCA(3, solver=EM(tol=1e-8, accelerate=accelerate)).fit(INCOMPLETE)
        assert np.diff(ppca.loglike_).min() >= -1e-12 * abs(ppca.loglike_[0])


@pytest.mark.filterwarnings("ignore:.*the likelihood has no maximum")
@pytest.mark.parametrize(("n", "p", "k", "noise"), [(60, 6, 3, 0.0), (5, 12, 5, 0.5), (16, 7, 7, 0.1)])
def test_likelihood_never_falls_where_the_noise_goes_to_zero(n, p, k, noise):
    """Rows in fewer dimensions than components, as many components as rows, as many as columns."""
    table = with_missing(rows(n=n, p=p, noise=noise), 0.15)
    ppca = PPCA(k).fit(table)
    assert np.diff(ppca.loglike_).min() >= -1e-10 * abs(ppca.loglike_[-1])
    np.testing.assert_allclose(ppca.loglike_[-1], ppca.score_samples(table).sum(), rtol=1e-6)


def test_all_starts_end_at_the_same_place():
    ends = [
        PPCA(2, solver=EM(tol=1e-9, start="random", max_iter=5000), random_state=s).fit(INCOMPLETE) for s in range(4)
    ]
    ends.append(PPCA(2, solver=TIGHT).fit(INCOMPLETE))
    for ppca in ends[1:]:
        np.testing.assert_allclose(ppca.loglike_[-1], ends[0].loglike_[-1], rtol=1e-11)
        np.testing.assert_allclose(ppca.loadings_, ends[0].loadings_, atol=1e-6)


@pytest.mark.parametrize("size", [1, 7, 60])
def test_blocks_do_not_matter(size):
    whole = PPCA(2, solver=TIGHT).fit(INCOMPLETE)
    pieced = PPCA(2, solver=TIGHT).fit([INCOMPLETE[i : i + size] for i in range(0, 60, size)])
    np.testing.assert_allclose(pieced.loadings_, whole.loadings_, atol=1e-9)
    np.testing.assert_allclose(pieced.loglike_[-1], whole.loglike_[-1], rtol=1e-13)


def test_posterior_imputation_and_density_row_by_row():
    ppca = PPCA(2).fit(INCOMPLETE)
    C = covariance(ppca)
    W, s2 = ppca.loadings_, ppca.noise_variance_
    mean, cov = ppca.posterior(INCOMPLETE)
    filled, sd = ppca.impute(INCOMPLETE, return_std=True)
    np.testing.assert_allclose(
        ppca.score_samples(INCOMPLETE), observed_loglike(INCOMPLETE, ppca.mean_, C), rtol=1e-9, atol=1e-10
    )
    np.testing.assert_allclose(ppca.transform(INCOMPLETE), mean, rtol=0, atol=1e-14)
    for i, x in enumerate(INCOMPLETE):
        observed = ~np.isnan(x)
        M = np.eye(2) + W[observed].T @ W[observed] / s2
        np.testing.assert_allclose(cov[i], np.linalg.inv(M), rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(
            mean[i], np.linalg.solve(M, W[observed].T @ (x - ppca.mean_)[observed] / s2), atol=1e-10
        )
        expected, variance = conditional(x, ppca.mean_, C)
        np.testing.assert_allclose(filled[i, ~observed], expected, atol=1e-10)
        np.testing.assert_allclose(sd[i, ~observed] ** 2, np.diag(variance), rtol=1e-9)
        np.testing.assert_array_equal(filled[i, observed], x[observed])
        np.testing.assert_array_equal(sd[i, observed], 0.0)


@pytest.mark.parametrize("prior", [None, "vb"])
def test_single_entries(prior):
    ppca = PPCA(3, prior=prior).fit(INCOMPLETE)
    filled, sd = ppca.impute(INCOMPLETE, return_std=True)
    i, j = np.nonzero(np.isnan(INCOMPLETE))
    guess, deviation = ppca.impute_at(INCOMPLETE, i, j, return_std=True)
    np.testing.assert_allclose(guess, filled[i, j], rtol=1e-12)
    np.testing.assert_allclose(deviation, sd[i, j], rtol=1e-12)
    np.testing.assert_array_equal(ppca.impute_at(INCOMPLETE, i, j), guess)


@pytest.mark.parametrize("prior", [None, "vb"])
def test_unstored_entries_are_missing(prior):
    stored = sparse.coo_array(
        (INCOMPLETE[~np.isnan(INCOMPLETE)], np.nonzero(~np.isnan(INCOMPLETE))), shape=INCOMPLETE.shape
    )
    dense = PPCA(2, prior=prior, solver=TIGHT).fit(INCOMPLETE)
    for form in ("csr", "csc"):
        thin = PPCA(2, prior=prior, missing="unstored", solver=TIGHT).fit(stored.asformat(form))
        np.testing.assert_allclose(thin.loadings_, dense.loadings_, atol=1e-7)
        np.testing.assert_allclose(thin.loglike_[-1], dense.loglike_[-1], rtol=1e-12)
        np.testing.assert_allclose(thin.impute(stored.asformat(form)), dense.impute(INCOMPLETE), atol=1e-6)
        np.testing.assert_allclose(thin.score_samples(stored), dense.score_samples(INCOMPLETE), atol=1e-6)


def test_zeros_are_numbers_unless_asked_otherwise():
    thin = sparse.csr_array(np.where(np.isnan(INCOMPLETE), 0.0, INCOMPLETE))
    np.testing.assert_allclose(PPCA(2).fit(thin).mean_, np.nan_to_num(INCOMPLETE).mean(axis=0))


@pytest.mark.parametrize("prior", [None, "vb"])
def test_weights_are_repetitions(prior):
    w = np.random.default_rng(2).integers(0, 4, len(INCOMPLETE))
    weighted = PPCA(2, prior=prior, solver=TIGHT).fit(INCOMPLETE, sample_weight=w)
    repeated = PPCA(2, prior=prior, solver=TIGHT).fit(np.repeat(INCOMPLETE, w, axis=0))
    np.testing.assert_allclose(weighted.loadings_, repeated.loadings_, atol=1e-7)
    np.testing.assert_allclose(weighted.loglike_[-1], repeated.loglike_[-1], rtol=1e-12)


@pytest.mark.parametrize("offset", [0.0, 1e8])
@pytest.mark.parametrize("scale", [1e-140, 1.0, 1e140])
def test_units_do_not_matter(scale, offset):
    plain = PPCA(2, solver=TIGHT).fit(INCOMPLETE)
    other = PPCA(2, solver=TIGHT).fit((INCOMPLETE + offset) * scale)
    np.testing.assert_allclose(other.loadings_ / scale, plain.loadings_, atol=1e-6)
    np.testing.assert_allclose(other.transform((INCOMPLETE + offset) * scale), plain.transform(INCOMPLETE), atol=1e-5)


def test_float32_in_float32_out():
    narrow, wide = PPCA(2).fit(INCOMPLETE.astype("float32")), PPCA(2).fit(INCOMPLETE)
    for name in ("components_", "mean_", "loadings_"):
        assert getattr(narrow, name).dtype == np.float32
    for answer in (narrow.transform(INCOMPLETE.astype("float32")), narrow.impute(INCOMPLETE.astype("float32"))):
        assert answer.dtype == np.float32
    np.testing.assert_allclose(narrow.loadings_, wide.loadings_, atol=1e-4)
