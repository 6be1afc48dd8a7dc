"""A refused update or merge leaves every summary as it was, bit for bit."""

import copy

import numpy as np
import pytest
from scipy import sparse

from laws.summaries_drawn import (
    CASES,
    WIDTH,
    assert_agree,
    assert_same_state,
    each,
    empty,
    filled,
    rows_of,
    state,
    update,
)

X = np.round(16 * np.random.default_rng(5).standard_normal((6, WIDTH))) / 8
MORE = X[::-1] + 1
KINDS = [np.asarray, sparse.csr_array, sparse.coo_array]


def with_entry(value, row):
    """A function that sets an entry of a block, among good rows."""

    def put(rows):
        rows = rows.copy()
        rows[row, 0] = value
        return rows

    return put


#: Rows that no summary takes.
BAD_BLOCKS = {
    "too wide": lambda rows: np.hstack([rows, rows]),
    "too narrow": lambda rows: rows[:, :-2],
    "infinity": with_entry(np.inf, -1),
    "minus infinity": with_entry(-np.inf, 2),
    "a vector": lambda rows: rows[0],
    "complex": lambda rows: rows.astype(complex),
}
#: Weights that are not frequencies of the rows, made from good ones.
BAD_WEIGHTS = {
    "too short": lambda w: w[:-1],
    "too long": lambda w: np.append(w, 1.0),
    "a column": lambda w: w[:, None],
    "NaN": lambda w: np.append(w[:-1], np.nan),
    "negative": lambda w: np.append(w[:-1], -1.0),
    "infinity": lambda w: np.append(w[:-1], np.inf),
    "text": lambda w: w.astype(str),
    "complex": lambda w: w.astype(complex),
    "dates": lambda w: w.astype("datetime64[s]"),
    "no array": lambda w: 1.0,
    "a list": list,
}


def empty_and_filled(label):
    return [empty(label), filled(label, (X, None))]


def assert_refused(summary, call, error=(TypeError, ValueError), match=None):
    """Assert that a call raises an error and that the summary is the same as before."""
    before = state(summary)
    with pytest.raises(error, match=match):
        call()
    assert_same_state(summary, before)


@pytest.mark.parametrize("bad", list(BAD_BLOCKS))
@each
def test_refused_rows_change_nothing(label, bad):
    block = BAD_BLOCKS[bad](rows_of(label, MORE))
    for summary in empty_and_filled(label):
        for kind in KINDS if block.ndim == 2 else KINDS[:1]:
            assert_refused(summary, lambda summary=summary, kind=kind: summary.update(kind(block)))


@pytest.mark.parametrize("label", [label for label in CASES if not empty(label).takes_nan])
def test_rows_with_nan_in_the_middle_change_nothing(label):
    block = rows_of(label, MORE).copy()
    block[3, 1] = np.nan
    for summary in empty_and_filled(label):
        for kind in KINDS:
            assert_refused(summary, lambda summary=summary, kind=kind: summary.update(kind(block)))


def test_labels_out_of_range_change_nothing():
    summary = filled("Labelled", (X, None))
    for label in (2, -2, 1e9, np.nan):
        block = rows_of("Labelled", MORE).copy()
        block[-1, -1] = label
        assert_refused(summary, lambda block=block: summary.update(block), ValueError, "labels of labelling 1 must be")


@each
def test_values_whose_squares_overflow_change_nothing_or_are_summed(label):
    """A summary without squares takes them."""
    block = rows_of(label, MORE).copy()
    block[-1, 0] = 1e200
    for summary in empty_and_filled(label):
        before = state(summary)
        try:
            summary.update(block)
        except ValueError:
            assert_same_state(summary, before)
        else:
            numbers = [value for value in state(summary).values() if isinstance(value, float | np.ndarray)]
            assert all(np.isfinite(value).all() for value in numbers)


@pytest.mark.parametrize("bad", list(BAD_WEIGHTS))
@each
def test_refused_weights_change_nothing(label, bad):
    weights = BAD_WEIGHTS[bad](np.arange(1.0, len(MORE) + 1))
    for summary in empty_and_filled(label):
        assert_refused(
            summary, lambda summary=summary: update(label, summary, MORE, weights), ValueError, r"^sample_weight must"
        )


@pytest.mark.parametrize("bad", [X.tolist(), 3.0, None])
@each
def test_what_is_no_array_changes_nothing(label, bad):
    summary = filled(label, (X, None))
    assert_refused(summary, lambda: summary.update(bad), TypeError, "must be a 2-D array or a sparse matrix")


