"""Whitening against the five matrices of Kessy, Lewin and Strimmer (2018), from base R's eigen and chol.

A whitening matrix holds 1 / sqrt(lambda_j), and its rows mix eigenvectors: an entry is good to
eps lambda_1 / gap for the vectors and eps lambda_1 / lambda_p for the roots.
"""

import numpy as np
import pytest

from lowdim import Whitening
from oracles import exact_spectrum, exact_whitened_covariance, matched, tolerance, vector_condition
from parity.reference import data, results

KINDS = {
    "pca": "pca_up_to_row_sign",
    "zca": "zca",
    "cholesky": "cholesky",
    "pca-cor": "pca_cor_up_to_row_sign",
    "zca-cor": "zca_cor",
}
DIVISORS = {"n_minus_1": 1, "n": 0}

pytestmark = [
    pytest.mark.parametrize("name", ["iris", "usarrests"]),
    pytest.mark.parametrize("divisor", list(DIVISORS)),
    pytest.mark.parametrize("kind", list(KINDS)),
]


def condition(X, kind):
    """The worse of lambda_1 / gap and lambda_1 / lambda_p, of the covariance or of the correlation matrix."""
    if kind.endswith("-cor"):
        X = X / X.std(axis=0)
    values = exact_spectrum(X).values
    return max(vector_condition(values).max(), values[0] / values[-1])


def test_matrix_equals_r(name, divisor, kind):
    X, r = data(name), results(f"whitening_{name}")[divisor]
    W = Whitening(kind, ddof=DIVISORS[divisor]).fit(X).components_
    wanted = r[KINDS[kind]]
    if KINDS[kind].endswith("up_to_row_sign"):
        wanted = matched(wanted, W)
    row_length = np.linalg.norm(wanted, axis=1, keepdims=True)
    assert np.all(np.abs(W - wanted) <= row_length * tolerance(condition=condition(X, kind)))


def test_whitened_covariance_is_the_identity(name, divisor, kind):
    X = data(name)
    ddof = DIVISORS[divisor]
    whitening = Whitening(kind, ddof=ddof).fit(X)
    allowed = tolerance(condition=condition(X, kind))
    exact = exact_whitened_covariance(whitening.components_, exact_spectrum(X, ddof=ddof).covariance)
    np.testing.assert_allclose(exact, np.eye(X.shape[1]), atol=allowed)
    Z = whitening.transform(X)
    np.testing.assert_allclose(np.cov(Z.T, ddof=ddof), np.eye(X.shape[1]), atol=allowed)
    np.testing.assert_allclose(Z.mean(axis=0), 0, atol=allowed)


def test_inverse_gives_the_rows_back(name, divisor, kind):
    X = data(name)
    whitening = Whitening(kind, ddof=DIVISORS[divisor]).fit(X)
    back = whitening.inverse_transform(whitening.transform(X))
    np.testing.assert_allclose(back, X, atol=np.abs(X).max() * tolerance(condition=condition(X, kind)))


def test_form_of_the_matrix(name, divisor, kind):
    """What makes each kind the one it is."""
    W = Whitening(kind, ddof=DIVISORS[divisor]).fit(data(name)).components_
    if kind == "zca":
        np.testing.assert_allclose(W, W.T, atol=tolerance() * np.abs(W).max())
    elif kind == "cholesky":
        np.testing.assert_array_equal(W, np.triu(W))
        assert np.all(np.diag(W) > 0)
    elif kind == "zca-cor":  # W V^(1/2) = P^(-1/2) is symmetric
        root = W * data(name).std(axis=0, ddof=DIVISORS[divisor])
        np.testing.assert_allclose(root, root.T, atol=tolerance(condition=10) * np.abs(root).max())
    else:  # rows scaled back to unit variance are orthogonal
        scale = 1.0 if kind == "pca" else data(name).std(axis=0, ddof=DIVISORS[divisor])
        rows = W * scale
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        np.testing.assert_allclose(rows @ rows.T, np.eye(len(rows)), atol=tolerance(condition=10))
