"""Rotations end where the gradient of their criterion vanishes, or say that they do not."""

from __future__ import annotations

import numpy as np
import pytest

from lowdim import FactorAnalysis
from lowdim.errors import ConvergenceWarning
from lowdim.solvers import Equamax, Oblimin, Promax, Quartimax, Status, Varimax
from lowdim.solvers.latent import rotation
from lowdim.solvers.latent.rotation import ROTATION_TOLERANCE

CHOICES = [Varimax(), Varimax(kaiser=False), Quartimax(), Equamax(), Oblimin(), Oblimin(gamma=0.3), Oblimin(gamma=-1.0)]


def loadings(kind: str, p: int, k: int, seed: int) -> np.ndarray:
    """Loadings with or without simple structure. Without it, the criterion is nearly flat in some directions; for rows
    on a circle it is so for all turns."""
    random = np.random.default_rng(seed)
    if kind == "random":
        return random.standard_normal((p, k))
    if kind == "circle":
        angle = 2 * np.pi * np.arange(p) / p
        return np.column_stack([np.cos(angle), np.sin(angle)]) + 1e-3 * random.standard_normal((p, k))
    A = 0.1 * random.standard_normal((p, k))
    A[np.arange(p), np.arange(p) % k] += random.uniform(0.4, 0.9, p)
    return A @ np.linalg.qr(random.standard_normal((k, k)))[0]


def slopes(r, A: np.ndarray, M: np.ndarray) -> np.ndarray:
    """The derivatives of the criterion along all turns of two factors, and for oblique ones of one towards another."""
    p, k = A.shape
    if r.kaiser:
        A = A / np.linalg.norm(A, axis=1, keepdims=True)
    A = A / np.sqrt(np.sum(A * A) / k)
    L = A @ M
    squares = L**2
    if isinstance(r, Oblimin):
        others = squares @ (np.ones((k, k)) - np.eye(k))
        by_loading = L * (others - r.gamma * others.mean(axis=0))
    else:
        gamma = {"varimax": 1.0, "quartimax": 0.0, "equamax": k / 2}[r.name]
        by_loading = gamma / p * L * squares.sum(axis=0) - L**3
    found = []
    T = np.linalg.inv(M).T
    for i in range(k):
        for j in range(k):
            E = np.zeros((k, k))
            if r.oblique:
                E[:, j] = T[:, i] - (T[:, i] @ T[:, j]) * T[:, j]
                E = -M @ E.T @ M
            else:
                E[i, j], E[j, i] = 1.0, -1.0
                E = M @ E
            found.append(0.0 if i == j else np.sum(by_loading * (A @ E)))
    return np.array(found)


@pytest.mark.parametrize("r", CHOICES, ids=str)
@pytest.mark.parametrize(
    ("kind", "p", "k", "seeds"),
    [
        ("random", 10, 2, (10, 13, 37)),
        ("simple", 10, 2, (0, 33)),
        ("circle", 12, 2, (0, 1, 2)),
        ("random", 50, 8, (1,)),
    ],
)
def test_the_gradient_vanishes_at_the_end(r, kind, p, k, seeds):
    """Among these are tables where steps that always decrease the criterion stop at gradients of up to 1e-7."""
    for seed in seeds:
        A = 30.0 * loadings(kind, p, k, seed)
        end = r.rotate(A)
        assert end.status is Status.CONVERGED
        assert end.gradient <= ROTATION_TOLERANCE
        # The derivatives along single turns are at most the norm, times the length of the turn.
        assert np.abs(slopes(r, A, end.matrix)).max() <= 2.0 * ROTATION_TOLERANCE


def test_a_rotation_that_stops_early_says_so(monkeypatch):
    X = np.random.default_rng(0).standard_normal((200, 3)) @ loadings("random", 8, 3, 0).T
    X = X + np.random.default_rng(1).standard_normal(X.shape)
    assert 0.0 < FactorAnalysis(3, rotation="quartimax").fit(X).rotation_gradient_ <= ROTATION_TOLERANCE
    assert FactorAnalysis(3).fit(X).rotation_gradient_ == 0.0
    monkeypatch.setattr(rotation, "_ROUGH_STEPS", 2)
    monkeypatch.setattr(rotation, "_STEPS", 3)
    for name in ("quartimax", "oblimin", "promax"):
        words = f"rotation='{name}' stopped after 3 steps at a gradient of .*1e-10"
        with pytest.warns(ConvergenceWarning, match=words):
            assert FactorAnalysis(3, rotation=name).fit(X).rotation_gradient_ > ROTATION_TOLERANCE


@pytest.mark.parametrize("r", [*CHOICES, Promax()], ids=str)
def test_rotations_do_not_depend_on_units(r):
    A = loadings("simple", 10, 3, 0)
    for unit in (2.0**-500, 2.0**400):
        np.testing.assert_array_equal(r.rotate(A * unit).matrix, r.rotate(A).matrix)
