"""Maximum likelihood of PPCA, complete and with missing entries, computed in R."""

import numpy as np
import pytest

from lowdim import PPCA
from lowdim.solvers import EM
from oracles import observed_loglike
from parity.reference import data, results

INCOMPLETE = [("metabolite", 1), ("metabolite", 2), ("metabolite", 5), ("airquality", 1), ("airquality", 2)]
STARTS = {"spectrum": EM(tol=1e-9, max_iter=5000), "plain": EM(tol=1e-9, max_iter=5000, accelerate=False)}
STARTS |= {f"random {seed}": EM(tol=1e-9, max_iter=5000, start="random") for seed in range(3)}


def table(name):
    """As R was given it: airquality standardised by its observed means and deviations, without its dates."""
    if name == "metabolite":
        return data("metabolite_missing")
    r, X = results("missing_airquality"), data("airquality")[:, :4]
    return (X - r["center"]) / r["scale"]


def fitted(name, k, start):
    seed = int(start.split()[1]) if start.startswith("random") else 0
    return PPCA(k, solver=STARTS[start], random_state=seed).fit(table(name))


@pytest.mark.parametrize("start", list(STARTS))
@pytest.mark.parametrize(("name", "k"), INCOMPLETE)
def test_observed_likelihood_noise_and_completed_entries(name, k, start):
    X, r = table(name), results(f"missing_{name}")[f"exact_ml_ppca_{k}"]
    ppca = fitted(name, k, start)
    np.testing.assert_allclose(ppca.loglike_[-1], r["observed_log_likelihood"], rtol=0, atol=1e-6)
    np.testing.assert_allclose(ppca.noise_variance_, r["noise_variance"], rtol=1e-6)
    columns, rows = np.nonzero(np.isnan(X).T)
    np.testing.assert_allclose(ppca.impute(X)[rows, columns], r["completed_missing_entries"], rtol=0, atol=1e-5)
    W = np.linalg.svd(ppca.loadings_, compute_uv=False)
    np.testing.assert_allclose(W, r["singular_values_of_W"], rtol=1e-5)


@pytest.mark.parametrize(("name", "k"), INCOMPLETE)
def test_the_likelihood_reported_is_that_of_the_model(name, k):
    ppca, X = fitted(name, k, "spectrum"), table(name)
    C = ppca.loadings_ @ ppca.loadings_.T + ppca.noise_variance_ * np.eye(X.shape[1])
    np.testing.assert_allclose(ppca.loglike_[-1], observed_loglike(X, ppca.mean_, C).sum(), rtol=1e-10)
    np.testing.assert_allclose(ppca.score_samples(X), observed_loglike(X, ppca.mean_, C), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("solver", ["auto", "triangle", EM(tol=1e-10)], ids=["auto", "triangle", "em"])
@pytest.mark.parametrize("name", ["iris", "swiss", "usarrests"])
def test_closed_form(name, solver):
    X = data(name)
    for r in results(f"ppca_{name}")["fits"]:
        if r["components"] == X.shape[1]:
            continue
        ppca = PPCA(int(r["components"]), solver=solver).fit(X)
        np.testing.assert_allclose(ppca.noise_variance_, r["noise_variance"], rtol=1e-9)
        np.testing.assert_allclose(ppca.loglike_[-1], r["log_likelihood"], rtol=1e-10)
        np.testing.assert_allclose(
            ppca.get_covariance(), r["covariance"], rtol=0, atol=1e-6 * np.abs(r["covariance"]).max()
        )
        means = ppca.transform(X[:10])
        np.testing.assert_allclose(np.abs(means), np.abs(r["posterior_mean_rows_1_to_10"]), rtol=0, atol=1e-6)
