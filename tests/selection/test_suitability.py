"""KMO and Bartlett's test, against regressions of columns and pairs, and on tables that leave them undefined."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse, stats
from sklearn.datasets import load_wine

from inputs import with_missing
from lowdim import factor_suitability
from lowdim.errors import UndeterminedCovariance
from lowdim.reading import summarize
from lowdim.summaries import Moments, Triangle
from oracles import gaussian_with_missing, observed_loglike

X = load_wine().data[:, :6]


def residual(y, others):
    A = np.column_stack([np.ones(len(y)), others])
    return y - A @ np.linalg.lstsq(A, y, rcond=None)[0]


def slow(X):
    """KMO with partial correlations of residuals, squared multiple correlations by regression, and the test."""
    n, p = X.shape
    R = np.corrcoef(X, rowvar=False)
    partial = np.eye(p)
    for i in range(p):
        for j in range(i):
            rest = np.delete(X, [i, j], axis=1)
            partial[i, j] = partial[j, i] = np.corrcoef(residual(X[:, i], rest), residual(X[:, j], rest))[0, 1]
    off = ~np.eye(p, dtype=bool)
    each = [np.sum(R[i, off[i]] ** 2) / np.sum(R[i, off[i]] ** 2 + partial[i, off[i]] ** 2) for i in range(p)]
    smc = [1 - residual(X[:, j], np.delete(X, j, axis=1)).var() / X[:, j].var() for j in range(p)]
    chi = -(n - 1 - (2 * p + 5) / 6) * np.linalg.slogdet(R)[1]
    return np.sum(R[off] ** 2) / np.sum(R[off] ** 2 + partial[off] ** 2), each, smc, chi, stats.chi2.sf(chi, 15)


def test_kmo():
    found, (kmo, each, *_) = factor_suitability(X), slow(X)
    assert found.kmo == pytest.approx(kmo, rel=1e-9)
    np.testing.assert_allclose(found.kmo_columns, each, rtol=1e-9)


def test_squared_multiple_correlations():
    np.testing.assert_allclose(factor_suitability(X).smc, slow(X)[2], rtol=1e-9)


def test_sphericity():
    found, (*_, chi, p_value) = factor_suitability(X), slow(X)
    assert found.chi_square == pytest.approx(chi, rel=1e-9) and found.dof == 15
    assert found.p_value == pytest.approx(p_value, rel=1e-6)


SAME = {
    "blocks": lambda: (block for block in np.array_split(X, 5)),
    "sparse": lambda: sparse.csr_array(X),
    "frame": lambda: pd.DataFrame(X, columns=list("abcdef")),
    "moments": lambda: summarize(X, Moments),
    "triangle": lambda: summarize(X, Triangle),
    "other units": lambda: X * [1e-3, 1, 1e6, 1, 1e-100, 1e100] + [1e3, 0, 0, 0, 0, 0],
    "correlations": lambda: Moments.from_covariance(np.corrcoef(X, rowvar=False), len(X)),
}


@pytest.mark.parametrize("kind", list(SAME))
def test_every_kind_of_rows(kind):
    found, expected = factor_suitability(SAME[kind]()), factor_suitability(X)
    np.testing.assert_allclose(found.kmo_columns, expected.kmo_columns, rtol=1e-6)
    np.testing.assert_allclose(found.chi_square, expected.chi_square, rtol=1e-6)
    assert found.columns == (list("abcdef") if kind == "frame" else [f"x{j}" for j in range(1, 7)])


def test_weights_are_repetitions():
    weights = np.arange(len(X)) % 4
    weighted, repeated = factor_suitability(X, sample_weight=weights), factor_suitability(np.repeat(X, weights, axis=0))
    np.testing.assert_allclose(weighted.kmo_columns, repeated.kmo_columns, rtol=1e-9)
    assert weighted.chi_square == pytest.approx(repeated.chi_square, rel=1e-9)
    frame = pd.DataFrame(X).add_prefix("c").assign(w=weights)
    assert factor_suitability(frame, sample_weight="w").kmo == pytest.approx(weighted.kmo)
    with pytest.raises(ValueError, match="a summary no longer holds them"):
        factor_suitability(summarize(X, Moments), sample_weight=weights)


def test_sphericity_of_independent_columns_has_uniform_p_values():
    rng = np.random.default_rng(0)
    p_values = [factor_suitability(rng.standard_normal((40, 5))).p_value for _ in range(200)]
    assert stats.kstest(p_values, "uniform").pvalue > 0.01


def test_constant_columns_are_left_out():
    found, expected = factor_suitability(np.insert(X, 2, 7.0, axis=1)), factor_suitability(X)
    np.testing.assert_allclose(np.delete(found.kmo_columns, 2), expected.kmo_columns)
    assert np.isnan(found.kmo_columns[2]) and found.dof == 15
    assert "Constant, and left out: x3." in str(found)


def test_a_singular_correlation_matrix_is_explained():
    found = factor_suitability(np.column_stack([X, X[:, 1] - 2 * X[:, 4]]))
    assert found.kmo is None and found.chi_square is None and np.all(np.isnan(found.smc))
    assert found.word == "not defined"
    assert "of rank 6 of 7" in str(found) and "one another: x2, x5, x7. Drop 1 of them." in str(found)
    wide = factor_suitability(np.random.default_rng(0).standard_normal((5, 9)))
    assert wide.kmo is None and "5 rows have a singular correlation matrix of 9 columns" in str(wide)
    with pytest.raises(ValueError, match=r"1 column\(s\) that vary"):
        factor_suitability(X[:, :1])


def test_columns_without_any_correlation():
    found = factor_suitability(Moments.from_covariance(np.eye(4), 100))
    assert found.kmo == 0.5 and found.chi_square == 0.0 and found.p_value == 1.0


@pytest.mark.parametrize(("p", "r", "word"), [(3, 0.3, "mediocre"), (5, 0.6, "meritorious"), (9, 0.6, "marvelous")])
def test_words(p, r, word):
    """KMO of equal correlations has a closed form: the partial correlations are r / (1 + (p - 2) r)."""
    R = np.full((p, p), r) + (1 - r) * np.eye(p)
    found, a = factor_suitability(Moments.from_covariance(R, 100)), r / (1 + (p - 2) * r)
    assert found.kmo == pytest.approx(r**2 / (r**2 + a**2))
    assert found.word == word


# ---- Missing entries


def test_with_missing_entries():
    incomplete = with_missing(X[:80], 0.05)
    found = factor_suitability(incomplete)
    _, C, loglike = gaussian_with_missing(incomplete)
    sd = np.sqrt(np.diag(C))
    same = factor_suitability(Moments.from_covariance(C / np.outer(sd, sd), 80))
    np.testing.assert_allclose(found.kmo_columns, same.kmo_columns, atol=1e-4)
    np.testing.assert_allclose(found.smc, same.smc, atol=1e-4)
    independent = observed_loglike(
        incomplete, np.nanmean(incomplete, axis=0), np.diag(np.nanvar(incomplete, axis=0))
    ).sum()
    assert found.chi_square == pytest.approx(2 * (loglike - independent), rel=1e-6)
    assert "of the entries are missing" in str(found) and found.n == 80
    # Missing entries that are found only after the first block.
    late = np.vstack([np.repeat(X, 200, axis=0), incomplete])
    assert "missing" in str(factor_suitability(late))


def test_too_many_missing_entries():
    with pytest.raises(UndeterminedCovariance, match="do not determine the covariance of 6 columns"):
        factor_suitability(with_missing(X[:40], 0.5))


def test_few_columns_that_vary_of_more_columns_than_rows():
    columns = [3, 500, 700, 1500, 1999]
    rows = np.full((100, 2000), 3.0)
    rows[:, columns] = np.random.default_rng(0).standard_normal((100, 5))
    found, expected = factor_suitability(rows), factor_suitability(rows[:, columns])
    assert found.kmo == pytest.approx(expected.kmo) and found.dof == 10
    assert found.chi_square == pytest.approx(expected.chi_square)
    np.testing.assert_allclose(found.smc[columns], expected.smc)
    assert np.count_nonzero(np.isnan(found.kmo_columns)) == 1995 and "left out" in found.notes[0]
    rows[:, columns[0]] = rows[:, columns[1]]
    assert f"x{columns[0] + 1}, x{columns[1] + 1}" in factor_suitability(rows).notes[1]


def test_constant_columns_of_rows_with_missing_values_are_left_out():
    random = np.random.default_rng(1)
    rows = random.standard_normal((200, 1)) + random.standard_normal((200, 5))
    rows[random.random(rows.shape) < 0.05] = np.nan
    constant = np.insert(rows, 2, np.where(np.arange(200) % 7, 1.5, np.nan), axis=1)
    found, expected = factor_suitability(constant), factor_suitability(rows)
    assert found.kmo == pytest.approx(expected.kmo) and found.dof == expected.dof
    np.testing.assert_allclose(np.delete(found.smc, 2), expected.smc)
    assert np.isnan(found.smc[2]) and found.notes[0] == "Constant, and left out: x3."
