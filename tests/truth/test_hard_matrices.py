"""Moments, PCA and Whitening against 60-digit arithmetic, on matrices that are hard for one reason each.

The oracle takes every entry as the exact double it is: whatever a solver loses beyond `tolerance` shows.
"""

from contextlib import nullcontext
from functools import cache
from itertools import pairwise

import numpy as np
import pytest

from examples import FINDS_ALL, SUMMARIZES
from lowdim import PCA, Whitening
from lowdim.errors import ResolutionWarning
from lowdim.reading import summarize
from lowdim.summaries import Moments, Triangle
from oracles import (
    exact_spectrum,
    exact_whitened_covariance,
    long_spectrum,
    principal_angles,
    repeated,
    signed,
    tolerance,
    vector_condition,
)

SOLVERS = ["auto", *FINDS_ALL]
RESOLVED_BY_COVARIANCE = 1e-10  # lambda_k / lambda_1 below which `auto` must not trust the covariance


# ---- The matrices


def noise(n=30, p=6, seed=0):
    return np.random.default_rng(seed).standard_normal((n, p))


def with_values(values, n=30, seed=1):
    """n rows, not along the axes, whose covariance has (before rounding to double) these eigenvalues."""
    p = len(values)
    U, _ = np.linalg.qr(noise(n, p, seed) - noise(n, p, seed).mean(axis=0))
    V, _ = np.linalg.qr(noise(p, p, seed + 1))
    return (U * np.sqrt(np.asarray(values) * (n - 1))) @ V.T


def with_constants(*constants):
    X = noise(30, 3, seed=2)
    return np.column_stack([X, *(np.full(30, c) for c in constants)])


HARD = {
    "plain": noise(),
    "offset 1e8": 1e8 + noise(),
    "offset -1e8, other columns small": noise() + np.array([-1e8, 0, 1e-3, 1e8, 1, 0]),
    "offset 1e7 with tiny noise": 1e7 + 1e-3 * noise(),
    "first row far out": np.vstack([np.full((1, 6), 1e6), noise(29)]),
    "scale 1e-150": 1e-150 * noise(),
    "scale 1e150": 1e150 * noise(),
    "scale 1e-150, offset 1e-145": 1e-150 * noise() + 1e-145,
    "columns from 1e-3 to 1e2": noise() * 10.0 ** np.arange(-3, 3),
    "graded 10^-j": with_values(10.0 ** -np.arange(8)),
    "graded 10^-2j": with_values(10.0 ** -(2 * np.arange(8))),
    "last value 1e-14": with_values([1, 0.5, 0.1, 0.01, 1e-14]),
    "clustered": with_values([1, 1 - 1e-9, 1 - 2e-9, 0.5, 0.5 - 1e-10, 0.1]),
    "exact ties": np.vstack([np.diag([2.0, 2.0, 2.0, 1.0, 1.0]), -np.diag([2.0, 2.0, 2.0, 1.0, 1.0])]),
    "all values tied": np.vstack([np.eye(4), -np.eye(4)]),
    "rank 3 of 6": np.round(8 * noise(30, 3)) @ np.round(8 * noise(3, 6, seed=5)),  # whole numbers: exact
    "repeated column": noise()[:, [0, 1, 2, 0]],
    "repeated rows": np.repeat(noise(4, 6), 8, axis=0),
    "5 rows, 12 columns": noise(5, 12),
    "5 rows, 12 columns, offset 1e8": 1e8 + noise(5, 12),
    "6 rows, 6 columns": noise(6, 6),
    "two rows": noise(2, 5),
    "constant columns 0, 0.1, 1e8": with_constants(0.0, 0.1, 1e8),
    "one column": noise(30, 1),
}

each_matrix = pytest.mark.parametrize("name", list(HARD))
each_solver = pytest.mark.parametrize("solver", SOLVERS)


@cache
def truth(name, ddof=1):
    return exact_spectrum(HARD[name], ddof=ddof)


def rank(values):
    """How many of the exact eigenvalues are not zero; 60 digits leave no doubt."""
    return int(np.sum(values > 1e-30 * values[0]))


