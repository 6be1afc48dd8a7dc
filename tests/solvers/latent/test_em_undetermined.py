"""Rows with too few observed entries to determine the noise."""

import numpy as np
import pytest

from lowdim import PPCA
from lowdim.errors import ConvergenceWarning
from lowdim.reading import summarize
from lowdim.solvers import Status
from lowdim.solvers.latent.em import too_few_entries
from lowdim.summaries import Observed
from oracles import observed_loglike


def sparse_rows(n, p, missing, seed=0):
    random = np.random.default_rng(seed)
    X = random.standard_normal((n, 5)) @ random.standard_normal((5, p)) + 0.5 * random.standard_normal((n, p))
    X[random.random((n, p)) < missing] = np.nan
    return X


def observed(X, k, weights=None):
    return summarize(X, Observed(X.shape[1], components=k), weights=weights)


@pytest.mark.parametrize("n", [2, 3, 4, 7])
def test_complete_rows_are_determined_if_they_are_more_than_span_a_plane(n):
    X = np.random.default_rng(0).standard_normal((n, 6))
    for k in range(1, 6):
        assert (too_few_entries(observed(X, k), k) is not None) == (n <= k + 1)


@pytest.mark.parametrize("weight", [1e-3, 0.5, 3.0])
@pytest.mark.parametrize("n", [3, 4, 7])
def test_equal_weights_change_nothing(n, weight):
    """The same planes fit the rows exactly, whatever their weight is."""
    X = np.random.default_rng(0).standard_normal((n, 6))
    for k in range(1, 6):
        assert (too_few_entries(observed(X, k, np.full(n, weight)), k) is not None) == (n <= k + 1)


def test_without_noise_the_likelihood_has_no_maximum():
    """Three points lie in a plane, so the residuals from it are zero and the noise may be as small as one likes."""
    X = np.random.default_rng(0).standard_normal((3, 6))
    mean = X.mean(axis=0)
    _, s, Vt = np.linalg.svd(X - mean, full_matrices=False)
    plane = Vt[:2].T * s[:2] ** 2 @ Vt[:2] / 3
    values = [observed_loglike(X, mean, plane + s2 * np.eye(6)).sum() for s2 in (1e-2, 1e-4, 1e-6, 1e-8)]
    assert np.diff(values).min() > 1.0


@pytest.mark.parametrize(("shape", "missing", "k"), [((600, 100), 0.9, 20), ((3000, 100), 0.99, 3)])
def test_the_iteration_ends_early_and_says_why(shape, missing, k):
    X = sparse_rows(*shape, missing)
    # Columns may lose their last entry.
    X = X[:, np.isfinite(X).any(axis=0)]
    message = rf"too few for {k} components: .* the likelihood has no maximum\. Ask for fewer components"
    with pytest.warns(ConvergenceWarning, match=message):
        ppca = PPCA(k).fit(X)
    assert ppca.status_ is Status.UNDETERMINED
    assert ppca.n_iter_ <= 400
    assert np.diff(ppca.loglike_).min() >= -1e-10 * abs(ppca.loglike_[-1])


def test_noise_at_its_floor_is_not_taken_for_a_maximum():
    """Small tables have steps enough to bring the noise to its floor, where only rounding is left to gain."""
    X = sparse_rows(60, 10, 0.7)
    X = X[np.isfinite(X).any(axis=1)]
    counts = np.isfinite(X).sum(axis=1)
    assert np.maximum(counts - 4, 0).sum() <= 5 * 6
    with pytest.warns(ConvergenceWarning, match="the likelihood has no maximum"):
        ppca = PPCA(4).fit(X)
    assert ppca.status_ is Status.UNDETERMINED
    assert ppca.noise_variance_ < 1e-9 * np.nanvar(X)


def test_fewer_components_and_a_prior_are_determined():
    X = sparse_rows(600, 40, 0.8)
    assert PPCA(3).fit(X).status_ is Status.CONVERGED
    assert PPCA(3, prior="vb").fit(X).status_ is not Status.UNDETERMINED
