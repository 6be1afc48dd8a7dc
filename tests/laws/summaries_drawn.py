"""All summaries, random rows for them drawn by hypothesis, and the comparison of two summaries."""

import copy
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from scipy import sparse

from lowdim.densities import Sech, Student
from lowdim.summaries import SUMMARIES, LatentGaussian, Moments, Summary
from oracles import tolerance

WIDTH = 4
V = np.random.default_rng(3).standard_normal((WIDTH, 2))
ABOUT = np.array([1.0, -2.0, 0.5, 0.0])
SAMPLE_WEIGHT = np.array([1.0, 2.0, 0.5, 3.0])
#: Weights of two sets of training samples.
TRAINING = np.array([[1.0, 2.0, 0.0, 1.0], [2.0, 1.0, 1.5, 0.0]])


def moments(s):
    return {"n_rows": s.n_rows, "weight": s.weight, "mean": s.mean, "scatter": s.scatter}


def fourth_moments(s):
    return moments(s) | {"third": s.third, "fourth": s.fourth}


def columns(s):
    return {"n_rows": s.n_rows, "weight": s.weight, "mean": s.mean, "squares": s.squares}


def products(summary):
    """Inner products of centred samples, as solvers use them."""
    return {"n_rows": summary.n_rows, "product": None if summary.product is None else summary.centred()}


def squared_root(s):
    return {"n_rows": s.n_rows, "product": s.product.T @ s.product}


def observed(s):
    return columns(s) | {"count": s.count} | ({} if s.components is None else {"surplus": [s.surplus]})


def latent(s):
    tables = ["second", "cross", "squares", "scores", *(["covariances"] if s.informed else [])]
    return {name: getattr(s, name) for name in tables} | {"loglike": [s.loglike]}


def completed(s):
    return {"weight": s.weight, "total": s.total, "second": s.second, "loglike": [s.loglike]}


def patterns(s):
    """The moments of the complete rows, and sums over the others."""
    known = s.known.astype(float)
    sums = {"weights": s.total_weight, "count": s.weights @ known, "pairs": (known.T * s.weights) @ known}
    return moments(s.complete) | sums | {"n_rows": s.n_samples}


def sampled(s):
    """Weight and scatter of the sampled rows.

    The choice of rows depends on their values, and so on an offset. If the sample has room for all rows, their scatter
    does not depend on it.
    """
    if s.rows is None:
        return {"weight": 0.0, "scatter": None}
    rows = s.rows.toarray() if sparse.issparse(s.rows) else s.rows
    Z = rows - np.average(rows, axis=0, weights=s.weights)
    return {"weight": s.weights.sum(), "scatter": (Z.T * s.weights) @ Z}


def standardized_products(s):
    """The products of each set of training samples, and the logarithms of the scales."""
    if s.product is None:
        return {"product": None, "log_scale": None}
    product = np.stack([R.T @ R for R in s.product]) if s.root else s.product
    return {"product": product, "log_scale": s.log_scale, "n_rows": s.n_rows}


def scored(s):
    asked_for = ["products", "slopes", *(["energy"] if s.measured else []), *(["curvature"] if s.curved else [])]
    return {"weight": s.weight, "n_rows": s.n_rows} | {name: getattr(s, name) for name in asked_for}


def labelled(s):
    """The moments of each part."""
    parts = [(f"{r} {label}", part) for r, parts in enumerate(s.parts) for label, part in enumerate(parts)]
    return {f"{place} {name}": value for place, part in parts for name, value in moments(part).items()}


def with_labels(X):
    """Rows with two more columns, of labels -1, 0 or 1, which depend only on the row and not on an offset."""
    D = X.toarray() if sparse.issparse(X) else X
    first, second = (D[:, 0] > D[:, 1]) + 0.0, np.clip(D[:, 0] - D[:, 1] + 1, -1, 1) // 1
    labels = np.column_stack([first, second])
    return sparse.hstack([X, labels], format="csr") if sparse.issparse(X) else np.hstack([X, labels])


