"""Sparse tables: PCA of texts, PLS and CCA of sparse rows, unstored entries as missing ones; one core, with a limit.

Products with the stored entries are all that these need; centring and scaling never touch the entries that are zero.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import scipy.sparse

import lowdim
from benchmarks.exact import sparse
from benchmarks.harness import Case, Contender
from benchmarks.odd import observed_likelihood, rows_themselves
from benchmarks.tables import Tables, contender, last_coefficients, of_largest
from benchmarks.wide import LIMIT, bare, of_kept

# ---- Data


def texts(shape, words=90, topics=30, seed=0):
    """Normalized weights of words in documents: frequencies as in Zipf's law, and topics with words of their own."""
    n, p = shape
    rng = np.random.default_rng(seed)
    common = 1.0 / np.arange(1, p + 1)
    common /= common.sum()
    special = np.array_split(rng.permutation(p), topics)
    rows, columns = [], []
    for i in range(n):
        own = special[rng.integers(topics)]
        mine = common[own] / common[own].sum()
        drawn = np.concatenate([rng.choice(p, words // 2, p=common), rng.choice(own, words // 2, p=mine)])
        rows.append(np.full(len(drawn), i)), columns.append(drawn)
    counts = scipy.sparse.csr_array(
        (np.ones(n * (words // 2) * 2), (np.concatenate(rows), np.concatenate(columns))), shape=shape
    )
    counts.sum_duplicates()
    documents = np.bincount(counts.indices, minlength=p)
    counts.data *= np.log((1 + n) / (1 + documents[counts.indices])) + 1
    lengths = np.sqrt(counts.multiply(counts).sum(axis=1))
    return scipy.sparse.csr_array(scipy.sparse.diags_array(1 / lengths) @ counts)


def empty(shape):
    return scipy.sparse.csr_array(shape)


class SparseTables(Tables):
    """Tables of which the first is sparse."""

    @property
    def nbytes(self):
        X, *others = self.all
        return X.data.nbytes + X.indices.nbytes + X.indptr.nbytes + sum(A.nbytes for A in others)


def with_responses(shape, density=0.001, targets=3, seed=0):
    """A sparse table, and responses that depend on all of its columns."""
    rng = np.random.default_rng(seed)
    X = sparse(shape, density, decay=False, seed=seed)
    Y = X @ rng.standard_normal((shape[1], targets))
    return SparseTables([X, Y + 0.5 * Y.std() * rng.standard_normal(Y.shape)])


# ---- Exact answers


def gram_eigenvalues(X, k):
    """All eigenvalues of the covariance, from the products of the smaller side, centred in dense form."""
    n, p = X.shape
    if n < p:
        C = (X @ X.T).toarray()
        C = C - C.mean(axis=0) - C.mean(axis=1)[:, None] + C.mean()
    else:
        mean = np.asarray(X.mean(axis=0)).ravel()
        C = (X.T @ X).toarray() - n * np.outer(mean, mean)
    return np.linalg.eigvalsh(C)[::-1] / (n - 1)


def eigenpairs_of_products(X, k):
    """The same with vectors, as a simple program would compute them."""
    C = (X @ X.T).toarray() if X.shape[0] < X.shape[1] else (X.T @ X).toarray()
    return np.linalg.eigh(C)


def pls_coefficients(tables, k):
    """Coefficients of PLS of standardized tables, by products with the centred columns.

    X itself is not deflated: with orthonormal scores T, the weights are the first left singular vector of
    X^T (I - T T^T) Y and the next score is (I - T T^T) X w.
    """
    X, Y = tables.all
    n = X.shape[0]
    mean = np.asarray(X.mean(axis=0)).ravel()
    deviations = np.sqrt((np.asarray(X.multiply(X).sum(axis=0)).ravel() - n * mean**2) / (n - 1))
    deviations[deviations == 0] = 1.0
    F = (Y - Y.mean(axis=0)) / Y.std(axis=0, ddof=1)

    def times(w):
        w = w / deviations
        return X @ w - mean @ w

    def transposed(t):
        return (X.T @ t - mean[:, None] * t.sum(axis=0)) / deviations[:, None]

    W, T = [], []
    for _ in range(k):
        w = np.linalg.svd(transposed(F), full_matrices=False)[0][:, 0]
        t = times(w)
        for _ in range(2):
            t = t - sum((s * (s @ t) for s in T), np.zeros(n))
        t /= np.linalg.norm(t)
        F = F - np.outer(t, t @ F)
        W.append(w), T.append(t)
    W, T = np.array(W).T, np.array(T).T
    P, Q = transposed(T), T.T @ ((Y - Y.mean(axis=0)) / Y.std(axis=0, ddof=1))
    return W @ np.linalg.solve(P.T @ W, Q) * Y.std(axis=0, ddof=1) / deviations[:, None]


def ridge_correlations(c):
    """The singular values of ridge CCA of tables that are not scaled, from the eigenpairs of their centred products.

    With X = U S V^T, the variates are U g A for g = (s / sqrt(n-1)) / sqrt((1-c) s^2 / (n-1) + c), and A from the
    singular value decomposition of g_x U_x^T U_y g_y.
    """

    def exact(tables, k):
        parts = []
        for A in tables.all:
            n = A.shape[0]
            C = (A @ A.T).toarray() if scipy.sparse.issparse(A) else A @ A.T
            C = C - C.mean(axis=0) - C.mean(axis=1)[:, None] + C.mean()
            values, U = np.linalg.eigh(C / (n - 1))
            values = np.where(values > 1e-12 * values[-1], values, 0.0)
            parts.append(U * np.sqrt(values / ((1 - c) * values + c)))
        return np.linalg.svd(parts[0].T @ parts[1], compute_uv=False)[:k]

    return exact


# ---- Contenders


def all_choices(X, k):
    return lambda: lowdim.choose_n_components(X)


def of_choices(choices):
    return choices["proportion"].eigenvalues


def pls_case(name, work, target, shape):
    fit = contender("lowdim", lambda t, k: lowdim.PLSRegression(k).fit(*t), last_coefficients)
    products = bare("bare: 2 K products with X and its transpose", lambda t, k: _products(t.all[0], k))
    return Case(name, f"{work}; error: of the coefficients", target, shape, 5, with_responses, pls_coefficients,
                [fit, products], error=of_largest, limit=LIMIT)  # fmt: skip


def _products(X, k):
    V = np.ones((X.shape[1], 3))
    for _ in range(k):
        X.T @ (X @ V)


def centred_pca(X, k):
    """The same from dense rows."""
    C = X.toarray()
    C -= C.mean(axis=0)
    return np.linalg.eigh(C.T @ C)


RIDGE = 0.5
FRACTION = Contender("lowdim", lambda X, k: lambda: lowdim.PCA(0.5).fit(X), lambda m: m.explained_variance_)
PRODUCTS = bare("bare: sparse products and eigh", eigenpairs_of_products)

CASES = [
    Case("texts", "PCA(0.5), words of 1,135 texts, 20,000 words; error: eigenvalues", "< 1.5 s", (1_135, 20_000), 0,
         texts, gram_eigenvalues, [FRACTION, PRODUCTS], error=of_kept, limit=LIMIT),
    Case("texts-choose", "choose_n_components of the same, all rules; error: eigenvalues", "< 10 s", (1_135, 20_000), 0,
         texts, gram_eigenvalues, [Contender("lowdim", all_choices, of_choices), PRODUCTS], error=of_kept,
         limit=LIMIT),
    Case("sparse-all", "PCA(), sparse 3,000 x 2,000, 1% filled; error: eigenvalues", "< 2 s", (3_000, 2_000), 0, sparse,
         gram_eigenvalues,
         [Contender("lowdim", lambda X, k: lambda: lowdim.PCA().fit(X), lambda m: m.explained_variance_), PRODUCTS,
          bare("bare: dense products and eigh", centred_pca)], error=of_kept, limit=LIMIT),
    Case("sparse-empty", "PCA(5), sparse 100,000 x 50,000 without entries; error: largest eigenvalue",
         "< 1 s or a clear error", (100_000, 50_000), 5, empty, lambda X, k: np.zeros(k),
         [Contender("lowdim", lambda X, k: lambda: lowdim.PCA(k).fit(X), lambda m: m.explained_variance_)],
         error=lambda values, exact: float(np.abs(values).max()), limit=LIMIT),
    pls_case("sparse-pls-tall", "PLSRegression(5), sparse 50,000 x 3,000, 0.1% filled, 3 responses", "< 1 s",
             (50_000, 3_000)),
    pls_case("sparse-pls-wide", "the same, 3,000 x 50,000", "< 1 s", (3_000, 50_000)),
    Case("sparse-cca-wide", "CCA(2), sparse 2,000 x 30,000, 0.1% filled, and dense 2,000 x 10, regularization 0.5; "
         "error: of the singular values", "< 2 s", (2_000, 30_000), 2, partial(with_responses, targets=10),
         ridge_correlations(RIDGE),
         [contender("lowdim", lambda t, k: lowdim.CCA(k, regularization=RIDGE, scale=False).fit(*t),
                    lambda model, tables: model.singular_values_),
          bare("bare X @ X.T, sparse", lambda t, k: t.all[0] @ t.all[0].T)], limit=LIMIT),
    Case("sparse-ppca", "PPCA(5, missing='unstored'), sparse 20,000 x 1,000, 1% observed, without structure; "
         "error: log-likelihood of a row, status", "< 5 s at the same likelihood", (20_000, 1_000), 5,
         partial(sparse, decay=False), rows_themselves,
         [Contender("lowdim", lambda X, k: lambda: lowdim.PPCA(k, missing="unstored").fit(X), lambda m: m)],
         error=observed_likelihood, limit=LIMIT),
]  # fmt: skip
