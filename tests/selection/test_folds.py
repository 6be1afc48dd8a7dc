"""Splits as labels of rows, and summaries of each label."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.model_selection import KFold, RepeatedKFold, ShuffleSplit, TimeSeriesSplit

from lowdim.reading import summarize
from lowdim.selection.folds import folds_of, split_summaries
from lowdim.summaries import Labelled, Moments

N = 37
random = np.random.default_rng(0)
X = random.standard_normal((N, 3)) + 1e6


def rows_of(folds, split, cells):
    return np.flatnonzero(np.isin(folds.labels[:, split.labelling], cells))


@pytest.mark.parametrize(
    "cv",
    [
        KFold(2),
        KFold(37),
        KFold(6, shuffle=True, random_state=1),
        RepeatedKFold(n_splits=5, n_repeats=4, random_state=0),
        RepeatedKFold(n_splits=2, n_repeats=6, random_state=0),
        ShuffleSplit(4, random_state=0),
        TimeSeriesSplit(5),
    ],
    ids=lambda cv: type(cv).__name__,
)
def test_cells_make_up_the_splits(cv):
    folds = folds_of(cv, N)
    pairs = list(cv.split(np.zeros(N)))
    assert len(pairs) == len(folds.splits)
    for split, (train, test) in zip(folds.splits, pairs, strict=True):
        np.testing.assert_array_equal(rows_of(folds, split, split.train), np.sort(train))
        np.testing.assert_array_equal(rows_of(folds, split, split.test), np.sort(test))


def test_k_folds_are_k_cells_and_repetitions_labellings():
    assert folds_of(7, N).counts == (7,)
    assert folds_of(RepeatedKFold(n_splits=5, n_repeats=4, random_state=0), N).counts == (5, 5, 5, 5)
    assert folds_of(TimeSeriesSplit(4), N).counts == (5,)


def test_masks_are_row_numbers():
    train = np.arange(N) < 20
    folds = folds_of([(train, ~train)], N)
    np.testing.assert_array_equal(rows_of(folds, folds.splits[0], folds.splits[0].train), np.arange(20))


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(-1, 4), min_size=N, max_size=N), st.lists(st.integers(1, N), max_size=4), st.booleans())
def test_parts_are_the_rows_of_each_label_however_they_are_cut(labels, cuts, weighted):
    labels = np.array(labels)
    weights = np.arange(N) % 3 + 0.0 if weighted else None
    edges = sorted({0, N, *cuts})
    joined = np.column_stack([X, labels])
    total = Labelled(Moments(3), [5])
    for i, j in pairwise(edges):
        part = total.fresh()
        part.update(joined[i:j], None if weights is None else weights[i:j])
        total.merge(part)
    for label in range(5):
        chosen = labels == label
        if weights is not None:
            chosen &= weights > 0
        moments = total.parts[0][label]
        assert moments.n_rows == np.count_nonzero(chosen)
        if moments.n_rows > 1:
            expected = summarize(X[chosen], Moments, weights=None if weights is None else weights[chosen])
            np.testing.assert_allclose(moments.mean, expected.mean, rtol=1e-14)
            np.testing.assert_allclose(moments.scatter, expected.scatter, rtol=1e-7, atol=1e-8)


def test_all_but_one_is_a_merge_of_the_others():
    """Before and after, never a subtraction: a mean of 1e6 costs no digits."""
    shuffled = KFold(5, shuffle=True, random_state=0)
    folds = folds_of(5, N)
    parts = summarize(np.column_stack([X, folds.labels]), Labelled(Moments(3), folds.counts)).parts
    before = [part.scatter.copy() for part in parts[0]]
    for (train, test), (kept, left) in zip(split_summaries(parts, folds), shuffled.split(X), strict=True):
        np.testing.assert_allclose(train.scatter, summarize(X[kept], Moments).scatter, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(test.scatter, summarize(X[left], Moments).scatter, rtol=1e-9, atol=1e-9)
        assert train.n_rows == len(kept)
    for part, scatter in zip(parts[0], before, strict=True):
        np.testing.assert_array_equal(part.scatter, scatter)
    total = Moments(3)
    for part in parts[0]:
        total.merge(part)
    np.testing.assert_allclose(total.scatter, summarize(X, Moments).scatter, rtol=1e-9, atol=1e-9)


def test_other_labels_are_not_merged():
    with pytest.raises(ValueError, match="different counts cannot be merged"):
        Labelled(Moments(3), [2]).merge(Labelled(Moments(3), [3]))
