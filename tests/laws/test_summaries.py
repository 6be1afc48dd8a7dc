"""Every summary is a commutative monoid over blocks of rows: the laws, once, for all of SUMMARIES.

A row here is what a summary takes in. For Gram and GramRoot that is a feature, whose entries are the samples; their
weights are of samples and so belong to the summary, not to `update`.
"""

import copy
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from lowdim.summaries import SUMMARIES, LatentGaussian
from lowdim.summarize import summarize
from oracles import tolerance

WIDTH = 4
V = np.random.default_rng(3).standard_normal((WIDTH, 2))
ABOUT = np.array([1.0, -2.0, 0.5, 0.0])
SAMPLE_WEIGHT = np.array([1.0, 2.0, 0.5, 3.0])


def moments(s):
    return {"n_rows": s.n_rows, "weight": s.weight, "mean": s.mean, "scatter": s.scatter}


def fourth_moments(s):
    return moments(s) | {"third": s.third, "fourth": s.fourth}


def columns(s):
    return {"n_rows": s.n_rows, "weight": s.weight, "mean": s.mean, "squares": s.squares}


def products(summary):
    """Inner products as solvers take them: of centred samples."""
    return {"n_rows": summary.n_rows, "product": None if summary.product is None else summary.centred()}


def squared_root(s):
    return {"n_rows": s.n_rows, "product": s.product.T @ s.product}


def observed(s):
    return columns(s) | {"count": s.count}


def latent(s):
    return {name: getattr(s, name) for name in ("second", "cross", "squares", "scores")} | {"loglike": [s.loglike]}


def completed(s):
    return {"weight": s.weight, "total": s.total, "second": s.second, "loglike": [s.loglike]}


def gaussian(width, offset, uncertain=False):
    """A model of two latent variables, with certain or uncertain loadings."""
    spread = None
    if uncertain:
        root = np.random.default_rng(4).standard_normal((3, 3, WIDTH)) / 3
        spread = np.einsum("iad,jad->ijd", root, root)[np.tril_indices(3)][:, :width]
    noise = np.array([1.0, 4.0, 0.5, 2.0])
    return LatentGaussian(
        ABOUT[:width] + offset, np.array([1.0, 2.0, 0.5, 1.0])[:width], V[:width].T, noise[:width], spread
    )


@dataclass(frozen=True)
class Case:
    """How to make a summary of rows of `width` entries that are `offset` off, and what to see of it."""

    make: Callable  # (cls, width, offset) -> summary
    see: Callable  # summary -> {name: number or array}: what may not depend on cuts and order
    row_weights: bool = True


#: One row a way of making a summary; a class may have several.
FACTORIES = {
    "Moments": {
        "": Case(lambda cls, width, offset: cls(width), moments),
        "groups": Case(lambda cls, width, offset: cls(width, groups=[1, width - 1]), moments),
        "wide": Case(lambda cls, width, offset: cls(width, wide=True), moments),
    },
    "FourthMoments": {"": Case(lambda cls, width, offset: cls(width), fourth_moments)},
    "Triangle": {"": Case(lambda cls, width, offset: cls(width), moments)},
    "Columns": {"": Case(lambda cls, width, offset: cls(width), columns)},
    "Gram": {
        "": Case(lambda cls, width, offset: cls(width), products, row_weights=False),
        "weighted": Case(
            lambda cls, width, offset: cls(width, sample_weight=SAMPLE_WEIGHT[:width]), products, row_weights=False
        ),
        "standardized": Case(lambda cls, width, offset: cls(width, ddof=1), products, row_weights=False),
    },
    "GramRoot": {
        "": Case(lambda cls, width, offset: cls(width), squared_root, row_weights=False),
        "weighted": Case(
            lambda cls, width, offset: cls(width, sample_weight=SAMPLE_WEIGHT[:width]), squared_root, row_weights=False
        ),
    },
    "Sketch": {
        "": Case(lambda cls, width, offset: cls(V[:width], ABOUT[:width] + offset), lambda s: {"product": s.product}),
        "implicit": Case(
            # Centring afterwards is for small means only, so there is no offset to be tried.
            lambda cls, width, offset: cls(V[:width], ABOUT[:width], implicit=True),
            lambda s: {"product": s.product},
        ),
    },
    "Observed": {"": Case(lambda cls, width, offset: cls(width), observed)},
    "Completed": {"": Case(lambda cls, width, offset: cls(gaussian(width, offset)), completed)},
    "Latent": {
        "": Case(lambda cls, width, offset: cls(gaussian(width, offset)), latent),
        "uncertain": Case(lambda cls, width, offset: cls(gaussian(width, offset, uncertain=True)), latent),
    },
}