def is_unresolved(values):
    """Whether the smallest nonzero eigenvalue drowns in the rounding of a covariance or Gram matrix."""
    return values[rank(values) - 1] < RESOLVED_BY_COVARIANCE * values[0]


def by_singular_values(solver, values):
    """Whether these values must come from singular values of the rows, not from a matrix of squares."""
    return solver == "triangle" or (solver == "auto" and is_unresolved(values))


def fit_all(name, solver):
    """All components. A solver that squares the rows says so when that costs it digits; `auto` has no excuse."""
    pca = PCA(solver=solver)
    if solver in ("covariance", "gram") and is_unresolved(truth(name).values):
        with pytest.warns(ResolutionWarning, match="triangle"):
            return pca.fit(HARD[name])
    return pca.fit(HARD[name])


# ---- Eigenvalues


@each_solver
@each_matrix
def test_eigenvalues(name, solver):
    values = truth(name).values
    pca = fit_all(name, solver)
    got, r = pca.explained_variance_, rank(values)
    assert len(got) == min(HARD[name].shape)
    assert np.all(got >= 0) and np.all(np.diff(got) <= 0)
    sharp = by_singular_values(solver, values)
    spread = values[0] / values[:r]
    error = np.abs(got[:r] / values[:r] - 1)
    allowed = tolerance(condition=np.sqrt(spread) if sharp else spread)
    assert np.all(error <= allowed), f"relative errors {error}"
    assert np.all(got[r:] <= values[0] * (tolerance() ** 2 if sharp else tolerance())), "zero eigenvalues"


@each_matrix
def test_share_of_variance(name):
    values = truth(name).values
    pca = PCA(1).fit(HARD[name])
    share = values[0] / values.sum()
    np.testing.assert_allclose(pca.explained_variance_ratio_, [share], rtol=tolerance())
    p = HARD[name].shape[1]
    discarded = values[1:].sum() / max(p - 1, 1)
    np.testing.assert_allclose(pca.noise_variance_, discarded, rtol=0, atol=tolerance() * values[0])


@pytest.mark.parametrize("k", [4, 5])
def test_values_that_the_covariance_cannot_resolve(k):
    """lambda_5 / lambda_1 = 1e-14: the covariance has a digit or two of it. lambda_4 needs no such care."""
    name = "last value 1e-14"
    values = truth(name).values
    pca = PCA(k).fit(HARD[name])
    assert pca.solver_ == ("triangle" if k == 5 else "covariance")
    allowed = tolerance(condition=np.sqrt(values[0] / values[:k]) if k == 5 else values[0] / values[:k])
    assert np.all(np.abs(pca.explained_variance_ / values[:k] - 1) <= allowed)


# ---- Eigenvectors


def clusters(values, r):
    """Slices of nonzero eigenvalues too close together to be told apart: relative gap below 1e-6."""
    breaks = [0]
    breaks += [j for j in range(1, r) if values[j - 1] - values[j] > 1e-6 * values[j - 1]]
    breaks.append(r)
    return [slice(a, b) for a, b in pairwise(breaks)]


def subspace_condition(values, part, sharp):
    """lambda_1 / gap between this cluster and its neighbours; in singular values where those were used."""
    scale = np.sqrt(values.clip(0)) if sharp else values
    above = scale[part.start - 1] - scale[part.start] if part.start else np.inf
    below = scale[part.stop - 1] - scale[part.stop] if part.stop < len(scale) else np.inf
    gap = min(above, below)
    return scale[0] / gap if np.isfinite(gap) else 1.0


@each_solver
@each_matrix
def test_principal_subspaces(name, solver):
    exact = truth(name)
    pca = fit_all(name, solver)
    sharp = by_singular_values(solver, exact.values)
    for part in clusters(exact.values, rank(exact.values)):
        angle = principal_angles(pca.components_[part], exact.vectors[part]).max()
        allowed = tolerance(condition=subspace_condition(exact.values, part, sharp))
        assert angle <= allowed, f"components {part.start}:{part.stop} off by {angle:.1e} > {allowed:.1e}"


