"""Mixtures of known sources, and quantities that the tests of ICA compute directly from a fitted model."""

import numpy as np


def laplace(n, random):
    return random.laplace(size=n)


def student(n, random):
    return random.standard_t(5, n)


def uniform(n, random):
    return random.uniform(-1, 1, n)


def square_wave(n, random):
    return np.sign(np.sin(np.arange(n) / 7.3)) + 0.05 * random.standard_normal(n)


def spikes(n, random):
    return random.standard_normal(n) * (random.random(n) < 0.1)


def logistic(n, random):
    return random.logistic(size=n)


MIXES = {
    "super-Gaussian": (laplace, student, spikes, logistic),
    "sub-Gaussian": (uniform, square_wave, uniform),
    "both": (laplace, uniform, student, square_wave, spikes),
}


def mix(name, n=3000, seed=0):
    """Rows, and the mixing matrix (a column for each source)."""
    random = np.random.default_rng(seed)
    S = np.column_stack([source(n, random) for source in MIXES[name]])
    S = (S - S.mean(axis=0)) / S.std(axis=0)
    A = random.standard_normal((S.shape[1], S.shape[1]))
    return S @ A.T + random.standard_normal(len(A)), A


def amari(components, A):
    """Amari's error, from 0 to 1: zero if `components` finds the sources that `A` mixed, in any order and scale."""
    P = np.abs(components @ A)
    k = len(P)
    rows = (P / P.max(axis=1, keepdims=True)).sum() - k
    columns = (P / P.max(axis=0)).sum() - k
    return (rows + columns) / (2 * k * (k - 1))


def gradient(model, X, weights=None):
    """E[psi(u) u^T] - I, computed from the rows; for an orthogonal fit, its skew-symmetric part."""
    U = np.asarray((X - model.mean_) @ model.components_.T, dtype=float)
    w = np.ones(len(X)) if weights is None else weights
    psi = np.column_stack([d.score(U[:, [i]]) for i, d in enumerate(model.densities_)])
    G = (psi * w[:, None]).T @ U / w.sum()
    return 0.5 * (G - G.T) if model.plan_.solver.ortho else G - np.eye(len(G))


def log_likelihood(components, densities, X):
    """Average of ln |det| + sum_i ln p_i(u_i) over the rows, for as many sources as columns."""
    U = (X - X.mean(axis=0)) @ components.T
    energy = sum(d.energy(U[:, i]).mean() for i, d in enumerate(densities))
    return np.linalg.slogdet(components)[1] - energy
