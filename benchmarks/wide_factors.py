"""Factor analysis of few rows, of many columns and of noise: one core, with a limit of time.

The error is the average log-likelihood of a row, computed from the loadings and uniquenesses in the same way for all
libraries; the larger is the better.
"""

from __future__ import annotations

import warnings
from functools import partial

import numpy as np
from sklearn import decomposition
from sklearn.model_selection import PredefinedSplit, cross_val_score

import lowdim
from benchmarks.harness import Case, Contender
from benchmarks.latent import factors
from benchmarks.selection import itself, labels_of
from benchmarks.wide import LIMIT, bootstrap_error, spread_of_first

#: Up to this many columns the covariance of the model is formed; uniquenesses may then be zero.
DENSE = 1000


def likelihood(parts, X):
    """The average log-density of the rows of X under N(mean, L^T L + Psi), as text.

    With M = I + L Psi^{-1} L^T, the logarithm of the determinant is log |M| + sum log psi, and the squared distance is
    z^T Psi^{-1} z - |M^{-1/2} L Psi^{-1} z|^2.
    """
    mean, L, psi = parts
    n, p = X.shape
    Z = X - mean
    if p <= DENSE:
        cov = L.T @ L + np.diag(psi)
        logarithm = np.linalg.slogdet(cov)[1]
        distances = np.sum(Z * np.linalg.solve(cov, Z.T).T)
    else:
        M = np.eye(len(L)) + (L / psi) @ L.T
        logarithm = np.linalg.slogdet(M)[1] + np.log(psi).sum()
        scores = np.linalg.solve(np.linalg.cholesky(M), (L / psi) @ Z.T)
        distances = np.sum(Z**2 / psi) - np.sum(scores**2)
    return f"{-0.5 * (p * np.log(2 * np.pi) + logarithm + distances / n):.6f}"


def parameters(model):
    return model.mean_, model.components_, model.noise_variance_


def noise(shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape)


def few_factors(shape, k=3, seed=0):
    """Rows of k factors, uniquenesses between 0.2 and 2."""
    n, p = shape
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((n, k)) @ rng.standard_normal((k, p))
    return rows + rng.standard_normal((n, p)) * np.sqrt(rng.uniform(0.2, 2.0, p))


def questionnaire(shape, seed=0):
    """Answers from 1 to 6 to questions about five correlated traits, five questions each."""
    n, p = shape
    rng = np.random.default_rng(seed)
    common = rng.standard_normal((n, 1))
    traits = 0.4 * common + rng.standard_normal((n, 5))
    loadings = rng.uniform(0.4, 1.0, p)
    answers = traits[:, np.arange(p) * 5 // p] * loadings + rng.standard_normal((n, p))
    return np.clip(np.round(answers + rng.uniform(2.5, 4.5, p)), 1, 6)


def rows_themselves(X, k):
    return X


def our_fit(n_components="k"):
    def setup(X, k):
        return lambda: lowdim.FactorAnalysis(k if n_components == "k" else n_components).fit(X)

    return Contender("lowdim", setup, parameters)


def their_fit(X, k):
    def fit():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return decomposition.FactorAnalysis(k).fit(X)

    return fit


def their_choice(X, k):
    """scikit-learn's held-out likelihood for 1 to k factors in five folds, and a fit with the best number."""
    splits = PredefinedSplit(labels_of(len(X), 5))

    def run():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            scores = [cross_val_score(decomposition.FactorAnalysis(j), X, cv=splits).mean() for j in range(1, k + 1)]
            return decomposition.FactorAnalysis(int(np.argmax(scores)) + 1).fit(X)

    return run


THEIRS = Contender("scikit-learn", their_fit, parameters)
WHAT = "; error: log-likelihood of a row"


def fit_case(name, work, target, shape, k, make=few_factors, ours=None):
    contenders = [ours or our_fit(), THEIRS]
    return Case(name, work + WHAT, target, shape, k, make, rows_themselves, contenders, error=likelihood, limit=LIMIT)


# ---- Bootstrap


def bootstrapped(X, k):
    return lambda: lowdim.bootstrap(lowdim.FactorAnalysis(k), X, n_resamples=100, random_state=0)


def refitted(X, k, n_resamples, seed):
    """scikit-learn fitted to each draw: the standard deviation of the sum of squared loadings of the first factor."""
    random = np.random.default_rng(seed)
    values = []
    for _ in range(n_resamples):
        model = their_fit(X[random.integers(0, len(X), len(X))], k)()
        values.append(unrotated_variances(model)[0])
    return float(np.std(values, ddof=1))


def unrotated_variances(model):
    """Sums of squared loadings of the rotation in which L Psi^{-1} L^T is diagonal."""
    L, psi = model.components_, model.noise_variance_
    _, R = np.linalg.eigh((L / psi) @ L.T)
    return np.sum((R.T[::-1] @ L) ** 2, axis=1)


BETTER = "no slower than scikit-learn, likelihood no lower"

CASES = [
    fit_case("factors-5x500", "FactorAnalysis(1), 5 x 500", BETTER, (5, 500), 1),
    fit_case("factors-5x3000", "FactorAnalysis(1), 5 x 3,000", BETTER, (5, 3_000), 1),
    fit_case("factors-50x200", "FactorAnalysis(10), 50 x 200", BETTER, (50, 200), 10),
    fit_case("factors-noise", "FactorAnalysis(20), 8,000 x 60, noise", BETTER, (8_000, 60), 20, noise),
    fit_case("factors-wide", "FactorAnalysis(5), 200 x 20,000", "< 5 s", (200, 20_000), 5, partial(few_factors, k=5)),
    fit_case("factors-all", "FactorAnalysis(), 300 x 40: as many factors as leave degrees of freedom, 31", "< 0.5 s",
             (300, 40), 31, factors, our_fit(None)),
    Case("factors-cv", "FactorAnalysis('cv'), 2,436 x 25 (scikit-learn: cross_val_score for 1 to 10)" + WHAT,
         "< 3 s", (2_436, 25), 10, questionnaire, rows_themselves,
         [our_fit("cv"), Contender("scikit-learn", their_choice, parameters)], error=likelihood, limit=LIMIT),
    Case("factors-bic", "the same, 'bic'" + WHAT, "< 0.5 s", (2_436, 25), 10, questionnaire, rows_themselves,
         [our_fit("bic")], error=likelihood, limit=LIMIT),
    Case("factors-bootstrap", "bootstrap of FactorAnalysis(3), 300 x 20, 100 draws; error: standard error of the first "
         "sum of squared loadings", "< 0.5 s", (300, 20), 3, few_factors, lambda X, k: refitted(X, k, 500, 1),
         [Contender("lowdim", bootstrapped, spread_of_first("explained_variance")),
          Contender("scikit-learn, a fit to each draw", lambda X, k: partial(refitted, X, k, 100, 0), itself)],
         error=bootstrap_error, limit=LIMIT),
]  # fmt: skip