@each_solver
@each_matrix
def test_components_are_orthonormal_and_signed(name, solver):
    pca = fit_all(name, solver)
    W = pca.components_
    assert pca.residual_ <= tolerance()
    np.testing.assert_allclose(W @ W.T, np.eye(len(W)), rtol=0, atol=tolerance())
    np.testing.assert_array_equal(W, signed(W))


# ---- The same from summaries, blocks and weights


@each_matrix
def test_moments(name):
    exact, X = truth(name), HARD[name]
    moments = summarize(X, Moments)
    sd = np.sqrt(np.diag(exact.covariance))
    np.testing.assert_allclose(moments.mean, exact.mean, rtol=0, atol=tolerance() * np.abs(X).max())
    assert np.all(np.abs(moments.covariance() - exact.covariance) <= tolerance() * np.outer(sd, sd))


@each_matrix
def test_triangle(name):
    exact, X = truth(name), HARD[name]
    triangle = Triangle(X.shape[1])
    for block in blocks(X):
        triangle.update(block)
    covariance = triangle.root.T @ triangle.root / (len(X) - 1)
    sd = np.sqrt(np.diag(exact.covariance))
    assert np.all(np.abs(covariance - exact.covariance) <= tolerance() * np.outer(sd, sd))


def blocks(X):
    """Uneven blocks, the first a single row."""
    cuts = sorted({1, max(1, len(X) // 3), max(1, len(X) // 2)})
    return np.split(X, cuts)


@pytest.mark.parametrize("how", ["list of blocks", "generator", "partial_fit"])
@each_matrix
def test_blocks(name, how):
    values, X = truth(name).values, HARD[name]
    k = int(np.sum(values[:3] > RESOLVED_BY_COVARIANCE * values[0]))
    pca = PCA(k, solver="covariance")
    if how == "list of blocks":
        pca.fit(blocks(X))
    else:
        # The variance beside the components is 2e-11 of the largest, and is not looked at again.
        far = name == "first row far out"
        with pytest.warns(ResolutionWarning, match="beside the components") if far else nullcontext():
            if how == "generator":
                pca.fit(block for block in blocks(X))
            else:
                for block in blocks(X):
                    pca.partial_fit(block)
    np.testing.assert_allclose(pca.explained_variance_, values[:k], rtol=0, atol=tolerance() * values[0])


@pytest.mark.parametrize("offset", [1e7, 1e8, 1e10])
@pytest.mark.parametrize("how", [*SUMMARIZES, "partial_fit"])
def test_many_blocks_with_a_large_mean(how, offset):
    """The means of blocks are merged too, and a mean rounded to eps 1e8 is a relative error of 1e-8 in it."""
    X = offset + noise(20_000, 4)
    values = long_spectrum(X).values
    if how == "partial_fit":
        pca = PCA()
        for block in np.split(X, 100):
            pca.partial_fit(block)
    else:
        pca = PCA(solver=how).fit(X)
    np.testing.assert_allclose(pca.explained_variance_, values, rtol=tolerance())


@each_solver
@pytest.mark.parametrize("name", ["plain", "offset 1e8", "scale 1e150", "5 rows, 12 columns", "clustered"])
def test_weights_are_repetitions(name, solver):
    X = HARD[name]
    weights = np.random.default_rng(3).integers(0, 4, size=len(X))
    weights[:2] = [2, 3]
    exact = exact_spectrum(X, weights)
    k = min(rank(exact.values), np.count_nonzero(weights), X.shape[1])
    pca = PCA(k, solver=solver).fit(X, sample_weight=weights)
    again = PCA(k, solver=solver).fit(repeated(X, weights))
    atol = tolerance() * exact.values[0]
    np.testing.assert_allclose(pca.explained_variance_, exact.values[:k], rtol=0, atol=atol)
    np.testing.assert_allclose(again.explained_variance_, exact.values[:k], rtol=0, atol=atol)


@each_matrix
def test_divisor_n(name):
    values, n = truth(name, ddof=0).values, len(HARD[name])
    pca = PCA(1, ddof=0).fit(HARD[name])
    np.testing.assert_allclose(pca.explained_variance_, values[:1], rtol=tolerance())
    np.testing.assert_allclose(pca.singular_values_, np.sqrt(values[:1] * n), rtol=tolerance())


@pytest.mark.parametrize("name", ["plain", "columns from 1e-3 to 1e2", "5 rows, 12 columns", "exact ties"])
def test_float32(name):
    X = HARD[name].astype(np.float32)
    values = exact_spectrum(X).values
    pca = PCA().fit(X)
    assert pca.explained_variance_.dtype == pca.components_.dtype == np.float32
    atol = tolerance(np.float32) * values[0]
    np.testing.assert_allclose(pca.explained_variance_, values[: min(X.shape)], rtol=0, atol=atol)


# ---- Whitening: W S W' = I with the exact S


FULL_RANK = ["plain", "offset 1e8", "scale 1e-150", "scale 1e150", "graded 10^-j", "clustered"]


@pytest.mark.parametrize("kind", ["pca", "zca", "cholesky", "pca-cor", "zca-cor"])
@pytest.mark.parametrize("name", FULL_RANK)
def test_whitening(name, kind):
    exact, X = truth(name), HARD[name]
    W = Whitening(kind).fit(X).components_
    condition = exact.values[0] / exact.values[-1]
    whitened = exact_whitened_covariance(W, exact.covariance)
    np.testing.assert_allclose(whitened, np.eye(X.shape[1]), rtol=0, atol=tolerance(condition=condition))


@pytest.mark.parametrize("name", ["rank 3 of 6", "repeated column", "constant columns 0, 0.1, 1e8"])
def test_whitening_drops_what_has_no_variance(name):
    exact, X = truth(name), HARD[name]
    r = rank(exact.values)
    with pytest.warns(UserWarning, match=str(X.shape[1] - r)):
        W = Whitening("pca").fit(X).components_
    assert W.shape == (r, X.shape[1])
    condition = exact.values[0] / exact.values[r - 1]
    whitened = exact_whitened_covariance(W, exact.covariance)
    np.testing.assert_allclose(whitened, np.eye(r), rtol=0, atol=tolerance(condition=condition))


# ---- Degenerate input


@pytest.mark.parametrize("constant", [0.0, 0.1, 1 / 3, -0.7, 1e8, 123456789.123, 1e-300])
@pytest.mark.parametrize("n", [2, 3, 10, 1000, 4099])
def test_a_constant_column_has_no_variance_at_all(constant, n):
    X = np.column_stack([noise(n, 2, seed=4), np.full(n, constant)])
    moments = summarize(X, Moments)
    assert np.all(moments.covariance()[2] == 0) and np.all(moments.covariance()[:, 2] == 0)
    assert moments.mean[2] == constant
    assert np.abs(PCA(1).fit(X).components_[:, 2]).max() <= tolerance()


@each_solver
def test_two_rows(solver):
    a, b = noise(2, 5)
    pca = PCA(1, solver=solver).fit([a, b])
    np.testing.assert_allclose(pca.explained_variance_, [np.sum((a - b) ** 2) / 2], rtol=tolerance())
    np.testing.assert_allclose(pca.explained_variance_ratio_, [1], rtol=tolerance())
    np.testing.assert_allclose(pca.components_, signed([(a - b) / np.linalg.norm(a - b)]), atol=tolerance())


@each_solver
def test_one_row_is_refused(solver):
    with pytest.raises(ValueError, match=r"n_samples=1 .*too few"):
        PCA(solver=solver).fit(noise(1, 5))


@each_solver
def test_squares_that_overflow_are_refused(solver):
    with pytest.raises(ValueError, match=r"large|overflow"):
        PCA(2, solver=solver).fit(1e200 * noise())


def test_the_matrices_are_as_hard_as_they_say():
    """So that a change to this file cannot quietly make the tests easy."""
    assert truth("last value 1e-14").values[-1] == pytest.approx(1e-14, rel=0.1)
    assert np.all(np.diff(truth("exact ties").values)[[0, 1, 3]] == 0)
    assert vector_condition(truth("clustered").values).max() > 1e9
    for name in ["rank 3 of 6", "repeated column", "repeated rows"]:
        assert rank(truth(name).values) == 3
    assert rank(truth("5 rows, 12 columns").values) == 4
    assert rank(truth("constant columns 0, 0.1, 1e8").values) == 3