CASES = {
    f"{name} {variant}".strip(): (name, case) for name, table in FACTORIES.items() for variant, case in table.items()
}
ROW_WEIGHTED = [label for label, (_, case) in CASES.items() if case.row_weights]

each = pytest.mark.parametrize("label", list(CASES))
each_row_weighted = pytest.mark.parametrize("label", ROW_WEIGHTED)
moderately = settings(max_examples=25, deadline=None)


def test_every_summary_has_a_factory():
    missing = set(SUMMARIES) - set(FACTORIES)
    assert not missing, f"no factory for {sorted(missing)}: add a row to FACTORIES in {__file__}"
    assert set(FACTORIES) <= set(SUMMARIES)


# ---- What hypothesis draws


@st.composite
def tables(draw, min_rows=1, max_rows=14):
    """Rows of eighths: sums with 1e8 are exact, so an offset changes nothing but the arithmetic."""
    n = draw(st.integers(min_rows, max_rows))
    entries = st.integers(-40, 40)
    rows = draw(st.lists(st.lists(entries, min_size=WIDTH, max_size=WIDTH), min_size=n, max_size=n))
    return np.array(rows, dtype=float) / 8


@st.composite
def weighted_blocks(draw, row_weighted, min_blocks=1):
    """A table cut anywhere into blocks with weights: [(rows, weights or None), ...]."""
    X = draw(tables(min_rows=min_blocks))
    n = len(X)
    weights = None
    if row_weighted and draw(st.booleans()):
        weights = np.array(draw(st.lists(st.floats(0.125, 8.0, width=16), min_size=n, max_size=n)))
    inner = st.integers(1, max(1, n - 1))
    cuts = sorted(draw(st.sets(inner, min_size=min_blocks - 1, max_size=n - 1))) if n > 1 else []
    edges = [0, *cuts, n]
    return [(X[i:j], None if weights is None else weights[i:j]) for i, j in pairwise(edges)]


def empty(label, offset=0.0, width=WIDTH):
    name, case = CASES[label]
    return case.make(SUMMARIES[name], width, offset)


def see(label, summary):
    return CASES[label][1].see(summary)


def filled(label, block, offset=0.0):
    summary = empty(label, offset)
    summary.update(*block)
    return summary


def plus(a, b):
    """a + b, both left as they are."""
    both = copy.deepcopy(a)
    both.merge(copy.deepcopy(b))
    return both


def agree(label, a, b, X, offset=0.0):
    """What is seen of two summaries of the rows of `X` is equal to rounding.

    An offset costs nothing but the digits of the mean itself; only third and fourth order sums, which are moved from
    one mean to another, may lose what it costs to write that mean down: offset / spread, once.
    """
    spread = max(np.ptp(X - ABOUT, axis=0).max(), np.abs(X - ABOUT).max(), 1.0)
    power = {"scatter": 2, "squares": 2, "product": 2, "third": 3, "fourth": 4}
    power |= {"second": 2, "cross": 2, "scores": 2, "total": 2, "loglike": 2}
    a, b = see(label, a), see(label, b)
    assert a.keys() == b.keys()
    for name, value in b.items():
        if name == "n_rows":
            assert a[name] == value
            continue
        size = offset + spread if name == "mean" else 8.0 * len(X) * (2 * spread) ** power.get(name, 0)
        condition = 1.0 + offset / spread if name in ("third", "fourth") else 1.0
        np.testing.assert_allclose(a[name], value, rtol=0, atol=tolerance(condition=condition) * size, err_msg=name)


