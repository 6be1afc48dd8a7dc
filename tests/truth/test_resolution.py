"""Small eigenvalues against 60 digits: what solvers say about them is true, by `status_`, warnings and `residual_`."""

from __future__ import annotations

import re
import warnings
from functools import cache

import mpmath
import numpy as np
import pytest
from scipy import sparse, stats

from examples import SPECTRAL
from lowdim import PCA, PPCA, Whitening
from lowdim.errors import RankWarning, ResolutionWarning
from lowdim.reading import summarize
from lowdim.solvers import Status
from lowdim.summaries import Moments
from oracles import exact_spectrum, tolerance

FINE = (Status.EXACT, Status.CONVERGED)
#: Digits are lost if an error is larger than this, and all digits are right if none is larger than the second.
LOST, RIGHT = 1e-4, 1e-11


def rows_with(values, kind, n=40, seed=1):
    """Rows whose covariance has these eigenvalues: in any direction, or along the columns (correlated or not)."""
    random, p = np.random.default_rng(seed), len(values)
    Z = random.standard_normal((n, p))
    U = np.linalg.qr(Z - Z.mean(axis=0))[0] * np.sqrt(n - 1)
    if kind == "correlated columns":
        return Z @ (np.eye(p) + 0.3) * np.sqrt(values)
    V = np.linalg.qr(random.standard_normal((p, p)))[0] if kind == "rotated" else np.eye(p)
    return U * np.sqrt(values) @ V.T


SPECTRA = {
    "graded": lambda last: np.logspace(0, -last, 6),
    "one small": lambda last: np.array([1.0, 0.7, 0.5, 0.3, 0.1, 10.0**-last]),
    "clustered": lambda last: np.array([1.0, 1 - 1e-9, 0.5, 0.5 - 1e-10, 1.2 * 10.0**-last, 10.0**-last]),
}
CASES = {
    f"{name} to 1e-{last}, {kind}": rows_with(values(last), kind)
    for name, values in SPECTRA.items()
    for last in (4, 8, 10, 12, 14, 16, 20, 24)
    for kind in ("rotated", "along the columns", "correlated columns")
}
_WIDE = np.vstack([1e6 * np.ones((1, 30)), np.zeros((6, 30))]) + np.random.default_rng(2).standard_normal((7, 30))
CASES |= {
    "offset 1e8": 1e8 + rows_with(SPECTRA["graded"](12), "rotated"),
    "scale 1e150": 1e150 * rows_with(SPECTRA["graded"](16), "rotated"),
    "scale 1e-150": 1e-150 * rows_with(SPECTRA["graded"](16), "rotated"),
    "one row of 1e6, few rows": _WIDE,
}


@cache
def truth(name):
    return exact_spectrum(CASES[name].T if name.endswith("few rows") else CASES[name])


def values_of(name):
    """The eigenvalues; of few rows, from their inner products."""
    X = CASES[name]
    if len(X) >= X.shape[1]:
        return truth(name).values
    with mpmath.workdps(60):
        A = mpmath.matrix(X.tolist())
        centre = mpmath.eye(len(X)) - mpmath.ones(len(X)) / len(X)
        found = mpmath.eigsy(centre * A * A.T * centre / (len(X) - 1), eigvals_only=True)
        return np.array(sorted(map(float, found)))[:0:-1]


def fitted(model, *arguments):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(*arguments)
    return model, [warning for warning in caught if issubclass(warning.category, ResolutionWarning)]


@pytest.mark.parametrize("k", [5, 6])
@pytest.mark.parametrize("solver", ["auto", *SPECTRAL])
@pytest.mark.parametrize("name", list(CASES))
def test_lost_digits_are_told_once_with_numbers(name, solver, k):
    values, rest = values_of(name)[:k], values_of(name)[k:].sum()
    pca, told = fitted(PCA(k, solver=solver), CASES[name])
    error = np.abs(pca.explained_variance_ / values - 1)
    assert (pca.status_ not in FINE) == (len(told) == 1) and len(told) < 2
    if solver in ("auto", "triangle") and values[-1] > 1e-21 * values[0]:
        # The variance beside the components may be smaller.
        assert not told or (rest <= 1e-21 * values[0] and "variance beside" in str(told[0].message))
    if error.max() > LOST:
        assert told, f"relative errors {error}"
    if error.max() < RIGHT and values[-1] > 1e-14 * values[0]:
        # It may be the sixth eigenvalue, beside five components.
        assert not told or "variance beside" in str(told[0].message), f"relative errors {error}"
    number = re.search(r"kept is (\S+) of .* relative error is about (\S+)\. ", str(told[0].message)) if told else None
    if number:
        share, about = map(float, number.groups())
        assert error.max() <= 30 * about
        assert share == pytest.approx(values[-1] / values[0], rel=0.1)