def with_missing_entries(X):
    """Rows without some entries, which depend only on the row and not on an offset."""
    D = X.toarray() if sparse.issparse(X) else np.array(X)
    D[np.abs(D[:, 0] - D[:, 1]) > 1.0, -1] = np.nan
    return D


def gaussian(width, offset, uncertain=False):
    """A model of two latent variables, with known loadings or, if `uncertain`, with a covariance of the loadings."""
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
    """How to make an empty summary of rows of `width` entries that are shifted by `offset`, and what to compare."""

    make: Callable  # (cls, width, offset) -> summary
    see: Callable  # summary -> {name: number or array}: values that must not depend on the blocks and their order
    row_weights: bool = True
    rows: Callable = lambda X: X  # rows of numbers -> the rows passed to the summary


#: One entry for each way of making a summary; a class may have several.
FACTORIES = {
    "Moments": {
        "": Case(lambda cls, width, offset: cls(width), moments),
        "groups": Case(lambda cls, width, offset: cls(width, widths=[1, width - 1]), moments),
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
        "uncentred": Case(lambda cls, width, offset: cls(width, center=False), products, row_weights=False),
    },
    "GramRoot": {
        "": Case(lambda cls, width, offset: cls(width), squared_root, row_weights=False),
        "weighted": Case(
            lambda cls, width, offset: cls(width, sample_weight=SAMPLE_WEIGHT[:width]), squared_root, row_weights=False
        ),
        "uncentred": Case(lambda cls, width, offset: cls(width, center=False), squared_root, row_weights=False),
    },
    "StandardizedGrams": {
        "": Case(lambda cls, width, offset: cls(TRAINING[:, :width], 1), standardized_products, row_weights=False),
        "root": Case(
            lambda cls, width, offset: cls(TRAINING[:, :width], 0, root=True), standardized_products, row_weights=False
        ),
    },
    "Sketch": {
        "": Case(lambda cls, width, offset: cls(V[:width], ABOUT[:width] + offset), lambda s: {"product": s.product}),
        "implicit": Case(
            # Implicit centring is only for small means, so no offset is tried.
            lambda cls, width, offset: cls(V[:width], ABOUT[:width], implicit=True),
            lambda s: {"product": s.product},
        ),
    },
    "Sample": {"": Case(lambda cls, width, offset: cls(width, 100), sampled)},
    "Observed": {
        "": Case(lambda cls, width, offset: cls(width), observed),
        "surplus": Case(lambda cls, width, offset: cls(width, components=1), observed),
    },
    "Completed": {"": Case(lambda cls, width, offset: cls(gaussian(width, offset)), completed)},
    "Patterns": {"": Case(lambda cls, width, offset: cls(width), patterns, rows=with_missing_entries)},
    "ScoreMoments": {
        "": Case(lambda cls, width, offset: cls(V[:width], ABOUT[:width] + offset, Sech()), scored),
        "student": Case(lambda cls, width, offset: cls(V[:width], ABOUT[:width] + offset, Student(3.0)), scored),
        "flat": Case(lambda cls, width, offset: cls(V[:width], ABOUT[:width] + offset, Sech(), curved=False), scored),
        "unmeasured": Case(
            lambda cls, width, offset: cls(V[:width], ABOUT[:width] + offset, Sech(), measured=False), scored
        ),
    },
    "Latent": {
        "": Case(lambda cls, width, offset: cls(gaussian(width, offset)), latent),
        "informed": Case(lambda cls, width, offset: cls(gaussian(width, offset), informed=True), latent),
        "uncertain": Case(lambda cls, width, offset: cls(gaussian(width, offset, uncertain=True)), latent),
    },
    "Labelled": {
        "": Case(lambda cls, width, offset: cls(Moments(width), [2, 2]), labelled, rows=with_labels),
    },
}

CASES = {
    f"{name} {variant}".strip(): (name, case) for name, table in FACTORIES.items() for variant, case in table.items()
}
ROW_WEIGHTED = [label for label, (_, case) in CASES.items() if case.row_weights]

