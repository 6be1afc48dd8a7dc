"""The leading eigenpairs of a matrix on a device: found by few products, as accurate as all of them, or not found."""

from __future__ import annotations

import numpy as np
import pytest

from lowdim import linalg as leading
from lowdim.linalg import eigh_descending, leading_eigenpairs

P = 160
RNG = np.random.default_rng(3)
BASIS = np.linalg.qr(RNG.standard_normal((P, P)))[0]
#: Eigenvalues, and how many are wanted, that a few products find.
FOUND = {
    "a gap": (np.r_[np.linspace(9.0, 4.0, 10), np.full(P - 10, 0.1)], 8),
    "a gap within the block": (np.r_[np.linspace(9.0, 1.0, 14), np.full(P - 14, 0.01)], 8),
    "geometric": (0.8 ** np.arange(P), 12),
    "slowly geometric": (0.9 ** np.arange(P), 12),
    "in pairs": (np.repeat(0.7 ** np.arange(P // 2), 2), 8),
    "as many as the rank": (np.r_[np.ones(8), np.zeros(P - 8)], 8),
    "small negative ones": (np.r_[np.full(10, 3.0), np.full(P - 10, -1e-3)], 8),
}
#: Those for which too many products would be needed, or which are not the largest in magnitude.
NOT_FOUND = {
    "all equal": (np.ones(P), 8),
    "many equal": (np.r_[np.full(P // 2, 2.0), np.ones(P // 2)], 8),
    "slow": (1.0 / np.arange(1.0, P + 1.0), 8),
    "graded": (0.3 ** np.arange(P), 16),
    "zeros": (np.zeros(P), 8),
    "fewer than wanted": (np.r_[np.ones(5), np.zeros(P - 5)], 8),
    "large negative ones": (np.r_[np.full(40, -10.0), np.ones(P - 40)], 8),
    "too large to be squared": (1e200 * 0.8 ** np.arange(P), 8),
    "too small to be squared": (1e-200 * 0.8 ** np.arange(P), 8),
    "not a number": (np.full(P, np.nan), 8),
}


@pytest.fixture(params=["array_api_strict", "torch"])
def library(request):
    return pytest.importorskip(request.param, reason=f"{request.param} is not installed")


def matrix(values):
    A = (BASIS * values) @ BASIS.T
    return 0.5 * (A + A.T)


@pytest.mark.parametrize("name", FOUND)
def test_found_pairs_are_eigenpairs(library, name):
    """A V = V Lambda and V V^T = I to rounding, and no larger eigenvalue is left out."""
    values, k = FOUND[name]
    A = matrix(values)
    found = leading_eigenpairs(library.asarray(A), k)
    assert found is not None
    found, vectors = map(np.from_dlpack, found)
    assert found.shape == (k,) and vectors.shape == (k, P)
    np.testing.assert_allclose(found, np.sort(values)[::-1][:k], atol=1e-14 * values.max())
    np.testing.assert_allclose(vectors @ A, found[:, None] * vectors, atol=P * 2.0**-52 * values.max())
    np.testing.assert_allclose(vectors @ vectors.T, np.eye(k), atol=1e-14)


@pytest.mark.parametrize("name", NOT_FOUND)
def test_pairs_that_would_take_too_long_are_left_to_the_general_method(library, name):
    values, k = NOT_FOUND[name]
    A = library.asarray(matrix(values))
    assert leading_eigenpairs(A, k) is None
    if np.isfinite(values).all():
        found, _ = map(np.from_dlpack, eigh_descending(A, at_least=k))
        np.testing.assert_allclose(found[:k], np.sort(values)[::-1][:k], atol=1e-13 * np.abs(values).max())


@pytest.mark.parametrize("seed", range(10))
def test_whether_found_or_not_the_pairs_are_right(library, seed):
    """Random spectra: sums of groups of any size and decay."""
    random = np.random.default_rng(seed)
    values = np.concatenate(
        [10.0 ** random.uniform(-4, 0) * random.uniform(0.5, 1.0, random.integers(1, 40)) for _ in range(8)]
    )
    values = np.sort(np.r_[values, np.zeros(P)][:P])[::-1]
    A, k = matrix(values), int(random.integers(1, 20))
    found, vectors = map(np.from_dlpack, eigh_descending(library.asarray(A), at_least=k))
    np.testing.assert_allclose(found[:k], values[:k], atol=1e-13 * values[0])
    np.testing.assert_allclose(vectors[:k] @ A, found[:k, None] * vectors[:k], atol=P * 2.0**-52 * values[0])


def test_the_same_matrix_has_the_same_pairs(library):
    values, k = FOUND["geometric"]
    A = library.asarray(matrix(values))
    first, second = leading_eigenpairs(A, k), leading_eigenpairs(A, k)
    for one, other in zip(first, second, strict=True):
        np.testing.assert_array_equal(np.from_dlpack(one), np.from_dlpack(other))


def test_matrices_in_float32(library):
    values, k = FOUND["a gap"]
    found, _ = leading_eigenpairs(library.asarray(matrix(values).astype("float32")), k)
    np.testing.assert_allclose(np.from_dlpack(found), np.sort(values)[::-1][:k], rtol=1e-5)


def test_too_many_pairs_and_too_large_matrices_are_not_looked_for(library, monkeypatch):
    values, k = FOUND["a gap"]
    A = library.asarray(matrix(values))
    monkeypatch.setattr(leading, "_MOST_PAIRS", k - 1)
    assert leading_eigenpairs(A, k) is None
    monkeypatch.undo()
    monkeypatch.setattr(leading, "_MOST_COLUMNS", P - 1)
    assert leading_eigenpairs(A, k) is None


@pytest.mark.parametrize("name", ["a gap", "all equal"])
@pytest.mark.parametrize("at_least", [8, None])
def test_values_are_on_the_host(library, name, at_least):
    values, k = (FOUND | NOT_FOUND)[name]
    A = matrix(values)
    found, vectors = eigh_descending(library.asarray(A), at_least, on_host=True)
    assert isinstance(found, np.ndarray)
    assert isinstance(vectors, np.ndarray) == (name == "a gap" and at_least == 8)
    vectors = np.from_dlpack(vectors)
    np.testing.assert_allclose(found[:k], np.sort(values)[::-1][:k], atol=1e-13 * values.max())
    np.testing.assert_allclose(vectors @ A, found[:, None] * vectors, atol=1e-12 * values.max())
