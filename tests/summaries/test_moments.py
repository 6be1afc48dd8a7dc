"""Moments of large blocks: summed in slices, about a shift only if they need one."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from lowdim.summaries import Moments
from lowdim.summaries import moments as module
from oracles import tolerance


def exact(X, w):
    """Mean and scatter of integers, in exact arithmetic."""
    total = Fraction(int(w.sum()))
    X, w = X.astype(object), w.astype(object)
    sums, squares = w @ X, (X * w[:, None]).T @ X
    mean = np.array([float(Fraction(int(s)) / total) for s in sums])
    scatter = [[float(squares[i, j] - sums[i] * sums[j] / total) for j in range(len(sums))] for i in range(len(sums))]
    return mean, np.array(scatter)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("weighted", [False, True], ids=["", "weights"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("p", [3, 64, 130])
@pytest.mark.parametrize("offset", [0, 10**6])
def test_against_exact_arithmetic(p, offset, dtype, weighted, order, monkeypatch):
    """Slices of few rows; whole numbers with and without an offset, some columns constant."""
    monkeypatch.setattr(module, "_SLICE_ROWS", 100)
    monkeypatch.setattr(module, "CACHE_BYTES", 200 * p * np.dtype(dtype).itemsize)
    monkeypatch.setattr(module, "_UNSHIFTED_FROM", 1)
    random = np.random.default_rng(p)
    n = 130 if p > 100 else 450
    X = random.integers(-40, 41, (n, p)) + offset
    X[:, 1] = offset + 3
    X[:, 2] = 0
    w = random.integers(1, 4, n) if weighted else np.ones(n, dtype=int)
    mean, scatter = exact(X, w)
    found = Moments(p)
    half = np.asarray(X, dtype=dtype, order=order), w.astype(dtype)
    for part in (slice(0, n // 2), slice(n // 2, n)):
        found.update(half[0][part], half[1][part] if weighted else None)
    np.testing.assert_allclose(found.mean + found.rest, mean, rtol=tolerance(dtype), atol=tolerance(dtype))
    np.testing.assert_allclose(found.scatter, scatter, rtol=0, atol=tolerance(dtype, 10) * scatter.max())
    np.testing.assert_array_equal(found.scatter, found.scatter.T)
    assert not found.scatter[1:3].any()


@pytest.mark.parametrize("later", [0.0, 1e8])
def test_rows_that_need_a_shift_after_others_that_do_not(later):
    """The offset begins within the first block, in the second, or never."""
    random = np.random.default_rng(0)
    for start in (500, 4000):
        X = random.standard_normal((8000, 20))
        X[start:, 3] += later
        found = Moments(20)
        for i in (0, 4000):
            found.update(X[i : i + 4000])
        centred = (X.astype(np.longdouble) - X.mean(axis=0, dtype=np.longdouble)).astype(float)
        scatter = centred.T @ centred
        sizes = np.sqrt(np.diagonal(scatter))
        np.testing.assert_allclose(found.scatter / np.outer(sizes, sizes), scatter / np.outer(sizes, sizes), atol=1e-12)


def test_rows_near_zero_are_not_copied():
    X = np.random.default_rng(1).standard_normal((4096, 32))
    near, far = Moments(32), Moments(32)
    near.update(X)
    far.update(X + 5.0)
    assert near._scratch._room is None
    assert far._scratch._room is not None
    np.testing.assert_allclose(near.scatter, far.scatter, rtol=0, atol=1e-10)
    np.testing.assert_allclose(near.scatter, (len(X) - 1) * np.cov(X.T), rtol=0, atol=1e-10)
