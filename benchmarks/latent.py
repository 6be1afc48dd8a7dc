"""Factor analysis and probabilistic PCA compared with other libraries: the tasks, the contenders and the targets."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import warnings
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import scipy.sparse
from sklearn import decomposition
from sklearn.exceptions import ConvergenceWarning
from sklearn.experimental import enable_iterative_imputer  # noqa: F401 (makes the next import possible)
from sklearn.impute import IterativeImputer

import lowdim
from benchmarks.harness import Case, Contender
from lowdim.solvers import Newton

try:
    from statsmodels.multivariate.pca import PCA as StatsmodelsPCA  # noqa: N811 (an acronym)
except ImportError:
    StatsmodelsPCA = None


# ---- Data


def factors(shape, low=0.01, high=1.0, seed=0):
    """Rows of ten or twenty factors, standard normal loadings, uniquenesses uniform between `low` and `high`."""
    n, p = shape
    k = 10 if p <= 100 else 20
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((n, k)) @ rng.standard_normal((k, p))
    return rows + rng.standard_normal((n, p)) * np.sqrt(rng.uniform(low, high, p))


@dataclass(frozen=True)
class Hidden:
    """A table, and the entries that were removed from it."""

    table: object
    rows: np.ndarray
    columns: np.ndarray
    values: np.ndarray

    @property
    def nbytes(self):
        t = self.table
        return t.data.nbytes + t.indices.nbytes + t.indptr.nbytes if scipy.sparse.issparse(t) else t.nbytes


def incomplete(shape, seed=0):
    """Rows of ten latent variables and unit noise; a fifth of the entries is missing."""
    n, p = shape
    rng = np.random.default_rng(seed)
    whole = rng.standard_normal((n, 10)) @ rng.standard_normal((10, p)) + rng.standard_normal((n, p))
    whole += 5 * rng.standard_normal(p)
    rows, columns = np.nonzero(rng.random((n, p)) < 0.2)
    values = whole[rows, columns]
    whole[rows, columns] = np.nan
    return Hidden(whole, rows, columns, values)


def ratings(shape, seed=0):
    """Ratings from 1 to 5 by users of items: biases of users and items, eight latent tastes, and noise.

    5% of the ratings are known, more of them for popular items, and a tenth of the known ones is hidden.
    """
    n, p = shape
    rng = np.random.default_rng(seed)
    tastes = rng.standard_normal((n, 8)) @ rng.standard_normal((8, p)) * 0.3
    grades = 3.3 + 0.5 * rng.standard_normal((n, 1)) + 0.5 * rng.standard_normal(p) + tastes
    grades = np.clip(np.round(grades + 0.7 * rng.standard_normal((n, p))), 1, 5)
    popular = rng.gamma(1.0, 1.0, p) + 0.1
    known = rng.random((n, p)) < 0.05 * popular / popular.mean()
    known[rng.integers(0, n, 2 * p), np.repeat(np.arange(p), 2)] = True
    rows, columns = np.nonzero(known)
    hide = rng.random(len(rows)) < 0.1
    hide &= np.bincount(columns[~hide], minlength=p)[columns] > 0
    stored = grades[rows, columns]
    table = scipy.sparse.csr_array((stored[~hide], (rows[~hide], columns[~hide])), shape=shape)
    return Hidden(table, rows[hide], columns[hide], stored[hide])


# ---- Contenders


def likelihood_contender(name, fit):
    """Times `fit(X, k)`, which returns a model, and compares the log-likelihood per row."""
    return Contender(name, lambda X, k: lambda: (fit(X, k), X), lambda result: result[0].score(result[1]))


def our_factors(X, k):
    return lowdim.FactorAnalysis(k).fit(X)


def their_factors(X, k):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return decomposition.FactorAnalysis(k).fit(X)


def best_likelihood(X, k):
    return lowdim.FactorAnalysis(k, solver=Newton(tol=1e-12)).fit(X).score(X)


def shortfall(likelihood, best):
    return best - likelihood


def from_covariance(X, k):
    """Factor analysis of a covariance matrix that is computed before the clock starts."""
    cov = np.cov(X, rowvar=False)
    return lambda: lowdim.FactorAnalysis(k).fit_summary(lowdim.summaries.Moments.from_covariance(cov, len(X)))


def in_r(X, k):
    """R's factanal on the same covariance. The time includes the start of R, so the fit is repeated 20 times."""
    folder = Path(tempfile.mkdtemp())
    np.savetxt(folder / "cov.csv", np.cov(X, rowvar=False), delimiter=",")
    code = (
        f'S <- as.matrix(read.csv("{folder}/cov.csv", header = FALSE)); '
        f'for (i in 1:{R_TIMES}) factanal(covmat = S, factors = {k}, n.obs = {len(X)}, rotation = "none")'
    )
    return lambda: subprocess.run(["Rscript", "-e", code], check=True, capture_output=True)


R_TIMES = 20


def repeat(setup, times):
    """The same task, repeated so many times in one call."""

    def repeated(X, k):
        call = setup(X, k)
        return lambda: [call() for _ in range(times)]

    return repeated


def r_contenders():
    return [Contender(f"R factanal, {R_TIMES} times", in_r, None)] if shutil.which("Rscript") else []


