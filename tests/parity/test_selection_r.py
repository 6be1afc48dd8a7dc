"""Choosing K and cross-validation beside R's psych and pls."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone

from lowdim import PCR, PLSRegression, choose_n_components, cross_validate
from parity.reference import DATA, data, results

SETS = {name: name for name in ("usarrests", "iris", "swiss", "crabs")} | {"metabolite": "metabolite_complete"}


@pytest.mark.parametrize("name", list(SETS))
def test_parallel_analysis_is_psychs(name):
    """The same K, and thresholds that differ by chance only: R's are means of 500 simulations."""
    r, X = results("parallel")[name], data(SETS[name])
    choices = choose_n_components(X, ["parallel"], scale=True, n_resamples=500)
    found = choices.eigenvalues.values
    np.testing.assert_allclose(found, r["eigenvalues"][: len(found)], atol=1e-10)
    assert choices["parallel"].k == r["n_components"]
    means = choose_n_components(X, ["parallel"], scale=True, n_resamples=500, quantile="mean")["parallel"].curve
    np.testing.assert_allclose(means, r["mean_of_simulated"][: len(means)], atol=0.03)


@pytest.mark.parametrize("name", list(SETS))
def test_map_is_psychs(name):
    """`vss` gives 1, 2, ... components; where all but one are removed, what is left is rounding."""
    r = results("parallel")[name]["map"]
    curve = choose_n_components(data(SETS[name]), ["map"], scale=True)["map"].curve
    n = min(len(r), len(curve) - 1, data(SETS[name]).shape[1] - 2)
    np.testing.assert_allclose(curve[1 : n + 1], r[:n], rtol=1e-6)


UNSCALED = [
    ("kernelpls", PLSRegression(scale=False)),
    ("simpls", PLSRegression(scale=False, algorithm="simpls")),
    ("svdpc", PCR(scale=False)),
]
SCALED = [("kernelpls", PLSRegression(scale=(True, False))), ("svdpc", PCR(scale=(True, False)))]


def octane():
    with open(DATA / "gasoline.csv") as file:
        return np.array([float(line.split(",")[0]) for line in file.readlines()[1:]])


@pytest.mark.parametrize(
    ("case", "method", "model"),
    [("pls_pcr_gasoline", *m) for m in UNSCALED] + [("pls_pcr_gasoline_scaled", *m) for m in SCALED],
)
def test_errors_in_fixed_segments_are_those_of_pls(case, method, model):
    """RMSEP of R's pls, whose every fit has its own centre and scale. (Without components R leaves out single rows,
    whatever the segments are, so that is left out here.)"""
    r = results(case)
    X, y = data("gasoline")[:50], octane()[:50]
    errors = np.ravel(r[method]["rmsep_cv"])[1:]
    labels = np.empty(len(X), dtype=int)
    for i, segment in enumerate(r["segments_zero_based"].astype(int)):
        labels[segment] = i
    found = cross_validate(model, X, y, cv=labels, n_components=range(1, len(errors) + 1))
    assert found.n_passes == 1
    np.testing.assert_allclose(found.rmse[0], errors, rtol=1e-8)


@pytest.mark.parametrize(
    ("case", "method", "model"),
    [("pls_pcr_gasoline", *m) for m in UNSCALED] + [("pls_pcr_gasoline_scaled", *m) for m in SCALED],
)
def test_one_sigma_is_the_rule_of_pls(case, method, model):
    """`selectNcomp(method = "onesigma")` compares R's RMSEP, less the standard error of the residuals of each number of
    components, with the smallest RMSEP. The residuals are those of fits to the rows of each segment."""
    r = results(case)
    X, y = data("gasoline")[:50], octane()[:50]
    errors = np.ravel(r[method]["rmsep_cv"])[1:]
    labels, residuals = np.empty(len(X), dtype=int), np.empty((len(errors), len(X)))
    for i, segment in enumerate(r["segments_zero_based"].astype(int)):
        labels[segment] = i
        rest = np.setdiff1d(np.arange(len(X)), segment)
        fit = clone(model).set_params(n_components=len(errors)).fit(X[rest], y[rest])
        for k in range(len(errors)):
            residuals[k, segment] = y[segment] - fit.predict(X[segment], n_components=k + 1)
    found = cross_validate(model, X, y, cv=labels, n_components=range(1, len(errors) + 1))
    expected = 1 + np.flatnonzero(errors - residuals.std(axis=1, ddof=1) / np.sqrt(len(X)) < errors.min())[0]
    assert found.one_sigma == expected
    means = np.average(found.mean_residuals[:, 0, :, 0], axis=0, weights=found.weights)
    np.testing.assert_allclose(means, residuals.mean(axis=1), atol=1e-8)


@pytest.mark.parametrize(("method", "model"), UNSCALED)
def test_errors_of_single_rows_left_out_are_those_of_pls(method, model):
    errors = np.ravel(results("pls_pcr_gasoline")[method]["rmsep_loo_cv"])
    X, y = data("gasoline")[:50], octane()[:50]
    found = cross_validate(model, X, y, cv=np.arange(50), n_components=range(len(errors)))
    np.testing.assert_allclose(found.rmse[0], errors, rtol=1e-8)
