"""Every summary is a commutative monoid over blocks of rows: the laws, once, for all of SUMMARIES.

A row here is what a summary takes in. For Gram and GramRoot that is a feature, whose entries are the samples; their
weights are of samples and so belong to the summary, not to `update`.
"""

import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from laws.summaries_drawn import (
    ABOUT,
    CASES,
    FACTORIES,
    SAMPLE_WEIGHT,
    WIDTH,
    V,
    assert_agree,
    assert_same_state,
    each,
    each_row_weighted,
    empty,
    filled,
    moderately,
    plus,
    rows_of,
    see,
    state,
    tables,
    update,
    weighted_blocks,
    whole,
)
from lowdim.reading import summarize
from lowdim.summaries import SUMMARIES, Columns, Moments, Sample
from oracles import tolerance


def test_every_summary_has_a_factory():
    # Levels are those of categories: tests/summaries/test_levels.py has their laws.
    missing = set(SUMMARIES) - set(FACTORIES) - {"Levels"}
    assert not missing, f"no factory for {sorted(missing)}: add a row to FACTORIES in laws/summaries_drawn.py"
    assert set(FACTORIES) <= set(SUMMARIES)


# ---- The monoid


@each
@moderately
@given(data=st.data())
def test_fresh_is_the_identity(label, data):
    (block,) = data.draw(weighted_blocks(CASES[label][1].row_weights))[:1]
    a = filled(label, block)
    before = state(a)
    a.merge(a.fresh())
    assert_same_state(a, before)
    assert_same_state(plus(a.fresh(), a), before)


@each
@moderately
@given(data=st.data())
def test_merge_is_associative(label, data):
    blocks = data.draw(weighted_blocks(CASES[label][1].row_weights, min_blocks=3))
    a, b, c = (filled(label, block) for block in blocks[:3])
    assert_agree(label, plus(plus(a, b), c), plus(a, plus(b, c)), whole(blocks)[0])


@each
@moderately
@given(data=st.data())
def test_merge_is_commutative(label, data):
    blocks = data.draw(weighted_blocks(CASES[label][1].row_weights, min_blocks=2))
    a, b = (filled(label, block) for block in blocks[:2])
    assert_agree(label, plus(a, b), plus(b, a), whole(blocks)[0])


@pytest.mark.parametrize("offset", [0.0, 1e8], ids=["", "offset 1e8"])
@each
@moderately
@given(data=st.data())
def test_cuts_and_merge_order_do_not_matter(label, offset, data):
    if offset and (label == "Sketch implicit" or label.endswith("uncentred")):
        return  # not for offsets, as its docstring says, or about zero
    blocks = data.draw(weighted_blocks(CASES[label][1].row_weights))
    X, weights = whole(blocks)
    once = filled(label, (X, weights))
    moved = [(rows + offset, w) for rows, w in blocks]
    # Some blocks go into one summary one after another, others into summaries of their own, merged in any order.
    parts = []
    for block in moved:
        if parts and data.draw(st.booleans(), label="update the last summary"):
            update(label, parts[-1], *block)
        else:
            parts.append(filled(label, block, offset))
    while len(parts) > 1:
        i = data.draw(st.integers(0, len(parts) - 1), label="take")
        b = parts.pop(i)
        parts[data.draw(st.integers(0, len(parts) - 1), label="into")].merge(b)
    (pieced,) = parts
    assert_agree(label, pieced, once, X, offset)


# ---- Weights


@each_row_weighted
@moderately
@given(data=st.data())
def test_whole_weights_are_repetitions(label, data):
    X = data.draw(tables())
    counts = np.array(data.draw(st.lists(st.integers(1, 4), min_size=len(X), max_size=len(X))))
    weighted = see(label, filled(label, (X, counts.astype(float))))
    repeated = filled(label, (np.repeat(X, counts, axis=0), None))
    if "n_rows" in weighted:
        assert weighted["n_rows"] == len(X)
    rows = np.repeat(X, counts, axis=0)
    assert_agree(label, filled(label, (X, counts.astype(float))), repeated, rows, but_for=("n_rows",))


@pytest.mark.parametrize("through", ["summarize", "update"])
@each_row_weighted
@moderately
@given(data=st.data())
def test_weight_zero_is_absence(label, through, data):
    X = data.draw(tables(min_rows=2))
    keep = np.array(data.draw(st.lists(st.booleans(), min_size=len(X), max_size=len(X)).filter(any)))
    weights = np.where(keep, 2.0, 0.0)
    if through == "summarize":
        with_zeros = summarize(rows_of(label, X), empty(label), weights=weights)
    else:
        with_zeros = filled(label, (X, weights))
    assert_agree(label, with_zeros, filled(label, (X[keep], weights[keep])), X)


@each_row_weighted
def test_a_block_of_weight_zero_changes_nothing(label):
    summary = filled(label, (np.eye(WIDTH), None))
    before = state(summary)
    update(label, summary, np.ones((2, WIDTH)), np.zeros(2))
    assert_same_state(summary, before)


