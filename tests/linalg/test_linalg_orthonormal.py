"""Blocks of orthonormal columns, which iterations add to a basis."""

from __future__ import annotations

import numpy as np
import pytest

from lowdim import linalg as orthonormal
from lowdim.linalg import orthonormal_block

RNG = np.random.default_rng(5)
BASIS = np.linalg.qr(RNG.standard_normal((300, 12)))[0]


@pytest.fixture(params=["numpy", "array_api_strict", "torch"])
def library(request):
    return pytest.importorskip(request.param, reason=f"{request.param} is not installed")


def split(library, Z, basis=BASIS):
    """Q, R, C and the number of random directions, all as NumPy arrays."""
    Q, R, C, n_new = orthonormal_block(library.asarray(Z), library.asarray(basis), np.random.default_rng(0))
    return np.asarray(np.from_dlpack(Q)), R, C, n_new


@pytest.mark.parametrize("inside", [0.0, 1.0, 1e3, 1e8], ids=lambda size: f"{size:g} times as long in the basis")
def test_a_block_is_split_into_the_basis_and_the_rest(library, inside):
    Z = BASIS @ RNG.standard_normal((12, 4)) * inside + RNG.standard_normal((300, 4))
    Q, R, C, n_new = split(library, Z)
    assert n_new == 0
    size = max(inside, 1.0)
    np.testing.assert_allclose(Q.T @ Q, np.eye(4), atol=1e-13)
    np.testing.assert_allclose(BASIS.T @ Q, 0.0, atol=1e-14)
    np.testing.assert_allclose(BASIS @ C + Q @ R, Z, atol=1e-11 * size)


def test_columns_that_nearly_depend_on_each_other_stay_orthonormal(library):
    Z = RNG.standard_normal((300, 4))
    Z[:, 3] = Z[:, 0] + 1e-7 * Z[:, 3]
    Q, R, C, _ = split(library, Z)
    np.testing.assert_allclose(Q.T @ Q, np.eye(4), atol=1e-13)
    np.testing.assert_allclose(BASIS.T @ Q, 0.0, atol=1e-14)
    np.testing.assert_allclose(BASIS @ C + Q @ R, Z, atol=1e-12)


@pytest.mark.parametrize("b", [8, 16, 32])
def test_columns_that_depend_on_many_others_only_together(library, b):
    """Each column is at a distance from those before it, but all together are nearly dependent (Kahan's matrix)."""
    K = np.eye(b) - np.triu(np.full((b, b), 0.99), 1)
    K /= np.linalg.norm(K, axis=0)
    outside = RNG.standard_normal((300, b))
    U = np.linalg.qr(outside - BASIS @ (BASIS.T @ outside))[0]
    Q, R, C, _ = split(library, U @ K)
    np.testing.assert_allclose(Q.T @ Q, np.eye(b), atol=1e-12)
    np.testing.assert_allclose(BASIS.T @ Q, 0.0, atol=1e-13)
    np.testing.assert_allclose(BASIS @ C + Q @ R, U @ K, atol=1e-7)


@pytest.mark.parametrize("inside", [[0], [1], [2], [0, 1], [0, 2, 3], [0, 1, 2, 3, 4]], ids=str)
def test_directions_within_the_basis_are_replaced(library, inside):
    """What the other columns have along the arbitrary direction of a column that vanishes must not be lost."""
    Z = RNG.standard_normal((300, 5))
    Z[:, inside] = BASIS @ RNG.standard_normal((12, len(inside)))
    Q, R, C, n_new = split(library, Z)
    assert n_new == len(inside)
    np.testing.assert_allclose(Q.T @ Q, np.eye(5), atol=1e-13)
    np.testing.assert_allclose(BASIS.T @ Q, 0.0, atol=1e-13)
    np.testing.assert_allclose(BASIS @ C + Q @ R, Z, atol=1e-12)


def test_equal_columns_are_replaced(library):
    Z = RNG.standard_normal((300, 5))[:, [0, 1, 0, 1, 2]]
    Q, R, C, n_new = split(library, Z)
    assert n_new == 2
    np.testing.assert_allclose(Q.T @ Q, np.eye(5), atol=1e-13)
    np.testing.assert_allclose(BASIS @ C + Q @ R, Z, atol=1e-12)


def test_a_long_chain_of_blocks_stays_orthonormal(library):
    """As in an iteration, with blocks of which little is left outside of the basis: where the host does not look at
    the second projection, errors must not grow from block to block."""
    A = np.diag(0.9 ** np.arange(300.0))
    Q = np.linalg.qr(RNG.standard_normal((300, 4)))[0]
    basis = Q
    for _ in range(12):
        Q = split(library, A @ Q, basis)[0]
        basis = np.hstack([basis, Q])
    np.testing.assert_allclose(basis.T @ basis, np.eye(basis.shape[1]), atol=1e-12)


def test_the_host_looks_once_where_that_is_enough(library, monkeypatch):
    looks = []
    qr_of_thin = orthonormal._qr_of_thin
    monkeypatch.setattr(orthonormal, "_qr_of_thin", lambda *arguments: looks.append(1) or qr_of_thin(*arguments))
    split(library, RNG.standard_normal((300, 4)))
    assert len(looks) == (2 if library is np else 1)
