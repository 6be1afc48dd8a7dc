"""Sample: which rows it keeps depends on them and on its seed, and on nothing else."""

import numpy as np
import pytest
from scipy import sparse

from inputs import namespace
from lowdim.reading import summarize
from lowdim.summaries import Sample

X = np.random.default_rng(0).standard_normal((2000, 3))


def drawn(rows, size=50, seed=0, weights=None):
    return summarize(rows, Sample(3, size, seed=seed), weights=weights)


def test_cuts_and_order_do_not_matter():
    whole = drawn(X)
    for rows in (X[::-1], [X[:7], X[7:900], X[900:]], np.vstack([X[1000:], X[:1000]])):
        np.testing.assert_array_equal(drawn(rows).rows, whole.rows)


def test_smaller_samples_are_the_first_rows_of_larger_ones():
    np.testing.assert_array_equal(drawn(X, 200).rows[:50], drawn(X, 50).rows)


def test_every_row_is_as_likely_as_any_other():
    """Over seeds, each row is kept about as often as chance says."""
    rows = np.arange(60.0).reshape(20, 3)
    kept = np.zeros(20)
    for seed in range(2000):
        kept[(drawn(rows, 5, seed).rows[:, 0] / 3).astype(int)] += 1
    assert kept.sum() == 5 * 2000
    # 500 each, with a standard deviation of 19.
    assert np.all(np.abs(kept - 500) < 90)


@pytest.mark.parametrize(
    "rows", [np.arange(3000.0).reshape(1000, 3), np.eye(3)[np.arange(300) % 3] * np.arange(300)[:, None]]
)
def test_whole_numbers_are_drawn_evenly_too(rows):
    """Their low bits are all zero, which must not show."""
    sums = [summarize(rows, Sample(3, 20, seed=seed)).rows.sum(axis=1).mean() for seed in range(200)]
    spread = rows.sum(axis=1).std() / np.sqrt(20 * 200)
    assert abs(np.mean(sums) - rows.sum(axis=1).mean()) < 4 * spread


def test_equal_rows_are_counted():
    sample = drawn(np.repeat(X[:10], [1, 2, 3, 4, 5, 6, 7, 8, 9, 10], axis=0))
    assert sorted(sample.weights) == list(range(1, 11))
    weighted = drawn(X[:10], weights=np.arange(10.0))
    assert sorted(weighted.weights) == list(range(1, 10))
    np.testing.assert_array_equal(weighted.rows, [row for row in sample.rows if not np.array_equal(row, X[0])])


def test_zeros_of_either_sign_are_one_row():
    assert len(drawn(np.array([[0.0, 1.0, 2.0], [-0.0, 1.0, 2.0]])).rows) == 1


def test_sparse_rows_are_the_same_rows():
    rows = np.where(X > 0.5, np.round(8 * X), 0.0)
    dense = drawn(rows)
    own = drawn(sparse.csr_array(rows))
    np.testing.assert_array_equal(own.rows.toarray(), dense.rows)
    np.testing.assert_array_equal(own.weights, dense.weights)


def test_columns_are_told_apart():
    assert len(drawn(np.array([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0], [2.0, 3.0, 1.0]])).rows) == 3


@pytest.mark.parametrize("library", ["torch", "array_api_strict"])
def test_other_arrays_are_sampled_on_the_host(library):
    np.testing.assert_array_equal(drawn(namespace(library).asarray(X)).rows, drawn(X).rows)


def test_the_sample_does_not_hold_on_to_the_rows():
    sample = drawn(X[:20])
    assert not np.shares_memory(sample.rows, X)
