"""Selection and whitening of wide tables: cross-validation, bootstrap and permutations, one core, with a limit of time.

Where there are fewer rows than columns, a fold, a draw or a shuffle is a choice of rows and columns of the n x n matrix
of inner products. The bare contenders compute that matrix, or the decompositions that a simple program would make.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from sklearn import decomposition
from sklearn.model_selection import PredefinedSplit
from sklearn.model_selection import cross_validate as sklearn_cross_validate

import lowdim
from benchmarks.harness import Case, Contender
from benchmarks.selection import (
    by_ikpls,
    by_scikit_learn,
    exact_rmse,
    ikpls,
    itself,
    labels_of,
    latent_rows,
    ours_pls,
)
from benchmarks.tables import process

LIMIT = 60.0  # seconds


def bare(name, product):
    """Times product(data, k) alone."""
    return Contender(name, lambda data, k: partial(product, data, k), None)


# ---- Cross-validation of PLS


def of_pls(folds):
    """lowdim and, where it is installed, ikpls."""
    theirs = [] if ikpls is None else [Contender("ikpls, fast cross-validation", by_ikpls(1, folds), itself)]
    return [Contender("lowdim", partial(ours_pls, folds=folds), itself), *theirs]


REFITTED = Contender("scikit-learn cross_validate for each K", partial(by_scikit_learn, folds=5), itself)


def inner_products(tables, k):
    X = tables.all[0]
    return X @ X.T


# ---- Cross-validation of PCA


def thin_likelihood(X, k, folds=5):
    """Average log-density of held-out rows under PCA of the others, for 1 to k components, by thin decompositions.

    The covariance of the training rows has the eigenvalues lambda_1, ..., lambda_r and p - r zeros; the noise variance
    of K components is the average of the last p - K of all of them.
    """
    labels, p = labels_of(len(X), folds), X.shape[1]
    total = np.zeros(k)
    for fold in range(folds):
        train, test = X[labels != fold], X[labels == fold]
        mean = train.mean(axis=0)
        _, s, Vt = np.linalg.svd(train - mean, full_matrices=False)
        values = s**2 / (len(train) - 1)
        Z = test - mean
        squares, whole = np.sum((Z @ Vt.T) ** 2, axis=0), np.sum(Z**2)
        for j in range(1, k + 1):
            noise = values[j:].sum() / (p - j)
            logarithms = np.log(values[:j]).sum() + (p - j) * np.log(noise)
            distances = np.sum(squares[:j] / values[:j]) + (whole - squares[:j].sum()) / noise
            total[j - 1] -= 0.5 * (len(test) * (p * np.log(2 * np.pi) + logarithms) + distances)
    return total / len(X)


def cross_validated_pca(X, k):
    """All numbers of components, as by default; the first k are compared."""
    labels = labels_of(len(X), 5)
    return lambda: lowdim.cross_validate(lowdim.PCA(), X, cv=labels)


def first_likelihoods(k):
    def values(result):
        return result.mean[0][(result.n_components >= 1) & (result.n_components <= k)]

    return values


def refitted_pca(X, k):
    """scikit-learn for 1 to k components."""
    splits = PredefinedSplit(labels_of(len(X), 5))

    def run():
        models = [decomposition.PCA(j, svd_solver="full") for j in range(1, k + 1)]
        return np.array([sklearn_cross_validate(m, X, cv=splits)["test_score"].mean() for m in models])

    return run


def eigenvalues(X, k):
    return np.linalg.svd(X - X.mean(axis=0), compute_uv=False) ** 2 / (len(X) - 1)


def of_kept(values, exact):
    """The largest relative error of the eigenvalues that were kept, however many."""
    return float(np.abs(values / exact[: len(values)] - 1).max())


# ---- Bootstrap


def bootstrap_error(values, exact):
    """The standard error of the first statistic beside that of many more draws; they differ by chance as well."""
    return f"{values:.3g} (many draws: {exact:.3g})"


def spread_of_first(name):
    return lambda draws: float(np.asarray(draws.standard_error(name)).ravel()[0])


def bootstrapped(model, n_resamples):
    return lambda X, k: lambda: lowdim.bootstrap(model(k), X, n_resamples=n_resamples, random_state=0)


def svd_of_each_draw(X, k, n_resamples, seed=0):
    """The standard deviation of the first eigenvalue over draws, with aligned components: a decomposition of each."""
    random = np.random.default_rng(seed)
    first = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)[2][:k]
    values = []
    for _ in range(n_resamples):
        rows = X[random.integers(0, len(X), len(X))]
        _, s, Vt = np.linalg.svd(rows - rows.mean(axis=0), full_matrices=False)
        Vt[:k] *= np.sign(np.sum(Vt[:k] * first, axis=1))[:, None]
        values.append(s[0] ** 2 / (len(X) - 1))
    return float(np.std(values, ddof=1))


def eigenvalue_spread(X, k, n_resamples=2000):
    """The same from the inner products alone, for many draws."""
    random = np.random.default_rng(1)
    K, values = X @ X.T, []
    for _ in range(n_resamples):
        drawn = random.integers(0, len(X), len(X))
        C = K[np.ix_(drawn, drawn)]
        C = C - C.mean(axis=0) - C.mean(axis=1)[:, None] + C.mean()
        values.append(np.linalg.eigvalsh(C)[-1] / (len(X) - 1))
    return float(np.std(values, ddof=1))


def bootstrap_case(name, work, target, shape, n_resamples):
    contenders = [
        Contender("lowdim", bootstrapped(lowdim.PCA, n_resamples), spread_of_first("explained_variance")),
        Contender("numpy, an SVD of each draw", lambda X, k: partial(svd_of_each_draw, X, k, n_resamples), itself),
    ]
    return Case(name, f"{work}; error: standard error of the first eigenvalue", target, shape, 2, latent_rows,
                eigenvalue_spread, contenders, error=bootstrap_error, limit=LIMIT)  # fmt: skip


# ---- Whitening


def whitened(X, k):
    return lambda: lowdim.Whitening("zca").fit_transform(X)


def thin_whitening(X, k):
    """ZCA from a thin decomposition: the scores U sqrt(n - 1) and the directions V^T."""
    U, s, Vt = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)
    kept = s > 1e-12 * s[0]
    return (U[:, kept] * np.sqrt(len(X) - 1)) @ Vt[kept]


def of_largest(values, exact):
    return float(np.abs(values - exact).max() / np.abs(exact).max())


# ---- Permutations


def permuted(X, k):
    return lambda: lowdim.permutation_test(lowdim.PCA(), X, n_resamples=99, random_state=0)


def shuffled_products(X, k, seed=0):
    """Each column in a random order, the products, and the eigenvalues, 99 times."""
    random = np.random.default_rng(seed)
    Z = (X - X.mean(axis=0)).T.copy()
    for _ in range(99):
        random.permuted(Z, axis=1, out=Z)
        np.linalg.eigvalsh(Z @ Z.T)


def shares(X, k):
    values = np.linalg.eigvalsh(np.cov(X, rowvar=False))[::-1]
    return values / values.sum()


GRAM = bare("bare X @ X.T", inner_products)
ROWS_GRAM = bare("bare X @ X.T", lambda X, k: X @ X.T)

CASES = [
    Case("wide-cv-pls", "5-fold cross-validation of PLS, 1 to 20 components, 60 x 5,000; error: RMSE",
         "< 50 ms; >= 2 x ikpls", (60, 5_000), 20, process, partial(exact_rmse, folds=5),
         [*of_pls(5), REFITTED, GRAM], limit=LIMIT),
    Case("wide-cv-pls-20000", "10-fold cross-validation of PLS, 1 to 20 components, 500 x 20,000; error: RMSE",
         "<= 3 x the bare X @ X.T", (500, 20_000), 20, process, exact_rmse,
         [*of_pls(10), GRAM], limit=LIMIT),
    Case("wide-cv-pca", "5-fold held-out likelihood of PCA, all numbers of components (scikit-learn: 1 to 20), "
         "60 x 3,000; error: likelihood", "< 0.1 s", (60, 3_000), 20, latent_rows, thin_likelihood,
         [Contender("lowdim", cross_validated_pca, first_likelihoods(20)),
          Contender("scikit-learn cross_validate for each K", refitted_pca, itself), ROWS_GRAM], limit=LIMIT),
    Case("wide-pca-cv", "PCA('cv'), 60 x 3,000; error: eigenvalues", "< 0.1 s", (60, 3_000), 20, latent_rows,
         eigenvalues,
         [Contender("lowdim", lambda X, k: lambda: lowdim.PCA("cv").fit(X), lambda m: m.explained_variance_)],
         error=of_kept, limit=LIMIT),
    bootstrap_case("wide-bootstrap", "bootstrap of PCA(2), 60 x 1,000, 50 draws", "< 0.3 s", (60, 1_000), 50),
    bootstrap_case("wide-bootstrap-2000", "the same, 60 x 2,000, 50 draws", "< 5 ms a draw", (60, 2_000), 50),
    Case("wide-zca", "Whitening('zca'), fit and transform, 2 x 20,000; error: of the whitened rows",
         "< 0.2 s, < 100 MB", (2, 20_000), 2, latent_rows, thin_whitening,
         [Contender("lowdim", whitened, itself),
          Contender("numpy, a thin SVD", lambda X, k: partial(thin_whitening, X, k), itself)],
         error=of_largest, limit=LIMIT),
    Case("permutations", "permutation_test(PCA()), 200,000 x 20, 99 shuffles; error: shares of the variance",
         "< 5 s", (200_000, 20), 20, latent_rows, shares,
         [Contender("lowdim", permuted, lambda test: test.statistic),
          bare("bare: shuffles, products and eigenvalues", shuffled_products)], limit=LIMIT),
]  # fmt: skip
