"""Levels of categories form a monoid over blocks, and moments of coded blocks are those of zeros and ones."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lowdim._core.coded import Categories, Coded
from lowdim.coding import Coding, coding_of, in_order
from lowdim.summaries import Levels, Moments
from lowdim.summaries.levels import MOST_LEVELS

LABELS = ["c", "a", "b", "d"]


def block(codes, numbers=None, labels=LABELS, ordered=False):
    """A block of one category, beside no numbers unless some are given."""
    codes = np.asarray(codes, dtype=np.int32)
    numbers = np.empty((len(codes), 0)) if numbers is None else np.asarray(numbers, dtype=float).reshape(len(codes), -1)
    return Categories(numbers, [codes], [list(labels)], [ordered])


def found(*blocks, weights=None):
    summary = Levels(["x"])
    for i, each in enumerate(blocks):
        summary.update(each, None if weights is None else weights[i])
    return summary


def counts(summary):
    """The weight of each level, by its label."""
    pairs = zip(summary.labels[0], summary.weights[0], strict=True)
    return {label: weight for label, weight in pairs if weight > 0}


def joined(parts):
    """The codes of all parts."""
    return [code for codes in parts for code in codes]


several = st.lists(st.lists(st.integers(-1, 3), min_size=1, max_size=8), min_size=1, max_size=5)


@given(several, st.data())
def test_cuts_and_order_of_merging_do_not_matter(parts, data):
    once = found(block(joined(parts)))
    # Blocks number their labels as they come.
    shuffled = []
    for codes in parts:
        order = data.draw(st.permutations(range(4)))
        place = [order.index(code) if code >= 0 else -1 for code in codes]
        shuffled.append(found(block(place, labels=[LABELS[i] for i in order])))
    while len(shuffled) > 1:
        last = shuffled.pop(data.draw(st.integers(0, len(shuffled) - 1)))
        shuffled[data.draw(st.integers(0, len(shuffled) - 1))].merge(last)
    assert counts(shuffled[0]) == counts(once)
    assert (shuffled[0].n_rows, shuffled[0].weight) == (once.n_rows, once.weight)
    assert shuffled[0].missing(0) == once.missing(0) == joined(parts).count(-1)


@given(several)
def test_an_empty_summary_changes_nothing(parts):
    summary = found(*map(block, parts))
    before = counts(summary)
    summary.merge(summary.fresh())
    other = summary.fresh()
    other.merge(summary)
    assert counts(summary) == counts(other) == before


def test_weights_are_repeated_rows_and_zero_is_absence():
    codes, weights = np.array([0, 1, 1, 3, -1]), np.array([2.0, 1.0, 0.0, 0.0, 3.0])
    weighted = found(block(codes), weights=[weights])
    repeated = found(block(np.repeat(codes, weights.astype(int))))
    assert counts(weighted) == counts(repeated) == {"c": 2.0, "a": 1.0}
    assert weighted.missing(0) == repeated.missing(0) == 3.0
    assert weighted.n_rows == 3


def test_levels_are_saved(tmp_path):
    summary = found(block([0, 1, -1]), block([3, 3]))
    summary.save(tmp_path / "levels")
    again = Levels.load(tmp_path / "levels")
    assert counts(again) == counts(summary)
    assert again.columns == summary.columns
    assert again.missing(0) == 1.0


def test_too_many_levels_are_refused_and_nothing_changes():
    summary = found(block([0, 1]))
    many = block(np.arange(MOST_LEVELS + 1), labels=list(map(str, range(MOST_LEVELS + 1))))
    with pytest.raises(ValueError, match="'x' has more than 10,000 different entries"):
        summary.update(many)
    assert counts(summary) == {"c": 1.0, "a": 1.0}


def test_an_order_of_their_own_is_kept():
    summary = found(block([2, 0, 2], labels=["low", "mid", "high"], ordered=True))
    assert coding_of([], summary).levels == [["low", "high"]]
    assert in_order(["10", "9", "1.5"]) == ["1.5", "9", "10"]


# ---- Coded blocks


CODING = Coding(["n"], ["x"], [["a", "b", "c"]], [[]])


@given(
    st.lists(st.tuples(st.floats(-10, 10), st.integers(-1, 2)), min_size=2, max_size=40), st.sampled_from([0.0, 1e8])
)
def test_moments_of_coded_blocks_are_those_of_zeros_and_ones(rows, offset):
    numbers, codes = np.array([n for n, _ in rows]) + offset, np.array([c for _, c in rows])
    coded = Coded(numbers[:, None], codes[:, None], [3])
    ones = np.column_stack([numbers, codes == 0, codes == 1, codes == 2]).astype(float)
    np.testing.assert_array_equal(coded.joined(), ones)
    np.testing.assert_array_equal(coded.pair_counts(), ones[:, 1:].T @ ones[:, 1:])
    np.testing.assert_array_equal(coded.sums_by_level(np.ones((len(rows), 1))), ones[:, 1:].sum(axis=0)[None])
    for weights in (None, np.arange(len(rows)) % 3.0):
        if weights is not None and not weights.any():
            continue
        one, other = Moments(4), Moments(4)
        half = len(rows) // 2
        for part in (slice(0, half), slice(half, None)):
            w = None if weights is None else weights[part]
            if w is None or w.any():
                one.update(coded[part], w)
                other.update(ones[part], w)
        scale = max(np.abs(other.scatter).max(), 1.0)
        assert one.n_rows == other.n_rows and one.weight == other.weight
        np.testing.assert_allclose(one.mean, other.mean, rtol=1e-14, atol=1e-14)
        np.testing.assert_allclose(one.scatter, other.scatter, rtol=0, atol=1e-12 * scale)


def test_counts_are_exact():
    """Products of zeros and ones are whole numbers, whatever the number of rows."""
    codes = np.random.default_rng(0).integers(0, 3, (100_000, 2)).astype(np.int32)
    moments = Moments(6)
    moments.update(Coded(np.empty((100_000, 0)), codes, [3, 3]))
    table = moments.about_zero().scatter
    expected = [[np.sum((codes[:, 0] == i) & (codes[:, 1] == j)) for j in range(3)] for i in range(3)]
    np.testing.assert_allclose(table[:3, 3:], expected, rtol=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
def test_many_levels_are_counted(weighted):
    random = np.random.default_rng(1)
    codes, numbers = random.integers(-1, 60, (500, 2)).astype(np.int32), 1e6 + random.standard_normal((500, 1))
    coded, weights = Coded(numbers, codes, [60, 60]), random.integers(1, 4, 500).astype(float) if weighted else None
    one, other = Moments(121), Moments(121)
    one.update(coded, weights)
    other.update(coded.joined(), weights)
    np.testing.assert_allclose(one.mean, other.mean, rtol=1e-13)
    np.testing.assert_allclose(one.scatter, other.scatter, rtol=0, atol=1e-10 * np.abs(other.scatter).max())


def test_rows_without_a_level_have_the_entries_that_are_given():
    without = np.array([0.2, 0.3, 0.5])
    coded = Coded(np.empty((2, 0)), np.array([[1], [-1]]), [3], without)
    np.testing.assert_array_equal(coded.joined(), [[0, 1, 0], without])
    moments, joined = Moments(3), Moments(3)
    moments.update(coded)
    joined.update(coded.joined())
    np.testing.assert_allclose(moments.scatter, joined.scatter, atol=1e-15)


def test_labels_that_are_new_or_pooled():
    coding = Coding([], ["x"], [["a", "(rare)"]], [["b", "c"]])
    coded = coding(block([0, 1, 2, 3, -1]))
    np.testing.assert_array_equal(coded.codes[:, 0], [1, 0, 1, -1, -1])
    assert CODING.names == ["n", "x=a", "x=b", "x=c"] and CODING.width == 4
