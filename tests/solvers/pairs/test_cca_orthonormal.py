"""Orthonormal combinations of the columns of a table by a Cholesky factor, where that is accurate; CCA from them."""

from __future__ import annotations

import numpy as np
import pytest

from inputs import namespace, to_numpy
from lowdim import CCA
from lowdim.linalg import svd_leading
from lowdim.solvers import CovarianceReduction
from lowdim.solvers.pairs.views import Views, root_of_products
from lowdim.summaries import Moments

RNG = np.random.default_rng(7)


def views(X, Y):
    summary = Moments(X.shape[1] + Y.shape[1], widths=(X.shape[1], Y.shape[1]))
    summary.update(np.hstack([X, Y]))
    return CovarianceReduction().views_of_summary(summary, ("X", "y"), (True, True), 1)


def tables(near=1.0):
    """Two tables; the last column of the first one is nearly a sum of others if `near` is small."""
    shared = RNG.standard_normal((500, 3))
    X = np.hstack([shared + RNG.standard_normal((500, 3)), RNG.standard_normal((500, 4))])
    X[:, -1] = X[:, 0] + X[:, 1] + near * X[:, -1]
    return X, np.hstack([shared + RNG.standard_normal((500, 3)), RNG.standard_normal((500, 2))])


def test_combinations_are_orthonormal():
    found = views(*tables())
    for i in (0, 1):
        U = found.tables[i].table @ found.orthonormal(i)
        np.testing.assert_allclose(U.T @ U, np.eye(U.shape[1]), atol=1e-12)


@pytest.mark.parametrize("near", [0.0, 1e-9, 1e-6, 1e-5])
def test_columns_that_nearly_depend_on_others_are_left_to_the_eigenvectors(near):
    assert views(*tables(near)).orthonormal(0) is None


def test_columns_that_are_constant_are_left_to_the_eigenvectors():
    X, Y = tables()
    X[:, 2] = 1.0
    assert views(X, Y).orthonormal(0) is None


@pytest.mark.parametrize("near", [1.0, 1e-2, 1e-4])
def test_cca_is_the_same_by_both(near, monkeypatch):
    X, Y = tables(near)
    found = CCA(3, solver="covariance").fit(X, Y)
    monkeypatch.setattr(Views, "orthonormal", lambda self, i: None)
    expected = CCA(3, solver="covariance").fit(X, Y)
    for name in ("correlations_", "x_rotations_", "y_rotations_", "x_structure_", "coef_", "_all_correlations"):
        np.testing.assert_allclose(getattr(found, name), getattr(expected, name), rtol=1e-6, atol=1e-8, err_msg=name)
    assert found.rank_ == expected.rank_ and found.status_ == expected.status_


@pytest.mark.parametrize("shape", [(200, 130), (130, 200), (150, 150)])
def test_all_singular_values_and_some_vectors(shape):
    A = RNG.standard_normal(shape) * 0.9 ** np.arange(shape[1])
    U, s, Vt = svd_leading(A, 5, all_values=True)
    expected = np.linalg.svd(A, compute_uv=False)
    assert s.shape == expected.shape and np.all(np.diff(s) <= 0)
    np.testing.assert_allclose(s[:5], expected[:5], rtol=1e-12)
    np.testing.assert_allclose(s, expected, atol=1e-7 * expected[0])
    np.testing.assert_allclose(U[:, :5].T @ A, s[:5, None] * Vt[:5], atol=1e-10 * s[0])


@pytest.mark.parametrize("library", ["array_api_strict", "torch"])
@pytest.mark.parametrize("rank", [200, 30])
def test_a_root_from_a_device(library, rank, monkeypatch):
    """Where the device finds no Cholesky factor, the host finds another root."""
    xp = namespace(library)
    monkeypatch.setattr("lowdim.solvers.pairs.views._ON_DEVICE_FROM", 160)
    A = RNG.standard_normal((300, rank)) @ RNG.standard_normal((rank, 200))
    C = A.T @ A / np.linalg.norm(A, axis=0) / np.linalg.norm(A, axis=0)[:, None]
    R = root_of_products(C, xp.asarray(C))
    assert isinstance(R, np.ndarray)
    np.testing.assert_allclose(R.T @ R, C, atol=1e-12)


@pytest.mark.parametrize("library", ["array_api_strict", "torch"])
def test_cca_of_many_columns_on_a_device(library):
    xp = namespace(library)
    shared = RNG.standard_normal((1000, 4)) * [4.0, 3.0, 2.0, 1.0]
    X, Y = (shared @ RNG.standard_normal((4, 90)) + RNG.standard_normal((1000, 90)) for _ in range(2))
    found, expected = CCA(3).fit(xp.asarray(X), xp.asarray(Y)), CCA(3).fit(X, Y)
    np.testing.assert_allclose(to_numpy(found.correlations_), expected.correlations_, atol=1e-10)
    np.testing.assert_allclose(to_numpy(found.x_rotations_), expected.x_rotations_, atol=1e-8)
