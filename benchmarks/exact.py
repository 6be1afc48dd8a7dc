"""Data with a known kind of spectrum, and reference eigenvalues, computed slowly but accurately."""

from __future__ import annotations

import numpy as np
import scipy.linalg
import scipy.sparse
from scipy.sparse.linalg import LinearOperator, eigsh

BLOCK = 4096  # rows


def gaussian(shape, dtype=np.float64, scale=1.0, mean=0.0, seed=0):
    """Gaussian rows whose covariance has eigenvalues scale^2 / i; its eigenvectors are not the axes."""
    n, p = shape
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p), dtype=dtype)
    X *= (scale / np.sqrt(np.arange(1, p + 1))).astype(dtype)
    for _ in range(3):
        v = rng.standard_normal(p).astype(dtype)
        v /= np.linalg.norm(v)
        for block in _blocks(X):
            block -= np.outer(2 * (block @ v), v)
    X += dtype(mean)
    return X


def sparse(shape, density=0.01, decay=True, seed=0):
    """A CSR matrix with entries uniform in [0, 1] at random places; with `decay`, columns are scaled by 1 / sqrt(i) in
    random order."""
    rng = np.random.default_rng(seed)
    X = scipy.sparse.random_array(shape, density=density, format="csr", rng=rng)
    if decay:
        scales = 1 / np.sqrt(rng.permutation(shape[1]) + 1.0)
        X.data *= scales[X.indices]
    return X


def dense_eigenvalues(X, k):
    """Eigenvalues by two passes in float64, for any dtype of X: the mean, then products of centred blocks."""
    n, p = X.shape
    total = sum(block.sum(axis=0, dtype=np.longdouble) for block in _blocks(X))
    mean = (total / n).astype(np.float64)
    if n < p:
        Z = X - mean
        gram = Z @ Z.T
    else:
        gram = np.zeros((p, p))
        for block in _blocks(X):
            Z = block - mean
            gram += Z.T @ Z
    gram /= n - 1
    if len(gram) <= 2000:
        return np.linalg.eigvalsh(gram)[: -k - 1 : -1]
    return np.sort(eigsh(gram, k, tol=0, v0=np.ones(len(gram)), return_eigenvectors=False))[::-1]


def sparse_eigenvalues(X, k):
    """Eigenvalues by Lanczos iteration on the centred operator, to machine precision."""
    n, p = X.shape
    mean = np.asarray(X.mean(axis=0)).ravel()

    def product(v):
        v = v.ravel()
        return X.T @ (X @ v - mean @ v) / (n - 1)

    operator = LinearOperator((p, p), matvec=product, dtype=np.float64)
    v0 = np.random.default_rng(1).standard_normal(p)
    values = eigsh(operator, k, tol=0, v0=v0, ncv=4 * k, return_eigenvectors=False)
    return np.sort(values)[::-1]


def score_variances(scores):
    """Variances of principal scores, divisor n-1; they should be equal to the eigenvalues."""
    return np.var(scores, axis=0, ddof=1, dtype=np.float64)


def _blocks(X):
    return (X[start : start + BLOCK] for start in range(0, len(X), BLOCK))
