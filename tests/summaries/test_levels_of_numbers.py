"""Levels: a monoid over blocks of categories, with means of the numbers that are observed."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from lowdim._core.coded import NO_LEVEL, Categories
from lowdim.summaries import Levels
from lowdim.summaries.base import SummaryCodec
from lowdim.summaries.levels import MOST_LEVELS, observed_means


def block(rng, n, a=2):
    """Rows with some missing entries, and labels in an order of their own."""
    numbers = rng.normal(1e3, 1.0, (n, a))
    numbers[rng.random((n, a)) < 0.3] = np.nan
    labels = [list(map(str, rng.permutation(list("abcd")))) for _ in range(2)]
    return Categories(numbers, [rng.integers(NO_LEVEL, 4, n) for _ in labels], labels, [False, False])


def by_label(found):
    return [dict(zip(labels, w, strict=True)) for labels, w in zip(found.labels, found.weights, strict=True)]


@given(st.integers(0, 2**32 - 1), st.integers(1, 30), st.integers(0, 30), st.booleans())
def test_split_and_merged_in_any_way(seed, n, m, weighted):
    rng = np.random.default_rng(seed)
    first, second = block(rng, n), block(rng, m)
    w = [rng.integers(0, 3, k).astype(float) if weighted else None for k in (n, m)]
    both, left, right = (Levels(["u", "v"], 2) for _ in range(3))
    both.update(first, w[0])
    both.update(second, w[1])
    left.update(first, w[0])
    right.update(second, w[1])
    merged = right.snapshot()
    merged.merge(left)
    left.merge(right)
    for found in (left, merged):
        assert found.weight == both.weight
        assert found.n_rows == both.n_rows
        assert by_label(found) == by_label(both)
        assert_allclose(found.count, both.count)
        assert_allclose(found.mean + found.rest, both.mean + both.rest, rtol=1e-13)
    numbers = np.vstack([first.numbers, second.numbers])
    weights = np.concatenate([np.ones(k) if each is None else each for k, each in zip((n, m), w, strict=True)])
    known = ~np.isnan(numbers)
    assert_allclose(both.count, weights @ known)
    for j in np.flatnonzero(both.count > 0):
        assert_allclose(both.mean[j], np.average(numbers[known[:, j], j], weights=weights[known[:, j]]), rtol=1e-13)
    assert np.array_equal(both.numbers_missing(), both.count < both.weight)


def test_an_empty_one_changes_nothing():
    found = Levels(["u", "v"], 2)
    found.update(block(np.random.default_rng(0), 20))
    before = found.mean.copy()
    found.merge(found.fresh())
    assert np.array_equal(found.mean, before)
    empty = found.fresh()
    empty.merge(found)
    assert np.array_equal(empty.mean, before)
    assert not Levels(["u"]).numbers_missing().size


def test_as_bytes():
    codec = SummaryCodec()
    for rows in (0, 20):
        found = Levels(["u", "v"], 2)
        if rows:
            found.update(block(np.random.default_rng(0), rows))
        again = codec.decode(codec.encode(found))
        assert again.labels == found.labels
        assert again.n_numbers == 2
        assert (again.mean is None) if not rows else np.array_equal(again.mean, found.mean)


def test_too_many_levels():
    n = MOST_LEVELS + 1
    found = Levels(["id"])
    with pytest.raises(ValueError, match="'id' has more than 10,000 different entries"):
        found.update(Categories(np.empty((n, 0)), [np.arange(n)], [list(map(str, range(n)))], [False]))
    assert found.n_rows == 0


def test_means_of_what_is_observed():
    numbers = np.array([[1.0, np.nan, np.nan], [3.0, 4.0, np.nan], [np.nan, 8.0, np.nan]])
    count, mean = observed_means(numbers, None, 3.0)
    assert count.tolist() == [2.0, 2.0, 0.0]
    assert mean.tolist() == [2.0, 6.0, 0.0]
    # What rows of weight zero hold does not matter.
    count, mean = observed_means(numbers, np.array([1.0, 3.0, 0.0]), 4.0)
    assert count.tolist() == [4.0, 3.0, 0.0]
    assert mean.tolist() == [2.5, 4.0, 0.0]
    # Infinity is found, and named, where the rows are summed up.
    assert np.isinf(observed_means(np.array([[np.inf], [1.0]]), None, 2.0)[1][0])