def whole(blocks):
    """The rows and weights of all blocks in one."""
    weights = None if blocks[0][1] is None else np.concatenate([w for _, w in blocks])
    return np.concatenate([X for X, _ in blocks]), weights


def same_state(summary, before):
    """Bit by bit."""
    for name, value in before.items():
        np.testing.assert_array_equal(getattr(summary, name), value, err_msg=name)


def state(summary):
    return {name: copy.deepcopy(getattr(summary, name)) for name in summary.state}


# ---- The monoid


@each
@moderately
@given(data=st.data())
def test_fresh_is_the_identity(label, data):
    (block,) = data.draw(weighted_blocks(CASES[label][1].row_weights))[:1]
    a = filled(label, block)
    before = state(a)
    a.merge(a.fresh())
    same_state(a, before)
    same_state(plus(a.fresh(), a), before)


@each
@moderately
@given(data=st.data())
def test_merge_is_associative(label, data):
    blocks = data.draw(weighted_blocks(CASES[label][1].row_weights, min_blocks=3))
    a, b, c = (filled(label, block) for block in blocks[:3])
    agree(label, plus(plus(a, b), c), plus(a, plus(b, c)), whole(blocks)[0])


@each
@moderately
@given(data=st.data())
def test_merge_is_commutative(label, data):
    blocks = data.draw(weighted_blocks(CASES[label][1].row_weights, min_blocks=2))
    a, b = (filled(label, block) for block in blocks[:2])
    agree(label, plus(a, b), plus(b, a), whole(blocks)[0])


@pytest.mark.parametrize("offset", [0.0, 1e8], ids=["", "offset 1e8"])
@each
@moderately
@given(data=st.data())
def test_cuts_and_merge_order_do_not_matter(label, offset, data):
    if offset and label == "Sketch implicit":
        return  # not for offsets, as its docstring says
    blocks = data.draw(weighted_blocks(CASES[label][1].row_weights))
    X, weights = whole(blocks)
    once = filled(label, (X, weights))
    moved = [(rows + offset, w) for rows, w in blocks]
    # Some blocks go into one summary one after another, others into summaries of their own, merged in any order.
    parts = []
    for block in moved:
        if parts and data.draw(st.booleans(), label="update the last summary"):
            parts[-1].update(*block)
        else:
            parts.append(filled(label, block, offset))
    while len(parts) > 1:
        i = data.draw(st.integers(0, len(parts) - 1), label="take")
        b = parts.pop(i)
        parts[data.draw(st.integers(0, len(parts) - 1), label="into")].merge(b)
    (pieced,) = parts
    if offset and "mean" in see(label, pieced):
        pieced.mean = pieced.mean - offset  # what is seen must be that of the rows without the offset
    agree(label, pieced, once, X, offset)


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
        repeated.n_rows = len(X)
    agree(label, filled(label, (X, counts.astype(float))), repeated, np.repeat(X, counts, axis=0))


@pytest.mark.parametrize("through", ["summarize", "update"])
@each_row_weighted
@moderately
@given(data=st.data())
def test_weight_zero_is_absence(label, through, data):
    X = data.draw(tables(min_rows=2))
    keep = np.array(data.draw(st.lists(st.booleans(), min_size=len(X), max_size=len(X)).filter(any)))
    weights = np.where(keep, 2.0, 0.0)
    if through == "summarize":
        with_zeros = summarize(X, empty(label), weights=weights)
    else:
        with_zeros = filled(label, (X, weights))
    agree(label, with_zeros, filled(label, (X[keep], weights[keep])), X)