@pytest.mark.parametrize("solver", ["auto", *SPECTRAL])
@pytest.mark.parametrize("name", [name for name in CASES if "few rows" not in name])
def test_residuals_are_not_understated(name, solver):
    pca, _ = fitted(PCA(5, solver=solver), CASES[name])
    exact = truth(name)
    with mpmath.workdps(60):
        W, S = mpmath.matrix(pca.components_.tolist()), mpmath.matrix(exact.covariance.tolist())
        left = W * S - mpmath.diag(pca.explained_variance_.tolist()) * W
        size = max(mpmath.norm(left[k, :]) for k in range(5)) / exact.values[0]
    # The oracle's covariance is rounded to double.
    assert size <= pca.residual_ + tolerance() / 50
    assert pca.residual_ <= 2 * tolerance()


@pytest.mark.parametrize("solver", ["covariance", "gram", "krylov"])
@pytest.mark.parametrize("kind", ["a sum of columns", "one hot", "a constant", "fewer rows than columns"])
def test_directions_without_variance_are_no_loss(solver, kind):
    """One more look at the rows shows that an eigenvalue is zero; then nothing is wrong, and nothing is told."""
    random = np.random.default_rng(0)
    Z = random.standard_normal((40, 4))
    X = {
        "a sum of columns": np.column_stack([Z, Z.sum(axis=1)]),
        "one hot": np.eye(5)[random.integers(0, 5, 60)],
        "a constant": np.column_stack([Z, np.full(40, 0.1)]),
        "fewer rows than columns": Z[:5].repeat(2, axis=1)[:, :7],
    }[kind]
    k = min(5, *X.shape)
    pca, told = fitted(PCA(k, solver=solver), X)
    assert not told and pca.status_ in FINE and pca.rank_ == k - 1
    assert pca.explained_variance_[-1] <= tolerance() * pca.explained_variance_[0]


def test_a_summary_has_no_rows_to_look_at():
    """Eigenvalues at or below the rank cut count as zero; those above it that have lost their digits are told."""
    Z = np.random.default_rng(0).standard_normal((40, 3))
    dependent = np.column_stack([Z, Z.sum(axis=1)])
    assert PCA().fit_summary(summarize(dependent, Moments)).status_ is Status.EXACT
    assert PCA().partial_fit(dependent).rank_ == 3
    with pytest.warns(ResolutionWarning, match="relative error is about"):
        PCA().fit_summary(summarize(CASES["one small to 1e-12, rotated"], Moments))
    # A stream is read with the accurate solver, if its first block shows that it has to be.
    rows = CASES["one small to 1e-12, rotated"]
    with pytest.warns(ResolutionWarning):
        PCA(solver="covariance").fit(block for block in (rows[:20], rows[20:]))


