"""Cross-validation compared with other libraries: all folds and all numbers of components, with the same splits."""

from __future__ import annotations

import numpy as np
from sklearn import cross_decomposition, decomposition
from sklearn.model_selection import PredefinedSplit
from sklearn.model_selection import cross_validate as sklearn_cross_validate

import lowdim
from benchmarks.harness import Case, Contender
from benchmarks.tables import process

try:
    from ikpls.fast_cross_validation import numpy as ikpls
except ImportError:
    ikpls = None


def labels_of(n, folds):
    """The fold of each row: rows go to the folds in turn, so that the rows of a fold are not consecutive."""
    return np.arange(n) % folds


# ---- Exact answers


def exact_rmse(tables, k, folds=10):
    """Root mean squared errors for 1 to k components: PLS by deflating the standardized rows of each training set."""
    X, Y = tables.all
    labels = labels_of(len(X), folds)
    squares = np.zeros(k)
    for fold in range(folds):
        train, test = labels != fold, labels == fold
        means, deviations = zip(*((A[train].mean(axis=0), A[train].std(axis=0, ddof=1)) for A in (X, Y)), strict=True)
        E, F = ((A[train] - m) / s for A, m, s in zip((X, Y), means, deviations, strict=True))
        Z, left = (X[test] - means[0]) / deviations[0], (Y[test] - means[1]) / deviations[1]
        for j in range(k):
            w = np.linalg.svd(E.T @ F, full_matrices=False)[0][:, 0]
            t = E @ w
            p, q = E.T @ t / (t @ t), F.T @ t / (t @ t)
            E -= np.outer(t, p)
            u = Z @ w
            Z, left = Z - np.outer(u, p), left - np.outer(u, q)
            squares[j] += np.sum((left * deviations[1]) ** 2)
    return np.sqrt(squares / Y.size)


def exact_likelihood(X, k, folds=5):
    """Average log-density of held-out rows under PCA of the others, for 1 to k components, from their covariances."""
    labels, p = labels_of(len(X), folds), X.shape[1]
    total = np.zeros(k)
    for fold in range(folds):
        train, test = X[labels != fold], X[labels == fold]
        mean = train.mean(axis=0)
        values, V = np.linalg.eigh(np.cov(train.T))
        values, scores = values[::-1], (test - mean) @ V[:, ::-1]
        squares = np.sum(scores**2, axis=0)
        for j in range(1, k + 1):
            noise = values[j:].mean()
            kept = np.concatenate([values[:j], np.full(p - j, noise)])
            constant = len(test) * (p * np.log(2 * np.pi) + np.sum(np.log(kept)))
            total[j - 1] += -0.5 * (constant + np.sum(squares / kept))
    return total / len(X)


# ---- Contenders


def ours_pls(tables, k, folds=10):
    X, Y = tables.all
    labels = labels_of(len(X), folds)
    return lambda: lowdim.cross_validate(lowdim.PLSRegression(), X, Y, cv=labels, n_components=range(1, k + 1)).rmse[0]


def by_ikpls(jobs, folds=10):
    """ikpls, which computes the products of the training rows from those of all rows."""

    def setup(tables, k):
        X, Y = tables.all
        labels = labels_of(len(X), folds)

        def run():
            model = ikpls.PLS(algorithm=1, ddof=1)
            sums = model.cross_validate(X, Y, k, labels, _squares, n_jobs=jobs, verbose=0)
            return np.sqrt(sum(sums.values()) / Y.size)

        return run

    return setup


def _squares(truth, predicted):
    return np.sum((predicted - truth) ** 2, axis=(1, 2))


def by_scikit_learn(tables, k, folds=10):
    """scikit-learn, refitted for each number of components and each fold."""
    X, Y = tables.all
    splits = PredefinedSplit(labels_of(len(X), folds))

    def run():
        errors = []
        for j in range(1, k + 1):
            model = cross_decomposition.PLSRegression(j)
            found = sklearn_cross_validate(model, X, Y, cv=splits, scoring="neg_mean_squared_error")
            errors.append(-found["test_score"].mean())
        return np.sqrt(errors)

    return run


def ours_likelihood(X, k):
    labels = labels_of(len(X), 5)
    return lambda: lowdim.cross_validate(lowdim.PCA(), X, cv=labels, n_components=range(1, k + 1)).mean[0]


def contiguous_likelihood(X, k):
    return lambda: lowdim.cross_validate(lowdim.PCA(), X, cv=5, n_components=range(1, k + 1)).mean[0]


def sklearn_likelihood(X, k):
    splits = PredefinedSplit(labels_of(len(X), 5))

    def run():
        models = [decomposition.PCA(j, svd_solver="covariance_eigh") for j in range(1, k + 1)]
        return np.array([sklearn_cross_validate(m, X, cv=splits)["test_score"].mean() for m in models])

    return run


def latent_rows(shape, seed=0):
    """Rows of twenty latent variables of decreasing variance, and noise."""
    n, p = shape
    rng = np.random.default_rng(seed)
    k = min(20, p // 2)
    latent = rng.standard_normal((n, k)) * np.linspace(4, 1, k)
    return latent @ rng.standard_normal((k, p)) + rng.standard_normal((n, p))


def itself(values):
    return values


IKPLS = (
    [
        Contender("ikpls, fast cross-validation, two jobs", by_ikpls(2), itself),
        Contender("ikpls, fast cross-validation, one job", by_ikpls(1), itself),
    ]
    if ikpls is not None
    else []
)

CASES = [
    Case("cv-pls", "10-fold cross-validation of PLS, 1 to 20 components, 20,000 x 400; error: RMSE",
         ">= 2.5 x ikpls with two jobs, >= 100 x scikit-learn", (20_000, 400), 20, process, exact_rmse,
         [Contender("lowdim", ours_pls, itself), *IKPLS,
          Contender("scikit-learn cross_validate for each K", by_scikit_learn, itself, once=True)]),
    Case("cv-likelihood", "5-fold held-out likelihood of PCA, 1 to 30 components, 100,000 x 100; error: likelihood",
         "within 3 x of one PCA fit", (100_000, 100), 30, latent_rows, exact_likelihood,
         [Contender("lowdim", ours_likelihood, itself),
          Contender("lowdim, folds of consecutive rows", contiguous_likelihood, None),
          Contender("lowdim, one PCA fit", lambda X, k: lambda: lowdim.PCA(k).fit(X), None),
          Contender("scikit-learn cross_validate for each K", sklearn_likelihood, itself, once=True)]),
]  # fmt: skip
