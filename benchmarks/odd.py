"""Odd tables: mostly missing, Gaussian rows for ICA, one-row blocks, and a machine that is shared with other work."""

from __future__ import annotations

import multiprocessing
import os
import time
import weakref
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import scipy.sparse
from sklearn import decomposition
from threadpoolctl import threadpool_limits

import lowdim
from benchmarks import ica
from benchmarks.exact import dense_eigenvalues, gaussian
from benchmarks.harness import Case, Contender
from benchmarks.pca import gram, variances
from benchmarks.wide import LIMIT, bare
from lowdim.densities import Sech

# ---- Missing entries


def incomplete(missing, k=5):
    """A function that makes rows of k latent variables and unit noise, of which a share is missing."""

    def make(shape, seed=0):
        n, p = shape
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((n, k)) @ rng.standard_normal((k, p)) + rng.standard_normal((n, p))
        X[rng.random(shape) < missing] = np.nan
        return X

    return make


def observed_likelihood(model, X):
    """The average log-density of the observed entries of a row, from the covariance of these entries alone, as text."""
    sparse = scipy.sparse.issparse(X)
    L, sigma2, mean = model.loadings_, model.noise_variance_, model.mean_
    total = 0.0
    for i in range(X.shape[0]):
        if sparse:
            observed = X.indices[X.indptr[i] : X.indptr[i + 1]]
            z = X.data[X.indptr[i] : X.indptr[i + 1]] - mean[observed]
        else:
            observed = np.flatnonzero(~np.isnan(X[i]))
            z = X[i, observed] - mean[observed]
        cov = L[observed] @ L[observed].T + sigma2 * np.eye(len(observed))
        total -= 0.5 * (len(observed) * np.log(2 * np.pi) + np.linalg.slogdet(cov)[1] + z @ np.linalg.solve(cov, z))
    return f"{total / X.shape[0]:.6f}; {getattr(model.status_, 'name', model.status_)}"


def rows_themselves(X, k):
    return X


def missing_case(name, work, target, share, k):
    fit = Contender("lowdim", lambda X, k: lambda: lowdim.PPCA(k).fit(X), lambda model: model)
    return Case(name, f"{work}; error: log-likelihood of a row, status", target, (3_000, 100), k, incomplete(share),
                rows_themselves, [fit], error=observed_likelihood, limit=LIMIT)  # fmt: skip


# ---- ICA of Gaussian rows


def noise(shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape)


# ---- Blocks of one row


def one_by_one(X, k):
    return lambda: lowdim.PCA(k).fit(X[i : i + 1] for i in range(len(X)))


def gathered(X, k):
    """The blocks joined a thousand at a time, and their products."""
    blocks = [X[i : i + 1] for i in range(len(X))]
    return sum(_product(np.concatenate(blocks[start : start + 1000])) for start in range(0, len(blocks), 1000))


def _product(block):
    return block.T @ block


# ---- Contenders in turn, without a rest, and on a shared machine


def shifted_products(X, k, rows=2000):
    """Products of shifted blocks in two threads, each with a BLAS of one thread."""
    shift = X[:rows].mean(axis=0)
    starts = range(0, len(X), rows)

    def part(first):
        total = np.zeros((X.shape[1], X.shape[1]))
        for start in starts[first::2]:
            Z = X[start : start + rows] - shift
            total += Z.T @ Z
        return total

    with threadpool_limits(1), ThreadPoolExecutor(2) as pool:
        return sum(pool.map(part, range(2)))


def shared(shape):
    """The same rows, while another process is busy on one core for half of the time."""
    X = gaussian(shape)
    other = multiprocessing.get_context("fork").Process(target=_half_busy, daemon=True)
    other.start()
    weakref.finalize(X, other.kill)
    return X


def _half_busy():
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    while True:
        until = time.perf_counter() + 0.005
        while time.perf_counter() < until:
            pass
        time.sleep(0.005)


IN_TURN = [
    Contender("lowdim", lambda X, k: lambda: lowdim.PCA(k).fit(X), variances),
    Contender("scikit-learn auto", lambda X, k: lambda: decomposition.PCA(k).fit(X), variances),
    bare("bare X.T @ X", gram),
    bare("bare: products of shifted blocks, two threads", shifted_products),
]
GAUSSIAN = "ICA, 50,000 x 30, Gaussian rows"

CASES = [
    missing_case("missing-90", "PPCA(20), 3,000 x 100, 90% missing", "< 5 s", 0.9, 20),
    missing_case("missing-99", "PPCA(3), 3,000 x 100, 99% missing", "< 3 s with an honest status", 0.99, 3),
    Case("ica-gaussian", GAUSSIAN + ica.WHAT, "< 3 s, with a warning", (50_000, 30), 30, noise, rows_themselves,
         [ica.ours(), ica.by_picard(ortho=False, extended=True)],
         error=ica.make_error(Sech(), True, False), limit=LIMIT),
    Case("ica-gaussian-ortho", "the same, orthogonal", "< 3 s, with a warning", (50_000, 30), 30, noise,
         rows_themselves,
         [ica.ours("lowdim, fixed-point", solver="fixed-point"), ica.ours("lowdim, quasi-Newton", ortho=True),
          ica.by_picard(ortho=True), ica.fast_ica(1e-6, "eigh")],
         error=ica.make_error(Sech(), True, True), limit=LIMIT),
    Case("one-row-blocks", "PCA(5), 200,000 blocks of one row, 20 columns", "< 2 s", (200_000, 20), 5, gaussian,
         dense_eigenvalues,
         [Contender("lowdim", one_by_one, variances), bare("bare: blocks joined, and their products", gathered)],
         limit=LIMIT),
    Case("tall-in-turn", "PCA of 200,000 x 256, contenders in turn without a rest", "<= 1.12 x the bare X.T @ X",
         (200_000, 256), 10, gaussian, dense_eigenvalues, IN_TURN, rest=0.0),
    Case("tall-shared", "PCA of 200,000 x 256, while another process takes half of one core",
         "<= 1.12 x the bare X.T @ X", (200_000, 256), 10, shared, dense_eigenvalues, IN_TURN, rest=0.0),
]  # fmt: skip