@pytest.mark.parametrize("length", [1e4, 1e6, 1e8, 1e10, 1e12, 1e14])
@pytest.mark.parametrize("solver", ["auto", *SPECTRAL])
@pytest.mark.parametrize("shape", [(60, 5), (9, 20)])
def test_the_variance_beside_one_far_row_is_right_or_told(shape, solver, length):
    X = np.random.default_rng(0).standard_normal(shape)
    X[shape[0] // 2] *= length
    with mpmath.workdps(60):
        A = mpmath.matrix((X if shape[0] > shape[1] else X.T).tolist())
        centred = mpmath.eye(len(X)) - mpmath.ones(len(X)) / len(X)
        products = A.T * centred * A if shape[0] > shape[1] else centred * A.T * A * centred
        values = sorted(mpmath.eigsy(products / (len(X) - 1), eigvals_only=True))
        variance = float(mpmath.fsum(values[:-1])) / (shape[1] - 1)
    pca, told = fitted(PCA(1, solver=solver), X)
    error = abs(pca.noise_variance_ / variance - 1)
    assert (pca.status_ not in FINE) == (len(told) == 1)
    assert error <= tolerance() * 1e10 or told, error
    if length <= 1e10:
        assert not told
        # The density of the other rows is that of noise, whose squared lengths are known.
        others = np.delete(X, shape[0] // 2, axis=0)
        rest = pca.reconstruction_error(others) / pca.noise_variance_
        constant = shape[1] * np.log(2 * np.pi) + np.log(pca.explained_variance_[0])
        constant += (shape[1] - 1) * np.log(variance)
        z = pca.transform(others)[:, 0] ** 2 / pca.explained_variance_[0]
        np.testing.assert_allclose(pca.score_samples(others), -0.5 * (constant + z + rest), rtol=1e-5)


def test_the_variance_beside_a_far_row_that_is_not_read_again():
    X = np.random.default_rng(0).standard_normal((60, 5))
    X[30] *= 1e7
    with pytest.warns(ResolutionWarning, match="beside the components is .* relative error is about"):
        PCA(1).fit_summary(summarize(X, Moments))
    with pytest.warns(ResolutionWarning, match="beside the components"):
        PCA(1, solver="covariance").fit(sparse.csr_array(X))
    exact = PCA(1, solver="triangle").fit(X).noise_variance_
    assert PCA(1).fit(sparse.csr_array(X)).noise_variance_ == pytest.approx(exact, rel=1e-8)
    assert PCA(1).fit(block for block in (X[20:], X[:20])).noise_variance_ == pytest.approx(exact, rel=1e-8)


def test_only_what_is_kept_matters():
    rows = CASES["one small to 1e-12, rotated"]
    assert fitted(PCA(0.9, solver="covariance"), rows)[0].status_ is Status.EXACT
    assert fitted(PCA("kaiser", scale=False, solver="covariance"), rows)[1] == []
    # Whitening leaves out what has no variance, and says so.
    tiny = CASES["one small to 1e-20, rotated"]
    with pytest.warns(RankWarning) as caught:
        model = Whitening(solver="covariance").fit(tiny)
    assert len(caught) == 1 and model.status_ is Status.EXACT and model.n_components_ == 5


def test_latent_models_tell_it_too():
    rows = CASES["one small to 1e-12, rotated"]
    for solver in ("covariance", "gram"):
        model, told = fitted(PPCA(5, solver=solver), rows[:, :])
        assert model.status_ in FINE and not told
    small = rows_with([1.0, 0.5, 1e-12, 1e-13, 1e-14, 1e-14], "rotated")
    model, told = fitted(PPCA(4, solver="covariance"), small)
    assert model.status_ is Status.UNRESOLVED and len(told) == 1
    assert fitted(PPCA(4), small)[1] == []


# ---- The variance that is left beside a large eigenvalue


@pytest.mark.parametrize("size", [1e6, 3e6])
@pytest.mark.parametrize("shape", [(20, 50), (50, 20)])
@pytest.mark.parametrize("solver", ["auto", "covariance", "gram", "triangle", "krylov"])
def test_densities_beside_an_outlying_row(solver, shape, size):
    X = np.random.default_rng(0).standard_normal(shape)
    X[3] *= size
    n, p = shape
    Z = (X - X.mean(axis=0)).astype(np.longdouble)
    Z -= Z.mean(axis=0)
    # In long double, the direction of the largest variance by the power method, which converges at once.
    w = Z[3] / np.sqrt(Z[3] @ Z[3])
    for _ in range(5):
        w = Z.T @ (Z @ w)
        w /= np.sqrt(w @ w)
    scores = Z @ w
    rest = Z - scores[:, None] * w
    first, noise = scores @ scores / (n - 1), np.sum(rest * rest) / (n - 1) / (p - 1)
    expected = stats.norm.logpdf(scores.astype(float), scale=float(np.sqrt(first)))
    expected -= 0.5 * (np.sum(rest * rest, axis=1) / noise + (p - 1) * np.log(2 * np.pi * noise)).astype(float)
    pca = PCA(1, solver=solver).fit(X)
    assert pca.noise_variance_ == pytest.approx(float(noise), rel=tolerance(condition=size))
    np.testing.assert_allclose(pca.score_samples(X), expected, rtol=tolerance(condition=100 * size))