@each_row_weighted
def test_a_block_of_weight_zero_changes_nothing(label):
    summary = filled(label, (np.eye(WIDTH), None))
    before = state(summary)
    summary.update(np.ones((2, WIDTH)), np.zeros(2))
    same_state(summary, before)


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
    into.update(*blocks[1])
    same_state(other, before)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
@each
def test_update_leaves_block_and_weights_as_they_were(label, kind):
    X = np.array([[0.0, 1, 0, 2], [0, 0, 3, 0], [4, 0, 0, 5]])
    block, weights = kind(X), np.array([1.0, 2.0, 3.0]) if CASES[label][1].row_weights else None
    summary = empty(label)
    summary.update(block, weights)
    summary.update(block, weights)
    np.testing.assert_array_equal(block.toarray() if sparse.issparse(block) else block, X)
    if weights is not None:
        np.testing.assert_array_equal(weights, [1, 2, 3])


@each
def test_sparse_blocks_are_the_same_rows(label):
    X = sparse.random_array((200, WIDTH), density=0.02, rng=np.random.default_rng(0), format="csr")
    X.data = np.round(64 * X.data) / 8
    agree(label, filled(label, (X, None)), filled(label, (X.toarray(), None)), X.toarray())


@each
def test_rows_of_another_width_raise(label):
    summary = empty(label)
    with pytest.raises(ValueError):
        summary.update(np.ones((2, WIDTH + 1)))


@each
@pytest.mark.parametrize("seen", [False, True], ids=["empty", "filled"])
def test_merging_another_width_raises(label, seen):
    a, b = empty(label), empty(label, width=WIDTH - 1)
    if seen:
        a.update(np.eye(WIDTH))
        b.update(np.eye(WIDTH - 1))
    with pytest.raises(ValueError, match=r"cannot be merged"):
        a.merge(b)


@each
@pytest.mark.parametrize("seen", [False, True], ids=["empty", "filled"])
def test_merging_another_kind_raises(label, seen):
    a = empty(label)
    b = empty("Columns" if label != "Columns" else "Moments")
    if seen:
        a.update(np.eye(WIDTH))
        b.update(np.eye(WIDTH))
    with pytest.raises(TypeError, match=rf"a {type(a).__name__} cannot be merged with a {type(b).__name__}"):
        a.merge(b)


OTHER_OPTIONS = {
    "Moments groups": lambda cls: (cls(4, groups=[2, 2]), cls(4, groups=[1, 3])),
    "Gram weights": lambda cls: (cls(4), cls(4, sample_weight=SAMPLE_WEIGHT)),
    "Gram ddof": lambda cls: (cls(4, ddof=0), cls(4, ddof=1)),
    "GramRoot weights": lambda cls: (cls(4), cls(4, sample_weight=SAMPLE_WEIGHT)),
    "Sketch vectors": lambda cls: (cls(V, ABOUT), cls(V[:, :1], ABOUT)),
    "Sketch mean": lambda cls: (cls(V, ABOUT), cls(V, ABOUT + 1)),
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
    path = tmp_path_factory.mktemp("summary") / "summary.npz"
    a, b = (filled(label, block) for block in blocks[:2])
    a.save(path)
    loaded = type(a).load(path)
    same_state(loaded, state(a))
    same_state(plus(loaded, b), state(plus(a, b)))


@each
def test_an_empty_summary_can_be_saved(label, tmp_path):
    empty(label).save(tmp_path / "summary")
    loaded = type(empty(label)).load(tmp_path / "summary")
    loaded.update(np.eye(WIDTH))
    same_state(loaded, state(filled(label, (np.eye(WIDTH), None))))


@each
def test_loading_another_kind_says_which(label, tmp_path):
    a = filled(label, (np.eye(WIDTH), None))
    a.save(tmp_path / "summary")
    other = SUMMARIES["Columns" if type(a).__name__ != "Columns" else "Moments"]
    with pytest.raises(ValueError, match=f"holds a {type(a).__name__}, not a {other.__name__}"):
        other.load(tmp_path / "summary")