each = pytest.mark.parametrize("label", list(CASES))
each_row_weighted = pytest.mark.parametrize("label", ROW_WEIGHTED)
moderately = settings(max_examples=25, deadline=None)


# ---- Random data drawn by hypothesis


@st.composite
def tables(draw, min_rows=1, max_rows=14):
    """Rows of multiples of 1/8: adding 1e8 is exact, so an offset changes only the rounding errors of what follows."""
    n = draw(st.integers(min_rows, max_rows))
    # One draw of bytes takes less time than a draw for each entry. Few different values make ties.
    drawn = np.frombuffer(draw(st.binary(min_size=n * WIDTH, max_size=n * WIDTH)), np.int8)
    largest = draw(st.sampled_from([40, 1]))
    entries = drawn - (2 * largest + 1) * np.round(drawn / (2 * largest + 1))
    return entries.reshape(n, WIDTH) / 8


@st.composite
def weighted_blocks(draw, row_weighted, min_blocks=1):
    """A table cut at random rows into blocks, with weights: [(rows, weights or None), ...]."""
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


def rows_of(label, X):
    """`X` as the rows that are passed to the summary."""
    return CASES[label][1].rows(X)


def update(label, summary, X, weights=None):
    summary.update(rows_of(label, X), weights)


def filled(label, block, offset=0.0):
    summary = empty(label, offset)
    update(label, summary, *block)
    return summary


def plus(a, b):
    """The merge of a and b, without changing either."""
    both = copy.deepcopy(a)
    both.merge(copy.deepcopy(b))
    return both


def assert_agree(label, a, b, X, offset=0.0, but_for=()):
    """Assert that two summaries of the rows `X` are equal up to rounding; the rows of `a` are shifted by `offset`.

    An offset may affect only the digits of the mean. Third and fourth order sums are the exception: they are moved from
    one mean to another, so the rounding error of the mean enters them once, with a condition number of offset / spread.
    """
    spread = max(np.ptp(X - ABOUT, axis=0).max(), np.abs(X - ABOUT).max(), 1.0)
    power = {"scatter": 2, "squares": 2, "product": 2, "third": 3, "fourth": 4}
    power |= {"second": 2, "cross": 2, "scores": 2, "total": 2, "loglike": 2, "curvature": 2}
    a, b = see(label, a), see(label, b)
    assert a.keys() == b.keys()
    for place, value in b.items():
        name = place.split()[-1]
        if name in but_for:
            continue
        if name == "n_rows" or value is None:
            assert a[place] == value
            continue
        # Without the offset, the values must be those of the rows that were not shifted.
        seen = a[place] - offset if name == "mean" else a[place]
        size = offset + spread if name == "mean" else 8.0 * len(X) * (2 * spread) ** power.get(name, 0)
        condition = 1.0 + offset / spread if name in ("third", "fourth") else 1.0
        np.testing.assert_allclose(seen, value, rtol=0, atol=tolerance(condition=condition) * size, err_msg=place)


def whole(blocks):
    """The rows and weights of all blocks, joined."""
    weights = None if blocks[0][1] is None else np.concatenate([w for _, w in blocks])
    return np.concatenate([X for X, _ in blocks]), weights


def assert_same_state(summary, before):
    """Assert that the state of a summary is the same as before, bit for bit."""
    after = state(summary)
    assert after.keys() == before.keys()
    for name, value in before.items():
        np.testing.assert_array_equal(after[name], value, err_msg=name)


def state(summary):
    """All values of a summary, and of the summaries inside it, by name."""
    return dict(_values("", summary))


def _values(place, value):
    if isinstance(value, Summary):
        value = {name: getattr(value, name) for name in value.state}
    elif isinstance(value, list):
        value = dict(enumerate(value))
    if isinstance(value, dict):
        for name, item in value.items():
            yield from _values(f"{place} {name}".strip(), item)
    else:
        yield place, copy.deepcopy(value)