@pytest.mark.parametrize("name", ["Gram", "GramRoot"])
@moderately
@given(data=st.data())
def test_sample_weights_of_gram_are_repetitions_of_samples(name, data):
    X = data.draw(tables())  # features x samples
    counts = np.array(data.draw(st.lists(st.integers(0, 3), min_size=WIDTH, max_size=WIDTH).filter(any)))
    weighted = SUMMARIES[name](WIDTH, sample_weight=counts.astype(float))
    weighted.update(X)
    repeated = SUMMARIES[name](counts.sum())
    repeated.update(np.repeat(X, counts, axis=1))
    a, b = (np.linalg.eigvalsh(s.centred())[::-1] for s in (weighted, repeated))
    both = min(len(a), len(b))
    size = 8 * len(X) * 100.0
    np.testing.assert_allclose(a[:both], b[:both], rtol=0, atol=tolerance() * size)
    np.testing.assert_allclose(np.concatenate([a[both:], b[both:]]), 0.0, atol=tolerance() * size)


# ---- What an update or a merge may not do


@each
@moderately
@given(data=st.data())
def test_merge_leaves_other_as_it_was(label, data):
    """Also when the summary it went into goes on taking rows in."""
    blocks = data.draw(weighted_blocks(CASES[label][1].row_weights, min_blocks=2))
    other = filled(label, blocks[0])
    before = state(other)
    into = other.fresh()
    into.merge(other)
    into.merge(filled(label, blocks[1]))
    update(label, into, *blocks[1])
    assert_same_state(other, before)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
@each
def test_update_leaves_block_and_weights_as_they_were(label, kind):
    X = np.array([[0.0, 1, 0, 2], [0, 0, 3, 0], [4, 0, 0, 5]])
    block, weights = rows_of(label, kind(X)), np.array([1.0, 2.0, 3.0]) if CASES[label][1].row_weights else None
    summary = empty(label)
    summary.update(block, weights)
    summary.update(block, weights)
    np.testing.assert_array_equal(block.toarray() if sparse.issparse(block) else block, rows_of(label, X))
    if weights is not None:
        np.testing.assert_array_equal(weights, [1, 2, 3])


@each
def test_sparse_blocks_are_the_same_rows(label):
    X = sparse.random_array((200, WIDTH), density=0.02, rng=np.random.default_rng(0), format="csr")
    X.data = np.round(64 * X.data) / 8
    assert_agree(label, filled(label, (X, None)), filled(label, (X.toarray(), None)), X.toarray())


@each
def test_rows_of_another_width_raise(label):
    summary = empty(label)
    with pytest.raises(ValueError):
        update(label, summary, np.ones((2, WIDTH + 1)))


@each
@pytest.mark.parametrize("filled", [False, True], ids=["empty", "filled"])
def test_merging_another_width_raises(label, filled):
    a, b = empty(label), empty(label, width=WIDTH - 1)
    if filled:
        update(label, a, np.eye(WIDTH))
        update(label, b, np.eye(WIDTH - 1))
    with pytest.raises(ValueError, match=r"cannot be merged"):
        a.merge(b)


@each
@pytest.mark.parametrize("filled", [False, True], ids=["empty", "filled"])
def test_merging_another_kind_raises(label, filled):
    a = empty(label)
    b = empty("Columns" if label != "Columns" else "Moments")
    if filled:
        update(label, a, np.eye(WIDTH))
        b.update(np.eye(WIDTH))
    with pytest.raises(TypeError, match=rf"a {type(a).__name__} cannot be merged with a {type(b).__name__}"):
        a.merge(b)


OTHER_OPTIONS = {
    "Moments groups": lambda cls: (cls(4, widths=[2, 2]), cls(4, widths=[1, 3])),
    "Gram weights": lambda cls: (cls(4), cls(4, sample_weight=SAMPLE_WEIGHT)),
    "Gram ddof": lambda cls: (cls(4, ddof=0), cls(4, ddof=1)),
    "GramRoot weights": lambda cls: (cls(4), cls(4, sample_weight=SAMPLE_WEIGHT)),
    "Sketch vectors": lambda cls: (cls(V, ABOUT), cls(V[:, :1], ABOUT)),
    "Sketch mean": lambda cls: (cls(V, ABOUT), cls(V, ABOUT + 1)),
    "Labelled counts": lambda cls: (cls(Columns(2), [2, 2]), cls(Columns(2), [2, 3])),
    "Labelled kinds": lambda cls: (cls(Columns(2), [2, 2]), cls(Moments(2), [2, 2])),
    "Labelled groups": lambda cls: (cls(Moments(2), [2, 2]), cls(Moments(2, widths=[1, 1]), [2, 2])),
}


