"""Slow but obviously correct answers, which the tests compare with. Nothing here imports lowdim.

Small matrices use mpmath with 60 digits; every entry is converted exactly. Larger matrices use two passes in long
double. The rule for tolerances is also here.
"""

from __future__ import annotations

from typing import NamedTuple

import mpmath
import numpy as np
from scipy import linalg, stats

DIGITS = 60


def tolerance(dtype=np.float64, condition=1.0):
    """The relative error allowed in a quantity with this condition number: 50 eps condition.

    `condition` is the factor by which the problem and the method magnify a relative rounding error:

    - an eigenvalue lambda_j from the covariance: lambda_1 / lambda_j (its entries are rounded to eps lambda_1);
    - the same from a triangle or an SVD of the rows: sqrt(lambda_1 / lambda_j);
    - an eigenvector: lambda_1 / gap, where gap is the distance of its eigenvalue to the nearest other one;
    - a plain sum or product: 1.

    The factor 50 allows for the growth of rounding errors with the size of the test matrices. `condition` may be an
    array.
    """
    return 50 * np.finfo(dtype).eps * np.asarray(condition)


# ---- Eigenvalues and eigenvectors of a covariance


class Spectrum(NamedTuple):
    """A covariance and its eigenpairs, rounded to float64 at the end of the computation."""

    mean: np.ndarray  # (p,)
    covariance: np.ndarray  # (p, p)
    values: np.ndarray  # (p,), descending
    vectors: np.ndarray  # (p, p), rows are unit eigenvectors with the sign rule


def exact_spectrum(X, weights=None, ddof=1):
    """Mean, covariance and its eigenpairs in 60 digits, for matrices of up to about 15 columns.

    Weights must be whole numbers: row i is repeated weights[i] times.
    """
    X = repeated(X, weights)
    with mpmath.workdps(DIGITS):
        rows = mpmath.matrix(X.tolist())  # float -> mpf is exact
        mean, cov = _mp_moments(rows, ddof)
        values, vectors = mpmath.eigsy(cov)  # ascending
        order = range(cov.rows - 1, -1, -1)
        return Spectrum(
            mean=_to_float(mean)[0],
            covariance=_to_float(cov),
            values=np.array([float(values[j]) for j in order]),
            vectors=signed(_to_float(vectors).T[::-1]),
        )


def exact_whitened_covariance(W, covariance):
    """W S W', which is the identity for a whitening matrix W of S. In 60 digits, so only the error of W remains."""
    with mpmath.workdps(DIGITS):
        W, S = mpmath.matrix(np.asarray(W).tolist()), mpmath.matrix(np.asarray(covariance).tolist())
        return _to_float(W * S * W.T)


def long_moments(X, ddof=1):
    """Mean and covariance by two passes in long double; for data too large for mpmath."""
    X = np.asarray(X, dtype=np.longdouble)
    mean = X.mean(axis=0)
    centred = X - mean
    # The second term corrects for the rounding error of the mean: the "corrected two-pass" formula.
    scatter = centred.T @ centred - np.outer(centred.sum(axis=0), centred.sum(axis=0)) / len(X)
    return mean.astype(np.float64), (scatter / (len(X) - ddof)).astype(np.float64)


def long_spectrum(X, ddof=1):
    """Eigenpairs of long_moments in float64: each eigenvalue is accurate to about eps lambda_1."""
    mean, cov = long_moments(X, ddof)
    values, vectors = linalg.eigh(cov)
    return Spectrum(mean, cov, values[::-1], signed(vectors.T[::-1]))


def repeated(X, weights=None):
    """The rows as float64, each repeated as often as its weight, a whole number, says."""
    X = np.asarray(X, dtype=np.float64)
    if weights is None:
        return X
    counts = np.asarray(weights).astype(int)
    if not np.array_equal(counts, weights):
        raise ValueError("weights must be whole numbers here, because rows are repeated")
    return np.repeat(X, counts, axis=0)


# ---- Signs and subspaces


def signed(components):
    """The sign rule: in each row the entry of largest magnitude is positive (the first one on a tie).

    Magnitudes that agree to half of the digits count as a tie; otherwise rounding would decide between them.
    """
    rows = np.array(components)
    same = 1 - np.sqrt(np.finfo(rows.dtype).eps)
    for row in rows:
        largest = max(abs(entry) for entry in row)
        decisive = next(entry for entry in row if abs(entry) >= same * largest)
        if decisive < 0:
            row *= -1
    return rows


