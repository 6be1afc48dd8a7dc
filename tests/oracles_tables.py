"""Slow but obviously correct answers for two tables, computed by deflating rows. Nothing here imports lowdim."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import linalg


class Components(NamedTuple):
    weights: np.ndarray  # (p, k)
    loadings: np.ndarray  # (p, k)
    scores: np.ndarray  # (n, k)
    y_weights: np.ndarray  # (q, k)
    y_loadings: np.ndarray  # (q, k)
    y_scores: np.ndarray  # (n, k)
    coefficients: list  # (p, q) for 1, 2, ... components


def standard(A, scale):
    """The table, centred and, if `scale`, divided by standard deviations (n - 1); constant columns are not divided."""
    A = np.asarray(A, dtype=float)
    Z = A - A.mean(axis=0)
    sd = A.std(axis=0, ddof=1) if scale else np.ones(A.shape[1])
    return Z / np.where(sd > 0, sd, 1.0)


def deflated(X, Y, k, mode):
    """Textbook PLS: singular vectors of X'Y of the deflated rows. `mode` is "regression" or "canonical"."""
    E, F = X.copy(), Y.copy()
    parts = {name: [] for name in ("w", "p", "t", "c", "q", "u")}
    for _ in range(k):
        U, _, Vt = np.linalg.svd(E.T @ F)
        w, c = U[:, 0], Vt[0]
        t, u = E @ w, F @ c
        p = E.T @ t / (t @ t)
        q = F.T @ t / (t @ t) if mode == "regression" else F.T @ u / (u @ u)
        for name, value in zip(parts, (w, p, t, c, q, u), strict=True):
            parts[name].append(value)
        E = E - np.outer(t, p)
        F = F - np.outer(t if mode == "regression" else u, q)
    W, P, T, C, Q, U = (np.column_stack(value) for value in parts.values())
    regressed = (Y.T @ T / (T * T).sum(axis=0)).T
    coefficients = [
        W[:, : j + 1] @ np.linalg.solve(P[:, : j + 1].T @ W[:, : j + 1], regressed[: j + 1]) for j in range(k)
    ]
    return Components(W, P, T, C, Q, U, coefficients)


def canonical(X, Y, c=(0.0, 0.0)):
    """Values and weights of max w'Sv under w'Dw = v'Dv = 1, by a generalized eigenproblem of both tables at once."""
    p = X.shape[1]
    S = np.cov(np.hstack([X, Y]), rowvar=False).reshape(p + Y.shape[1], -1)
    between, within = np.zeros_like(S), np.zeros_like(S)
    between[:p, p:], between[p:, :p] = S[:p, p:], S[p:, :p]
    for part, ridge in ((slice(0, p), c[0]), (slice(p, None), c[1])):
        within[part, part] = (1 - ridge) * S[part, part] + ridge * np.eye(len(S[part, part]))
    values, vectors = linalg.eigh(between, within)
    order = np.argsort(-values)[: min(p, Y.shape[1])]
    return values[order], vectors[:p, order], vectors[p:, order]


def maxvar(tables, ridges):
    """As `canonical`, for any number of tables."""
    widths = [A.shape[1] for A in tables]
    edges = np.cumsum([0, *widths])
    S = np.cov(np.hstack(tables), rowvar=False)
    within = np.zeros_like(S)
    between = S.copy()
    for i, j, c in zip(edges[:-1], edges[1:], ridges, strict=True):
        within[i:j, i:j] = (1 - c) * S[i:j, i:j] + c * np.eye(j - i)
        between[i:j, i:j] = 0.0
    values, vectors = linalg.eigh(between, within)
    return values[::-1], vectors[:, ::-1]


def up_to_signs(actual, wanted):
    """`actual` with the sign of each column chosen so that it agrees with the same column of `wanted`."""
    return actual * np.where(np.sum(actual * wanted, axis=0) < 0, -1.0, 1.0)