def imputation_contender(name, fill, once=False):
    """Times `fill(table, k)`, which returns a completed table, and compares the errors of the hidden entries."""

    def hidden(result):
        filled, data = result
        return filled[data.rows, data.columns] - data.values

    return Contender(name, lambda data, k: lambda: (fill(data.table, k), data), hidden, once)


def rmse(differences, _):
    return float(np.sqrt(np.mean(differences**2)))


def fill_by_ppca(X, k):
    return lowdim.PPCA(k).fit(X).impute(X)


def fill_by_statsmodels(X, k):
    return StatsmodelsPCA(X, ncomp=k, missing="fill-em", scale=False)._adjusted_data


def fill_by_chained_regressions(X, k):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return IterativeImputer(random_state=0).fit_transform(X)


def fill_by_mean(X, k):
    return np.where(np.isnan(X), np.nanmean(X, axis=0), X)


def prediction_contender(name, guess):
    """Times `guess(data, k)`, which returns values for the hidden entries."""
    return Contender(name, lambda data, k: lambda: (guess(data, k), data), lambda r: r[0] - r[1].values)


def guess_by(prior):
    def guess(data, k):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", lowdim.errors.ConvergenceWarning)
            model = lowdim.PPCA(k, prior=prior, missing="unstored", solver=lowdim.solvers.EM(tol=1e-3, max_iter=200))
            model.fit(data.table)
        return model.impute_at(data.table, data.rows, data.columns)

    return guess


def guess_by_biases(data, k):
    """Mean + bias of the user + bias of the item, estimated by a few rounds of shrunken averages."""
    X = data.table.tocoo()
    mean = X.data.mean()
    user, item = np.zeros(X.shape[0]), np.zeros(X.shape[1])
    n_user, n_item = np.bincount(X.row, minlength=X.shape[0]), np.bincount(X.col, minlength=X.shape[1])
    for _ in range(10):
        item = np.bincount(X.col, X.data - mean - user[X.row], X.shape[1]) / (n_item + 2.0)
        user = np.bincount(X.row, X.data - mean - item[X.col], X.shape[0]) / (n_user + 2.0)
    return mean + user[data.rows] + item[data.columns]


# ---- Cases

CASES = [
    Case(
        "factors",
        "FactorAnalysis 50,000 x 100, K=10 (error: log-likelihood per row below the best)",
        ">= 300 x faster than scikit-learn, likelihood no lower",
        (50_000, 100),
        10,
        factors,
        best_likelihood,
        [likelihood_contender("lowdim", our_factors), likelihood_contender("scikit-learn", their_factors)],
        error=shortfall,
    ),
    Case(
        "factors-easy",
        "the same, uniquenesses 0.2 to 2 instead of 0.01 to 1: fewer iterations for scikit-learn",
        "(the same)",
        (50_000, 100),
        10,
        partial(factors, low=0.2, high=2.0),
        best_likelihood,
        [likelihood_contender("lowdim", our_factors), likelihood_contender("scikit-learn", their_factors)],
        error=shortfall,
    ),
    Case(
        "factors-cov",
        f"the same from the covariance alone, {R_TIMES} times",
        ">= 3 x faster than R's factanal if R is installed",
        (50_000, 100),
        10,
        factors,
        lambda X, k: None,
        [Contender("lowdim", repeat(from_covariance, R_TIMES), None), *r_contenders()],
    ),
    Case(
        "factors-500",
        "FactorAnalysis 2,000 x 500, K=20 (error as above)",
        ">= 20 x faster than scikit-learn, likelihood no lower",
        (2_000, 500),
        20,
        factors,
        best_likelihood,
        [likelihood_contender("lowdim", our_factors), likelihood_contender("scikit-learn", their_factors)],
        error=shortfall,
    ),
    Case(
        "factors-500-easy",
        "the same, uniquenesses 0.2 to 2 instead of 0.01 to 1: fewer iterations for scikit-learn",
        "(the same)",
        (2_000, 500),
        20,
        partial(factors, low=0.2, high=2.0),
        best_likelihood,
        [likelihood_contender("lowdim", our_factors), likelihood_contender("scikit-learn", their_factors)],
        error=shortfall,
    ),
    Case(
        "missing",
        "PPCA 20,000 x 100, 20% missing, K=10, fit and fill (error: RMSE of the hidden entries)",
        ">= 4 x faster than statsmodels, >= 100 x than IterativeImputer, RMSE no higher",
        (20_000, 100),
        10,
        incomplete,
        lambda data, k: None,
        [
            imputation_contender("lowdim", fill_by_ppca),
            *([imputation_contender("statsmodels fill-em", fill_by_statsmodels)] if StatsmodelsPCA else []),
            imputation_contender("scikit-learn IterativeImputer, once", fill_by_chained_regressions, once=True),
            imputation_contender("means of the columns", fill_by_mean),
        ],
        error=rmse,
    ),
    Case(
        "ratings",
        "PPCA 5,000 x 2,000 ratings, 95% missing, K=20, EM(tol=1e-3, max_iter=200) (error: RMSE of the hidden entries)",
        "RMSE below plain maximum likelihood and below biases alone; memory for the stored entries, never n x p",
        (5_000, 2_000),
        20,
        ratings,
        lambda data, k: None,
        [
            prediction_contender("lowdim vb", guess_by("vb")),
            prediction_contender("lowdim maximum likelihood", guess_by(None)),
            prediction_contender("biases of users and items", guess_by_biases),
        ],
        error=rmse,
    ),
]