@pytest.mark.parametrize("what", list(OTHER_OPTIONS))
def test_merging_what_was_summed_otherwise_raises(what):
    """The sum of two sums of different things means nothing."""
    a, b = OTHER_OPTIONS[what](SUMMARIES[what.split()[0]])
    a.update(np.eye(WIDTH))
    b.update(np.eye(WIDTH))
    with pytest.raises(ValueError, match=r"cannot be merged"):
        a.merge(b)


# ---- Files


@each
@moderately
@given(data=st.data())
def test_saved_and_loaded_it_goes_on(label, tmp_path_factory, data):
    blocks = data.draw(weighted_blocks(CASES[label][1].row_weights, min_blocks=2))
    path = tmp_path_factory.mktemp("summary") / "summary"
    a, b = (filled(label, block) for block in blocks[:2])
    a.save(path)
    loaded = type(a).load(path)
    assert_same_state(loaded, state(a))
    assert_same_state(plus(loaded, b), state(plus(a, b)))


@each
def test_an_empty_summary_can_be_saved(label, tmp_path):
    empty(label).save(tmp_path / "summary")
    loaded = type(empty(label)).load(tmp_path / "summary")
    assert_same_state(loaded, state(empty(label)))
    update(label, loaded, np.eye(WIDTH))
    assert_same_state(loaded, state(filled(label, (np.eye(WIDTH), None))))


@each
def test_loaded_values_are_of_the_types_they_had(label, tmp_path):
    """Numbers are Python's own again, tuples are tuples, and so on."""
    a = filled(label, (np.eye(WIDTH), None))
    a.save(tmp_path / "summary")
    before, after = state(a), state(type(a).load(tmp_path / "summary"))
    assert {name: type(value) for name, value in after.items()} == {name: type(value) for name, value in before.items()}


def test_a_sample_of_sparse_rows_can_be_saved(tmp_path):
    rows = sparse.random_array((30, WIDTH), density=0.5, rng=np.random.default_rng(0), format="csr")
    a = summarize(rows, Sample(WIDTH, 10))
    a.save(tmp_path / "summary")
    loaded = Sample.load(tmp_path / "summary")
    assert sparse.issparse(loaded.rows)
    np.testing.assert_array_equal(loaded.rows.toarray(), a.rows.toarray())
    more = sparse.random_array((30, WIDTH), density=0.5, rng=np.random.default_rng(1), format="csr")
    np.testing.assert_array_equal(summarize(more, loaded).rows.toarray(), summarize(more, a).rows.toarray())


#: Files of version 1.0 of the format; they are never written again.
SAVED = Path(__file__).parent / "saved"
#: Ways of making a summary that came later.
LATER: tuple[str, ...] = ("Gram uncentred", "GramRoot uncentred", "Patterns")
SAVED_ROWS = np.array([[1.0, -2, 0.5, 0], [0.25, 3, -1, 2], [-0.5, 1.5, 4, -3], [2, 0, 0.125, 1]])


def saved_example(label):
    """The summary in the file of version 1.0."""
    weights = SAMPLE_WEIGHT if CASES[label][1].row_weights else None
    return filled(label, (SAVED_ROWS, weights))


@pytest.mark.parametrize("label", [label for label in CASES if label not in LATER])
def test_early_files_can_be_read(label):
    fitted = saved_example(label)
    loaded = type(fitted).load(SAVED / f"{label.replace(' ', '_')}.safetensors")
    before, after = state(fitted), state(loaded)
    for name in before:
        assert type(after[name]) is type(before[name]), name
        if isinstance(before[name], str | None):
            assert after[name] == before[name]
        else:
            np.testing.assert_allclose(after[name], before[name], rtol=1e-12, atol=1e-12, err_msg=name)
    update(label, loaded, SAVED_ROWS)
    update(label, fitted, SAVED_ROWS)
    assert_agree(label, loaded, fitted, SAVED_ROWS)


@pytest.mark.parametrize("label", ["Moments", "Sample"])
def test_early_files_of_empty_summaries_can_be_read(label):
    assert_same_state(type(empty(label)).load(SAVED / f"empty_{label}.safetensors"), state(empty(label)))


@each
def test_loading_another_kind_says_which(label, tmp_path):
    a = filled(label, (np.eye(WIDTH), None))
    a.save(tmp_path / "summary")
    other = SUMMARIES["Columns" if type(a).__name__ != "Columns" else "Moments"]
    with pytest.raises(ValueError, match=f"holds a {type(a).__name__}, not a {other.__name__}"):
        other.load(tmp_path / "summary")


@each
def test_the_size_of_a_summary_is_that_of_all_its_arrays(label, tmp_path):
    """Schedulers ask for it. What is not stored, such as the map of a feature, counts as well."""
    summary = empty(label)
    summary.save(tmp_path / "summary")
    file = (tmp_path / "summary").read_bytes()
    # A safetensors file begins with the length of its header, and all that follows the header are the arrays.
    assert sys.getsizeof(summary) >= len(file) - 8 - int.from_bytes(file[:8], "little")
