"""Warnings that are not wanted are not given; the filters of the process are the user's and are never touched."""

from __future__ import annotations

import threading
import warnings
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
import pytest

from examples import MODELS, X, Y, fitted
from lowdim import PCA, PPCA, FactorAnalysis, PLSRegression, bootstrap, cross_validate
from lowdim._core.threads import run_in_parallel
from lowdim.errors import ConvergenceWarning, LowdimWarning, RankWarning, warn_user, without_warnings
from lowdim.solvers import EM

INCOMPLETE = np.where(np.random.default_rng(0).random(X.shape) < 0.1, np.nan, X)
#: Every fit of a fold stops after one step, and would say so.
HASTY = {"solver": EM(max_iter=1)}
#: What silences warnings of single fits.
SILENT = {
    "cross_validate": lambda: cross_validate(FactorAnalysis(**HASTY), X, n_components=[1, 2]),
    "cross_validate, missing entries": lambda: cross_validate(PPCA(**HASTY), INCOMPLETE, n_components=[1]),
    "PCA('cv')": lambda: PCA("cv").fit(X),
    "PLSRegression('cv')": lambda: PLSRegression("cv").fit(X, Y),
    "bootstrap": lambda: bootstrap(FactorAnalysis(1, **HASTY), X, n_resamples=3, random_state=0),
    "partial_fit": lambda: PLSRegression(2).partial_fit(X[:4], Y[:4]).partial_fit(X[4:], Y[4:]),
}


@pytest.mark.parametrize("name", list(SILENT))
def test_nothing_is_given_and_no_filter_is_changed(name, monkeypatch):
    """Filters are errors here, so a warning that is given would be raised."""

    def refuse(*arguments, **options):
        raise AssertionError("the filters of the process are changed")

    monkeypatch.setattr(warnings, "simplefilter", refuse)
    monkeypatch.setattr(warnings, "filterwarnings", refuse)
    monkeypatch.setattr(warnings, "catch_warnings", refuse)
    SILENT[name]()


@pytest.mark.filterwarnings("ignore::lowdim.errors.HeywoodWarning")
def test_filters_after_fits_in_several_threads():
    before = list(warnings.filters)
    jobs = [*SILENT.values(), *(partial(fitted, name) for name in MODELS)]
    with ThreadPoolExecutor(4) as pool:
        for future in [pool.submit(job) for job in jobs]:
            future.result()
    assert warnings.filters == before


def test_a_single_fit_still_warns():
    with pytest.warns(ConvergenceWarning):
        FactorAnalysis(1, **HASTY).fit(X)


def test_only_the_categories_that_are_named():
    with without_warnings(RankWarning):
        warn_user("not given", RankWarning)
        with pytest.warns(ConvergenceWarning):
            warn_user("given", ConvergenceWarning)
        with without_warnings(LowdimWarning):
            warn_user("not given", ConvergenceWarning)
        with without_warnings():
            warn_user("not given", RankWarning)
    with pytest.warns(RankWarning):
        warn_user("given again", RankWarning)


def test_other_threads_still_warn_but_tasks_do_not():
    given = []

    def warn(*tick):
        try:
            warn_user("given", RankWarning)
        except RankWarning:
            given.append(threading.current_thread())

    thread = threading.Thread(target=warn)
    with without_warnings(LowdimWarning):
        thread.start()
        thread.join()
        list(run_in_parallel([warn, warn]))
    assert given == [thread]
