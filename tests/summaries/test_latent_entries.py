"""Blocks of which few entries are observed, dense and sparse."""

import numpy as np
import pytest

from lowdim.summaries import Latent, LatentGaussian, Observed

random = np.random.default_rng(0)
X = random.standard_normal((300, 20)) + 1e6
X[random.random(X.shape) < 0.97] = np.nan
X[0, 0] = 0.0
WEIGHTS = random.integers(1, 4, 300).astype(float)
MODEL = LatentGaussian(
    np.full(20, 1e6), np.linspace(0.5, 2, 20), random.standard_normal((3, 20)), np.linspace(0.1, 1, 20)
)


@pytest.mark.parametrize("make", [lambda: Observed(20, components=1), lambda: Latent(MODEL, informed=True)])
@pytest.mark.parametrize("weights", [None, WEIGHTS])
def test_the_few_observed_entries_of_a_dense_block_are_enough(make, weights):
    """Beside rows of which all entries are observed, they are not few: then products with the mask are used."""
    complete = 1e6 + np.random.default_rng(1).standard_normal((300, 20))
    one, other = make(), make()
    for rows in (X, complete):
        one.update(rows, weights)
    other.update(np.concatenate([X, complete]), None if weights is None else np.tile(weights, 2))
    for name in set(one.state) - {"spread"}:
        np.testing.assert_allclose(getattr(one, name), getattr(other, name), rtol=1e-9, atol=1e-9, err_msg=name)


@pytest.mark.parametrize("k", [0, 1, 2])
def test_the_surplus_of_rows_over_components(k):
    summary = Observed(20, components=k)
    for rows in np.array_split(np.arange(300), 4):
        summary.update(X[rows], WEIGHTS[rows])
    lengths = np.isfinite(X).sum(axis=1)
    assert summary.surplus == WEIGHTS @ np.maximum(lengths - k, 0)


def test_infinity_among_few_entries_is_refused():
    bad = X.copy()
    bad[5, 3] = np.inf
    with pytest.raises(ValueError):
        Observed(20).update(bad)
