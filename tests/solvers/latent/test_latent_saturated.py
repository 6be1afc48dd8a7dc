"""The Gaussian of maximum likelihood for rows with missing entries, against EM row by row."""

import numpy as np
import pytest

from inputs import with_missing
from lowdim.errors import UndeterminedCovariance
from lowdim.reading import summarize
from lowdim.reading.rows import Rows
from lowdim.solvers import latent
from lowdim.solvers.latent.base import independent_loglike, saturated_loglike
from lowdim.sources import open_source
from lowdim.summaries import Moments
from oracles import gaussian_with_missing

RNG = np.random.default_rng(0)
X = RNG.standard_normal((120, 5)) @ RNG.standard_normal((5, 5)) * [1.0, 5.0, 0.1, 20.0, 0.01] + [0, 9, 100, 1, 0]


def saturated(table, weights=None):
    return latent.saturated(Rows(open_source(table), weights))


def test_complete_rows_have_their_sample_covariance():
    found, moments = saturated(X), summarize(X, Moments)
    np.testing.assert_allclose(found.loglike, saturated_loglike(moments), rtol=1e-10)
    np.testing.assert_allclose(found.independent, independent_loglike(moments), rtol=1e-10)
    sd = X.std(axis=0)
    np.testing.assert_allclose(found.covariance / np.outer(sd, sd), np.corrcoef(X, rowvar=False), atol=1e-6)
    assert found.weight == found.n_rows == 120 and found.observed == 1.0


@pytest.mark.parametrize("share", [0.05, 0.3])
def test_rows_with_missing_entries(share):
    table = with_missing(X[:50], share)
    found, (mean, C, loglike) = saturated(table), gaussian_with_missing(table)
    sd = np.sqrt(np.diag(C))
    np.testing.assert_allclose(found.loglike, loglike, rtol=1e-9)
    np.testing.assert_allclose(found.covariance / np.outer(sd, sd), C / np.outer(sd, sd), atol=1e-4)
    np.testing.assert_allclose((found.mean - mean) / sd, 0.0, atol=1e-4)
    assert found.observed == np.mean(~np.isnan(table))


def test_weights_and_empty_rows():
    table = np.vstack([with_missing(X, 0.1), np.full((3, 5), np.nan)])
    weights = 1.0 + np.arange(123) % 2
    weighted, repeated = saturated(table, weights), saturated(np.repeat(table, weights.astype(int), axis=0))
    assert weighted.weight == repeated.weight == weights[:120].sum()
    np.testing.assert_allclose(weighted.loglike, repeated.loglike, rtol=1e-9)
    np.testing.assert_allclose(
        weighted.covariance, repeated.covariance, rtol=1e-4, atol=1e-9 * repeated.covariance.max()
    )


def test_what_is_not_determined():
    with pytest.raises(UndeterminedCovariance, match="one column"):
        saturated(X[:, :1])
    with pytest.raises(ValueError, match="no entry was observed in column 2"):
        saturated(np.where(np.arange(5) == 2, np.nan, X))
    with pytest.raises(UndeterminedCovariance, match="column 1 are all the same"):
        saturated(np.where(np.arange(5) == 1, 4.0, with_missing(X)))
