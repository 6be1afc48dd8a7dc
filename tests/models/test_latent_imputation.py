"""Filling missing entries in real tables: model and number of components are chosen by held-out likelihood, and never
by looking at what was hidden."""

from functools import cache

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_wine
from sklearn.exceptions import ConvergenceWarning as TheirConvergenceWarning
from sklearn.experimental import enable_iterative_imputer  # noqa: F401 (makes the next import possible)
from sklearn.impute import IterativeImputer

from lowdim import PPCA, FactorAnalysis
from lowdim.solvers import EM
from parity.reference import data

QUICK = EM(tol=1e-3, max_iter=200, n_init=0)
MODELS = {
    "PPCA": lambda k, solver: PPCA(k, solver=solver),
    "PPCA vb": lambda k, solver: PPCA(k, prior="vb", solver=solver),
    "FactorAnalysis": lambda k, solver: FactorAnalysis(k, solver=solver),
}
#: Measurements in their own units, each standardised by its observed mean and deviation before it is fitted.
TABLES = {
    "diabetes": lambda: load_diabetes(scaled=False).data,
    "wine": lambda: load_wine().data,
    "crabs": lambda: data("crabs"),
    "numerals": lambda: data("mfeat_mor"),
    "metabolite": lambda: data("metabolite_complete"),
}
pytestmark = pytest.mark.filterwarnings("ignore::lowdim.errors.ConvergenceWarning")


@cache
def hidden(name):
    """The whole table, and the same with 20% hidden, in units of what is observed. For metabolite, as it came."""
    whole = TABLES[name]()
    if name == "metabolite":
        return whole, data("metabolite_missing")
    observed = np.where(np.random.default_rng(0).random(whole.shape) < 0.2, np.nan, whole)
    mean, sd = np.nanmean(observed, axis=0), np.nanstd(observed, axis=0)
    return (whole - mean) / sd, (observed - mean) / sd


def held_out_likelihood(make, table):
    """Hide a further tenth, fit, and score it by its density given the rest of its row."""
    known = np.argwhere(~np.isnan(table))
    i, j = known[np.random.default_rng(1).random(len(known)) < 0.1].T
    rest = table.copy()
    rest[i, j] = np.nan
    mean, sd = make.fit(rest).impute_at(rest, i, j, return_std=True)
    return float(np.mean(-0.5 * ((table[i, j] - mean) / sd) ** 2 - np.log(sd)))


@cache
def chosen(name):
    """The model that predicts held-out entries best, fitted to all that is observed."""
    _, table = hidden(name)
    candidates = [(kind, k) for kind in MODELS for k in (1, 2, 3, 4, 6, 8) if k < table.shape[1] - 1]
    if name == "metabolite":
        candidates = [(kind, k) for kind in ("PPCA", "PPCA vb") for k in (4, 8, 15)]
    kind, k = max(candidates, key=lambda pair: held_out_likelihood(MODELS[pair[0]](pair[1], QUICK), table))
    return MODELS[kind](k, EM(tol=1e-4)).fit(table)


def errors(filled, name):
    whole, table = hidden(name)
    return (filled - whole)[np.isnan(table)]


def rmse(filled, name):
    return float(np.sqrt(np.mean(errors(filled, name) ** 2)))


@pytest.mark.parametrize("name", list(TABLES))
@pytest.mark.filterwarnings("ignore::lowdim.errors.HeywoodWarning")
def test_nine_tenths_lie_in_their_interval(name):
    table = hidden(name)[1]
    filled, sd = chosen(name).impute(table, return_std=True)
    share = np.mean(np.abs(errors(filled, name)) < 1.6449 * sd[np.isnan(table)])
    assert 0.85 <= share <= 0.95


@pytest.mark.parametrize("name", list(TABLES))
@pytest.mark.filterwarnings("ignore::lowdim.errors.HeywoodWarning")
def test_far_better_than_the_means_of_the_columns(name):
    table = hidden(name)[1]
    means = np.where(np.isnan(table), np.nanmean(table, axis=0), table)
    assert rmse(chosen(name).impute(table), name) < 0.75 * rmse(means, name)


@pytest.mark.filterwarnings(f"ignore::{TheirConvergenceWarning.__module__}.{TheirConvergenceWarning.__name__}")
@pytest.mark.parametrize("name", ["diabetes", "wine", "crabs", "numerals"])
@pytest.mark.filterwarnings("ignore::lowdim.errors.HeywoodWarning")
def test_no_worse_than_chained_regressions(name):
    table = hidden(name)[1]
    theirs = IterativeImputer(random_state=0).fit_transform(table)
    assert rmse(chosen(name).impute(table), name) <= rmse(theirs, name)