def matched(components, reference):
    """`components` with the sign of each row chosen so that it agrees with the same row of `reference`."""
    components, reference = np.asarray(components), np.asarray(reference)
    along = np.sum(components * reference, axis=1, keepdims=True)
    return np.where(along < 0, -components, components)


def principal_angles(A, B):
    """Angles in radians between the spans of the rows of A and of B, largest first.

    Small angles are computed from sines: an arc cosine loses half of the digits near 1 (Bjorck and Golub, 1973).
    """
    return linalg.subspace_angles(np.asarray(A).T, np.asarray(B).T)


def vector_condition(values, keep=None):
    """lambda_1 / gap for each of the first `keep` eigenvectors; `values` are all eigenvalues, descending."""
    values = np.asarray(values)
    gaps = np.full(len(values), np.inf)
    steps = -np.diff(values)
    gaps[:-1] = steps
    gaps[1:] = np.minimum(gaps[1:], steps)
    return values[0] / gaps[:keep]


# ---- Probabilistic PCA


def ppca_covariance(values, vectors, k):
    """C = sum_{j<=k} (lambda_j - s2) w_j w_j' + s2 I, with s2 the mean of the p - k discarded eigenvalues."""
    p = vectors.shape[1]
    s2 = noise_variance(values, k, p)
    return (vectors[:k].T * (np.asarray(values[:k]) - s2)) @ vectors[:k] + s2 * np.eye(p)


def noise_variance(values, k, p):
    """Mean of the p - k discarded eigenvalues; those that are not in `values` are zeros. Zero if k = p."""
    return float(np.sum(values[k:]) / (p - k)) if k < p else 0.0


def gaussian_log_density(X, mean, covariance):
    """log N(x; mean, covariance) for each row, by SciPy's explicit Gaussian."""
    return stats.multivariate_normal(mean, covariance).logpdf(X)


# ---- Private helpers


def _mp_moments(rows, ddof):
    n, p = rows.rows, rows.cols
    mean = mpmath.matrix(1, p)
    for j in range(p):
        mean[j] = mpmath.fsum(rows[i, j] for i in range(n)) / n
    centred = mpmath.matrix(n, p)
    for i in range(n):
        for j in range(p):
            centred[i, j] = rows[i, j] - mean[j]
    return mean, (centred.T * centred) / (n - ddof)


def _to_float(matrix):
    return np.array(matrix.tolist(), dtype=np.float64)


# ---- Tables with missing entries


def observed_loglike(X, mean, C):
    """ln N(x_o; mean_o, C_oo) of the observed entries o of each row, computed row by row."""
    out = np.zeros(len(X))
    for i, x in enumerate(X):
        o = np.flatnonzero(~np.isnan(x))
        if len(o):
            out[i] = stats.multivariate_normal(mean[o], C[np.ix_(o, o)], allow_singular=False).logpdf(x[o])
    return out


def conditional(x, mean, C):
    """Mean and covariance of the missing entries of one row given the others."""
    m = np.isnan(x)
    A = C[np.ix_(m, ~m)] @ np.linalg.inv(C[np.ix_(~m, ~m)]) if not m.all() else np.zeros((m.sum(), 0))
    return mean[m] + A @ (x[~m] - mean[~m]), C[np.ix_(m, m)] - A @ C[np.ix_(~m, m)]


def gaussian_with_missing(X, steps=5000):
    """Mean, covariance and log-likelihood of the Gaussian of maximum likelihood for rows with NaN: EM, row by row."""
    n, p = X.shape
    mean, C = np.nanmean(X, axis=0), np.diag(np.nanvar(X, axis=0))
    before = -np.inf
    for _ in range(steps):
        loglike = float(np.sum(observed_loglike(X, mean, C)))
        if loglike - before < 1e-10:
            break
        before, filled, spread = loglike, X.copy(), np.zeros((p, p))
        for x in filled:
            m = np.isnan(x)
            if m.any():
                B = np.linalg.solve(C[np.ix_(~m, ~m)], C[np.ix_(~m, m)])
                x[m] = mean[m] + (x[~m] - mean[~m]) @ B
                spread[np.ix_(m, m)] += C[np.ix_(m, m)] - C[np.ix_(m, ~m)] @ B
        mean = filled.mean(axis=0)
        C = ((filled - mean).T @ (filled - mean) + spread) / n
    return mean, C, loglike