@each
def test_a_refused_merge_changes_nothing(label):
    others = (
        filled("Columns" if label != "Columns" else "Moments", (X, None)),
        empty(label, width=WIDTH - 1),
        "no summary",
    )
    for summary in empty_and_filled(label):
        for other in others:
            assert_refused(summary, lambda summary=summary, other=other: summary.merge(other))


#: The sums of either row are finite; the squared distance between the two is not.
FAR = np.full((1, WIDTH), 5e153)


@pytest.mark.parametrize("label", ["Moments", "FourthMoments", "Triangle", "Columns", "Observed", "Labelled"])
@pytest.mark.parametrize("how", ["merge", "update"])
def test_sums_that_overflow_only_together_change_nothing(label, how):
    far = FAR * (1e-76 if label == "FourthMoments" else 1.0)  # fourth powers overflow earlier
    summary, other = filled(label, (-far, None)), filled(label, (far, None))
    before = state(other)
    call = (lambda: summary.merge(other)) if how == "merge" else (lambda: update(label, summary, far))
    assert_refused(summary, call, ValueError, "not finite")
    assert_same_state(other, before)


@each
def test_after_a_refusal_it_goes_on(label):
    summary = filled(label, (X, None))
    never_refused = copy.deepcopy(summary)
    assert_refused(summary, lambda: summary.update(BAD_BLOCKS["infinity"](rows_of(label, MORE))))
    update(label, summary, MORE)
    update(label, never_refused, MORE)
    assert_same_state(summary, state(never_refused))


@each
def test_merged_with_itself_all_rows_count_twice(label):
    summary = filled(label, (X, None))
    summary.merge(summary)
    twice = np.concatenate([X, X])
    assert_agree(label, summary, filled(label, (twice, None)), twice)


@pytest.mark.parametrize("kind", [sparse.csc_array, sparse.coo_array, lambda rows: rows.astype(int)])
@each
def test_blocks_of_every_format_and_dtype_are_the_same_rows(label, kind):
    rows = rows_of(label, np.array([[0.0, 1, 0, 1], [0, 0, 1, 0], [1, 0, 0, 1]]))
    summary, expected = empty(label), empty(label)
    summary.update(kind(rows))
    expected.update(rows)
    assert_agree(label, summary, expected, rows[:, :WIDTH])


@pytest.mark.parametrize("label", ["Sketch", "Sketch implicit", "ScoreMoments"])
def test_rows_in_float32_before_others_cost_those_no_digits(label):
    zero = np.zeros((1, WIDTH))
    mixed, expected = empty(label), empty(label)
    mixed.update(zero.astype(np.float32))
    expected.update(zero)
    # The row of zeros itself is summed up in float32, but cancels in the difference.
    sums = ("product",) if label.startswith("Sketch") else ("products", "slopes", "energy")
    first = [{name: getattr(s, name).copy() for name in sums} for s in (mixed, expected)]
    for summary in (mixed, expected):
        update(label, summary, X)
    for name in sums:
        added = [getattr(s, name) - before[name] for s, before in zip((mixed, expected), first, strict=True)]
        np.testing.assert_allclose(*added, rtol=1e-12, atol=1e-11)


def test_a_sample_takes_sparse_and_dense_rows():
    expected = filled("Sample", (np.concatenate([X, MORE]), None))
    for first, last in ((np.asarray, sparse.csr_array), (sparse.csr_array, np.asarray)):
        one, two = filled("Sample", (first(X), None)), filled("Sample", (last(MORE), None))
        summary = filled("Sample", (first(X), None))
        update("Sample", summary, last(MORE))
        one.merge(two)
        for mixed in (summary, one):
            assert sparse.issparse(mixed.rows) == sparse.issparse(first(X))
            rows = mixed.rows.toarray() if sparse.issparse(mixed.rows) else mixed.rows
            np.testing.assert_array_equal(rows, expected.rows)
            np.testing.assert_array_equal(mixed.weights, expected.weights)


@pytest.mark.parametrize("label", ["Moments", "FourthMoments", "Triangle", "Columns", "Observed"])
def test_a_summary_of_arrays_of_another_library_changes_nothing(label):
    strict = pytest.importorskip("array_api_strict")
    summary, other = filled(label, (X, None)), filled(label, (strict.asarray(X), None))
    assert_refused(summary, lambda: summary.merge(other), TypeError)
    np.testing.assert_allclose(np.from_dlpack(other.mean), summary.mean, rtol=1e-14)
